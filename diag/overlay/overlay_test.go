package overlay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// published is the zone in the real DNS.
const published = `
com. 3600 SOA ns.nic.com. h.nic.com. 1 1 1 1 300
com. 3600 NS ns.nic.com.
ns.nic.com. 3600 A 192.0.2.2
example.com. 3600 SOA ns.example.com. h.example.com. 1 1 1 1 300
example.com. 3600 NS ns.example.com.
ns.example.com. 3600 A 192.0.2.53
example.com. 3600 MX 10 old.example.com.
old.example.com. 3600 A 192.0.2.9
www.example.com. 3600 A 192.0.2.8
sub.example.com. 3600 NS ns.sub.example.com.
ns.sub.example.com. 3600 A 192.0.2.54
host.sub.example.com. 3600 A 192.0.2.55
example.net. 3600 SOA ns.example.net. h.example.net. 1 1 1 1 300
target.example.net. 3600 A 192.0.2.77
back.example.net. 3600 CNAME www.example.com.
`

// whole is the zone to be published, including the cases of RFC 4592 section 2.2.1.
const whole = `
$ORIGIN example.com.
$TTL 1h
@        SOA ns h 2 1 1 1 300
         NS  ns
ns       A   192.0.2.53
         MX  10 mail
mail     A   192.0.2.25
www      A   203.0.113.80
www  600 A   203.0.113.81
out      CNAME target.example.net.
gone     CNAME nobody.example.net.
in       CNAME www
loop     CNAME loop
self1    CNAME self2
self2    CNAME self1
*.wild   3600 TXT "this is a wildcard"
*.wild   3600 MX  10 host1
sub.*.wild 3600 TXT "this is not a wildcard"
host1.wild 3600 A 192.0.2.1
_ssh._tcp.host1.wild 3600 SRV 0 0 22 host1
subdel.wild 3600 NS ns.example.com.
a.b.c    A   192.0.2.3
sub      NS  ns.sub
ns.sub   A   192.0.2.54
new      NS  ns.new
ns.new   A   192.0.2.56
d        DNAME example.net.
*.alias  CNAME www
`

const partial = `
$ORIGIN example.com.
@          TXT "v=spf1 -all"
a.b        A   192.0.2.3
*          A   192.0.2.4
www        A   203.0.113.80
alias      CNAME www
new        NS  ns.new
`

func parsed(t testing.TB, text string) *Zone {
	t.Helper()
	z, err := Parse(text, "", "test.zone")
	require.NoError(t, err)
	return z
}

// said summarizes an answer: its rcode, then the data of the answer, then the authority.
func said(m *dns.Msg, err error) string {
	if errors.Is(err, diag.ErrUndelegated) {
		return "undelegated"
	}
	if err != nil {
		return err.Error()
	}
	text := dns.RcodeToString[m.Rcode]
	for _, rr := range m.Answer {
		h := rr.Header()
		text += fmt.Sprintf(" %s %s %s", strings.TrimSuffix(h.Name, "."), dns.TypeToString[h.Rrtype],
			strings.ReplaceAll(strings.TrimPrefix(rr.String(), h.String()), "\t", " "))
	}
	for _, rr := range m.Ns {
		text += fmt.Sprintf(" | %s %s %d", rr.Header().Name, dns.TypeToString[rr.Header().Rrtype], rr.Header().Ttl)
	}
	return text
}

func TestAnswers(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(published)
	const noData, noName = "NOERROR | example.com. SOA 300", "NXDOMAIN | example.com. SOA 300"
	for zone, tests := range map[string][]struct{ name, question, want string }{
		whole: {
			{"record", "www.example.com. A", "NOERROR www.example.com A 203.0.113.80 www.example.com A 203.0.113.81"},
			{"another case", "WWW.Example.COM. A", "NOERROR www.example.com A 203.0.113.80 www.example.com A 203.0.113.81"},
			{"RFC 2308 NODATA", "www.example.com. AAAA", noData},
			{"RFC 2308 NXDOMAIN", "old.example.com. A", noName},
			{"RFC 2308 type gone", "example.com. MX", noData},
			{"RFC 8020 empty non-terminal", "b.c.example.com. A", noData},
			{"below a name without wildcard", "x.b.c.example.com. A", noName},
			{"NS of the apex", "example.com. NS", "NOERROR example.com NS ns.example.com."},
			{"RFC 4592 1", "host3.wild.example.com. MX", "NOERROR host3.wild.example.com MX 10 host1.example.com."},
			{"RFC 4592 2", "host3.wild.example.com. A", noData},
			{"RFC 4592 3", "foo.bar.wild.example.com. TXT", `NOERROR foo.bar.wild.example.com TXT "this is a wildcard"`},
			{"RFC 4592 4", "host1.wild.example.com. MX", noData},
			{"RFC 4592 5", "sub.*.wild.example.com. MX", noData},
			{"RFC 4592 6", "_telnet._tcp.host1.wild.example.com. SRV", noName},
			{"RFC 4592 7", "host.subdel.wild.example.com. A", "undelegated"},
			{"RFC 4592 8", "ghost.*.wild.example.com. MX", noName},
			{"the wildcard itself", "*.wild.example.com. TXT", `NOERROR *.wild.example.com TXT "this is a wildcard"`},
			{"alias from a wildcard", "x.alias.example.com. A",
				"NOERROR x.alias.example.com CNAME www.example.com. www.example.com A 203.0.113.80 www.example.com A 203.0.113.81"},
			{"RFC 1034 alias", "in.example.com. A",
				"NOERROR in.example.com CNAME www.example.com. www.example.com A 203.0.113.80 www.example.com A 203.0.113.81"},
			{"alias asked for", "in.example.com. CNAME", "NOERROR in.example.com CNAME www.example.com."},
			{"alias, then NODATA", "in.example.com. AAAA",
				"NOERROR in.example.com CNAME www.example.com. | example.com. SOA 300"},
			{"alias into the world", "out.example.com. A",
				"NOERROR out.example.com CNAME target.example.net. target.example.net A 192.0.2.77"},
			{"RFC 6604 alias to nobody", "gone.example.com. A",
				"NXDOMAIN gone.example.com CNAME nobody.example.net. | example.net. SOA 300"},
			{"alias from the world", "back.example.net. A",
				"NOERROR back.example.net CNAME www.example.com. www.example.com A 203.0.113.80 www.example.com A 203.0.113.81"},
			{"RFC 6672", "back.d.example.com. A",
				"NOERROR d.example.com DNAME example.net. back.d.example.com CNAME back.example.net. " +
					"back.example.net CNAME www.example.com. www.example.com A 203.0.113.80 www.example.com A 203.0.113.81"},
			{"delegated", "host.sub.example.com. A", "NOERROR host.sub.example.com A 192.0.2.55"},
			{"NS of a cut", "sub.example.com. NS", "NOERROR sub.example.com NS ns.sub.example.com."},
			{"DS of a cut", "sub.example.com. DS", noData},
			{"delegated newly", "host.new.example.com. A", "undelegated"},
			{"world", "target.example.net. A", "NOERROR target.example.net A 192.0.2.77"},
			{"keys", "example.com. DNSKEY", "undelegated"},
			{"DS of the zone", "example.com. DS", "NOERROR | com. SOA 300"},
		},
		partial: {
			{"set", "www.example.com. A", "NOERROR www.example.com A 203.0.113.80"},
			{"new set of a name", "example.com. TXT", `NOERROR example.com TXT "v=spf1 -all"`},
			{"other type of a name", "example.com. MX", "NOERROR example.com MX 10 old.example.com."},
			{"other name", "old.example.com. A", "NOERROR old.example.com A 192.0.2.9"},
			{"wildcard", "nobody.example.com. A", "NOERROR nobody.example.com A 192.0.2.4"},
			{"wildcard without the type", "nobody.example.com. TXT", noName},
			{"empty non-terminal", "b.example.com. A", noData},
			{"held, without the type", "a.b.example.com. AAAA", noData},
			{"alias", "alias.example.com. A", "NOERROR alias.example.com CNAME www.example.com. www.example.com A 203.0.113.80"},
			{"alias from the world", "back.example.net. A",
				"NOERROR back.example.net CNAME www.example.com. www.example.com A 203.0.113.80"},
			{"delegated newly", "x.new.example.com. A", "undelegated"},
			{"keys", "example.com. DNSKEY", "undelegated"},
		},
	} {
		r := New(world, parsed(t, zone))
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				name, qtype, _ := strings.Cut(tt.question, " ")
				q := dnsmsg.Question(name, dns.StringToType[qtype], false)
				before := q.String()
				m, err := r.Exchange(t.Context(), q)
				assert.Equal(t, tt.want, said(m, err))
				assert.Equal(t, before, q.String(), "the query is not written to")
				if err == nil {
					assert.Equal(t, q.Id, m.Id)
					assert.True(t, m.Response && m.RecursionAvailable && m.RecursionDesired)
					assert.False(t, m.AuthenticatedData)
				}
			})
		}
	}
}

// Chains without an end are cut as those of the world.
func TestLoops(t *testing.T) {
	r := New(diagtest.NewWorld(t), parsed(t, whole))
	for _, name := range []string{"loop.example.com.", "self1.example.com."} {
		a := diag.Lookup[*dns.A](t.Context(), &diag.Env{Resolver: r}, name)
		assert.Empty(t, a.Records, name)
	}
}

// Sets have one time to live, and negative answers the smaller of two.
func TestTTL(t *testing.T) {
	r := New(diagtest.NewWorld(t), parsed(t, whole))
	m, err := r.Exchange(t.Context(), dnsmsg.Question("www.example.com.", dns.TypeA, false))
	require.NoError(t, err)
	for _, rr := range m.Answer {
		assert.EqualValues(t, 600, rr.Header().Ttl)
	}
}

// Which zones' servers are queried, and which are not.
func TestUndelegated(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(published)
	tests := []struct {
		zone, name string
		want       bool
	}{
		{whole, "example.com", true}, {whole, "nobody.example.com", true}, {whole, "example.net", false},
		{whole, "host.sub.example.com", false}, {whole, "com", false},
		{partial, "example.com", true}, {partial, "www.example.com", true}, {partial, "b.example.com", true},
		{partial, "mail.example.com", false},
	}
	for _, tt := range tests {
		env := world.Env().WithResolver(New(world, parsed(t, tt.zone))).Cached()
		err := env.Published(dns.Fqdn(tt.name))
		assert.Equal(t, tt.want, err != nil, tt.name)
		assert.Equal(t, tt.want, errors.Is(err, diag.ErrUndelegated) && errors.Is(err, diag.ErrUnavailable), tt.name)
		walk := env.Iterator().Find(t.Context(), dns.Fqdn(tt.name), dns.TypeA, false)
		if tt.want {
			for _, h := range walk.Hops {
				assert.Nil(t, h.Reply, tt.name)
			}
		}
	}
	require.NoError(t, world.Env().Published("example.com."))
}

type mute struct{}

func (mute) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) { return nil, nil }

// Without an answer of the resolver, names outside the zones and targets of aliases there are unknown.
func TestNoMessage(t *testing.T) {
	env := &diag.Env{Resolver: New(mute{}, parsed(t, whole))}
	for _, name := range []string{"example.net.", "out.example.com.", "host.sub.example.com."} {
		a := diag.Lookup[*dns.A](t.Context(), env, name)
		assert.Error(t, a.Err(), name)
	}
}
