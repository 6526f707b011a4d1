package dashboard

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

// A visitor is a member who has entered, and the account that he looks after.
type visitor struct {
	member.Member
	Account metering.Account
	Session member.Session
	secret  string // of the session
}

// May reports whether the visitor may do what needs a role.
func (v *visitor) May(role member.Role) bool { return v.Role.May(role) }

// visitorOf is who looks; nil on pages for anybody.
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

// secretOf is the secret of the session that the browser shows. Of several, which a neighbouring host may have set, none
// counts.
func (d *dashboard) secretOf(r *http.Request) string {
	if all := r.CookiesNamed(d.cookieName()); len(all) == 1 {
		return all[0].Value
	}
	return ""
}

// visit finds out who looks. It is [metering.ErrNotFound] for who has not entered.
func (d *dashboard) visit(r *http.Request) (*visitor, error) {
	v := &visitor{secret: d.secretOf(r)}
	err := metering.ErrNotFound
	if v.secret != "" {
		now := d.now()
		if !d.attempts.visits.Take(sceneOf(r).from, now).Allowed {
			return nil, tooMany(r)
		}
		if v.Session, v.Member, err = d.people().Session(r.Context(), v.secret); err == nil {
			d.attempts.visits.GiveBack(sceneOf(r).from, now)
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

// namedByProxy is the member that a trusted proxy has let through; empty where there is none.
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

// beginNamed begins a session of a member whom a proxy names, in the first of the accounts.
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

// leave leads to a page that shows a text once, if there is one, and in this session alone. It takes the place of one
// that nobody has seen.
func (d *dashboard) leave(r *http.Request, page, text string, err error) (string, error) {
	if err != nil || text == "" {
		return page, err
	}
	account, token := visitorOf(r).Account.ID, visitorOf(r).tokenOf(page)
	if _, err = d.take(r, page); err == nil {
		_, err = d.claim(r.Context(), account, token)
	}
	if err == nil {
		_, err = d.keep(r.Context(), account, token, text)
	}
	return page, err
}

// tokenOf is the token of what is left for a page. No store holds the secret of the session that it is made of.
func (v *visitor) tokenOf(page string) string {
	hash := sha256.Sum256([]byte("left in the session\n" + v.secret + "\n" + page))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

// left is what was left for this page; empty if nothing was. Only a page that is really shown takes it.
func (d *dashboard) left(r *http.Request) (string, error) {
	if r.Method != http.MethodGet {
		return "", nil
	}
	return d.take(r, r.URL.Path)
}

func (d *dashboard) take(r *http.Request, page string) (text string, err error) {
	v := visitorOf(r)
	if err = d.kept(r.Context(), v.Account.ID, v.tokenOf(page), &text); err == nil {
		id, _ := idOf(v.tokenOf(page))
		err = d.Store.PutRecords(r.Context(), metering.Record{Account: v.Account.ID, Kind: keptKind, ID: id, Version: 2})
	}
	if errors.Is(err, metering.ErrNotFound) || errors.Is(err, metering.ErrVersion) { // another request has taken it
		return "", nil
	}
	return text, err
}
