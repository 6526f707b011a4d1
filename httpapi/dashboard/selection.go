package dashboard

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/metering"
)

// A timeRange is one that ends now. Its parts, of which a chart has a bar for each, begin at multiples of the step.
type timeRange struct {
	Name, Title, Short string
	step               time.Duration
	parts              int
}

// timeRanges are those that there are to choose from, beside months.
var timeRanges = []timeRange{
	{"24h", "24 hours", "24 h", time.Hour, 24}, {"7d", "7 days", "7 d", 6 * time.Hour, 28},
	{"30d", "30 days", "30 d", 24 * time.Hour, 30},
}

// since is when the range begins.
func (r timeRange) since(now time.Time) time.Time {
	return now.UTC().Truncate(r.step).Add(-time.Duration(r.parts-1) * r.step)
}

// Two values of the filter by code stand for several.
const (
	codeRefused = "refused" // all that are faults of the request, the key or its account
	codeFailed  = "failed"  // those of the server, and of what it asks
)

// outcomeOf returns which of these a code is; OK for success.
func outcomeOf(code string) string {
	switch code {
	case codeOK:
		return codeOK
	case "INTERNAL_ERROR":
		return codeFailed
	}
	return codeRefused
}

// codeChoices are the values of the filter by code.
var codeChoices = append([]ui.Choice{
	{Value: codeOK, Title: "Charged (OK)"}, {Value: codeRefused, Title: "Refused"}, {Value: codeFailed, Title: "Failed"},
}, errorCodes()...)

func errorCodes() (list []ui.Choice) {
	for _, code := range httpapi.ErrorCode("").Values() {
		list = append(list, ui.Choice{Value: string(code), Title: string(code)})
	}
	return list
}

// A selection is which requests of an account a page is about: those of a range or a month that all filters match. It
// stands in the address, and each link of the page carries it on.
type selection struct {
	Range     string          // of timeRanges; empty for a month
	Month     metering.Period // of which the page tells the balance, too
	Operation string          // one, or a part of the names of some; empty: all
	Key       metering.KeyID
	Code      string // OK, refused, failed or the code of an error

	Months     []metering.Period // to choose from
	Keys       []metering.Key    // likewise; none if there are more than one chooses from
	Operations []string          // likewise

	since time.Time // when the range begins; zero for a month
	named bool      // Operation is one of the table
	path  string    // of the page
}

// maxKeyChoices is how many keys one chooses from, and maxChoiceBytes how long their names are together in HTML; of
// more, one types an ID.
const maxKeyChoices, maxChoiceBytes = 50, 4 << 10

// parseSelection reads the address of a page.
func (d *dashboard) parseSelection(r *http.Request) (s selection, err error) {
	query := r.URL.Query()
	parameter := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	s = selection{Operation: strings.Trim(parameter("operation"), "/"), Key: metering.KeyID(parameter("key")),
		Code: parameter("code"), Range: parameter("range"), path: r.URL.Path}
	if s.Month, err = d.chosenMonth(r); err != nil {
		return s, err
	}
	if query.Has("month") || s.Range == "month" {
		s.Range = ""
	}
	if s.Range != "" {
		i := slices.IndexFunc(timeRanges, func(t timeRange) bool { return t.Name == s.Range })
		if i < 0 {
			return s, metering.ErrNotFound
		}
		s.since = timeRanges[i].since(d.now())
	}
	for _, choice := range codeChoices {
		if code := choice.Value.(string); strings.EqualFold(code, s.Code) {
			s.Code = code
		}
	}
	s.Months = d.months(sessionOf(r).Account)
	for _, ep := range d.endpoints {
		s.Operations = append(s.Operations, operationName(ep.ID()))
	}
	slices.Sort(s.Operations)
	s.Operations = slices.Compact(s.Operations)
	_, s.named = slices.BinarySearch(s.Operations, s.Operation)
	return s, nil
}

// loadKeys reads the keys to choose from.
func (d *dashboard) loadKeys(ctx context.Context, account metering.AccountID, s *selection) error {
	keys, err := metering.Collect(d.Store.Keys(ctx, metering.KeyFilter{Account: account, Limit: maxKeyChoices + 1}))
	size := 0
	for _, k := range keys {
		size += len(template.HTMLEscapeString(k.Name))
	}
	if len(keys) <= maxKeyChoices && size <= maxChoiceBytes {
		s.Keys = keys
	}
	return err
}

// HasKey reports whether the chosen key is one of those to choose from.
func (s selection) HasKey() bool {
	return slices.ContainsFunc(s.Keys, func(k metering.Key) bool { return k.ID == s.Key })
}

// Filtered reports whether a filter is set.
func (s selection) Filtered() bool { return s.Operation != "" || s.Key != "" || s.Code != "" }

// HasCharges reports whether the filter by code leaves charges.
func (s selection) HasCharges() bool { return s.Code == "" || s.Code == codeOK }

// HasFailures reports whether the filter by code leaves failures.
func (s selection) HasFailures() bool { return s.Code != codeOK }

// Codes are the choices of the filter by code, with one that is not of the list.
func (s selection) Codes() []ui.Choice {
	if s.Code == "" || slices.ContainsFunc(codeChoices, func(c ui.Choice) bool { return c.Value == s.Code }) {
		return codeChoices
	}
	return append(slices.Clone(codeChoices), ui.Choice{Value: s.Code, Title: s.Code})
}

// Title is the range or the month in words.
func (s selection) Title() string {
	for _, t := range timeRanges {
		if t.Name == s.Range {
			return "the last " + t.Title
		}
	}
	return s.Month.Start().Format("January 2006")
}

// name is the range or the month in the name of a file.
func (s selection) name() string {
	if s.Range != "" {
		return s.Range
	}
	return s.Month.String()
}

// filter selects the charges.
func (s selection) filter(account metering.AccountID) metering.EntryFilter {
	f := metering.EntryFilter{Account: account, Key: s.Key, Since: s.since}
	if s.Range == "" {
		f.Period = &s.Month
	}
	if s.named {
		f.Path = httpapi.Prefix + "/" + s.Operation
	} else {
		f.Endpoint = s.Operation
	}
	return f
}

// matches reports whether a request that is remembered belongs to the selection.
func (s selection) matches(o httpapi.Observation) bool {
	inRange := metering.PeriodOf(o.At) == s.Month
	if s.Range != "" {
		inRange = !o.At.Before(s.since)
	}
	operation := operationName(o.Endpoint)
	return inRange && (s.Key == "" || o.Key == s.Key) &&
		(s.Code == "" || o.Code == s.Code || outcomeOf(o.Code) == s.Code) &&
		(operation == s.Operation || !s.named && strings.Contains(o.Endpoint, s.Operation))
}

// values are the parameters of an address with this selection.
func (s selection) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	if set("range", s.Range); s.Range == "" {
		v.Set("month", s.Month.String())
	}
	set("operation", s.Operation)
	set("key", string(s.Key))
	set("code", s.Code)
	return v
}

// URL is the address of a page with this selection, in which parameters are replaced, or with an empty value removed.
func (s selection) URL(path string, changes ...string) string {
	v := s.values()
	for i := 0; i < len(changes); i += 2 {
		if v.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			v.Del(changes[i])
		}
	}
	return (&url.URL{Path: path, RawQuery: v.Encode()}).String()
}

// A rangeTab is a link to the same page for another range.
type rangeTab struct {
	Title, URL string
	Current    bool
}

// Tabs are the ranges, and the month.
func (s selection) Tabs() []rangeTab { return s.tabs(s.URL) }

// tabs returns the tabs with addresses as a page makes them.
func (s selection) tabs(url func(path string, changes ...string) string) (list []rangeTab) {
	for _, t := range timeRanges {
		list = append(list, rangeTab{t.Short, url(s.path, "range", t.Name, "month", ""), s.Range == t.Name})
	}
	return append(list, rangeTab{s.Month.Start().Format("January"),
		url(s.path, "range", "", "month", s.Month.String()), s.Range == ""})
}

// Unfiltered is the address of the page without filters.
func (s selection) Unfiltered() string { return s.URL(s.path, "operation", "", "key", "", "code", "") }
