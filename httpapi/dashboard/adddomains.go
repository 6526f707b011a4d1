package dashboard

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// maxAdded bounds the domains that a form adds: a list of them is still read by a person.
	maxAdded = 1000
	// maxAddForm bounds the form: so many domains of usual length, or a file with other columns beside them.
	maxAddForm = 256 << 10
	// maxNamed bounds the entries that a page names with their reasons. The form has all of them.
	maxNamed = 20
)

// An addition is what becomes of the entries of a form that adds domains.
type addition struct {
	watch.Addition
	IsPreview bool    // nothing was added
	Refused   []entry // to be corrected: they stay in the form
	Skipped   []entry // that are named twice or watched already
}

// An entry is a word of the form, and a sentence on why it is not added.
type entry struct{ Text, Sentence string }

// newEntry returns an entry with a sentence that begins with it.
func newEntry(text, predicate string, args ...any) entry {
	return entry{text, phrase.Clip(text, 80) + " " + fmt.Sprintf(predicate, args...)}
}

// MonthlySum is the maximum cost of the new domains in a month.
func (a *addition) MonthlySum() int64 { return int64(len(a.New)) * a.MonthlyCredits }

// Faults are the entries to correct, or to remove: where nothing was added, also those that are skipped.
func (a *addition) Faults() []entry {
	if len(a.New) > 0 || a.IsPreview {
		return a.Refused
	}
	return slices.Concat(a.Refused, a.Skipped)
}

// Named are the first of some entries.
func (*addition) Named(list []entry) []entry { return list[:min(len(list), maxNamed)] }

// Unnamed is how many more there are.
func (*addition) Unnamed(list []entry) int { return max(0, len(list)-maxNamed) }

// EntryRows is the height of the field with so many entries.
func (*domainsPage) EntryRows(entries int) int { return min(max(4, entries+1), 16) }

// readEntries replaces the text and the file of a form that adds domains by their entries.
func readEntries(r *http.Request) error {
	texts := r.PostForm["domain"]
	if r.MultipartForm != nil {
		for _, header := range r.MultipartForm.File["file"] {
			f, err := header.Open()
			if err != nil {
				return err
			}
			text, err := io.ReadAll(f) // which the form bounds
			if err = errors.Join(err, f.Close()); err != nil {
				return err
			}
			texts = append(texts, string(text))
		}
	}
	var entries []string
	for _, text := range texts {
		entries = append(entries, splitEntries(text)...)
	}
	r.PostForm["domain"] = entries
	return nil
}

// domainHeadings are the titles of a column of domains, the most certain first.
var domainHeadings = []string{
	"domain", "domains", "domain name", "domain_name", "hostname", "host", "website", "url", "name",
}

// splitEntries returns the entries of a text: the column of domains of a table whose first row names it, or else all
// words, which spaces, commas or semicolons separate.
func splitEntries(text string) []string {
	text = strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\uFEFF"))
	if list, ok := splitTable(text); ok {
		return list
	}
	list := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n,;\"", c) })
	return slices.DeleteFunc(list, func(word string) bool { return strings.TrimSpace(word) == "" })
}

// splitTable returns the column of domains, if the text is a table with a heading (RFC 4180).
func splitTable(text string) (list []string, ok bool) {
	first, _, _ := strings.Cut(text, "\n")
	rows := csv.NewReader(strings.NewReader(text))
	rows.FieldsPerRecord, rows.LazyQuotes, rows.TrimLeadingSpace = -1, true, true
	for _, separator := range ";\t" {
		if strings.ContainsRune(first, separator) {
			rows.Comma = separator
		}
	}
	column := -1
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return list, column >= 0
		}
		if err != nil {
			return nil, false
		}
		if column >= 0 {
			if column < len(row) && strings.TrimSpace(row[column]) != "" {
				list = append(list, strings.TrimSpace(row[column]))
			}
			continue
		}
		for _, title := range domainHeadings {
			column = slices.IndexFunc(row, func(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), title) })
			if column >= 0 {
				break
			}
		}
		if column < 0 {
			return nil, false
		}
	}
}

// parseEntry returns the domain of an entry, which may be a URL.
func parseEntry(text string) (diag.Domain, error) {
	name := text
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		name = u.Hostname()
	} else if i := strings.IndexAny(name, "/?#"); i > 0 {
		name = name[:i]
	}
	return watch.ParseDomain(name)
}

// parseEntries returns the domains of entries, each once, and what is not to be added.
func parseEntries(entries []string) (domains []diag.Domain, a *addition) {
	a = &addition{}
	seen := map[diag.Domain]string{}
	for _, text := range entries {
		d, err := parseEntry(text)
		first, again := seen[d]
		switch {
		case err != nil:
			a.Refused = append(a.Refused, entry{text, sentenceOf(err)})
		case again && first == text:
			a.Skipped = append(a.Skipped, newEntry(text, "is listed twice"))
		case again:
			a.Skipped = append(a.Skipped, newEntry(text, "is the same domain as %s", phrase.Clip(first, 80)))
		case len(domains) == maxAdded:
			a.Refused = append(a.Refused, newEntry(text, "exceeds the %s domains that can be added at a time",
				formatNumber(maxAdded)))
		default:
			seen[d] = text
			domains = append(domains, d)
		}
	}
	return domains, a
}

// sentenceOf returns the reason of a fault, which names the entry.
func sentenceOf(err error) string {
	fault, _ := errors.AsType[*metering.FieldError](err)
	return fault.Reason
}

// addDomains begins to watch the domains of a form. Entries that are not valid stay in the form, which is shown again.
func (d *dashboard) addDomains(r *http.Request) (string, error) {
	a, err := d.addEntries(r, d.Watches.CreateAll)
	if err != nil {
		return "", err
	}
	added, watched, repeated := len(a.New), len(a.Watched), len(a.Skipped)-len(a.Watched)
	switch {
	case added == 0:
		return "", additionFault(a)
	case len(a.Refused) > 0:
		form := stateOf(r).form
		form.Done, form.Faults = addedText(added, watched, repeated), formFaults(additionFault(a))
		r.PostForm["domain"] = kit.Map(a.Refused, func(e entry) string { return e.Text })
		return "", errShowAgain
	case added == 1 && len(a.Skipped) == 0:
		return domainPath(a.New[0].String()), nil
	}
	return "/dashboard?" + url.Values{"added": {strconv.Itoa(added)}, "watched": {strconv.Itoa(watched)},
		"repeated": {strconv.Itoa(repeated)}}.Encode(), nil
}

// addedText describes what was added, and what was not because it is there.
func addedText(added, watched, repeated int) string {
	text := formatCount(added, "domain") + " added. The first checks run within a few minutes."
	if watched > 0 {
		text += " " + formatCount(watched, "domain") + wasWere(watched) + " watched already."
	}
	if repeated > 0 {
		text += " " + formatCount(repeated, "repetition") + wasWere(repeated) + " ignored."
	}
	return text
}

func wasWere(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

// additionNotice is the text of the address to which a form with several domains leads; empty for others.
func additionNotice(query url.Values) string {
	number := func(name string) int {
		n, _ := strconv.Atoi(query.Get(name)) // an invalid one is 0
		return min(max(0, n), maxAdded)
	}
	if added := number("added"); added > 0 {
		return addedText(added, number("watched"), number("repeated"))
	}
	return ""
}

// previewDomains shows what adding the domains of a form would do, and cost.
func (d *dashboard) previewDomains(r *http.Request) (string, error) {
	a, err := d.addEntries(r, d.Watches.Preview)
	if err == nil {
		a.IsPreview = true
		err = errShowAgain
	}
	return "", err
}

// addEntries adds the entries of a form, or previews that, and sorts out those that are not new. The page of the form
// shows the result.
func (d *dashboard) addEntries(r *http.Request, add func(
	context.Context, metering.AccountID, []diag.Domain, watch.Settings) (watch.Addition, error),
) (*addition, error) {
	entries := r.PostForm["domain"]
	if len(entries) == 0 {
		return nil, &metering.FieldError{Field: "domain", Reason: "needs at least one domain"}
	}
	domains, a := parseEntries(entries)
	stateOf(r).added = a
	var err error
	a.Addition, err = add(r.Context(), sessionOf(r).Account.ID, domains, parseSettings(r))
	if err != nil {
		if len(a.Refused) > 0 && len(formFaults(err)) > 0 {
			err = errors.Join(err, additionFault(a))
		}
		return nil, err
	}
	text := map[diag.Domain]string{}
	for _, e := range slices.Backward(entries) { // the first one names it
		if d, err := parseEntry(e); err == nil {
			text[d] = e
		}
	}
	for _, d := range a.Watched {
		a.Skipped = append(a.Skipped, newEntry(text[d], "is watched already"))
	}
	for _, d := range a.Excess {
		a.Refused = append(a.Refused, newEntry(text[d], "exceeds the %s domains that an account can watch",
			formatNumber(budget.Of(budget.Watches).Account)))
	}
	return a, nil
}

// additionFault is the fault of the field with the entries: the reason itself where there is one entry.
func additionFault(a *addition) error {
	fault := &metering.FieldError{Field: "domain"}
	switch bad := a.Faults(); {
	case len(bad) == 1 && len(a.New) == 0:
		fault.Reason = bad[0].Sentence
	case len(a.Refused) == 0:
		fault.Reason = "all of these domains are watched already"
	default:
		fault.Reason = phrase.Count(len(a.Refused), "domain") + " could not be added"
	}
	return fault
}
