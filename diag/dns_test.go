package diag

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A scripted resolver returns the same message, or error, whatever it is asked.
type scripted struct {
	msg *dns.Msg
	err error
}

func (s scripted) Exchange(context.Context, *dns.Msg) (*dns.Msg, error) { return s.msg, s.err }

// reply makes a message with records in its answer section.
func reply(t testing.TB, records ...string) *dns.Msg {
	m := new(dns.Msg)
	m.Response = true
	for _, line := range records {
		rr, err := dns.NewRR(line)
		require.NoError(t, err)
		m.Answer = append(m.Answer, rr)
	}
	return m
}

func TestLookupFollowsAliases(t *testing.T) {
	tests := []struct {
		name    string
		answer  []string
		aliases []string
		targets []string // of the MX records found
		ttl     uint32
	}{
		{"record", []string{"a.test. 300 MX 1 m.test."}, nil, []string{"m.test."}, 300},
		{
			"smallest time to live counts",
			[]string{"a.test. 300 MX 1 m.test.", "a.test. 60 MX 2 n.test."},
			nil, []string{"m.test.", "n.test."}, 60,
		},
		{
			"alias", []string{"a.test. 30 CNAME b.test.", "b.test. 300 MX 1 m.test."},
			[]string{"b.test."}, []string{"m.test."}, 30,
		},
		{
			"in any order and letter case",
			[]string{"C.test. 9 MX 1 m.test.", "b.TEST. 8 CNAME c.test.", "A.test. 7 CNAME B.test."},
			[]string{"b.test.", "c.test."}, []string{"m.test."}, 7,
		},
		{
			"made from a DNAME",
			[]string{"test. 300 DNAME example.", "a.test. 300 CNAME a.example.", "a.example. 60 MX 1 m.test."},
			[]string{"a.example."}, []string{"m.test."}, 60,
		},
		{"to nothing", []string{"a.test. 30 CNAME b.test."}, []string{"b.test."}, nil, 30},
		{"of another name", []string{"b.test. 300 MX 1 m.test."}, nil, nil, 0},
		{"of another type", []string{"a.test. 300 A 192.0.2.1"}, nil, nil, 0},
		{"of another class", []string{"a.test. 300 CH MX 1 m.test."}, nil, nil, 0},
		{
			"beside the chain", []string{"a.test. 30 CNAME b.test.", "c.test. 300 MX 1 m.test."},
			[]string{"b.test."}, nil, 30,
		},
		{
			"with a signature", []string{
				"a.test. 300 MX 1 m.test.",
				"a.test. 300 RRSIG MX 8 2 300 20300101000000 20200101000000 1 test. AA==",
			},
			nil, []string{"m.test."}, 300,
		},
		{
			"records beside an alias", []string{"a.test. 30 CNAME b.test.", "a.test. 60 MX 1 m.test."},
			nil, []string{"m.test."}, 60,
		},
		{
			"two aliases at one name",
			[]string{"a.test. 30 CNAME b.test.", "a.test. 30 CNAME c.test.", "b.test. 60 MX 1 m.test."},
			[]string{"b.test."}, []string{"m.test."}, 30,
		},
		{"alias of itself", []string{"a.test. 30 CNAME a.test."}, nil, nil, 0},
		{
			"loop", []string{"a.test. 30 CNAME b.test.", "b.test. 20 CNAME c.test.", "c.test. 10 CNAME a.test."},
			[]string{"b.test.", "c.test."}, nil, 20,
		},
		{"empty", nil, nil, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := &Env{Resolver: scripted{msg: reply(t, tt.answer...)}}
			a := Lookup[*dns.MX](t.Context(), env, "A.test")
			require.NoError(t, a.Err())
			var targets []string
			for _, mx := range a.Records {
				targets = append(targets, mx.Mx)
			}
			assert.Equal(t, "A.test.", a.Name)
			assert.Equal(t, tt.aliases, a.Aliases)
			assert.Equal(t, tt.targets, targets)
			assert.Equal(t, tt.ttl, a.TTL)
			assert.Equal(t, len(tt.targets) > 0, a.Exists())
		})
	}
}

func TestLookupLongChain(t *testing.T) {
	chain := func(n int) *dns.Msg {
		lines := []string{}
		for i := range n {
			lines = append(lines, fmt.Sprintf("%d.test. 60 CNAME %d.test.", i, i+1))
		}
		return reply(t, append(lines, fmt.Sprintf("%d.test. 60 A 192.0.2.1", n))...)
	}
	a := Lookup[*dns.A](t.Context(), &Env{Resolver: scripted{msg: chain(dnsmsg.MaxAliases)}}, "0.test.")
	require.True(t, a.Exists())
	require.Len(t, a.Aliases, dnsmsg.MaxAliases)
	a = Lookup[*dns.A](t.Context(), &Env{Resolver: scripted{msg: chain(dnsmsg.MaxAliases + 1)}}, "0.test.")
	require.EqualError(t, a.Err(), "looking up A 0.test.: more than 16 aliases in a row")
}

// Absence and ignorance are distinguished.
func TestAnswerErr(t *testing.T) {
	msg := func(rcode int, options ...dns.EDNS0) *dns.Msg {
		m := reply(t)
		m.Rcode = rcode
		if options != nil {
			m.SetEdns0(1232, false)
			m.IsEdns0().Option = options
		}
		return m
	}
	withRecords := reply(t, "a.test. A 192.0.2.1")
	withRecords.Rcode = dns.RcodeServerFailure
	many := slices.Repeat([]dns.EDNS0{&dns.EDNS0_EDE{InfoCode: 1000}}, 9)
	cutOff := reply(t, "a.test. A 192.0.2.1")
	cutOff.Truncated = true
	tests := []struct {
		name     string
		resolver Resolver
		err      string // empty if absence is a fact
		rcode    string
		nxdomain bool
		silent   bool
	}{
		{"no records", scripted{msg: msg(dns.RcodeSuccess)}, "", "NOERROR", false, false},
		{"no name", scripted{msg: msg(dns.RcodeNameError)}, "", "NXDOMAIN", true, false},
		{
			"failure", scripted{msg: msg(dns.RcodeServerFailure)},
			"the resolver answered SERVFAIL", "SERVFAIL", false, false,
		},
		{
			"failure beside records", scripted{msg: withRecords},
			"the resolver answered SERVFAIL", "SERVFAIL", false, false,
		},
		{
			"reasons", scripted{msg: msg(dns.RcodeServerFailure,
				&dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeSignatureExpired, ExtraText: "since\nyesterday"},
				&dns.EDNS0_EDE{InfoCode: 4711}, (*dns.EDNS0_EDE)(nil), &dns.EDNS0_NSID{})},
			`the resolver answered SERVFAIL (Signature Expired: "since\nyesterday") (extended error 4711)`,
			"SERVFAIL", false, false,
		},
		{
			"many reasons", scripted{msg: msg(dns.RcodeRefused, many...)},
			"the resolver answered REFUSED (extended error 1000) (extended error 1000) (extended error 1000) (extended error 1000)", "REFUSED", false, false,
		},
		{
			"no name, by the will of the resolver", scripted{msg: msg(dns.RcodeNameError,
				&dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeBlocked})},
			"the resolver filters the name by a policy of its own (Blocked)", "NXDOMAIN", false, false,
		},
		{"beyond 15", scripted{msg: msg(23)}, "the resolver answered BADCOOKIE", "BADCOOKIE", false, false},
		{"unknown", scripted{msg: msg(3000)}, "the resolver answered RCODE3000", "RCODE3000", false, false},
		{
			"silence", scripted{err: errors.New("nobody there")},
			"looking up A a.test.: no usable answer", "", false, true,
		},
		{"nothing at all", scripted{}, "looking up A a.test.: the resolver returned no message", "", false, true},
		{"cut off", scripted{msg: cutOff}, "looking up A a.test.: the answer was cut off", "", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Lookup[*dns.A](t.Context(), &Env{Resolver: tt.resolver}, "a.test.")
			require.False(t, a.Exists())
			if tt.err == "" {
				require.NoError(t, a.Err())
			} else {
				require.EqualError(t, a.Err(), tt.err)
			}
			require.Equal(t, tt.rcode, a.RcodeName())
			require.Equal(t, tt.nxdomain, a.NXDomain())
			require.Equal(t, tt.silent, a.Silent())
		})
	}
}

// The rcode of a message is that of its header and its OPT record together (RFC 6891 section 6.1.3).
func TestLookupExtendedRcodeOnTheWire(t *testing.T) {
	m := new(dns.Msg).SetQuestion("a.test.", dns.TypeA)
	m.SetEdns0(1232, false)
	m.Rcode = dns.RcodeBadVers
	wire, err := m.Pack()
	require.NoError(t, err)
	heard := new(dns.Msg)
	require.NoError(t, heard.Unpack(wire))
	a := Lookup[*dns.A](t.Context(), &Env{Resolver: scripted{msg: heard}}, "a.test.")
	require.Equal(t, dns.RcodeBadVers, a.Rcode)
	require.Error(t, a.Err())
}

func TestLookupObeysContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := new(fakeDNS).set("a.test.", dns.TypeA, fakeAnswer{silent: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		a := Lookup[*dns.A](ctx, &Env{Resolver: world}, "a.test.")
		require.ErrorIs(t, a.Err(), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begun))
		require.Len(t, world.asked, 1)

		a = Lookup[*dns.A](ctx, &Env{Resolver: world}, "a.test.")
		require.ErrorIs(t, a.Err(), context.DeadlineExceeded)
		require.Len(t, world.asked, 1, "an ended context asks nobody")
	})
}

func TestLookupAsks(t *testing.T) {
	q := dnsmsg.Question("a.test", dns.TypeTXT, true)
	require.Equal(t, []dns.Question{{Name: "a.test.", Qtype: dns.TypeTXT, Qclass: dns.ClassINET}}, q.Question)
	require.True(t, q.RecursionDesired)
	require.True(t, q.AuthenticatedData)
	require.True(t, q.IsEdns0().Do())
	require.EqualValues(t, 1232, q.IsEdns0().UDPSize())
	require.False(t, dnsmsg.Question("a.test", dns.TypeTXT, false).IsEdns0().Do())
}

// A resolver of the user's own may return what no server can send.
func TestHostileMessages(t *testing.T) {
	messages := map[string]*dns.Msg{
		"empty": {},
		"no records": {
			Answer: []dns.RR{nil, (*dns.A)(nil), (*dns.CNAME)(nil), (*dns.AAAA)(nil), (*dns.TXT)(nil)},
			Extra:  []dns.RR{nil, (*dns.OPT)(nil), &dns.OPT{Option: []dns.EDNS0{nil, (*dns.EDNS0_EDE)(nil)}}},
		},
		"empty records": {
			Answer: []dns.RR{
				&dns.A{Hdr: header(dns.TypeA)}, &dns.AAAA{Hdr: header(dns.TypeAAAA)}, &dns.TXT{Hdr: header(dns.TypeTXT)},
				&dns.A{Hdr: header(dns.TypeA), A: []byte{1}},
			},
		},
		"records that are not what their header says": {
			Answer: []dns.RR{
				&dns.TXT{Hdr: header(dns.TypeA)}, &dns.A{Hdr: header(dns.TypeAAAA)}, &dns.NULL{Hdr: header(dns.TypeTXT)},
				&dns.A{Hdr: header(dns.TypeCNAME)}, &dns.RFC3597{Hdr: header(dns.TypeA)},
			},
		},
	}
	for name, m := range messages {
		t.Run(name, func(t *testing.T) {
			env := &Env{Resolver: scripted{msg: m}}
			require.Empty(t, LookupAddresses(t.Context(), env, "a.test.").All())
			a := Lookup[*dns.TXT](t.Context(), env, "a.test.")
			for _, r := range a.Records {
				require.Empty(t, dnsmsg.TXT(r))
			}
			require.Equal(t, Indeterminate, MessageDNSSEC(m))
			NewRecordLookup(MustName("a.test"), a, nil, time.Time{}, time.Time{})
		})
	}
}

func header(rrtype uint16) dns.RR_Header {
	return dns.RR_Header{Name: "a.test.", Rrtype: rrtype, Class: dns.ClassINET}
}

func TestAddresses(t *testing.T) {
	world := new(fakeDNS).
		set("a.test.", dns.TypeA, fakeAnswer{records: []string{
			"a.test. A 192.0.2.2", "a.test. A 192.0.2.1", "a.test. A 192.0.2.2",
		}}).
		set("a.test.", dns.TypeAAAA, fakeAnswer{records: []string{
			"a.test. AAAA 2001:db8::2", "a.test. AAAA 2001:db8::1", "a.test. AAAA 2001:db8::2",
		}})
	a := LookupAddresses(t.Context(), &Env{Resolver: world}, "a.test.")
	require.NoError(t, a.Err())
	require.Equal(t, []netip.Addr{
		netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::1"),
		netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1"),
	}, a.All(), "IPv6 first, in the order of the answers, each once")
	require.Equal(t, []netip.Addr{}, Addresses{}.All(), "never nil")
}

func TestAddressesErr(t *testing.T) {
	some := fakeAnswer{records: []string{"a.test. A 192.0.2.1"}}
	none, failed := fakeAnswer{}, fakeAnswer{rcode: dns.RcodeServerFailure}
	tests := []struct {
		name   string
		v4, v6 fakeAnswer
		known  bool
	}{
		{"there are some", some, none, true},
		{"there are some, maybe more", some, failed, true},
		{"there are none", none, none, true},
		{"none of one kind", none, failed, false},
		{"nothing is known", failed, failed, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world := new(fakeDNS).set("a.test.", dns.TypeA, tt.v4).set("a.test.", dns.TypeAAAA, tt.v6)
			a := LookupAddresses(t.Context(), &Env{Resolver: world}, "a.test.")
			require.Equal(t, tt.known, a.Err() == nil)
		})
	}
}

// The families are queried concurrently: together they take as long as the slower one.
func TestAddressesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := fakeAnswer{delay: time.Second}
		world := new(fakeDNS).set("a.test.", dns.TypeA, slow).set("a.test.", dns.TypeAAAA, slow)
		begun := time.Now()
		LookupAddresses(t.Context(), &Env{Resolver: world}, "a.test.")
		require.Equal(t, time.Second, time.Since(begun))
	})
}

// FuzzLookup lets arbitrary messages through everything that reads them.
func FuzzLookup(f *testing.F) {
	for _, lines := range [][]string{
		{"a.test. TXT hello"}, {"a.test. CNAME b.test.", "b.test. CNAME a.test."}, {"a.test. A 192.0.2.1"},
	} {
		wire, err := reply(f, lines...).Pack()
		require.NoError(f, err)
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		m := new(dns.Msg)
		if m.Unpack(wire) != nil {
			return
		}
		env := &Env{Resolver: scripted{msg: m}}
		a := Lookup[*dns.TXT](t.Context(), env, "a.test.")
		if a.Exists() && (a.Err() != nil || a.NXDomain() || a.Silent()) {
			t.Fatalf("both records and %v", a.Err())
		}
		LookupAddresses(t.Context(), env, "a.test.").All()
		for _, r := range a.Records {
			dnsmsg.TXT(r)
		}
	})
}
