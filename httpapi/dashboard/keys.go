package dashboard

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A choice is a number of a list, and what the list calls it.
type choice struct {
	Value int
	Title string
}

// lifetimes are how many days a new key may last, and graces how many hours what was rotated may go on working.
var (
	lifetimes = []choice{{0, "Without end"}, {30, "30 days"}, {90, "90 days"}, {365, "A year"}}
	graces    = []choice{{24, "A day"}, {0, "Not at all"}, {1, "An hour"}, {7 * 24, "7 days"}, {30 * 24, "30 days"}}
)

// chosen reads a field that is a number of a list.
func chosen(r *http.Request, field string, list []choice) (int, error) {
	n, err := strconv.Atoi(cmp.Or(r.PostForm.Get(field), strconv.Itoa(list[0].Value)))
	if err != nil || !slices.ContainsFunc(list, func(c choice) bool { return c.Value == n }) {
		return 0, &metering.FieldError{Field: field, Reason: "must be one of the list"}
	}
	return n, nil
}

// A keyRow is a key as pages show it.
type keyRow struct {
	metering.Key
	State  metering.KeyState
	Day    spark  // what it was charged in the hours of the last day
	Secret string // shown once
	Graces []choice

	Deprecated *metering.DeprecatedUse // nil if nothing is known of one
}

// Bad reports whether a key does not work any more.
func (k keyRow) Bad() bool { return k.State != "active" && k.State != metering.KeyRotating }

func (d *dashboard) showKeys(r *http.Request) (any, error) {
	account := visitorOf(r).Account.ID
	sceneOf(r).form.begin(url.Values{"scopes": wordsOf(metering.Scopes())})
	var keys []metering.Key
	var hours map[metering.KeyID]spark
	err := together(
		func() (err error) { keys, err = d.Store.Keys(r.Context(), account); return err },
		func() (err error) { hours, err = d.lastDay(r.Context(), account); return err },
	)
	var working, others []keyRow // the newest first
	for _, k := range slices.Backward(keys) {
		if row := (keyRow{Key: k, State: k.State(d.now()), Day: hours[k.ID]}); row.Bad() {
			others = append(others, row)
		} else {
			working = append(working, row)
		}
	}
	return struct {
		Keys         []keyRow
		Scopes       []metering.Scope
		Environments []metering.Environment
		Lifetimes    []choice
	}{append(working, others...), metering.Scopes(), []metering.Environment{metering.Live, metering.Test}, lifetimes}, err
}

func (d *dashboard) createKey(r *http.Request) (string, error) {
	request := metering.KeyRequest{Account: visitorOf(r).Account.ID, Name: strings.TrimSpace(r.PostForm.Get("name")),
		Environment: metering.Environment(r.PostForm.Get("environment"))}
	for _, s := range r.PostForm["scopes"] {
		request.Scopes = append(request.Scopes, metering.Scope(s))
	}
	for word := range strings.FieldsSeq(strings.ReplaceAll(r.PostForm.Get("ip_allowlist"), ",", " ")) {
		network, err := netip.ParsePrefix(word)
		if ip, e := netip.ParseAddr(word); e == nil {
			network, err = ip.Prefix(ip.BitLen())
		}
		if err != nil {
			return "", &metering.FieldError{Field: "ip_allowlist",
				Reason: "must hold addresses and networks such as 192.0.2.0/24"}
		}
		request.IPAllowlist = append(request.IPAllowlist, network)
	}
	days, err := chosen(r, "expires_at", lifetimes)
	if err != nil {
		return "", err
	}
	switch exact := strings.TrimSpace(r.PostForm.Get("expires_on")); {
	case exact != "":
		if request.ExpiresAt, err = momentOf(exact); err != nil {
			return "", err
		}
	case days > 0:
		request.ExpiresAt = new(d.now().AddDate(0, 0, days))
	}
	key, secret, err := d.admin().CreateKey(r.Context(), request)
	return d.leave(r, "/dashboard/keys/"+string(key.ID), secret.Reveal(), err)
}

// momentOf reads a time as a field of a browser gives it, in UTC, or as the API writes it.
func momentOf(text string) (*time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return &at, nil
		}
	}
	return nil, &metering.FieldError{Field: "expires_on", Reason: "must be a time such as 2027-06-30T12:00"}
}

// ownKey is the key that the address of the page names, of the visitor's account.
func (d *dashboard) ownKey(r *http.Request) (metering.Key, error) {
	key, err := d.Store.Key(r.Context(), metering.KeyID(r.PathValue("id")))
	if err == nil && key.Account != visitorOf(r).Account.ID {
		err = metering.ErrNotFound
	}
	return key, err
}

func (d *dashboard) showKey(r *http.Request) (any, error) {
	key, err := d.ownKey(r)
	if err != nil {
		return nil, err
	}
	sceneOf(r).title = "API key " + key.Name
	hours, err := d.lastDay(r.Context(), key.Account)
	if err != nil {
		return nil, err
	}
	secret, err := d.left(r)
	if err != nil {
		return nil, err
	}
	deprecated, err := metering.DeprecatedUseOf(r.Context(), d.Store, key.Account, key.ID)
	return keyRow{Key: key, State: key.State(d.now()), Day: hours[key.ID], Secret: secret, Graces: graces,
		Deprecated: deprecated}, err
}

func (d *dashboard) rotateKey(r *http.Request) (string, error) {
	key, err := d.ownKey(r)
	if err != nil {
		return "", err
	}
	hours, err := chosen(r, "grace", graces)
	if err != nil {
		return "", err
	}
	_, next, secret, err := d.admin().RotateKey(r.Context(), key.ID, time.Duration(hours)*time.Hour)
	return d.leave(r, "/dashboard/keys/"+string(next.ID), secret.Reveal(), err)
}

func (d *dashboard) revokeKey(r *http.Request) (string, error) {
	key, err := d.ownKey(r)
	if err == nil {
		_, err = d.admin().RevokeKey(r.Context(), key.ID, metering.RevokedReason(r.PostForm.Get("reason")))
	}
	return "/dashboard/keys/" + string(key.ID), err
}
