package diagtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// summary writes a reply in one line: flags, rcode, and the records of each section.
func summary(m *dns.Msg) string {
	var b strings.Builder
	for _, flag := range []struct {
		set  bool
		name string
	}{{m.Authoritative, "aa"}, {m.Truncated, "tc"}, {m.AuthenticatedData, "ad"}} {
		if flag.set {
			b.WriteString(flag.name + " ")
		}
	}
	if m.Rcode == dns.RcodeBadVers {
		b.WriteString("BADVERS") // the library's table has the other meaning of 16
	} else {
		b.WriteString(dns.RcodeToString[m.Rcode])
	}
	for _, rr := range m.Answer {
		b.WriteString("; " + brief(rr))
	}
	for _, rr := range m.Ns {
		b.WriteString("; auth " + brief(rr))
	}
	for _, rr := range m.Extra {
		if rr.Header().Rrtype != dns.TypeOPT {
			b.WriteString("; add " + brief(rr))
		}
	}
	return b.String()
}

func brief(rr dns.RR) string {
	if soa, ok := rr.(*dns.SOA); ok {
		return soa.Hdr.Name + " SOA"
	}
	data := strings.TrimPrefix(rr.String(), rr.Header().String())
	return fmt.Sprintf("%s %s %s", rr.Header().Name, dns.TypeToString[rr.Header().Rrtype], data)
}

const semantics = `
$ORIGIN example.com.
@            SOA   ns hostmaster 1 7200 3600 1209600 60
@            NS    ns
@            MX    10 mx
ns           A     192.0.2.53
mx           A     192.0.2.25
www          CNAME web.example.net.
loop         CNAME pool
pool         CNAME loop
old          DNAME new.example.net.
a.deep       TXT   "here"
*.wild       TXT   "star"
known.wild   A     192.0.2.7
*.alias      CNAME mx
Mixed        TXT   "Case"
example.net.           A     192.0.2.80
web.example.net.       A     192.0.2.81
x.new.example.net.     A     192.0.2.82
`

func TestAnswers(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(semantics)
	tests := []struct{ name, question, want string }{
		{"record", "mx.example.com. A", "NOERROR; mx.example.com. A 192.0.2.25"},
		{"letter case of the question", "MX.Example.com. A", "NOERROR; MX.Example.com. A 192.0.2.25"},
		{"alias into another zone", "www.example.com. A",
			"NOERROR; www.example.com. CNAME web.example.net.; web.example.net. A 192.0.2.81"},
		{"alias itself", "www.example.com. CNAME", "NOERROR; www.example.com. CNAME web.example.net."},
		{"alias without the type", "www.example.com. MX",
			"NOERROR; www.example.com. CNAME web.example.net.; auth example.net. SOA"},
		{"alias in a circle", "loop.example.com. A",
			"SERVFAIL; loop.example.com. CNAME pool.example.com.; pool.example.com. CNAME loop.example.com."},
		{"redirected tree", "x.old.example.com. A", "NOERROR; old.example.com. DNAME new.example.net.; " +
			"x.old.example.com. CNAME x.new.example.net.; x.new.example.net. A 192.0.2.82"},
		{"owner of a redirection", "old.example.com. A", "NOERROR; auth example.com. SOA"},
		{"no such type", "mx.example.com. AAAA", "NOERROR; auth example.com. SOA"},
		{"no such name", "nowhere.example.com. A", "NXDOMAIN; auth example.com. SOA"},
		{"empty non-terminal", "deep.example.com. TXT", "NOERROR; auth example.com. SOA"},
		{"below an empty non-terminal", "b.deep.example.com. TXT", "NXDOMAIN; auth example.com. SOA"},
		{"wildcard", "any.thing.wild.example.com. TXT", `NOERROR; any.thing.wild.example.com. TXT "star"`},
		{"wildcard without the type", "other.wild.example.com. A", "NOERROR; auth example.com. SOA"},
		{"name beside a wildcard", "known.wild.example.com. TXT", "NOERROR; auth example.com. SOA"},
		{"name below one beside a wildcard", "x.known.wild.example.com. TXT", "NXDOMAIN; auth example.com. SOA"},
		{"wildcard alias", "x.alias.example.com. A",
			"NOERROR; x.alias.example.com. CNAME mx.example.com.; mx.example.com. A 192.0.2.25"},
		{"made-up SOA", "www.nowhere.co.uk. A", "NXDOMAIN; auth nowhere.co.uk. SOA"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name, qtype, _ := strings.Cut(tt.question, " ")
			m, err := world.Exchange(t.Context(), dnsmsg.Question(name, dns.StringToType[qtype], false))
			require.NoError(t, err)
			assert.Equal(t, tt.want, summary(m))
			assert.True(t, m.Response && m.RecursionAvailable && m.RecursionDesired)
		})
	}
}

func TestNegativeTTLFollowsTheSOA(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(semantics)
	m, err := world.Exchange(t.Context(), dnsmsg.Question("nowhere.example.com", dns.TypeA, false))
	require.NoError(t, err)
	assert.Equal(t, uint32(60), m.Ns[0].Header().Ttl)
}

func TestAnswersAreCopies(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`example.com. A 192.0.2.1`)
	q := dnsmsg.Question("example.com", dns.TypeA, false)
	first, err := world.Exchange(t.Context(), q)
	require.NoError(t, err)
	first.Answer[0].(*dns.A).A[3] = 99
	second, err := world.Exchange(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, "NOERROR; example.com. A 192.0.2.1", summary(second))
}

func TestFaults(t *testing.T) {
	const zone = `
		example.com.      TXT   "v=spf1 -all"
		www.example.com.  CNAME example.com.
	`
	tests := []struct {
		name  string
		fault diagtest.Fault
		want  []string // of three questions, one after the other
	}{
		{"none", diagtest.Fault{}, []string{`NOERROR; example.com. TXT "v=spf1 -all"`}},
		{"rcode", diagtest.Fault{Rcode: dns.RcodeServerFailure}, []string{"SERVFAIL"}},
		{"once", diagtest.Fault{Rcode: dns.RcodeRefused, Times: 1},
			[]string{"REFUSED", `NOERROR; example.com. TXT "v=spf1 -all"`}},
		{"secure", diagtest.Fault{Secure: true}, []string{`ad NOERROR; example.com. TXT "v=spf1 -all"`}},
		{"flapping", diagtest.Fault{Answers: []string{`example.com. TXT "one"`, ``, `example.com. A 192.0.2.1`}},
			[]string{`NOERROR; example.com. TXT "one"`, "NXDOMAIN; auth example.com. SOA",
				"NOERROR; auth example.com. SOA", `NOERROR; example.com. TXT "one"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone(zone)
			world.Fault("example.com", dns.TypeTXT, tt.fault)
			for _, want := range tt.want {
				m, err := world.Exchange(t.Context(), dnsmsg.Question("example.com", dns.TypeTXT, false))
				require.NoError(t, err)
				assert.Equal(t, want, summary(m))
			}
		})
	}
}

func TestFaultBehindAnAlias(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`www.example.com. CNAME example.com.`)
	world.Fault("example.com", 0, diagtest.Fault{
		Rcode: dns.RcodeServerFailure, Explain: dns.ExtendedErrorCodeDNSBogus, Text: "no signature",
	})
	a := diag.Lookup[*dns.A](t.Context(), world.Env(), "www.example.com")
	assert.ErrorContains(t, a.Err(), "SERVFAIL")
	assert.Equal(t, diag.Bogus, a.DNSSEC())
	assert.Equal(t, "no signature", a.Extended[0].ExtraText)
}

func TestFaultOfAWholeTree(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Break("*.list.example", dns.RcodeRefused)
	assert.ErrorContains(t, diag.Lookup[*dns.A](t.Context(), world.Env(), "2.2.0.192.list.example").Err(), "REFUSED")
	assert.True(t, diag.Lookup[*dns.A](t.Context(), world.Env(), "list.example").NXDomain())
}

func TestSilenceOutsideABubbleIsReportedAtOnce(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Silence("example.com")
	a := diag.Lookup[*dns.A](t.Context(), world.Env(), "example.com")
	assert.True(t, a.Silent())
	assert.ErrorContains(t, a.Err(), "no response")
}

func TestBadZoneIsReported(t *testing.T) {
	_, err := diagtest.New(diagtest.Config{Zone: "example.com. MX ten mx.example.com."})
	assert.ErrorContains(t, err, "diagtest: zone")
}

func TestQueriesAreCounted(t *testing.T) {
	world := diagtest.NewWorld(t)
	env := world.Env()
	diag.Lookup[*dns.A](t.Context(), env, "Example.com")
	diag.Lookup[*dns.MX](t.Context(), env, "example.com")
	diag.Lookup[*dns.A](t.Context(), env, "example.net")
	assert.Equal(t, 3, world.Asked("", 0))
	assert.Equal(t, 2, world.Asked("example.com", 0))
	assert.Equal(t, 1, world.Asked("example.COM.", dns.TypeA))
	world.Forget()
	assert.Empty(t, world.Queries())
}

func TestShortFormsOfFaults(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`example.com. TXT "one"`)
	server := world.Server("ns.example.com", "192.0.2.53", `example.com. TXT "one"`)
	ask := func(r diag.Resolver) string {
		m, err := r.Exchange(t.Context(), dnsmsg.Question("example.com", dns.TypeTXT, false))
		require.NoError(t, err)
		return summary(m)
	}
	world.Secure("example.com")
	assert.Equal(t, `ad NOERROR; example.com. TXT "one"`, ask(world))
	world.Flap("example.com", `example.com. TXT "two"`, `example.com. TXT "three"`)
	assert.Equal(t, `NOERROR; example.com. TXT "two"`, ask(world))
	assert.Equal(t, `NOERROR; example.com. TXT "three"`, ask(world))

	client := &resolver.Client{Dial: world.Dial, Servers: []resolver.Server{{Addrs: server.Addrs()}}}
	defer client.Close()
	assert.Equal(t, `aa NOERROR; example.com. TXT "one"`, ask(client), "a server has faults of its own")
	server.Break("example.com", dns.RcodeRefused)
	assert.Equal(t, "REFUSED", ask(client))
}
