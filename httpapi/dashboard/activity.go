package dashboard

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

const (
	// remembered is how many requests of an account are kept, and rememberedAccounts of how many accounts.
	remembered         = 500
	rememberedAccounts = 2_000
	// maxShown bounds how many requests the page shows.
	maxShown = 200
)

// namesOf are the names of keys of an account; each id may come often.
func (d *dashboard) namesOf(
	ctx context.Context, account metering.AccountID, ids []metering.KeyID,
) (map[string]string, error) {
	names := map[string]string{}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for group := range slices.Chunk(ids, metering.MaxKeyIDs) {
		for k, err := range d.Store.Keys(ctx, metering.KeyFilter{Account: account, IDs: group}) {
			if err != nil {
				return nil, err
			}
			names[string(k.ID)] = k.Name
		}
	}
	return names, nil
}

// An Activity keeps in memory the outcome of the last requests of each account, including refusals and errors, which
// no ledger holds. It is local to a process, and bounded. The zero value is ready for use.
type Activity struct {
	mu       sync.Mutex
	since    time.Time
	accounts map[metering.AccountID]*recent
}

// recent is the last requests of an account. Once there are as many as are remembered, the next one takes the place of
// the oldest.
type recent struct {
	list []httpapi.Observation
	next int  // the place of the oldest, and of the next one
	lost bool // there were more
}

func (r *recent) add(o httpapi.Observation) {
	if len(r.list) < remembered {
		r.list = append(r.list, o)
		return
	}
	r.list[r.next], r.lost = o, true
	r.next = (r.next + 1) % remembered
}

// newest is when the last request was. There is one.
func (r *recent) newest() time.Time { return r.list[(r.next+len(r.list)-1)%len(r.list)].At }

// Observe is for [httpapi.Config.Observe]. What belongs to no account is not remembered.
func (a *Activity) Observe(o httpapi.Observation) {
	if o.Account == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accounts == nil {
		a.accounts, a.since = map[metering.AccountID]*recent{}, o.At
	}
	r := a.accounts[o.Account]
	if r == nil {
		if len(a.accounts) >= rememberedAccounts {
			a.forgetOne()
		}
		r = new(recent)
		a.accounts[o.Account] = r
	}
	r.add(o)
}

// forgetOne forgets the account that has been silent for the longest time.
func (a *Activity) forgetOne() {
	delete(a.accounts, slices.MinFunc(slices.Collect(maps.Keys(a.accounts)), func(x, y metering.AccountID) int {
		return a.accounts[x].newest().Compare(a.accounts[y].newest())
	}))
}

// Requests are those of an account that are remembered, the newest first, and since when there can be any.
func (a *Activity) Requests(account metering.AccountID) (list []httpapi.Observation, since time.Time) {
	if a == nil {
		return nil, time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	since = a.since
	if r := a.accounts[account]; r != nil {
		list = slices.Concat(r.list[r.next:], r.list[:r.next])
		if r.lost {
			since = list[0].At
		}
	}
	slices.Reverse(list)
	return list, since
}

// A search holds the criteria for requests; empty fields match all.
type search struct {
	ID, Operation, Code string
	Key                 metering.KeyID
	Before              string // as it was typed
	before              time.Time
}

func (s search) empty() bool { return s == search{} }

func (s search) selects(r httpapi.Observation) bool {
	return (s.ID == "" || r.RequestID == s.ID) && (s.Operation == "" || strings.Contains(r.Endpoint, s.Operation)) &&
		(s.Code == "" || strings.EqualFold(r.Code, s.Code)) && (s.Key == "" || r.Key == s.Key) &&
		(s.before.IsZero() || r.At.Before(s.before))
}

// activity is the data of the page.
type activity struct {
	search
	Month    metering.Period
	Months   []metering.Period
	Keys     []metering.Key // to choose from; none if there are more than a page of them
	Names    map[string]string
	Requests []httpapi.Observation
	Since    time.Time // from which on requests are remembered; zero: none are
	Most     int       // how many are shown at most
	Fault    string    // of the time that was typed
	Searched bool      // for certain requests
	Newest   string    // the address of the page with the newest; empty on that itself
	Older    string    // the address of the page with those before
}

func (d *dashboard) showActivity(r *http.Request) (any, error) {
	month, err := d.chosenMonth(r)
	if err != nil {
		return nil, err
	}
	account, query := visitorOf(r).Account, r.URL.Query()
	word := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	a := activity{Month: month, Months: d.months(account), Most: maxShown}
	a.search = search{ID: word("id"), Operation: strings.Trim(word("operation"), "/"), Code: word("code"),
		Key: metering.KeyID(word("key")), Before: word("before")}
	if a.before, a.Fault = parseBefore(a.Before); a.Fault != "" {
		a.search.Before = ""
	}
	a.Searched = !a.empty()
	end := a.before // of the rows that the page shows
	if older, err := olderOf(r, "older"); err != nil {
		return nil, err
	} else if !older.IsZero() {
		end = older
	}
	remembered, since := d.Activity.Requests(account.ID)
	a.Since = since
	remembered = slices.DeleteFunc(remembered, func(one httpapi.Observation) bool {
		return metering.PeriodOf(one.At) != month || !a.selects(one)
	})
	var charges []httpapi.Observation
	err = together(
		func() (err error) { a.Keys, err = d.fewKeys(r.Context(), account.ID); return err },
		func() (err error) {
			// Each remembered request may replace a charge, and one more shows whether there are others.
			charges, err = d.charges(r.Context(), account.ID, month, a.search, end, maxShown+len(remembered)+1)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	var last time.Time
	a.Requests, last = merged(charges, remembered, end)
	a.Newest, a.Older = around(r, "older", last)
	keys := diag.Map(a.Requests, func(one httpapi.Observation) metering.KeyID { return one.Key })
	a.Names, err = d.namesOf(r.Context(), account.ID, keys)
	return a, err
}

// fewKeys are all keys of an account, or none if they are more than a page has.
func (d *dashboard) fewKeys(ctx context.Context, account metering.AccountID) ([]metering.Key, error) {
	keys, err := metering.Collect(d.Store.Keys(ctx, metering.KeyFilter{Account: account, Limit: onPage + 1}))
	if len(keys) > onPage {
		keys = nil
	}
	return keys, err
}

// parseBefore reads a time as people write it, in UTC.
func parseBefore(text string) (time.Time, string) {
	if text == "" {
		return time.Time{}, ""
	}
	text = strings.TrimSuffix(strings.TrimSuffix(strings.Replace(text, "T", " ", 1), "Z"), " UTC")
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, ""
		}
	}
	return time.Time{}, "must be a time such as 2026-11-16 10:30"
}

// charges returns the newest in the ledger that a search selects, before an instant if that is set, at most so many.
func (d *dashboard) charges(
	ctx context.Context, account metering.AccountID, month metering.Period, s search, end time.Time, most int,
) (list []httpapi.Observation, err error) {
	if s.Code != "" && !strings.EqualFold(s.Code, "OK") {
		return nil, nil // refused requests are not charged
	}
	for e, err := range d.Store.Entries(ctx, metering.EntryFilter{
		Account: account, Period: &month, Key: s.Key, RequestID: s.ID, Endpoint: s.Operation, Before: end, Newest: true,
		Limit: most,
	}) {
		if err != nil {
			return nil, err
		}
		list = append(list, charge(e))
	}
	return list, nil
}

func charge(e metering.Entry) httpapi.Observation {
	return httpapi.Observation{
		At: e.At, RequestID: e.RequestID, Endpoint: e.Endpoint, Key: e.Key, Code: "OK", Credits: e.Credits,
	}
}

// merged are the newest of both, before an instant if that is set, each request once: of one that is remembered more is
// known. Where there are others before them, last is the instant before which those are.
func merged(charges, remembered []httpapi.Observation, end time.Time) (shown []httpapi.Observation, last time.Time) {
	known := map[string]bool{}
	for _, r := range remembered {
		known[r.RequestID] = true
	}
	charges = slices.DeleteFunc(charges, func(r httpapi.Observation) bool { return known[r.RequestID] })
	all := append(remembered, charges...)
	all = slices.DeleteFunc(all, func(r httpapi.Observation) bool { return !end.IsZero() && !r.At.Before(end) })
	slices.SortStableFunc(all, func(a, b httpapi.Observation) int { return b.At.Compare(a.At) })
	n, last := cutAt(len(all), maxShown, func(i int) time.Time { return all[i].At })
	return all[:n], last
}

// operationName is an endpoint as people know it, such as spf/lookup.
func operationName(endpoint string) string {
	return strings.TrimPrefix(endpoint[strings.IndexByte(endpoint, ' ')+1:], httpapi.Prefix+"/")
}

// took returns the duration of a request; empty if unknown.
func took(t time.Duration) string {
	switch {
	case t == 0:
		return "–"
	case t < time.Millisecond:
		return "< 1 ms"
	}
	return fmt.Sprint(t.Milliseconds(), " ms")
}
