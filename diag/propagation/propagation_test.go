package propagation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const zone = `
	$ORIGIN example.com.
	@     3600 SOA ns1 hostmaster 7 7200 900 1209600 300
	@     3600 NS  ns1
	@     3600 NS  ns2
	ns1   3600 A   192.0.2.11
	ns2   3600 A   192.0.2.12
	www   3600 A   192.0.2.80
	www   3600 A   192.0.2.81
	text  3600 TXT "v=spf1 " "-all"
	in    3600 CNAME www
	out   3600 CNAME www.example.net.
	dead  3600 CNAME www.example.org.
	long  172800 MX 10 MX.Example.COM.
	$ORIGIN example.net.
	@     3600 SOA ns hostmaster 7 7200 900 1209600 300
	@     3600 NS  ns
	ns    3600 A   192.0.2.13
	www   60   A   192.0.2.90
	`

// A lab is ten resolvers over a zone. Number n is at 198.51.100.n.
type lab struct {
	*diagtest.World
	Checker
}

func newLab(t *testing.T, count int) *lab {
	l := &lab{World: diagtest.NewWorld(t)}
	l.Zone(zone)
	for i := range count {
		l.Checker.Vantages = append(l.Checker.Vantages, Vantage{
			ID: fmt.Sprintf("r%d", i+1), Name: fmt.Sprintf("Resolver %d", i+1), Operator: "Example", Country: "ZZ",
			Transport: resolver.UDP, Addresses: []string{fmt.Sprintf("198.51.100.%d", i+1)},
		})
		l.at(i + 1)
	}
	return l
}

// at returns a resolver of the lab.
func (l *lab) at(n int, texts ...string) *diagtest.Server {
	return l.World.Resolver(fmt.Sprintf("198.51.100.%d", n), texts...)
}

// statuses writes those of a report on one line.
func statuses(r *Report) string {
	var list []string
	for _, resolver := range r.Resolvers {
		list = append(list, string(resolver.Status))
	}
	return strings.Join(list, " ")
}

func request(name string) Request { return Request{Name: diag.MustName(name)} }

// Ten resolvers with different answers are compared in the time of the slowest.
func TestTenResolvers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 10)
		const www = "www.example.com"
		l.at(3, "www.example.com. 1234 A 192.0.2.1")
		l.at(4).Fault(www, 0, diagtest.Fault{Rcode: dns.RcodeNameError, Explain: 17, Text: "by order"})
		l.at(5).Fault(www, 0, diagtest.Fault{Delay: 1500 * time.Millisecond})
		l.at(6).Configure(diagtest.ServerConfig{Silent: true})
		l.at(7).Break(www, dns.RcodeRefused)
		l.at(8).Fault(www, 0, diagtest.Fault{Rcode: dns.RcodeServerFailure, Explain: 22})
		l.at(9).Fault(www, 0, diagtest.Fault{Answers: []string{""}})
		l.at(10).Fault(www, 0, diagtest.Fault{Answers: []string{"www.example.com. 60 TXT x"}})
		l.ServeZones()
		l.Latency(20 * time.Millisecond)
		began := time.Now()
		r, err := l.Check(t.Context(), l.Env(), request(www))
		require.NoError(t, err)
		assert.Equal(t, 4*time.Second, time.Since(began))
		assert.Equal(t, "match match mismatch nxdomain match timeout refused servfail nxdomain nodata", statuses(r))
		assert.Equal(t, Summary{10, 6, 3, 50, Partly}, r.Summary)
		assert.True(t, r.Partial)
		text, err := json.MarshalIndent(r, "", "  ")
		require.NoError(t, err)
		diagtest.Golden(t, "testdata/report.golden", append(text, '\n'))
	})
}

func TestRules(t *testing.T) {
	const www, out = "www.example.com", "out.example.com"
	other := strings.ReplaceAll(strings.ReplaceAll(zone, "192.0.2.80", "192.0.2.79"), "hostmaster 7", "hostmaster 6")
	own := func(text string) string { return text[:strings.Index(text, "$ORIGIN example.net.")] }
	fault := func(n int, f diagtest.Fault) func(*lab) { return func(l *lab) { l.at(n).Fault("*.", 0, f) } }
	servers := func(c diagtest.ServerConfig) func(*lab) {
		return func(l *lab) {
			l.Server("ns1.example.com", "").Configure(c)
			l.Server("ns2.example.com", "").Configure(c)
		}
	}
	tests := []struct {
		name     string
		setup    func(*lab)
		req      Request
		statuses string
		progress Progress
		want     []diag.Code
	}{
		{"complete", func(*lab) {}, request(www), "match match match", Complete, nil},
		{"no such name", func(*lab) {}, request("x.example.com"), "match match match", Complete,
			[]diag.Code{"propagation.name.nxdomain"}},
		{"no such record", func(*lab) {}, Request{Name: diag.MustName(www), Type: resolve.Type(dns.TypeMX)},
			"match match match", Complete, []diag.Code{"propagation.records.nodata"}},
		{"alias inside", func(*lab) {}, request("in.example.com"), "match match match", Complete, nil},
		{"alias outside", func(*lab) {}, request(out), "match match match", Complete, nil},
		{"alias to no name", func(*lab) {}, request("dead.example.com"), "match match match", Complete,
			[]diag.Code{"propagation.name.nxdomain"}},
		{"alias into silence", func(l *lab) { l.Server("ns.example.net", "").Configure(diagtest.ServerConfig{Silent: true}) },
			request(out), "match match match", Inconclusive,
			[]diag.Code{"propagation.authority.unknown"}},
		{"stale", func(l *lab) { l.at(2, "www.example.com. 1800 A 192.0.2.1") }, request(www),
			"match mismatch match", Partly, []diag.Code{"propagation.resolver.stale"}},
		{"not there yet", fault(2, diagtest.Fault{Answers: []string{""}}), request(www), "match nxdomain match", Partly,
			[]diag.Code{"propagation.resolver.missing"}},
		{"nowhere", func(l *lab) {
			for n := range 3 {
				l.at(n+1, "www.example.com. 60 A 192.0.2.1")
			}
		}, request(www), "mismatch mismatch mismatch", Nowhere, []diag.Code{
			"propagation.resolver.stale"}},
		{"filtered", fault(2, diagtest.Fault{Rcode: dns.RcodeNameError, Explain: dns.ExtendedErrorCodeBlocked}),
			request(www), "match nxdomain match", Complete, []diag.Code{"propagation.resolver.filtered"}},
		{"filtered by address", func(l *lab) { l.at(2, "www.example.com. 60 A 0.0.0.0") }, request(www),
			"match mismatch match", Complete, []diag.Code{"propagation.resolver.filtered"}},
		{"bogus", fault(2, diagtest.Fault{Rcode: dns.RcodeServerFailure, Explain: dns.ExtendedErrorCodeDNSBogus}),
			request(www), "match servfail match", Complete, []diag.Code{"propagation.resolver.bogus"}},
		{"failed", fault(2, diagtest.Fault{Rcode: dns.RcodeServerFailure}), request(www),
			"match servfail match", Complete, []diag.Code{"propagation.resolver.servfail"}},
		{"refused", fault(2, diagtest.Fault{Rcode: dns.RcodeRefused}), request(www),
			"match refused match", Complete, []diag.Code{}},
		{"another code", fault(2, diagtest.Fault{Rcode: dns.RcodeNotAuth}), request(www),
			"match error match", Complete, []diag.Code{}},
		{"silent", fault(2, diagtest.Fault{Silent: true}), request(www),
			"match timeout match", Complete, []diag.Code{}},
		{"most silent", func(l *lab) {
			l.at(2).Configure(diagtest.ServerConfig{Silent: true})
			l.at(3).Configure(diagtest.ServerConfig{Silent: true})
		}, request(www), "match timeout timeout", Inconclusive,
			[]diag.Code{"propagation.resolver.few"}},
		{"all refuse", func(l *lab) {
			for n := range 3 {
				l.at(n+1).Break("*.", dns.RcodeRefused)
			}
		}, request(www), "refused refused refused", Inconclusive, []diag.Code{"propagation.resolver.none"}},
		{"as expected", func(*lab) {}, Request{Name: diag.MustName(www), Expected: []string{"192.0.2.81", "192.0.2.80"}},
			"match match match", Complete, nil},
		{"as expected, up to what means nothing", func(l *lab) { l.Zone("_25._tcp.www.example.com. 300 TLSA 3 1 1 abcdef00") },
			Request{Name: diag.MustName("_25._tcp.www.example.com"), Type: resolve.Type(dns.TypeTLSA), Expected: []string{"3 1 1 ABCD EF00"}},
			"match match match", Complete, nil},
		{"not as expected", func(l *lab) { l.at(2, "www.example.com. 60 A 192.0.2.1") },
			Request{Name: diag.MustName(www), Expected: []string{"192.0.2.1"}}, "mismatch match mismatch", Partly,
			[]diag.Code{"propagation.expected.unpublished", "propagation.resolver.stale"}},
		{"secondary behind", func(l *lab) {
			l.Server("ns1.example.com", "", own(other))
			l.at(3, "www.example.com. 60 A 192.0.2.79\nwww.example.com. 60 A 192.0.2.81")
		}, request(www), "match match mismatch", Partly,
			[]diag.Code{"propagation.authority.inconsistent", "propagation.resolver.stale"}},
		{"secondary behind elsewhere", func(l *lab) { l.Server("ns1.example.com", "", own(other)) },
			request("text.example.com"), "match match match", Complete,
			[]diag.Code{"propagation.authority.serial", "propagation.records.nodata"}},
		{"one lame", func(l *lab) { l.Server("ns1.example.com", "", "example.org. SOA . . 1 1 1 1 1") }, request(www),
			"match match match", Complete, []diag.Code{"propagation.authority.lame"}},
		{"one silent", func(l *lab) { l.Server("ns1.example.com", "").Configure(diagtest.ServerConfig{Silent: true}) },
			request(www), "match match match", Complete, []diag.Code{"propagation.authority.silent"}},
		{"one without an address", func(l *lab) { l.Zone("example.com. NS ns3.nowhere.example.") },
			request(www), "match match match", Complete, []diag.Code{"propagation.authority.silent"}},
		{"one at a private address", func(l *lab) { l.Zone("example.com. NS ns3.example.com.\nns3.example.com. A 10.0.0.1") },
			request(www), "match match match", Complete, []diag.Code{"propagation.authority.silent"}},
		{"all silent", servers(diagtest.ServerConfig{Silent: true}), request(www), "match match match", Inconclusive,
			[]diag.Code{"propagation.authority.unknown", "propagation.authority.silent"}},
		{"all silent, majority", func(l *lab) {
			servers(diagtest.ServerConfig{Silent: true})(l)
			l.at(1, "www.example.com. 60 A 192.0.2.1")
		}, request(www), "mismatch match match", Inconclusive, []diag.Code{"propagation.authority.unknown",
			"propagation.authority.silent"}},
		{"long TTL", func(*lab) {}, Request{Name: diag.MustName("long.example.com"), Type: resolve.Type(dns.TypeMX),
			Expected: []string{"10 mx.EXAMPLE.com"}}, "match match match", Complete, []diag.Code{}},
	}
	var verdicts []diag.Verdict
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, 3)
				tt.setup(l)
				l.ServeZones()
				e, err := l.prepare(tt.req)
				require.NoError(t, err)
				require.NoError(t, e.fetch(t.Context(), l.Env()))
				e.compare()
				r := e.report()
				assert.Equal(t, tt.statuses, statuses(r))
				assert.Equal(t, tt.progress, r.Summary.Status)
				v := rules.Judge(e, texts)
				verdicts = append(verdicts, v)
				assert.ElementsMatch(t, tt.want, diagtest.Codes(v), "%+v", v.Findings)
			})
		})
	}
	diagtest.CoverRules(t, rules, verdicts)
	diagtest.CheckTexts(t, texts, rules.Describe(), verdicts)
	assert.NoError(t, rules.Check())
	assert.Equal(t, rules.Describe(), (*Report)(nil).Rules())
}

// That a value differs in the case of its letters alone is easily overlooked.
func TestLetterCaseIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 1)
		l.Zone(`token.example.com. 300 TXT aBcD`)
		l.ServeZones()
		for expected, told := range map[string]bool{"abcd": true, "abcx": false} {
			r, err := l.Check(t.Context(), l.Env(), Request{Name: diag.MustName("token.example.com"),
				Type: resolve.Type(dns.TypeTXT), Expected: []string{expected}})
			require.NoError(t, err)
			require.Equal(t, diag.Code("propagation.expected.unpublished"), r.Findings[0].Code)
			require.Equal(t, told, strings.Contains(r.Findings[0].Detail, "case of letters"))
		}
	})
}

// The contents of a TXT record are reported without the control characters that would affect a terminal.
func TestControlCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 2)
		l.Zone(`text.example.com. 3600 TXT "a\027[31mred\010\194\133"`)
		l.at(2, `text.example.com. 60 TXT "b\007"`)
		l.ServeZones()
		r, err := l.Check(t.Context(), l.Env(), Request{Name: diag.MustName("text.example.com"), Type: resolve.Type(dns.TypeTXT)})
		require.NoError(t, err)
		require.Equal(t, []string{`a\027[31mred\010\194\133`, "v=spf1 -all"}, r.Authoritative.Values)
		for _, f := range r.Findings {
			require.NotRegexp(t, `[\x00-\x1f\x7f-\x{9f}]`, f.Detail)
		}
		require.NotEmpty(t, r.Findings)
	})
}

// One server returns an alias to a zone that does not answer: the server did answer, and its values are unknown.
func TestAliasOfOneServerIntoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 3)
		text, _, _ := strings.Cut(zone, "$ORIGIN example.net.")
		l.Server("ns1.example.com", "", strings.ReplaceAll(text, "CNAME www.example.net.", "A 192.0.2.90"))
		l.Server("ns.example.net", "").Configure(diagtest.ServerConfig{Silent: true})
		for n := range 3 {
			l.at(n+1, "out.example.com. 3600 A 192.0.2.90")
		}
		l.ServeZones()
		r, err := l.Check(t.Context(), l.Env(), request("out.example.com"))
		require.NoError(t, err)
		require.Equal(t, "match match match", statuses(r))
		require.Empty(t, r.Findings)
		require.True(t, r.Partial)
	})
}

func TestListOfTheOperator(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone("example.com. A 192.0.2.1")
	env := w.NewEnv()
	env.Data = fstest.MapFS{File: {Data: []byte(
		`[{"id":"own","name":"Own","operator":"Us","country":"DE","transport":"udp","addresses":["192.0.2.53"]}]`)}}
	w.Resolver("192.0.2.53")
	report, err := Check(t.Context(), env, Request{Name: diag.MustName("example.com")})
	require.NoError(t, err)
	require.Len(t, report.Resolvers, 1)
	require.Equal(t, "own", string(report.Resolvers[0].ID))
}
