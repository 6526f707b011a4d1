package compose

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/stretchr/testify/require"
)

// What the uses of a name mean together.
func TestNameRules(t *testing.T) {
	var seen diagtest.Seen
	good := nameuse.Evidence{Name: "example.com", Organization: "example.com", Route: reception.RouteHosts, SPF: spf.Some,
		SPFRecord: nameuse.Yes, Key: nameuse.Yes, DMARC: nameuse.PolicyReject, DMARCFrom: "example.com"}
	edit := func(f func(*nameuse.Evidence)) nameuse.Evidence {
		e := good
		f(&e)
		return e
	}
	silent := func(e *nameuse.Evidence) { e.SPF, e.Key = spf.Nobody, nameuse.No }
	web := func(e *nameuse.Evidence) {
		silent(e)
		e.Route, e.Service = reception.RouteImplicit, smtpcheck.ServiceRefused
	}
	host := func(e *nameuse.Evidence) {
		e.Name, e.SPF, e.SPFRecord, e.Key, e.Route = "www.example.com", spf.Nobody, nameuse.No, nameuse.No, reception.RouteImplicit
	}
	for _, tt := range []struct {
		name     string
		evidence nameuse.Evidence
		want     []diag.Code
		suggests string
	}{
		{"in order", good, nil, ""},
		{"p=reject, and nothing authenticates", edit(func(e *nameuse.Evidence) { e.SPF, e.SPFRecord, e.Key = spf.Nobody, nameuse.No, nameuse.No }),
			[]diag.Code{"name.mail.refused"}, ""},
		{"sends, with a null MX", edit(func(e *nameuse.Evidence) { e.Route = reception.RouteNull }), []diag.Code{"name.sender.unreachable"}, ""},
		{"sends, without MX and address", edit(func(e *nameuse.Evidence) { e.Route = reception.RouteNone }), []diag.Code{"name.sender.unreachable"}, ""},
		{"web only", edit(web), []diag.Code{"name.null_mx.missing"}, "0 ."},
		{"web only, without DMARC", edit(func(e *nameuse.Evidence) { web(e); e.DMARC, e.DMARCFrom = nameuse.PolicyNone, "" }),
			[]diag.Code{"name.null_mx.missing", "name.policy.missing"}, "0 ."},
		{"parked with a null MX", edit(func(e *nameuse.Evidence) { silent(e); e.Route = reception.RouteNull }), nil, ""},
		{"www", edit(host), []diag.Code{"name.policy.inherited"}, ""},
		{"www below p=none", edit(func(e *nameuse.Evidence) { host(e); e.DMARC = nameuse.PolicyNone }), []diag.Code{"name.policy.organization"}, ""},
		{"www, DMARC not known", edit(func(e *nameuse.Evidence) { host(e); e.DMARC = nameuse.PolicyUnknown }), nil, ""},
		{"alias", edit(func(e *nameuse.Evidence) { host(e); e.AliasOf = "shop.vendor.example" }),
			[]diag.Code{"name.alias", "name.policy.inherited"}, ""},
	} {
		s := NameRules(diag.MustDomain(tt.evidence.Name), nameuse.Of(tt.evidence), tt.evidence.Route)
		require.ElementsMatch(t, tt.want, seen.Add(s.verdict), tt.name)
		suggested := ""
		if len(s.verdict.Recommendations) > 0 {
			suggested = s.verdict.Recommendations[0].SuggestedValue
		}
		require.Equal(t, tt.suggests, suggested, tt.name)
	}
	diagtest.CoverRules(t, nameRules, seen)
	diagtest.CheckTexts(t, nameTexts, nameRules.Describe(), seen)
}

// An alias and a name without mail need no records of their own.
func TestUnneeded(t *testing.T) {
	missing := &Summary{kind: MTASTS, rules: map[diag.Code]rule.Description{"mtasts.record.missing": {State: diag.Missing}}}
	one := finding{diag.Finding{Code: "mtasts.record.missing", Severity: diag.Warning}, missing}
	host := nameuse.Evidence{Name: "www.example.com", Organization: "example.com", Route: reception.RouteImplicit}
	org := nameuse.Evidence{Name: "example.com", Organization: "example.com", Route: reception.RouteHosts}
	for _, tt := range []struct {
		name     string
		evidence nameuse.Evidence
		want     bool
	}{
		{"organization with MX", org, false},
		{"host without mail", host, true},
		{"host with MX", nameuse.Evidence{Name: "in.example.com", Organization: "example.com", Route: reception.RouteHosts}, false},
		{"alias with the MX of its target", nameuse.Evidence{Name: "www.example.com", Organization: "example.com", AliasOf: "example.com", Route: reception.RouteHosts}, true},
		{"organization at an implicit MX", nameuse.Evidence{Name: "example.com", Organization: "example.com", Route: reception.RouteImplicit}, true},
		{"and a mail server answers there", nameuse.Evidence{Name: "example.com", Organization: "example.com", Route: reception.RouteImplicit, Service: smtpcheck.ServiceOffered}, false},
	} {
		c := Composite{Name: nameuse.Of(tt.evidence), Route: tt.evidence.Route}
		require.Equal(t, tt.want, c.isUnneeded(&one), tt.name)
	}
	none := Composite{}
	require.False(t, none.isUnneeded(&one), "nobody asked what the name is")
}
