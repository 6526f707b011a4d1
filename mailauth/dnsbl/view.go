package dnsbl

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View renders the report for display: the lists that have the address, and those that did not answer.
func (r *Report) View() *view.View {
	v := view.Of(r.IP.String(), r.Verdict, r.Partial)
	v.Fact("reserved for", r.SpecialPurpose, "dnsbl.address")
	known := r.ListedCount + r.CleanCount
	of := fmt.Sprintf("%d of %s", r.ListedCount, phrase.Count(known, "blocklist"))
	if known > 0 {
		v.Fact("listed", "on "+of+" that answered", "dnsbl.listed")
		v.Brief = "on " + of
	}
	d := v.Rows(view.Table, "Listings", "list", "about", "reason")
	var major, silent []string
	for _, one := range r.Results {
		switch {
		case one.Listed:
			grave := one.Severity == High && one.Category != Policy && !one.Network
			d.StatusRow(cmp.Or(view.MarkIf(grave, view.Error, ""), view.Standing{Mark: view.Warning}),
				one.Name, string(one.Category), cmp.Or(strings.Join(one.Meanings, "; "), one.Reason))
		case one.Status != Clean:
			silent = append(silent, one.Name)
		case one.Severity == High:
			major = append(major, one.Name)
		}
	}
	v.Fact("not on", phrase.Series(major, 4))
	v.Fact("no answer", view.TextIf(len(silent) > 0, fmt.Sprintf("%d: %s", len(silent), phrase.Series(silent, 4))),
		"dnsbl.answers", "dnsbl.lists", "dnsbl.major", "dnsbl.resolver")
	allowing := view.Each(r.Allowlists, func(one Result) string { return view.TextIf(one.Listed, one.Name) })
	v.Fact("allowed by", phrase.Series(allowing, 4), "dnsbl.allowlist")
	return v
}
