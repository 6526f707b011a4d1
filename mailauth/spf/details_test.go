package spf

import (
	"fmt"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Corners of RFC 7208 where implementations differ. The record is that of example.com; the client is
// 192.0.2.10, or 2001:db8::10, and greets as mail.example.org.
func TestCheckDetails(t *testing.T) {
	const zone = `
		host.example.net.  A    192.0.2.10
		host.example.net.  AAAA 2001:db8::10
		v4.example.net.    A    192.0.2.10
		v6.example.net.    AAAA 2001:db8::10
		near.example.net.  A    192.0.2.11
		near.example.net.  AAAA 2001:db8::11
		mx.example.net.    MX   10 v4.example.net.
		mx.example.net.    MX   20 v6.example.net.
		neutral.example.net. TXT "v=spf1 ip4:192.0.2.10 ?all"
		question.example.net. TXT "v=spf1 ?ip4:192.0.2.10 -all"
		fails.example.net. TXT  "v=spf1 -all exp=other.example.net"
		plain.example.net. TXT  "v=spf1 -all"
		why.example.net.   TXT  "from %{l}"
		other.example.net. TXT  "%{d} says no"
		two.example.net.   TXT  "one" "two"
		slow.example.net.  A    192.0.2.10
		pct.example.net.   TXT  "50% off"
		10.2.0.192.in-addr.arpa. PTR host.example.net.
		10.2.0.192.in-addr.arpa. PTR sub.example.com.
		sub.example.com.   A    192.0.2.10
		sub.example.com.by.example.net. A 127.0.0.2
		odd%label.example.net. A 192.0.2.10
		alias.example.net. CNAME plain.example.net.
	`
	tests := []struct {
		record, client string
		want           string // outcome and explanation
	}{
		{"v=spf1", "192.0.2.10", "neutral "},
		{"v=spf1 all", "192.0.2.10", "pass "},
		{"v=spf1 ip4:192.0.2.10 -all moo", "192.0.2.10", "permerror "}, // errors count behind a match
		{"v=spf1 default=deny", "192.0.2.10", "neutral "},
		{"v=spf1 redirect=plain.example.net ~all", "192.0.2.10", "softfail "},
		{"v=spf1 redirect=why.example.net", "192.0.2.10", "permerror "},
		{"v=spf1 redirect=fails.example.net exp=why.example.net", "192.0.2.10", "fail fails.example.net says no"},
		{"v=spf1 redirect=plain.example.net exp=why.example.net", "192.0.2.10", "fail "},
		{"v=spf1 include:fails.example.net -all exp=why.example.net", "192.0.2.10", "fail from a b"},
		{"v=spf1 include:fails.example.net -all", "192.0.2.10", "fail "},
		{"v=spf1 include:neutral.example.net -all", "192.0.2.10", "pass "},
		{"v=spf1 include:question.example.net -all", "192.0.2.10", "fail "},
		{"v=spf1 ?include:neutral.example.net -all", "192.0.2.10", "neutral "},
		{"v=spf1 include:alias.example.net ip4:192.0.2.10", "192.0.2.10", "pass "},
		{"v=spf1 -all exp=two.example.net", "192.0.2.10", "fail onetwo"},
		{"v=spf1 -all exp=slow.example.net", "192.0.2.10", "fail "},
		{"v=spf1 -all exp=pct.example.net", "192.0.2.10", "fail "},
		{"v=spf1 -all exp=%{o}..example.net", "192.0.2.10", "fail "},
		{"v=spf1 a:v4.example.net -all", "2001:db8::10", "fail "},
		{"v=spf1 a:v6.example.net -all", "2001:db8::10", "pass "},
		{"v=spf1 a:near.example.net/31 -all", "192.0.2.10", "pass "},
		{"v=spf1 a:near.example.net/31 -all", "2001:db8::10", "fail "},
		{"v=spf1 a:near.example.net//127 -all", "2001:db8::10", "pass "},
		{"v=spf1 a:near.example.net//127 -all", "192.0.2.10", "fail "},
		{"v=spf1 mx:mx.example.net -all", "192.0.2.10", "pass "},
		{"v=spf1 mx:mx.example.net -all", "2001:db8::10", "pass "},
		{"v=spf1 mx:host.example.net -all", "192.0.2.10", "fail "}, // no address instead of an MX host
		{"v=spf1 exists:v6.example.net -all", "2001:db8::10", "fail "},
		{"v=spf1 exists:v4.example.net -all", "2001:db8::10", "pass "},
		{"v=spf1 ip6:::ffff:192.0.2.10 -all", "::ffff:192.0.2.10", "fail "},
		{"v=spf1 ip6:::/0 -all", "192.0.2.10", "fail "},
		{"v=spf1 ip4:0.0.0.0/0 -all", "2001:db8::10", "fail "},
		{"v=spf1 ptr -all", "192.0.2.10", "pass "},
		{"v=spf1 ptr:Example.NET -all", "192.0.2.10", "pass "},
		{"v=spf1 ptr:ample.net -all", "192.0.2.10", "fail "},
		{"v=spf1 exists:%{p}.by.example.net -all", "192.0.2.10", "pass "},
		{"v=spf1 exists:%{p}.by.example.net -all", "2001:db8::10", "fail "},
		{"v=spf1 a:odd%%label.example.net -all", "192.0.2.10", "pass "},
		{"v=spf1 a:x...example.net -all", "192.0.2.10", "fail "},
		{"v=spf1 a:%{h} -all", "192.0.2.10", "fail "},
	}
	for _, tt := range tests {
		t.Run(tt.record+" "+tt.client, func(t *testing.T) {
			w := zoneWith(t, tt.record, zone)
			w.Fault("slow.example.net", dns.TypeTXT, diagtest.Fault{Silent: true})
			r, err := eval.Check(t.Context(), w.Env(), eval.Request{
				IP: ip(tt.client), Sender: "a b@example.com", HELO: "mail.example.org",
			})
			require.NoError(t, err)
			require.Equal(t, tt.want, fmt.Sprintf("%s %s", r.Outcome, r.Explanation), r.Reason)
		})
	}
}

// Records that are the same twice are still two.
func TestCheckSameTwice(t *testing.T) {
	zone := records{"example.com": {{"TXT", []any{"v=spf1 -all"}}, {"TXT", []any{"v=spf1 -all"}}}}
	r, err := eval.Check(t.Context(), &diag.Env{Resolver: zone}, eval.Request{IP: ip("192.0.2.1"), Sender: "a@example.com"})
	require.NoError(t, err)
	require.Equal(t, eval.Permerror, r.Outcome)
}

// An explanation writes IPv6 addresses as the vectors of RFC 4408 have them.
func TestExplanationOfIPv6(t *testing.T) {
	w := zoneWith(t, "v=spf1 -all exp=why.example.net", hosts)
	r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: request.Domain, IP: diag.MustIP("cafe:babe::1")})
	require.NoError(t, err)
	require.Contains(t, r.IPTest.Explanation, "C.A.F.E.B.A.B.E.0.0.")
}

// Records that are equivalent by RFC 7208 section 4.7 get the same verdict.
func TestEqualRecords(t *testing.T) {
	var seen []string
	for _, record := range []string{"v=spf1 ip4:5.5.5.5", "v=spf1 ip4:5.5.5.5 ?all"} {
		r := lookup(t, zoneWith(t, record, "example.com. MX 10 mx.example.com.\n"+hosts))
		require.Equal(t, "v=spf1 ip4:5.5.5.5 ~all", r.Recommendations[0].SuggestedValue)
		seen = append(seen, fmt.Sprint(r.State, diagtest.Score(r.Verdict), r.Valid))
	}
	require.Equal(t, seen[0], seen[1])
}

// A record with a misspelled version is reported, with the correct version.
func TestNearVersions(t *testing.T) {
	for _, text := range []string{"v==spf1 mx -all", "v=sp1 mx -all", "v-spf1 mx -all", "version=spf1 mx -all"} {
		r := lookup(t, zoneWith(t, text, "example.com. MX 10 mx.example.com.\n"+hosts))
		require.Equal(t, []diag.Code{"spf.record.version"}, diagtest.Codes(r.Verdict), text)
		require.Equal(t, "v=spf1 mx -all", r.Recommendations[0].SuggestedValue, text)
	}
}
