package nameserver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// signedZone is a snapshot that is signed, with a set of addresses, and a clock that can be set.
func signedZone(t testing.TB, keys ...SigningKey) (s *snapshot, now *time.Time) {
	t.Helper()
	clock := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	z := testZone()
	if len(keys) == 0 {
		key, err := NewSigningKey(z.Name)
		require.NoError(t, err)
		keys = []SigningKey{key}
	}
	by, err := newSigner(&Config{Zone: z, Signing: keys, Clock: func() time.Time { return clock }})
	require.NoError(t, err)
	return z.build([]published{
		{"abc.spf.example.net.", "v=spf1 ip4:192.0.2.0/24 -all", 300, nil},
		{"_1.abc.spf.example.net.", long, 300, nil},
		{"x.ent.spf.example.net.", "v=spf1 -all", 60, nil},
		{"_s.abc.spf.example.net.", "", 300, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
	}, 7).signedBy(by), &clock
}

func signedQuestion(t testing.TB, name string, qtype uint16) *dns.Msg {
	return onWire(t, new(dns.Msg).SetQuestion(name, qtype).SetEdns0(maxDatagram, true))
}

// checker judges by the keys that the zone publishes, as validators do.
func checker(t testing.TB, s *snapshot, now time.Time) *dnssec.Checker {
	m := onWire(t, s.answer(signedQuestion(t, s.apex, dns.TypeDNSKEY), true))
	var keys []*dns.DNSKEY
	for _, rr := range m.Answer {
		if k, ok := rr.(*dns.DNSKEY); ok {
			keys = append(keys, k)
		}
	}
	require.NotEmpty(t, keys)
	return dnssec.NewChecker(s.apex, keys, now)
}

func TestSignedAnswers(t *testing.T) {
	s, now := signedZone(t)
	c := checker(t, s, *now)
	for _, test := range []struct {
		name   string
		qtype  uint16
		secure int    // sets of records in the answer section
		types  string // of the NSEC record that proves an absence
	}{
		{"spf.example.net.", dns.TypeSOA, 1, ""},
		{"spf.example.net.", dns.TypeNS, 1, ""},
		{"spf.example.net.", dns.TypeDNSKEY, 1, ""},
		{"ns1.spf.example.net.", dns.TypeA, 1, ""},
		{"ns1.spf.example.net.", dns.TypeAAAA, 1, ""},
		{"abc.spf.example.net.", dns.TypeTXT, 1, ""},
		{"aBC.spf.Example.net.", dns.TypeTXT, 1, ""},
		{"_1.abc.spf.example.net.", dns.TypeTXT, 1, ""},
		{"abc.spf.example.net.", dns.TypeANY, 1, ""},
		{"9.2.0.192._s.abc.spf.example.net.", dns.TypeA, 0, "RRSIG NSEC"},
		{"192.0.2.9._s.abc.spf.example.net.", dns.TypeA, 1, ""},
		{"192.0.2.9._s.abc.spf.example.net.", dns.TypeAAAA, 0, "A RRSIG NSEC"},
		{"192.0.2.9._s.abc.spf.example.net.", dns.TypeTXT, 0, "A RRSIG NSEC"},
		{"198.51.100.9._s.abc.spf.example.net.", dns.TypeA, 0, "RRSIG NSEC"},
		{"2.9._s.abc.spf.example.net.", dns.TypeA, 0, "RRSIG NSEC"},
		{"_s.abc.spf.example.net.", dns.TypeA, 0, "RRSIG NSEC"},
		{"ent.spf.example.net.", dns.TypeTXT, 0, "RRSIG NSEC"},
		{"spf.example.net.", dns.TypeTXT, 0, "NS SOA RRSIG NSEC DNSKEY"},
		{"abc.spf.example.net.", dns.TypeMX, 0, "TXT RRSIG NSEC"},
		{"ABC.spf.example.net.", dns.TypeMX, 0, "TXT RRSIG NSEC"},
		{"ns1.spf.example.net.", dns.TypeTXT, 0, "A AAAA RRSIG NSEC"},
		{"none.spf.example.net.", dns.TypeTXT, 0, "RRSIG NSEC NXNAME"},
		{"a.NONE.spf.example.net.", dns.TypeTXT, 0, "RRSIG NSEC NXNAME"},
		{"none.spf.example.net.", dns.TypeDS, 0, "RRSIG NSEC NXNAME"},
	} {
		t.Run(test.name+dns.TypeToString[test.qtype], func(t *testing.T) {
			q := signedQuestion(t, test.name, test.qtype)
			m := onWire(t, s.answer(q, true))
			require.False(t, m.Truncated)
			require.True(t, m.Authoritative)
			require.True(t, m.IsEdns0().Do())
			require.Equal(t, dns.RcodeSuccess, m.Rcode, "RFC 9824 section 3.1")
			packed, err := m.Pack()
			require.NoError(t, err)
			require.LessOrEqual(t, len(packed), maxDatagram)
			reply := c.Read(m)
			if test.secure > 0 {
				require.Len(t, m.Answer, countOf(m.Answer)+test.secure)
				qtype := test.qtype
				if qtype == dns.TypeANY {
					qtype = dns.TypeHINFO
				}
				j, ok := reply.Records(test.name, qtype)
				require.True(t, ok)
				require.Nil(t, j.Fault)
				require.NotEmpty(t, j.Signatures)
				for _, sig := range j.Signatures {
					require.Equal(t, sig.OriginalTTL, sig.TTL)
					require.Equal(t, dnssec.InTime, sig.Urgency())
				}
				require.Equal(t, m.Answer[0].Header().Ttl, m.Answer[1].Header().Ttl)
				return
			}
			j := reply.Denial(test.name, test.qtype)
			require.Nil(t, j.Fault)
			require.True(t, j.Denial.Proven)
			nsec := m.Ns[2].(*dns.NSEC)
			var types []string
			for _, rrtype := range nsec.TypeBitMap {
				types = append(types, dns.TypeToString[rrtype])
			}
			require.Equal(t, test.types, strings.Join(types, " "))
			require.Equal(t, `\000.`+strings.ToLower(test.name), nsec.NextDomain)
			require.EqualValues(t, 300, m.Ns[0].Header().Ttl)
			for _, rr := range m.Ns {
				require.EqualValues(t, 300, rr.Header().Ttl, "RFC 9077 section 3")
			}
			require.Equal(t, strings.Contains(test.types, "NXNAME"), s.answer(unsignedOf(q), true).Rcode == dns.RcodeNameError)
			q.IsEdns0().SetCo()
			m = onWire(t, s.answer(q, true))
			require.True(t, m.IsEdns0().Co())
			require.Equal(t, strings.Contains(test.types, "NXNAME"), m.Rcode == dns.RcodeNameError, "RFC 9824 section 5.1")
			require.Nil(t, c.Read(m).Denial(test.name, test.qtype).Fault)
		})
	}
}

// countOf counts the records that are not signatures.
func countOf(rrs []dns.RR) (n int) {
	for _, rr := range rrs {
		if rr.Header().Rrtype != dns.TypeRRSIG {
			n++
		}
	}
	return n
}

func unsignedOf(q *dns.Msg) *dns.Msg {
	q = q.Copy()
	q.Extra = nil
	return q
}

// Without DO, a client gets the answers of an unsigned zone.
func TestSignedZoneWithoutDO(t *testing.T) {
	s, _ := signedZone(t)
	plain, _ := signedZone(t)
	plain.signer = nil
	for _, name := range []string{"spf", "abc.spf", "none.spf", "192.0.2.1._s.abc.spf", "_1.abc.spf", "ns1.spf"} {
		for _, qtype := range []uint16{dns.TypeTXT, dns.TypeA, dns.TypeSOA, dns.TypeNS, dns.TypeANY, dns.TypeMX} {
			for _, size := range []uint16{0, maxDatagram} {
				q := new(dns.Msg).SetQuestion(name+".example.net.", qtype)
				if size > 0 {
					q.SetEdns0(size, false)
				}
				require.Equal(t, plain.answer(q, true).String(), s.answer(q, true).String())
			}
		}
	}
}

// Signed answers that do not fit come truncated, and whole by TCP.
func TestSignedSizes(t *testing.T) {
	s, now := signedZone(t)
	q := new(dns.Msg).SetQuestion("_1.abc.spf.example.net.", dns.TypeTXT).SetEdns0(512, true)
	m := onWire(t, s.answer(q, true))
	require.True(t, m.Truncated)
	require.Empty(t, m.Answer)
	m = onWire(t, s.answer(q, false))
	require.False(t, m.Truncated)
	j, ok := checker(t, s, *now).Read(m).Records("_1.abc.spf.example.net.", dns.TypeTXT)
	require.True(t, ok)
	require.Nil(t, j.Fault)
	m = onWire(t, s.answer(signedQuestion(t, "spf.example.net.", dns.TypeNS), true))
	require.Len(t, m.Extra, 2+2+1, "addresses of name servers are signed too, and OPT")
	m = onWire(t, s.answer(new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeNS).SetEdns0(512, true), true))
	require.False(t, m.Truncated)
}

// NSEC and signatures can be queried; the type for a nonexistent name cannot.
func TestQuestionsForProofs(t *testing.T) {
	s, now := signedZone(t)
	for _, name := range []string{"abc.spf.example.net.", "none.spf.example.net."} {
		m := onWire(t, s.answer(signedQuestion(t, name, dns.TypeNSEC), true))
		j, ok := checker(t, s, *now).Read(m).Records(name, dns.TypeNSEC)
		require.True(t, ok)
		require.Nil(t, j.Fault)
		require.Equal(t, dns.RcodeSuccess, m.Rcode)
		m = onWire(t, s.answer(new(dns.Msg).SetQuestion(name, dns.TypeRRSIG), true))
		require.Len(t, m.Answer, 1)
		m = onWire(t, s.answer(signedQuestion(t, name, dns.TypeNXNAME), true))
		require.Equal(t, dns.RcodeFormatError, m.Rcode, "RFC 9824 section 3.5")
	}
}

// Signatures are used for a day, and never for other records; their cache is bounded.
func TestSignatureTimes(t *testing.T) {
	s, now := signedZone(t)
	sign := func(name string) *dns.RRSIG {
		return s.answer(signedQuestion(t, name, dns.TypeTXT), true).Answer[1].(*dns.RRSIG)
	}
	first := sign("abc.spf.example.net.")
	require.EqualValues(t, now.Add(-signAhead).Unix(), first.Inception)
	left := time.Unix(int64(first.Expiration), 0).Sub(*now)
	require.GreaterOrEqual(t, left, onlineValidity)
	require.Less(t, left, onlineValidity+signJitter)
	require.Equal(t, first.Signature, sign("ABC.spf.example.net.").Signature)
	began := *now
	*now = began.Add(resign - time.Second)
	require.Equal(t, first.Signature, sign("abc.spf.example.net.").Signature)
	*now = began.Add(resign + signJitter + time.Second)
	next := sign("abc.spf.example.net.")
	require.NotEqual(t, first.Signature, next.Signature)
	require.Greater(t, next.Expiration, first.Expiration)
	*now = began.Add(-time.Hour)
	require.NotEqual(t, next.Signature, sign("abc.spf.example.net.").Signature, "the clock was set back")
	ends := map[uint32]bool{}
	for n := range 20 {
		m := s.answer(signedQuestion(t, fmt.Sprintf("n%d.spf.example.net.", n), dns.TypeTXT), true)
		ends[m.Ns[3].(*dns.RRSIG).Expiration] = true
	}
	require.Greater(t, len(ends), 10, "not all end at once")
	for n := range 3 * maxSignatures {
		s.signer.remember(identity{byte(n), byte(n >> 8), byte(n >> 16)}, first)
	}
	require.LessOrEqual(t, len(s.signer.young)+len(s.signer.old), 2*maxSignatures)
}

// Two keys: both sign the keys, the first everything else, so that one can replace the other.
func TestTwoKeys(t *testing.T) {
	a, err := NewSigningKey(testZone().Name)
	require.NoError(t, err)
	b, err := NewSigningKey(testZone().Name)
	require.NoError(t, err)
	s, now := signedZone(t, a, b)
	m := onWire(t, s.answer(signedQuestion(t, s.apex, dns.TypeDNSKEY), true))
	for _, key := range []SigningKey{a, b} {
		j, ok := dnssec.NewChecker(s.apex, []*dns.DNSKEY{key.public}, *now).Read(m).Records(s.apex, dns.TypeDNSKEY)
		require.True(t, ok)
		require.Nil(t, j.Fault)
	}
	m = onWire(t, s.answer(signedQuestion(t, "abc.spf.example.net.", dns.TypeTXT), true))
	require.Len(t, m.Answer, 2)
	require.Equal(t, a.public.KeyTag(), m.Answer[1].(*dns.RRSIG).KeyTag)
	_, err = newSigner(&Config{Zone: Zone{Name: diag.MustName("example.org")}, Signing: []SigningKey{a}})
	require.ErrorContains(t, err, "a key of another zone")
}

// The name after another is above it, and nothing fits in between that could be in the zone.
func TestSuccessor(t *testing.T) {
	label := strings.Repeat("a", 63)
	full := label + "." + label + "." + label + "."
	for _, test := range []struct{ name, want string }{
		{"a.example.", `\000.a.example.`},
		{strings.Repeat("a", 60) + "." + full, strings.Repeat("a", 60) + `\000.` + full},
		{strings.Repeat("a", 61) + "." + full, strings.Repeat("a", 60) + "b." + full},
		{strings.Repeat("a", 60) + "@." + full, strings.Repeat("a", 60) + "[." + full},
		{strings.Repeat("a", 60) + `\255.` + full, strings.Repeat("a", 59) + "b." + full},
		{strings.Repeat(`\255`, 61) + "." + full, label[1:] + "b." + label + "." + label + "."},
		{strings.Repeat("a", 59) + `\..` + full, strings.Repeat("a", 59) + `\.\000.` + full},
	} {
		require.Equal(t, test.want, successor(test.name))
	}
	s, now := signedZone(t)
	c := checker(t, s, *now)
	for n := 200; n < 237; n++ {
		name := strings.Repeat("1.", n/2) + strings.Repeat("x", 1+n%2) + ".spf.example.net."
		m := onWire(t, s.answer(signedQuestion(t, name, dns.TypeTXT), true))
		require.Nil(t, c.Read(m).Denial(name, dns.TypeTXT).Fault, name)
	}
}

// What secondaries get is a zone with all signatures, and with proofs of all that is not there.
func TestSignedTransfer(t *testing.T) {
	key, err := NewSigningKey(testZone().Name)
	require.NoError(t, err)
	store := newStore(t, newProfile(1, "v=spf1 -all", long), newProfile(2, "v=spf1 -all"))
	s := serve(t, store, func(c *Config) { c.Key, c.Signing = testKey(), []SigningKey{key} })
	tr := &dns.Transfer{TsigSecret: testKey().secrets()}
	envelopes, err := tr.In(axfr(testKey()), s.Addr())
	require.NoError(t, err)
	sets := map[string][]dns.RR{}
	var nsecs []*dns.NSEC
	sigs := map[string]*dns.RRSIG{}
	for e := range envelopes {
		require.NoError(t, e.Error)
		for _, rr := range e.RR {
			at := rr.Header().Name + dns.TypeToString[rr.Header().Rrtype]
			switch rr := rr.(type) {
			case *dns.RRSIG:
				sigs[rr.Hdr.Name+dns.TypeToString[rr.TypeCovered]] = rr
				left := time.Until(time.Unix(int64(rr.Expiration), 0))
				require.Greater(t, left, expire+resign+signJitter, "longer than the zone is kept (RFC 6781 section 4.4.2.1)")
				continue
			case *dns.NSEC:
				nsecs = append(nsecs, rr)
			case *dns.SOA:
				if len(sets[at]) > 0 {
					continue
				}
			}
			sets[at] = append(sets[at], rr)
		}
	}
	for at, rrs := range sets {
		if assert.NotNil(t, sigs[at], at) {
			assert.NoError(t, sigs[at].Verify(key.public, rrs), at)
		}
	}
	require.Len(t, sigs, len(sets))
	next := map[string]string{}
	for _, nsec := range nsecs {
		next[nsec.Hdr.Name] = nsec.NextDomain
	}
	name, seen := s.current.Load().apex, []string{}
	for !slices.Contains(seen, name) {
		seen, name = append(seen, name), next[name]
	}
	require.Equal(t, []string{
		"spf.example.net.", "h1.spf.example.net.", "_1.h1.spf.example.net.", "h2.spf.example.net.", "ns1.spf.example.net.",
	}, seen)
}

// For secondaries a signed zone changes each day, and new parts are published ahead for as long as resolvers may
// infer the absence of their names.
func TestSignedForSecondaries(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	key, err := NewSigningKey(testZone().Name)
	require.NoError(t, err)
	s, err := New(t.Context(), Config{
		Zone: testZone(), Store: newStore(t), Signing: []SigningKey{key}, Clock: func() time.Time { return now },
		Secondaries: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.9:53")},
	})
	require.NoError(t, err)
	first := s.current.Load().soa.Serial
	now = now.Add(11 * time.Hour)
	require.NoError(t, s.Refresh(t.Context()))
	require.Equal(t, first, s.current.Load().soa.Serial)
	now = now.Add(time.Hour)
	require.NoError(t, s.Refresh(t.Context()))
	require.Greater(t, s.current.Load().soa.Serial, first)
	require.GreaterOrEqual(t, s.lead(), settle+negativeTTL)
}
