package dnssec

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"testing"
	"time"

	"github.com/cloudflare/circl/sign/ed448"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// publicRSA writes an RSA key as DNSKEY records do.
func publicRSA(n, e *big.Int) string {
	exponent := e.Bytes()
	b := append([]byte{byte(len(exponent))}, exponent...)
	if len(exponent) > 255 {
		b = append([]byte{0, byte(len(exponent) >> 8), byte(len(exponent))}, exponent...)
	}
	return base64.StdEncoding.EncodeToString(append(b, n.Bytes()...))
}

func TestParsePublicKey(t *testing.T) {
	odd := func(bits int) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		return n.Add(n, big.NewInt(1))
	}
	f4 := big.NewInt(65537)
	cases := []struct {
		name      string
		algorithm uint8
		key       string
		bits      int // 0: it cannot be used
	}{
		{"RSA", dns.RSASHA256, publicRSA(odd(2048), f4), 2048},
		{"RSA, small", dns.RSASHA1, publicRSA(odd(512), f4), 512},
		{"RSA, too small", dns.RSASHA256, publicRSA(odd(511), f4), 0},
		{"RSA, largest", dns.RSASHA512, publicRSA(odd(4096), f4), 4096},
		{"RSA, too large", dns.RSASHA512, publicRSA(odd(4097), f4), 0},
		{"RSA, exponent of 33 bits", dns.RSASHA256, publicRSA(odd(2048), odd(33)), 2048},
		{"RSA, large exponent", dns.RSASHA256, publicRSA(odd(2048), odd(64)), 0},
		{"RSA, long exponent", dns.RSASHA256, publicRSA(odd(2048), odd(2100)), 0},
		{"RSA, exponent 1", dns.RSASHA256, publicRSA(odd(2048), big.NewInt(1)), 0},
		{"RSA, even", dns.RSASHA256, publicRSA(new(big.Int).Lsh(big.NewInt(1), 2047), f4), 0},
		{"RSA, cut off", dns.RSASHA256, base64.StdEncoding.EncodeToString([]byte{3, 1, 0, 1}), 0},
		{"RSA, no exponent", dns.RSASHA256, base64.StdEncoding.EncodeToString(make([]byte, 200)), 0},
		{"RSA, nothing", dns.RSASHA256, "", 0},
		{"no base64", dns.RSASHA256, "%", 0},
		{"P-256, not on the curve", dns.ECDSAP256SHA256, base64.StdEncoding.EncodeToString(make([]byte, 64)), 0},
		{"P-384, short", dns.ECDSAP384SHA384, base64.StdEncoding.EncodeToString(make([]byte, 64)), 0},
		{"Ed25519", dns.ED25519, base64.StdEncoding.EncodeToString(make([]byte, 32)), 256},
		{"Ed25519, short", dns.ED25519, base64.StdEncoding.EncodeToString(make([]byte, 31)), 0},
		{"Ed448", dns.ED448, base64.StdEncoding.EncodeToString(make([]byte, 57)), 456},
		{"Ed448, short", dns.ED448, base64.StdEncoding.EncodeToString(make([]byte, 56)), 0},
		{"unknown algorithm", 200, publicRSA(odd(2048), f4), 0},
	}
	for _, c := range cases {
		k, err := parsePublicKey(&dns.DNSKEY{Algorithm: c.algorithm, PublicKey: c.key})
		if c.bits == 0 {
			assert.Error(t, err, c.name)
			continue
		}
		if assert.NoError(t, err, c.name) {
			assert.Equal(t, c.bits, k.bits, c.name)
			assert.False(t, k.verify([]byte("data"), []byte("no signature")), c.name)
			assert.False(t, k.verify([]byte("data"), nil), c.name)
		}
	}
}

// Keys that crypto/rsa refuses are held against signatures made by hand, and those of usual size
// against crypto/rsa.
func TestRSA(t *testing.T) {
	for _, bits := range []int{512, 1024, 2048} {
		p, q := prime(t, bits/2), prime(t, bits/2)
		n := new(big.Int).Mul(p, q)
		e := big.NewInt(65537)
		one := big.NewInt(1)
		phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
		d := new(big.Int).ModInverse(e, phi)
		require.NotNil(t, d)
		for hash, prefix := range prefixes {
			k := &rsaKey{hash, n, e}
			h := hash.New()
			h.Write([]byte("data"))
			size := (n.BitLen() + 7) / 8
			tail := prefix + string(h.Sum(nil))
			if size < len(tail)+11 {
				continue
			}
			padded := []byte{0, 1}
			for len(padded) < size-len(tail)-1 {
				padded = append(padded, 0xff)
			}
			padded = append(append(padded, 0), tail...)
			signature := new(big.Int).Exp(new(big.Int).SetBytes(padded), d, n).FillBytes(make([]byte, size))
			assert.True(t, k.verify([]byte("data"), signature), "%d %v", bits, hash)
			assert.True(t, k.verifyPlain(h.Sum(nil), signature, size))
			assert.False(t, k.verify([]byte("date"), signature))
			signature[size-1] ^= 1
			assert.False(t, k.verify([]byte("data"), signature))
			assert.False(t, k.verifyPlain(h.Sum(nil), signature, size))
		}
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	h := crypto.SHA256.New()
	h.Write([]byte("data"))
	signature, err := rsa.SignPKCS1v15(nil, private, crypto.SHA256, h.Sum(nil))
	require.NoError(t, err)
	k := &rsaKey{crypto.SHA256, private.N, big.NewInt(int64(private.E))}
	assert.True(t, k.verify([]byte("data"), signature))
	assert.True(t, k.verifyPlain(h.Sum(nil), signature, 256))
}

func prime(t *testing.T, bits int) *big.Int {
	p, err := rand.Prime(rand.Reader, bits)
	require.NoError(t, err)
	return p
}

func TestEd448(t *testing.T) {
	public, private, err := ed448.GenerateKey(nil)
	require.NoError(t, err)
	k, err := parsePublicKey(&dns.DNSKEY{Algorithm: dns.ED448, PublicKey: base64.StdEncoding.EncodeToString(public)})
	require.NoError(t, err)
	signature := ed448.Sign(private, []byte("data"), "")
	assert.True(t, k.verify([]byte("data"), signature))
	assert.False(t, k.verify([]byte("date"), signature))
}

// A memo remembers what is right, and nothing else, and forgets what it has no room for.
func TestMemo(t *testing.T) {
	f := newFarm(t)
	k := newKey(f.keys["zone.test."][0].DNSKEY)
	set := rrs([]string{"www.zone.test. 300 A 192.0.2.1"})
	sig := f.sign("zone.test.", set)
	m := newMessage(&dns.Msg{Answer: set}, nil)
	data := signedData(sig, must("zone.test."), m.answer[at("www.zone.test.", dns.TypeA)])
	signature, err := base64.StdEncoding.DecodeString(sig.Signature)
	require.NoError(t, err)
	var known memo
	assert.True(t, known.check(k, data, signature))
	assert.True(t, known.check(k, data, signature))
	assert.False(t, known.check(k, append(data, 0), signature))
	assert.False(t, known.check(k, data, append(signature, 0)))
	assert.Len(t, known.current, 1)
	for i := range 3 * memoSize {
		known.remember([32]byte{byte(i), byte(i >> 8), byte(i >> 16)})
		require.LessOrEqual(t, len(known.current)+len(known.previous), 2*memoSize)
	}
	assert.False(t, known.knows(digestOf(k, data, signature)))
}

// The canonical form of RFC 4034 section 6: names in lower case for the types that are listed, and
// only for those; sorted by data, without duplicates.
func TestCanonical(t *testing.T) {
	cases := []struct {
		lines []string
		want  []string // data in hexadecimal
	}{
		{[]string{"x. A 192.0.2.2", "X. A 192.0.2.1", "x. A 192.0.2.2"}, []string{"c0000201", "c0000202"}},
		{[]string{"x. MX 10 Mail.X."}, []string{"000a046d61696c017800"}},
		{[]string{"x. NSEC A.X. A"}, []string{"014101580000" + "0140"}},
		{[]string{"x. SRV 1 2 3 A."}, []string{"000100020003016100"}},
		{[]string{"x. SOA A. B. 1 2 3 4 5"}, []string{"016100016200" + "0000000100000002000000030000000400000005"}},
		{[]string{"x. NAPTR 1 2 \"S\" \"\" \"\" A."}, []string{"00010002" + "0153" + "00" + "00" + "016100"}},
		{[]string{"x. SVCB 1 A."}, []string{"0001014100"}},
		{[]string{`x. TXT "A"`}, []string{"0141"}},
		{[]string{`x. TYPE65280 \# 2 4142`}, []string{"4142"}},
		{[]string{"x. RP A. B."}, []string{"016100016200"}},
	}
	for _, c := range cases {
		records := rrs(c.lines)
		set := newMessage(&dns.Msg{Answer: records}, nil).answer[at("x.", records[0].Header().Rrtype)]
		var got []string
		for _, d := range set.canonical() {
			got = append(got, hex.EncodeToString(d))
		}
		assert.Equal(t, c.want, got, "%v", c.lines)
	}
}

// The signed data are those of the library, for all types whose names must be in lower case.
func TestSignedDataAgainstTheLibrary(t *testing.T) {
	f := newFarm(t)
	k := newKey(f.keys["zone.test."][0].DNSKEY)
	for _, line := range []string{
		"Zone.test. 300 NS A.", "zone.test. 300 MD A.", "zone.test. 300 MF A.", "zone.test. 300 CNAME A.",
		"zone.test. 300 SOA A. B. 1 2 3 4 5",
		"zone.test. 300 MB A.", "zone.test. 300 MG A.", "zone.test. 300 MR A.", "zone.test. 300 PTR A.",
		"zone.test. 300 MINFO A. B.",
		"zone.test. 300 MX 1 A.", "zone.test. 300 RP A. B.", "zone.test. 300 AFSDB 1 A.", "zone.test. 300 RT 1 A.",
		"zone.test. 300 PX 1 A. B.",
		"zone.test. 300 NAPTR 1 2 \"a\" \"b\" \"c\" A.", "zone.test. 300 KX 1 A.", "zone.test. 300 SRV 1 2 3 A.",
		"zone.test. 300 DNAME A.",
		"zone.test. 300 HINFO A B", `zone.test. 300 TXT "A" "\"\000"`, "zone.test. 300 CAA 0 issue \"A\"",
		"zone.test. 300 HTTPS 1 . alpn=h2",
		"zone.test. 300 AAAA 2001:db8::1", "zone.test. 300 TLSA 3 1 1 AABB", "zone.test. 300 LOC 1 N 1 E 1m",
		"*.zone.test. 300 A 192.0.2.1",
	} {
		set := rrs([]string{line})
		sig := f.sign("zone.test.", set)
		of := at(set[0].Header().Name, set[0].Header().Rrtype)
		m := newMessage(&dns.Msg{Answer: append(set, sig)}, nil)
		v := &engine{now: now, memo: new(memo), limits: usual}
		_, failure := v.verify(m.answer[of], must("zone.test."), []*key{k}, nil, nil)
		assert.Nil(t, failure, line)
	}
}

// Times of 32 bits are those nearest to now.
func TestSerialTime(t *testing.T) {
	assert.Equal(t, now, resolve.SerialTime(uint32(now.Unix()), now))
	later := time.Date(2106, 2, 7, 6, 28, 17, 0, time.UTC)
	assert.Equal(t, later, resolve.SerialTime(uint32(later.Unix()), time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)))
	before := time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, before, resolve.SerialTime(uint32(before.Unix()), later))
}
