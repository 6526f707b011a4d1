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
	// shareLifetime is how long a link leads to its view; for the same time afterwards it states that it has ended.
	shareLifetime = 30 * 24 * time.Hour
)

// maxShareBytes bounds the shares of an account, in bytes of the store: beyond it the oldest links end.
var maxShareBytes = budget.Of(budget.Shares).Account

// A share is a result that was shared. Its ID is not the token, which is not stored.
type share struct {
	Title string     `json:"title"` // what was run, such as the name of an operation
	At    time.Time  `json:"at"`    // when it was checked
	View  *view.View `json:"view,omitempty"`
	// Domain is that of all checks of a domain; empty for other results, which have no badge.
	Domain string `json:"domain,omitempty"`
	// Withdrawn means that the share is no longer visible. Its view is deleted.
	Withdrawn bool `json:"withdrawn,omitempty"`

	ID                 string    `json:"-"`
	CreatedAt, Expires time.Time `json:"-"`
	Ended              bool      `json:"-"`
}

// storeShare makes a share with an unused token. The second submission of a form changes nothing.
func (d *dashboard) storeShare(ctx context.Context, account metering.AccountID, token string, s *share) error {
	id, ok := tokenID(token)
	if !ok {
		return metering.ErrNotFound
	}
	body, err := pack(s)
	switch {
	case err != nil:
		return err
	case len(body) > metering.MaxRecordBytes:
		return &refusedError{"The result is too large to share."}
	}
	now := d.now()
	d.deleteExpired(ctx, shareKind, now.Add(-2*shareLifetime))
	cache := metering.RecordCache{Store: d.Store, Kind: shareKind, Bytes: maxShareBytes, Age: 2 * shareLifetime}
	err = cache.Put(ctx, metering.Record{Account: account, Kind: shareKind, ID: id, At: now, Body: body})
	if errors.Is(err, metering.ErrVersion) {
		return nil
	}
	return err
}

func (d *dashboard) parseShare(r metering.Record) (s share, err error) {
	err = unpack(r.Body, &s)
	s.ID, s.CreatedAt, s.Expires = r.ID, r.At, r.At.Add(shareLifetime)
	s.Ended = s.Withdrawn || !s.Expires.After(d.now())
	return s, err
}

// findShare returns the share of a link: [metering.ErrNotFound] if it never existed, or is long over.
func (d *dashboard) findShare(ctx context.Context, token string) (share, error) {
	id, ok := tokenID(token)
	if !ok {
		return share{}, metering.ErrNotFound
	}
	filter := metering.RecordFilter{Kind: shareKind, ID: id, Limit: 1}
	for s, err := range metering.ParseRecords(d.Store.Records(ctx, filter), d.parseShare) {
		return s, err
	}
	return share{}, metering.ErrNotFound
}

// sharedLink returns the link that was just made to the result that a page shows, and empty without one: its token is
// not available later. With a badge it returns that, too.
func (d *dashboard) sharedLink(r *http.Request) (string, *badgeCode, error) {
	token := r.URL.Query().Get("shared")
	if token == "" {
		return "", nil, nil
	}
	s, err := d.findShare(r.Context(), token)
	return d.origin(r) + "/r/" + token, newBadgeCode(d.origin(r), token, &s), err
}

// showShares lists the links of the account.
func (d *dashboard) showShares(r *http.Request) (any, error) {
	var page struct {
		List []share
		More bool
	}
	filter := metering.RecordFilter{Kind: shareKind, Account: sessionOf(r).Account.ID, Newest: true, Limit: sharesPageSize}
	list, err := metering.Collect(metering.ParseRecords(d.Store.Records(r.Context(), filter), d.parseShare))
	page.List, page.More = list, len(list) == sharesPageSize
	return &page, err
}

// sharesPageSize bounds the links that the list shows, the newest first.
const sharesPageSize = 100

// createShare makes a link to the result of a stored run, and leads back to the result.
func (d *dashboard) createShare(r *http.Request) (string, error) {
	token := r.PostForm.Get("token")
	loaded, err := d.loadRun(r, r.PostForm.Get("result"))
	if err != nil {
		return "", err
	}
	v, err := d.reportView(loaded)
	if err != nil {
		return "", err
	}
	if v == nil || !shareable(loaded.Operation) {
		return "", metering.ErrNotFound
	}
	s := &share{Title: cmp.Or(loaded.Operation, "all checks of a domain"), At: loaded.At,
		View: withoutResolver(v, loaded.Operation), Domain: loaded.Domain}
	if recipient := r.PostForm.Get("for"); recipient != "" {
		if s.View = fixesFor(v, recipient); s.View == nil {
			return "", &refusedError{"There is nothing for this recipient to fix."}
		}
		s.Title, s.Domain = "what to fix", ""
	}
	page := cmp.Or(loaded.Path, domainPath(loaded.Domain))
	if op, known := d.operation(loaded.Operation); known {
		page = op.Page()
	}
	return page + "?" + url.Values{"result": {r.PostForm.Get("result")}, "shared": {token}}.Encode() + "#shared",
		d.storeShare(r.Context(), sessionOf(r).Account.ID, token, s)
}

// revokeShare revokes a link and deletes its result.
func (d *dashboard) revokeShare(r *http.Request) (string, error) {
	record, err := d.Store.Record(r.Context(), sessionOf(r).Account.ID, shareKind, r.PathValue("share"))
	if err != nil {
		return "", err
	}
	s, err := d.parseShare(record)
	if err != nil {
		return "", err
	}
	s.View, s.Withdrawn = nil, true
	if record.Body, err = pack(s); err == nil {
		err = d.Store.PutRecords(r.Context(), record)
	}
	return "/dashboard/shares", err
}

// A sharedPage is the page of a shared link.
type sharedPage struct {
	share
	Method string // when and how this was checked
	Report template.HTML
	Badge  *badgeCode // nil without one
}

// showShared shows a share to a visitor with the link.
func (d *dashboard) showShared(r *http.Request) (any, error) {
	stateOf(r).header.Set("Referrer-Policy", "no-referrer")
	now := d.now()
	if !d.Budget.Visits.Take(stateOf(r).clientIP, now).Allowed {
		return nil, tooManyAttempts(r)
	}
	s, err := d.findShare(r.Context(), r.PathValue("token"))
	if err != nil {
		return nil, err
	}
	d.Budget.Visits.Refund(stateOf(r).clientIP, now)
	if s.Ended {
		return nil, &problem{http.StatusGone, "No longer shared",
			"This link was revoked or has expired. Ask the sender for a new one.", false}
	}
	stateOf(r).title = render.Printable(s.View.Subject) + ": " + s.Title
	o := render.HTMLOptions{Title: s.Title}
	method := "All checks of mail, DNS, website, registration and blocklists that apply to the domain were run."
	if op, ok := d.operation(s.Title); ok {
		o.Docs, method = findingDocs, op.Description()
	}
	report, err := viewAsHTML(s.View, o)
	return &sharedPage{s, method, report, newBadgeCode(d.origin(r), r.PathValue("token"), &s)}, err
}

// A shareForm makes a link.
type shareForm struct{ Token, Recipient, Label string }

// shareForms returns the links that can be made to a run: to all of it, and for a domain to what each recipient can
// fix.
func shareForms(loaded *run, v *view.View) (list []shareForm) {
	if !shareable(loaded.Operation) {
		return nil
	}
	list = append(list, shareForm{member.NewToken(), "", "Share"})
	if loaded.Operation != "" {
		return list
	}
	for _, form := range []shareForm{
		{member.NewToken(), recipientDNS, "Share with the DNS operator"},
		{member.NewToken(), recipientHost, "Share with the server operator"},
	} {
		if fixesFor(v, form.Recipient) != nil {
			list = append(list, form)
		}
	}
	return list
}

// shareable reports whether the replies of an operation contain no secrets.
func shareable(operation string) bool { return operation != "text/password/generate" }

// withoutResolver returns a view without the data of the account that ran it: the resolver that was queried.
func withoutResolver(v *view.View, operation string) *view.View {
	copied := *v
	copied.Facts = slices.DeleteFunc(slices.Clone(v.Facts), func(f view.Fact) bool {
		return operation == "resolve" && f.Label == "server"
	})
	return &copied
}

// The recipients of the list of fixes.
const (
	recipientDNS  = "dns"  // the publisher of the domain's records
	recipientHost = "host" // the operator of its servers
)

// fixesFor returns the part of a view that one recipient can fix; nil if there is nothing.
func fixesFor(v *view.View, recipient string) *view.View {
	where, isKnown := map[string]string{recipientDNS: "in the DNS", recipientHost: "on the servers"}[recipient]
	if !isKnown {
		return nil
	}
	fixes := view.Answer(v.Subject, "What to change "+where)
	for _, f := range v.Findings {
		if watch.OnHosts(f.Code) == (recipient == recipientHost) {
			fixes.Findings = append(fixes.Findings, f)
		}
	}
	for _, s := range v.Steps {
		record := s.Type != "" && s.Value != ""
		if (watch.OnHosts(s.Code) && !record) == (recipient == recipientHost) {
			fixes.Steps = append(fixes.Steps, s)
		}
	}
	if len(fixes.Findings)+len(fixes.Steps) == 0 {
		return nil
	}
	fixes.Sub = "Each finding states what was observed; each step can be applied as written."
	return fixes
}
