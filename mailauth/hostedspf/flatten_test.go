package hostedspf

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

const host = "flat.example.net"

var domain = diag.MustDomain("example.com")

// world has the zones that tests of flattening lead to.
func world(t testing.TB, zone string) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(`
		pass.example.    TXT "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all"
		more.example.    TXT "v=spf1 include:pass.example ip4:198.51.100.0/25 ip4:198.51.100.128/25 ?all"
		soft.example.    TXT "v=spf1 ~ip4:192.0.2.0/25 ?ip4:192.0.2.128/26 -ip4:192.0.2.192/27 ip4:192.0.2.0/24 ~all"
		everyone.example. TXT "v=spf1 +all"
		nobody.example.  TXT "v=spf1 -all"
		neutral.example. TXT "v=spf1 ip4:203.0.113.0/24"
		to.example.      TXT "v=spf1 ip4:192.0.2.7 redirect=soft.example"
		exists.example.  TXT "v=spf1 exists:%{i}._spf.%{d} -all"
		carved.example.  TXT "v=spf1 -ip4:192.0.2.1 ip4:192.0.2.0/24 exists:%{i}.example -all"
		open.example.    TXT "v=spf1 ?exists:%{i}.example ip4:192.0.2.0/24 -all"
		last.example.    TXT "v=spf1 ip4:192.0.2.0/24 ?exists:%{i}.example -all"
		again.example.   TXT "v=spf1 ip4:192.0.2.0/24 -ip4:192.0.2.1 exists:%{i}.example -all"
		opens.example.   TXT "v=spf1 ?exists:%{i}.example exists:%{l}.example -all"
		breaks.example.  TXT "v=spf1 ip4:192.0.2.0/24 ?include:%{i}.example -all"
		over.example.    TXT "v=spf1 redirect=%{i}.example"
		hidden.example.  TXT "v=spf1 ip4:192.0.2.0/24 ~include:over.example -all"
		named.example.   TXT "v=spf1 exists:%{p}.example ip4:192.0.2.0/24 -all"
		ptr.example.     TXT "v=spf1 ptr ip4:192.0.2.0/24 -all"
		why.example.     TXT "v=spf1 ip4:192.0.2.0/24 exp=why.%{d} -all"
		why.why.example. TXT "because"
		hosts.example.   A 192.0.2.9
		hosts.example.   AAAA 2001:db8::9
		hosts.example.   MX 10 mx1.hosts.example.
		hosts.example.   MX 20 mx2.hosts.example.
		mx1.hosts.example. A 198.51.100.1
		mx2.hosts.example. A 198.51.100.2
		mapped.example.  AAAA ::ffff:192.0.2.1
		mapped.example.  A 192.0.2.2
	`)
	w.Zone(zone)
	return w
}

func flatten(t testing.TB, w *diagtest.World, record string) *FlattenReport {
	t.Helper()
	report, err := Flatten(t.Context(), w.Env(), FlattenRequest{domain, record, diag.MustName(host), false, false})
	require.NoError(t, err)
	return report
}

// flattenAgain flattens a record of which an earlier set is published.
func flattenAgain(t testing.TB, w *diagtest.World, record string) *FlattenReport {
	t.Helper()
	report, err := Flatten(t.Context(), w.Env(), FlattenRequest{domain, record, diag.MustName(host), false, true})
	require.NoError(t, err)
	return report
}

func TestFlatten(t *testing.T) {
	w := world(t, "")
	tests := []struct{ name, record, want string }{
		{"nothing to do", "v=spf1 ip4:192.0.2.1 -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"only all", "v=spf1 ~all", "v=spf1 ~all"},
		{"empty", "v=spf1", "v=spf1"},
		{"include", "v=spf1 include:pass.example ~all", "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 ~all"},
		{"nested", "v=spf1 include:more.example -all",
			"v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.0/24 ip6:2001:db8::/32 -all"},
		{"twice the same", "v=spf1 include:pass.example include:pass.example -all",
			"v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all"},
		{"only pass of an include matches", "v=spf1 include:soft.example -all", "v=spf1 ip4:192.0.2.224/27 -all"},
		{"a sign before an include", "v=spf1 -include:neutral.example include:pass.example ~all",
			"v=spf1 -ip4:203.0.113.0/24 ip4:192.0.2.0/24 ip6:2001:db8::/32 ~all"},
		{"what fails before stays before", "v=spf1 -ip4:192.0.2.1 include:pass.example -all",
			"v=spf1 -ip4:192.0.2.1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all"},
		{"what is decided is not said again", "v=spf1 ip4:192.0.2.0/23 ?ip4:192.0.2.0/24 ip4:198.51.100.1 -all",
			"v=spf1 ip4:192.0.2.0/23 ip4:198.51.100.1 -all"},
		{"an include that lets all pass", "v=spf1 -ip4:192.0.2.1 include:everyone.example -all",
			"v=spf1 -ip4:192.0.2.1 +all"},
		{"an include that lets none pass", "v=spf1 include:nobody.example ip4:192.0.2.1 ~all", "v=spf1 ip4:192.0.2.1 ~all"},
		{"an include with a sign that lets all pass", "v=spf1 ip4:192.0.2.1 -include:everyone.example ~all",
			"v=spf1 ip4:192.0.2.1 -all"},
		{"what equals the rest is left out", "v=spf1 ip4:192.0.2.1 ~ip4:198.51.100.0/24 ~all", "v=spf1 ip4:192.0.2.1 ~all"},
		{"neutral without all", "v=spf1 ip4:192.0.2.1 ?ip4:198.51.100.0/24", "v=spf1 ip4:192.0.2.1"},
		{"redirect", "v=spf1 ip4:198.51.100.1 redirect=soft.example",
			"v=spf1 ip4:198.51.100.1 ~ip4:192.0.2.0/25 ?ip4:192.0.2.128/26 -ip4:192.0.2.192/27 ip4:192.0.2.0/24 ~all"},
		{"redirect to redirect", "v=spf1 redirect=to.example",
			"v=spf1 ip4:192.0.2.7 ~ip4:192.0.2.0/25 ?ip4:192.0.2.128/26 -ip4:192.0.2.192/27 ip4:192.0.2.0/24 ~all"},
		{"redirect to a record without all", "v=spf1 redirect=neutral.example", "v=spf1 ip4:203.0.113.0/24"},
		{"redirect beside all", "v=spf1 redirect=neutral.example -all", "v=spf1 -all"},
		{"include of a redirect", "v=spf1 include:to.example -all", "v=spf1 ip4:192.0.2.7 ip4:192.0.2.224/27 -all"},
		{"behind all", "v=spf1 ip4:192.0.2.1 -all include:missing.example", "v=spf1 ip4:192.0.2.1 -all"},
		{"hosts", "v=spf1 a:hosts.example mx:hosts.example -all",
			"v=spf1 ip4:192.0.2.9 ip4:198.51.100.1 ip4:198.51.100.2 ip6:2001:db8::9 -all"},
		{"hosts with prefixes", "v=spf1 a:hosts.example/28//64 mx:hosts.example/24 -all",
			"v=spf1 ip4:192.0.2.0/28 ip4:198.51.100.0/24 ip6:2001:db8::/64 -all"},
		{"names that are not there", "v=spf1 a:missing.example mx:missing.example ip4:192.0.2.1 -all",
			"v=spf1 ip4:192.0.2.1 -all"},
		{"both halves of everything", "v=spf1 ip4:0.0.0.0/1 ip4:128.0.0.0/1 ip6:::/0 -all", "v=spf1 +all"},
		{"all of one family", "v=spf1 ip4:0.0.0.0/0 -all", "v=spf1 ip4:0.0.0.0/0 -all"},
		{"mapped addresses", "v=spf1 ip6:::ffff:192.0.2.0/120 a:mapped.example -all", "v=spf1 ip4:192.0.2.2 -all"},
		{"an unknown modifier", "v=spf1 ip4:192.0.2.1 x=y -all", "v=spf1 ip4:192.0.2.1 -all"},
		{"exp", "v=spf1 include:pass.example exp=why.%{d} -all",
			"v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all exp=why.example.com"},
		{"exp of an include", "v=spf1 include:why.example -all", "v=spf1 ip4:192.0.2.0/24 -all"},
		{"exp of a redirect", "v=spf1 redirect=why.example", "v=spf1 ip4:192.0.2.0/24 -all exp=why.why.example"},

		{"exists stays in order", "v=spf1 ip4:192.0.2.2 exists:%{i}.%{d} include:pass.example -all",
			"v=spf1 ip4:192.0.2.2 exists:%{i}.example.com ip4:192.0.2.0/24 ip6:2001:db8::/32 -all"},
		{"exists without macros", "v=spf1 ~exists:hosts.example -all", "v=spf1 ~exists:hosts.example -all"},
		{"ptr", "v=spf1 ?ptr ptr:example.org -all", "v=spf1 ?ptr:example.com ptr:example.org -all"},
		{"macros in hosts", "v=spf1 a:%{l}.example/24//64 mx:%{o} -all", "v=spf1 a:%{l}.example/24//64 mx:%{o} -all"},
		{"macro in an include", "v=spf1 include:%{ir}.%{v}.%{d}.example -all",
			"v=spf1 include:%{ir}.%{v}.example.com.example -all"},
		{"macro that is known", "v=spf1 include:%{d1r}.example -all", "v=spf1 ip4:192.0.2.7 -all"},
		{"macro in a redirect", "v=spf1 ip4:192.0.2.1 redirect=%{o}.%{d}", "v=spf1 ip4:192.0.2.1 redirect=%{o}.example.com"},
		{"an include with exists is taken apart", "v=spf1 include:exists.example -all",
			"v=spf1 exists:%{i}._spf.exists.example -all"},
		{"also with a sign", "v=spf1 ~include:exists.example -all", "v=spf1 ~exists:%{i}._spf.exists.example -all"},
		{"an include that cannot be cut", "v=spf1 ip4:192.0.2.9 include:carved.example -all",
			"v=spf1 ip4:192.0.2.9 include:carved.example -all"},
		{"an include that may fail before", "v=spf1 include:open.example -all", "v=spf1 include:open.example -all"},
		{"an include that may fail at the end", "v=spf1 include:last.example -all", "v=spf1 ip4:192.0.2.0/24 -all"},
		{"an include that fails only what passed before", "v=spf1 include:again.example -all",
			"v=spf1 ip4:192.0.2.0/24 exists:%{i}.example -all"},
		{"an include that may fail before exists", "v=spf1 include:opens.example -all", "v=spf1 include:opens.example -all"},
		{"an include that may break at the end", "v=spf1 include:breaks.example -all", "v=spf1 include:breaks.example -all"},
		{"an include that hands over", "v=spf1 include:over.example -all", "v=spf1 include:%{i}.example -all"},
		{"an include that may break behind a redirect", "v=spf1 include:hidden.example -all",
			"v=spf1 include:hidden.example -all"},
		{"all pass before a redirect that is kept", "v=spf1 include:everyone.example redirect=%{i}.example", "v=spf1 +all"},
		{"neutral before a redirect that is kept", "v=spf1 ?ip4:192.0.2.1 redirect=%{i}.example",
			"v=spf1 ?ip4:192.0.2.1 redirect=%{i}.example"},
		{"two exp", "v=spf1 redirect=why.example exp=why.example.com", "v=spf1 ip4:192.0.2.0/24 -all exp=why.example.com"},
		{"an include with the macro p", "v=spf1 include:named.example -all", "v=spf1 include:named.example -all"},
		{"a redirect with the macro p", "v=spf1 redirect=named.example", "v=spf1 redirect=named.example"},
		{"an include with ptr", "v=spf1 include:ptr.example -all", "v=spf1 ptr:ptr.example ip4:192.0.2.0/24 -all"},
	}
	w.Zone(`
		example.example.         TXT "v=spf1 ip4:192.0.2.7 -all"
		example.com.example.com. TXT "v=spf1 ip4:192.0.2.7 -all"
	`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := flatten(t, w, tt.record)
			require.NotNil(t, report.Published, report.Error)
			require.Equal(t, tt.want, strings.Replace(report.Published.FlattenedRecord, " all", " +all", 1))
			require.Equal(t, []Record{{host, report.Published.FlattenedRecord, len(report.Published.FlattenedRecord)}},
				report.Published.Records)
		})
	}
}

func TestFlattenFails(t *testing.T) {
	w := world(t, `
		lookups.example. TXT "v=spf1 -exists:%{i}.1 include:l2.example -all"
		two.example.     TXT "v=spf1 -all"
		two.example.     TXT "v=spf1 +all"
		wrong.example.   TXT "v=spf1 ip4:192.0.2.300 -all"
		loop.example.    TXT "v=spf1 include:loop2.example -all"
		loop2.example.   TXT "v=spf1 include:loop.example -all"
		kept.example.    TXT "v=spf1 ?exists:%{i}.example include:missing.example -all"
		big.example.     TXT "v=spf1 exists:%{i}.example include:silent.example -all"
		many.example.    MX 10 mx1.hosts.example.
	`)
	for i := range 11 {
		w.Zone(fmt.Sprintf("many.example. MX %d mx%d.many.example.", i, i))
	}
	for i := range 25 {
		w.Zone(fmt.Sprintf(`deep%d.example. TXT "v=spf1 include:deep%d.example -all"`, i, i+1))
	}
	hosts := "v=spf1"
	for i := range 60 {
		hosts += fmt.Sprintf(" a:h%d.example", i)
	}
	w.Fault("silent.example", 0, diagtest.Fault{Rcode: 2})
	w.Fault("mx2.hosts.example", 0, diagtest.Fault{Rcode: 2})
	tests := []struct {
		name, record, want string
		code               diag.Code
	}{
		{"SERVFAIL of an include", "v=spf1 include:silent.example -all", "silent.example", "spf.hosted.source.unknown"},
		{"SERVFAIL of a host", "v=spf1 a:silent.example -all", "a:silent.example", "spf.hosted.source.unknown"},
		{"SERVFAIL of a mail exchanger", "v=spf1 mx:hosts.example -all", "mx2.hosts.example", "spf.hosted.source.unknown"},
		{"SERVFAIL below what stays", "v=spf1 ?exists:%{i}.x include:big.example -all", "silent.example",
			"spf.hosted.source.unknown"},
		{"no record", "v=spf1 include:missing.example -all", "missing.example", "spf.hosted.source.broken"},
		{"no record at a redirect", "v=spf1 redirect=missing.example", "missing.example", "spf.hosted.source.broken"},
		{"no record below what stays", "v=spf1 include:kept.example -all", "missing.example", "spf.hosted.source.broken"},
		{"several records", "v=spf1 include:two.example -all", "two.example", "spf.hosted.source.broken"},
		{"an error in a record", "v=spf1 include:wrong.example -all", "wrong.example", "spf.hosted.source.broken"},
		{"a loop", "v=spf1 include:loop.example -all", "loop.example", "spf.hosted.source.broken"},
		{"eleven mail exchangers", "v=spf1 mx:many.example -all", "many.example", "spf.hosted.source.broken"},
		{"too deep", "v=spf1 include:deep0.example -all", "deep20.example", "spf.hosted.source.large"},
		{"too many hosts", hosts, "there is too much to look up: a:", "spf.hosted.source.large"},
		{"its own host", "v=spf1 include:FLAT.example.net -all", host, "spf.hosted.source.own"},
		{"a part of its own", "v=spf1 include:_abcd2345.flat.example.net -all", host, "spf.hosted.source.own"},
		{"the macro p", "v=spf1 exists:%{p}.example.com -all", "%{p}", "spf.hosted.stays.relative"},
		{"too many kept terms", "v=spf1" + strings.Repeat(" exists:%{i}.example.com", 9) + " -all", "9 lookups",
			"spf.hosted.lookups.exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := flatten(t, w, tt.record)
			require.Nil(t, report.Published)
			require.Contains(t, strings.ToLower(report.Error), tt.want)
			require.Contains(t, diagtest.Codes(report.Verdict), tt.code)
		})
	}
}

// What an explanation leads to does not matter, for it changes no result.
func TestFlattenWithoutExplanation(t *testing.T) {
	w := world(t, "")
	w.Fault("why.example.com", 0, diagtest.Fault{Rcode: 2})
	report := flatten(t, w, "v=spf1 include:pass.example exp=why.example.com -all")
	require.Empty(t, report.Error)
	long := "exp=" + strings.Repeat("a.", 60) + "example.com"
	report = flatten(t, w, "v=spf1 ip4:192.0.2.1 "+long+" -all")
	require.Equal(t, "v=spf1 ip4:192.0.2.1 -all", report.Published.FlattenedRecord)
}

// A kept term must be named, and a name that ends in a number cannot be written into a record.
func TestFlattenUnwritable(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(`com.example.5. TXT "v=spf1 ptr -all"`)
	for term, unwritable := range map[string]string{"include:%{dr}": "ptr", "exists:%{i}.%{dr}": "exists:%{i}.%{dr}"} {
		report, err := Flatten(t.Context(), w.Env(),
			FlattenRequest{diag.MustDomain("5.example.com"), "v=spf1 " + term + " -all", diag.MustName(host), false, false})
		require.NoError(t, err)
		require.Nil(t, report.Published)
		require.Equal(t, unwritable+" would mean something else in another record", report.Error)
		require.Contains(t, diagtest.Codes(report.Verdict), diag.Code("spf.hosted.stays.relative"))
	}
}

// A name with macros may be longer than a record that can be published: such a term is not moved.
func TestFlattenLongTerm(t *testing.T) {
	w := world(t, "")
	term := func(name string, n int) string { return name + "%{i}." + strings.Repeat("a.", n) + "example.com" }
	for _, record := range []string{
		"v=spf1 " + term("exists:", 300) + " -all",
		"v=spf1 -" + term("exists:", 300) + " include:pass.example -all",
		"v=spf1 ip4:192.0.2.1 " + term("redirect=", 300),
		"v=spf1 ip4:192.0.2.1 " + term("redirect=", 200) + " exp=why.example.com",
	} {
		report := flatten(t, w, record)
		require.Nil(t, report.Published, record)
		require.Contains(t, report.Error, "is too long for a record that is published")
		require.Equal(t, []diag.Code{"spf.hosted.stays.relative"}, diagtest.Codes(report.Verdict)[:1])
	}
	for n := range 230 {
		report := flatten(t, w, "v=spf1 "+term("exists:", n)+" include:pass.example -all")
		if report.Published == nil {
			require.Greater(t, n, 200, report.Error)
			continue
		}
		for _, r := range report.Published.Records {
			require.Less(t, r.LengthBytes, 450, n)
		}
	}
}

// Far more networks than can be published are not even written down.
func TestWordsAreBounded(t *testing.T) {
	var list []netip.Prefix
	for i := range 5000 {
		list = append(list, netip.PrefixFrom(netip.AddrFrom4([4]byte{192, byte(i / 100), byte(i % 100), 1}), 32))
	}
	o := outline{items: []item{{qualifier: eval.QualifierPass, set: spf.SetOf(list...)}}}
	words, ok := o.spans()
	require.False(t, ok)
	require.Empty(t, words)
}

func TestFlattenInput(t *testing.T) {
	good := FlattenRequest{domain, "v=spf1 -all", diag.MustName(host), false, false}
	tests := []struct {
		field  string
		change func(*FlattenRequest)
	}{
		{"domain", func(r *FlattenRequest) { r.Domain = diag.Domain{} }},
		{"domain", func(r *FlattenRequest) { r.Domain = diag.MustDomain("localhost") }},
		{"source_record", func(r *FlattenRequest) { r.SourceRecord = "" }},
		{"source_record", func(r *FlattenRequest) { r.SourceRecord = "v=spf1 ip4:300.0.0.1" }},
		{"include_host", func(r *FlattenRequest) { r.IncludeHost = diag.Name{} }},
		{"include_host", func(r *FlattenRequest) { r.IncludeHost = diag.MustName(".") }},
		{"include_host", func(r *FlattenRequest) { r.IncludeHost = diag.MustName("*.example.net") }},
		{"include_host", func(r *FlattenRequest) { r.IncludeHost = diag.MustName("EXAMPLE.com.") }},
		{"include_host", func(r *FlattenRequest) { r.IncludeHost = diag.MustName(strings.Repeat("a.", 90) + "example.net") }},
	}
	for _, tt := range tests {
		r := good
		tt.change(&r)
		_, err := Flatten(t.Context(), world(t, "").Env(), r)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
		require.Equal(t, tt.field, input.Field)
	}
}

// What the DNS answers in another order is published as the same bytes.
func TestFlattenIsStable(t *testing.T) {
	w := world(t, `
		a.example. TXT "v=spf1 ip4:192.0.2.1 ip4:192.0.2.3 a:x.example -all"
		b.example. TXT "v=spf1 a:x.example ip4:192.0.2.3 ip4:192.0.2.1 ~all"
		x.example. A 198.51.100.1
		x.example. A 198.51.100.7
		x.example. A 198.51.100.3
	`)
	one := flatten(t, w, "v=spf1 include:a.example -all").Published
	two := flatten(t, w, "v=spf1 include:b.example -all").Published
	require.Equal(t, one.Records, two.Records)
	require.Equal(t, one.RecordHash, two.RecordHash)
	require.Len(t, one.RecordHash, 64)
	other := flatten(t, w, "v=spf1 include:a.example ~all").Published
	require.NotEqual(t, one.RecordHash, other.RecordHash)
}

func TestFlattenCounts(t *testing.T) {
	w := world(t, "")
	tests := []struct {
		record                    string
		before, after, ip4s, ip6s int
	}{
		{"v=spf1 -all", 0, 1, 0, 0},
		{"v=spf1 include:more.example mx:hosts.example -all", 3, 1, 2, 1},
		{"v=spf1 exists:%{i}.x include:carved.example -all", 3, 4, 0, 0},
		{"v=spf1 include:%{i}.x redirect=%{i}.y", 2, 3, 0, 0},
		{"v=spf1 -ip4:192.0.2.1 include:pass.example -all", 1, 1, 8, 1},
		{"v=spf1 +all", 0, 1, 1, 1},
	}
	for _, tt := range tests {
		p := flatten(t, w, tt.record).Published
		require.Equal(t, []int{tt.before, tt.after, tt.ip4s, tt.ip6s},
			[]int{p.LookupsBefore, p.LookupsAfter, p.IP4Count, p.IP6Count}, tt.record)
	}
}
