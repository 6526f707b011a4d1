package zonecheck

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// contents writes the data of records in order.
func contents(records []dns.RR) string {
	if len(records) == 0 {
		return "none"
	}
	lines := diag.Map(records, dataOf)
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ", ")
}

// dataOf writes the data of a record, names in lower case and the last without its final dot.
func dataOf(rr dns.RR) string {
	data := strings.TrimPrefix(rr.String(), rr.Header().String())
	if rr.Header().Rrtype == dns.TypeTXT {
		return data
	}
	return strings.TrimSuffix(strings.ToLower(data), ".")
}

// contentOf writes type and data of a record without its name and time to live.
func contentOf(rr dns.RR) string {
	h := rr.Header()
	return dns.Type(h.Rrtype).String() + " " + strings.TrimPrefix(rr.String(), h.String())
}

// hostName reports whether a name may be that of a host.
func hostName(name string) bool {
	_, err := diag.ParseDomain(survey.BareName(name))
	return err == nil
}

func bareNames(list []string) []string { return diag.Map(list, survey.BareName) }

// minus lists what is in the first list and not in the second.
func minus(all, less []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(less, s) })
}
