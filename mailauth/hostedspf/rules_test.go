package hostedspf

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
)

func TestRules(t *testing.T) {
	w := world(t, `
		example.com. TXT "v=spf1 redirect=flat.example.net"
		example.com. TXT "some other text"
		two.example. TXT "v=spf1 -all"
		two.example. TXT "v=spf1 +all"
	`)
	for i := range 30 {
		w.Zone(fmt.Sprintf(`deep%d.example. TXT "v=spf1 include:deep%d.example -all"`, i, i+1))
	}
	w.Fault("silent.example", 0, diagtest.Fault{Rcode: 2})
	nine := strings.Repeat(" exists:%{i}.x.example", 8)
	tests := []struct {
		name, record string
		state        diag.State
		want         []diag.Code
	}{
		{"all is well", "v=spf1 include:pass.example -all", diag.Valid, []diag.Code{}},
		{"silence", "v=spf1 include:silent.example -all", diag.Unknown, []diag.Code{"spf.hosted.source.unknown"}},
		{"silence and an error", "v=spf1 include:two.example include:silent.example -all", diag.Bad,
			[]diag.Code{"spf.hosted.source.broken", "spf.hosted.source.unknown"}},
		{"broken", "v=spf1 include:two.example -all", diag.Bad, []diag.Code{"spf.hosted.source.broken"}},
		{"its own", "v=spf1 include:_abcd2345.flat.example.net -all", diag.Bad,
			[]diag.Code{"spf.hosted.source.own"}},
		{"too deep", "v=spf1 include:deep0.example -all", diag.Bad, []diag.Code{"spf.hosted.source.large"}},
		{"macro p", "v=spf1 exists:%{p}.example -all", diag.Bad, []diag.Code{"spf.hosted.stays.relative"}},
		{"too much", "v=spf1" + nine + nine + " -all", diag.Bad,
			[]diag.Code{"spf.hosted.lookups.exceeded", "spf.hosted.stays.macro"}},
		{"nearly full", "v=spf1" + nine + " -all", diag.Warned, []diag.Code{"spf.hosted.lookups.near",
			"spf.hosted.stays.macro"}},
		{"+all", "v=spf1 ip4:192.0.2.1 include:everyone.example -all", diag.Bad, []diag.Code{"spf.hosted.all.pass"}},
		{"no all", "v=spf1 ip4:192.0.2.1", diag.Warned, []diag.Code{"spf.hosted.all.missing"}},
		{"no all behind a redirect that is kept", "v=spf1 redirect=%{i}.example", diag.Valid,
			[]diag.Code{"spf.hosted.stays.macro"}},
		{"exists", "v=spf1 exists:hosts.example -all", diag.Valid, nil},
		{"ptr", "v=spf1 ptr -all", diag.Warned, []diag.Code{"spf.hosted.stays.ptr"}},
		{"an include that stays", "v=spf1 include:carved.example -all", diag.Valid, []diag.Code{"spf.hosted.stays.content"}},
		{"voids", "v=spf1 a:a.x mx:b.x a:c.x -all", diag.Valid, nil},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := flattenAgain(t, w, tt.record)
			codes := seen.Add(report.Verdict)
			require.ElementsMatch(t, tt.want, dedup(codes))
			require.Equal(t, tt.state, report.State)
		})
	}
	for _, zone := range []string{`example.com. TXT "v=spf1  include:pass.example -all"`, ""} {
		report := flatten(t, world(t, zone), "v=spf1 include:pass.example -all")
		require.Equal(t, []diag.Code{"spf.hosted.domain.unused"}, seen.Add(report.Verdict))
		require.Equal(t, "v=spf1 redirect=flat.example.net", report.Recommendations[0].SuggestedValue)
	}
	// Without an answer about the domain's own record it is not judged, and the report says so.
	unheard := world(t, "")
	unheard.Break("example.com", dns.RcodeServerFailure)
	report := flatten(t, unheard, "v=spf1 include:pass.example -all")
	require.Empty(t, seen.Add(report.Verdict))
	require.True(t, report.Partial)
	// A host that passes by another record of the domain may not pass by the source record.
	for _, zone := range []string{`example.com. TXT "v=spf1 ip4:192.0.2.1 -all"`, "example.com. TXT \"v=spf1 a -all\"\n" +
		`example.com. TXT "v=spf1 include:pass.example -all"`} {
		report := flatten(t, world(t, zone), "v=spf1 include:pass.example -all")
		require.Equal(t, []diag.Code{"spf.hosted.domain.unused"}, seen.Add(report.Verdict))
		require.NotContains(t, report.Recommendations[0].SuggestedValue, "redirect")
	}
	// Modifiers that are named like mechanisms lead nowhere.
	report = flatten(t, world(t, `example.com. TXT "v=spf1 include=flat.example.net -all"`), "v=spf1 -all")
	require.Equal(t, []diag.Code{"spf.hosted.domain.unused"}, seen.Add(report.Verdict))

	big, source := manyNetworks(t, 300)
	big.Zone(`example.com. TXT "v=spf1 redirect=flat.example.net"`)
	report, err := Flatten(t.Context(), big.Env(), FlattenRequest{
		Domain: domain, SourceRecord: source, IncludeHost: diag.MustName(host), Answered: true,
	})
	require.NoError(t, err)
	require.Equal(t, []diag.Code{"spf.hosted.sets.answered"}, seen.Add(report.Verdict))
	for _, record := range []string{"v=spf1 a include:FLAT.example.net. -all", "v=spf1 include:flat.example.net ~all"} {
		report := flatten(t, world(t, "example.com. TXT"+quoted(record)), "v=spf1 -all")
		require.Empty(t, seen.Add(report.Verdict))
	}
	for _, name := range []string{"silent", "missing"} {
		report := flatten(t, w, "v=spf1 include:"+name+".example -all")
		require.Contains(t, seen.Add(report.Verdict), diag.Code("spf.hosted.domain.dangling"))
	}
	seen.Add(flatten(t, world(t, ""), "v=spf1 include:missing.example -all").Verdict)
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, rules.Describe(), seen)
	require.NoError(t, rules.Check())
	require.Equal(t, rules.Describe(), (&ResolveReport{}).Rules())
	require.Equal(t, rules.Describe(), (&FlattenReport{}).Rules())
}

// If nothing was published before and a resolution fails, nothing is passed, scored or suggested, and no text says
// that good records remain.
func TestNothingPublishedYet(t *testing.T) {
	w := world(t, `example.com. TXT "v=spf1 include:silent.example -all"`)
	w.Fault("silent.example", 0, diagtest.Fault{Rcode: 2})
	report := flatten(t, w, "v=spf1 include:silent.example -all")
	require.Equal(t, []diag.Code{"spf.hosted.source.unknown"}, diagtest.Codes(report.Verdict))
	require.Equal(t, diag.Unknown, report.State)
	require.Nil(t, report.Score)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.NotContains(t, string(text), "last good")
	require.Contains(t, report.Sub, noneYet)
	for _, r := range report.Recommendations {
		require.Empty(t, r.SuggestedValue)
	}
	again := flattenAgain(t, w, "v=spf1 include:silent.example -all")
	require.Equal(t, []diag.Code{"spf.hosted.source.unknown", "spf.hosted.domain.unused"}, diagtest.Codes(again.Verdict))
	require.Contains(t, again.Sub, lastGood)
	require.Nil(t, again.Score)
}

// dedup drops codes that repeat the one before.
func dedup(codes []diag.Code) []diag.Code {
	list := []diag.Code{}
	for _, c := range codes {
		if len(list) == 0 || list[len(list)-1] != c {
			list = append(list, c)
		}
	}
	return list
}

// A failed lookup says nothing about the domain's own record.
func TestOwnRecordUnknown(t *testing.T) {
	w := world(t, "")
	w.Fault("example.com", 0, diagtest.Fault{Rcode: 2})
	report := flatten(t, w, "v=spf1 include:pass.example -all")
	require.Empty(t, report.Error)
	require.Empty(t, diagtest.Codes(report.Verdict))
}

// Findings name the kept term, the record that contains it, and its cost.
func TestFindings(t *testing.T) {
	w := world(t, "")
	tests := []struct{ record, want string }{
		{"v=spf1 ~exists:%{i}.x.%{d} -all", "~exists:%{i}.x.%{d} of example.com is kept as it is, and costs 1 DNS lookup."},
		{"v=spf1 include:exists.example -all",
			"exists:%{i}._spf.%{d} of exists.example is kept as it is, and costs 1 DNS lookup."},
		{"v=spf1 include:carved.example -all", "include:carved.example of example.com is kept as it is, and costs 2 DNS lookups."},
		{"v=spf1 include:%{i}.x -all", "include:%{i}.x of example.com is kept as it is, and costs at least 1 DNS lookup."},
		{"v=spf1 include:missing.example -all", "There is no SPF record at missing.example: the name does not exist."},
	}
	for _, tt := range tests {
		details := []string{}
		for _, f := range flatten(t, w, tt.record).Findings {
			details = append(details, f.Detail)
		}
		require.Contains(t, details, tt.want)
	}
}
