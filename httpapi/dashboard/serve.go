package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
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
	submit         func(r *http.Request) (to string, err error) // to is the address of the redirect
	action         string                                       // its name in the log; "" if it administers nothing
	doneText       string                                       // when it is done
	loggedFields   []string                                     // of the form, which the log may hold
	unloggedFields []string                                     // of the form, which it must not
	readsBody      bool                                         // whether do reads the body, and bounds it
	maxForm        int64                                        // of the body; 0 means the usual bound
	prepare        func(r *http.Request) error                  // changes what was read, before the log has it
}

// withForms returns a page and its forms, which have its title and show it again.
func (p *page) withForms(forms ...*page) []*page {
	for _, f := range forms {
		f.title, f.template, f.show = p.title, p.template, p.show
	}
	return append([]*page{p}, forms...)
}

// noticeName is the parameter in the address of a page that names the last action.
func noticeName(action string) string { return strings.ReplaceAll(action, " ", "-") }

const (
	public    = member.Role("")
	viewer    = member.Viewer
	developer = member.Developer
	owner     = member.Owner
)

func newPage(role member.Role, pattern, title, nav, template string, show func(*http.Request) (any, error)) *page {
	return &page{method: http.MethodGet, pattern: pattern, role: role, title: title, nav: nav,
		template: template, show: show}
}

func newForm(
	role member.Role, pattern, action, doneText, logged, unlogged string, submit func(*http.Request) (string, error),
) *page {
	return &page{method: http.MethodPost, pattern: pattern, role: role, action: action, doneText: doneText, submit: submit,
		loggedFields: strings.Fields(logged), unloggedFields: strings.Fields(unlogged)}
}

// pageTable has all pages, in the order of the navigation.
func (d *dashboard) pageTable() []*page {
	const domain, operation, settings = "/dashboard/domains/{domain}", "/dashboard/playground/{operation...}",
		"domain checks every budget channels"
	runForm := newForm(developer, operation, "", "", "", "", d.runOperation)
	runForm.readsBody = true
	adding := newForm(developer, "/dashboard/domains", "watch add",
		"Domain added. The first check runs within a few minutes.", settings, "file", d.addDomains)
	preview := newForm(developer, "/dashboard/domains/preview", "", "", "", settings+" file", d.previewDomains)
	for _, form := range []*page{adding, preview} {
		form.maxForm, form.prepare = maxAddForm, readEntries
	}
	return slices.Concat(
		newPage(viewer, "/dashboard", "Domains", "Domains", "domains", d.showDomains).withForms(adding, preview),
		newPage(viewer, "/dashboard/domains.csv", "Domains", "", "", d.showDomainsFile).withForms(),
		newPage(viewer, domain, "Domain", "", "domain", d.showDomain).withForms(
			newForm(developer, domain+"/run", "", "", "", "", d.runWatch),
			newForm(developer, domain+"/check", "", "", "", "token", d.checkDomain),
			newForm(developer, domain+"/settings", "watch set", "Settings saved.", settings, "", d.setDomain),
			newForm(developer, domain+"/remove", "watch remove",
				"Domain removed. Its history was deleted.", "", "sure", d.removeDomain)),
		newPage(viewer, "/dashboard/check", "Check a domain", "", "check", d.showCheck).withForms(
			newForm(developer, "/dashboard/check", "", "", "", "domain token", d.runCheck)),
		newPage(viewer, "/dashboard/playground", "Playground", "Playground", "playground", d.showPlayground).withForms(),
		newPage(viewer, operation, "Playground", "", "operation", d.showOperation).withForms(runForm),
		newPage(viewer, "/dashboard/results/{token}", "Result", "", "", d.serveReply).withForms(),
		d.keyPages(),
		newPage(viewer, "/dashboard/usage", "Usage", "Usage", "usage", d.showUsage).withForms(),
		newPage(viewer, "/dashboard/usage.csv", "Usage", "", "", d.showUsageFile).withForms(),
		newPage(viewer, "/dashboard/activity", "Activity", "Activity", "activity", d.showActivity).withForms(),
		newPage(viewer, "/dashboard/activity.csv", "Activity", "", "", d.showActivityFile).withForms(),
		d.billingPages(), d.channelPages(), d.spfPages(), d.memberPages(), d.sessionPages(),
		newPage(viewer, "/dashboard/log", "Log", "Log", "log", d.showLog).withForms(),
		newPage(public, "/dashboard/enter", "Sign in", "", "signin", d.showSignIn).withForms(
			newForm(public, "/dashboard/enter", "", "", "", "token account next", d.signIn),
			newForm(public, "/dashboard/enter/mail", "mail link",
				"If the address belongs to a member, we sent a link. It works once, within 15 minutes.", "", "email next",
				d.mailLink)),
		newPage(viewer, "/dashboard/shares", "Shared links", "Shared links", "shares", d.showShares).withForms(
			newForm(developer, "/dashboard/shares", "share create", "Link created.", "for", "token result", d.createShare),
			newForm(developer, "/dashboard/shares/{share}/withdraw", "share withdraw", "Link revoked.", "", "",
				d.revokeShare)),
		newPage(public, "/badge/{file}", "Badge", "", "", d.showBadge).withForms(),
		newPage(public, "/r/{token}", "Shared result", "", "shared", d.showShared).withForms(),
	)
}

func (d *dashboard) keyPages() []*page {
	const all, one = "/dashboard/keys", "/dashboard/keys/{id}"
	return append(newPage(viewer, all, "API keys", "Keys", "keys", d.showKeys).withForms(
		newForm(developer, all, "key create", "Key created.", "name environment scopes ip_allowlist expires_at expires_on",
			"",
			d.createKey)),
		newPage(viewer, one, "API key", "", "key", d.showKey).withForms(
			newForm(developer, one+"/rotate", "key rotate", "Key rotated.", "grace", "", d.rotateKey),
			newForm(developer, one+"/revoke", "key revoke", "Key revoked.", "reason", "sure", d.revokeKey))...)
}

func (d *dashboard) billingPages() []*page {
	const all, one = "/dashboard/billing", "/dashboard/billing/{invoice}"
	pages := slices.Concat(newPage(viewer, all, "Billing", "Billing", "billing", d.showBilling).withForms(
		newForm(owner, all+"/overage", "account set", "Overage settings saved.", "overage overage_budget_cents", "",
			d.setOverage)),
		newPage(viewer, one, "Invoice", "", "invoice", d.showInvoice).withForms(
			newForm(owner, one+"/void", "billing void", "Invoice voided.", "reason reissue", "sure", d.voidInvoice),
			newForm(owner, one+"/credit", "billing credit", "Credit note issued.", "cents credit_reason", "",
				d.creditInvoice)))
	if !d.OwnersEditInvoices {
		pages = pages[:len(pages)-2]
	}
	return pages
}

func (d *dashboard) channelPages() []*page {
	const all, one, delivery = "/dashboard/channels", "/dashboard/channels/{id}", "/dashboard/deliveries/{id}"
	const changed = "Channel updated."
	return slices.Concat(newPage(viewer, all, "Channels", "Channels", "channels", d.showChannels).withForms(
		newForm(developer, all, "channel create", "Channel created.", "name kind categories unsigned test", "target token",
			d.createChannel)),
		newPage(viewer, one, "Channel", "", "channel", d.showChannel).withForms(
			newForm(developer, one+"/rotate", "channel rotate", "Secret rotated.", "overlap", "", d.rotateSecret),
			newForm(developer, one+"/remove", "channel remove", "Channel removed.", "", "sure", d.removeChannel),
			newForm(developer, one+"/test", "channel test", "", "", "", d.testChannel),
			newForm(developer, one+"/confirm", "channel confirm", "Address confirmed.", "", "code", d.confirmChannel),
			newForm(developer, one+"/replay", "channel replay", "Failed deliveries are being resent.", "since", "",
				d.replaySince),
			newForm(developer, one+"/enable", "channel enable", changed, "", "", channelAction(d, notify.Channels.Enable)),
			newForm(developer, one+"/disable", "channel disable", changed, "", "", channelAction(d, disableChannel))),
		newPage(viewer, delivery, "Delivery", "", "delivery", d.showDelivery).withForms(
			newForm(developer, delivery+"/replay", "channel replay", "Event resent as a new delivery.", "", "",
				d.replayDelivery)))
}

// spfPages are those of hosted SPF, if the server has it.
func (d *dashboard) spfPages() []*page {
	const list, one = "/dashboard/spf", "/dashboard/spf/{profile}"
	if d.HostedSPF == nil {
		return nil
	}
	return append(newPage(viewer, list, "Hosted SPF", "Hosted SPF", "profiles", d.showProfiles).withForms(
		newForm(developer, list, "spf create", "Profile created.", "domain key", "source_record", d.createProfile)),
		newPage(viewer, one, "Hosted SPF", "", "profile", d.showProfile).withForms(
			newForm(developer, one+"/resolve", "spf resolve", "", "", "token", d.resolveProfile),
			newForm(developer, one+"/remove", "spf remove", "Profile removed.", "", "sure", d.removeProfile))...)
}

func (d *dashboard) memberPages() []*page {
	const all, one = "/dashboard/members", "/dashboard/members/{id}"
	return append(newPage(viewer, all, "Members", "Members", "members", d.showMembers).withForms(
		newForm(owner, all, "member add", "Member added.", "email role", "show", d.addMember)),
		newPage(owner, one, "Member", "", "member", d.showMember).withForms(
			newForm(owner, one+"/role", "member role", "Role changed.", "role", "", d.setRole),
			newForm(owner, one+"/link", "member link", "", "", "show", d.createLink),
			newForm(owner, one+"/remove", "member remove", "Member removed.", "", "sure", d.removeMember))...)
}

// signOutAction is the name of signing out in the log.
const signOutAction = "leave"

func (d *dashboard) sessionPages() []*page {
	const all, ended = "/dashboard/sessions", "Session ended."
	return newPage(viewer, all, "Sessions", "Sessions", "sessions", d.showSessions).withForms(
		newForm(viewer, "/dashboard/saved", "", "", "", "page", d.endSecret),
		newForm(viewer, all+"/{id}/end", "session end", ended, "", "", d.endSessions),
		newForm(viewer, all+"/end-others", "session end", ended, "", "sure", d.endSessions),
		newForm(viewer, "/dashboard/leave", signOutAction, "You are signed out.", "", "", d.signOut),
		newForm(viewer, "/dashboard/account", "enter another account", "Account switched.", "account", "",
			d.switchAccount))
}

// A requestState is a request on its way through a page.
type requestState struct {
	page     *page
	title    string   // of the page that is shown, for which the table has the usual one
	session  *session // nil for public pages
	form     *ui.Form
	poll     string    // the address that shows how what the page waits for goes on; may be empty
	added    *addition // of a form that adds domains
	notice   string    // about the last action; empty: that which the address names
	clientIP netip.Addr
	status   int // of the reply
	header   http.Header
}

type requestStateKey struct{}

// A problem is why there is an error page in place of another.
type problem struct {
	status        int
	Heading, Text string
	OfferSignIn   bool // whether to lead to the entry
}

// Error implements error.
func (p *problem) Error() string { return p.Heading }

// maxForm bounds the body of a form that administers something.
const maxForm = 64 << 10

// serve handles a page: who may see it, what it shows, and how errors are shown.
func (d *dashboard) serve(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		s := &requestState{page: p, title: p.title, form: &ui.Form{}, status: http.StatusOK, header: w.Header(),
			clientIP: httpapi.ClientIP(r, d.TrustedProxies)}
		r = r.WithContext(context.WithValue(r.Context(), requestStateKey{}, s))
		err := d.authorize(r)
		if err == nil {
			err = d.handle(w, r)
		}
		if err != nil {
			d.showError(w, r, err)
		}
	}
}

// errNoSession means that the visitor has to sign in first.
var errNoSession = errors.New("no session")

// authorize authenticates the session and checks its role.
func (d *dashboard) authorize(r *http.Request) (err error) {
	s := stateOf(r)
	if d.origins.Check(r) != nil {
		return &problem{http.StatusForbidden, "Refused",
			"This request comes from another site. Go back to the dashboard and try again there.", false}
	}
	if s.page.role == "" {
		return nil
	}
	v, err := d.authenticate(r)
	if errors.Is(err, metering.ErrNotFound) {
		return errNoSession
	}
	if err != nil {
		return err
	}
	if s.session = v; !v.May(s.page.role) {
		return &problem{http.StatusForbidden, "Not allowed", "This requires the role " + string(s.page.role) +
			". An account owner can change roles on the Members page.", false}
	}
	return nil
}

// errShowAgain shows the page of a form again, as it is filled in, although the form was taken.
var errShowAgain = errors.New("the form is shown again")

// handle runs a page. A change is a row of the log before it is made.
func (d *dashboard) handle(w http.ResponseWriter, r *http.Request) error {
	s := stateOf(r)
	p := s.page
	if p.submit == nil {
		r.Body = http.NoBody // package net/http would read a multipart one into memory and files
		return d.showPage(w, r)
	}
	if !p.readsBody {
		limit := cmp.Or(p.maxForm, maxForm)
		release, err := d.reserveForm(r, limit)
		if err != nil {
			return err
		}
		defer release()
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		if err := parseForm(r, p, limit); err != nil {
			return formProblem(err)
		}
		s.form = &ui.Form{Values: r.PostForm, Known: slices.Concat(p.loggedFields, p.unloggedFields)}
	}
	var to string
	var again bool
	submit := func(ctx context.Context) (err error) {
		if slices.Contains(p.unloggedFields, "sure") && r.PostForm.Get("sure") != "yes" { // the checkbox next to the button
			return &metering.FieldError{Field: "sure", Reason: "must be checked to continue"}
		}
		if to, err = p.submit(r.WithContext(ctx)); err == errShowAgain {
			again = true
			return nil
		}
		return withReason(err)
	}
	var err error
	if p.action == "" || s.session == nil {
		err = submit(r.Context())
	} else if err = d.limitChanges(r); err == nil {
		err = metering.Audited(r.Context(), d.Store, d.auditEntry(r), submit)
	}
	if !again {
		s.form.Faults = formFaults(err)
	}
	if len(s.form.Faults) > 0 {
		s.status = http.StatusUnprocessableEntity
		again = true
	}
	if again {
		return d.showPage(w, r)
	}
	if err == nil {
		redirect(w, to, view.TextIf(p.doneText != "", noticeName(p.action)))
	}
	return err
}

// parseForm reads a form. One with a file is read into memory, whose limit is that of the form.
func parseForm(r *http.Request, p *page, limit int64) error {
	if err := r.ParseForm(); err != nil || p.prepare == nil {
		return err
	}
	if err := r.ParseMultipartForm(limit); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return err
	}
	return p.prepare(r)
}

// reserveForm waits for room for a form within a limit, and is called before the form is read. For a visitor without a
// session it counts an attempt to sign in, because visitors have no other forms.
func (d *dashboard) reserveForm(r *http.Request, limit int64) (release func(), err error) {
	s := stateOf(r)
	if s.session == nil {
		if !d.Budget.SignIns.Take(s.clientIP, d.now()).Allowed {
			return nil, tooManyAttempts(r)
		}
		return func() {}, nil
	}
	size := limit
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	return d.reserve(r, formCopies*size)
}

// withReason attaches to an error the text that the sender of the form was shown, so that members can read it in the
// log.
func withReason(err error) error {
	if p, ok := err.(*problem); ok {
		return &metering.ReasonError{Reason: p.Text, Err: err}
	}
	if p, ok := err.(*refusedError); ok {
		return &metering.ReasonError{Reason: p.reason, Err: err}
	}
	return err
}

// formProblem is the problem of a form that could not be read.
func formProblem(err error) *problem {
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		return &problem{http.StatusRequestEntityTooLarge, "Form too large",
			"The form is too long. Go back and submit a shorter one.", false}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problem{http.StatusRequestTimeout, "Form incomplete",
			"The form did not arrive in time. Go back and submit it again.", false}
	}
	return &problem{http.StatusBadRequest, "Form not understood",
		"The form could not be read. Go back and submit it again.", false}
}

func (d *dashboard) showPage(w http.ResponseWriter, r *http.Request) error {
	p := stateOf(r).page
	data, err := p.show(r)
	if err != nil {
		return err
	}
	return d.render(w, r, p.template, data)
}

// pathParameters are the names of the parts of a path that differ.
var pathParameters = regexp.MustCompile(`\{(\w+)`)

// auditEntry is the row of the log for a form that was sent.
func (d *dashboard) auditEntry(r *http.Request) metering.Act {
	s := stateOf(r)
	var ids, details []string
	for _, name := range pathParameters.FindAllStringSubmatch(s.page.pattern, -1) {
		ids = append(ids, r.PathValue(name[1]))
	}
	for _, name := range s.page.loggedFields {
		if value := strings.Join(r.PostForm[name], ","); value != "" {
			details = append(details, metering.ActField(name, value))
		}
	}
	return metering.Act{Account: s.session.Account.ID, At: d.now(), Who: s.session.Email, From: s.clientIP.String(),
		What: s.page.action, Subject: strings.Join(ids, " "), Detail: strings.Join(details, " ")}
}

// showError shows an error. If it is not the visitor's own fault the page shows little, and the log all.
func (d *dashboard) showError(w http.ResponseWriter, r *http.Request, err error) {
	s := stateOf(r)
	p, known := errors.AsType[*problem](err)
	field, isField := errors.AsType[*metering.FieldError](err)
	switch {
	case known:
	case errors.Is(err, errNoSession):
		redirect(w, signInPath(r), "")
		return
	case isField:
		p = &problem{http.StatusUnprocessableEntity, "Not possible",
			phrase.Capitalize(field.Field) + " " + field.Reason + ".", false}
	case errors.Is(err, metering.ErrNotFound):
		p = &problem{http.StatusNotFound, "Page not found", "This page does not exist.", false}
	case errors.Is(err, metering.ErrUnavailable):
		p = &problem{http.StatusServiceUnavailable, "Not available",
			"The server cannot reach its data store. Try again in a moment.", false}
	case errors.Is(err, metering.ErrVersion):
		p = &problem{http.StatusConflict, "Changed meanwhile",
			"Someone else changed this at the same time. Go back and try again.", false}
	case r.Context().Err() != nil:
		return // the browser has gone
	default:
		p = &problem{http.StatusInternalServerError, "Something went wrong",
			"Try again. If it happens again, send your administrator the time of the error.", false}
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
