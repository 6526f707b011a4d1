package aggregate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// summary is the records in a form that can be compared at a glance.
func summary(records []Record) string {
	var lines []string
	for _, r := range records {
		line := fmt.Sprintf("%d %s %d %s %s", r.Number, r.SourceIP, r.Count, r.Disposition, r.DKIM)
		line += fmt.Sprintf(" %s %s", r.SPF, r.HeaderFrom)
		for _, o := range r.Overrides {
			line += fmt.Sprintf(" %s(%s)", o.Type, o.Comment)
		}
		for _, d := range r.DKIMAuth {
			line += fmt.Sprintf(" dkim=%s/%s/%s", d.Domain, d.Selector, d.Result)
		}
		for _, s := range r.SPFAuth {
			line += fmt.Sprintf(" spf=%s/%s/%s", s.Domain, s.Scope, s.Result)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func kinds(r *Report) []string {
	list := []string{}
	for _, f := range r.Faults {
		list = append(list, strings.TrimSpace(string(f.Kind)+" "+f.Element))
	}
	return list
}

const (
	good  = "192.0.2.25 10 none pass fail example.com dkim=example.com/s1/pass spf=example.com//fail"
	good1 = "1 " + good
)

// with returns a report with the first occurrence of old replaced.
func with(old, replacement string) string {
	if !strings.Contains(reportXML, old) {
		panic("the report has no " + old)
	}
	return strings.Replace(reportXML, old, replacement, 1)
}

// What reports have that no report should: each is read as far as it can be, and the fault named.
func TestReadFaults(t *testing.T) {
	for _, tt := range []struct {
		name, xml, want string
		faults          []string
	}{
		{"nothing", reportXML, good1, nil},
		{"prolog, comments, instructions", `<?xml version="1.0"?><!-- > <record> --><?x <record>?>` + with("<row>",
			"<!--<row>--><row>"), good1, nil},
		{"byte order mark", "\ufeff" + reportXML, good1, nil},
		{"default namespace", with("<feedback>", `<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">`), good1, nil},
		{"prefix", strings.NewReplacer("</", "</d:", "<", "<d:").Replace(reportXML), good1, nil},
		{"white space", with("192.0.2.25", "\r\n\t192.0.2.25 "), good1, nil},
		{"character data", with(">s1<", "><![CDATA[s]]>1<"), good1, nil},
		{"character references", with(">s1<", ">&#115;&#x31;<"), good1, nil},
		{"empty elements", with("<row>", "<row ><source_ip/>"), good1, nil},
		{"other order", "<feedback>" + recordXML + policyXML + metadataXML + end, good1, nil},
		{"envelope", with("<header_from>",
			"<envelope_to>a.example</envelope_to><envelope_from>b.example</envelope_from><header_from>"), good1, nil},
		{"final dot and capitals", with("<header_from>example.com", "<header_from>Example.COM."), good1, nil},
		{"two records", begin + recordXML + recordXML + end, good1 + "\n2 " + good, nil},
		{"extensions", with("</auth_results>",
			"</auth_results><extensions><extension name='a'><row><count>3</count></row></extension></extensions>"), good1, nil},

		{"upper case", with("pass</result>", "Pass</result>"), good1, []string{"odd_value auth_results/dkim/result"}},
		{"upper case names", strings.ReplaceAll(reportXML, "header_from", "Header_From"), good1,
			[]string{"old_name identifiers/Header_From"}},
		{"count with fraction", with(">10<", ">10.0<"), good1, []string{"odd_value row/count"}},
		{"count with sign", with(">10<", ">+10<"), good1, []string{"odd_value row/count"}},
		{"brackets", with("192.0.2.25", "[192.0.2.25]"), good1, []string{"odd_value row/source_ip"}},
		{"mapped address", with("192.0.2.25", "::ffff:192.0.2.25"), good1, []string{"odd_value row/source_ip"}},
		{"zone", with("192.0.2.25", "fe80::1%eth0"), strings.Replace(good1, "192.0.2.25", "fe80::1", 1),
			[]string{"odd_value row/source_ip"}},
		{"no address", with("192.0.2.25", "999.1.2.3"), strings.Replace(good1, "192.0.2.25", "invalid IP", 1),
			[]string{"bad_address row/source_ip"}},
		{"leading zeros", with("192.0.2.25", "192.000.002.025"), strings.Replace(good1, "192.0.2.25", "invalid IP", 1),
			[]string{"bad_address row/source_ip"}},
		{"negative count", begin + strings.Replace(recordXML, ">10<", ">-5<", 1) + recordXML + end, "2 " + good,
			[]string{"bad_count row/count"}},
		{"count in words", begin + strings.Replace(recordXML, ">10<", ">many<", 1) + recordXML + end, "2 " + good,
			[]string{"bad_count row/count"}},
		{"huge count", begin + strings.Replace(recordXML, ">10<", ">99999999999999999999<", 1) + end, "",
			[]string{"bad_count row/count"}},
		{"no count", begin + strings.Replace(recordXML, "<count>10</count>", "", 1) + end, "",
			[]string{"bad_count row/count"}},
		{"two counts", with("<count>10</count>", "<count>10</count><count>20</count>"), good1,
			[]string{"repeated row/count"}},
		{"unknown disposition", with(">none</disposition>", ">delivered</disposition>"), strings.Replace(good1, "none",
			"delivered", 1),
			[]string{"bad_value policy_evaluated/disposition"}},
		{"hard fail", with("fail</result>", "hardfail</result>"), good1, []string{"odd_value auth_results/spf/result"}},
		{"reason without type", with("</policy_evaluated>",
			"<reason><type></type><comment/></reason></policy_evaluated>"), good1,
			[]string{"empty policy_evaluated/reason"}},
		{"reason with comment alone", with("</policy_evaluated>",
			"<reason><comment>x</comment></reason></policy_evaluated>"),
			strings.Replace(good1, " dkim=", " (x) dkim=", 1), []string{"missing policy_evaluated/reason/type"}},
		{"hyphen in reason", with("</policy_evaluated>", "<reason><type>mailing-list</type></reason></policy_evaluated>"),
			strings.Replace(good1, " dkim=", " mailing_list() dkim=", 1), []string{"odd_value policy_evaluated/reason/type"}},
		{"empty result", with("<dkim><domain>", "<dkim/><dkim><domain>"), good1, []string{"empty auth_results/dkim"}},
		{"address as domain", with("<header_from>", "<header_from>joe@"), good1,
			[]string{"odd_value identifiers/header_from"}},
		{"null sender", with("<header_from>", "<envelope_from>&lt;&gt;</envelope_from><header_from>"), good1, nil},

		{"old name", strings.ReplaceAll(reportXML, "identifiers", "identities"), good1,
			[]string{"old_name record/identities"}},
		{"unknown elements", with("<row>", "<vendor><row><count>7</count></row></vendor><row>"), good1,
			[]string{"unknown record/vendor"}},
		{"wrapped records", begin + "<records>" + recordXML + recordXML + "</records>" + end, good1 + "\n2 " + good,
			[]string{"unknown feedback/records"}},
		{"without rows", strings.NewReplacer("<row>", "", "</row>", "").Replace(reportXML), good1,
			[]string{"misplaced record/source_ip", "misplaced record/count", "misplaced record/policy_evaluated"}},
		{"without a root", metadataXML + policyXML + recordXML, good1, []string{"missing feedback"}},
		{"another root", "<report>" + metadataXML + policyXML + recordXML + "</report>", good1,
			[]string{"missing feedback"}},
		{"root in another", "<soap>" + reportXML + "</soap>", good1, nil},
		{"document type", `<!DOCTYPE feedback [<!ENTITY s "s1">]>` + with(">s1<", ">s1<"), good1, []string{"doctype"}},
		{"entity of it", `<!DOCTYPE feedback [<!ENTITY s "s1">]>` + with(">s1<", ">&s;<"), strings.Replace(good1, "s1",
			"&s;", 1),
			[]string{"doctype", "bad_entity auth_results/dkim/selector"}},

		{"ampersand", with(">s1<", ">s&1<"), strings.Replace(good1, "s1", "s&1", 1),
			[]string{"malformed auth_results/dkim/selector"}},
		{"less-than sign", with("<header_from>", "<header_from><a@b> <"), strings.Replace(good1, " example.com ",
			" b> <example.com ", 1),
			[]string{"malformed identifiers/header_from", "odd_value identifiers/header_from"}},
		{"stray text", with("<row>", "x<row>"), good1, []string{"malformed record"}},
		{"stray end tag", with("<row>", "</spf><row>"), good1, []string{"malformed record"}},
		{"end tag of a leaf missing", with("</source_ip>", ""), good1, []string{"malformed row/source_ip"}},
		{"end tag misspelled", with("</count>", "</cuont>"), good1, []string{"malformed row/count"}},
		{"end tag of a section missing", with("</identifiers>", ""), good1,
			[]string{"misplaced identifiers/auth_results", "malformed identifiers"}},
		{"end tag of a record missing", begin + strings.TrimSuffix(recordXML, "</record>") + recordXML + end,
			good1 + "\n2 " + good,
			[]string{"malformed record"}},
		{"end tag of the policy missing", with("</policy_published>", ""), good1, []string{"malformed policy_published"}},
		{"markup in a text", with(">s1<", "><b>s</b>1<"), good1, []string{"unknown auth_results/dkim/selector/b"}},
		{"break in a text", with("dmarc@receiver.example", "dmarc@<br>receiver.example"), good1,
			[]string{"unknown report_metadata/email/br", "malformed report_metadata/email"}},
		{"control character", with(">s1<", ">s\x011<"), good1, []string{"bad_char auth_results/dkim/selector"}},
		{"no UTF-8", with(">s1<", ">s\xe4<"), strings.Replace(good1, "s1", "sä", 1),
			[]string{"bad_encoding auth_results/dkim/selector"}},
		{"Windows-1252", with(">s1<", ">s\x80<"), strings.Replace(good1, "s1", "s€", 1),
			[]string{"bad_encoding auth_results/dkim/selector"}},
		{"declared Latin-1", `<?xml version="1.0" encoding="ISO-8859-1"?>` + with(">s1<", ">s\xe4<"),
			strings.Replace(good1, "s1", "sä", 1), nil},
		{"declared GB2312", `<?xml version='1.0' encoding = 'GB2312' ?>` + with(">s1<", ">\xd6\xd0<"),
			strings.Replace(good1, "s1", "中", 1), nil},
		{"declared Latin-1, is UTF-8", `<?xml version="1.0" encoding="ISO-8859-1"?>` + with(">s1<", ">sä<"),
			strings.Replace(good1, "s1", "sä", 1), nil},
		{"unknown encoding", `<?xml version="1.0" encoding="klingon"?>` + with(">s1<", ">s\xe4<"), strings.Replace(good1,
			"s1", "sä", 1),
			[]string{"bad_encoding auth_results/dkim/selector"}},
		{"long text", with(">s1<", ">"+strings.Repeat("s", 2*maxText)+"<"), strings.Replace(good1, "s1",
			strings.Repeat("s", maxText), 1),
			[]string{"too_long auth_results/dkim/selector"}},
		{"text before", "Here is the report:\n" + reportXML, good1, []string{"malformed"}},
		{"text behind", reportXML + "\n--\nend", good1, []string{"malformed"}},
		{"zeros behind", reportXML + "\x00\x00\x1a", good1, nil},

		{"no records", begin + end, "", []string{"missing record"}},
		{"no header_from", with("<header_from>example.com</header_from>", ""), strings.Replace(good1, " example.com ",
			"  ", 1),
			[]string{"missing identifiers/header_from"}},
		{"no evaluation", with("<dkim>pass</dkim>", ""), strings.Replace(good1, " pass ", "  ", 1),
			[]string{"missing policy_evaluated/dkim"}},
		{"no metadata", "<feedback>" + policyXML + recordXML + end, good1, []string{"missing report_metadata/org_name",
			"missing report_metadata/email", "missing report_metadata/report_id", "missing report_metadata/date_range/begin",
			"missing report_metadata/date_range/end"}},
		{"no policy", "<feedback>" + metadataXML + recordXML + end, good1, []string{"missing policy_published/domain",
			"missing policy_published/p"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, records, err := read(t, []byte(tt.xml))
			require.NoError(t, err)
			require.Equal(t, tt.want, summary(records))
			require.ElementsMatch(t, tt.faults, kinds(r))
			require.False(t, r.Truncated)
		})
	}
}

// A record has the policy only where it is known.
func TestPolicyOfRecords(t *testing.T) {
	r, records, err := read(t, []byte("<feedback>"+recordXML+policyXML+recordXML+end))
	require.NoError(t, err)
	require.Nil(t, records[0].Policy)
	require.Equal(t, &r.Policy, records[1].Policy)
	require.Equal(t, "example.com", records[1].Policy.Domain)
}

// Wherever a file is truncated, the records before are read, and the truncation is reported.
func TestReadTruncated(t *testing.T) {
	text := begin + recordXML + "\n" + recordXML + "<!-- a > b -->" + recordXML + end
	for n := len("<feedback>"); n < len(text); n++ {
		r, records, err := read(t, []byte(text[:n]))
		require.NoError(t, err, text[:n])
		whole := strings.Count(text[:n], "</record>")
		require.Len(t, records, whole, text[:n])
		require.True(t, r.Truncated, text[:n])
		require.Contains(t, strings.Join(kinds(r), ","), "truncated")
		require.Equal(t, strings.Count(text[:n], "<record>"), r.Records, text[:n])
	}
}

// A place is found again in the file.
func TestPlaces(t *testing.T) {
	text := strings.Replace(begin, "><", ">\n<", 3) + recordXML + "\n\n" + strings.Replace(recordXML, "192.0.2.25",
		"999.1.2.3", 1) +
		strings.Repeat("\n"+strings.Replace(recordXML, "192.0.2.25", "999.1.2.4", 1), 1000) + end
	r, records, err := read(t, []byte(text))
	require.NoError(t, err)
	require.Len(t, r.Faults, 1)
	f := r.Faults[0]
	require.Equal(t, 1001, f.Count)
	require.Len(t, f.Places, maxPlaces)
	require.Equal(t, Place{Record: 2, Line: 6, Offset: int64(strings.Index(text,
		"999.1.2.3") + len("999.1.2.3")), Value: "999.1.2.3"}, f.Places[0])
	require.Equal(t, 3, f.Places[1].Record)
	require.Equal(t, "999.1.2.3", records[1].SourceText)
	for i, record := range records[1:] {
		require.Equal(t, 6+i, record.Line)
	}
}

func TestReadMetadata(t *testing.T) {
	r, records, err := read(t, []byte(`<feedback xmlns:d="urn:ietf:params:xml:ns:dmarc-2.0"><version>1.0</version>
		<report_metadata><org_name>Bäcker &amp; Sons</org_name><email>a@b.example</email><report_id> x@y </report_id>
		<extra_contact_info>line 1
		line 2</extra_contact_info><error>one</error><error>two</error><generator>g 1.0</generator>
		<date_range><begin>2026-10-31T00:00:00Z</begin><end>1793491199000</end></date_range></report_metadata>
		<policy_published><domain>Example.COM</domain><p>Quarantine</p><sp>none</sp><np>reject</np><adkim>strict</adkim>
		<aspf>r</aspf><pct>50%</pct><testing>n</testing><discovery_method>treewalk</discovery_method><fo>1:d</fo>
		</policy_published>
		<extensions><extension name="e" definition="https://e.example"><p>none</p></extension></extensions>
		</feedback>`))
	require.NoError(t, err)
	require.Empty(t, records)
	percentage := 50
	require.Equal(t, Policy{Domain: "example.com", Policy: "quarantine", Subdomain: "none", Nonexistent: "reject",
		DKIMAlignment: "s", SPFAlignment: "r", Percentage: &percentage, Testing: "n", DiscoveryMethod: "treewalk",
		FailureOptions: "1:d"}, r.Policy)
	require.Equal(t, ReportMetadata{Organization: "Bäcker & Sons", Email: "a@b.example", ReportID: "x@y",
		ExtraContact: "line 1 line 2",
		Errors:       []string{"one", "two"}, Generator: "g 1.0", SchemaVersion: "1.0", BeginAt: time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC),
		EndAt: time.Date(2026, 10, 31, 23, 59, 59, 0, time.UTC)}, r.Metadata)
	require.Equal(t, []Extension{{"e", "https://e.example"}}, r.Extensions)
}

func TestTimes(t *testing.T) {
	want := time.Date(2026, 10, 31, 12, 0, 0, 0, time.UTC)
	for _, s := range []string{"1793448000", "1793448000.0", "1793448000000", "1793448000000000", "1.793448e9",
		"2026-10-31T12:00:00Z",
		"2026-10-31T14:00:00+02:00", "2026-10-31 12:00:00", "2026-10-31T12:00:00", "Sat, 31 Oct 2026 12:00:00 +0000"} {
		got, odd, ok := parseTime(s)
		require.True(t, ok, s)
		require.Equal(t, want, got, s)
		require.Equal(t, s != "1793448000", odd, s)
	}
	for _, s := range []string{"0", "-1", "yesterday", "NaN", "1e300", "", "Inf"} {
		_, _, ok := parseTime(s)
		require.False(t, ok, s)
	}
}

// An error of the caller ends reading.
func TestReadStops(t *testing.T) {
	enough := errors.New("enough")
	calls := 0
	_, err := Read([]byte(begin+recordXML+recordXML+end), func(*Record) error { calls++; return enough })
	require.Equal(t, enough, err)
	require.Equal(t, 1, calls)
}

// Nobody waits for the analysis of a large report.
func TestAnalyzeEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Analyze(ctx, nil, Request{XML: begin + strings.Repeat(recordXML, 100) + end})
	require.ErrorIs(t, err, context.Canceled)
}
