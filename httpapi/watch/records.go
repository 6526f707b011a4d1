package watch

import (
	"reflect"
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

const (
	noError  = "NOERROR"
	nxdomain = "NXDOMAIN"
	servfail = "SERVFAIL"
)

// isAnswer reports whether a reply is conclusive.
func isAnswer(rcode string) bool { return rcode == noError || rcode == nxdomain }

// published are the reports about one record, by how that begins.
var published = map[reflect.Type]string{
	reflect.TypeFor[*spf.LookupReport](): "v=spf1", reflect.TypeFor[*dkim.LookupReport](): "v=DKIM1",
	reflect.TypeFor[*dmarc.LookupReport](): "v=DMARC1", reflect.TypeFor[*bimi.LookupReport](): "v=BIMI1",
	reflect.TypeFor[*mtasts.Report](): "v=STSv1", reflect.TypeFor[*tlsrpt.LookupReport](): "v=TLSRPTv1",
	reflect.TypeFor[*mx.Report](): "",
}

// recordsOf returns the records in a report, if it has any. Answered is false if the DNS did not answer.
func recordsOf(report any) (list []Record, answered bool) {
	if r, ok := report.(*resolve.Report); ok {
		return setOf(Set{Name: r.Name.String(), Type: r.Type.String()}, valuesOf(r)), isAnswer(r.Rcode)
	}
	begins, ok := published[reflect.TypeOf(report)]
	if !ok || reflect.ValueOf(report).IsNil() {
		return nil, true
	}
	l := reflect.ValueOf(report).Elem().FieldByName("RecordLookup").Interface().(diag.RecordLookup)
	set := Set{Name: l.RecordName, Type: "TXT", Begins: begins}
	if begins == "" {
		set.Type = "MX"
	}
	if flagged(report, "Inherited") { // it is that of another domain, which may be watched itself
		l.Records = nil
	}
	return setOf(set, l.Records), isAnswer(l.Rcode)
}

// flagged reports whether a report has a field that is true.
func flagged(report any, field string) bool {
	v := reflect.ValueOf(report)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return false
	}
	f := v.Elem().FieldByName(field)
	return f.IsValid() && f.Kind() == reflect.Bool && f.Bool()
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
func setOf(set Set, values []string) []Record {
	list := []string{}
	for _, v := range values {
		switch set.Type {
		case "TXT":
			begins := strings.HasPrefix(strings.ToLower(strings.TrimSpace(v)), strings.ToLower(set.Begins))
			if set.Begins != "v=DKIM1" && !begins {
				continue // another record at that name; the version tag of keys is optional
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
	set.Name = strings.TrimSuffix(set.Name, ".")
	return []Record{{Set: set, Values: bounded(slices.Compact(list))}}
}
