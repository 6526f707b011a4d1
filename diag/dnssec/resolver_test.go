package dnssec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unreachable is a network in which no host is reachable.
func unreachable(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("the network is unreachable")
}

// bent is a resolver whose answers are changed on the way.
type bent struct {
	diag.Resolver
	change func(*dns.Msg)
}

func (b bent) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	m, err := b.Resolver.Exchange(ctx, q)
	if err != nil {
		return nil, err
	}
	m = m.Copy()
	b.change(m)
	return m, nil
}

// strip removes what belongs to DNSSEC, as forwarders in home routers do.
func strip(m *dns.Msg) {
	for _, section := range []*[]dns.RR{&m.Answer, &m.Ns} {
		*section = slices.DeleteFunc(*section, func(rr dns.RR) bool {
			switch rr.Header().Rrtype {
			case dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeDS:
				return true
			}
			return false
		})
	}
}

func servfail(m *dns.Msg) { m.Rcode, m.Answer, m.Ns = dns.RcodeServerFailure, nil, nil }

// Faults of the resolver are not blamed on the domain: where the authoritative servers can be reached, their answers
// count; where they cannot, nothing is known.
func TestResolverIsNotTheDomain(t *testing.T) {
	fresh := diagtest.Signing{}
	expired := diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.SigExpired}}}
	stale := func(m *dns.Msg) {
		for _, rr := range m.Answer {
			if soa, ok := rr.(*dns.SOA); ok {
				soa.Serial-- // as it was before the last update
			}
		}
	}
	cases := []struct {
		name    string
		signing diagtest.Signing
		change  func(*dns.Msg)
		offline bool
		want    diag.DNSSECStatus
		codes   []diag.Code
	}{
		{"strips", fresh, strip, false, diag.Secure, []diag.Code{codeDiffers}},
		{"strips, servers out of reach", fresh, strip, true, diag.Indeterminate, []diag.Code{codeStripped}},
		{"strips, unsigned zone", diagtest.Signing{Island: true}, strip, false, diag.Insecure,
			[]diag.Code{codeDiffers, "dnssec.ds.island"}},
		{"strips, broken zone", expired, strip, false, diag.Bogus, []diag.Code{codeSigExpired}},
		{"strips, broken zone, servers out of reach", expired, strip, true, diag.Indeterminate, []diag.Code{codeStripped}},
		{"SERVFAIL", fresh, servfail, false, diag.Secure, []diag.Code{codeDiffers}},
		{"SERVFAIL over a broken zone", expired, servfail, false, diag.Bogus, []diag.Code{codeSigExpired}},
		{"SERVFAIL, servers out of reach", fresh, servfail, true, diag.Indeterminate, []diag.Code{codeAnswerUnavailable}},
		{"stale", fresh, stale, false, diag.Secure, []diag.Code{codeDiffers}},
		{"stale, servers out of reach", fresh, stale, true, diag.Bogus, []diag.Code{codeSigInvalid}},
		{"honest", fresh, func(*dns.Msg) {}, false, diag.Secure, []diag.Code{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(zoneText)
			w.Sign("example.com.", c.signing)
			w.ServeZones()
			env := w.NewEnv()
			env.Resolver = bent{w, c.change}
			if c.offline {
				env.Dial = unreachable
			}
			r, err := Check(t.Context(), env, Request{Domain: diag.MustName("example.com")})
			require.NoError(t, err)
			assert.Equal(t, c.want, r.Status, "%+v", r.FirstFailure)
			assert.Equal(t, c.codes, diagtest.CodesOf(r.Findings))
		})
	}
}

// The SOA record of a domain may validate while its hosts do not.
func TestHostsOfTheDomain(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zoneText)
	broken := []diagtest.Broken{{Fault: diagtest.SigCorrupt, Name: "www.example.com"}}
	w.Sign("example.com.", diagtest.Signing{Broken: broken})
	w.ServeZones()
	r, err := Check(t.Context(), anchored(w), Request{Domain: diag.MustName("example.com")})
	require.NoError(t, err)
	assert.Equal(t, diag.Secure, r.Status)
	assert.Equal(t, []diag.Code{"dnssec.names.bogus"}, diagtest.CodesOf(r.Findings))
	assert.Equal(t, "Other records of the domain fail validation", r.Headline)
	r, err = Check(t.Context(), anchored(w), Request{Domain: diag.MustName("example.com"), Type: resolve.Type(dns.TypeNS)})
	require.NoError(t, err)
	assert.Empty(t, r.Findings, "only what was asked for is judged")
}

// The DS records that are proposed make the zone secure once the parent zone has them.
func TestSuggestedDS(t *testing.T) {
	const zone = "zone.test."
	second := func(f *farm) signingKey { return f.key(zone, dns.ECDSAP256SHA256, 256, 257, 1) }
	cases := []struct {
		name string
		do   func(*farm)
		code diag.Code
		want func(*farm) signingKey // the key that is proposed; nil for none
	}{
		{"wrong DS", func(f *farm) {
			f.remove(zone, dns.TypeDS)
			f.add(zone + " 300 DS 4711 13 2 " + wrongDigest)
		}, codeDSMismatch, func(f *farm) signingKey { return f.keys[zone][0] }},
		{"island", func(f *farm) { f.remove(zone, dns.TypeDS) }, codeIsland,
			func(f *farm) signingKey { return f.keys[zone][0] }},
		{"island that is signed by one of two keys", func(f *farm) {
			f.put(second(f).DNSKEY)
			f.edit(zone, dns.TypeDNSKEY, func(m *dns.Msg) {
				drop(dns.TypeRRSIG)(m)
				m.Answer = append(m.Answer, f.signWith(second(f), zone, m.Answer))
			})
			f.remove(zone, dns.TypeDS)
		}, codeIsland, second},
		{"island with expired signatures", func(f *farm) {
			resigned(f, zone, dns.TypeDNSKEY, zone, period(-48*time.Hour, -time.Hour))
			f.remove(zone, dns.TypeDS)
		}, codeIsland, nil},
		{"island whose answer has expired signatures", func(f *farm) {
			resigned(f, "www.zone.test.", dns.TypeA, zone, period(-48*time.Hour, -time.Hour))
			f.remove(zone, dns.TypeDS)
		}, codeIsland, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFarm(t)
			c.do(f)
			r := report(f.validate("www.zone.test.", dns.TypeA))
			i := slices.IndexFunc(r.Recommendations, func(r diag.Recommendation) bool { return r.Code == c.code })
			require.GreaterOrEqual(t, i, 0)
			value := r.Recommendations[i].SuggestedValue
			if c.want == nil {
				require.Empty(t, value)
				return
			}
			ds := c.want(f).ToDS(dns.SHA256)
			require.Equal(t, fmt.Sprintf("zone.test. IN DS %d 13 2 %s", ds.KeyTag, strings.ToUpper(ds.Digest)), value)
			f.remove(zone, dns.TypeDS)
			f.add(value)
			require.Equal(t, diag.Secure, f.validate("www.zone.test.", dns.TypeA).Status)
		})
	}
}

// No record is kept for longer than its signature allows.
func TestTTLIsCut(t *testing.T) {
	f := newFarm(t)
	f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
		m.Answer[0] = dns.Copy(m.Answer[0])
		m.Answer[0].Header().Ttl = 86400
	})
	require.Equal(t, uint32(300), f.validate("www.zone.test.", dns.TypeA).Records[0].Header().Ttl)
	resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(-time.Hour, 40*time.Second))
	require.Equal(t, uint32(40), f.validate("www.zone.test.", dns.TypeA).Records[0].Header().Ttl)
}

// Servers give the records of a set in any order; a report does not.
func TestOrderOfKeys(t *testing.T) {
	f := newFarm(t)
	for i := range 4 {
		f.put(f.key("zone.test.", dns.ECDSAP256SHA256, 256, 256, make([]int, i+1)...).DNSKEY)
	}
	first := report(f.validate("www.zone.test.", dns.TypeA)).Chain
	f.edit("zone.test.", dns.TypeDNSKEY, func(m *dns.Msg) { slices.Reverse(m.Answer) })
	again := report(f.validate("www.zone.test.", dns.TypeA)).Chain
	require.Equal(t, first[2].Keys, again[2].Keys)
	require.True(t, slices.IsSortedFunc(first[2].Keys, func(a, b DNSKEY) int { return int(b.Flags) - int(a.Flags) }))
}
