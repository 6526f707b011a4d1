package mx

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const (
	hosts = "mx1.example.com. A 192.0.2.1\nmx1.example.com. AAAA 2001:db8::1\n" +
		"mx2.example.com. A 192.0.2.2\nmx2.example.com. AAAA 2001:db8::2\n"
	good = "example.com. MX 10 mx1.example.com.\nexample.com. MX 20 mx2.example.com.\n" + hosts
)

var request = Request{Domain: diag.MustDomain("example.com")}

func lookup(t *testing.T, w *diagtest.World, req Request) *Report {
	t.Helper()
	r, err := Lookup(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

// summary returns the state, the score and the codes of the findings.
func summary(v diag.Verdict) string {
	text := fmt.Sprintf("%s %s", v.State, diagtest.Score(v))
	for _, code := range diagtest.Codes(v) {
		text += " " + strings.TrimPrefix(string(code), "mx.")
	}
	return text
}

// plus returns the good zone with another MX record and the records for it.
func plus(target string, more ...string) string {
	return good + "example.com. MX 30 " + target + "\n" + strings.Join(more, "\n") + "\n"
}

func TestLookup(t *testing.T) {
	many := good
	for i := range 10 {
		many += fmt.Sprintf("example.com. MX 30 h%d.example.com.\nh%d.example.com. A 192.0.2.%d\n", i, i, 10+i)
	}
	tooMany := good
	for i := range 60 {
		tooMany += fmt.Sprintf("example.com. MX 30 h%d.example.com.\nh%d.example.com. A 192.0.2.%d\n", i, i, 10+i)
	}
	var seen diagtest.Seen
	tests := []struct {
		name, zone, domain string
		want               string // state, score and codes of the findings
		detail             string // of the first finding
	}{
		{"exemplary", good, "", "valid 100", ""},
		{"domain does not exist", "example.net. A 192.0.2.1", "", "missing none domain.nxdomain",
			"The DNS answers NXDOMAIN for example.com."},
		{"alias of nothing", "example.com. CNAME gone.example.net.\nexample.net. A 192.0.2.1", "",
			"missing none domain.nxdomain", "example.com is an alias of gone.example.net, which does not exist."},
		{"no mail", "example.com. TXT x", "", "missing none record.missing",
			"example.com has neither an MX record nor an address."},
		{"implicit", "example.com. A 192.0.2.80\nexample.com. AAAA 2001:db8::80", "", "warning 60 record.implicit",
			"example.com has no MX record, so that senders deliver to its address 2001:db8::80 and 192.0.2.80."},
		{"implicit, not public", "example.com. A 10.0.0.80", "", "warning 0 record.implicit", ""},
		{"null", "example.com. MX 0 .", "", "valid 100 null.present",
			"The null MX of example.com says that it receives no mail."},
		{"null with a preference", "example.com. MX 10 .", "", "warning 89 null.preference null.present",
			"The null MX of example.com has the preference 10."},
		{"null beside a host", good + "example.com. MX 0 .", "", "invalid 69 record.null_beside",
			"example.com has a null MX beside the MX host mx1.example.com and mx2.example.com: some senders take it for a " +
				"domain that receives no mail."},

		{"address for a name", plus("192.0.2.3."), "", "invalid 69 host.literal",
			"The MX host 192.0.2.3 is an IP address, which senders look up as if it were a name."},
		{"address with the domain", plus("192.0.2.3.example.com."), "", "invalid 69 host.literal",
			"The MX host 192.0.2.3.example.com is the IP address 192.0.2.3, to which the domain was appended."},
		{"IPv6 address", plus("2001:db8::3."), "", "invalid 69 host.literal", ""},
		{"address in brackets", plus("[192.0.2.3]."), "", "invalid 69 host.literal",
			"The MX host [192.0.2.3] is an IP address, which senders look up as if it were a name."},
		{"localhost", plus("localhost."), "", "invalid 69 host.localhost", ""},
		{"localhost in the domain", plus("localhost.example.com.", "localhost.example.com. A 127.0.0.1"), "",
			"invalid 69 host.localhost", ""},
		{"domain twice", plus("mx3.example.com.example.com."), "", "invalid 69 host.repeated_domain",
			"The MX host mx3.example.com.example.com ends with the domain twice; mx3.example.com was probably meant."},
		{"domain alone twice", plus("example.com.example.com."), "", "invalid 69 host.repeated_domain", ""},
		{"characters", plus(`mx3.example.com\;.`), "", "invalid 69 host.invalid", ""},
		{"URL", plus("http://mx3.example.com."), "", "invalid 69 host.invalid",
			"The MX host http://mx3.example.com is not a valid host name: its label http://mx3 has a character that no " +
				"host name has."},
		{"hyphen", plus("mx3-.example.com."), "", "invalid 69 host.invalid",
			"The MX host mx3-.example.com is not a valid host name: its label mx3- begins or ends with a hyphen."},
		{"underscore", plus("mx_3.example.com.", "mx_3.example.com. A 192.0.2.3"), "", "warning 89 host.underscore", ""},
		{"alias", plus("mx3.example.com.", "mx3.example.com. CNAME a.example.net.", "a.example.net. A 192.0.2.3"), "",
			"warning 89 host.alias",
			"The MX host mx3.example.com is an alias (CNAME) of a.example.net; some senders refuse to follow it."},
		{"alias of nothing", plus("mx3.example.com.", "mx3.example.com. CNAME a.example.net.", "example.net. TXT x"), "",
			"invalid 69 host.nxdomain host.alias",
			"The MX host mx3.example.com is an alias (CNAME) of a.example.net, which does not exist (NXDOMAIN)."},

		{"gone", plus("mx3.example.com."), "", "invalid 69 host.nxdomain",
			"The MX host mx3.example.com does not exist (NXDOMAIN)."},
		{"gone, of another domain without its dot", plus("mx.mail.example.org.example.com."), "",
			"invalid 69 host.nxdomain", "The MX host mx.mail.example.org.example.com does not exist (NXDOMAIN); " +
				"if mx.mail.example.org was meant, its final dot is missing."},
		{"verification of Microsoft 365", plus("ms12345678.msv1.invalid."), "", "invalid 69 host.nxdomain",
			"The MX host ms12345678.msv1.invalid does not exist (NXDOMAIN); Microsoft 365 had it published to verify the " +
				"domain."},
		{"internal name", plus("exchange.corp.local."), "", "invalid 69 host.nxdomain",
			"The MX host exchange.corp.local does not exist (NXDOMAIN); names under local exist within a network only."},
		{"single label", plus("mail."), "", "invalid 69 host.nxdomain",
			"The MX host mail does not exist (NXDOMAIN); its domain is missing."},
		{"no address", plus("mx3.example.com.", "mx3.example.com. TXT x"), "", "invalid 69 host.address", ""},
		{"private address", plus("mx3.example.com.", "mx3.example.com. A 10.0.0.3"), "",
			"invalid 69 host.blocked",
			"No sender on the Internet reaches the MX host mx3.example.com: it has only 10.0.0.3 (Private-Use, RFC 1918)."},
		{"loopback", plus("mx3.example.com.", "mx3.example.com. A 127.0.0.1"), "", "invalid 69 host.blocked", ""},
		{"multicast", plus("mx3.example.com.", "mx3.example.com. A 224.0.0.1"), "", "invalid 69 host.blocked",
			"No sender on the Internet reaches the MX host mx3.example.com: it has only 224.0.0.1 (Multicast, RFC 5771)."},
		{"private beside public",
			plus("mx3.example.com.", "mx3.example.com. A 192.0.2.3", "mx3.example.com. AAAA fe80::3"), "",
			"warning 89 host.address.special",
			"The MX host mx3.example.com has, beside public addresses, fe80::3 (Link-Local Unicast, RFC 4291)."},
		{"only host gone", "example.com. MX 10 gone.example.com.", "", "invalid 39 hosts.unreachable host.nxdomain",
			"Mail to example.com cannot be delivered: gone.example.com does not exist (NXDOMAIN)."},
		{"only host is an address", "example.com. MX 10 192.0.2.3.", "", "invalid 39 hosts.unreachable host.literal", ""},

		{"host twice", good + "example.com. MX 50 mx1.example.com.", "", "valid 98 record.duplicate",
			"mx1.example.com is listed with the preferences 10 and 50."},
		{"many hosts", many, "", "valid 100 record.many", "example.com has 12 MX hosts."},
		{"too many hosts", tooMany, "", "valid 89 record.many",
			"example.com has 62 MX hosts; those after the first 50 were not examined."},
		{"one host", "example.com. MX 10 mx1.example.com.\n" + hosts, "", "valid 98 redundancy.host",
			"All mail to example.com goes to mx1.example.com: while it is down, mail waits at the senders."},
		{"one host of two machines", "example.com. MX 10 mx1.example.com.\nmx1.example.com. A 192.0.2.9\n" + hosts, "",
			"valid 100", ""},
		{"two hosts at one address", "example.com. MX 10 a.example.com.\nexample.com. MX 10 b.example.com.\n" +
			"a.example.com. A 192.0.2.1\nb.example.com. A 192.0.2.1", "", "valid 96 redundancy.address ipv6.missing",
			"2 MX hosts lead to 192.0.2.1 alone."},
		{"IPv6 only", "example.com. MX 10 mx1.example.com.\nexample.com. MX 10 mx2.example.com.\n" +
			"mx1.example.com. AAAA 2001:db8::1\nmx2.example.com. AAAA 2001:db8::2", "", "warning 89 ipv4.missing",
			"None of the MX hosts of example.com has a public IPv4 address."},
		{"wildcard below", good + "*.example.com. MX 10 mx1.example.com.", "", "valid 100 wildcard.subdomains", ""},
		{"null wildcard below", good + "*.example.com. MX 0 .", "", "valid 100", ""},
		{"subdomain of its own", "*.example.com. MX 9 mx2.example.com.\n" + strings.ReplaceAll(good, "\nexample.com.",
			"\nsub.example.com.") + "sub.example.com. MX 10 mx1.example.com.", "sub.example.com", "valid 100", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(tt.zone)
			req := request
			if tt.domain != "" {
				req.Domain = diag.MustDomain(tt.domain)
			}
			r := lookup(t, w, req)
			seen.Add(r.Verdict)
			require.Equal(t, tt.want, summary(r.Verdict), "%+v", r.Findings)
			if tt.detail != "" {
				require.Equal(t, tt.detail, r.Findings[0].Detail)
			}
			require.False(t, r.Partial)
			require.NotEqual(t, reception.RouteUnknown, r.Route())
			require.Equal(t, r.NullMX, r.Route() == reception.RouteNull)
			require.Equal(t, r.ImplicitMX, r.Route() == reception.RouteImplicit)
			requireHarmless(t, w, r)
		})
	}
	seen = append(seen, unknownVerdicts(t)...)
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
}

// requireHarmless publishes the suggestion in place of the record it corrects: it must be free of the fault and keep
// every host that works today.
func requireHarmless(t *testing.T, w *diagtest.World, before *Report) {
	t.Helper()
	for _, rec := range before.Recommendations {
		if rec.SuggestedValue == "" {
			continue
		}
		rr, err := dns.NewRR(before.Domain.FQDN() + " MX " + rec.SuggestedValue)
		require.NoError(t, err)
		var records []string
		for _, h := range before.Hosts {
			if h.Resolves {
				records = append(records, fmt.Sprintf("%s MX %d %s.", before.Domain.FQDN(), h.Preference, h.Host))
			}
		}
		fixed := diagtest.NewWorld(t)
		for _, h := range before.Hosts {
			for _, ip := range h.Addresses {
				fixed.Zone(addressRecord(h.Host, ip))
			}
		}
		meant := rr.(*dns.MX).Mx
		for _, ip := range diag.LookupAddresses(t.Context(), w.Env(), meant).All() {
			fixed.Zone(addressRecord(meant, ip))
		}
		fixed.Zone(strings.Join(records, "\n") + "\n" + rr.String())
		after := lookup(t, fixed, Request{Domain: diag.MustDomain(before.Domain.String())})
		require.NotContains(t, diagtest.Codes(after.Verdict), rec.Code)
		require.NotEqual(t, diag.Bad, after.State)
	}
}

func addressRecord(host string, ip netip.Addr) string {
	kind := "A"
	if ip.Is6() {
		kind = "AAAA"
	}
	return fmt.Sprintf("%s %s %s", dns.Fqdn(host), kind, ip)
}

// unknownVerdicts judges worlds with unanswered queries: silence never counts against the domain.
func unknownVerdicts(t *testing.T) []diag.Verdict {
	fail := diagtest.Fault{Rcode: dns.RcodeServerFailure}
	tests := []struct {
		name, zone string
		spoil      func(*diagtest.World)
		want       string
	}{
		{"MX SERVFAIL", good, func(w *diagtest.World) { w.Fault("example.com", dns.TypeMX, fail) },
			"unknown none lookup.unknown"},
		{"address SERVFAIL without MX", "example.com. TXT x",
			func(w *diagtest.World) { w.Fault("example.com", dns.TypeA, fail) }, "unknown none domain.address.unknown"},
		{"host SERVFAIL", good, func(w *diagtest.World) { w.Break("mx2.example.com", dns.RcodeServerFailure) },
			"unknown none host.unknown"},
		{"only host SERVFAIL", "example.com. MX 10 mx.example.com.",
			func(w *diagtest.World) { w.Break("mx.example.com", dns.RcodeServerFailure) }, "unknown none host.unknown"},
		{"AAAA silent", good,
			func(w *diagtest.World) { w.Fault("mx2.example.com", dns.TypeAAAA, diagtest.Fault{Silent: true}) },
			"valid 89 host.address.unknown"},
		{"A SERVFAIL", good, func(w *diagtest.World) { w.Fault("mx2.example.com", dns.TypeA, fail) },
			"valid 89 host.address.unknown"},
		{"wildcard SERVFAIL", good, func(w *diagtest.World) { w.Fault("*.example.com", dns.TypeMX, fail) }, "valid 100"},
		{"A NXDOMAIN, AAAA SERVFAIL", good + "example.com. MX 30 gone.example.com.",
			func(w *diagtest.World) { w.Fault("gone.example.com", dns.TypeAAAA, fail) }, "invalid 69 host.nxdomain"},
		{"one host gone, one unknown", good + "example.com. MX 30 gone.example.com.",
			func(w *diagtest.World) { w.Break("mx2.example.com", dns.RcodeServerFailure) },
			"invalid 69 host.unknown host.nxdomain"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.Zone(tt.zone)
				tt.spoil(w)
				r := lookup(t, w, request)
				seen.Add(r.Verdict)
				require.Equal(t, tt.want, summary(r.Verdict), "%+v", r.Findings)
				require.True(t, r.Partial)
				require.False(t, r.ImplicitMX)
				for _, passed := range r.Passed { // unexamined checks do not count as passed
					require.False(t, strings.Contains(tt.want, "host.") && passed.Code == "mx.host.address")
				}
			})
		})
	}
	return seen
}

// A name that repeats the domain is corrected only if the intended name receives mail and is not listed already.
func TestSuggestion(t *testing.T) {
	tests := []struct{ name, zone, want string }{
		{"known to work", "example.com. MX 10 mx1.example.com.example.com.\n" + hosts, "10 mx1.example.com."},
		{"listed already", good + "example.com. MX 10 mx1.example.com.example.com.", ""},
		{"not known", plus("mx3.example.com.example.com."), ""},
		{"no public address", plus("mx3.example.com.example.com.", "mx3.example.com. A 10.0.0.1"), ""},
		{"works as it is", "example.com. MX 10 mx1.example.com.example.com.\n" +
			"mx1.example.com.example.com. A 192.0.2.9\n" + hosts, ""},
		{"null MX", "example.com. MX 10 .", "0 ."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(tt.zone)
			r := lookup(t, w, request)
			suggested := ""
			for _, rec := range r.Recommendations {
				suggested += rec.SuggestedValue
			}
			require.Equal(t, tt.want, suggested)
			requireHarmless(t, w, r)
		})
	}
}

func TestReport(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone("example.com. 300 MX 20 b.example.com.\nexample.com. 300 MX 10 c.example.com.\n" +
		"example.com. 300 MX 10 a.example.com.\na.example.com. A 192.0.2.1\nb.example.com. CNAME b.example.net.\n" +
		"b.example.net. A 192.0.2.2\nexample.com. A 192.0.2.80")
	w.Break("c.example.com", dns.RcodeServerFailure)
	w.Secure("a.example.com")
	text, err := json.MarshalIndent(lookup(t, w, request), "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(text, '\n'))
}

func TestTexts(t *testing.T) {
	text, err := json.MarshalIndent(texts, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/texts.json", append(text, '\n'))
}

func TestLookupRoundTrips(t *testing.T) {
	tests := []struct {
		name, zone string
		want       int
	}{
		{"hosts", good, 2},
		{"no MX records", "example.com. A 192.0.2.1", 1},
		{"domain repeated", plus("mx1.example.com.example.com."), 3},
	}
	for _, tt := range tests {
		trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(tt.zone) },
			func(ctx context.Context, env *diag.Env) {
				_, err := Lookup(ctx, env, request)
				require.NoError(t, err)
			})
		require.Equal(t, tt.want, trips, tt.name)
	}
}

func TestLookupErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("*.")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := Lookup(ctx, w.Env(), request)
		require.ErrorIs(t, err, diag.ErrUnavailable)
	})
	w := diagtest.NewWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Lookup(ctx, w.Env(), request)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Lookup(t.Context(), w.Env(), Request{})
	var input *diag.InputError
	require.ErrorAs(t, err, &input)
	long := diag.MustDomain(strings.Repeat("a.", 124) + "com")
	_, err = Lookup(t.Context(), w.Env(), Request{Domain: long})
	require.NoError(t, err, "a domain without room for a wildcard")
}

// FuzzHost checks the faults of arbitrary host names.
func FuzzHost(f *testing.F) {
	for _, name := range []string{"mx.example.com", "example.com.example.com", "192.0.2.1.example.com", "a_b", "-.x"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		const domain = "example.com"
		if meant := withoutDomain(name, domain); meant != "" {
			require.Equal(t, name, meant+"."+domain)
		}
		if meant := foreign(name, domain); meant != "" {
			require.Equal(t, name, meant+"."+domain)
		}
		if oddity(name) == "" {
			require.NotEmpty(t, name)
			for label := range strings.SplitSeq(name, ".") {
				require.Regexp(t, `^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$`, label)
			}
		}
	})
}

// Nothing can be published at an alias, so no MX record is requested.
func TestAlias(t *testing.T) {
	for zone, code := range map[string]diag.Code{
		"example.com. CNAME shop.example.net.\nshop.example.net. A 192.0.2.1":   "mx.record.implicit",
		"example.com. CNAME shop.example.net.\nshop.example.net. TXT something": "mx.record.missing",
	} {
		w := diagtest.NewWorld(t)
		w.Zone(zone)
		f := lookup(t, w, request).Findings[0]
		require.Equal(t, code, f.Code)
		require.Contains(t, f.Advice, "the operator of shop.example.net, the target of this alias")
	}
}
