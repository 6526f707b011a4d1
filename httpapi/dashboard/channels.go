package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
)

func (d *dashboard) channels() notify.Channels {
	return notify.Channels{Store: d.Store, Plans: d.Plans, Clock: d.now, AllowHTTP: d.AllowHTTP, Ports: d.Ports}
}

// deliveriesPageSize is how many deliveries a page lists.
const deliveriesPageSize = 50

// targetHint describes the targets of all kinds.
const targetHint = "Webhook URL, chat ID or email address, depending on the type. " +
	"Slack and Teams URLs are secrets and are not shown again."

// targetHints describe the target of each kind.
var targetHints = map[notify.Kind]string{
	"webhook":  "sends signed JSON (Standard Webhooks) to a URL",
	"slack":    "incoming webhook URL",
	"teams":    "workflow webhook URL",
	"telegram": "chat ID or @channel, and a bot token",
	"email":    "email address, if this server sends mail",
}

// categoryTitles are the titles of categories of events.
var categoryTitles = map[metering.EventCategory]string{
	"usage": "Usage", "api_key": "API keys", "billing": "Billing", "spf": "Hosted SPF", "domain": "Domains",
}

// categoryNames writes categories by their titles.
func categoryNames(list ...metering.EventCategory) string {
	return strings.Join(kit.Map(list, func(c metering.EventCategory) string {
		return cmp.Or(categoryTitles[c], string(c))
	}), ", ")
}

// channelEvents names the events of a channel.
func channelEvents(c notify.Channel) string { return cmp.Or(categoryNames(c.Categories...), "all") }

func (d *dashboard) showChannels(r *http.Request) (any, error) {
	account, c, ctx := sessionOf(r).Account.ID, d.channels(), r.Context()
	stateOf(r).form.SetDefaults(url.Values{"kind": {string(notify.Kinds()[0])}, "test": {"yes"},
		"categories": stringsOf(notify.Categories())})
	data := struct {
		Channels   []notify.Channel
		Kinds      []notify.Kind
		Targets    map[notify.Kind]string
		TargetHint string
		Categories []metering.EventCategory
		deliveryPage
	}{Kinds: notify.Kinds(), Targets: targetHints, TargetHint: targetHint, Categories: notify.Categories()}
	err := runParallel(
		func() (err error) { data.Channels, err = c.List(ctx, account); return err },
		func() (err error) { data.deliveryPage, err = d.deliveryPage(r, ""); return err },
	)
	names := map[string]string{}
	for _, c := range data.Channels {
		names[c.ID] = c.Name
	}
	for i, delivered := range data.Deliveries {
		data.Deliveries[i].ChannelName = names[delivered.Channel]
	}
	return data, err
}

// deliveryPage is a part of the deliveries of an account or a channel.
type deliveryPage struct {
	Deliveries []delivery
	Newest     string // the address of the page with the newest; empty on that itself
	Older      string // the address of the page with those before
}

// deliveryPage reads the part that the address of a page names, the newest first.
func (d *dashboard) deliveryPage(r *http.Request, channel string) (page deliveryPage, err error) {
	end, err := parseCursor(r, "before")
	if err != nil {
		return page, err
	}
	list, err := d.channels().DeliveriesBefore(r.Context(), sessionOf(r).Account.ID, channel, end, deliveriesPageSize+1)
	n, last := cutPage(len(list), deliveriesPageSize, func(i int) time.Time { return list[i].CreatedAt })
	for _, delivered := range list[:n] {
		page.Deliveries = append(page.Deliveries, delivery{Delivery: delivered})
	}
	page.Newest, page.Older = cursorLinks(r, "before", last)
	return page, err
}

// A delivery is one as pages show it.
type delivery struct {
	notify.Delivery
	ChannelName string // empty where the channel is no more
}

// AttemptCount returns the number of attempts, of the most that are made.
func (d delivery) AttemptCount() string {
	return fmt.Sprintf("%d/%d", len(d.Attempts), notify.MaxAttempts)
}

// LastError is why it did not arrive when it was tried last.
func (d delivery) LastError() string {
	if len(d.Attempts) == 0 {
		return ""
	}
	return d.Attempts[len(d.Attempts)-1].Error
}

// Tried reports whether an attempt has ended, or none follows.
func (d delivery) Tried() bool {
	n := len(d.Attempts)
	return d.State != notify.Pending && (n == 0 || d.Attempts[n-1].Ended)
}

// Outcome says in a sentence how far a delivery has come.
func (d delivery) Outcome() string {
	var last notify.Attempt
	if n := len(d.Attempts); n > 0 {
		last = d.Attempts[n-1]
	}
	status := ""
	if last.Status != 0 {
		status = fmt.Sprintf(" The receiver answered with status %d after %d ms.", last.Status, last.Millis)
	}
	switch {
	case d.State == notify.Delivered:
		return "Delivered." + status
	case !d.Tried():
		return "The event is being sent."
	case last.Error == "":
		return "Not delivered."
	}
	return "Not delivered: " + last.Error + "."
}

// StateClass is good, bad, or neither.
func (d delivery) StateClass() string {
	return view.TextIf(d.State == notify.Delivered, "good") +
		view.TextIf(strings.HasPrefix(string(d.State), "failed"), "bad")
}

func (d *dashboard) createChannel(r *http.Request) (string, error) {
	f := r.PostForm
	request := notify.ChannelRequest{
		Account: sessionOf(r).Account.ID, Name: strings.TrimSpace(f.Get("name")), Kind: notify.Kind(f.Get("kind")),
		Target: strings.TrimSpace(f.Get("target")), Token: strings.TrimSpace(f.Get("token")),
	}
	request.Unsigned = request.Kind == notify.Webhook && f.Get("unsigned") == "yes"
	for _, c := range f["categories"] {
		request.Categories = append(request.Categories, metering.EventCategory(c))
	}
	switch len(request.Categories) {
	case 0: // which the channel would understand as all
		return "", &metering.FieldError{Field: "categories", Reason: "choose at least one"}
	case len(notify.Categories()): // all, also those that are still to be invented
		request.Categories = nil
	}
	channel, secret, err := d.channels().Create(r.Context(), request)
	page, err := d.keepSecret(r, "/dashboard/channels/"+channel.ID, secret.Reveal(), err)
	if err == nil && f.Get("test") == "yes" && channel.State == "active" {
		tested, err := d.channels().Test(r.Context(), channel.Account, channel.ID)
		if _, refused := errors.AsType[*metering.FieldError](err); !refused { // the channel is there all the same
			return testPath(tested), err
		}
	}
	return page, err
}

func (d *dashboard) showChannel(r *http.Request) (any, error) {
	account, id, c, ctx := sessionOf(r).Account.ID, r.PathValue("id"), d.channels(), r.Context()
	data := struct {
		notify.Channel
		Secret *secret   // until it is saved
		Test   *delivery // the test that the address of the page names
		Poll   string    // the address that shows how the test goes on; empty once its first attempt has ended
		deliveryPage
		Overlaps []ui.Choice
		Sinces   []ui.Choice
	}{Overlaps: gracePeriods, Sinces: replaySinces}
	err := runParallel(
		func() (err error) { data.Channel, err = c.Channel(ctx, account, id); return err },
		func() (err error) { data.deliveryPage, err = d.deliveryPage(r, id); return err },
		func() error {
			text, err := d.keptSecret(r)
			if text != "" {
				data.Secret = &secret{text, r.URL.Path, "Save the secret now: it is not shown again. With it your program " +
					"verifies the signature of each request.", "", "I have saved it"}
			}
			return err
		},
		func() (err error) { data.Test, err = d.testDelivery(r, id); return err },
	)
	if data.Test != nil && !data.Test.Tried() {
		data.Poll = pollURL(r)
		stateOf(r).poll = data.Poll
	}
	stateOf(r).title = "Channel " + data.Name
	for i := range data.Deliveries {
		data.Deliveries[i].ChannelName = data.Name
	}
	return data, err
}

// testDelivery returns the delivery that the address of a channel's page names; nil without one.
func (d *dashboard) testDelivery(r *http.Request, channel string) (*delivery, error) {
	id := r.URL.Query().Get("test")
	if id == "" {
		return nil, nil
	}
	tested, err := d.channels().Delivery(r.Context(), sessionOf(r).Account.ID, id)
	if err == nil && tested.Channel != channel {
		err = metering.ErrNotFound
	}
	return &delivery{Delivery: tested}, err
}

// maxPolls bounds how often a page that waits for something loads itself again, every two seconds.
const maxPolls = 30

// pollURL returns the address by which a page is loaded again, and counts how often it was; empty after the last time.
func pollURL(r *http.Request) string {
	query := r.URL.Query()
	n, _ := strconv.Atoi(query.Get("poll")) // an invalid number is the first
	if query.Del("notice"); n < 0 || n >= maxPolls {
		return ""
	}
	query.Set("poll", strconv.Itoa(n+1))
	return r.URL.Path + "?" + query.Encode()
}

// testPath is the page of a channel that shows how a test goes on.
func testPath(tested notify.Delivery) string {
	return "/dashboard/channels/" + tested.Channel + "?" + url.Values{"test": {tested.ID}}.Encode()
}

func (d *dashboard) testChannel(r *http.Request) (string, error) {
	tested, err := d.channels().Test(r.Context(), sessionOf(r).Account.ID, r.PathValue("id"))
	return testPath(tested), err
}

// replaySinces are how many hours back what did not arrive is sent again.
var replaySinces = []ui.Choice{
	{Value: 24, Title: "1 day ago"}, {Value: 3 * 24, Title: "3 days ago"}, {Value: 7 * 24, Title: "7 days ago"},
	{Value: 30 * 24, Title: "30 days ago"},
}

// replaySince sends to a channel again what did not arrive.
func (d *dashboard) replaySince(r *http.Request) (string, error) {
	hours, err := parseChoice(r, "since", replaySinces)
	id := r.PathValue("id")
	if err == nil {
		since := d.now().Add(-time.Duration(hours) * time.Hour)
		_, err = d.channels().ReplaySince(r.Context(), sessionOf(r).Account.ID, id, since)
	}
	return "/dashboard/channels/" + id, err
}

// confirmChannel confirms a mail channel by the code that was sent to its address.
func (d *dashboard) confirmChannel(r *http.Request) (string, error) {
	id := r.PathValue("id")
	_, err := d.channels().Confirm(r.Context(), sessionOf(r).Account.ID, id, r.PostForm.Get("code"))
	return "/dashboard/channels/" + id, err
}

// channelAction performs an action on a channel that needs only its ID.
func channelAction[T any](
	d *dashboard, do func(c notify.Channels, ctx context.Context, account metering.AccountID, id string) (T, error),
) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		id := r.PathValue("id")
		_, err := do(d.channels(), r.Context(), sessionOf(r).Account.ID, id)
		return "/dashboard/channels/" + id, err
	}
}

func disableChannel(
	c notify.Channels, ctx context.Context, account metering.AccountID, id string,
) (notify.Channel, error) {
	return c.Disable(ctx, account, id, "disabled in the dashboard")
}

func (d *dashboard) rotateSecret(r *http.Request) (string, error) {
	hours, err := parseChoice(r, "overlap", gracePeriods)
	if err != nil {
		return "", err
	}
	channel, secret, err := d.channels().RotateSecret(r.Context(), sessionOf(r).Account.ID, r.PathValue("id"),
		notify.Secret{}, time.Duration(hours)*time.Hour)
	return d.keepSecret(r, "/dashboard/channels/"+channel.ID, secret.Reveal(), err)
}

func (d *dashboard) removeChannel(r *http.Request) (string, error) {
	account, id := sessionOf(r).Account.ID, r.PathValue("id")
	_, err := d.channels().Channel(r.Context(), account, id)
	if err == nil {
		err = d.channels().Remove(r.Context(), account, id)
	}
	return "/dashboard/channels", err
}

func (d *dashboard) showDelivery(r *http.Request) (any, error) {
	delivered, err := d.channels().Delivery(r.Context(), sessionOf(r).Account.ID, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	c, _ := d.channels().Channel(r.Context(), delivered.Account, delivered.Channel) // which may be no more
	stateOf(r).title = "Delivery " + delivered.ID
	page := struct {
		delivery
		Poll string // as of a test
	}{delivery: delivery{delivered, c.Name}}
	if !page.Tried() {
		page.Poll = pollURL(r)
		stateOf(r).poll = page.Poll
	}
	return page, nil
}

func (d *dashboard) replayDelivery(r *http.Request) (string, error) {
	replayed, err := d.channels().Replay(r.Context(), sessionOf(r).Account.ID, r.PathValue("id"))
	return "/dashboard/deliveries/" + replayed.ID, err
}
