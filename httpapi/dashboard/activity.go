package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

const (
	// maxActivityRows bounds how many requests a page shows, and maxActivityBytes how many bytes of HTML they take.
	maxActivityRows  = 50
	maxActivityBytes = 38 << 10
	// maxActivityFile bounds how many requests a file has.
	maxActivityFile = 10_000
	// maxSearched bounds how many charges are read in search of a part of an ID, which takes some 100 ms.
	maxSearched = 20_000
	// minIDPart is the shortest part of an ID that is searched, without "req_".
	minIDPart = 4
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

// A requestSearch is what is searched among the requests of a selection.
type requestSearch struct {
	selection
	ID     string            // a request ID or a part of one, as it was typed
	Before string            // likewise a time
	Faults map[string]string // of both, by field

	account metering.AccountID
	part    string    // of the ID that is searched; empty for all
	before  time.Time // of the requests; zero: now
}

// parseSearch reads the address of a page.
func (d *dashboard) parseSearch(r *http.Request) (s requestSearch, err error) {
	if s.selection, err = d.parseSelection(r); err != nil {
		return s, err
	}
	query := r.URL.Query()
	s.ID, s.Before = strings.TrimSpace(query.Get("id")), strings.TrimSpace(query.Get("before"))
	s.account, s.Faults, s.part = sessionOf(r).Account.ID, map[string]string{}, strings.ToLower(s.ID)
	if s.ID != "" && len(strings.TrimPrefix(s.part, requestPrefix)) < minIDPart {
		s.Faults["id"] = fmt.Sprintf("must have at least %d characters after %s", minIDPart, requestPrefix)
		s.part = ""
	}
	var fault string
	if s.before, fault = parseBefore(s.Before); fault != "" {
		s.Faults["before"] = fault
	}
	return s, nil
}

// requestPrefix begins the ID of a request, which has requestLength characters; see [metering.NewRequestID].
const (
	requestPrefix = "req_"
	requestLength = 30
)

// isWhole reports whether a whole ID is searched.
func (s requestSearch) isWhole() bool {
	return strings.HasPrefix(s.part, requestPrefix) && len(s.part) == requestLength
}

// Filtered reports whether anything but the range is chosen.
func (s requestSearch) Filtered() bool { return s.selection.Filtered() || s.ID != "" || s.Before != "" }

// URL is [selection.URL], with what is searched.
func (s requestSearch) URL(path string, changes ...string) string {
	return s.selection.URL(path, append([]string{"id", s.ID, "before", s.Before}, changes...)...)
}

// Tabs are the ranges, and the month.
func (s requestSearch) Tabs() []rangeTab { return s.selection.tabs(s.URL) }

func (s requestSearch) matches(o httpapi.Observation) bool {
	return s.selection.matches(o) && strings.Contains(o.RequestID, s.part) &&
		(s.before.IsZero() || o.At.Before(s.before))
}

// foundRequests are the newest that a search has found.
type foundRequests struct {
	list     []httpapi.Observation // the newest first
	searched time.Time             // where the search of a part of an ID stopped; zero: at the end
	since    time.Time             // from which on failures are remembered; zero: none are
}

// findRequests returns the newest requests of a search before an instant, if that is not zero: at least so many, if
// there are. Of one that is charged and remembered, what is remembered counts, which is more.
func (d *dashboard) findRequests(ctx context.Context, s requestSearch, end time.Time, want int) (
	found foundRequests, err error,
) {
	isBefore := func(o httpapi.Observation) bool { return end.IsZero() || o.At.Before(end) }
	recorded, since := d.Activity.Requests(s.account)
	recorded = slices.DeleteFunc(recorded, func(o httpapi.Observation) bool { return !s.matches(o) })
	found.since = since
	isRecorded := map[string]bool{}
	for _, o := range recorded {
		isRecorded[o.RequestID] = true
	}
	if s.HasCharges() {
		err = d.findCharges(ctx, s, end, want, isRecorded, &found)
	}
	for _, o := range recorded {
		if isBefore(o) && !o.At.Before(found.searched) {
			found.list = append(found.list, o)
		}
	}
	slices.SortStableFunc(found.list, func(a, b httpapi.Observation) int { return b.At.Compare(a.At) })
	return found, err
}

// findCharges adds the newest charges of a search but those that are remembered.
func (d *dashboard) findCharges(
	ctx context.Context, s requestSearch, end time.Time, want int, isRecorded map[string]bool, found *foundRequests,
) error {
	f := s.filter(s.account)
	f.Newest, f.Before, f.Limit = true, end, want+len(isRecorded)
	if s.isWhole() {
		f.RequestID = s.part
	} else if s.part != "" {
		f.Limit = maxSearched
	}
	read := 0
	for e, err := range d.Store.Entries(ctx, f) {
		if err != nil {
			return err
		}
		read++
		if strings.Contains(e.RequestID, s.part) && !isRecorded[e.RequestID] {
			found.list = append(found.list, observationOf(e))
		}
		if len(found.list) == want {
			return nil
		}
		if read == maxSearched && s.part != "" {
			found.searched = e.At.Add(time.Microsecond) // others may be of the same instant
		}
	}
	return nil
}

func keyOf(o httpapi.Observation) metering.KeyID { return o.Key }

func observationOf(e metering.Entry) httpapi.Observation {
	return httpapi.Observation{
		At: e.At, RequestID: e.RequestID, Endpoint: e.Endpoint, Key: e.Key, Code: codeOK, Credits: e.Credits,
	}
}

// activityPage is the data of the page.
type activityPage struct {
	requestSearch
	Names         map[string]string
	Requests      []httpapi.Observation
	RecordedSince time.Time // from which on failures are remembered; zero: none are
	MaxFailures   int       // how many are remembered
	MaxFile       int       // how many requests a file has
	Searched      time.Time // where the search of a part of an ID stopped; zero: at the end
	Newest        string    // the address of the page with the newest; empty on that itself
	Older         string    // the address of the page with those before
}

func (d *dashboard) showActivity(r *http.Request) (any, error) {
	s, err := d.parseSearch(r)
	if err != nil {
		return nil, err
	}
	end := s.before // of the rows that the page shows
	if older, err := parseCursor(r, "older"); err != nil {
		return nil, err
	} else if !older.IsZero() {
		end = older
	}
	a := &activityPage{requestSearch: s, MaxFailures: maxAccountFailures, MaxFile: maxActivityFile}
	var found foundRequests
	err = runParallel(
		func() error { return d.loadKeys(r.Context(), s.account, &a.selection) },
		func() (err error) { found, err = d.findRequests(r.Context(), s, end, maxActivityRows+1); return err },
	)
	if err != nil {
		return nil, err
	}
	a.RecordedSince, a.Searched = found.since, found.searched
	list := found.list
	a.Names, err = d.keyNames(r.Context(), s.account, kit.Map(list[:min(len(list), maxActivityRows)], keyOf))
	n, last := cutPage(len(list), rowsThatFit(list, a.Names), func(i int) time.Time { return list[i].At })
	a.Requests = list[:n]
	if last.IsZero() {
		last = found.searched
	} else {
		a.Searched = time.Time{}
	}
	a.Newest, a.Older = cursorLinks(r, "older", last)
	return a, err
}

// rowsThatFit is how many requests fit on a page.
func rowsThatFit(list []httpapi.Observation, names map[string]string) int {
	const frame = 700 // the markup of a row, with its IDs
	left := maxActivityBytes
	for i, o := range list[:min(len(list), maxActivityRows)] {
		left -= frame + 2*len(o.Endpoint)
		for _, text := range []string{names[string(o.Key)], o.Field, o.Message} {
			left -= len(template.HTMLEscapeString(text))
		}
		if left < 0 {
			return max(1, i)
		}
	}
	return maxActivityRows
}

// activityColumns are those of the file.
var activityColumns = []string{"time", "request_id", "endpoint", "key", "key_name", "code", "status", "credits",
	"duration_ms", "ip", "field", "message"}

// showActivityFile sends the newest requests of a search as CSV.
func (d *dashboard) showActivityFile(r *http.Request) (any, error) {
	s, err := d.parseSearch(r)
	if err != nil {
		return nil, err
	}
	found, err := d.findRequests(r.Context(), s, s.before, maxActivityFile)
	if err != nil {
		return nil, err
	}
	list := found.list[:min(len(found.list), maxActivityFile)]
	names, err := d.keyNames(r.Context(), s.account, kit.Map(list, keyOf))
	return file{media: csvMedia, name: "requests-" + s.name() + ".csv",
		write: func(w io.Writer) error { return writeRequests(w, list, names) }}, err
}

func writeRequests(w io.Writer, list []httpapi.Observation, names map[string]string) error {
	c := newCSV(w)
	_ = c.Write(activityColumns) // an error stays until Flush
	for _, o := range list {
		status, duration, ip := "", "", ""
		if o.Status > 0 {
			status = strconv.Itoa(o.Status)
		}
		if o.Duration > 0 {
			duration = strconv.FormatInt(o.Duration.Milliseconds(), 10)
		}
		if o.IP.IsValid() {
			ip = o.IP.String()
		}
		row := []string{o.At.UTC().Format("2006-01-02T15:04:05.000Z"), o.RequestID, o.Endpoint, string(o.Key),
			names[string(o.Key)], o.Code, status, strconv.FormatInt(o.Credits, 10), duration, ip, o.Field, o.Message}
		_ = c.Write(kit.Map(row, render.CSVCell))
	}
	c.Flush()
	return c.Error()
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

// operationName is an endpoint as people know it, such as spf/lookup.
func operationName(endpoint string) string {
	return strings.TrimPrefix(endpoint[strings.IndexByte(endpoint, ' ')+1:], httpapi.Prefix+"/")
}

// formatLatency returns the duration of a request; a dash if unknown.
func formatLatency(t time.Duration) string {
	switch {
	case t == 0:
		return "–"
	case t < time.Millisecond:
		return "< 1 ms"
	}
	return fmt.Sprint(t.Milliseconds(), " ms")
}
