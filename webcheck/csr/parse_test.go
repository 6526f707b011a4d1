package csr

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/stretchr/testify/require"
	asn1tag "golang.org/x/crypto/cryptobyte/asn1"
)

// rsa is a plan with an RSA key that did not sign.
func withRSA(n *big.Int, e int64) plan {
	return plan{spki: rsaKey("1.2.840.113549.1.1.1", true, n, big.NewInt(e))}
}

func named2(names ...string) plan { return plan{names: names, subject: [][2]string{}} }

func of(attribute, value string) plan {
	return plan{subject: [][2]string{{attribute, value}, {oidCommonName, "example.com"}}}
}

func armored(label string, p plan) string {
	return strings.ReplaceAll(p.pem(), "CERTIFICATE REQUEST", label)
}

var (
	p256      = namedCurve("1.2.840.10045.3.1.7")
	secp256k1 = namedCurve("1.3.132.0.10")
)

// nearly are two primes that are close together.
func nearly() *big.Int {
	p := prime(1024)
	q := new(big.Int).Add(p, big.NewInt(2))
	for !q.ProbablyPrime(10) {
		q.Add(q, big.NewInt(2))
	}
	return q.Mul(p, q)
}

// Wiener's attack finds d where it is below a third of the fourth root of n.
func wiener() plan {
	p, q := prime(1024), prime(1024)
	n, one := new(big.Int).Mul(p, q), big.NewInt(1)
	phi := new(big.Int).Mul(p.Sub(p, one), q.Sub(q, one))
	for {
		if e := new(big.Int).ModInverse(prime(400), phi); e != nil {
			return plan{spki: rsaKey("1.2.840.113549.1.1.1", true, n, e)}
		}
	}
}

// cases are requests with the findings that they have, without those of an RSA key that did not sign.
func cases() []struct{ name, text, want string } {
	invalid := " csr.signature.invalid"
	good := plan{}.pem()
	garbled := strings.Replace(good, "M", "!", 1)
	lines := strings.Split(good, "\n")
	short := withRSA(new(big.Int).Mul(prime(512), prime(512)), 65537)
	return []struct{ name, text, want string }{
		{"good", good, ""},
		{"several", good + good, "csr.pem.several"},
		{"subject is no sequence", inPEM(withoutSubject()), "csr.der.malformed"},
		{"other label", armored("CERTIFICATE", plan{}), "csr.pem.label"},
		{"indented", "  " + strings.ReplaceAll(good, "\n", "\n  "), "csr.pem.form"},
		{"without END", strings.Join(lines[:len(lines)-2], "\n"), "csr.pem.form"},
		{"garbled", garbled, "csr.pem.malformed"},
		{"cut off", "-----BEGIN CERTIFICATE REQUEST-----\n" + lines[1] + "\n-----END CERTIFICATE REQUEST-----", "csr.der.malformed"},
		{"prose", "please sign this", "csr.pem.missing"},
		{"public key", "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----", "csr.type.other"},
		{"private key", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----", "csr.private_key.present"},
		{"version", plan{version: 2}.pem(), "csr.version.unknown"},
		{"more behind it", plan{behind: []byte{5, 0}}.pem(), "csr.der.trailing"},
		{"broken extension", plan{raw: []extension{{OID: oidKeyUsage, Value: []byte{1}}}}.pem(), "csr.part.malformed"},
		{"broken SAN", plan{names: []string{}, raw: []extension{{OID: oidSAN, Value: []byte{0x30, 3, 0x82, 9, 'a'}}}}.pem(), "csr.part.malformed"},
		{"no list", plan{noList: true}.pem(), "csr.names.san_missing csr.attributes.missing"},
		{"changed", plan{broken: true}.pem(), "csr.signature.invalid"},
		{"signature of RSA", plan{hash: "1.2.840.113549.1.1.11"}.pem(), "csr.signature.invalid"},
		{"signature unknown", plan{hash: "1.2.3.4"}.pem(), "csr.signature.unchecked"},
		{"SHA-1", plan{hash: "1.2.840.10045.4.1"}.pem(), "csr.signature.invalid csr.signature.weak"},

		{"Ed448", plan{spki: []byte("\x30\x43\x30\x05\x06\x03\x2b\x65\x71\x03\x3a\x00" + strings.Repeat("a", 57))}.pem(), "csr.key.algorithm" + invalid},
		{"RSASSA-PSS", plan{spki: rsaKey("1.2.840.113549.1.1.10", false, semiprime(), big.NewInt(65537))}.pem(), "csr.key.identifier" + invalid},
		{"RSA", withRSA(semiprime(), 65537).pem(), invalid},
		{"off the curve", plan{spki: curveKey(p256, append([]byte{4}, make([]byte, 64)...))}.pem(), "csr.key.malformed"},
		{"1024 bits", short.pem(), "csr.key.rsa.size" + invalid},
		{"odd size", withRSA(new(big.Int).Mul(prime(1025), prime(1026)), 65537).pem(), "csr.key.rsa.multiple" + invalid},
		{"2056 bits", withRSA(new(big.Int).SetBit(new(big.Int).Mul(prime(1028), prime(1028)), 2055, 1), 65537).pem(), ""},
		{"exponent 1", withRSA(semiprime(), 1).pem(), "csr.key.rsa.exponent.invalid" + invalid},
		{"exponent 3", withRSA(semiprime(), 3).pem(), "csr.key.rsa.exponent.unusual" + invalid},
		{"close factors", withRSA(nearly(), 65537).pem(), "csr.key.fermat" + invalid},
		{"small secret", wiener().pem(), "csr.key.rsa.exponent.unusual csr.key.small_secret" + invalid},
		{"secp256k1", plan{spki: curveKey(secp256k1, []byte{2})}.pem(), "csr.key.curve.forbidden csr.key.malformed"},
		{"P-521", plan{spki: curveKey(namedCurve("1.3.132.0.35"), p521())}.pem(), "csr.key.curve.compressed csr.key.curve.p521" + invalid},
		{"compressed point", plan{spki: curveKey(p256, append([]byte{2 + basePoint()[63]&1}, basePoint()[:32]...))}.pem(), "csr.key.curve.compressed" + invalid},

		{"nameless", plan{names: []string{}, subject: [][2]string{}}.pem(), "csr.names.none"},
		{"without SAN", plan{names: []string{}}.pem(), "csr.names.san_missing"},
		{"empty SAN", plan{names: []string{}, raw: []extension{{OID: oidSAN, Value: []byte{0x30, 0}}}}.pem(), "csr.names.san_missing"},
		{"underscore", named2("a_b.example.com").pem(), "csr.names.invalid"},
		{"IDN", named2("xn--a.example.com").pem(), "csr.names.idn"},
		{"address as name", named2("8.8.8.8").pem(), "csr.names.ip_as_dns"},
		{"partial wildcard", named2("w*.example.com").pem(), "csr.names.wildcard"},
		{"wildcard of a suffix", named2("*.co.uk").pem(), "csr.names.wildcard_suffix"},
		{"suffix", named2("co.uk").pem(), "csr.names.public_suffix"},
		{"internal", named2("server.corp").pem(), "csr.names.internal"},
		{"reverse", named2("1.0.0.127.in-addr.arpa").pem(), "csr.names.reverse"},
		{"private address", plan{others: []value2{{7, []byte{10, 0, 0, 1}}}}.pem(), "csr.names.reserved_ip"},
		{"email", plan{others: []value2{{1, []byte("a@example.com")}}}.pem(), "csr.names.email"},
		{"URI", plan{others: []value2{{6, []byte("https://example.com")}}}.pem(), "csr.names.uri"},
		{"registered id", plan{others: []value2{{8, []byte{42}}}}.pem(), "csr.names.other"},
		{"duplicate", named2("example.com", "EXAMPLE.com").pem(), "csr.names.duplicate"},
		{"many", named2(hosts(101)...).pem(), "csr.names.many"},
		{"wildcard alone", named2("*.example.com").pem(), "csr.names.apex"},
		{"address as common name", plan{subject: [][2]string{{oidCommonName, "192.0.2.1"}}}.pem(), "csr.cn.ip"},
		{"other common name", plan{subject: [][2]string{{oidCommonName, "www.example.com"}}}.pem(), "csr.cn.not_in_san"},
		{"two common names", of(oidCommonName, "example.com").pem(), "csr.cn.several"},

		{"country", of(oidCountry, "UK").pem(), "csr.subject.country"},
		{"default", of("2.5.4.10", "Internet Widgits Pty Ltd").pem(), "csr.subject.default"},
		{"placeholder", of("2.5.4.10", "-").pem(), "csr.subject.placeholder"},
		{"long", of("2.5.4.10", strings.Repeat("x", 65)).pem(), "csr.subject.length"},
		{"unit", of(oidUnit, "IT").pem(), "csr.subject.unit"},
		{"extension twice", plan{raw: append(purposesOf("1.3.6.1.5.5.7.3.1"), purposesOf("1.3.6.1.5.5.7.3.1")...)}.pem(), "csr.extensions.duplicate"},
		{"CA", plan{raw: []extension{{oidConstraints, true, []byte{0x30, 3, 1, 1, 0xff}}}}.pem(), "csr.constraints.ca"},
		{"signs certificates", plan{raw: []extension{{oidKeyUsage, true, []byte{3, 2, 2, 4}}}}.pem(), "csr.usage.signing"},
		{"key encipherment", plan{raw: []extension{{oidKeyUsage, true, []byte{3, 2, 5, 0x20}}}}.pem(), "csr.usage.unsuitable"},
		{"code signing", plan{raw: purposesOf("1.3.6.1.5.5.7.3.3")}.pem(), "csr.purpose.server"},
		{"server and code signing", plan{raw: purposesOf("1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.3")}.pem(), "csr.purpose.other"},
		{"server and client", plan{raw: purposesOf("1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2")}.pem(), "csr.purpose.client"},
		{"must-staple", plan{raw: []extension{{oidTLSFeature, false, []byte{0x30, 3, 2, 1, 5}}}}.pem(), "csr.staple.required"},
		{"key identifier", plan{raw: []extension{{"2.5.29.14", false, []byte{4, 0}}}}.pem(), ""},
		{"password", plan{password: true}.pem(), "csr.challenge.present"},
	}
}

// withoutSubject has a set in place of its subject.
func withoutSubject() []byte {
	return bytes.Replace(plan{}.encode(), []byte{2, 1, 0, 0x30}, []byte{2, 1, 0, 0x31}, 1)
}

func hosts(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("h%d.example.com", i))
	}
	return list
}

// p521 is the base point of the curve.
func p521() []byte {
	x, _ := new(big.Int).SetString("c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66", 16)
	return append([]byte{2}, x.FillBytes(make([]byte, 66))...)
}

// Each rule is fulfilled by some requests and violated by others.
func TestParse(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Parse(t.Context(), nil, Request{CSR: tt.text})
			require.NoError(t, err)
			seen.Add(r.Judgement())
			if tt.name == "2056 bits" {
				require.Contains(t, diagtest.CodesOf(r.Findings), diag.Code("csr.key.rsa.unusual"))
				return
			}
			require.ElementsMatch(t, strings.Fields(tt.want), words(r.Findings), "%+v", r.Findings)
			for _, rec := range r.Recommendations {
				told := strings.Contains(rec.Detail, "uggested command")
				require.False(t, told && rec.SuggestedValue == "", "there is no command: %s", rec.Detail)
			}
			require.Equal(t, r.Valid, r.Outcome == Compliant || r.Outcome == Warned)
			require.Equal(t, r.Outcome == Invalid, r.PublicKey.Algorithm == "" && r.SPKISHA256 == "")
		})
	}
	for _, r := range listed(t) {
		seen.Add(r.Judgement())
	}
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, rules().Describe(), seen)
	diagtest.CheckTexts(t, damagedTexts, rules().Describe(), seen)
}

// Keys that many authorities refuse are a warning, with a command for another key, and never called compliant.
func TestUnusualKeys(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	odd, err := rsa.GenerateKey(rand.Reader, 2056)
	require.NoError(t, err)
	for code, key := range map[diag.Code]crypto.Signer{"csr.key.curve.p521": curve, "csr.key.rsa.unusual": odd} {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"example.com"}}, key)
		require.NoError(t, err)
		r, err := Parse(t.Context(), nil, Request{CSR: base64.StdEncoding.EncodeToString(der)})
		require.NoError(t, err)
		require.Equal(t, []diag.Code{code}, diagtest.CodesOf(r.Findings))
		require.Equal(t, Warned, r.Outcome)
		require.True(t, r.Valid)
		require.Equal(t, r.Findings[0].Title, r.Headline)
		require.Contains(t, r.Recommendations[0].SuggestedValue, "-newkey")
	}
	require.False(t, usualSize(8192))
}

// One cause is one finding, however many names it hits or pieces it breaks.
func TestOneCause(t *testing.T) {
	var list []string
	for i := range 30 {
		list = append(list, fmt.Sprintf("server%d.corp", i))
	}
	broken := "-----BEGIN CERTIFICATE REQUEST-----\nMII!\n-----END CERTIFICATE REQUEST-----\n"
	for text, want := range map[string]diag.Code{
		named2(list...).pem(): "csr.names.internal", strings.Repeat(broken, 30): "csr.pem.malformed",
	} {
		r, err := Parse(t.Context(), nil, Request{CSR: text})
		require.NoError(t, err)
		require.Equal(t, []diag.Code{want}, diagtest.CodesOf(r.Findings))
		require.Len(t, r.Recommendations, 1)
	}
	r, err := Parse(t.Context(), nil, Request{CSR: named2(list...).pem()})
	require.NoError(t, err)
	require.Equal(t, 30, r.Findings[0].PlaceCount)
}

func words(findings []diag.Finding) []string {
	list := []string{}
	for _, code := range diagtest.CodesOf(findings) {
		list = append(list, string(code))
	}
	return list
}

// listed are requests whose keys are on lists, or have a weakness that takes long to make.
func listed(t *testing.T) (list []*Report) {
	n := semiprime()
	sum := pki.DescribeKey(nil, withRSA(n, 65537).spki).SPKISHA256
	good := pki.DescribeKey(nil, mustRead(t, plan{}).Key.SPKI).SPKISHA256
	p := prime(1024)
	file := func(text string) *diag.Env {
		return &diag.Env{Data: fstest.MapFS{KeyListFile: {Data: []byte(text)}}}
	}
	other := fmt.Sprintf(`{"lists": [{"name": "debian_openssl", "spki_sha256": [%q], "moduli": ["%x"]}]}`, sum, new(big.Int).Mul(p, prime(1024)))
	small := new(big.Int).Mul(n, big.NewInt(3*5*17))
	roca, _ := new(big.Int).SetString("1", 10)
	roca.Exp(big.NewInt(65537), big.NewInt(140), nil)
	pattern := new(big.Int).SetBytes(append([]byte(strings.Repeat("\xaa", 20)), n.Bytes()[20:]...))
	for _, tt := range []struct {
		name string
		env  *diag.Env
		plan plan
		want diag.Code
	}{
		{"Debian", file(other), withRSA(n, 65537), "csr.key.debian"},
		{"blocklist", file(other), withRSA(n, 65537), "csr.key.blocklist"},
		{"on no list", file(other), plan{}, ""},
		{"shared prime", file(other), withRSA(new(big.Int).Mul(p, prime(1024)), 65537), "csr.key.shared_prime"},
		{"no shared prime", file(other), withRSA(n, 65537), "csr.key.debian"},
		{"small factor", nil, withRSA(small, 65537), "csr.key.small_factor"},
		{"ROCA", nil, withRSA(roca, 65537), "csr.key.roca"},
		{"pattern", nil, withRSA(pattern, 65537), "csr.key.pattern"},
		{"explicit", nil, plan{spki: curveKey(explicit(), append([]byte{4}, basePoint()...))}, "csr.key.curve.explicit"},
	} {
		r, err := Parse(t.Context(), tt.env, Request{CSR: tt.plan.pem()})
		require.NoError(t, err, tt.name)
		if tt.want != "" {
			require.Contains(t, diagtest.CodesOf(r.Findings), tt.want, tt.name)
		}
		if tt.name == "on no list" {
			require.Equal(t, good, r.SPKISHA256)
			require.Empty(t, r.Findings)
		}
		list = append(list, r)
	}
	return list
}

func mustRead(t *testing.T, p plan) *contents {
	c, err := readDER(p.encode())
	require.NoError(t, err)
	return c
}

func basePoint() []byte {
	c := signer().Curve.Params()
	return append(c.Gx.FillBytes(make([]byte, 32)), c.Gy.FillBytes(make([]byte, 32))...)
}

// explicit are the parameters of P-256.
func explicit() []byte {
	c := signer().Curve.Params()
	a := new(big.Int).Sub(c.P, big.NewInt(3))
	var b builder
	sequence(&b, func(b *builder) {
		b.AddASN1Int64(1)
		sequence(b, func(b *builder) {
			b.AddASN1ObjectIdentifier(oid("1.2.840.10045.1.1"))
			b.AddASN1BigInt(c.P)
		})
		sequence(b, func(b *builder) {
			b.AddASN1OctetString(a.FillBytes(make([]byte, 32)))
			b.AddASN1OctetString(c.B.FillBytes(make([]byte, 32)))
		})
		b.AddASN1(asn1tag.OCTET_STRING, func(b *builder) { b.AddBytes(append([]byte{4}, basePoint()...)) })
		b.AddASN1BigInt(c.N)
	})
	return b.BytesOrPanic()
}

// Names are judged one by one.
func TestJudgeName(t *testing.T) {
	for name, want := range map[string]NameFault{
		"example.com": noFault, "*.example.com": noFault, "xn--mnchen-3ya.example.com": noFault, "a-b.example.co.uk": noFault,
		"user.github.io": noFault, "*.github.io": noFault, "1.example.com": noFault,
		"": badSyntax, "example.com.": badSyntax, "example..com": badSyntax, ".example.com": badSyntax, "-a.example.com": badSyntax,
		"example.com/": badSyntax, "example.com:443": badSyntax, "https://example.com": badSyntax, "a@example.com": badSyntax,
		"münchen.example.com": badSyntax, "a b.example.com": badSyntax, "example.com\x00.evil.example": badSyntax,
		"ab--cd.example.com": badSyntax, "xn--zz.example.com": badIDN, "xn--abc-.example.com": badIDN, "xn--.example.com": badIDN, strings.Repeat("a", 64) + ".example.com": badSyntax,
		strings.Repeat("a.", 130) + "com": badSyntax, "example.123": badSyntax,
		"*": badWildcard, "*.*.example.com": badWildcard, "www.*.example.com": badWildcard, "*w.example.com": badWildcard,
		"*.com": wildcardSuffix, "com": publicSuffix, "co.uk": publicSuffix, "localhost": internalName, "server": internalName,
		"printer.local": internalName, "a.internal": internalName, "a.test": internalName, "a.example": internalName,
		"a.home.arpa": internalName, "a.lan": internalName, "short.onion": internalName,
		strings.Repeat("a", 56) + ".onion": noFault, "127.0.0.1": addressAsDNS, "[::1]": addressAsDNS, "192.0.2.0/24": addressAsDNS,
		"8.b.d.0.1.0.0.2.ip6.arpa": reverseName,
	} {
		n := judgeName(generalName{Type: DNSName, Value: name})
		require.Equal(t, want, n.Fault, "%q: %s", name, n.Reason)
		require.Equal(t, n.Valid, n.Reason == "", name)
	}
	for address, want := range map[string]NameFault{
		"8.8.8.8": noFault, "2606:4700::1": noFault, "10.1.2.3": reservedIP, "127.0.0.1": reservedIP, "::1": reservedIP, "fe80::1": reservedIP,
		"fd00::1": reservedIP, "224.0.0.1": reservedIP, "100.64.0.1": reservedIP, "::ffff:10.0.0.1": reservedIP,
	} {
		require.Equal(t, want, judgeName(asName(address)).Fault, address)
	}
}
