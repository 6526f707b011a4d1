package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/notify"
)

func (d *dashboard) channelPages() []*page {
	const all, one, delivery = "/dashboard/channels", "/dashboard/channels/{id}", "/dashboard/deliveries/{id}"
	post := func(path, act, notice string, do changeChannel) *page {
		return &page{method: "POST", pattern: one + path, role: member.Developer, title: "Channel", again: d.showChannel,
			act: act, handle: d.changeChannel(notice, do)}
	}
	return []*page{
		{method: "GET", pattern: all, role: member.Viewer, title: "Channels", nav: "Channels", handle: d.showChannels},
		{method: "POST", pattern: all, role: member.Developer, title: "Channels", handle: d.createChannel,
			again: d.showChannels, act: "channel create", fields: []string{"name", "kind", "categories", "unsigned"},
			quiet: []string{"target", "token"}},
		{method: "GET", pattern: one, role: member.Viewer, title: "Channel", handle: d.showChannel},
		post("/test", "channel test", "test-sent", func(ctx context.Context, c notify.Channels, a metering.AccountID, id string) error {
			_, err := c.Test(ctx, a, id)
			return err
		}),
		post("/enable", "channel enable", "channel-set", func(ctx context.Context, c notify.Channels, a metering.AccountID, id string) error {
			_, err := c.Enable(ctx, a, id)
			return err
		}),
		post("/disable", "channel disable", "channel-set", func(ctx context.Context, c notify.Channels, a metering.AccountID, id string) error {
			_, err := c.Disable(ctx, a, id, "disabled in the dashboard")
			return err
		}),
		{method: "POST", pattern: one + "/rotate", role: member.Developer, title: "Channel", handle: d.rotateSecret,
			again: d.showChannel, act: "channel rotate", fields: []string{"overlap"}},
		{method: "POST", pattern: one + "/remove", role: member.Developer, title: "Channel", handle: d.removeChannel,
			again: d.showChannel, act: "channel remove", quiet: []string{"sure"}},
		{method: "GET", pattern: delivery, role: member.Viewer, title: "Delivery", handle: d.showDelivery},
		{method: "POST", pattern: delivery + "/replay", role: member.Developer, title: "Delivery", handle: d.replay,
			again: d.showDelivery, act: "channel replay"},
	}
}

func (d *dashboard) channels() notify.Channels {
	return notify.Channels{Store: d.Store, Plans: d.Plans, Clock: d.now, AllowHTTP: d.AllowHTTP,
		Ports: d.Ports}
}

// shownDeliveries is how many deliveries a page lists.
const shownDeliveries = 50

// A channelKind is a kind, and what it is sent to.
type channelKind struct {
	Kind   notify.Kind
	Target string
}

var kindTargets = map[notify.Kind]string{
	"webhook":  "a URL gets signed JSON, as any library of Standard Webhooks verifies it",
	"slack":    "the URL of an incoming webhook",
	"teams":    "the URL of a workflow for what a webhook receives",
	"telegram": "the number of a chat, or @channel, and the token of a bot",
	"email":    "a mail address, where the server submits mail",
}

// channelList is what the page of all channels shows.
type channelList struct {
	Channels   []notify.Channel
	Kinds      []channelKind
	Categories []metering.EventCategory
	Deliveries []delivery
}

func (d *dashboard) showChannels(w http.ResponseWriter, r *http.Request) error {
	account := visitorOf(r).Account.ID
	data := channelList{Categories: notify.Categories()}
	for _, k := range notify.Kinds() {
		data.Kinds = append(data.Kinds, channelKind{k, kindTargets[k]})
	}
	var sent []notify.Delivery
	err := together(
		func() (err error) { data.Channels, err = d.channels().List(r.Context(), account); return err },
		func() (err error) {
			sent, err = d.channels().Deliveries(r.Context(), account, "", shownDeliveries)
			return err
		},
	)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, c := range data.Channels {
		names[c.ID] = c.Name
	}
	for _, one := range sent {
		data.Deliveries = append(data.Deliveries, newDelivery(one, names[one.Channel]))
	}
	return d.render(w, r, "channels", data)
}

// A delivery is one as pages show it.
type delivery struct {
	notify.Delivery
	Tried       int
	Most        int
	ChannelName string // empty where the channel is no more
	Next        time.Time
	OpenUntil   time.Time // after the last attempt, it can be sent again until then
	LastError   string
}

func newDelivery(n notify.Delivery, channel string) delivery {
	one := delivery{Delivery: n, Tried: len(n.Attempts), Most: notify.MaxAttempts, ChannelName: channel, Next: n.Next}
	if one.Tried > 0 {
		one.LastError = n.Attempts[one.Tried-1].Error
	}
	if one.Tried == one.Most && n.State == notify.RetryScheduled {
		one.Next, one.OpenUntil = time.Time{}, n.Next
	}
	return one
}

// Good and Bad say how the state is to be shown.
func (d delivery) Good() bool { return d.State == notify.Delivered }

// Bad reports whether nothing more is tried.
func (d delivery) Bad() bool { return strings.HasPrefix(string(d.State), "failed") }

func (d *dashboard) createChannel(w http.ResponseWriter, r *http.Request) error {
	f := r.PostForm
	request := notify.ChannelRequest{
		Account: visitorOf(r).Account.ID, Name: strings.TrimSpace(f.Get("name")), Kind: notify.Kind(f.Get("kind")),
		Target: strings.TrimSpace(f.Get("target")), Token: strings.TrimSpace(f.Get("token")),
	}
	request.Unsigned = request.Kind == notify.Webhook && f.Get("unsigned") == "yes"
	for _, c := range f["categories"] {
		request.Categories = append(request.Categories, metering.EventCategory(c))
	}
	if len(request.Categories) == 0 { // which the channel would take for all
		return &metering.FieldError{Field: "categories", Reason: "choose at least one"}
	}
	if len(request.Categories) == len(notify.Categories()) {
		request.Categories = nil // all, also those that are still to be invented
	}
	channel, secret, err := d.channels().Create(r.Context(), request)
	if err != nil {
		return err
	}
	return d.seeChannel(w, r, channel.ID, secret, "channel-created")
}

// seeChannel leads to a channel, whose page shows a new secret once.
func (d *dashboard) seeChannel(w http.ResponseWriter, r *http.Request, id string, s notify.Secret, notice string) error {
	at := "/dashboard/channels/" + id
	if !s.IsZero() {
		if err := d.leave(r, at, s.Reveal()); err != nil {
			return err
		}
	}
	d.see(w, r, at, notice)
	return nil
}

// channelPage is what the page of one channel shows.
type channelPage struct {
	notify.Channel
	Secret     string // shown once
	Deliveries []delivery
	Overlaps   []grace
}

// Title implements titled.
func (c channelPage) Title() string { return "Channel " + c.Name }

func (d *dashboard) showChannel(w http.ResponseWriter, r *http.Request) error {
	account, id := visitorOf(r).Account.ID, r.PathValue("id")
	data := channelPage{Overlaps: graces}
	var sent []notify.Delivery
	err := together(
		func() (err error) { data.Channel, err = d.channels().Channel(r.Context(), account, id); return err },
		func() (err error) {
			sent, err = d.channels().Deliveries(r.Context(), account, id, shownDeliveries)
			return err
		},
		func() (err error) { data.Secret, err = d.left(r); return err },
	)
	if err != nil {
		return err
	}
	for _, one := range sent {
		data.Deliveries = append(data.Deliveries, newDelivery(one, data.Name))
	}
	return d.render(w, r, "channel", data)
}

type changeChannel func(ctx context.Context, c notify.Channels, account metering.AccountID, id string) error

// changeChannel does something to a channel that needs no more than its id.
func (d *dashboard) changeChannel(notice string, do changeChannel) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := do(r.Context(), d.channels(), visitorOf(r).Account.ID, r.PathValue("id")); err != nil {
			return err
		}
		d.see(w, r, "/dashboard/channels/"+r.PathValue("id"), notice)
		return nil
	}
}

func (d *dashboard) rotateSecret(w http.ResponseWriter, r *http.Request) error {
	hours, err := strconv.Atoi(cmp.Or(r.PostForm.Get("overlap"), "24"))
	if err != nil {
		return &metering.FieldError{Field: "overlap", Reason: "must be one of the list"}
	}
	channel, secret, err := d.channels().RotateSecret(r.Context(), visitorOf(r).Account.ID, r.PathValue("id"),
		notify.Secret{}, time.Duration(hours)*time.Hour)
	if err != nil {
		return err
	}
	return d.seeChannel(w, r, channel.ID, secret, "secret-rotated")
}

func (d *dashboard) removeChannel(w http.ResponseWriter, r *http.Request) error {
	account, id := visitorOf(r).Account.ID, r.PathValue("id")
	if _, err := d.channels().Channel(r.Context(), account, id); err != nil {
		return err
	}
	if err := sure(r, "nothing more is sent to it"); err != nil {
		return err
	}
	if err := d.channels().Remove(r.Context(), account, id); err != nil {
		return err
	}
	d.see(w, r, "/dashboard/channels", "channel-removed")
	return nil
}

// deliveryPage is what the page of one delivery shows.
type deliveryPage struct{ delivery }

// Title implements titled.
func (p deliveryPage) Title() string { return "Delivery " + p.ID }

func (d *dashboard) showDelivery(w http.ResponseWriter, r *http.Request) error {
	account := visitorOf(r).Account.ID
	one, err := d.channels().Delivery(r.Context(), account, r.PathValue("id"))
	if err != nil {
		return err
	}
	name := ""
	if c, err := d.channels().Channel(r.Context(), account, one.Channel); err == nil {
		name = c.Name
	}
	return d.render(w, r, "delivery", deliveryPage{newDelivery(one, name)})
}

func (d *dashboard) replay(w http.ResponseWriter, r *http.Request) error {
	again, err := d.channels().Replay(r.Context(), visitorOf(r).Account.ID, r.PathValue("id"))
	if err != nil {
		return err
	}
	d.see(w, r, "/dashboard/deliveries/"+again.ID, "replayed")
	return nil
}
