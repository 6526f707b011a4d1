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

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// lifetimes are how many days a new key may last, and gracePeriods how many hours a rotated key may still work.
var (
	lifetimes = []ui.Choice{
		{Value: 0, Title: "Never expires"}, {Value: 30, Title: "30 days"}, {Value: 90, Title: "90 days"},
		{Value: 365, Title: "1 year"},
	}
	gracePeriods = []ui.Choice{
		{Value: 24, Title: "1 day"}, {Value: 0, Title: "No grace period"}, {Value: 1, Title: "1 hour"},
		{Value: 7 * 24, Title: "7 days"}, {Value: 30 * 24, Title: "30 days"},
	}
)

// parseChoice reads a field that is a number of a list.
func parseChoice(r *http.Request, field string, list []ui.Choice) (int, error) {
	n, err := strconv.Atoi(cmp.Or(r.PostForm.Get(field), fmt.Sprint(list[0].Value)))
	if err != nil || !slices.ContainsFunc(list, func(c ui.Choice) bool { return c.Value == n }) {
		return 0, &metering.FieldError{Field: field, Reason: "must be one of the list"}
	}
	return n, nil
}

// A keyRow is a key as pages show it.
type keyRow struct {
	metering.Key
	State        metering.KeyState
	Usage        sparkline // its charges in the hours of the last day
	Secret       *secret   // until it is saved
	GracePeriods []ui.Choice

	DeprecatedUse *metering.DeprecatedUse // nil if nothing is known of one
}

// Inactive reports whether a key does not work any more.
func (k keyRow) Inactive() bool { return !slices.Contains(workingStates, k.State) }

// A keysPage is the list of keys.
type keysPage struct {
	pager                    // of the filtered rows
	Keys   []keyRow          // active first, of each kind the newest first
	Total  int               // of the account
	Query  string            // the filter: what names, ids or visible parts contain,
	State  metering.KeyState // and a state; "" is any
	States []metering.KeyState
	Counts map[metering.KeyState]int // of the rows that match the query

	Scopes       []metering.Scope
	Environments []metering.Environment
	Lifetimes    []ui.Choice
}

// workingStates are those of keys that work, and endedStates those of others.
var (
	workingStates = []metering.KeyState{metering.KeyActive, metering.KeyRotating}
	endedStates   = []metering.KeyState{metering.KeyExpired, metering.KeyRevoked}
)

func (d *dashboard) showKeys(r *http.Request) (any, error) {
	account, query := sessionOf(r).Account.ID, r.URL.Query()
	stateOf(r).form.SetDefaults(url.Values{"scopes": stringsOf(metering.Scopes())})
	page := &keysPage{Query: strings.TrimSpace(query.Get("q")), State: metering.KeyState(query.Get("state")),
		States: metering.KeyStates(), Scopes: metering.Scopes(), Lifetimes: lifetimes,
		Environments: []metering.Environment{metering.Live, metering.Test}}
	if !slices.Contains(page.States, page.State) {
		page.State = ""
	}
	filter := metering.KeyFilter{Account: account, At: d.now()}
	matching := filter
	matching.Text = page.Query
	var total map[metering.KeyState]int
	err := runParallel(
		func() (err error) { page.Counts, err = d.Store.CountKeys(r.Context(), matching); return err },
		func() (err error) {
			if page.Query != "" {
				total, err = d.Store.CountKeys(r.Context(), filter)
			}
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	if page.Total = countKeys(total, ""); page.Query == "" {
		page.Total = countKeys(page.Counts, "")
	}
	page.pager = newPager(r, countKeys(page.Counts, page.State), longRowsPageSize)
	if page.Keys, err = d.loadKeyPage(r.Context(), matching, page); err != nil {
		return nil, err
	}
	return page, d.addUsage(r.Context(), account, page.Keys)
}

// countKeys returns how many keys are in a state; "" is any.
func countKeys(counts map[metering.KeyState]int, state metering.KeyState) (n int) {
	for s, count := range counts {
		if state == "" || s == state {
			n += count
		}
	}
	return n
}

// loadKeyPage reads the keys of a page: of the list of those that work, behind which the list of the others begins.
func (d *dashboard) loadKeyPage(ctx context.Context, f metering.KeyFilter, page *keysPage) (rows []keyRow, err error) {
	f.Newest, f.Offset = true, page.offset()
	for _, states := range [][]metering.KeyState{workingStates, endedStates} {
		f.States, f.Limit = states, page.Last()-page.offset()-len(rows)
		if page.State != "" {
			f.States = slices.DeleteFunc(slices.Clone(states), func(s metering.KeyState) bool { return s != page.State })
		}
		available := 0
		for _, s := range f.States {
			available += page.Counts[s]
		}
		if f.Limit > 0 && f.Offset < available {
			list, err := metering.Collect(d.Store.Keys(ctx, f))
			if err != nil {
				return nil, err
			}
			for _, k := range list {
				rows = append(rows, keyRow{Key: k, State: k.State(f.At)})
			}
		}
		f.Offset = max(0, f.Offset-available)
	}
	return rows, nil
}

// addUsage adds to rows what their keys were charged in the last 24 hours.
func (d *dashboard) addUsage(ctx context.Context, account metering.AccountID, rows []keyRow) error {
	if len(rows) == 0 {
		return nil
	}
	first := d.now().Truncate(time.Hour).Add(-time.Duration(len(sparkline{})-1) * time.Hour)
	byKey := map[metering.KeyID]*sparkline{}
	var ids []metering.KeyID
	for i := range rows {
		byKey[rows[i].ID] = &rows[i].Usage
		ids = append(ids, rows[i].ID)
	}
	sums, err := d.Store.Hours(ctx, account, ids, first)
	for _, sum := range sums {
		if hour := int(sum.Hour.Sub(first) / time.Hour); hour < len(sparkline{}) { // a clock may be ahead of ours
			byKey[sum.Key][hour] += sum.Credits
		}
	}
	return err
}

func (d *dashboard) createKey(r *http.Request) (string, error) {
	request := metering.KeyRequest{Account: sessionOf(r).Account.ID, Name: strings.TrimSpace(r.PostForm.Get("name")),
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
				Reason: "must contain addresses and networks such as 192.0.2.0/24"}
		}
		request.IPAllowlist = append(request.IPAllowlist, network)
	}
	days, err := parseChoice(r, "expires_at", lifetimes)
	if err != nil {
		return "", err
	}
	switch exact := strings.TrimSpace(r.PostForm.Get("expires_on")); {
	case exact != "":
		if request.ExpiresAt, err = parseExpiry(exact); err != nil {
			return "", err
		}
	case days > 0:
		request.ExpiresAt = new(d.now().AddDate(0, 0, days))
	}
	if err := d.checkKeyLimit(r.Context(), request.Account); err != nil {
		return "", err
	}
	key, secret, err := d.admin().CreateKey(r.Context(), request)
	return d.keepSecret(r, "/dashboard/keys/"+string(key.ID), secret.Reveal(), err)
}

// checkKeyLimit refuses an account that has as many keys as members may create. Rotation, which a leak may call for,
// is not bounded by it.
func (d *dashboard) checkKeyLimit(ctx context.Context, account metering.AccountID) error {
	counts, err := d.Store.CountKeys(ctx, metering.KeyFilter{Account: account, At: d.now()})
	if most := int(budget.Of(budget.Keys).Account); err == nil && countKeys(counts, "") >= most {
		return &metering.FieldError{Field: "name", Reason: fmt.Sprintf(
			"cannot be created: the account has the maximum of %d keys, including inactive ones; contact your administrator",
			most)}
	}
	return err
}

// parseExpiry reads a time as a field of a browser gives it, in UTC, or as the API writes it.
func parseExpiry(text string) (*time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return &at, nil
		}
	}
	return nil, &metering.FieldError{Field: "expires_on", Reason: "must be a time such as 2027-06-30T12:00"}
}

// requestedKey is the key that the address of the page names, of the visitor's account.
func (d *dashboard) requestedKey(r *http.Request) (metering.Key, error) {
	key, err := d.Store.Key(r.Context(), metering.KeyID(r.PathValue("id")))
	if err == nil && key.Account != sessionOf(r).Account.ID {
		err = metering.ErrNotFound
	}
	return key, err
}

func (d *dashboard) showKey(r *http.Request) (any, error) {
	key, err := d.requestedKey(r)
	if err != nil {
		return nil, err
	}
	stateOf(r).title = "API key " + key.Name
	rows := []keyRow{{Key: key, State: key.State(d.now()), GracePeriods: gracePeriods}}
	if err = d.addUsage(r.Context(), key.Account, rows); err != nil {
		return nil, err
	}
	row := rows[0]
	text, err := d.keptSecret(r)
	if err != nil {
		return nil, err
	}
	if text != "" && !row.Inactive() {
		row.Secret = &secret{text, r.URL.Path, "Save the key now: it is not shown again. Store it where only your programs " +
			"can read it.", d.sampleCall(r, key, text), "I have saved it"}
	}
	row.DeprecatedUse, err = metering.DeprecatedUseOf(r.Context(), d.Store, key.Account, key.ID)
	return row, err
}

// sampleCall returns a command that calls the API with a new key: the cheapest operation that its scopes admit.
func (d *dashboard) sampleCall(r *http.Request, key metering.Key, text string) string {
	var best *httpapi.Endpoint
	for i, ep := range d.endpoints {
		admitted := slices.Contains(key.Scopes, ep.Scope) && ep.Family() != "Hosted SPF"
		if admitted && (best == nil || ep.Credits < best.Credits) {
			best = &d.endpoints[i]
		}
	}
	if best == nil {
		return ""
	}
	command, err := best.Curl(best.Example())
	if err != nil {
		return ""
	}
	return strings.NewReplacer("$DIAG_SERVER", d.origin(r), "$DIAG_KEY", text).Replace(command)
}

// origin is the address of the server as the visitor's browser has it.
func (d *dashboard) origin(r *http.Request) string {
	if d.PublicURL != "" {
		return d.PublicURL
	}
	return cmp.Or(view.TextIf(d.Secure, "https://"), "http://") + r.Host
}

func (d *dashboard) rotateKey(r *http.Request) (string, error) {
	key, err := d.requestedKey(r)
	if err != nil {
		return "", err
	}
	hours, err := parseChoice(r, "grace", gracePeriods)
	if err != nil {
		return "", err
	}
	_, next, secret, err := d.admin().RotateKey(r.Context(), key.ID, time.Duration(hours)*time.Hour)
	return d.keepSecret(r, "/dashboard/keys/"+string(next.ID), secret.Reveal(), err)
}

func (d *dashboard) revokeKey(r *http.Request) (string, error) {
	key, err := d.requestedKey(r)
	if err == nil {
		_, err = d.admin().RevokeKey(r.Context(), key.ID, metering.RevokedReason(r.PostForm.Get("reason")))
	}
	return "/dashboard/keys/" + string(key.ID), err
}
