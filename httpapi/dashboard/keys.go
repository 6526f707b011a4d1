package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// A choice is a number of a list, and its label.
type choice struct {
	Value int
	Title string
}

// lifetimes are how many days a new key may last, and graces how many hours a rotated key may still work.
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
	Day    spark  // its charges in the hours of the last day
	Secret string // shown once
	Graces []choice

	Deprecated *metering.DeprecatedUse // nil if nothing is known of one
}

// Bad reports whether a key does not work any more.
func (k keyRow) Bad() bool { return !slices.Contains(workingStates, k.State) }

// A keysPage is the list of keys.
type keysPage struct {
	pager                    // of the filtered rows
	Keys   []keyRow          // those that work first, of each kind the newest first
	Total  int               // of the account
	Query  string            // the filter: what names, ids or visible parts contain,
	State  metering.KeyState // and a state; "" is any
	States []metering.KeyState
	Counts map[metering.KeyState]int // of the rows that match the query

	Scopes       []metering.Scope
	Environments []metering.Environment
	Lifetimes    []choice
}

// workingStates are those of keys that work, and endedStates those of others.
var (
	workingStates = []metering.KeyState{metering.KeyActive, metering.KeyRotating}
	endedStates   = []metering.KeyState{metering.KeyExpired, metering.KeyRevoked}
)

func (d *dashboard) showKeys(r *http.Request) (any, error) {
	account, query := visitorOf(r).Account.ID, r.URL.Query()
	sceneOf(r).form.begin(url.Values{"scopes": wordsOf(metering.Scopes())})
	shown := &keysPage{Query: strings.TrimSpace(query.Get("q")), State: metering.KeyState(query.Get("state")),
		States: metering.KeyStates(), Scopes: metering.Scopes(), Lifetimes: lifetimes,
		Environments: []metering.Environment{metering.Live, metering.Test}}
	if !slices.Contains(shown.States, shown.State) {
		shown.State = ""
	}
	all := metering.KeyFilter{Account: account, At: d.now()}
	found := all
	found.Text = shown.Query
	var counts map[metering.KeyState]int
	err := together(
		func() (err error) { shown.Counts, err = d.Store.CountKeys(r.Context(), found); return err },
		func() (err error) {
			if shown.Query != "" {
				counts, err = d.Store.CountKeys(r.Context(), all)
			}
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	if shown.Total = countIn(counts, ""); shown.Query == "" {
		shown.Total = countIn(shown.Counts, "")
	}
	shown.pager = pagerOf(r, countIn(shown.Counts, shown.State))
	if shown.Keys, err = d.keyPage(r.Context(), found, shown); err != nil {
		return nil, err
	}
	return shown, d.drawDays(r.Context(), account, shown.Keys)
}

// countIn returns how many keys are in a state; "" is any.
func countIn(counts map[metering.KeyState]int, state metering.KeyState) (n int) {
	for s, count := range counts {
		if state == "" || s == state {
			n += count
		}
	}
	return n
}

// keyPage reads the keys of a page: of the list of those that work, behind which the list of the others begins.
func (d *dashboard) keyPage(ctx context.Context, f metering.KeyFilter, shown *keysPage) (rows []keyRow, err error) {
	f.Newest, f.Offset = true, shown.skipped()
	for _, states := range [][]metering.KeyState{workingStates, endedStates} {
		f.States, f.Limit = states, shown.Last()-shown.skipped()-len(rows)
		if shown.State != "" {
			f.States = slices.DeleteFunc(slices.Clone(states), func(s metering.KeyState) bool { return s != shown.State })
		}
		there := 0
		for _, s := range f.States {
			there += shown.Counts[s]
		}
		if f.Limit > 0 && f.Offset < there {
			list, err := metering.Collect(d.Store.Keys(ctx, f))
			if err != nil {
				return nil, err
			}
			for _, k := range list {
				rows = append(rows, keyRow{Key: k, State: k.State(f.At)})
			}
		}
		f.Offset = max(0, f.Offset-there)
	}
	return rows, nil
}

// drawDays adds to rows what their keys were charged in the last 24 hours.
func (d *dashboard) drawDays(ctx context.Context, account metering.AccountID, rows []keyRow) error {
	if len(rows) == 0 {
		return nil
	}
	first := d.now().Truncate(time.Hour).Add(-time.Duration(len(spark{})-1) * time.Hour)
	at := map[metering.KeyID]*spark{}
	var ids []metering.KeyID
	for i := range rows {
		at[rows[i].ID] = &rows[i].Day
		ids = append(ids, rows[i].ID)
	}
	sums, err := d.Store.Hours(ctx, account, ids, first)
	for _, sum := range sums {
		if hour := int(sum.Hour.Sub(first) / time.Hour); hour < len(spark{}) { // a clock may be ahead of ours
			at[sum.Key][hour] += sum.Credits
		}
	}
	return err
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
	if err := d.keyRoom(r.Context(), request.Account); err != nil {
		return "", err
	}
	key, secret, err := d.admin().CreateKey(r.Context(), request)
	return d.leave(r, "/dashboard/keys/"+string(key.ID), secret.Reveal(), err)
}

// keyRoom refuses an account that has as many keys as members may create. Rotation, which a leak may call for, is not
// bounded by it.
func (d *dashboard) keyRoom(ctx context.Context, account metering.AccountID) error {
	counts, err := d.Store.CountKeys(ctx, metering.KeyFilter{Account: account, At: d.now()})
	if most := int(budget.Of(budget.Keys).Account); err == nil && countIn(counts, "") >= most {
		return &metering.FieldError{Field: "name", Reason: fmt.Sprintf(
			"cannot be created: the account has %d keys, with those that ended, which is the most here; ask your administrator",
			most)}
	}
	return err
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
	rows := []keyRow{{Key: key, State: key.State(d.now()), Graces: graces}}
	if err = d.drawDays(r.Context(), key.Account, rows); err != nil {
		return nil, err
	}
	shown := rows[0]
	if shown.Secret, err = d.left(r); err != nil {
		return nil, err
	}
	shown.Deprecated, err = metering.DeprecatedUseOf(r.Context(), d.Store, key.Account, key.ID)
	return shown, err
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
