package dnssec

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const wrongDigest = "2BB183AF5F22588179A53B0A98631FAD1A292118AB9CA9DF10C2F9A5E5D34A19"

// A fate is the outcome of a query in a modified farm.
type fate struct {
	name   string
	do     func(*farm)
	query  string // name and type; empty means www.zone.test. A
	status diag.DNSSECStatus
	code   diag.Code
	zone   string // where the fault lies
}

func (c fate) question() (string, uint16) {
	name, qtype, ok := strings.Cut(c.query, " ")
	if !ok {
		return "www.zone.test.", dns.TypeA
	}
	return name, dns.StringToType[qtype]
}

func drop(rrtype uint16) func(*dns.Msg) {
	return func(m *dns.Msg) {
		unwanted := func(rr dns.RR) bool { return rr.Header().Rrtype == rrtype }
		m.Answer, m.Ns = slices.DeleteFunc(m.Answer, unwanted), slices.DeleteFunc(m.Ns, unwanted)
	}
}

// resigned replaces an answer by the same records with a signature that was changed before it was made.
func resigned(f *farm, name string, rrtype uint16, zone string, change func(*dns.RRSIG)) {
	f.edit(name, rrtype, func(m *dns.Msg) {
		drop(dns.TypeRRSIG)(m)
		m.Answer = append(m.Answer, f.sign(zone, m.Answer, change))
	})
}

func period(from, to time.Duration) func(*dns.RRSIG) {
	return func(s *dns.RRSIG) {
		s.Inception, s.Expiration = uint32(now.Add(from).Unix()), uint32(now.Add(to).Unix())
	}
}

func rcode(code int) func(*dns.Msg) {
	return func(m *dns.Msg) { *m = dns.Msg{MsgHdr: dns.MsgHdr{Rcode: code}} }
}

// chainFates break the chain above the answer.
var chainFates = []fate{
	{"in order", func(*farm) {}, "", diag.Secure, "", ""},
	{"no anchor matches", func(f *farm) {
		f.rekey(".", f.key(".", dns.ECDSAP256SHA256, 256, 257, 1))
	}, "", diag.Bogus, codeAnchorMismatch, "."},
	{"question for DS fails", func(f *farm) {
		f.edit("zone.test.", dns.TypeDS, rcode(dns.RcodeServerFailure))
	}, "", diag.Indeterminate, codeDSUnavailable, "test"},
	{"silence about DS", func(f *farm) {
		f.errors[at("zone.test.", dns.TypeDS)] = errors.New("nobody there")
	}, "", diag.Indeterminate, codeDSUnavailable, "test"},
	{"DS of another key", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.add("zone.test. 300 DS 4711 13 2 " + wrongDigest)
	}, "", diag.Bogus, codeDSMismatch, "zone.test"},
	{"digest of another key", func(f *farm) {
		ds := f.keys["zone.test."][0].ToDS(dns.SHA256)
		ds.Digest = wrongDigest
		f.remove("zone.test.", dns.TypeDS)
		f.put(ds)
	}, "", diag.Bogus, codeDSMismatch, "zone.test"},
	{"algorithm of DS differs", func(f *farm) {
		ds := f.keys["zone.test."][0].ToDS(dns.SHA256)
		ds.Algorithm = dns.RSASHA256
		f.remove("zone.test.", dns.TypeDS)
		f.put(ds)
	}, "", diag.Bogus, codeDSMismatch, "zone.test"},
	{"DS of a revoked key", func(f *farm) {
		k := f.key("zone.test.", dns.ECDSAP256SHA256, 256, 257|dns.REVOKE)
		f.remove("zone.test.", dns.TypeDNSKEY)
		f.remove("zone.test.", dns.TypeDS)
		f.zone("zone.test.", k)
	}, "", diag.Bogus, codeDSRevoked, "zone.test"},
	{"DS of a key that is not for zones", func(f *farm) {
		k := f.key("zone.test.", dns.ECDSAP256SHA256, 256, 1)
		f.remove("zone.test.", dns.TypeDNSKEY)
		f.remove("zone.test.", dns.TypeDS)
		f.zone("zone.test.", k)
	}, "", diag.Bogus, codeKeyUnusable, "zone.test"},
	{"DS of a wildcard", func(f *farm) {
		resigned(f, "zone.test.", dns.TypeDS, "test.", func(s *dns.RRSIG) { s.Labels = 1 })
	}, "", diag.Bogus, codeDSWildcard, "test"},
	{"unsigned DS", func(f *farm) {
		f.edit("zone.test.", dns.TypeDS, drop(dns.TypeRRSIG))
	}, "", diag.Bogus, codeSigMissing, "test"},
	{"DS signed by the zone below", func(f *farm) {
		f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) {
			drop(dns.TypeRRSIG)(m)
			m.Answer = append(m.Answer, f.sign("zone.test.", m.Answer))
		})
	}, "", diag.Bogus, codeSigSigner, "test"},
	{"expired DS", func(f *farm) {
		resigned(f, "zone.test.", dns.TypeDS, "test.", period(-48*time.Hour, -time.Second))
	}, "", diag.Bogus, codeSigExpired, "test"},
	{"no keys", func(f *farm) { f.remove("zone.test.", dns.TypeDNSKEY) }, "", diag.Bogus, codeKeysMissing, "zone.test"},
	{"question for keys fails", func(f *farm) {
		f.edit("zone.test.", dns.TypeDNSKEY, rcode(dns.RcodeServerFailure))
	}, "", diag.Indeterminate, codeKeysUnavailable, "zone.test"},
	{"silence about keys", func(f *farm) {
		f.errors[at("zone.test.", dns.TypeDNSKEY)] = errors.New("nobody there")
	}, "", diag.Indeterminate, codeKeysUnavailable, "zone.test"},
	{"unsigned keys", func(f *farm) {
		f.edit("zone.test.", dns.TypeDNSKEY, drop(dns.TypeRRSIG))
	}, "", diag.Bogus, codeSigMissing, "zone.test"},
	{"keys signed by one that nobody vouches for", func(f *farm) {
		other := f.key("zone.test.", dns.ECDSAP256SHA256, 256, 257, 1)
		f.put(other.DNSKEY)
		f.edit("zone.test.", dns.TypeDNSKEY, func(m *dns.Msg) {
			drop(dns.TypeRRSIG)(m)
			m.Answer = append(m.Answer, f.signWith(other, "zone.test.", m.Answer))
		})
	}, "", diag.Bogus, codeKeysSigner, "zone.test"},
	{"no proof that there is no DS", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.edit("zone.test.", dns.TypeDS, drop(dns.TypeNSEC))
	}, "", diag.Bogus, codeDelegation, "test"},
	{"proof that there is no DS from below", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) {
			nsec := rrs([]string{`zone.test. 300 NSEC \000.zone.test. NS SOA RRSIG NSEC DNSKEY`})
			m.Ns = append(nsec, f.sign("test.", nsec))
		})
	}, "", diag.Bogus, codeDelegation, "test"},
	{"proof that there is a DS", func(f *farm) {
		f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) {
			nsec := rrs([]string{`zone.test. 300 NSEC \000.zone.test. NS DS RRSIG NSEC`})
			m.Answer, m.Ns = nil, append(nsec, f.sign("test.", nsec))
		})
	}, "", diag.Bogus, codeDenialContradict, "test"},
	{"no DS", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.remove("zone.test.", dns.TypeDNSKEY)
	}, "", diag.Insecure, codeDSMissing, "zone.test"},
	{"unknown algorithm", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.add("zone.test. 300 DS 4711 200 2 " + wrongDigest)
	}, "", diag.Insecure, codeDSUnsupported, "zone.test"},
	{"unknown digest", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.add("zone.test. 300 DS 4711 13 77 AABB")
	}, "", diag.Insecure, codeDSUnsupported, "zone.test"},
	{"unknown algorithm beside one that does not match", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.add("zone.test. 300 DS 4711 200 2 "+wrongDigest, "zone.test. 300 DS 4711 13 2 "+wrongDigest)
	}, "", diag.Bogus, codeDSMismatch, "zone.test"},
	{"unknown algorithm beside one that matches", func(f *farm) {
		f.add("zone.test. 300 DS 4711 200 2 " + wrongDigest)
	}, "", diag.Secure, "", ""},
	{"SHA-1 does not count beside SHA-256", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.put(f.keys["zone.test."][0].ToDS(dns.SHA1))
		f.add("zone.test. 300 DS 4711 13 2 " + wrongDigest)
	}, "", diag.Bogus, codeDSMismatch, "zone.test"},
}

// redirect answers for a name below a DNAME record, with an alias to a target.
func (f *farm) redirect(target string) {
	for _, rrtype := range []uint16{dns.TypeA, dns.TypeCNAME} {
		f.edit("www.old.zone.test.", rrtype, func(m *dns.Msg) {
			m.Answer, m.Ns = f.signed("zone.test.", "old.zone.test. 300 DNAME zone.test."), nil
			if target != "" {
				m.Answer = append(m.Answer, rrs([]string{"www.old.zone.test. 300 CNAME " + target})...)
			}
		})
	}
}

// hashed makes an NSEC3 record about a name.
func (f *farm) hashed(zone, name string, iterations uint16, flags uint8, types ...uint16) []dns.RR {
	n, _ := parseName(name)
	hash := hashName(n, "", int(iterations))
	return f.nsec3(zone, hash, beside(hash, 1), iterations, flags, types...)
}

// covering makes an NSEC3 record for a gap in which a name lies.
func (f *farm) covering(zone, name string, iterations uint16, flags uint8) []dns.RR {
	n, _ := parseName(name)
	hash := hashName(n, "", int(iterations))
	return f.nsec3(zone, beside(hash, -1), beside(hash, 1), iterations, flags, dns.TypeA)
}

// beside returns a hash that lies a bit before or after another.
func beside(hash string, by int) string {
	b := []byte(hash)
	middle := int(b[10])<<8 | int(b[11])
	middle += by
	b[10], b[11] = byte(middle>>8), byte(middle)
	return string(b)
}

func (f *farm) nsec3(zone, hash, next string, iterations uint16, flags uint8, types ...uint16) []dns.RR {
	set := []dns.RR{&dns.NSEC3{
		Hdr: dns.RR_Header{
			Name: strings.ToLower(base32hex.EncodeToString([]byte(hash))) + "." + zone, Rrtype: dns.TypeNSEC3,
			Class: dns.ClassINET, Ttl: 300,
		},
		Hash: dns.SHA1, Flags: flags, Iterations: iterations, HashLength: 20,
		NextDomain: base32hex.EncodeToString([]byte(next)), TypeBitMap: types,
	}}
	return append(set, f.sign(zone, set))
}

// TestFates asks in each farm, and holds all findings against the table of rules.
func TestFates(t *testing.T) {
	var seen []diag.Verdict
	for _, fates := range [][]fate{chainFates, answerFates, denialFates, aliasFates, workFates} {
		for _, c := range fates {
			t.Run(c.name, func(t *testing.T) {
				f := newFarm(t)
				env := f.env()
				c.do(f)
				name, qtype := c.question()
				v := Validator{Env: env, memo: new(memo), fullReport: true}
				r, err := v.Validate(t.Context(), name, qtype)
				require.NoError(t, err)
				seen = append(seen, rules.Judge(r, texts))
				assert.NotEmpty(t, headline(r, seen[len(seen)-1]).Headline)
				assert.Equal(t, c.status, r.Status, "%v", r.Failure)
				if c.code == "" {
					require.Nil(t, r.Failure)
					return
				}
				require.NotNil(t, r.Failure)
				assert.Equal(t, c.code, r.Failure.Code, r.Failure.Message)
				assert.Equal(t, c.zone, r.Failure.Zone, r.Failure.Message)
				assert.Contains(t, diagtest.Codes(seen[len(seen)-1]), c.code)
			})
		}
	}
	seen = append(seen, judged(t)...)
	require.NoError(t, rules.Check())
	for _, r := range slices.Concat(resolverRules, delegationRules, signatureRules, denialRules, answerRules, insecureRules) {
		assert.NotEmpty(t, r.Title, r.Code)
	}
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, rules.Describe(), seen)
}
