package dashboard

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi/watch"
)

// domainColumns are those of the file of watched domains (RFC 4180), in their order. New ones are added at the end.
var domainColumns = []string{
	"domain", "domain_unicode", "state", "problem", "areas", "critical", "errors", "warnings", "checks_answered", "checks",
	"watch", "last_change", "last_change_at", "next_expiry", "next_expiry_at", "last_checked_at", "next_check_at",
}

// showDomainsFile is the list of the domains that a filter selects as a file, which the form that adds domains takes.
func (d *dashboard) showDomainsFile(r *http.Request) (any, error) {
	all, err := d.Watches.List(r.Context(), sessionOf(r).Account.ID)
	if err != nil {
		return nil, err
	}
	selected := parseDomainFilter(r.URL.Query()).selectFrom(all)
	return file{media: csvMedia, name: "domains-" + d.now().Format(time.DateOnly) + ".csv",
		write: func(w io.Writer) error { return d.writeDomains(w, selected.rows) }}, nil
}

func (d *dashboard) writeDomains(w io.Writer, rows []*watch.Watch) error {
	c := newCSV(w)
	_ = c.Write(domainColumns) // an error stays until Flush
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	for _, r := range rows {
		areas := kit.Map(r.Areas, func(a watch.Area) string { return string(a) })
		row := []string{r.Domain, r.Unicode, stateOfDomain(r), d.summary(r), strings.Join(areas, " "),
			strconv.Itoa(r.Counts.Critical), strconv.Itoa(r.Counts.Error), strconv.Itoa(r.Counts.Warning),
			strconv.Itoa(r.Answered), strconv.Itoa(r.All), stateText(r), r.Change, at(r.Changed), r.Expiry, at(r.Expires),
			at(r.LastRun), at(r.NextRun)}
		_ = c.Write(kit.Map(row, render.CSVCell)) // as above
	}
	c.Flush()
	return c.Error()
}

// stateOfDomain returns the name of the first state of a domain, which is that of its last check.
func stateOfDomain(w *watch.Watch) string {
	for _, s := range domainStates {
		if s.has(w) {
			return s.Name
		}
	}
	return ""
}
