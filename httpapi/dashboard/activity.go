package dashboard

import (
	"context"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

const (
	// maxAccountRequests is how many requests of an account are kept, and rememberedAccounts of how many accounts.
	maxAccountRequests  = 500
	maxActivityAccounts = 2_000
	// maxActivityRows bounds how many requests the page shows.
	maxActivityRows = 200
)

// keyNames returns the names of keys of an account; each id may come often.
func (d *dashboard) keyNames(
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
	accounts map[metering.AccountID]*ring
}

// ring is the last requests of an account. Once there are as many as are remembered, the next one takes the place of
// the oldest.
type ring struct {
	list        []httpapi.Observation
	next        int  // the place of the oldest, and of the next one
	overwritten bool // there were more
}

func (r *ring) add(o httpapi.Observation) {
	if len(r.list) < maxAccountRequests {
		r.list = append(r.list, o)
		return
	}
	r.list[r.next], r.overwritten = o, true
	r.next = (r.next + 1) % maxAccountRequests
}

// lastAt is when the last request was. There is one.
func (r *ring) lastAt() time.Time { return r.list[(r.next+len(r.list)-1)%len(r.list)].At }

// Observe is for [httpapi.Config.Observe]. What belongs to no account is not remembered.
func (a *Activity) Observe(o httpapi.Observation) {
	if o.Account == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accounts == nil {
		a.accounts, a.since = map[metering.AccountID]*ring{}, o.At
	}
	r := a.accounts[o.Account]
	if r == nil {
		if len(a.accounts) >= maxActivityAccounts {
			a.evictOldest()
		}
		r = new(ring)
		a.accounts[o.Account] = r
	}
	r.add(o)
}

// evictOldest forgets the account that has been silent for the longest time.
func (a *Activity) evictOldest() {
	delete(a.accounts, slices.MinFunc(slices.Collect(maps.Keys(a.accounts)), func(x, y metering.AccountID) int {
		return a.accounts[x].lastAt().Compare(a.accounts[y].lastAt())
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
		if r.overwritten {
			since = list[0].At
		}
	}
	slices.Reverse(list)
	return list, since
}

// A requestFilter holds the criteria for requests; empty fields match all.
type requestFilter struct {
	ID, Operation, Code string
	Key                 metering.KeyID
	Before              string // as it was typed
	before              time.Time
}

func (s requestFilter) isEmpty() bool { return s == requestFilter{} }

func (s requestFilter) matches(r httpapi.Observation) bool {
	return (s.ID == "" || r.RequestID == s.ID) && (s.Operation == "" || strings.Contains(r.Endpoint, s.Operation)) &&
		(s.Code == "" || strings.EqualFold(r.Code, s.Code)) && (s.Key == "" || r.Key == s.Key) &&
		(s.before.IsZero() || r.At.Before(s.before))
}

// activityPage is the data of the page.
type activityPage struct {
	requestFilter
	Month         metering.Period
	Months        []metering.Period
	Keys          []metering.Key // to choose from; none if there are more than a page of them
	Names         map[string]string
	Requests      []httpapi.Observation
	RecordedSince time.Time // from which on requests are remembered; zero: none are
	MaxRows       int       // how many are shown at most
	Fault         string    // of the time that was typed
	Filtered      bool      // for certain requests
	Newest        string    // the address of the page with the newest; empty on that itself
	Older         string    // the address of the page with those before
}

func (d *dashboard) showActivity(r *http.Request) (any, error) {
	month, err := d.chosenMonth(r)
	if err != nil {
		return nil, err
	}
	account, query := sessionOf(r).Account, r.URL.Query()
	parameter := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	a := activityPage{Month: month, Months: d.months(account), MaxRows: maxActivityRows}
	a.requestFilter = requestFilter{ID: parameter("id"), Operation: strings.Trim(parameter("operation"), "/"),
		Code: parameter("code"),
		Key:  metering.KeyID(parameter("key")), Before: parameter("before")}
	if a.before, a.Fault = parseBefore(a.Before); a.Fault != "" {
		a.requestFilter.Before = ""
	}
	a.Filtered = !a.isEmpty()
	end := a.before // of the rows that the page shows
	if older, err := parseCursor(r, "older"); err != nil {
		return nil, err
	} else if !older.IsZero() {
		end = older
	}
	recorded, since := d.Activity.Requests(account.ID)
	a.RecordedSince = since
	recorded = slices.DeleteFunc(recorded, func(o httpapi.Observation) bool {
		return metering.PeriodOf(o.At) != month || !a.matches(o)
	})
	var charges []httpapi.Observation
	err = runParallel(
		func() (err error) { a.Keys, err = d.selectableKeys(r.Context(), account.ID); return err },
		func() (err error) {
			// Each remembered request may replace a charge, and one more shows whether there are others.
			charges, err = d.charges(r.Context(), account.ID, month, a.requestFilter, end, maxActivityRows+len(recorded)+1)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	var last time.Time
	a.Requests, last = mergeRequests(charges, recorded, end)
	a.Newest, a.Older = cursorLinks(r, "older", last)
	keys := kit.Map(a.Requests, func(o httpapi.Observation) metering.KeyID { return o.Key })
	a.Names, err = d.keyNames(r.Context(), account.ID, keys)
	return a, err
}

// selectableKeys returns all keys of an account, or none if they are more than a page has.
func (d *dashboard) selectableKeys(ctx context.Context, account metering.AccountID) ([]metering.Key, error) {
	keys, err := metering.Collect(d.Store.Keys(ctx, metering.KeyFilter{Account: account, Limit: pageSize + 1}))
	if len(keys) > pageSize {
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

// charges returns the newest in the ledger that a filter matches, before an instant if that is set, at most so many.
func (d *dashboard) charges(
	ctx context.Context, account metering.AccountID, month metering.Period, s requestFilter, end time.Time, limit int,
) (list []httpapi.Observation, err error) {
	if s.Code != "" && !strings.EqualFold(s.Code, "OK") {
		return nil, nil // refused requests are not charged
	}
	for e, err := range d.Store.Entries(ctx, metering.EntryFilter{
		Account: account, Period: &month, Key: s.Key, RequestID: s.ID, Endpoint: s.Operation, Before: end, Newest: true,
		Limit: limit,
	}) {
		if err != nil {
			return nil, err
		}
		list = append(list, observationOf(e))
	}
	return list, nil
}

func observationOf(e metering.Entry) httpapi.Observation {
	return httpapi.Observation{
		At: e.At, RequestID: e.RequestID, Endpoint: e.Endpoint, Key: e.Key, Code: "OK", Credits: e.Credits,
	}
}

// mergeRequests are the newest of both, before an instant if that is set, each request once: of one that is
// remembered more is known. Where there are others before them, last is the instant before which those are.
func mergeRequests(charges, recorded []httpapi.Observation, end time.Time) (
	shown []httpapi.Observation, last time.Time,
) {
	isRecorded := map[string]bool{}
	for _, r := range recorded {
		isRecorded[r.RequestID] = true
	}
	charges = slices.DeleteFunc(charges, func(r httpapi.Observation) bool { return isRecorded[r.RequestID] })
	all := append(recorded, charges...)
	all = slices.DeleteFunc(all, func(r httpapi.Observation) bool { return !end.IsZero() && !r.At.Before(end) })
	slices.SortStableFunc(all, func(a, b httpapi.Observation) int { return b.At.Compare(a.At) })
	n, last := cutPage(len(all), maxActivityRows, func(i int) time.Time { return all[i].At })
	return all[:n], last
}

// operationName is an endpoint as people know it, such as spf/lookup.
func operationName(endpoint string) string {
	return strings.TrimPrefix(endpoint[strings.IndexByte(endpoint, ' ')+1:], httpapi.Prefix+"/")
}

// formatLatency returns the duration of a request; empty if unknown.
func formatLatency(t time.Duration) string {
	switch {
	case t == 0:
		return "–"
	case t < time.Millisecond:
		return "< 1 ms"
	}
	return fmt.Sprint(t.Milliseconds(), " ms")
}
