package watch

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/mx"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// The codes of replies that say what there is; all others say nothing.
const (
	noError  = "NOERROR"
	nxdomain = "NXDOMAIN"
)

// recordsOf are the records that a report tells of, if it is about some. Answered is false where the DNS did not say.
func recordsOf(report any) (list []Record, answered bool) {
	text := func(begins string, l diag.RecordLookup) ([]Record, bool) {
		return setOf(l.RecordName, "TXT", begins, l.Records), l.Rcode == noError || l.Rcode == nxdomain
	}
	foreign := func(inherited bool, begins string, l diag.RecordLookup) ([]Record, bool) {
		if inherited { // it is that of another domain, which may be watched itself
			l.Records = nil
		}
		return text(begins, l)
	}
	switch r := report.(type) {
	case *spf.LookupReport:
		if r != nil {
			return text("v=spf1", r.RecordLookup)
		}
	case *dkim.LookupReport:
		if r != nil {
			return text("v=DKIM1", r.RecordLookup)
		}
	case *dmarc.LookupReport:
		if r != nil {
			return foreign(r.Inherited, "v=DMARC1", r.RecordLookup)
		}
	case *bimi.LookupReport:
		if r != nil {
			return foreign(r.Inherited, "v=BIMI1", r.RecordLookup)
		}
	case *mtasts.Report:
		if r != nil {
			return text("v=STSv1", r.RecordLookup)
		}
	case *tlsrpt.LookupReport:
		if r != nil {
			return text("v=TLSRPTv1", r.RecordLookup)
		}
	case *mx.Report:
		if r != nil {
			return setOf(r.RecordName, "MX", "", r.Records), r.Rcode == noError || r.Rcode == nxdomain
		}
	case *resolve.Report:
		if r != nil {
			return setOf(r.Name.String(), r.Type.String(), "", valuesOf(r)), r.Rcode == noError || r.Rcode == nxdomain
		}
	}
	return nil, true
}

// apexRcode is the code of a reply about the domain itself, if the report has one.
func apexRcode(domain string, report any) string {
	switch r := report.(type) {
	case *resolve.Report:
		if r.Name.String() == domain {
			return r.Rcode
		}
	case *spf.LookupReport:
		if r.RecordName == domain {
			return r.Rcode
		}
	}
	return ""
}

// valuesOf are the records that a question was about, behind the aliases that led to them.
func valuesOf(r *resolve.Report) (values []string) {
	for _, a := range r.Answers {
		if a.Type != r.Type.String() {
			continue
		}
		value := a.Data
		if text, ok := a.Fields["text"].(string); ok {
			value = text
		}
		values = append(values, value)
	}
	return values
}

// setOf is a set of records in the form in which sets are compared; nothing if it is empty.
func setOf(name, kind, begins string, values []string) []Record {
	list := []string{}
	for _, v := range values {
		switch kind {
		case "TXT":
			if begins != "v=DKIM1" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(v)), strings.ToLower(begins)) {
				continue // of something else at that name; keys need not say what they are
			}
		case "NS", "MX", "DS":
			v = strings.ToLower(strings.TrimSuffix(v, "."))
		}
		list = append(list, v)
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return []Record{{Name: strings.TrimSuffix(name, "."), Type: kind, Begins: begins, Values: slices.Compact(list)}}
}
