package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
)

// signInPage is the data of the sign-in page.
type signInPage struct {
	Token    string
	Email    string
	Accounts []metering.Account // to choose from
	CanMail  bool               // whether a link can be requested
	Next     string             // the page after signing in
}

// signInPath leads a visitor without a session to the sign-in page, and then to the requested page.
func signInPath(r *http.Request) string {
	if to := r.URL.RequestURI(); r.Method == http.MethodGet && to != "/dashboard" && isLocalPath(to) {
		return "/dashboard/enter?" + url.Values{"next": {to}}.Encode()
	}
	return "/dashboard/enter"
}

// SignInURL returns the URL of the page on which a sign-in link is used.
func SignInURL(publicURL, token string) string {
	return publicURL + "/dashboard/enter?" + url.Values{"token": {token}}.Encode()
}

// showSignIn shows the purpose of a link, with a button that uses it: a mail scanner, or a browser that loads pages in
// advance, opens the page without using the link.
func (d *dashboard) showSignIn(r *http.Request) (any, error) {
	stateOf(r).header.Set("Referrer-Policy", "no-referrer") // the token is in the address
	page := signInPage{Token: r.URL.Query().Get("token"), CanMail: d.Mail != nil, Next: r.FormValue("next")}
	if page.Token == "" {
		return page, nil
	}
	if stateOf(r).page.submit == nil && !d.Budget.SignIns.Take(stateOf(r).clientIP, d.now()).Allowed {
		return nil, tooManyAttempts(r)
	}
	link, err := d.signInLink(r, page.Token)
	page.Email = link.Email
	for _, m := range link.Accounts {
		if err == nil {
			var account metering.Account
			account, err = d.Store.Account(r.Context(), m.Account)
			page.Accounts = append(page.Accounts, account)
		}
	}
	return page, err
}

// signInLink returns what a token can be used for.
func (d *dashboard) signInLink(r *http.Request, token string) (member.Link, error) {
	link, err := d.members().Link(r.Context(), token)
	return link, linkError(err)
}

// linkError returns the error for a link that is no longer valid.
func linkError(err error) error {
	if errors.Is(err, metering.ErrNotFound) {
		return &problem{http.StatusNotFound, "Link not valid",
			"This link was already used or is older than 15 minutes. Each link works once.", true}
	}
	return err
}

// signIn uses a link. The session is always a new one; the previous one of the browser ends.
func (d *dashboard) signIn(r *http.Request) (string, error) {
	token, account := r.PostForm.Get("token"), metering.AccountID(r.PostForm.Get("account"))
	link, err := d.signInLink(r, token)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(link.Accounts, func(m member.Member) bool { return m.Account == account }) {
		return "", metering.ErrNotFound
	}
	from, secret := stateOf(r).clientIP.String(), ""
	act := metering.Act{Account: account, At: d.now(), Who: link.Email, From: from, What: "enter"}
	err = metering.Audited(r.Context(), d.Store, act, func(ctx context.Context) (err error) {
		_, secret, err = d.members().Enter(ctx, token, account, from)
		return err
	})
	if err != nil {
		return "", linkError(err)
	}
	if old, _, err := d.members().Session(r.Context(), d.sessionSecret(r)); err == nil {
		_ = d.members().End(r.Context(), old.Account, old.ID) // it ends by itself, too
	}
	d.setCookie(r, secret)
	return r.PostForm.Get("next"), nil
}

// mailTime bounds the sending of a link, which runs in the background.
const mailTime = time.Minute

// mailLink mails a link to a member. The requester learns nothing: neither from the reply, nor from its timing,
// because the mail is sent after it.
func (d *dashboard) mailLink(r *http.Request) (string, error) {
	if d.Mail == nil {
		return "", metering.ErrNotFound
	}
	email, err := member.ParseEmail(r.PostForm.Get("email"))
	if err != nil {
		return "", err
	}
	if !d.takeSignInMail(stateOf(r).clientIP, email) {
		return "", tooManyAttempts(r)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), mailTime)
	next := r.PostForm.Get("next")
	go func() {
		defer cancel()
		err := metering.Contain(func() error { return d.sendLink(ctx, email, next) })
		if err != nil && !errors.Is(err, metering.ErrNotFound) {
			d.Log.Error("mailing a link to a member", "error", err)
		}
	}()
	return "/dashboard/enter", nil
}

func (d *dashboard) sendLink(ctx context.Context, email, next string) error {
	token, err := d.members().NewLink(ctx, email)
	if err != nil {
		return err
	}
	at := SignInURL(d.PublicURL, token)
	if isLocalPath(next) {
		at += "&" + url.Values{"next": {next}}.Encode()
	}
	return d.Mail(ctx, email, "Your sign-in link", fmt.Sprintf(
		"Open this link to sign in to the dashboard. It works once, within 15 minutes:\n\n%s\n\n"+
			"If you did not request it, you can ignore this message.\n",
		at))
}

// limitChanges refuses a visitor who has made too many changes. Signing out is never refused.
func (d *dashboard) limitChanges(r *http.Request) error {
	s := stateOf(r)
	if s.page.action == signOutAction {
		return nil
	}
	wait, ok := d.takeChange(s.session.Member)
	if ok {
		return nil
	}
	limits := budget.Of(budget.Changes)
	s.header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	return &problem{http.StatusTooManyRequests, "Too many changes", fmt.Sprintf("A member can make %d changes per day, "+
		"and an account %d. Nothing was changed. Wait, or contact your administrator.",
		limits.Person, limits.Account), false}
}

// takeChange counts a change that a member requests, and returns when the next is possible if it is one too many.
func (d *dashboard) takeChange(m member.Member) (wait time.Duration, ok bool) {
	name, now := string(m.Account)+" "+m.Email, d.now()
	if ofMember := d.Budget.ChangesOfMember.Take(name, now); !ofMember.Allowed {
		return ofMember.RetryAfter, false
	}
	ofAccount := d.Budget.ChangesOfAccount.Take(string(m.Account), now)
	if !ofAccount.Allowed {
		d.Budget.ChangesOfMember.Refund(name, now)
	}
	return ofAccount.RetryAfter, ofAccount.Allowed
}

// tooManyAttempts refuses a visitor who tries too often.
func tooManyAttempts(r *http.Request) error {
	stateOf(r).header.Set("Retry-After", "60")
	return &problem{http.StatusTooManyRequests, "Too many attempts", "Wait a minute, and try again.", false}
}

// takeSignInMail counts a link that is requested from an address, and is to be mailed to another.
func (d *dashboard) takeSignInMail(from netip.Addr, email string) bool {
	now := d.now()
	return d.Budget.SignInMailsFrom.Take(from, now).Allowed && d.Budget.SignInMailsTo.Take(email, now).Allowed
}

// A session is a signed-in member, and the account that he manages.
type session struct {
	member.Member
	Account metering.Account
	Record  member.Session
	secret  string // of the session
}

// May reports whether the member has the permissions of a role.
func (v *session) May(role member.Role) bool { return v.Role.May(role) }

// sessionOf returns the session of a request; nil on public pages.
func sessionOf(r *http.Request) *session { return stateOf(r).session }

// cookieName is that of the session. Under TLS browsers take one of this prefix from no other host and no other path.
func (d *dashboard) cookieName() string {
	if d.Secure {
		return "__Host-diagkit"
	}
	return "diagkit"
}

// setCookie gives the browser a session, or with no secret takes it away.
func (d *dashboard) setCookie(r *http.Request, secret string) {
	c := &http.Cookie{Name: d.cookieName(), Value: secret, Path: "/", HttpOnly: true, Secure: d.Secure,
		SameSite: http.SameSiteLaxMode, MaxAge: int(member.SessionTime.Seconds())}
	if secret == "" {
		c.MaxAge = -1
	}
	stateOf(r).header.Add("Set-Cookie", c.String())
}

// sessionSecret is the secret of the session that the browser shows. Of several, which a neighbouring host may have
// set, none counts.
func (d *dashboard) sessionSecret(r *http.Request) string {
	if all := r.CookiesNamed(d.cookieName()); len(all) == 1 {
		return all[0].Value
	}
	return ""
}

// authenticate returns the session. The error is [metering.ErrNotFound] without a session.
func (d *dashboard) authenticate(r *http.Request) (*session, error) {
	v := &session{secret: d.sessionSecret(r)}
	err := metering.ErrNotFound
	if v.secret != "" {
		now := d.now()
		if !d.Budget.Visits.Take(stateOf(r).clientIP, now).Allowed {
			return nil, tooManyAttempts(r)
		}
		if v.Record, v.Member, err = d.members().Session(r.Context(), v.secret); err == nil {
			d.Budget.Visits.Refund(stateOf(r).clientIP, now)
		}
	}
	if named := d.proxyUser(r); named != "" && (err != nil || v.Email != named) {
		if v, err = d.beginProxySession(r, named); err == nil {
			d.setCookie(r, v.secret)
		}
	}
	if err != nil {
		return nil, err
	}
	v.Account, err = d.Store.Account(r.Context(), v.Member.Account)
	return v, err
}

// proxyUser returns the member that a trusted proxy has authenticated; empty without one.
func (d *dashboard) proxyUser(r *http.Request) string {
	if d.TrustedUserHeader == "" {
		return ""
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(d.TrustedProxies, func(p netip.Prefix) bool {
		return p.Contains(peer.Addr().Unmap())
	}) {
		return ""
	}
	values := r.Header.Values(d.TrustedUserHeader)
	if len(values) != 1 { // a second one may be the client's own
		return ""
	}
	email, err := member.ParseEmail(values[0])
	if err != nil {
		return ""
	}
	return email
}

// beginProxySession begins a session of a member that a proxy names, in the first of the accounts.
func (d *dashboard) beginProxySession(r *http.Request, email string) (*session, error) {
	accounts, err := d.members().Of(r.Context(), email)
	if err == nil && len(accounts) == 0 {
		err = metering.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	v := &session{Member: accounts[0]}
	v.Record, v.secret, err = d.members().Begin(r.Context(), v.Member.Account, email, stateOf(r).clientIP.String())
	return v, err
}

// secretLifetime is how long a page shows a secret that was made on it, unless its visitor says before that it is
// saved.
const secretLifetime = 15 * time.Minute

// A secret is a text that a page shows until it is saved.
type secret struct {
	Value  string
	Page   string // the path of the page
	Text   string // what it is
	Sample string // a command that uses it; may be empty
	Saved  string // the button that ends it
}

// keepSecret stores a text that a page shows in this session alone, and returns the address of the page. It replaces a
// text that is still shown; an empty one is not stored.
func (d *dashboard) keepSecret(r *http.Request, page, text string, err error) (string, error) {
	if err != nil || text == "" {
		return page, err
	}
	account, token := sessionOf(r).Account.ID, sessionOf(r).secretToken(page)
	id, _ := tokenID(token)
	d.deleteExpired(r.Context(), resultKind, d.now().Add(-resultLifetime))
	err = metering.Retry(func() error { // another form of the session may be first
		old, err := d.Store.Record(r.Context(), account, resultKind, id)
		if err == nil || errors.Is(err, metering.ErrNotFound) {
			_, err = d.replaceResult(r.Context(), account, token, old.Version, text)
		}
		return err
	})
	return page, err
}

// secretToken returns the token of the secret of a page. No store holds the session's secret from which it is derived.
func (v *session) secretToken(page string) string {
	hash := sha256.Sum256([]byte("left in the session\n" + v.secret + "\n" + page))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

// keptSecret returns the text that was stored for this page; empty if there is none, or none any more.
func (d *dashboard) keptSecret(r *http.Request) (text string, err error) {
	if r.Method != http.MethodGet {
		return "", nil
	}
	v, page := sessionOf(r), r.URL.Path
	id, _ := tokenID(v.secretToken(page))
	record, err := d.Store.Record(r.Context(), v.Account.ID, resultKind, id)
	if err == nil && d.now().Sub(record.At) >= secretLifetime {
		return "", d.removeSecret(r, page)
	}
	if err == nil {
		err = d.loadResult(r.Context(), v.Account.ID, v.secretToken(page), &text)
	}
	if errors.Is(err, metering.ErrNotFound) {
		return "", nil
	}
	return text, err
}

// removeSecret removes the text that was stored for a page.
func (d *dashboard) removeSecret(r *http.Request, page string) error {
	id, _ := tokenID(sessionOf(r).secretToken(page))
	record, err := d.Store.Record(r.Context(), sessionOf(r).Account.ID, resultKind, id)
	if err == nil {
		record.Body = nil
		err = d.Store.PutRecords(r.Context(), record)
	}
	if errors.Is(err, metering.ErrNotFound) || errors.Is(err, metering.ErrVersion) { // another request has removed it
		return nil
	}
	return err
}

// endSecret is the form by which a visitor says that the secret of a page is saved.
func (d *dashboard) endSecret(r *http.Request) (string, error) {
	page := r.PostForm.Get("page")
	return page, d.removeSecret(r, page)
}
