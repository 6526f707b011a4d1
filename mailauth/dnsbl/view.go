package dnsbl

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report: the lists that have the address, and those that did not answer.
func (r *Report) View() *view.View {
	v := view.Of(r.IP.String(), r.Verdict)
	v.Partial = r.Partial
	v.Fact("reserved for", r.SpecialPurpose, "dnsbl.address")
	known := r.ListedCount + r.CleanCount
	of := fmt.Sprintf("%d of %s", r.ListedCount, diag.Count(known, "blocklist"))
	v.Fact("listed", "on "+of+" that answered", "dnsbl.listed")
	d := view.Drawing{Kind: view.Table, Title: "Listings", Columns: []string{"list", "about", "reason"}}
	var major, silent []string
	for _, one := range r.Results {
		switch {
		case one.Listed:
			d.Marked(one.mark(), "", one.Name, string(one.Category), cmp.Or(strings.Join(one.Meanings, "; "), one.Reason))
		case one.Status != clean:
			silent = append(silent, one.Name)
		case one.Severity == high:
			major = append(major, one.Name)
		}
	}
	v.Fact("not on", diag.Series(major, 4))
	if len(silent) > 0 {
		v.Fact("no answer", fmt.Sprintf("%d: %s", len(silent), diag.Series(silent, 4)), "dnsbl.answers", "dnsbl.lists",
			"dnsbl.major", "dnsbl.resolver")
	}
	var vouching []string
	for _, one := range r.Allowlists {
		if one.Listed {
			vouching = append(vouching, one.Name)
		}
	}
	v.Fact("allowed by", diag.Series(vouching, 4), "dnsbl.allowlist")
	v.Brief = "on " + of
	v.Draw(d)
	return v
}

// mark is how grave a listing is.
func (r *Result) mark() view.Mark {
	if r.Severity == high && r.Category != Policy && !r.Network {
		return view.Error
	}
	return view.Warning
}
