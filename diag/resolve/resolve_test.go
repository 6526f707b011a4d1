package resolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

func name(t testing.TB, s string) diag.Name {
	t.Helper()
	n, err := diag.ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fixed is a resolver that always says the same.
type fixed func(reply *dns.Msg)

func (f fixed) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	reply := new(dns.Msg).SetReply(q)
	reply.SetEdns0(1232, false)
	f(reply)
	return reply, nil
}

// records adds records to the answer.
func records(texts ...string) func(*dns.Msg) {
	return func(m *dns.Msg) {
		for _, text := range texts {
			rr, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			m.Answer = append(m.Answer, rr)
		}
	}
}

// authority adds records to the authority section.
func authority(texts ...string) func(*dns.Msg) {
	return func(m *dns.Msg) {
		records(texts...)(m)
		m.Ns, m.Answer = m.Answer, nil
	}
}

// many adds n addresses to the answer.
func many(n int) func(*dns.Msg) {
	return func(m *dns.Msg) {
		for i := range n {
			records(fmt.Sprintf("example.com. 300 A 1.2.%d.%d", i/256, i%256))(m)
		}
	}
}

// explained adds an extended error, and sets the rcode.
func explained(rcode int, code uint16, text string) func(*dns.Msg) {
	return func(m *dns.Msg) {
		m.Rcode = rcode
		opt := m.IsEdns0()
		opt.Option = append(opt.Option, &dns.EDNS0_EDE{InfoCode: code, ExtraText: text})
	}
}

func TestRules(t *testing.T) {
	const a, mx = Type(dns.TypeA), Type(dns.TypeMX)
	chain := []string{}
	for i := range 9 {
		chain = append(chain, fmt.Sprintf("c%d.example.com. 300 CNAME c%d.example.com.", i, i+1))
	}
	var endless []string
	for i := range 100 {
		endless = append(endless, fmt.Sprintf("c%d.example.com. 300 CNAME c%d.example.com.", i, i+1))
	}
	chain = append(chain, "c9.example.com. 300 A 1.2.3.4")
	cases := []struct {
		name  string
		reply func(*dns.Msg)
		req   Request
		want  []diag.Code
	}{
		{"fine", records("example.com. 300 MX 10 mx.example.com."), Request{Type: mx}, nil},
		{"nxdomain", explained(dns.RcodeNameError, 29, "synthesized"), Request{Type: a},
			[]diag.Code{"resolve.rcode.nxdomain", "resolve.reply.explained"}},
		{"filtered, with NXDOMAIN", explained(dns.RcodeNameError, 15, "blocked"), Request{Type: a},
			[]diag.Code{"resolve.reply.filtered"}},
		{"filtered, without records", explained(dns.RcodeSuccess, 17, ""), Request{Type: a},
			[]diag.Code{"resolve.reply.filtered"}},
		{"filtered alias", func(m *dns.Msg) {
			explained(dns.RcodeNameError, 16, "")(m)
			records("example.com. 300 CNAME gone.example.net.")(m)
		}, Request{Type: a}, []diag.Code{"resolve.reply.filtered"}},
		{"nodata", records(), Request{Type: a}, []diag.Code{"resolve.records.nodata"}},
		{"nodata, without recursion", authority("example.com. 300 SOA ns.example.com. host.example.com. 1 2 3 4 5"),
			Request{Type: a, RecursionDesired: new(false)}, []diag.Code{"resolve.records.nodata"}},
		{"nodata of who is responsible", func(m *dns.Msg) { m.Authoritative = true },
			Request{Type: a, RecursionDesired: new(false)}, []diag.Code{"resolve.records.nodata"}},
		{"a record without recursion", records("example.com. 300 A 192.0.2.1"),
			Request{Type: a, RecursionDesired: new(false)}, nil},
		{"nothing cached", records(), Request{Type: a, RecursionDesired: new(false)},
			[]diag.Code{"resolve.reply.norecursion"}},
		{"referral", authority("com. 300 NS a.gtld.example.", "com. 300 NS b.gtld.example."),
			Request{Type: a, RecursionDesired: new(false)}, []diag.Code{"resolve.reply.referral"}},
		{"referral instead of recursion", authority("com. 300 NS a.gtld.example."), Request{Type: a},
			[]diag.Code{"resolve.reply.referral"}},
		{"Chaosnet", records(`version.bind. 0 CH TXT "9.18"`),
			Request{Name: name(t, "version.bind"), Type: Type(dns.TypeTXT), Class: Chaos}, nil},
		{"Chaosnet, of another type", records(`version.bind. 0 CH NS version.bind.`),
			Request{Name: name(t, "version.bind"), Type: Type(dns.TypeTXT), Class: Chaos},
			[]diag.Code{"resolve.records.nodata"}},
		{"servfail", explained(dns.RcodeServerFailure, 22, ""), Request{Type: a}, []diag.Code{"resolve.rcode.servfail"}},
		{"refused", explained(dns.RcodeRefused, 18, ""), Request{Type: a}, []diag.Code{"resolve.rcode.refused"}},
		{"notimp", explained(dns.RcodeNotImplemented, 0, ""), Request{Type: a}, []diag.Code{"resolve.rcode.other"}},
		{"bogus", explained(dns.RcodeServerFailure, 7, ""), Request{Type: a}, []diag.Code{"resolve.dnssec.bogus"}},
		{"proven", func(m *dns.Msg) { m.AuthenticatedData = true; many(1)(m) }, Request{Type: a, DNSSEC: true}, nil},
		{"dangling alias", func(m *dns.Msg) {
			m.Rcode = dns.RcodeNameError
			records("example.com. 300 CNAME gone.example.net.")(m)
		}, Request{Type: a}, []diag.Code{"resolve.cname.dangling"}},
		{"alias", records("example.com. 300 CNAME b.example.", "b.example. 300 A 1.2.3.4"), Request{Type: a}, nil},
		{"alias without records", func(m *dns.Msg) {
			m.RecursionAvailable = true
			records("example.com. 300 CNAME b.example.")(m)
		}, Request{Type: a}, []diag.Code{"resolve.records.nodata"}},
		{"alias without records, proven", func(m *dns.Msg) {
			records("example.com. 300 CNAME b.example.")(m)
			m.Ns = append(m.Ns, &dns.SOA{Hdr: dns.RR_Header{Name: "example.", Rrtype: dns.TypeSOA, Class: 1}})
		}, Request{Type: a}, []diag.Code{"resolve.records.nodata"}},
		{"alias into a zone of others", records("example.com. 300 CNAME b.example."), Request{Type: a},
			[]diag.Code{"resolve.cname.unfollowed"}},
		{"endless chain", records(endless...), Request{Name: name(t, "c0.example.com"), Type: a},
			[]diag.Code{"resolve.cname.unfollowed", "resolve.cname.long"}},
		{"cut off, empty", func(m *dns.Msg) { m.Truncated = true }, Request{Type: a},
			[]diag.Code{"resolve.reply.truncated"}},
		{"repeated", records("example.com. 300 A 1.2.3.4", "example.com. 300 A 1.2.3.4"), Request{Type: a}, nil},
		{"loop", records("example.com. 300 CNAME b.example.", "b.example. 300 CNAME example.com."), Request{Type: a},
			[]diag.Code{"resolve.cname.loop"}},
		{"alias of itself", records("example.com. 300 CNAME example.com."), Request{Type: a},
			[]diag.Code{"resolve.cname.loop"}},
		{"long chain", records(chain...), Request{Name: name(t, "c0.example.com"), Type: a},
			[]diag.Code{"resolve.cname.long"}},
		{"private IPv4", records("example.com. 300 A 10.1.2.3"), Request{Type: a}, []diag.Code{"resolve.address.private"}},
		{"private IPv6", records("example.com. 300 AAAA fd00::1", "example.com. 300 AAAA fe80::1"),
			Request{Type: Type(dns.TypeAAAA)}, []diag.Code{"resolve.address.private"}},
		{"example addresses", records("example.com. 300 A 192.0.2.1"), Request{Type: a}, nil},
		{"minute", records("example.com. 60 MX 10 mx.example.com."), Request{Type: mx}, nil},
		{"DNAME", records("com. 300 DNAME net.", "example.com. 300 CNAME example.net.", "example.net. 300 A 1.2.3.4"),
			Request{Type: a}, nil},
		{"cut off", func(m *dns.Msg) { m.Truncated = true; many(1)(m) }, Request{Type: a},
			[]diag.Code{"resolve.reply.truncated"}},
		{"stale", func(m *dns.Msg) { explained(0, 3, "")(m); many(1)(m) }, Request{Type: a},
			[]diag.Code{"resolve.reply.explained"}},
		{"500 records", many(500), Request{Type: a}, nil},
	}
	var verdicts []diag.Verdict
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.req.Name.IsZero() {
				c.req.Name = name(t, "example.com")
			}
			e, err := fetch(t.Context(), &diag.Env{Resolver: fixed(c.reply)}, c.req)
			if err != nil {
				t.Fatal(err)
			}
			v := rules.Judge(e, texts)
			verdicts = append(verdicts, v)
			if got := diagtest.Codes(v); len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v; want %v", got, c.want)
			}
			if r := report(e); len(r.Answers) > maxRecords {
				t.Errorf("%d records listed", len(r.Answers))
			}
		})
	}
	diagtest.CoverRules(t, answerRules, verdicts)
	diagtest.CheckTexts(t, texts, rules.Describe(), verdicts)
	if !reflect.DeepEqual((*Report)(nil).Rules(), rules.Describe()) {
		t.Error("Rules does not describe the rules")
	}
}

// On SERVFAIL the resolver is asked again without checking: that distinguishes DNSSEC from an outage.
func TestServfailIsExplained(t *testing.T) {
	cases := []struct {
		name      string
		unchecked int
		want      diag.Code
		detail    string
	}{
		{"DNSSEC", dns.RcodeSuccess, "resolve.dnssec.bogus", "With DNSSEC checking disabled it answers NOERROR."},
		{"DNSSEC of a denial", dns.RcodeNameError, "resolve.dnssec.bogus", "checking disabled it answers NXDOMAIN."},
		{"outage", dns.RcodeServerFailure, "resolve.rcode.servfail", "the cause is not DNSSEC."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env := &diag.Env{Resolver: answering(func(q *dns.Msg) *dns.Msg {
				m := new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
				if q.CheckingDisabled {
					m.Rcode = c.unchecked
				}
				return m
			})}
			r, err := Lookup(t.Context(), env, Request{Name: name(t, "example.com"), Type: Type(dns.TypeA)})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Findings) != 1 || r.Findings[0].Code != c.want || !strings.Contains(r.Findings[0].Detail, c.detail) {
				t.Errorf("got %+v", r.Findings)
			}
		})
	}
}

// answering is a resolver that is a function.
type answering func(*dns.Msg) *dns.Msg

func (f answering) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) { return f(q), nil }

func TestLookupReport(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		$ORIGIN example.com.
		@   3600 SOA ns.example.com. admin.example.com. 7 7200 900 1209600 300
		www 300 CNAME @
		@   300 TXT "hello " "wörld"`)
	r, err := Lookup(t.Context(), world.Env(), Request{Name: name(t, "WWW.example.com."), Type: Type(dns.TypeTXT)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	diagtest.Golden(t, "testdata/report.golden", append(text, '\n'))
}

func TestLookupUnicode(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`xn--bcher-kva.example. 300 A 1.2.3.4`)
	r, err := Lookup(t.Context(), world.Env(), Request{Name: name(t, "bücher.example"), Type: Type(dns.TypeA)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Name.String() != "xn--bcher-kva.example" || r.NameUnicode != "bücher.example" || len(r.Answers) != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestLookupDNSSEC(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		secure.example. 300 A 1.2.3.4
		plain.example.  300 A 1.2.3.4
		bogus.example.  300 A 1.2.3.4`)
	world.Secure("secure.example")
	world.Fault("bogus.example", 0, diagtest.Fault{Rcode: dns.RcodeServerFailure, Explain: dns.ExtendedErrorCodeDNSBogus})
	cases := []struct {
		name   string
		dnssec bool
		want   diag.DNSSECStatus
	}{
		{"secure.example", true, diag.Secure},
		{"plain.example", true, diag.Indeterminate},
		{"bogus.example", true, diag.Bogus},
		{"secure.example", false, ""},
	}
	for _, c := range cases {
		r, err := Lookup(t.Context(), world.Env(), Request{Name: name(t, c.name), Type: Type(dns.TypeA), DNSSEC: c.dnssec})
		if err != nil {
			t.Fatal(err)
		}
		if r.DNSSEC != c.want {
			t.Errorf("%s: %q; want %q", c.name, r.DNSSEC, c.want)
		}
	}
}

func TestLookupResolvers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(`example.com. 300 A 1.2.3.4`)
		world.Resolver("1.1.1.1", `example.com. 300 A 5.6.7.8`)
		world.Fault("big.example.com", 0, diagtest.Fault{Truncate: true})
		world.Zone(`big.example.com. 300 A 1.2.3.4`)
		cases := []struct {
			name  string
			id    ResolverID
			who   Resolver
			data  string
			again bool
		}{
			{"example.com", "", Resolver{Default, "Default resolver", "", ""}, "1.2.3.4", false},
			{"example.com", Default, Resolver{Default, "Default resolver", "", ""}, "1.2.3.4", false},
			{"example.com", Google, Resolver{Google, "Google Public DNS", "8.8.8.8", resolver.UDP}, "1.2.3.4", false},
			{"example.com", Cloudflare, Resolver{Cloudflare, "Cloudflare 1.1.1.1", "1.1.1.1", resolver.UDP}, "5.6.7.8", false},
			{"example.com", Quad9, Resolver{Quad9, "Quad9", "9.9.9.9", resolver.UDP}, "1.2.3.4", false},
			{"big.example.com", OpenDNS, Resolver{OpenDNS, "Cisco OpenDNS", "208.67.222.222", resolver.TCP}, "1.2.3.4", true},
		}
		for _, c := range cases {
			r, err := Lookup(t.Context(), world.Env(), Request{Name: name(t, c.name), Type: Type(dns.TypeA), Resolver: c.id})
			if err != nil {
				t.Fatal(err)
			}
			if r.Resolver != c.who || len(r.Answers) != 1 || r.Answers[0].Data != c.data || r.TruncatedOverUDP != c.again {
				t.Errorf("%s: got %+v, %+v, truncated %t", c.id, r.Resolver, r.Answers, r.TruncatedOverUDP)
			}
		}
	})
}

// The address of the operator's resolver is hidden; that of a public one is reported.
func TestHideResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(`example.com. 300 A 1.2.3.4`)
		for _, c := range []struct {
			hide bool
			id   ResolverID
			want string
		}{
			{false, Default, "9.9.9.9"}, {true, Default, ""}, {true, "", ""}, {true, Google, "8.8.8.8"},
		} {
			env := world.Env()
			env.Resolver = env.Upstream("own", resolver.Server{Addrs: []netip.Addr{netip.MustParseAddr("9.9.9.9")}})
			env.HideResolver = c.hide
			r, err := Lookup(t.Context(), env, Request{Name: name(t, "example.com"), Type: Type(dns.TypeA), Resolver: c.id})
			if err != nil || r.Resolver.Address != c.want {
				t.Errorf("%t %q: got %+v, %v; want %q", c.hide, c.id, r, err, c.want)
			}
		}
	})
}

func TestLookupFaults(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Silence("silent.example")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	a := Type(dns.TypeA)
	cases := []struct {
		name string
		ctx  context.Context
		req  Request
		want func(error) bool
	}{
		{"no name", t.Context(), Request{Type: a}, inputError("qname")},
		{"no type", t.Context(), Request{Name: name(t, "a.example")}, inputError("qtype")},
		{"ANY", t.Context(), Request{Name: name(t, "a.example"), Type: 255}, inputError("qtype")},
		{"no such resolver", t.Context(), Request{Name: name(t, "a.example"), Type: a, Resolver: "isp"}, inputError("resolver")},
		{"no such class", t.Context(), Request{Name: name(t, "a.example"), Type: a, Class: "HS"}, inputError("qclass")},
		{"CH by a walk", t.Context(), Request{Name: name(t, "a.example"), Type: a, Class: Chaos, Trace: true}, inputError("qclass")},
		{"no such transport", t.Context(), Request{Name: name(t, "a.example"), Type: a, Transport: "doq"}, inputError("transport")},
		{"TLS to the default resolver", t.Context(), Request{Name: name(t, "a.example"), Type: a, Transport: resolver.DoT},
			inputError("transport")},
		{"version 5", t.Context(), Request{Name: name(t, "a.example"), Type: a, IPVersion: 5}, inputError("ip_version")},
		{"small replies", t.Context(), Request{Name: name(t, "a.example"), Type: a, UDPPayloadSize: 511},
			inputError("udp_payload_size")},
		{"a minute", t.Context(), Request{Name: name(t, "a.example"), Type: a, TimeoutSeconds: 60}, inputError("timeout_seconds")},
		{"eleven tries", t.Context(), Request{Name: name(t, "a.example"), Type: a, Tries: 11}, inputError("tries")},
		{"NSID by a walk", t.Context(), Request{Name: name(t, "a.example"), Type: a, NSID: true, Resolver: Authoritative},
			inputError("nsid")},
		{"silence", t.Context(), Request{Name: name(t, "silent.example"), Type: a}, is(diag.ErrUnavailable)},
		{"context", ended, Request{Name: name(t, "silent.example"), Type: a}, is(context.Canceled)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if r, err := Lookup(c.ctx, world.Env(), c.req); r != nil || !c.want(err) {
				t.Errorf("got %v, %v", r, err)
			}
		})
	}
}

func inputError(field string) func(error) bool {
	return func(err error) bool {
		input, ok := errors.AsType[*diag.InputError](err)
		return ok && input.Field == field
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Latency(20 * time.Millisecond)
		began := world.Now()
		r, err := Lookup(t.Context(), world.Env(), Request{Name: name(t, "a.example"), Type: Type(dns.TypeA)})
		if err != nil || r.LatencyMS != 20 || !r.CheckedAt.Equal(began) {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestParseType(t *testing.T) {
	cases := []struct {
		text   string
		want   string // the name of the type, or a part of the reason
		refuse bool
	}{
		{"A", "A", false},
		{"https", "HTTPS", false},
		{"nSec3Param", "NSEC3PARAM", false},
		{"TYPE1", "A", false},
		{"type65280", "TYPE65280", false},
		{"TYPE59", "CDS", false},
		{"cds", "CDS", false},
		{"TYPE29", "LOC", false},
		{"openpgpkey", "OPENPGPKEY", false},
		{"", "give A, AAAA", true},
		{"TYPE", "not a record type", true},
		{"TYPE0", "not a record type", true},
		{"TYPE-1", "not a record type", true},
		{"TYPE65536", "not a record type", true},
		{"TYPE000001", "not a record type", true},
		{"ANY", "RFC 8482", true},
		{"TYPE255", "RFC 8482", true},
		{"axfr", "whole zone", true},
		{"IXFR", "changes", true},
		{"OPT", "RFC 6891", true},
		{"TYPE41", "RFC 6891", true},
		{"TSIG", "RFC 8945", true},
		{"TKEY", "RFC 2930", true},
		{"TYPE200", "reserved", true},
		{"TYPE65535", "reserved", true},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			var got Type
			err := got.UnmarshalText([]byte(c.text))
			switch {
			case c.refuse && (err == nil || !inputError("qtype")(err) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			case !c.refuse && (err != nil || got.String() != c.want):
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func FuzzParseType(f *testing.F) {
	for _, n := range append(TypeNames(), "TYPE65280", "any", "TYPE0") {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseType(s)
		if err != nil {
			return
		}
		if again, err := ParseType(got.String()); err != nil || again != got {
			t.Fatalf("%q is %s, which is %s, %v", s, got, again, err)
		}
	})
}

// A timeout names the server that was queried.
func TestUnansweredInTime(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	err := unanswered(ctx, "the resolver Quad9", errors.New("silence"))
	silent, ok := errors.AsType[*diag.UnavailableError](err)
	if !ok || silent.Asked != "the resolver Quad9" || !is(context.DeadlineExceeded)(err) {
		t.Errorf("got %v", err)
	}
}

// A missing answer is not a fault of the domain.
func TestIgnoranceIsNoError(t *testing.T) {
	for _, r := range slices.Concat(rules.Describe(), reverseRules.Describe()) {
		if r.State == diag.Unknown && r.Severity > diag.Warning {
			t.Errorf("%s is of severity %s", r.Code, r.Severity)
		}
	}
}
