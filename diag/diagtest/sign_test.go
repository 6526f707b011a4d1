package diagtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const signedZone = `
$ORIGIN example.com.
@             SOA   ns1 hostmaster 1 7200 3600 1209600 300
@             NS    ns1
@             MX    10 mx
ns1           A     192.0.2.53
mx            A     192.0.2.25
mx            AAAA  2001:db8::25
www           CNAME mx
gone          CNAME nowhere
old           DNAME example.com.
a.b.deep      TXT   "here"
*.wild        TXT   "star"
x.y.wild      A     192.0.2.7
*.alias       CNAME mx
\001octet     TXT   "odd"
z.ab          TXT   "before"
ab\000c       TXT   "after"
hidden.old    TXT   "below a DNAME"
Z             TXT   "letter case"
child         NS    ns.child
ns.child      A     192.0.2.54
far.off       NS    ns.child
`

// questions are names and types with what is asked of the proof.
var questions = []struct{ question, want string }{
	{"example.com. MX", "NOERROR"},
	{"example.com. SOA", "NOERROR"},
	{"example.com. DNSKEY", "NOERROR"},
	{"mx.example.com. A", "NOERROR"},
	{"MX.EXAMPLE.com. A", "NOERROR"},
	{"mx.example.com. TXT", "NOERROR"},
	{"www.example.com. AAAA", "NOERROR"},
	{"www.example.com. TXT", "NOERROR"},
	{"gone.example.com. TXT", "NXDOMAIN"},
	{"mx.old.example.com. A", "NOERROR"},
	{"nowhere.example.com. A", "NXDOMAIN"},
	{"aaaa.example.com. A", "NXDOMAIN"},
	{"zzzz.example.com. A", "NXDOMAIN"},
	{"x.y.z.example.com. A", "NXDOMAIN"},
	{"deep.example.com. A", "NOERROR"},
	{"b.deep.example.com. TXT", "NOERROR"},
	{"c.deep.example.com. TXT", "NXDOMAIN"},
	{"some.thing.wild.example.com. TXT", "NOERROR"},
	{"some.thing.wild.example.com. MX", "NOERROR"},
	{"y.wild.example.com. TXT", "NOERROR"},
	{"z.y.wild.example.com. TXT", "NXDOMAIN"},
	{"q.alias.example.com. A", "NOERROR"},
	{"q.alias.example.com. TXT", "NOERROR"},
	{"child.example.com. DS", "NOERROR"},
	{"far.off.example.com. DS", "NOERROR"},
	{"off.example.com. A", "NOERROR"},
	{"x.off.example.com. A", "NXDOMAIN"},
	{"hidden.old.example.com. TXT", "NXDOMAIN"},
	{`\001octet.example.com. TXT`, "NOERROR"},
	{"nowhere.com. A", "NXDOMAIN"},
	{"com. DS", "NOERROR"},
	{"nowhere. A", "NXDOMAIN"},
}

func checkQuestions(t *testing.T, world *diagtest.World, r diag.Resolver) {
	t.Helper()
	v := &validator{resolver: r, anchors: world.Anchors(), now: world.Now()}
	for _, q := range questions {
		name, qtype, _ := strings.Cut(q.question, " ")
		m, err := v.ask(t.Context(), name, dns.StringToType[qtype])
		require.NoError(t, err)
		assert.Equal(t, q.want, dns.RcodeToString[m.Rcode], q.question)
		assert.NoError(t, v.validate(t.Context(), name, dns.StringToType[qtype]), "%s\n%v", q.question, m)
	}
}

func TestWorldVouchesForWhatValidates(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Zone(`
		www.example.org.  A    192.0.2.99
		unsigned.com.     SOA  ns hostmaster 1 1 1 1 1
		unsigned.com.     TXT  "plain"
		other.com.        TXT  "plain too"
	`)
	world.Sign("example.com", diagtest.Signing{})
	world.Zone("island.example.com. SOA ns hostmaster 1 1 1 1 1\nisland.example.com. NS ns1.example.com.")
	world.Sign("island.example.com", diagtest.Signing{Island: true})
	tests := []struct {
		question string
		secure   bool
	}{
		{"mx.example.com. A", true},
		{"www.example.com. A", true},
		{"nowhere.example.com. A", true},
		{"nowhere.com. A", true},
		{"child.example.com. DS", true},
		{"ns.child.example.com. A", false},
		{"island.example.com. SOA", false},
		{"unsigned.com. TXT", false},
		{"other.com. TXT", false},
		{"www.example.org. A", false},
	}
	for _, tt := range tests {
		name, qtype, _ := strings.Cut(tt.question, " ")
		m, err := world.Exchange(t.Context(), dnsmsg.Question(name, dns.StringToType[qtype], false))
		require.NoError(t, err)
		assert.Equal(t, tt.secure, m.AuthenticatedData, tt.question)
		for _, rr := range append(m.Answer, m.Ns...) {
			assert.NotEqual(t, dns.TypeRRSIG, rr.Header().Rrtype, "no signatures without DO")
		}
	}
}

func TestInsecureDelegationsAreProved(t *testing.T) {
	for name, nsec3 := range map[string]*diagtest.NSEC3{"NSEC": nil, "NSEC3": {}, "opt-out": {OptOut: true}} {
		t.Run(name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Server("ns1.example.com", "192.0.2.53", signedZone)
			world.Sign("example.com", diagtest.Signing{NSEC3: nsec3})
			for _, cut := range []string{"child.example.com.", "far.off.example.com."} {
				m, err := ask(t.Context(), world, "tcp", "192.0.2.53", dnsmsg.Question("www."+cut, dns.TypeA, true))
				require.NoError(t, err)
				assert.NoError(t, proveAbsence(m, cut, dns.TypeDS), "%v", m)
				assert.Equal(t, cut, m.Ns[0].Header().Name)
				assert.False(t, m.Authoritative)
			}
		})
	}
}

func TestSecureDelegation(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{Algorithm: dns.ED25519})
	world.ServeZones()
	q := dnsmsg.Question("www.example.com", dns.TypeA, true)
	m, err := ask(t.Context(), world, "udp", world.Host("ns.com")[0].String(), q)
	require.NoError(t, err)
	types := []uint16{}
	for _, rr := range m.Ns {
		types = append(types, rr.Header().Rrtype)
	}
	assert.Equal(t, []uint16{dns.TypeNS, dns.TypeDS, dns.TypeRRSIG}, types, "%v", m)
	assert.Equal(t, world.DS("example.com")[0].Digest, m.Ns[1].(*dns.DS).Digest)
}

func TestKeysAndSignaturesAreTheSameEveryTime(t *testing.T) {
	for _, algorithm := range []uint8{dns.RSASHA256, dns.ECDSAP256SHA256, dns.ED25519} {
		texts := map[string]bool{}
		for range 2 {
			world := diagtest.NewWorld(t)
			world.Zone(signedZone)
			world.Sign("example.com", diagtest.Signing{Algorithm: algorithm})
			m, err := world.Exchange(t.Context(), dnsmsg.Question("example.com", dns.TypeMX, true))
			require.NoError(t, err)
			texts[m.Answer[1].String()] = true
		}
		assert.Len(t, texts, 1)
	}
	world := diagtest.NewWorld(t)
	world.Sign("example.com", diagtest.Signing{})
	before := world.DNSKEY("example.com")
	assert.Len(t, before, 2)
	world.Sign("example.com", diagtest.Signing{Seed: "other", OneKey: true})
	after := world.DNSKEY("example.com")
	assert.Len(t, after, 1)
	assert.NotEqual(t, before[0].PublicKey, after[0].PublicKey)
	assert.Empty(t, world.DNSKEY("example.org"))
}

func TestBrokenSignatures(t *testing.T) {
	tests := []struct {
		broken  diagtest.Broken
		failure string // what the validator says
		code    uint16 // what the world says as a resolver
	}{
		{diagtest.Broken{Fault: diagtest.SigExpired}, "out of its period", dns.ExtendedErrorCodeSignatureExpired},
		{diagtest.Broken{Fault: diagtest.SigNotYetValid}, "out of its period", dns.ExtendedErrorCodeSignatureNotYetValid},
		{diagtest.Broken{Fault: diagtest.SigCorrupt, Type: dns.TypeMX}, "bad signature", dns.ExtendedErrorCodeDNSBogus},
		{diagtest.Broken{Fault: diagtest.SigExpired, Name: "example.com", Type: dns.TypeMX}, "out of its period",
			dns.ExtendedErrorCodeSignatureExpired},
		{diagtest.Broken{Fault: diagtest.SigUnknownKey, Type: dns.TypeMX}, "no such key",
			dns.ExtendedErrorCodeDNSKEYMissing},
		{diagtest.Broken{Fault: diagtest.SigWrongSigner, Type: dns.TypeMX}, "signer is not above",
			dns.ExtendedErrorCodeDNSBogus},
		{diagtest.Broken{Fault: diagtest.SigMissing, Type: dns.TypeMX}, "has no signature",
			dns.ExtendedErrorCodeRRSIGsMissing},
		{diagtest.Broken{Fault: diagtest.DSMismatch}, "not trusted", dns.ExtendedErrorCodeDNSKEYMissing},
	}
	for _, tt := range tests {
		t.Run(string(tt.broken.Fault), func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone(signedZone)
			world.Sign("example.com", diagtest.Signing{Broken: []diagtest.Broken{tt.broken}})
			v := &validator{resolver: world, anchors: world.Anchors(), now: world.Now()}
			assert.ErrorContains(t, v.validate(t.Context(), "example.com.", dns.TypeMX), tt.failure)

			a := diag.Lookup[*dns.MX](t.Context(), world.Env(), "example.com")
			assert.Equal(t, dns.RcodeServerFailure, a.Rcode)
			require.Len(t, a.Extended, 1)
			assert.Equal(t, tt.code, a.Extended[0].InfoCode)
			if tt.broken.Type != 0 {
				assert.NoError(t, v.validate(t.Context(), "mx.example.com.", dns.TypeA))
				assert.True(t, diag.Lookup[*dns.A](t.Context(), world.Env(), "mx.example.com").Authentic)
			}
		})
	}
}

func TestMissingDenial(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DenialMissing}}})
	v := &validator{resolver: world, anchors: world.Anchors(), now: world.Now()}
	assert.NoError(t, v.validate(t.Context(), "mx.example.com.", dns.TypeA))
	assert.ErrorContains(t, v.validate(t.Context(), "no.example.com.", dns.TypeA), "no proof")
	assert.ErrorContains(t, v.validate(t.Context(), "a.wild.example.com.", dns.TypeTXT), "may exist beside")
	assert.True(t, diag.Lookup[*dns.A](t.Context(), world.Env(), "mx.example.com").Authentic)
	assert.Equal(t, diag.Bogus, diag.Lookup[*dns.A](t.Context(), world.Env(), "no.example.com").DNSSEC())
}

func TestUnknownDSMeansInsecure(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DSUnknown}}})
	a := diag.Lookup[*dns.MX](t.Context(), world.Env(), "example.com")
	assert.NoError(t, a.Err())
	assert.False(t, a.Authentic)
}

func TestSignaturesExpireWithTheClock(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{})
	assert.True(t, diag.Lookup[*dns.MX](t.Context(), world.Env(), "example.com").Authentic)
	world.Advance(31 * 24 * time.Hour)
	assert.Equal(t, diag.Bogus, diag.Lookup[*dns.MX](t.Context(), world.Env(), "example.com").DNSSEC())
}

func TestSignedServersValidate(t *testing.T) {
	for name, nsec3 := range map[string]*diagtest.NSEC3{"NSEC": nil, "NSEC3": {Salt: "ab"}, "opt-out": {OptOut: true}} {
		t.Run(name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone(signedZone)
			world.Sign("com", diagtest.Signing{NSEC3: nsec3, Algorithm: dns.ED25519})
			world.Sign("example.com", diagtest.Signing{NSEC3: nsec3})
			world.ServeZones()
			checkQuestions(t, world, walker{world})
		})
	}
}

func TestServersWithContentsOfTheirOwnAreSigned(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{})
	world.ServeZones()
	world.Server("ns1.example.com", "192.0.2.53", signedZone+"mx TXT other")
	v := &validator{resolver: walker{world}, anchors: world.Anchors(), now: world.Now()}
	assert.NoError(t, v.validate(t.Context(), "mx.example.com.", dns.TypeTXT))
	m, err := v.ask(t.Context(), "mx.example.com.", dns.TypeTXT)
	require.NoError(t, err)
	assert.Len(t, m.Answer, 2)

	world.Server("ns1.example.com", "192.0.2.53").Configure(diagtest.ServerConfig{Unsigned: true})
	assert.ErrorContains(t, v.validate(t.Context(), "mx.example.com.", dns.TypeA), "has no signature")
}

func TestOnlyThoseWhoAskAreTold(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{})
	m, err := world.Exchange(t.Context(), new(dns.Msg).SetQuestion("example.com.", dns.TypeMX))
	require.NoError(t, err)
	assert.False(t, m.AuthenticatedData)
	assert.Nil(t, m.IsEdns0())
}

func TestZoneWithDSAndWithoutSignatures(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Zone("example.com. DS 12345 13 2 " + strings.Repeat("ab", 32))
	world.Sign("com", diagtest.Signing{})
	assert.Equal(t, diag.Bogus, diag.Lookup[*dns.MX](t.Context(), world.Env(), "example.com").DNSSEC())
}

func TestServersThatAreMadeUpBelongToTheirZone(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Sign("example.com", diagtest.Signing{})
	world.ServeZones()
	for _, host := range []string{"ns.com", "ns.example.com"} {
		a := diag.Lookup[*dns.A](t.Context(), world.Env(), host)
		assert.True(t, a.Exists() && a.Authentic, host)
	}
}

func TestFaultsAboveAZone(t *testing.T) {
	tests := []struct {
		name   string
		broken diagtest.Broken
		island bool
		want   diag.DNSSECStatus
	}{
		{"none", diagtest.Broken{}, false, diag.Secure},
		{"signature of the DS record", diagtest.Broken{Fault: diagtest.SigExpired, Type: dns.TypeDS}, false, diag.Bogus},
		{"signature of another DS record", diagtest.Broken{Fault: diagtest.SigExpired, Name: "example.net"}, false,
			diag.Secure},
		{"everything", diagtest.Broken{Fault: diagtest.SigMissing}, false, diag.Bogus},
		{"insecure delegation", diagtest.Broken{}, true, diag.Indeterminate},
		{"insecure delegation that is not proved", diagtest.Broken{Fault: diagtest.DenialMissing}, true, diag.Bogus},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone(signedZone)
			signing := diagtest.Signing{}
			if tt.broken.Fault != "" {
				signing.Broken = []diagtest.Broken{tt.broken}
			}
			world.Sign("com", signing)
			world.Sign("example.com", diagtest.Signing{Island: tt.island})
			a := diag.Lookup[*dns.MX](t.Context(), world.Env(), "example.com")
			assert.Equal(t, tt.want, a.DNSSEC())

			v := &validator{resolver: world, anchors: world.Anchors(), now: world.Now()}
			err := v.validate(t.Context(), "example.com.", dns.TypeMX)
			assert.Equal(t, tt.want == diag.Secure, err == nil, "%v", err)
		})
	}
}

func TestRecordsOfDNSSECCanBeAskedFor(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(signedZone)
	world.Sign("example.com", diagtest.Signing{})
	for qtype, want := range map[uint16]map[string]int{
		dns.TypeNSEC:  {"NSEC": 1, "RRSIG": 1},
		dns.TypeRRSIG: {"RRSIG": 2}, // of A and AAAA
		dns.TypeANY:   {"A": 1, "AAAA": 1, "RRSIG": 2},
	} {
		m, err := world.Exchange(t.Context(), dnsmsg.Question("mx.example.com", qtype, true))
		require.NoError(t, err)
		got := map[string]int{}
		for _, rr := range m.Answer {
			got[dns.TypeToString[rr.Header().Rrtype]]++
		}
		assert.Equal(t, want, got, dns.TypeToString[qtype])
	}
}
