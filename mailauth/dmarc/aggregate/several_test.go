package aggregate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// dayXML writes the report of one receiver about one day of 2026, from 0.
func dayXML(receiver string, day int, published string, records ...string) string {
	begin := 1767225600 + day*86400
	return feedbackWith(fmt.Sprintf(`<org_name>%s</org_name><email>d@r.example</email><report_id>%[1]s-%[2]d</report_id>`+
		`<date_range><begin>%d</begin><end>%d</end></date_range>`, receiver, day, begin, begin+86399), published, records...)
}

const published = `<domain>example.com</domain><p>none</p>`

// Reports in one file are judged together, each of them once, and each by the alignment that it was made with.
func TestSeveralReports(t *testing.T) {
	strict := rowXML("192.0.2.26 50 none fail fail example.com", "dkim news.example.com n1 pass", "spf news.example.com pass")
	aligned := strings.ReplaceAll(strict, "fail</", "pass</")
	first := dayXML("a.example", 0, `<domain>example.com</domain><adkim>s</adkim><aspf>s</aspf><p>none</p>`, own, strict)
	second := dayXML("b.example", 1, `<domain>example.com</domain><p>reject</p>`, own, aligned)
	for name, file := range map[string]string{
		"zip":      archive(t, "b.xml", second, "a.xml", first, "again.xml", first),
		"tar":      string(tarred("b.xml", second, "a.xml", first, "again.xml.gz", pack(t, first))),
		"mail box": mailbox(mail("application/gzip", "base64", lines64(gzipped(second))), mail("application/zip", "base64", lines64(zipped("a.xml", first, "b.xml", first)))),
	} {
		a := analyze(t, file)
		require.Len(t, a.Reports, 2, name)
		require.Equal(t, "a.example", a.Reports[0].Organization, "the oldest first")
		require.EqualValues(t, 650, a.Reports[1].MessageCount)
		require.Equal(t, "b.example", a.Metadata.Organization, "the newest speaks")
		require.Equal(t, "reject", a.Policy.Policy)
		require.Equal(t, 4, a.RecordsCount)
		require.EqualValues(t, 1300, a.Totals.MessageCount)
		require.EqualValues(t, 1250, a.Totals.PassCount)
		require.Equal(t, 2, a.Totals.SourceCount)
		require.NotContains(t, codesOf(a), diag.Code("dmarc.report.evaluation.contradiction"), "each by its own alignment")
		checkSums(t, a)
	}
	require.Len(t, analyze(t, first).Reports, 1)
	require.Empty(t, analyze(t, first).Examined)
	a := analyze(t, archive(t, "a.xml", first, "again.xml", first, "b.xz", "\xfd7zXZ\x00x"))
	require.Equal(t, []diag.ScopePart{
		{Part: "a.example · example.com · 2026-01-01 · a.example-0", State: diag.LeftOut, Reason: "the same report is in the file twice"},
		{Part: "b.xz", State: diag.LeftOut, Reason: "it could not be opened"},
		{Part: "a.example · example.com · 2026-01-01 · a.example-0", State: diag.Examined},
	}, a.Examined)
	other := strings.Replace(first, "<count>600", "<count>601", 1)
	require.Len(t, analyze(t, first+first+other).Reports, 2, "one ID for two reports")
	next := strings.Replace(first, "<begin>1767225600", "<begin>1767229200", 1)
	require.Len(t, analyze(t, first+next+next).Reports, 2)
}

// Reports about several domains are judged for each of them; the worst decides, and findings name the domain.
func TestSeveralDomains(t *testing.T) {
	net := func(file string) string { return strings.ReplaceAll(file, "example.com", "example.net") }
	failing := strings.ReplaceAll(mailchimp, ">none<", ">reject<")
	file := dayXML("a.example", 0, published, own) + net(dayXML("a.example", -1, `<domain>example.com</domain><p>reject</p>`,
		strings.Replace(own, ">600<", ">60<", 1), failing)) +
		strings.ReplaceAll(dayXML("c.example", -1, published, own), "<domain>example.com</domain><p>", "<domain>news.example.com</domain><p>")
	a := analyze(t, file)
	require.Len(t, a.Reports, 3)
	require.Len(t, a.Domains, 2, "a subdomain is of the same organization")
	require.EqualValues(t, 1360, a.Totals.MessageCount)
	require.EqualValues(t, 1260, a.Totals.PassCount)
	require.Equal(t, 2, a.Totals.SourceCount, "one address sends for both")
	require.Equal(t, 4, a.RecordsCount)
	require.Equal(t, "none", a.Policy.Policy)
	require.Equal(t, diag.Warned, a.State)
	require.Equal(t, diag.Code("dmarc.report.service.unaligned"), a.Findings[0].Code)
	require.Contains(t, a.Findings[0].Detail, "example.net")
	require.NotContains(t, codesOf(a), diag.Code("dmarc.report.domains.mixed"))
	first, second := a.Domains[0], a.Domains[1]
	require.Equal(t, "example.com valid", first.Domain+" "+string(first.State))
	require.Equal(t, "2025-12-31 2026-01-01", formatDate(first.BeginAt)+" "+formatDate(first.EndAt))
	require.Equal(t, "example.net warning reject", second.Domain+" "+string(second.State)+" "+second.Policy)
	require.EqualValues(t, 160, second.Totals.MessageCount)
	require.EqualValues(t, 100, second.Enforcement.MessageCountAtRisk)
	require.Equal(t, new(false), a.Enforcement.Ready, "one of them is not")
	require.EqualValues(t, 100, a.Enforcement.MessageCountAtRisk)
	domains := map[string]int{}
	for _, s := range a.Sources {
		domains[s.Domain]++
	}
	require.Equal(t, map[string]int{"example.com": 1, "example.net": 2}, domains)
	require.Equal(t, a.Domains[0].Score, analyze(t, file[:strings.Index(file, "</feedback>")+11]).Score)

	v := a.View()
	require.Equal(t, "example.com and example.net", v.Subject)
	require.Contains(t, v.Facts, view.Fact{Label: "example.net", Value: "warning · p=reject · 60 of 160 (37%) pass · 100 messages might be lost"})
	require.Contains(t, v.Facts, view.Fact{Label: "about", Value: view.Period(first.BeginAt, first.EndAt)})

	strict := strings.Replace(published, "<p>", "<aspf>s</aspf><p>", 1)
	a = analyze(t, archive(t, "1.xml", net(dayXML("a.example", 1, published, spoofer)), "2.xml", dayXML("a.example", 0, strict, own)))
	require.Equal(t, "strict", a.Policy.SPFAlignment)
	require.Contains(t, a.Passed, diag.Check{Code: "dmarc.report.alignment.strict", Label: "Strict alignment fails no authenticated mail"})
}

// If there are more domains than are judged, the report lists those left out.
func TestManyDomains(t *testing.T) {
	a := manyDomains(t)
	require.Len(t, a.Domains, maxDomains)
	require.Len(t, a.Reports, maxDomains)
	require.Equal(t, diag.Code("dmarc.report.domains.mixed"), a.Findings[0].Code)
	require.Contains(t, a.Findings[0].Detail, "d50.example (1), d51.example (1)")
	require.Equal(t, diag.LeftOut, a.Examined[1].State)
	require.Equal(t, diag.Examined, a.Examined[2].State)
	require.Equal(t, maxDomains+2, len(a.Examined)+a.ExaminedMore)
	checkSums(t, a)
}

// A source that rests when the domain's own servers do is probably one of them.
func TestVolumeThatFollows(t *testing.T) {
	reason := func(volumes ...int) Reason {
		var files []string
		for day, n := range []int{900, 950, 1000, 930, 960, 40, 30} {
			rows := []string{strings.Replace(own, "<count>600", fmt.Sprintf("<count>%d", n), 1)}
			if day < len(volumes) {
				rows = append(rows, rowXML(fmt.Sprintf("198.51.100.9 %d none fail fail example.com", volumes[day]), "spf example.com softfail"))
			}
			files = append(files, fmt.Sprintf("%d.xml", day), dayXML("a.example", day, published, rows...))
		}
		for _, s := range analyze(t, archive(t, files...)).Sources {
			if s.SourceIP.String() == "198.51.100.9" {
				return s.Reason
			}
		}
		return ""
	}
	require.Equal(t, ReasonSameDays, reason(90, 96, 101, 92, 95, 3, 2))
	require.Equal(t, ReasonUnauthenticated, reason(5, 3, 6, 4, 5, 90, 85), "it works on weekends")
	require.Equal(t, ReasonUnauthenticated, reason(50, 50, 50, 50, 50, 50, 50))
	require.Equal(t, ReasonUnauthenticated, reason(90))
}

// A domain is ready only if what would be lost is named and small (issue 19).
func TestReady(t *testing.T) {
	yes, no := new(true), new(false)
	good := rowXML("192.0.2.25 1000000 none pass pass example.com", "dkim example.com s1 pass", "spf example.com pass")
	printer := rowXML("192.0.2.77 400 none fail fail example.com", "spf example.com softfail")
	elsewhere := strings.ReplaceAll(printer, "192.0.2.77", "198.51.100.77")
	for _, tt := range []struct {
		name    string
		records []string
		want    *bool
		atRisk  int64
		sources string
		alone   bool
	}{
		{"all passes", []string{own}, yes, 0, "", false},
		{"forged mail with evidence", []string{own, spoofer, strings.ReplaceAll(spoofer, "203.0.113.200", "198.51.100.200")}, yes, 0, "", false},
		{"a single source that SPF denies", []string{own, spoofer}, nil, 0, "", true},
		{"a printer in the network of the server", []string{own, printer}, no, 400, "192.0.2.77", false},
		{"nobody knows whose", []string{own, elsewhere}, no, 400, "198.51.100.77", false},
		{"one message of a million", []string{good, strings.ReplaceAll(elsewhere, ">400<", ">1<")}, yes, 1, "198.51.100.77", false},
		{"a thousand of a million", []string{good, strings.ReplaceAll(elsewhere, ">400<", ">1100<")}, no, 1100, "198.51.100.77", false},
		{"one good message beside a million of forged ones", []string{strings.ReplaceAll(good, ">1000000<", ">1<"),
			strings.ReplaceAll(spoofer, ">400<", ">1000000<")}, nil, 0, "", true},
		{"a service that is not set up", []string{good, mailchimp}, no, 100, "198.51.100.7", false},
		{"lists that break a few", []string{own, rowXML("198.51.100.30 5 none fail fail example.com", "reason mailing_list", "spf list.example pass")}, yes, 5, "198.51.100.30", false},
		{"a record without a count", []string{own, rowXML("192.0.2.26 many none pass pass example.com", "spf example.com pass")}, nil, 0, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := monthXML(tt.records...)
			if tt.alone {
				file = feedbackXML(pNone, tt.records...)
			}
			a := analyze(t, file)
			require.Equal(t, tt.want, a.Enforcement.Ready)
			require.Equal(t, tt.atRisk, a.Enforcement.MessageCountAtRisk)
			require.Equal(t, tt.sources, strings.Join(a.Enforcement.BlockingSources, " "))
			for _, f := range a.Findings {
				if f.Code == "dmarc.report.policy.none" {
					require.Equal(t, tt.want != nil && *tt.want, strings.Contains(f.Advice, "publish p=quarantine"), f.Advice)
					require.Equal(t, tt.atRisk > 0, strings.Contains(f.Detail, "At risk"), f.Detail)
				}
			}
			require.NotContains(t, a.Headline+a.Sub, "p=quarantine")
		})
	}
}

// An unanswered reverse DNS name makes no verdict surer (CONTRACT 1.7, Knowledge).
func TestSilentReverseName(t *testing.T) {
	file := feedbackXML(pNone, own, strings.ReplaceAll(spoofer, "203.0.113.200", "203.0.113.9"))
	judged := func(broken bool) *Analysis {
		w := diagtest.NewWorld(t)
		w.SetTime(testNow)
		w.Zone("9.113.0.203.in-addr.arpa. PTR printer.example.com.\nprinter.example.com. A 203.0.113.9\n")
		if broken {
			w.Break("9.113.0.203.in-addr.arpa", dns.RcodeServerFailure)
		}
		a, err := Analyze(t.Context(), w.Env(), Request{XML: file, ResolvePTR: true})
		require.NoError(t, err)
		return a
	}
	known, silent := judged(false), judged(true)
	require.Contains(t, codesOf(known), diag.Code("dmarc.report.unlisted.failing"))
	require.Equal(t, []diag.Code{"dmarc.report.ptr.unknown"}, codesOf(silent))
	require.True(t, silent.Partial)
	require.Nil(t, silent.Enforcement.Ready)
	for _, check := range silent.Passed {
		require.Contains(t, known.Passed, check)
	}
}
