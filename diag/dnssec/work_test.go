package dnssec

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// workFates are zones that are made to be expensive.
var workFates = []fate{
	{"many keys of one tag and many signatures", func(f *farm) {
		trap(f, 300, 300)
	}, "", diag.Bogus, codeWork, "zone.test"},
	{"many keys of one tag that cannot be used, and one that can", func(f *farm) {
		k := f.key("zone.test.", dns.RSASHA256, 1024, 256)
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Answer[1] = f.signWith(k, "zone.test.", m.Answer[:1]) })
		for i := range 100 {
			useless := forgedKey("zone.test.", k.KeyTag(), uint64(i))
			f.put(unusable(useless, k.KeyTag()))
		}
		f.put(k.DNSKEY)
	}, "", diag.Secure, "", ""},
	{"two keys of one tag", func(f *farm) { collide(f, 2) }, "", diag.Secure, "", ""},
	{"many DS records and keys of one tag", func(f *farm) {
		tag := f.keys["zone.test."][0].KeyTag()
		f.remove("zone.test.", dns.TypeDNSKEY)
		f.remove("zone.test.", dns.TypeDS)
		for i := range 300 {
			f.put(forgedKey("zone.test.", tag, uint64(i)))
			f.add(fmt.Sprintf("zone.test. 300 DS %d 8 2 %064x", tag, i))
		}
	}, "", diag.Bogus, codeWork, "zone.test"},
	{"deep name in a zone with many iterations", func(f *farm) {
		f.edit(deepName, dns.TypeA, func(m *dns.Msg) {
			m.Rcode = dns.RcodeNameError
			m.Ns = append(f.hashed("zone.test.", "zzz.zone.test.", 50, 0, dns.TypeA), f.covering("zone.test.",
				"y.zone.test.", 50, 0)...)
		})
	}, deepName + " A", diag.Bogus, codeWork, "zone.test"},
}

// deepName has about as many labels as a name can have.
var deepName = strings.Repeat("a.", 110) + "zone.test."

// forgedKey makes an RSA key with a given tag, whose private part is unknown.
func forgedKey(zone string, tag uint16, seed uint64) *dns.DNSKEY {
	r := rand.New(rand.NewPCG(seed, 0))
	b := append([]byte{3, 1, 0, 1}, make([]byte, 128)...)
	for i := range b[4:] {
		b[4+i] = byte(r.Uint32())
	}
	b[4], b[131] = 0xff, b[131]|1
	k := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: zone, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 300},
		Flags: 256, Protocol: 3, Algorithm: dns.RSASHA256,
	}
	for k.PublicKey = base64.StdEncoding.EncodeToString(b); k.KeyTag() != tag; {
		word := uint16(b[10])<<8 | uint16(b[11])
		word += tag - k.KeyTag()
		b[10], b[11] = byte(word>>8), byte(word)
		k.PublicKey = base64.StdEncoding.EncodeToString(b)
	}
	return k
}

// unusable makes the modulus of a key even, and keeps its tag.
func unusable(k *dns.DNSKEY, tag uint16) *dns.DNSKEY {
	b, err := base64.StdEncoding.DecodeString(k.PublicKey)
	if err != nil {
		panic(err)
	}
	for b[131] &^= 1; ; {
		if k.PublicKey = base64.StdEncoding.EncodeToString(b); k.KeyTag() == tag {
			return k
		}
		word := uint16(b[10])<<8 | uint16(b[11])
		word += tag - k.KeyTag()
		b[10], b[11] = byte(word>>8), byte(word)
	}
}

// trap adds keys of one tag to a zone, and signatures to its answers, none of which is right.
func trap(f *farm, keys, signatures int) {
	const tag = 4711
	for i := range keys {
		f.put(forgedKey("zone.test.", tag, uint64(i)))
	}
	f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
		m.Answer = m.Answer[:1]
		for i := range signatures {
			sig := f.sign("zone.test.", m.Answer[:1])
			sig.Algorithm, sig.KeyTag = dns.RSASHA256, tag
			sig.Signature = base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%0128d", i)))
			m.Answer = append(m.Answer, sig)
		}
	})
}

// collide gives a zone several keys with the same tag, as may happen by chance; the last signs.
func collide(f *farm, n int) {
	byTag := map[uint16][]signingKey{}
	for i := 0; ; i++ {
		k := f.key("zone.test.", dns.ECDSAP256SHA256, 256, 256, make([]int, i+2)...)
		byTag[k.KeyTag()] = append(byTag[k.KeyTag()], k)
		same := byTag[k.KeyTag()]
		if len(same) < n {
			continue
		}
		for _, k := range same {
			f.put(k.DNSKEY)
		}
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer[1] = f.signWith(same[n-1], "zone.test.", m.Answer[:1])
		})
		return
	}
}

// A trap costs little: the bound of the checks holds whatever is in the zone.
func TestWorkIsBounded(t *testing.T) {
	for _, c := range workFates {
		t.Run(c.name, func(t *testing.T) {
			f := newFarm(t)
			env := f.env()
			c.do(f)
			name, qtype := c.question()
			v := Validator{Env: env, memo: new(memo), fullReport: true}
			began := time.Now()
			r, err := v.Validate(t.Context(), name, qtype)
			require.NoError(t, err)
			t.Logf("%v, %+v in %v", r.Failure, r.Work, time.Since(began))
			assert.LessOrEqual(t, r.Work.Signatures, maxSignatures)
			assert.LessOrEqual(t, r.Work.Hashes, 8)
			assert.LessOrEqual(t, r.Work.Queries, maxQueries)
		})
	}
}

// A name with as many labels as can be does not lead to more questions than are allowed.
func TestQuestionsAreBounded(t *testing.T) {
	f := newFarm(t)
	f.edit(deepName, dns.TypeA, func(m *dns.Msg) { m.Answer, m.Ns = rrs([]string{deepName + " A 192.0.2.1"}), nil })
	for labels := 1; labels < 110; labels++ {
		f.add(strings.Repeat("a.", labels) + "zone.test. 300 TXT here")
	}
	r := f.validate(deepName, dns.TypeA)
	require.Equal(t, diag.Indeterminate, r.Status)
	require.Equal(t, codeWork, r.Failure.Code)
	require.LessOrEqual(t, len(f.asked), maxQueries)
}
