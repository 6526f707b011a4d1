package dnssec

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rekey gives a zone of a farm other keys, of which the first signs and has the DS record.
func (f *farm) rekey(zone string, keys ...signingKey) {
	f.remove(zone, dns.TypeDNSKEY)
	f.remove(zone, dns.TypeDS)
	f.remove(zone, dns.TypeNS)
	f.zone(zone, keys...)
}

// remarks are farms in which validation succeeds with a finding.
var remarks = []struct {
	name string
	do   func(*farm)
	want []diag.Code
}{
	{"in order", func(*farm) {}, []diag.Code{}},
	{"signatures about to expire", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(-30*24*time.Hour, 3*24*time.Hour))
	}, []diag.Code{"dnssec.signature.expiring"}},
	{"signatures that expire tonight", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(-30*24*time.Hour, 23*time.Hour))
	}, []diag.Code{"dnssec.signature.urgent"}},
	{"one signature of two expires tonight", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer = append(m.Answer, f.sign("zone.test.", m.Answer[:1], period(-30*24*time.Hour, 23*time.Hour)))
		})
	}, []diag.Code{"dnssec.signature.urgent"}},
	{"signatures of an online signer", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(-24*time.Hour, 23*time.Hour))
	}, []diag.Code{}},
	{"longer TTL than signed", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer[0] = dns.Copy(m.Answer[0])
			m.Answer[0].Header().Ttl = 86400
		})
	}, []diag.Code{"dnssec.ttl.exceeded"}},
	{"one signature has expired", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer = append(m.Answer, f.sign("zone.test.", m.Answer[:1], period(-time.Hour, -time.Minute)))
		})
	}, []diag.Code{"dnssec.signature.stray"}},
	{"RSA of 1024 bits with SHA-512", func(f *farm) {
		f.rekey("zone.test.", f.key("zone.test.", dns.RSASHA512, 1024, 257))
	}, []diag.Code{"dnssec.key.weak", "dnssec.algorithm.discouraged"}},
	{"RSA with SHA-1", func(f *farm) {
		f.rekey("zone.test.", f.key("zone.test.", dns.RSASHA1, 2048, 257))
	}, []diag.Code{"dnssec.algorithm.deprecated"}},
	{"DS with SHA-1", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.put(f.keys["zone.test."][0].ToDS(dns.SHA1))
	}, []diag.Code{"dnssec.digest.sha1"}},
	{"DS of an algorithm that does not sign", func(f *farm) {
		other := f.key("zone.test.", dns.ED25519, 256, 257)
		f.put(other.DNSKEY, other.ToDS(dns.SHA256))
	}, []diag.Code{"dnssec.algorithm.incomplete"}},
	{"two keys of one tag", func(f *farm) { collide(f, 2) }, []diag.Code{"dnssec.key.collision"}},
	{"island", func(f *farm) { f.remove("zone.test.", dns.TypeDS) }, []diag.Code{"dnssec.ds.island"}},
	{"salt and iterations", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			n, _ := parseName("www.zone.test.")
			hash := hashName(n, "\xaa\xbb", 3)
			nsec3 := f.nsec3("zone.test.", hash, beside(hash, 1), 3, 0, dns.TypeTXT)[:1]
			nsec3[0].(*dns.NSEC3).Salt, nsec3[0].(*dns.NSEC3).SaltLength = "AABB", 2
			m.Answer, m.Ns = nil, append(nsec3, f.sign("zone.test.", nsec3))
		})
	}, []diag.Code{"dnssec.nsec3.iterations"}},
	{"revoked trust anchor", func(f *farm) {
		old := *f.key(".", dns.ECDSAP256SHA256, 256, 257, 2).DNSKEY
		old.Flags |= dns.REVOKE
		f.put(&old)
	}, []diag.Code{"dnssec.anchor.revoked"}},
}

// judged returns the verdicts on all of them.
func judged(t *testing.T) []diag.Verdict {
	var list []diag.Verdict
	for _, c := range remarks {
		t.Run(c.name, func(t *testing.T) {
			f := newFarm(t)
			env := f.env()
			c.do(f)
			if c.name == "revoked trust anchor" {
				env.TrustAnchors = append(env.TrustAnchors, f.key(".", dns.ECDSAP256SHA256, 256, 257, 2).ToDS(dns.SHA256))
			}
			v := Validator{Env: env, memo: new(memo), fullReport: true}
			r, err := v.Validate(t.Context(), "www.zone.test.", dns.TypeA)
			require.NoError(t, err)
			require.NotEqual(t, diag.Bogus, r.Status, "%v", r.Failure)
			verdict := rules.Judge(r, texts)
			assert.ElementsMatch(t, c.want, diagtest.Codes(verdict), "%v", verdict.Findings)
			list = append(list, verdict)
		})
	}
	v := Validator{Env: newFarm(t).env(), Exempt: []string{"zone.test"}}
	exempted, err := v.Validate(t.Context(), "www.zone.test.", dns.TypeA)
	require.NoError(t, err)
	require.Equal(t, diag.Insecure, exempted.Status)
	v = Validator{Env: newFarm(t).env(), Anchors: rrs([]string{"elsewhere. DS 1 13 2 " + wrongDigest})}
	unanchored, err := v.Validate(t.Context(), "www.zone.test.", dns.TypeA)
	require.NoError(t, err)
	require.Equal(t, diag.Indeterminate, unanchored.Status)
	broken := &Result{Status: diag.Bogus, Failure: &ChainFault{Zone: "zone.test", Code: codeSigExpired, Message: "It expired"}}
	for _, r := range []*Result{
		exempted, unanchored,
		{Status: diag.Indeterminate, Failure: &ChainFault{Zone: ".", Code: codeStripped, Message: "No signatures"}},
		{Status: diag.Secure, Resolver: &ChainFault{Zone: ".", Code: codeStripped, Message: "No signatures"}},
		{Status: diag.Secure, extraResults: []*Result{broken}},
		{Status: diag.Secure, extraResults: []*Result{{Status: diag.Secure}}},
		{Status: diag.Secure, Rcode: dns.RcodeNameError},
	} {
		list = append(list, rules.Judge(r, texts))
	}
	return list
}

// A missing answer is not a fault of the domain.
func TestIgnoranceIsNoError(t *testing.T) {
	for _, r := range rules.Describe() {
		if r.State == diag.Unknown && r.Severity > diag.Warning {
			t.Errorf("%s is of severity %s", r.Code, r.Severity)
		}
	}
}
