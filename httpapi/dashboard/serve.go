package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/notify"
)

// A page is a row of the table of all pages: it shows data by a template, or performs a form's action.
type page struct {
	method, pattern string
	role            member.Role // that a member needs; "" for public pages, without a session
	title           string
	nav             string // its name in the navigation; "" if it is not there
	template        string // "" where show returns a [file]
	show            func(r *http.Request) (any, error)

	// The following is of forms, whose page is shown again if they have faults.
	do     func(r *http.Request) (to string, err error) // to is the address of the redirect
	act    string                                       // its name in the log; "" if it administers nothing
	says   string                                       // when it is done
	fields []string                                     // of the form, which the log may hold
	quiet  []string                                     // of the form, which it must not
	reads  bool                                         // whether do reads the body, and bounds it
}

// with is a page and what its forms do.
func (p *page) with(forms ...*page) []*page {
	for _, f := range forms {
		f.title, f.template, f.show = p.title, p.template, p.show
	}
	return append([]*page{p}, forms...)
}

// noticeWord is the parameter in the address of a page that names the last action.
func noticeWord(act string) string { return strings.ReplaceAll(act, " ", "-") }

const (
	anybody = member.Role("")
	reads   = member.Viewer
	changes = member.Developer
	owns    = member.Owner
)

func shows(role member.Role, pattern, title, nav, template string, show func(*http.Request) (any, error)) *page {
	return &page{method: http.MethodGet, pattern: pattern, role: role, title: title, nav: nav,
		template: template, show: show}
}

func does(
	role member.Role, pattern, act, says, fields, quiet string, do func(*http.Request) (string, error),
) *page {
	return &page{method: http.MethodPost, pattern: pattern, role: role, act: act, says: says, do: do,
		fields: strings.Fields(fields), quiet: strings.Fields(quiet)}
}

// table has all pages, in the order of the navigation.
func (d *dashboard) table() []*page {
	const domain, operation, settings = "/dashboard/domains/{domain}", "/dashboard/playground/{operation...}",
		"domain checks every budget channels"
	run := does(changes, operation, "", "", "", "", d.runOperation)
	run.reads = true
	return slices.Concat(
		shows(reads, "/dashboard", "Domains", "Domains", "domains", d.showDomains).with(
			does(changes, "/dashboard/domains", "watch add",
				"The domain is watched. It is looked at for the first time within minutes.", settings, "", d.addDomain)),
		shows(reads, domain, "Domain", "", "domain", d.showDomain).with(
			does(changes, domain+"/check", "", "", "", "token", d.checkDomain),
			does(changes, domain+"/settings", "watch set", "The settings are changed.", settings, "", d.setDomain),
			does(changes, domain+"/remove", "watch remove",
				"The domain is not watched any more, and its history is gone.", "", "", d.removeDomain)),
		shows(reads, "/dashboard/playground", "Playground", "Playground", "playground", d.showPlayground).with(),
		shows(reads, operation, "Playground", "", "operation", d.showOperation).with(run),
		shows(reads, "/dashboard/results/{token}", "Result", "", "", d.showReply).with(),
		d.keyRows(),
		shows(reads, "/dashboard/usage", "Usage", "Usage", "usage", d.showUsage).with(),
		shows(reads, "/dashboard/usage.csv", "Usage", "", "", d.showUsageFile).with(),
		shows(reads, "/dashboard/activity", "Activity", "Activity", "activity", d.showActivity).with(),
		d.billingRows(), d.channelRows(), d.spfRows(), d.memberRows(), d.sessionRows(),
		shows(reads, "/dashboard/log", "Log", "Log", "log", d.showLog).with(),
		shows(anybody, "/dashboard/enter", "Enter", "", "enter", d.showEnter).with(
			does(anybody, "/dashboard/enter", "", "", "", "token account next", d.enter),
			does(anybody, "/dashboard/enter/mail", "mail link",
				"If the address is that of a member, a link is on its way, for one use within 15 minutes.", "", "email next",
				d.mailLink)),
		shows(reads, "/dashboard/shares", "Shared links", "Shared links", "shares", d.showShares).with(
			does(changes, "/dashboard/shares", "share create", "The link is made.", "for", "token result", d.createShare),
			does(changes, "/dashboard/shares/{share}/withdraw", "share withdraw", "The link leads to nothing any more.", "", "",
				d.withdrawShare)),
		shows(anybody, "/r/{token}", "Shared result", "", "shared", d.showPublished).with(),
	)
}

func (d *dashboard) keyRows() []*page {
	const all, one = "/dashboard/keys", "/dashboard/keys/{id}"
	return append(shows(reads, all, "API keys", "Keys", "keys", d.showKeys).with(
		does(changes, all, "key create", "The key is created.", "name environment scopes ip_allowlist expires_at expires_on",
			"",
			d.createKey)),
		shows(reads, one, "API key", "", "key", d.showKey).with(
			does(changes, one+"/rotate", "key rotate", "The key is rotated.", "grace", "", d.rotateKey),
			does(changes, one+"/revoke", "key revoke", "The key is revoked.", "reason", "sure", d.revokeKey))...)
}

func (d *dashboard) billingRows() []*page {
	const all, one = "/dashboard/billing", "/dashboard/billing/{invoice}"
	rows := slices.Concat(shows(reads, all, "Billing", "Billing", "billing", d.showBilling).with(
		does(owns, all+"/overage", "account set", "The overage is changed.", "overage overage_budget_cents", "",
			d.setOverage)),
		shows(reads, one, "Invoice", "", "invoice", d.showInvoice).with(
			does(owns, one+"/void", "billing void", "The invoice is void.", "reason reissue", "sure", d.voidInvoice),
			does(owns, one+"/credit", "billing credit", "The credit note is written.", "cents credit_reason", "",
				d.creditInvoice)))
	if !d.OwnersMend {
		rows = rows[:len(rows)-2]
	}
	return rows
}

func (d *dashboard) channelRows() []*page {
	const all, one, sent = "/dashboard/channels", "/dashboard/channels/{id}", "/dashboard/deliveries/{id}"
	const changed = "The channel is changed."
	return slices.Concat(shows(reads, all, "Channels", "Channels", "channels", d.showChannels).with(
		does(changes, all, "channel create", "The channel is created.", "name kind categories unsigned", "target token",
			d.createChannel)),
		shows(reads, one, "Channel", "", "channel", d.showChannel).with(
			does(changes, one+"/rotate", "channel rotate", "The secret is rotated.", "overlap", "", d.rotateSecret),
			does(changes, one+"/remove", "channel remove", "The channel is removed.", "", "sure", d.removeChannel),
			does(changes, one+"/test", "channel test", "A test event is on its way.", "", "",
				onChannel(d, notify.Channels.Test)),
			does(changes, one+"/confirm", "channel confirm", "The address is confirmed.", "", "code", d.confirmChannel),
			does(changes, one+"/replay", "channel replay", "What did not arrive is on its way again.", "since", "", d.replaySince),
			does(changes, one+"/enable", "channel enable", changed, "", "", onChannel(d, notify.Channels.Enable)),
			does(changes, one+"/disable", "channel disable", changed, "", "", onChannel(d, disableChannel))),
		shows(reads, sent, "Delivery", "", "delivery", d.showDelivery).with(
			does(changes, sent+"/replay", "channel replay", "The event is on its way again, as a new delivery.", "", "",
				d.replay)))
}

// spfRows are those of hosted SPF, if the server has it.
func (d *dashboard) spfRows() []*page {
	const list, one = "/dashboard/spf", "/dashboard/spf/{profile}"
	if d.HostedSPF == nil {
		return nil
	}
	return append(shows(reads, list, "Hosted SPF", "Hosted SPF", "profiles", d.showProfiles).with(),
		shows(reads, one, "Hosted SPF", "", "profile", d.showProfile).with(
			does(changes, one+"/resolve", "spf resolve", "", "", "token", d.resolveProfile))...)
}

func (d *dashboard) memberRows() []*page {
	const all, one = "/dashboard/members", "/dashboard/members/{id}"
	return append(shows(reads, all, "Members", "Members", "members", d.showMembers).with(
		does(owns, all, "member add", "The member is added.", "email role", "", d.addMember)),
		shows(owns, one, "Member", "", "member", d.showMember).with(
			does(owns, one+"/role", "member role", "The role is changed.", "role", "", d.setRole),
			does(owns, one+"/link", "member link", "The link is made.", "", "", d.makeLink),
			does(owns, one+"/remove", "member remove", "The member is removed.", "", "sure", d.removeMember))...)
}

// leaves is the name of signing out in the log.
const leaves = "leave"

func (d *dashboard) sessionRows() []*page {
	const all, ended = "/dashboard/sessions", "The session has ended."
	return shows(reads, all, "Sessions", "Sessions", "sessions", d.showSessions).with(
		does(reads, all+"/{id}/end", "session end", ended, "", "", d.endSessions),
		does(reads, all+"/end-others", "session end", ended, "", "", d.endSessions),
		does(reads, "/dashboard/leave", leaves, "You are signed out.", "", "", d.signOut),
		does(reads, "/dashboard/account", "enter another account", "You look after another account now.", "account", "",
			d.switchAccount))
}

// A scene is a request on its way through a page.
type scene struct {
	page    *page
	title   string   // of the page that is shown, for which the table has the usual one
	visitor *visitor // nil for public pages
	form    *form
	from    netip.Addr
	status  int // of the reply
	header  http.Header
}

type sceneKey struct{}

// A problem is why there is an error page in place of another.
type problem struct {
	status        int
	Heading, Text string
	Entry         bool // whether to lead to the entry
}

// Error implements error.
func (p *problem) Error() string { return p.Heading }

// maxForm bounds the body of a form that administers something.
const maxForm = 64 << 10

// serve handles a page: who may see it, what it shows, and how errors are shown.
func (d *dashboard) serve(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		s := &scene{page: p, title: p.title, form: &form{}, status: http.StatusOK, header: w.Header(),
			from: httpapi.ClientIP(r, d.TrustedProxies)}
		r = r.WithContext(context.WithValue(r.Context(), sceneKey{}, s))
		err := d.admit(r)
		if err == nil {
			err = d.answer(w, r)
		}
		if err != nil {
			d.fail(w, r, err)
		}
	}
}

// errOutside means that the visitor has to sign in first.
var errOutside = errors.New("nobody has entered")

// admit identifies the visitor, and checks his permission.
func (d *dashboard) admit(r *http.Request) (err error) {
	s := sceneOf(r)
	if d.origins.Check(r) != nil {
		return &problem{http.StatusForbidden, "Refused",
			"This request comes from another site. Go back to the dashboard and try again there.", false}
	}
	if s.page.role == "" {
		return nil
	}
	v, err := d.visit(r)
	if errors.Is(err, metering.ErrNotFound) {
		return errOutside
	}
	if err != nil {
		return err
	}
	if s.visitor = v; !v.May(s.page.role) {
		return &problem{http.StatusForbidden, "Not allowed", "This needs the role " + string(s.page.role) +
			". An owner of the account can change roles on the page of members.", false}
	}
	return nil
}

// answer runs a page. A change is a row of the log before it is made.
func (d *dashboard) answer(w http.ResponseWriter, r *http.Request) error {
	s := sceneOf(r)
	p := s.page
	if p.do == nil {
		r.Body = http.NoBody // package net/http would read a multipart one into memory and files
		return d.display(w, r)
	}
	if !p.reads {
		release, err := d.formRoom(r)
		if err != nil {
			return err
		}
		defer release()
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			return formFault(err)
		}
		s.form = &form{values: r.PostForm, known: slices.Concat(p.fields, p.quiet)}
	}
	var to string
	do := func(ctx context.Context) (err error) {
		if slices.Contains(p.quiet, "sure") && r.PostForm.Get("sure") != "yes" { // the checkbox next to the button
			return &metering.FieldError{Field: "sure", Reason: "confirm that you know what cannot be undone"}
		}
		to, err = p.do(r.WithContext(ctx))
		return told(err)
	}
	var err error
	if p.act == "" || s.visitor == nil {
		err = do(r.Context())
	} else if err = d.mayChange(r); err == nil {
		err = metering.Audited(r.Context(), d.Store, d.deed(r), do)
	}
	if s.form.refused(err) {
		s.status = http.StatusUnprocessableEntity
		return d.display(w, r)
	}
	if err == nil {
		see(w, to, view.If(p.says != "", noticeWord(p.act)))
	}
	return err
}

// formRoom waits for room for a form that is no longer than maxForm, and is called before the form is read. For a
// visitor without a session it counts an attempt to sign in, because visitors have no other forms.
func (d *dashboard) formRoom(r *http.Request) (release func(), err error) {
	s := sceneOf(r)
	if s.visitor == nil {
		if !d.Budget.SignIns.Take(s.from, d.now()).Allowed {
			return nil, tooMany(r)
		}
		return func() {}, nil
	}
	size := int64(maxForm)
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	return d.hold(r, formCopies*size)
}

// told attaches to an error the text that the sender of the form was shown, so that members can read it in the log.
func told(err error) error {
	if p, ok := err.(*problem); ok {
		return &metering.ReasonError{Reason: p.Text, Err: err}
	}
	if p, ok := err.(*refusal); ok {
		return &metering.ReasonError{Reason: p.reason, Err: err}
	}
	return err
}

// formFault is the problem of a form that could not be read.
func formFault(err error) *problem {
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return &problem{http.StatusRequestEntityTooLarge, "Form too large",
			"The form is longer than it may be. Go back and send a shorter one.", false}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problem{http.StatusRequestTimeout, "Form incomplete",
			"The form did not arrive in time. Go back and send it again.", false}
	}
	return &problem{http.StatusBadRequest, "Form not understood",
		"The form could not be read. Go back and send it again.", false}
}

func (d *dashboard) display(w http.ResponseWriter, r *http.Request) error {
	p := sceneOf(r).page
	data, err := p.show(r)
	if err != nil {
		return err
	}
	return d.render(w, r, p.template, data)
}

// pathNames are the names of the parts of a path that differ.
var pathNames = regexp.MustCompile(`\{(\w+)`)

// deed is the row of the log for a form that was sent.
func (d *dashboard) deed(r *http.Request) metering.Act {
	s := sceneOf(r)
	var ids, told []string
	for _, name := range pathNames.FindAllStringSubmatch(s.page.pattern, -1) {
		ids = append(ids, r.PathValue(name[1]))
	}
	for _, name := range s.page.fields {
		if value := strings.Join(r.PostForm[name], ","); value != "" {
			told = append(told, metering.ActField(name, value))
		}
	}
	return metering.Act{Account: s.visitor.Account.ID, At: d.now(), Who: s.visitor.Email, From: s.from.String(),
		What: s.page.act, Subject: strings.Join(ids, " "), Detail: strings.Join(told, " ")}
}

// fail shows an error. If it is not the visitor's own fault the page shows little, and the log all.
func (d *dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	s := sceneOf(r)
	p, known := errors.AsType[*problem](err)
	field, isField := errors.AsType[*metering.FieldError](err)
	switch {
	case known:
	case errors.Is(err, errOutside):
		see(w, enterPath(r), "")
		return
	case isField:
		p = &problem{http.StatusUnprocessableEntity, "Not possible",
			diag.Upper(field.Field) + " " + field.Reason + ".", false}
	case errors.Is(err, metering.ErrNotFound):
		p = &problem{http.StatusNotFound, "Page not found", "There is nothing at this address, or no longer.", false}
	case errors.Is(err, metering.ErrUnavailable):
		p = &problem{http.StatusServiceUnavailable, "Not available",
			"The server cannot read or write what it keeps. Try again in a moment.", false}
	case errors.Is(err, metering.ErrVersion):
		p = &problem{http.StatusConflict, "Changed meanwhile",
			"Somebody changed the same thing at the same moment. Go back and try again.", false}
	case r.Context().Err() != nil:
		return // the browser has gone
	default:
		p = &problem{http.StatusInternalServerError, "Something went wrong",
			"The server could not do this. Try again; if it happens again, tell who runs the server when it did.", false}
	}
	if p.status >= http.StatusInternalServerError {
		d.Log.Error("dashboard", "page", s.page.pattern, "error", err)
	}
	s.status, s.title = p.status, p.Heading
	if err := d.render(w, r, "error", p); err != nil {
		d.Log.Error("dashboard", "page", "error", "error", err)
		http.Error(w, p.Heading, p.status)
	}
}
