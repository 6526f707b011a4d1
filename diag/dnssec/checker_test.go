package dnssec

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every signature is judged separately, and one valid signature is enough for the set.
func TestChecker(t *testing.T) {
	const www, zone = "www.zone.test.", "zone.test."
	cases := []struct {
		name  string
		do    func(*farm, *dns.Msg)
		fault diag.Code
		each  []diag.Code // of the signatures; empty for one that is right
	}{
		{"right", func(*farm, *dns.Msg) {}, "", []diag.Code{""}},
		{"none", func(_ *farm, m *dns.Msg) { m.Answer = m.Answer[:1] }, codeSigMissing, nil},
		{"expired", func(f *farm, m *dns.Msg) {
			m.Answer[1] = f.sign(zone, m.Answer[:1], period(-48*time.Hour, -time.Hour))
		}, codeSigExpired, []diag.Code{codeSigExpired}},
		{"expired beside one that is right", func(f *farm, m *dns.Msg) {
			m.Answer = append(m.Answer, f.sign(zone, m.Answer[:1], period(-48*time.Hour, -time.Hour)))
		}, "", []diag.Code{codeSigExpired, ""}},
		{"corrupt beside one that is right", func(f *farm, m *dns.Msg) {
			sig := dns.Copy(m.Answer[1]).(*dns.RRSIG)
			sig.Expiration++
			m.Answer = append(m.Answer, sig)
		}, "", []diag.Code{codeSigInvalid, ""}},
		{"by a key of another zone", func(f *farm, m *dns.Msg) {
			m.Answer[1] = f.sign("test.", m.Answer[:1])
		}, codeSigSigner, []diag.Code{codeSigSigner}},
		{"changed after it was signed", func(_ *farm, m *dns.Msg) {
			m.Answer[0] = rrs([]string{www + " 300 A 192.0.2.99"})[0]
		}, codeSigInvalid, []diag.Code{codeSigInvalid}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFarm(t)
			m := f.honest(dns.Question{Name: www, Qtype: dns.TypeA})
			c.do(f, m)
			checker := NewChecker(zone, []*dns.DNSKEY{f.keys[zone][0].DNSKEY}, now)
			j, found := checker.Read(m).Records(www, dns.TypeA)
			require.True(t, found)
			var each []diag.Code
			for _, s := range j.Signatures {
				each = append(each, s.Code)
				assert.Equal(t, s.Code == "", s.Valid)
			}
			assert.Equal(t, c.each, each)
			if c.fault == "" {
				assert.Nil(t, j.Fault)
			} else {
				assert.Equal(t, c.fault, j.Fault.Code)
			}
			_, found = checker.Read(m).Records(www, dns.TypeMX)
			assert.False(t, found)
		})
	}
}

// A proof is judged as validation judges it, and so is the expansion of a wildcard.
func TestCheckerDenial(t *testing.T) {
	f := newFarm(t)
	checker := NewChecker("zone.test.", []*dns.DNSKEY{f.keys["zone.test."][0].DNSKEY}, now)
	m := f.honest(dns.Question{Name: "nope.zone.test.", Qtype: dns.TypeA})
	j := checker.Read(m).Denial("nope.zone.test.", dns.TypeA)
	require.Nil(t, j.Fault)
	assert.Equal(t, &Denial{Type: NSEC, Proven: true}, j.Denial)
	assert.Len(t, j.Signatures, 1)
	assert.Equal(t, codeDenialIncomplete, checker.Read(m).Denial("other.zone.test.", dns.TypeA).Fault.Code)
	m.Ns = nil
	assert.Equal(t, codeDenialMissing, checker.Read(m).Denial("nope.zone.test.", dns.TypeA).Fault.Code)
	m.Answer = rrs([]string{"x.zone.test. 300 A 192.0.2.1"})
	wild := rrs([]string{"*.zone.test. 300 A 192.0.2.1"})
	m.Answer = append(m.Answer, f.sign("zone.test.", wild))
	m.Answer[1].Header().Name = "x.zone.test."
	j, _ = checker.Read(m).Records("x.zone.test.", dns.TypeA)
	assert.Equal(t, codeWildcard, j.Fault.Code)
}

// Keys that require more checks than any real zone are abandoned, and that is reported.
func TestCheckerIsBounded(t *testing.T) {
	f := newFarm(t)
	trap(f, 300, 300)
	var keys []*dns.DNSKEY
	for _, rr := range f.records[at("zone.test.", dns.TypeDNSKEY)] {
		keys = append(keys, rr.(*dns.DNSKEY))
	}
	checker := NewChecker("zone.test.", keys, now)
	for range 100 {
		j, _ := checker.Read(f.edited[at("www.zone.test.", dns.TypeA)]).Records("www.zone.test.", dns.TypeA)
		require.False(t, j.Checked())
		require.LessOrEqual(t, len(j.Signatures), maxListed)
	}
	assert.LessOrEqual(t, checker.engine.work.Signatures, checkerLimits.failures)
}

func TestUrgency(t *testing.T) {
	for _, c := range []struct {
		life, left time.Duration
		want       Urgency
	}{
		{30 * 24 * time.Hour, 8 * 24 * time.Hour, InTime},
		{30 * 24 * time.Hour, 2 * 24 * time.Hour, Overdue},
		{30 * 24 * time.Hour, 23 * time.Hour, Urgent},
		{2 * 24 * time.Hour, 23 * time.Hour, InTime}, // made with the answer
		{2 * 24 * time.Hour, 5 * time.Hour, Urgent},
		{365 * 24 * time.Hour, 46 * 24 * time.Hour, InTime},
		{365 * 24 * time.Hour, 45 * 24 * time.Hour, Overdue},
	} {
		s := Signature{Inception: now, Expiration: now.Add(c.life), ExpiresInSeconds: int64(c.left / time.Second)}
		assert.Equal(t, c.want, s.Urgency(), "%v of %v", c.left, c.life)
	}
}
