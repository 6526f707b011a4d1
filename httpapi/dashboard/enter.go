package dashboard

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

// entry is what the page of entry shows.
type entry struct {
	Token    string
	Email    string
	Accounts []metering.Account // to choose from
	Mail     bool               // whether a link can be asked for
	Next     string             // the page to which who has entered is led
}

// enterPath leads who has not entered to the page of entry, and then to the page that was asked for.
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

// showEnter shows what a link is for, with a button that uses it: a scanner of mails, or a browser that loads pages in
// advance, opens the page and leaves the link as it is.
func (d *dashboard) showEnter(r *http.Request) (any, error) {
	sceneOf(r).header.Set("Referrer-Policy", "no-referrer") // the token is in the address
	e := entry{Token: r.URL.Query().Get("token"), Mail: d.Mail != nil, Next: r.FormValue("next")}
	if e.Token == "" {
		return e, nil
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

// link is what a token can be used for.
func (d *dashboard) link(r *http.Request, token string) (member.Link, error) {
	if !d.attempts.take(sceneOf(r).from, "", d.now()) {
		return member.Link{}, tooMany(r)
	}
	link, err := d.people().Link(r.Context(), token)
	return link, used(err)
}

// used tells of a link that is none any more.
func used(err error) error {
	if errors.Is(err, metering.ErrNotFound) {
		return &problem{http.StatusNotFound, "Link not valid",
			"This link was used, or is older than 15 minutes. Each link can be used once.", true}
	}
	return err
}

// enter uses a link. The session is a new one whatever the browser had before, which ends.
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
	err = metering.Acting(r.Context(), d.Store, act, func(ctx context.Context) (err error) {
		_, secret, err = d.people().Enter(ctx, token, account, from)
		return err
	})
	if err != nil {
		return "", used(err)
	}
	d.endOld(r)
	d.setCookie(r, secret)
	return r.PostForm.Get("next"), nil
}

// endOld ends the session that the browser had.
func (d *dashboard) endOld(r *http.Request) {
	if secret := d.secretOf(r); secret != "" {
		if old, _, err := d.people().Session(r.Context(), secret); err == nil {
			_ = d.people().End(r.Context(), old.Account, old.ID) // it ends by itself, too
		}
	}
}

// mailTime bounds the sending of a link, which nobody waits for.
const mailTime = time.Minute

// mailLink mails a link to a member. Whoever asks learns nothing: not by the answer, and not by its time, for the mail is
// sent behind it.
func (d *dashboard) mailLink(r *http.Request) (string, error) {
	if d.Mail == nil {
		return "", metering.ErrNotFound
	}
	email, err := member.ParseEmail(r.PostForm.Get("email"))
	if err != nil {
		return "", err
	}
	if !d.attempts.take(sceneOf(r).from, email, d.now()) {
		return "", tooMany(r)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), mailTime)
	go func() {
		defer cancel()
		err := d.sendLink(ctx, email, r.PostForm.Get("next"))
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

// tooMany refuses who tries too often.
func tooMany(r *http.Request) error {
	sceneOf(r).header.Set("Retry-After", "60")
	return &problem{http.StatusTooManyRequests, "Too many attempts", "Wait a minute, and try again.", false}
}

const (
	// addressAttempts is how many links an address may open or ask for in a minute, and emailAttempts how many may be
	// mailed to one address in an hour.
	addressAttempts, emailAttempts = 20, 5
	// visitAttempts is how many requests a minute an address may send with the secret of a session that has ended.
	visitAttempts = 60
	// maxAttempted bounds the addresses that are counted at once.
	maxAttempted = 10_000
)

// attempts counts who tries to enter.
type attempts struct {
	addresses metering.IPLimiter // who opens or uses a link, or asks for one
	visits    metering.IPLimiter // who shows the secret of a session that is none
	emails    metering.IPLimiter // to whom links are mailed, by hashes in the form of IP addresses
}

func newAttempts() *attempts {
	return &attempts{
		addresses: metering.IPLimiter{Limit: addressAttempts, Size: maxAttempted},
		visits:    metering.IPLimiter{Limit: visitAttempts, Size: maxAttempted},
		emails:    metering.IPLimiter{Limit: emailAttempts, Window: time.Hour, Size: maxAttempted},
	}
}

// take counts an attempt from an address, and for an e-mail address if there is one.
func (a *attempts) take(from netip.Addr, email string, now time.Time) bool {
	if !a.addresses.Take(from, now).Allowed {
		return false
	}
	hash := sha256.Sum256([]byte(email))
	return email == "" || a.emails.Take(netip.AddrFrom16([16]byte(hash[:])), now).Allowed
}
