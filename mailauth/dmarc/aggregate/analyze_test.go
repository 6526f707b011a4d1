package aggregate

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// testMetadata is a sound metadata section.
const testMetadata = `<org_name>receiver.example</org_name><email>dmarc@receiver.example</email><report_id>1</report_id>` +
	`<date_range><begin>1767225600</begin><end>1767311999</end></date_range>`

// testNow is the day after the report.
var testNow = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// feedbackXML writes a report about example.com with a policy, as elements, and records.
func feedbackXML(policy string, records ...string) string {
	return feedbackWith(testMetadata, `<domain>example.com</domain>`+policy, records...)
}

func feedbackWith(metadata, published string, records ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><feedback><version>1.0</version><report_metadata>` + metadata +
		`</report_metadata><policy_published>` + published + `</policy_published>` + strings.Join(records, "") + `</feedback>`
}

// rowXML writes a record: its row as "address count disposition dkim spf from", and results such as "dkim domain
// selector result", "spf domain result", "helo domain result", "reason type comment" and "envelope domain".
func rowXML(row string, results ...string) string {
	f := strings.Fields(row)
	var reasons, identifiers, auth string
	for _, result := range results {
		r := strings.SplitN(result, " ", 4)
		switch r[0] {
		case "dkim":
			auth += fmt.Sprintf("<dkim><domain>%s</domain><selector>%s</selector><result>%s</result></dkim>", r[1], r[2], r[3])
		case "spf":
			auth += fmt.Sprintf("<spf><domain>%s</domain><scope>mfrom</scope><result>%s</result></spf>", r[1], r[2])
		case "helo":
			auth += fmt.Sprintf("<spf><domain>%s</domain><scope>helo</scope><result>%s</result></spf>", r[1], r[2])
		case "envelope":
			identifiers = "<envelope_from>" + r[1] + "</envelope_from>"
		case "reason":
			reasons += fmt.Sprintf("<reason><type>%s</type><comment>%s</comment></reason>", r[1], strings.Join(r[2:], " "))
		}
	}
	return fmt.Sprintf(`<record><row><source_ip>%s</source_ip><count>%s</count><policy_evaluated><disposition>%s</disposition>`+
		`<dkim>%s</dkim><spf>%s</spf>%s</policy_evaluated></row><identifiers>%s<header_from>%s</header_from></identifiers>`+
		`<auth_results>%s</auth_results></record>`, f[0], f[1], f[2], f[3], f[4], reasons, identifiers, f[5], auth)
}

// Records that several tests use.
var (
	own = rowXML("192.0.2.25 600 none pass pass example.com", "dkim example.com s1 pass", "spf example.com pass")

	mailchimp = rowXML("198.51.100.7 100 none fail fail example.com", "dkim mailchimpapp.net k1 pass", "spf mail7.mcsv.net pass")

	forwarder = rowXML("198.51.100.80 20 none pass fail example.com", "dkim example.com s1 pass", "spf example.com softfail")

	spoofer = rowXML("203.0.113.200 400 none fail fail example.com", "spf example.com fail")
)

const (
	pNone   = `<p>none</p>`
	pReject = `<p>reject</p>`
)

func analyze(t testing.TB, file string) *Analysis {
	t.Helper()
	w := diagtest.NewWorld(t)
	w.SetTime(testNow)
	a, err := Analyze(t.Context(), w.Env(), Request{Content: []byte(file)})
	require.NoError(t, err)
	require.Empty(t, w.Queries(), "nothing is asked of the network unless told to")
	return a
}

func join(codes []diag.Code) string {
	var b strings.Builder
	for i, code := range codes {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimPrefix(string(code), "dmarc.report."))
	}
	return b.String()
}

func pack(t testing.TB, file string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(file))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func archive(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		require.NoError(t, err)
		_, err = w.Write([]byte(files[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

// verdictTests are reports with the codes of their findings.
func verdictTests(t testing.TB) []struct{ name, file, codes, state, score string } {
	foreign := rowXML("198.51.100.9 7 none pass pass example.net", "dkim example.net x pass", "spf example.net pass")
	sound := feedbackXML(pReject, own)
	encrypted := []byte(archive(t, "report.xml", sound))
	encrypted[6] |= 1                                              // in the local header
	encrypted[bytes.Index(encrypted, []byte("PK\x01\x02"))+8] |= 1 // in the directory
	return []struct{ name, file, codes, state, score string }{
		{"sound", sound, "", "valid", "100"},
		{"p=none, and ready", feedbackXML(pNone, own), "policy.none", "valid", "78"},
		{"p=none and spoofing", feedbackXML(pNone, own, spoofer), "spoofing.delivered policy.none", "warning", "69"},
		{"p=reject and spoofing", feedbackXML(pReject, own, strings.ReplaceAll(spoofer, ">none<", ">reject<")), "", "valid", "100"},
		{"p=reject and spared spoofing", feedbackXML(pReject, own, spoofer), "spoofing.spared policy.unapplied", "warning", "89"},
		{"p=quarantine", feedbackXML(`<p>quarantine</p>`, own), "policy.quarantine", "valid", "98"},
		{"a service fails", feedbackXML(pNone, own, mailchimp), "service.unaligned policy.none", "warning", "*"},
		{"a service fails under p=reject", feedbackXML(pReject, own, strings.ReplaceAll(mailchimp, ">none<", ">reject<")),
			"service.unaligned", "warning", "*"},
		{"a source of the organization fails", feedbackXML(`<adkim>s</adkim><p>none</p>`, own,
			rowXML("192.0.2.26 50 none fail fail example.com", "dkim news.example.com n1 pass", "spf example.com fail")),
			"alignment.strict policy.none", "warning", "*"},
		{"a source of one's own fails", feedbackXML(pNone, own, rowXML("192.0.2.25 50 none fail fail example.com", "spf example.com temperror")),
			"sender.failing policy.none", "warning", "*"},
		{"a list under an enforced policy", feedbackXML(pReject, own,
			rowXML("192.0.2.30 5 reject fail fail example.com", "dkim example.com s1 fail", "spf list.example pass")),
			"forwarding.blocked forwarding.seen", "warning", "89"},
		{"strays", feedbackXML(pReject, own, rowXML("192.0.2.25 1 none fail fail example.com", "spf example.com temperror")),
			"policy.unapplied", "valid", "100"},
		{"strays that are rejected", feedbackXML(pReject, own, rowXML("192.0.2.25 1 reject fail fail example.com", "spf example.com temperror")),
			"legitimate.blocked", "invalid", "69"},
		{"a stranger", feedbackXML(pNone, own, rowXML("198.51.100.5 30 none fail fail example.com", "dkim other.example o pass", "spf other.example pass")),
			"unknown.failing policy.none", "warning", "*"},
		{"a forwarder", feedbackXML(pReject, own, forwarder), "forwarding.seen", "valid", "100"},
		{"forwarding that breaks all", feedbackXML(pReject, own, rowXML("198.51.100.80 20 none fail fail example.com",
			"reason mailing_list a list", "spf list.example pass")), "forwarding.seen policy.overridden", "valid", "*"},
		{"local policy", feedbackXML(pReject, own, rowXML("198.51.100.80 20 none fail fail example.com",
			"reason local_policy arc=pass", "spf list.example pass")), "forwarding.seen policy.overridden", "valid", "*"},
		{"SPF alone", feedbackXML(pReject, rowXML("192.0.2.25 10 none fail pass example.com", "spf example.com pass")),
			"dkim.coverage", "valid", "*"},
		{"DKIM alone", feedbackXML(pReject, own, rowXML("198.51.100.8 10 none pass fail example.com", "dkim example.com k2 pass", "spf mail7.mcsv.net pass")),
			"spf.coverage", "valid", "*"},
		{"an SPF record with an error", feedbackXML(pReject, rowXML("192.0.2.25 10 none pass fail example.com", "dkim example.com s1 pass",
			"spf example.com permerror")), "spf.permerror spf.coverage", "warning", "*"},
		{"a key that is missing", feedbackXML(pReject, rowXML("192.0.2.25 10 none fail pass example.com", "dkim example.com s9 permerror",
			"spf example.com pass")), "dkim.key dkim.coverage", "warning", "*"},
		{"strict", feedbackXML(`<adkim>s</adkim><aspf>s</aspf><p>reject</p>`, own), "", "valid", "100"},
		{"signatures that break", feedbackXML(pReject, rowXML("192.0.2.25 10 none fail pass example.com", "dkim example.com s1 fail",
			"spf example.com pass")), "dkim.broken dkim.coverage", "warning", "*"},
		{"weak subdomains", feedbackXML(`<p>reject</p><sp>none</sp><np>quarantine</np>`, own), "policy.subdomains policy.nonexistent", "warning", "*"},
		{"pct and t", feedbackXML(`<p>reject</p><pct>50</pct><testing>y</testing>`, own), "policy.percentage policy.testing", "warning", "*"},
		{"pct of all", feedbackXML(`<p>reject</p><pct>100</pct><testing>n</testing><sp>reject</sp>`, own), "", "valid", "100"},
		{"passed and rejected", feedbackXML(pReject, strings.ReplaceAll(own, ">none<", ">reject<")), "passed.blocked", "warning", "89"},
		{"no messages", feedbackXML(pReject), "records.none", "unknown", "none"},
		{"a count of 0", feedbackXML(pReject, rowXML("192.0.2.25 0 none pass pass example.com", "spf example.com pass")), "records.none", "unknown", "none"},
		{"another domain", feedbackXML(pReject, own, foreign), "domain.foreign", "warning", "89"},
		{"only another domain", feedbackXML(pReject, foreign), "domain.foreign", "warning", "none"},
		{"a subdomain", feedbackXML(pReject, strings.ReplaceAll(own, ">example.com<", ">news.example.com<")), "", "valid", "100"},
		{"passes without a result", feedbackXML(pReject, own, rowXML("198.51.100.88 10 none pass fail example.com", "dkim example.com s1 fail",
			"spf esp.example.net pass")), "evaluation.contradiction", "warning", "89"},
		{"fails in spite of a result", feedbackXML(pReject, own, rowXML("192.0.2.25 10 none pass fail example.com", "dkim example.com s1 pass",
			"spf example.com pass")), "evaluation.contradiction spf.coverage", "warning", "89"},
		{"without results", feedbackXML(pReject, own, rowXML("192.0.2.25 10 none pass pass example.com")), "results.missing", "valid", "100"},
		{"a bad count", feedbackXML(pReject, own, rowXML("192.0.2.26 many none pass pass example.com", "spf example.com pass")), "count.invalid", "warning", "89"},
		{"a bad address", feedbackXML(pReject, own, rowXML("999.1.2.3 1 none pass pass example.com", "dkim example.com s1 pass", "spf example.com pass")),
			"address.invalid", "warning", "89"},
		{"a bad value", feedbackXML(pReject, own, rowXML("192.0.2.25 1 discarded pass pass example.com", "dkim example.com s1 pass", "spf example.com pass")),
			"value.invalid", "warning", "89"},
		{"Latin-1", strings.ReplaceAll(sound, "receiver.example<", "Empf\xe4nger<"), "xml.encoding", "warning", "89"},
		{"broken markup", strings.ReplaceAll(sound, "<version>1.0", "<version>1 & 0"), "xml.malformed", "warning", "89"},
		{"no metadata", feedbackWith(`<date_range><begin>1767225600</begin><end>1767311999</end></date_range>`, `<domain>example.com</domain><p>reject</p>`, own),
			"metadata.missing", "warning", "89"},
		{"no domain", feedbackWith(testMetadata, `<p>reject</p>`, own), "policy.missing", "warning", "89"},
		{"no From", feedbackXML(pReject, strings.ReplaceAll(own, "<header_from>example.com</header_from>", "")), "record.missing", "warning", "89"},
		{"long values", strings.ReplaceAll(sound, "<report_id>1", "<report_id>"+strings.Repeat("1", maxText+1)), "value.cut", "valid", "100"},
		{"odd values", strings.ReplaceAll(sound, ">pass<", ">Pass<"), "", "valid", "100"},
		{"errors of the receiver", feedbackWith(testMetadata+"<error>two records</error>", `<domain>example.com</domain><p>reject</p>`, own), "errors.reported", "warning", "89"},
		{"backwards", strings.ReplaceAll(sound, "<end>1767311999", "<end>1767225000"), "time.order", "warning", "89"},
		{"four days", strings.ReplaceAll(sound, "<begin>1767225600", "<begin>1766966400"), "", "valid", "100"},
		{"the future", strings.NewReplacer("1767225600", "1769904000", "1767311999", "1769990399").Replace(sound), "time.future", "warning", "89"},
		{"long ago", strings.NewReplacer("1767225600", "1735689600", "1767311999", "1735775999").Replace(sound), "time.old", "valid", "100"},
		{"cut off", feedbackXML(pReject, own, own)[:1200], "xml.truncated", "invalid", "none"},
		{"a damaged archive", pack(t, sound)[:len(pack(t, sound))-4], "archive.damaged", "warning", "89"},
		{"a file that is broken", archive(t, "a.xml", sound, "b.gz", "\x1f\x8bxxxxxxxxxxxxxx"), "files.unread", "warning", "89"},
		{"two reports", archive(t, "a.xml", sound, "b.xml", strings.ReplaceAll(sound, "<report_id>1", "<report_id>2")), "", "valid", "100"},
		{"two domains", archive(t, "a.xml", sound, "b.xml", strings.ReplaceAll(sound, "example.com", "example.net")), "", "valid", "100"},
		{"two domains, one of which is not set up", sound + strings.ReplaceAll(feedbackXML(pNone, own, mailchimp), "example.com", "example.net"),
			"service.unaligned policy.none", "warning", "*"},
		{"a server in the same network", feedbackXML(pNone, own, rowXML("192.0.2.77 400 none fail fail example.com", "spf example.com softfail")),
			"unlisted.failing policy.none", "warning", "*"},

		{"a TLS report", `{"organization-name":"r.example","date-range":{"start-datetime":"2026-10-31T00:00:00Z","end-datetime":"2026-10-31T23:59:59Z"},"report-id":"1","policies":[]}`,
			"kind.tls", "invalid", "none"},
		{"a failure report", "From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n" +
			"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: auth-failure\r\nVersion: 1\r\n\r\n--b--\r\n",
			"kind.failure", "invalid", "none"},
		{"a record", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com", "kind.dmarc_record", "invalid", "none"},
		{"blanks", "  \n", "kind.empty", "invalid", "none"},
		{"a message", "From: a@b.example\r\nSubject: hello\r\nDate: Thu, 1 Jan 2026 00:00:00 +0000\r\n\r\nHello.\r\n", "kind.message", "invalid", "none"},
		{"another archive", archive(t, "a.txt", "hello", "b.txt", "hello"), "kind.archive", "invalid", "none"},
		{"a password", string(encrypted), "kind.encrypted", "invalid", "none"},
		{"xz", "\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F" + strings.Repeat("\x00", 40), "kind.compression", "invalid", "none"},
		{"a broken archive", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + strings.Repeat("\xff", 40), "kind.damaged", "invalid", "none"},
		{"a page", "<!DOCTYPE html><html><body>no</body></html>", "kind.other", "invalid", "none"},
	}
}

func TestVerdicts(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range verdictTests(t) {
		t.Run(tt.name, func(t *testing.T) {
			a := analyze(t, tt.file)
			require.Equal(t, tt.codes, join(seen.Add(a.Verdict)), "%+v", a.Findings)
			require.Equal(t, tt.state, string(a.State))
			if tt.score != "*" {
				require.Equal(t, tt.score, diagtest.Score(a.Verdict), "%+v", a.Factors)
			}
			for _, r := range a.Recommendations {
				require.Empty(t, r.SuggestedValue, "a report does not hold the whole record")
			}
			checkSums(t, a)
		})
	}
	for _, a := range append(unreachable(t), manyDomains(t)) {
		seen.Add(a.Verdict)
	}
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, rules().Describe(), seen)
}

// unreachable makes reports whose rules need more than a file: too many records, and servers that do not answer.
func unreachable(t *testing.T) []*Analysis {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(feedbackXML(pReject), "</feedback>"))
	for range maxRecords + 1 {
		b.WriteString("<record><row><count>1</count></row></record>")
	}
	limit := analyze(t, b.String()+"</feedback>")
	require.Contains(t, diagtest.Codes(limit.Verdict), diag.Code("dmarc.report.records.limit"))
	require.True(t, limit.RecordsTruncated)

	w := diagtest.NewWorld(t)
	w.SetTime(testNow)
	w.Break("25.2.0.192.in-addr.arpa", 2)
	a, err := Analyze(t.Context(), w.Env(), Request{XML: feedbackXML(pReject, own), ResolvePTR: true})
	require.NoError(t, err)
	require.Equal(t, "ptr.unknown", join(diagtest.Codes(a.Verdict)))
	require.True(t, a.Partial)
	require.Equal(t, diag.Valid, a.State)
	return []*Analysis{limit, a}
}

func manyDomains(t *testing.T) *Analysis {
	var file strings.Builder
	for i := range maxDomains + 2 {
		row := strings.Replace(own, ">600<", fmt.Sprintf(">%d<", 1000-i), 1)
		file.WriteString(strings.ReplaceAll(dayXML("a.example", 0, published, row), "example.com", fmt.Sprintf("d%d.example", i)))
	}
	return analyze(t, file.String())
}

// checkSums demands that the numbers of an analysis agree with each other.
func checkSums(t testing.TB, a *Analysis) {
	t.Helper()
	all := a.Totals
	require.Equal(t, all.MessageCount, all.PassCount+all.FailCount)
	require.LessOrEqual(t, max(all.SPFAlignedCount, all.DKIMAlignedCount), all.PassCount)
	require.LessOrEqual(t, all.Dispositions.None+all.Dispositions.Quarantine+all.Dispositions.Reject+all.Dispositions.Pass, all.MessageCount)
	require.Equal(t, all.MessageCount == 0, a.CompliancePercent == nil)
	require.True(t, len(a.Domains) > 1 || all.SourceCount > len(a.Sources) == a.SourcesTruncated)
	require.LessOrEqual(t, len(a.Sources), maxSources)
	var messages, pass int64
	for i, s := range a.Sources {
		messages, pass = messages+s.MessageCount, pass+s.PassCount
		require.LessOrEqual(t, s.PassCount, s.MessageCount)
		require.True(t, i == 0 || s.MessageCount <= a.Sources[i-1].MessageCount, "the largest first")
		require.Contains(t, Class("").Values(), string(s.Classification))
		require.Contains(t, Reason("").Values(), string(s.Reason))
		require.NotEmpty(t, s.Explanation)
	}
	if !a.SourcesTruncated {
		require.Equal(t, all.MessageCount, messages)
		require.Equal(t, all.PassCount, pass)
	}
	if f := a.Enforcement; f.BlockingSources != nil {
		require.Equal(t, f.AffectedCount, f.LegitimateCount+f.UnlistedCount+f.ForwardingCount+f.UnknownCount+f.SpoofingCount)
		require.Equal(t, f.MessageCountAtRisk, f.AffectedCount-f.SpoofingCount)
		require.Equal(t, f.MessageCountAtRisk == 0, len(f.BlockingSources) == 0)
		require.LessOrEqual(t, len(f.BlockingSources), maxBlocking)
		require.LessOrEqual(t, f.AffectedCount, all.FailCount)
	}
}
