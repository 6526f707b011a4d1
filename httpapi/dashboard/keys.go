package dashboard

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) keyPages() []*page {
	const all, one = "/dashboard/keys", "/dashboard/keys/{id}"
	return []*page{
		{method: "GET", pattern: all, role: member.Viewer, title: "API keys", nav: "Keys", handle: d.showKeys},
		{method: "POST", pattern: all, role: member.Developer, title: "API keys", handle: d.createKey, again: d.showKeys,
			act: "key create", fields: []string{"name", "environment", "scopes", "ip_allowlist", "expires_at"}},
		{method: "GET", pattern: one, role: member.Viewer, title: "API key", handle: d.showKey},
		{method: "POST", pattern: one + "/rotate", role: member.Developer, title: "API key", handle: d.rotateKey,
			again: d.showKey, act: "key rotate", fields: []string{"grace"}},
		{method: "POST", pattern: one + "/revoke", role: member.Developer, title: "API key", handle: d.revokeKey,
			again: d.showKey, act: "key revoke", fields: []string{"reason"}, quiet: []string{"sure"}},
	}
}

// A keyRow is a key as pages show it.
type keyRow struct {
	metering.Key
	State metering.KeyState
	Day   spark // what it was charged in the hours of the last day
}

// Bad reports whether a key does not work any more.
func (k keyRow) Bad() bool { return k.State != "active" && k.State != metering.KeyRotating }

// keyList is what the page of all keys shows.
type keyList struct {
	Keys         []keyRow
	Scopes       []metering.Scope
	Environments []metering.Environment
	Lifetimes    []lifetime
}

// A lifetime is how long a new key may last.
type lifetime struct {
	Days  int
	Title string
}

var lifetimes = []lifetime{{0, "Without end"}, {30, "30 days"}, {90, "90 days"}, {365, "A year"}}

func (d *dashboard) showKeys(w http.ResponseWriter, r *http.Request) error {
	account := visitorOf(r).Account.ID
	var keys []metering.Key
	var hours map[metering.KeyID]spark
	err := together(
		func() (err error) { keys, err = d.Store.Keys(r.Context(), account); return err },
		func() (err error) { hours, err = d.lastDay(r.Context(), account); return err },
	)
	if err != nil {
		return err
	}
	data := keyList{Scopes: metering.Scopes(), Environments: []metering.Environment{metering.Live, metering.Test},
		Lifetimes: lifetimes}
	for _, k := range keys {
		data.Keys = append(data.Keys, keyRow{k, k.State(d.now()), hours[k.ID]})
	}
	slices.SortStableFunc(data.Keys, func(a, b keyRow) int { // those that work first, the newest of them first
		return cmp.Or(cmp.Compare(btoi(a.Bad()), btoi(b.Bad())), b.CreatedAt.Compare(a.CreatedAt))
	})
	return d.render(w, r, "keys", data)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *dashboard) createKey(w http.ResponseWriter, r *http.Request) error {
	request := metering.KeyRequest{Account: visitorOf(r).Account.ID, Name: strings.TrimSpace(r.PostForm.Get("name")),
		Environment: metering.Environment(r.PostForm.Get("environment"))}
	for _, s := range r.PostForm["scopes"] {
		request.Scopes = append(request.Scopes, metering.Scope(s))
	}
	for word := range strings.FieldsFuncSeq(r.PostForm.Get("ip_allowlist"), func(c rune) bool {
		return c == ',' || c <= ' '
	}) {
		network, err := parseNetwork(word)
		if err != nil {
			return &metering.FieldError{Field: "ip_allowlist", Reason: "must hold addresses and networks such as 192.0.2.0/24"}
		}
		request.IPAllowlist = append(request.IPAllowlist, network)
	}
	days, err := strconv.Atoi(cmp.Or(r.PostForm.Get("expires_at"), "0"))
	if err != nil || !slices.ContainsFunc(lifetimes, func(l lifetime) bool { return l.Days == days }) {
		return &metering.FieldError{Field: "expires_at", Reason: "must be one of the list"}
	}
	if days > 0 {
		request.ExpiresAt = new(d.now().AddDate(0, 0, days))
	}
	key, secret, err := d.admin().CreateKey(r.Context(), request)
	if err != nil {
		return err
	}
	return d.seeKey(w, r, key, secret, "key-created")
}

// parseNetwork reads an address or a network.
func parseNetwork(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// seeKey leads to a new key, whose page shows the secret once.
func (d *dashboard) seeKey(
	w http.ResponseWriter, r *http.Request, key metering.Key, secret metering.Secret, notice string,
) error {
	at := "/dashboard/keys/" + string(key.ID)
	if err := d.leave(r, at, secret.Reveal()); err != nil {
		return err
	}
	d.see(w, r, at, notice)
	return nil
}

// ownKey is the key that the address of the page names, of the visitor's account.
func (d *dashboard) ownKey(r *http.Request) (metering.Key, error) {
	key, err := d.Store.Key(r.Context(), metering.KeyID(r.PathValue("id")))
	if err == nil && key.Account != visitorOf(r).Account.ID {
		err = metering.ErrNotFound
	}
	return key, err
}

// keyPage is what the page of one key shows.
type keyPage struct {
	keyRow
	Secret string // shown once
	Graces []grace
}

// Title implements titled.
func (k keyPage) Title() string { return "API key " + k.Name }

// A grace is how long a rotated key may go on working.
type grace struct {
	Hours int
	Title string
}

var graces = []grace{{24, "A day"}, {0, "Not at all"}, {1, "An hour"}, {7 * 24, "7 days"}, {30 * 24, "30 days"}}

func (d *dashboard) showKey(w http.ResponseWriter, r *http.Request) error {
	key, err := d.ownKey(r)
	if err != nil {
		return err
	}
	data := keyPage{keyRow: keyRow{Key: key, State: key.State(d.now())}, Graces: graces}
	var hours map[metering.KeyID]spark
	err = together(
		func() (err error) { data.Secret, err = d.left(r); return err },
		func() (err error) { hours, err = d.lastDay(r.Context(), key.Account); return err },
	)
	if err != nil {
		return err
	}
	data.Day = hours[key.ID]
	return d.render(w, r, "key", data)
}

func (d *dashboard) rotateKey(w http.ResponseWriter, r *http.Request) error {
	key, err := d.ownKey(r)
	if err != nil {
		return err
	}
	hours, err := strconv.Atoi(r.PostForm.Get("grace"))
	if err != nil || !slices.ContainsFunc(graces, func(g grace) bool { return g.Hours == hours }) {
		return &metering.FieldError{Field: "grace", Reason: "must be one of the list"}
	}
	_, next, secret, err := d.admin().RotateKey(r.Context(), key.ID, time.Duration(hours)*time.Hour)
	if err != nil {
		return err
	}
	return d.seeKey(w, r, next, secret, "key-rotated")
}

func (d *dashboard) revokeKey(w http.ResponseWriter, r *http.Request) error {
	key, err := d.ownKey(r)
	if err != nil {
		return err
	}
	if err := sure(r, "the key stops to work at once, for good"); err != nil {
		return err
	}
	if _, err = d.admin().RevokeKey(r.Context(), key.ID, metering.RevokedReason(r.PostForm.Get("reason"))); err != nil {
		return err
	}
	d.see(w, r, "/dashboard/keys/"+string(key.ID), "key-revoked")
	return nil
}

// sure refuses what cannot be undone unless the box beside the button is ticked.
func sure(r *http.Request, what string) error {
	if r.PostForm.Get("sure") != "yes" {
		return &metering.FieldError{Field: "sure", Reason: "confirm that you know: " + what}
	}
	return nil
}
