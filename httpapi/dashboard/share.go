package dashboard

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
)

// A link leads to a view that everyone with the link can see. The ID of its record is the SHA-256 of the token, and
// its content does not reveal who shared it.
const (
	shareKind = "share"
	// shareFor is how long a link leads to its view; for the same time afterwards it states that it has ended.
	shareFor = 30 * 24 * time.Hour
)

// maxShared bounds the shares of an account, in bytes of the store: beyond it the oldest links end.
var maxShared = budget.Of(budget.Shares).Account

// A share is a result that was shared. Its ID is not the token, which is not stored.
type share struct {
	Title string     `json:"title"` // what was run, such as the name of an operation
	At    time.Time  `json:"at"`    // when it was checked
	View  *view.View `json:"view,omitempty"`
	// Withdrawn means that the share is no longer visible. Its view is deleted.
	Withdrawn bool `json:"withdrawn,omitempty"`

	ID            string    `json:"-"`
	Made, Expires time.Time `json:"-"`
	Ended         bool      `json:"-"`
}

// publish makes a share with an unused token. The second submission of a form changes nothing.
func (d *dashboard) publish(ctx context.Context, account metering.AccountID, token string, s *share) error {
	id, ok := idOf(token)
	if !ok {
		return metering.ErrNotFound
	}
	body, err := packed(s)
	switch {
	case err != nil:
		return err
	case len(body) > metering.MaxRecordBytes:
		return &refusal{"The result is too large to share."}
	}
	now := d.now()
	d.forget(ctx, shareKind, now.Add(-2*shareFor))
	shelf := metering.Shelf{Store: d.Store, Kind: shareKind, Bytes: maxShared, Age: 2 * shareFor}
	err = shelf.Put(ctx, metering.Record{Account: account, Kind: shareKind, ID: id, At: now, Body: body})
	if errors.Is(err, metering.ErrVersion) {
		return nil
	}
	return err
}

func (d *dashboard) shareOf(r metering.Record) (s share, err error) {
	err = unpack(r.Body, &s)
	s.ID, s.Made, s.Expires = r.ID, r.At, r.At.Add(shareFor)
	s.Ended = s.Withdrawn || !s.Expires.After(d.now())
	return s, err
}

// published returns what a link leads to: [metering.ErrNotFound] if it never existed, or is long over.
func (d *dashboard) published(ctx context.Context, token string) (share, error) {
	id, ok := idOf(token)
	if !ok {
		return share{}, metering.ErrNotFound
	}
	filter := metering.RecordFilter{Kind: shareKind, ID: id, Limit: 1}
	for s, err := range metering.Parsed(d.Store.Records(ctx, filter), d.shareOf) {
		return s, err
	}
	return share{}, metering.ErrNotFound
}

// showShares lists the links of the account, and shows the one that was just made: its token is not available later.
func (d *dashboard) showShares(r *http.Request) (any, error) {
	var shown struct {
		Link string
		List []share
		More bool
	}
	if token := r.URL.Query().Get("link"); token != "" {
		sceneOf(r).header.Set("Referrer-Policy", "no-referrer")
		if _, err := d.published(r.Context(), token); err != nil {
			return nil, err
		}
		shown.Link = d.PublicURL + "/r/" + token
	}
	filter := metering.RecordFilter{Kind: shareKind, Account: visitorOf(r).Account.ID, Newest: true, Limit: maxShares}
	list, err := metering.Collect(metering.Parsed(d.Store.Records(r.Context(), filter), d.shareOf))
	shown.List, shown.More = list, len(list) == maxShares
	return &shown, err
}

// maxShares bounds the links that the list shows, the newest first.
const maxShares = 100

// createShare makes a link to the result of a kept run.
func (d *dashboard) createShare(r *http.Request) (string, error) {
	token := r.PostForm.Get("token")
	kept, err := d.keptRun(r, r.PostForm.Get("result"))
	if err != nil {
		return "", err
	}
	v, err := d.viewOf(kept)
	if err != nil {
		return "", err
	}
	if v == nil || !shareable(kept.Operation) {
		return "", metering.ErrNotFound
	}
	s := &share{Title: cmp.Or(kept.Operation, "all checks of a domain"), At: kept.At, View: discreet(v, kept.Operation)}
	if whom := r.PostForm.Get("for"); whom != "" {
		if s.View = mending(v, whom); s.View == nil {
			return "", &refusal{"There is nothing for them to mend."}
		}
		s.Title = "what to mend"
	}
	return "/dashboard/shares?" + url.Values{"link": {token}}.Encode(),
		d.publish(r.Context(), visitorOf(r).Account.ID, token, s)
}

// withdrawShare withdraws the result behind a link.
func (d *dashboard) withdrawShare(r *http.Request) (string, error) {
	record, err := d.Store.Record(r.Context(), visitorOf(r).Account.ID, shareKind, r.PathValue("share"))
	if err != nil {
		return "", err
	}
	s, err := d.shareOf(record)
	if err != nil {
		return "", err
	}
	s.View, s.Withdrawn = nil, true
	if record.Body, err = packed(s); err == nil {
		err = d.Store.PutRecords(r.Context(), record)
	}
	return "/dashboard/shares", err
}

// A publishedPage is the page behind a link.
type publishedPage struct {
	share
	How    string // when and how this was checked
	Viewed template.HTML
}

// showPublished shows a share to a visitor with the link.
func (d *dashboard) showPublished(r *http.Request) (any, error) {
	sceneOf(r).header.Set("Referrer-Policy", "no-referrer")
	now := d.now()
	if !d.Budget.Visits.Take(sceneOf(r).from, now).Allowed {
		return nil, tooMany(r)
	}
	s, err := d.published(r.Context(), r.PathValue("token"))
	if err != nil {
		return nil, err
	}
	d.Budget.Visits.GiveBack(sceneOf(r).from, now)
	if s.Ended {
		return nil, &problem{http.StatusGone, "No longer shared",
			"What this link led to was withdrawn, or its 30 days are over. Ask who sent it for another.", false}
	}
	sceneOf(r).title = render.Printable(s.View.Subject) + ": " + s.Title
	o := render.HTMLOptions{Title: s.Title}
	how := "Every check of mail, DNS, web site, registration and blocklists that applies to the domain was run at once."
	if op, ok := d.operation(s.Title); ok {
		o.Docs, how = op.Docs(), op.Described()
	}
	viewed, err := viewHTML(s.View, o)
	return &publishedPage{s, how, viewed}, err
}

// A shareForm makes a link.
type shareForm struct{ Token, For, Label string }

// sharesOf returns the links that can be made to a run: to all of it, and for a domain to what each recipient can
// fix.
func sharesOf(kept *run, v *view.View) (list []shareForm) {
	if !shareable(kept.Operation) {
		return nil
	}
	list = append(list, shareForm{member.NewToken(), "", "Share"})
	if kept.Operation != "" {
		return list
	}
	for _, one := range []shareForm{
		{member.NewToken(), forDNS, "Send to whoever runs the DNS"},
		{member.NewToken(), forHost, "Send to whoever runs the servers"},
	} {
		if mending(v, one.For) != nil {
			list = append(list, one)
		}
	}
	return list
}

// shareable reports whether the replies of an operation contain no secrets.
func shareable(operation string) bool { return operation != "text/password/generate" }

// discreet returns a view without the data of the account that ran it: the resolver that was queried.
func discreet(v *view.View, operation string) *view.View {
	one := *v
	one.Facts = slices.DeleteFunc(slices.Clone(v.Facts), func(f view.Fact) bool {
		return operation == "resolve" && f.Label == "server"
	})
	return &one
}

// The recipients of the list of fixes.
const (
	forDNS  = "dns"  // the publisher of the domain's records
	forHost = "host" // the operator of its servers
)

// mending returns the part of a view that one recipient can fix; nil if there is nothing.
func mending(v *view.View, whom string) *view.View {
	where, known := map[string]string{forDNS: "in the DNS", forHost: "on the servers"}[whom]
	if !known {
		return nil
	}
	one := view.Answer(v.Subject, "What to change "+where)
	for _, f := range v.Findings {
		if watch.OnHosts(f.Code) == (whom == forHost) {
			one.Findings = append(one.Findings, f)
		}
	}
	for _, s := range v.Steps {
		record := s.Type != "" && s.Value != ""
		if (watch.OnHosts(s.Code) && !record) == (whom == forHost) {
			one.Steps = append(one.Steps, s)
		}
	}
	if len(one.Findings)+len(one.Steps) == 0 {
		return nil
	}
	one.Sub = "Each finding says what was seen; each step can be done as it stands."
	return one
}
