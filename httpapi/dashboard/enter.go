package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) entryPages() []*page {
	return []*page{
		{method: "GET", pattern: "/dashboard/enter", title: "Enter", handle: d.showEnter},
		{method: "POST", pattern: "/dashboard/enter", title: "Enter", handle: d.enter,
			quiet: []string{"token", "account", "next"}},
		{method: "POST", pattern: "/dashboard/enter/mail", title: "Enter", handle: d.mailLink,
			quiet: []string{"email", "next"}, again: d.showEnter},
	}
}

// entry is what the page of entry shows.
type entry struct {
	Token    string
	Email    string
	Accounts []metering.Account // to choose from
	Mail     bool               // whether a link can be asked for
	Used     bool               // the link is none any more
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
func (d *dashboard) showEnter(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer") // the token is in the address
	e := entry{Token: r.URL.Query().Get("token"), Mail: d.Mail != nil, Next: r.FormValue("next")}
	if e.Token == "" {
		return d.render(w, r, "enter", e)
	}
	if !d.attempts.take(sceneOf(r).from, "", d.now()) {
		return d.tooMany(w, r)
	}
	link, err := d.people().Link(r.Context(), e.Token)
	if errors.Is(err, metering.ErrNotFound) {
		e.Token, e.Used = "", true
		return d.renderStatus(w, r, http.StatusNotFound, "enter", e)
	}
	if err != nil {
		return err
	}
	e.Email = link.Email
	for _, one := range link.Accounts {
		account, err := d.Store.Account(r.Context(), one.Account)
		if err != nil {
			return err
		}
		e.Accounts = append(e.Accounts, account)
	}
	return d.render(w, r, "enter", e)
}

// enter uses a link. The session is a new one whatever the browser had before, which ends.
func (d *dashboard) enter(w http.ResponseWriter, r *http.Request) error {
	from := sceneOf(r).from
	if !d.attempts.take(from, "", d.now()) {
		return d.tooMany(w, r)
	}
	account := metering.AccountID(r.PostForm.Get("account"))
	token := r.PostForm.Get("token")
	link, err := d.people().Link(r.Context(), token)
	var secret string
	if err == nil {
		act := metering.Act{Account: account, At: d.now(), Who: link.Email, From: from.String(), What: "enter"}
		known := func(one member.Member) bool { return one.Account == account }
		if !slices.ContainsFunc(link.Accounts, known) {
			return metering.ErrNotFound
		}
		err = metering.Acting(r.Context(), d.Store, act, func(ctx context.Context) (err error) {
			_, secret, err = d.people().Enter(ctx, token, account, from.String())
			return err
		})
	}
	if errors.Is(err, metering.ErrNotFound) {
		return d.renderStatus(w, r, http.StatusNotFound, "enter", entry{Used: true, Mail: d.Mail != nil})
	}
	if err != nil {
		return err
	}
	d.endOld(r)
	d.setCookie(w, secret)
	d.see(w, r, r.PostForm.Get("next"), "")
	return nil
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
func (d *dashboard) mailLink(w http.ResponseWriter, r *http.Request) error {
	if d.Mail == nil {
		return metering.ErrNotFound
	}
	email, err := member.ParseEmail(r.PostForm.Get("email"))
	if err != nil {
		return err
	}
	if !d.attempts.take(sceneOf(r).from, email, d.now()) {
		return d.tooMany(w, r)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), mailTime)
	go func() {
		defer cancel()
		err := d.sendLink(ctx, email, r.PostForm.Get("next"))
		if err != nil && !errors.Is(err, metering.ErrNotFound) {
			d.Log.Error("mailing a link to a member", "error", err)
		}
	}()
	d.see(w, r, "/dashboard/enter", "link-sent")
	return nil
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

// errTooMany refuses who shows too many secrets that are none.
var errTooMany = errors.New("too many attempts")

// tooMany refuses who tries too often.
func (d *dashboard) tooMany(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Retry-After", "60")
	return d.renderStatus(w, r, http.StatusTooManyRequests, "error",
		problem{"Too many attempts", "Wait a minute, and try again."})
}

const (
	// addressAttempts is how many links an address may open or ask for in a minute, and emailAttempts how many may be
	// mailed to one address in an hour.
	addressAttempts, emailAttempts = 20, 5
	// visitAttempts is how many requests a minute an address may send with the secret of a session that has ended.
	visitAttempts = 60
	// maxAttempted bounds the addresses that are counted at once. When there are more e-mail addresses, all are forgotten.
	maxAttempted = 10_000
)

// attempts counts who tries to enter.
type attempts struct {
	addresses metering.IPLimiter // who opens or uses a link, or asks for one
	visits    metering.IPLimiter // who shows the secret of a session that is none
	mu        sync.Mutex
	emails    map[string]*metering.Bucket
}

func newAttempts() *attempts {
	return &attempts{
		addresses: metering.IPLimiter{Limit: addressAttempts, Window: time.Minute, Size: maxAttempted},
		visits:    metering.IPLimiter{Limit: visitAttempts, Window: time.Minute, Size: maxAttempted},
		emails:    map[string]*metering.Bucket{},
	}
}

// take counts an attempt from an address, and for an e-mail address if there is one.
func (a *attempts) take(from netip.Addr, email string, now time.Time) bool {
	if !a.addresses.Take(from, now).Allowed {
		return false
	}
	if email == "" {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.emails) >= maxAttempted {
		clear(a.emails)
	}
	if a.emails[email] == nil {
		a.emails[email] = new(metering.Bucket)
	}
	return a.emails[email].Take(metering.Policy{Limit: emailAttempts, Window: time.Hour}, 1, now).Allowed
}
