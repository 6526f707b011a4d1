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

// entry is the data of the sign-in page.
type entry struct {
	Token    string
	Email    string
	Accounts []metering.Account // to choose from
	Mail     bool               // whether a link can be requested
	Next     string             // the page after signing in
}

// enterPath leads a visitor without a session to the sign-in page, and then to the requested page.
func enterPath(r *http.Request) string {
	if to := r.URL.RequestURI(); r.Method == http.MethodGet && to != "/dashboard" && redirectable(to) {
		return "/dashboard/enter?" + url.Values{"next": {to}}.Encode()
	}
	return "/dashboard/enter"
}

// EnterURL is the address of the page on which a link is used.
func EnterURL(publicURL, token string) string {
	return publicURL + "/dashboard/enter?" + url.Values{"token": {token}}.Encode()
}

// showEnter shows the purpose of a link, with a button that uses it: a mail scanner, or a browser that loads pages in
// advance, opens the page without using the link.
func (d *dashboard) showEnter(r *http.Request) (any, error) {
	sceneOf(r).header.Set("Referrer-Policy", "no-referrer") // the token is in the address
	e := entry{Token: r.URL.Query().Get("token"), Mail: d.Mail != nil, Next: r.FormValue("next")}
	if e.Token == "" {
		return e, nil
	}
	if sceneOf(r).page.do == nil && !d.Budget.SignIns.Take(sceneOf(r).from, d.now()).Allowed {
		return nil, tooMany(r)
	}
	link, err := d.link(r, e.Token)
	e.Email = link.Email
	for _, one := range link.Accounts {
		if err == nil {
			var account metering.Account
			account, err = d.Store.Account(r.Context(), one.Account)
			e.Accounts = append(e.Accounts, account)
		}
	}
	return e, err
}

// link returns what a token can be used for.
func (d *dashboard) link(r *http.Request, token string) (member.Link, error) {
	link, err := d.people().Link(r.Context(), token)
	return link, used(err)
}

// used returns the error for a link that is no longer valid.
func used(err error) error {
	if errors.Is(err, metering.ErrNotFound) {
		return &problem{http.StatusNotFound, "Link not valid",
			"This link was used, or is older than 15 minutes. Each link can be used once.", true}
	}
	return err
}

// enter uses a link. The session is always a new one; the previous one of the browser ends.
func (d *dashboard) enter(r *http.Request) (string, error) {
	token, account := r.PostForm.Get("token"), metering.AccountID(r.PostForm.Get("account"))
	link, err := d.link(r, token)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(link.Accounts, func(one member.Member) bool { return one.Account == account }) {
		return "", metering.ErrNotFound
	}
	from, secret := sceneOf(r).from.String(), ""
	act := metering.Act{Account: account, At: d.now(), Who: link.Email, From: from, What: "enter"}
	err = metering.Audited(r.Context(), d.Store, act, func(ctx context.Context) (err error) {
		_, secret, err = d.people().Enter(ctx, token, account, from)
		return err
	})
	if err != nil {
		return "", used(err)
	}
	if old, _, err := d.people().Session(r.Context(), d.secretOf(r)); err == nil {
		_ = d.people().End(r.Context(), old.Account, old.ID) // it ends by itself, too
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
	if !d.mayMail(sceneOf(r).from, email) {
		return "", tooMany(r)
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
	token, err := d.people().NewLink(ctx, email)
	if err != nil {
		return err
	}
	at := EnterURL(d.PublicURL, token)
	if redirectable(next) {
		at += "&" + url.Values{"next": {next}}.Encode()
	}
	return d.Mail(ctx, email, "Your link to the dashboard", fmt.Sprintf(
		"Open this link to enter the dashboard. It can be used once, within 15 minutes:\n\n%s\n\n"+
			"If you have not asked for it, somebody else has typed your address; there is nothing to do.\n",
		at))
}

// mayChange refuses a visitor who has made too many changes. Signing out is never refused.
func (d *dashboard) mayChange(r *http.Request) error {
	s := sceneOf(r)
	if s.page.act == leaves {
		return nil
	}
	wait, ok := d.change(s.visitor.Member)
	if ok {
		return nil
	}
	most := budget.Of(budget.Changes)
	s.header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	return &problem{http.StatusTooManyRequests, "Too many changes", fmt.Sprintf("A member may change %d things a day, and "+
		"all members of the account together %d. Nothing was changed. Wait, or ask your administrator.",
		most.Person, most.Account), false}
}

// change counts a change that a member requests, and returns when the next is possible if it is one too many.
func (d *dashboard) change(m member.Member) (wait time.Duration, ok bool) {
	name, now := string(m.Account)+" "+m.Email, d.now()
	if one := d.Budget.ChangesOfMember.Take(name, now); !one.Allowed {
		return one.RetryAfter, false
	}
	all := d.Budget.ChangesOfAccount.Take(string(m.Account), now)
	if !all.Allowed {
		d.Budget.ChangesOfMember.GiveBack(name, now)
	}
	return all.RetryAfter, all.Allowed
}

// tooMany refuses a visitor who tries too often.
func tooMany(r *http.Request) error {
	sceneOf(r).header.Set("Retry-After", "60")
	return &problem{http.StatusTooManyRequests, "Too many attempts", "Wait a minute, and try again.", false}
}

// mayMail counts a link that is requested from an address, and is to be mailed to another.
func (d *dashboard) mayMail(from netip.Addr, email string) bool {
	now := d.now()
	return d.Budget.SignInMailsFrom.Take(from, now).Allowed && d.Budget.SignInMailsTo.Take(email, now).Allowed
}

// A visitor is a signed-in member, and the account that he manages.
type visitor struct {
	member.Member
	Account metering.Account
	Session member.Session
	secret  string // of the session
}

// May reports whether the visitor may do what needs a role.
func (v *visitor) May(role member.Role) bool { return v.Role.May(role) }

// visitorOf returns the visitor; nil on public pages.
func visitorOf(r *http.Request) *visitor { return sceneOf(r).visitor }

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
	sceneOf(r).header.Add("Set-Cookie", c.String())
}

// secretOf is the secret of the session that the browser shows. Of several, which a neighbouring host may have set,
// none counts.
func (d *dashboard) secretOf(r *http.Request) string {
	if all := r.CookiesNamed(d.cookieName()); len(all) == 1 {
		return all[0].Value
	}
	return ""
}

// visit returns the visitor. The error is [metering.ErrNotFound] without a session.
func (d *dashboard) visit(r *http.Request) (*visitor, error) {
	v := &visitor{secret: d.secretOf(r)}
	err := metering.ErrNotFound
	if v.secret != "" {
		now := d.now()
		if !d.Budget.Visits.Take(sceneOf(r).from, now).Allowed {
			return nil, tooMany(r)
		}
		if v.Session, v.Member, err = d.people().Session(r.Context(), v.secret); err == nil {
			d.Budget.Visits.GiveBack(sceneOf(r).from, now)
		}
	}
	if named := d.namedByProxy(r); named != "" && (err != nil || v.Email != named) {
		if v, err = d.beginNamed(r, named); err == nil {
			d.setCookie(r, v.secret)
		}
	}
	if err != nil {
		return nil, err
	}
	v.Account, err = d.Store.Account(r.Context(), v.Member.Account)
	return v, err
}

// namedByProxy returns the member that a trusted proxy has authenticated; empty without one.
func (d *dashboard) namedByProxy(r *http.Request) string {
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

// beginNamed begins a session of a member that a proxy names, in the first of the accounts.
func (d *dashboard) beginNamed(r *http.Request, email string) (*visitor, error) {
	accounts, err := d.people().Of(r.Context(), email)
	if err == nil && len(accounts) == 0 {
		err = metering.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	v := &visitor{Member: accounts[0]}
	v.Session, v.secret, err = d.people().Begin(r.Context(), v.Member.Account, email, sceneOf(r).from.String())
	return v, err
}

// leave leads to a page that shows a text once, if there is one, and in this session alone. It replaces one that was
// not shown yet.
func (d *dashboard) leave(r *http.Request, page, text string, err error) (string, error) {
	if err != nil || text == "" {
		return page, err
	}
	account, token := visitorOf(r).Account.ID, visitorOf(r).tokenOf(page)
	id, _ := idOf(token)
	d.forget(r.Context(), keptKind, d.now().Add(-keptFor))
	err = metering.Retry(func() error { // another form of the session may be first
		old, err := d.Store.Record(r.Context(), account, keptKind, id)
		if err == nil || errors.Is(err, metering.ErrNotFound) {
			_, err = d.keepOver(r.Context(), account, token, old.Version, text)
		}
		return err
	})
	return page, err
}

// tokenOf returns the token of what is left for a page. No store holds the session's secret from which it is derived.
func (v *visitor) tokenOf(page string) string {
	hash := sha256.Sum256([]byte("left in the session\n" + v.secret + "\n" + page))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

// left returns the text that was left for this page; empty if there is none. Only a page that is really shown takes
// it.
func (d *dashboard) left(r *http.Request) (string, error) {
	if r.Method != http.MethodGet {
		return "", nil
	}
	return d.take(r, r.URL.Path)
}

func (d *dashboard) take(r *http.Request, page string) (text string, err error) {
	v := visitorOf(r)
	id, _ := idOf(v.tokenOf(page))
	seen, err := d.Store.Record(r.Context(), v.Account.ID, keptKind, id)
	if err == nil {
		err = d.kept(r.Context(), v.Account.ID, v.tokenOf(page), &text)
	}
	if err == nil {
		seen.Body = nil
		err = d.Store.PutRecords(r.Context(), seen)
	}
	if errors.Is(err, metering.ErrNotFound) || errors.Is(err, metering.ErrVersion) { // another request has taken it
		return "", nil
	}
	return text, err
}
