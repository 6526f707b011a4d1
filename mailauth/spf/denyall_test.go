package spf

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The reason why no host passes is reported with a remedy that fits.
func TestNobodyPasses(t *testing.T) {
	tests := []struct{ record, zone, detail, advice string }{
		{"v=spf1 mx -all", "example.com. MX 10 gone.example.com.", "gone.example.com of example.com has no address", "Give the MX host"},
		{"v=spf1 mx -all", "example.com. MX 0 .", "the DNS has no host for \"mx\"", "Correct the name"},
		{"v=spf1 mx -all", "", "the DNS has no host for \"mx\"", "Correct the name"},
		{"v=spf1 a:gone.example.com -all", "", "the DNS has no host for \"a:gone.example.com\"", "Correct the name"},
		{"v=spf1 redirect=good.example.net ~all", "", "\"redirect=good.example.net\" is ignored because of all", "Remove all to use"},
		{"v=spf1 -all a:mx.example.com", "", "\"a:mx.example.com\" follows all", "Move the senders"},
		{"v=spf1 -ip4:198.51.100.0/24 ip4:198.51.100.7 -all", "", "no address passes.", "Move the senders"},
		{"v=spf1 ip4=192.0.2.1 -all", "", "\"ip4=192.0.2.1\" is written with an equals sign", "Write the mechanism"},
		{"v=spf1 include:plain.example.net -all", `plain.example.net. TXT "v=spf1 -all"`,
			"no host passes by the record of plain.example.net", "Correct the domain"},
		{"v=spf1 mx a:gone.example.com -all", "example.com. MX 10 gone.example.com.",
			"gone.example.com of example.com has no address, the DNS", "Give the MX host"},
		{"v=spf1 mx -all a:mx.example.com", "example.com. MX 10 gone.example.com.", "\"a:mx.example.com\" follows all", "Move the senders"},
	}
	for _, tt := range tests {
		t.Run(tt.record, func(t *testing.T) {
			r := lookup(t, zoneWith(t, tt.record, hosts+tt.zone))
			for _, f := range r.Findings {
				if f.Code == "spf.senders.none" {
					require.Contains(t, f.Detail, tt.detail)
					require.Contains(t, f.Advice, tt.advice)
					return
				}
			}
			require.Fail(t, "no finding", "%+v", r.Findings)
		})
	}
}

// A headline about unexamined parts requires such parts, and a record that authorizes no host is reported as such.
func TestHeadlines(t *testing.T) {
	for record, want := range map[string]string{
		"v=spf1 -all":                                 "SPF record is valid, and authorizes no host to send mail|Publish it if",
		"v=spf1 ip4:192.0.2.1 -all":                   "SPF record is valid|Publish it as",
		"v=spf1 mx -all":                              "SPF record is valid as far as its text tells|The hosts that it names",
		"v=spf1 mx include:x.example -all":            "SPF record is valid as far as its text tells|What it includes",
		"v=spf1 redirect=x.example":                   "SPF record is valid as far as its text tells|What it includes",
		`@ IN TXT "v=spf1 ip4:192.0.2.1 " "-all"`:     "SPF record is valid|Publish it as",
		`TXT "v=spf1 ip4:192.0.2.1 -all"`:             "SPF record is valid|Publish it as",
		"x.example. 60 TXT (\n\"v=spf1\"\n\" -all\")": "SPF record is valid, and authorizes no host to send mail|Publish it if",
	} {
		r, err := Validate(ValidateRequest{Record: record})
		require.NoError(t, err)
		require.Contains(t, r.Headline+"|"+r.Sub, want, record)
		require.Empty(t, r.Findings, record)
	}
	for _, zone := range []string{"", "example.com. MX 0 .", "example.com. MX 10 mx.example.com."} {
		r := lookup(t, zoneWith(t, "v=spf1 -all", hosts+zone))
		require.Equal(t, "SPF authorizes no host to send mail for the domain", r.Headline)
	}
}

// A record that refers to its own domain is detected from its text alone.
func TestLoopsInText(t *testing.T) {
	for record, code := range map[string]string{
		"v=spf1 include:example.com -all":          "spf.include.loop",
		"v=spf1 include:EXAMPLE.com. -all":         "spf.include.loop",
		"v=spf1 include:%{d} -all":                 "spf.include.loop",
		"v=spf1 mx include:%{o} -all":              "spf.include.loop",
		"v=spf1 mx redirect=example.com":           "spf.redirect.loop",
		"v=spf1 redirect=Example.Com.":             "spf.redirect.loop",
		"v=spf1 mx include:_spf.example.com -all":  "",
		"v=spf1 redirect=example.com -all":         "spf.senders.none spf.redirect.ignored",
		"v=spf1 include:%{d2}.example.com -all":    "",
		"v=spf1 -all include:example.com":          "spf.senders.none spf.term.unreached",
		"v=spf1 include:%{i}.example.com ~all":     "",
		"v=spf1 a:example.com mx:example.com ~all": "",
	} {
		r, err := Validate(ValidateRequest{Record: record, Domain: testDomain.Name()})
		require.NoError(t, err)
		require.Equal(t, code, join(diagtest.Codes(r.Verdict)), record)
	}
	r, err := Validate(ValidateRequest{Record: "v=spf1 redirect=%{d}"})
	require.NoError(t, err)
	require.Equal(t, "spf.redirect.loop", join(diagtest.Codes(r.Verdict)))
}

// Every special-purpose network is named, or counted with others of its kind.
func TestEachKindOfNetwork(t *testing.T) {
	r := lookup(t, zoneWith(t, "v=spf1 ip4:10.0.0.40/31 ip4:198.18.0.0/24 ip4:0.0.0.145 mx ip4:10.1.0.0/24 ip4:10.2.0.0/24 -all",
		"example.com. MX 10 x.example.com.\nx.example.com. A 192.168.0.1\nx.example.com. A 192.168.0.2\nx.example.com. A 127.0.0.1"))
	var details []string
	for _, f := range r.Findings {
		if f.Code == "spf.network.special" {
			details = append(details, f.Detail)
		}
	}
	require.Equal(t, []string{
		`"ip4:0.0.0.145" stands for 0.0.0.145/32, which is not a host's address.`,
		`"ip4:10.0.0.40/31" stands for 10.0.0.40/31, which is for private use. The same holds in 3 other places: mx, ip4:10.1.0.0/24 and ip4:10.2.0.0/24.`,
		`"mx" stands for 127.0.0.1/32, the loopback network.`,
		`"ip4:198.18.0.0/24" stands for 198.18.0.0/24, which is for benchmarks.`,
	}, details)
}
