package taglist

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestIs(t *testing.T) {
	tests := []struct {
		format  Format
		records []string
		others  []string
	}{
		{dmarc, []string{"v=DMARC1", "v=DMARC1;", "v = DMARC1 ;p=none", "V=DMARC1; p=none", "v=DMARC1; ???"},
			[]string{"", "v=dmarc1; p=none", " v=DMARC1", "v=DMARC1 p=none", "v=DMARC10", "p=none; v=DMARC1", "v=spf1 -all"}},
		{dkim, []string{"v=DKIM1; p=", "p=AB", "k=rsa; p=AB", " v=DKIM1"},
			[]string{"", "v=DKIM2; p=AB", "k=rsa", "P=AB", "k=rsa; v=DKIM1; p=AB"}},
		{sts, []string{"v=STSv1;", "v=STSv1 ; id=1"},
			[]string{"v=STSv1", "V=STSv1;", "v= STSv1;", "v=STSv2;", " v=STSv1;"}},
	}
	for _, tt := range tests {
		for _, text := range tt.records {
			require.True(t, tt.format.Is(text), "%q", text)
		}
		for _, text := range tt.others {
			require.False(t, tt.format.Is(text), "%q", text)
		}
	}
}

func TestResembles(t *testing.T) {
	tests := []struct {
		format    Format
		text, why string
	}{
		{dmarc, "v=dmarc1; p=none", "its beginning is not written exactly v=DMARC1"},
		{dmarc, "v=DMARC1p=none", "its version is not DMARC1"},
		{dmarc, `v=DMARC1\; p=none`, "it has a backslash in it"},
		{dmarc, "v=DMARC1 p=none", "no semicolon follows its version"},
		{dmarc, "v=DMARC2; p=none", "its version is not DMARC1"},
		{dmarc, "v=DMARC; p=none", "its version is not DMARC1"},
		{dmarc, "DMARC1; p=none", "v= is missing before DMARC1"},
		{dmarc, "dmarc1 ;p=none", "v= is missing before DMARC1"},
		{dmarc, "p=none; v=DMARC1", "v=DMARC1 is not its first tag"},
		{dmarc, " v=DMARC1; p=none", "white space precedes it"},
		{dmarc, `"v=DMARC1; p=none"`, "it has quotation marks in it"},
		{dmarc, "\\\"v=DMARC1; p=none", "it has quotation marks in it"},
		{dmarc, "\u201cv=DMARC1; p=none\u201d", "it has the character \u201c (a quotation mark) in it"},
		{dmarc, "v\uff1dDMARC1; p=none", "it has the character \"\uff1d\" (U+FF1D) in it"},
		{dmarc, "\ufeffv=DMARC1; p=none", "it has the character U+FEFF in it"},
		{dmarc, "v:DMARC1; p=none", "its version is not DMARC1"},
		{dmarc, "version=DMARC1; p=none", "its version is not DMARC1"},
		{dkim, "v=DKIM2; p=AB", "its version is not DKIM1"},
		{dkim, "k=rsa; v=DKIM1; p=AB", "v=DKIM1 is not its first tag"},
		{sts, "v=STSv1", "no semicolon follows its version"},
		{sts, "v=STSv1, id=1", "no semicolon follows its version"},
		{sts, "v=stsv1; id=1", "its beginning is not written exactly v=STSv1"},
		{sts, "v = STSv1; id=1", "its beginning is not written exactly v=STSv1"},
		{sts, "STSv1; id=1", "v= is missing before STSv1"},

		{dmarc, "", ""},
		{dmarc, "v=DMARC1; p=none", ""},
		{dmarc, "v=spf1 -all", ""},
		{dmarc, "dmarc-verification=1", ""},
		{sts, "v=TLSRPTv1; rua=mailto:a@b", ""},
		{sts, "stsomething", ""},
	}
	for _, tt := range tests {
		require.Equal(t, tt.why, tt.format.Resembles(tt.text), "%q", tt.text)
	}
}

func TestFind(t *testing.T) {
	txt := func(parts ...string) *dns.TXT { return &dns.TXT{Txt: parts} }
	found := dmarc.Find([]*dns.TXT{txt("x"), txt("v=DMARC1;", " p=none"), txt("v=dmarc1")})
	require.Equal(t, []string{"v=DMARC1; p=none"}, found.Records)
	require.Equal(t, []string{"v=DMARC1;", " p=none"}, found.Strings)
	require.Len(t, found.Strays, 1)
	require.Equal(t, "v=DMARC1; p=none", found.List.String())

	require.Equal(t, "v=DMARC1; p=none", found.Separated())
	found = dmarc.Find([]*dns.TXT{txt("v=DMARC1; p=none", "rua=mailto:", "a@b", "adkim=s")})
	require.Equal(t, "v=DMARC1; p=none; rua=mailto:a@b; adkim=s", found.Separated())

	found = dmarc.Find([]*dns.TXT{txt("v=DMARC1;"), txt("v=DMARC1;")})
	require.Len(t, found.Records, 2)
	require.Empty(t, found.List.Tags) // which of them counts is unknown
	require.Empty(t, found.Strings)
	require.Empty(t, found.Separated())

	found = dmarc.Read(`"v=DMARC1; " "p=none"`)
	require.Equal(t, []string{"v=DMARC1; p=none"}, found.Records)
	require.Equal(t, []Stray{{"hello", "it does not begin with v=DMARC1"}}, dmarc.Read("hello").Strays)
}

var tagRules = Kit[*Found]{
	Format: dmarc, Ref: "RFC 7489 section 6.4", Found: func(f *Found) *Found { return f },
	Suggest: func(*Found) string { return "v=DMARC1; p=none" },
}

var factors = []rule.Category{{Code: "a", Label: "A"}, {Code: "b", Label: "B"}, {Code: "c", Label: "C"}}

// rules are those of a protocol, in the form that packages use.
var rules = rule.Rules[*Found]{
	tagRules.Version(rule.Rule[*Found]{Code: "dmarc.record.version", Severity: diag.Critical, Weight: 1, Category: factors[0]}),
	tagRules.Stray(rule.Rule[*Found]{Code: "dmarc.record.stray", Severity: diag.Warning}),
	tagRules.Multiple(rule.Rule[*Found]{Code: "dmarc.record.multiple", Severity: diag.Critical, Weight: 1, Category: factors[1]}),
	tagRules.Syntax(rule.Rule[*Found]{Code: "dmarc.record.semicolon", Severity: diag.Error}, MissingSemicolon),
	tagRules.Syntax(rule.Rule[*Found]{Code: "dmarc.record.syntax", Severity: diag.Error, Weight: 1, Category: factors[2]}),
	tagRules.Repeated(rule.Rule[*Found]{Code: "dmarc.record.repeated", Severity: diag.Error, Advice: "Keep one."}),
	tagRules.Unknown(rule.Rule[*Found]{Code: "dmarc.record.unknown_tag", Severity: diag.Info}),
	tagRules.Joined(rule.Rule[*Found]{Code: "dmarc.record.joined", Severity: diag.Error}),
	tagRules.Long(rule.Rule[*Found]{Code: "dmarc.record.string", Severity: diag.Error}),
}

func TestKit(t *testing.T) {
	require.NoError(t, rules.Check())
	require.Equal(t, "Keep one.", rules[5].Advice) // values of the literal remain
	require.Equal(t, "RFC 7489 section 6.4", rules[5].Ref)
	long := strings.Repeat("a", 256)
	tests := []struct {
		name   string
		texts  []string // strings are parted by |
		codes  string
		detail string // of the first finding
	}{
		{"good", []string{"v=DMARC1; p=none|; rua=mailto:a@b"}, "", ""},
		{"none", nil, "", ""},
		{"stray alone", []string{"v=dmarc1; p=none"}, "dmarc.record.version",
			`Receivers ignore the TXT record "v=dmarc1; p=none": its beginning is not written exactly v=DMARC1.`},
		{"stray beside it", []string{"v=DMARC1; p=none", "DMARC1; p=none"}, "dmarc.record.stray",
			`Receivers ignore the TXT record "DMARC1; p=none": v= is missing before DMARC1.`},
		{"two", []string{"v=DMARC1; p=none", "v=DMARC1; p=none; p=none"}, "dmarc.record.multiple",
			"There are 2 records that begin with v=DMARC1."},
		{"syntax", []string{"v=DMARC1;; none"}, "dmarc.record.syntax dmarc.record.syntax",
			"There is nothing before a semicolon."},
		{"no semicolon", []string{"v=DMARC1; p=none rua=mailto:a@b"}, "dmarc.record.semicolon dmarc.record.syntax",
			"There is no semicolon between p and rua."},
		{"repeated and unknown", []string{"v=DMARC1; p=none; p=none; x=y"}, "dmarc.record.repeated dmarc.record.unknown_tag",
			"The tag p appears again."},
		{"joined", []string{"v=DMARC1; p=none|rua=mailto:a@b"}, "dmarc.record.joined",
			"String 2 begins with rua=, and no semicolon precedes it."},
		{"joined inside of a name", []string{"v=DMARC1; rua=mailto:a@b; ad|p=1; p=none"}, "dmarc.record.unknown_tag",
			"adp is not a tag of DMARC."},
		{"cut where a string is full", []string{"v=DMARC1; rua=mailto:" + long[:255-len("v=DMARC1; rua=mailto:")] + "|p=none"}, "", ""},
		{"joined inside of a value", []string{"v=DMARC1; p=none; rua=mailto:|a@b; adkim=|s"}, "", ""},
		{"long string", []string{"v=DMARC1; p=none; rua=" + long}, "dmarc.record.string",
			"String 1 of 1 has 278 bytes; a string has at most 255."},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var answer []*dns.TXT
			for _, text := range tt.texts {
				answer = append(answer, &dns.TXT{Txt: strings.Split(text, "|")})
			}
			found := dmarc.Find(answer)
			v := rules.Judge(&found, nil)
			var codes []string
			for _, c := range seen.Add(v) {
				codes = append(codes, string(c))
			}
			require.Equal(t, tt.codes, strings.Join(codes, " "))
			if tt.codes != "" {
				require.Equal(t, tt.detail, v.Findings[0].Detail)
			}
		})
	}
	diagtest.CoverRules(t, rules, seen)
}

// A record of thousands of tags does not make a report of megabytes.
func TestParsedIsBounded(t *testing.T) {
	list := dmarc.Parse("v=DMARC1; " + strings.Repeat("a=b; ", 5000))
	require.LessOrEqual(t, len(list.Parsed()), 100+len(dmarc.Tags))
}
