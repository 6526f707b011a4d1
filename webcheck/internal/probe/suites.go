package probe

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
)

// A Suite is a cipher suite: how keys are agreed on, who is authenticated, and how data are encrypted.
type Suite struct {
	ID       uint16
	Name     string // as IANA has it, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
	exchange string // ECDHE_RSA; empty in TLS 1.3
	cipher   string // AES_128_GCM_SHA256
}

//go:embed data/suites.txt
var suitesText string

// table is the built-in list of suites in the order of their numbers.
var table = sync.OnceValue(func() (list []Suite) {
	for line := range strings.Lines(suitesText) {
		number, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		id, err := strconv.ParseUint(number, 16, 16)
		if !ok || err != nil {
			continue // a comment
		}
		list = append(list, newSuite(uint16(id), "TLS_"+name))
	}
	return list
})

var byID = sync.OnceValue(func() map[uint16]Suite {
	m := map[uint16]Suite{}
	for _, s := range table() {
		m[s.ID] = s
	}
	return m
})

func newSuite(id uint16, name string) Suite {
	s := Suite{ID: id, Name: name}
	exchange, cipher, ok := strings.Cut(strings.TrimPrefix(name, "TLS_"), "_WITH_")
	switch {
	case ok:
		s.exchange, s.cipher = exchange, cipher
	case strings.HasPrefix(exchange, "ECCPWD"):
		s.exchange = exchange
	default:
		s.cipher = exchange
	}
	return s
}

// Suites lists all suites that are known. The caller owns the list.
func Suites() []Suite { return append([]Suite(nil), table()...) }

// SuiteOf describes a suite by its number. One that is not known has a name like 0xC0FF.
func SuiteOf(id uint16) Suite {
	if s, ok := byID()[id]; ok {
		return s
	}
	return Suite{ID: id, Name: fmt.Sprintf("0x%04X", id), exchange: "unknown", cipher: "unknown"}
}

// TLS13 reports whether a suite belongs to TLS 1.3, where the key exchange is not part of it.
func (s Suite) TLS13() bool { return s.exchange == "" && s.cipher != "" }

// ForwardSecret reports whether recorded sessions stay secret when the key of the server is stolen later.
func (s Suite) ForwardSecret() bool {
	return s.TLS13() || strings.HasPrefix(s.exchange, "ECDHE") || strings.HasPrefix(s.exchange, "DHE") ||
		strings.HasPrefix(s.exchange, "ECCPWD")
}

// EllipticCurve reports whether keys are agreed on over an elliptic curve that the server picks for the session.
func (s Suite) EllipticCurve() bool {
	return strings.HasPrefix(s.exchange, "ECDHE") || s.exchange == "ECDH_anon"
}

// FiniteField reports whether keys are agreed on modulo a prime that the server picks for the session.
func (s Suite) FiniteField() bool {
	return strings.HasPrefix(s.exchange, "DHE") || strings.HasPrefix(s.exchange, "DH_anon")
}

// Anonymous reports whether the server shows no certificate.
func (s Suite) Anonymous() bool { return strings.Contains(s.exchange, "anon") }

// KeyType is the kind of key that the certificate of the server needs in TLS 1.2 and earlier: RSA, ECDSA or DSS; empty
// if the suite needs none. ECDSA includes EdDSA (RFC 8422 section 2).
func (s Suite) KeyType() string {
	switch {
	case s.exchange == "ECDH_RSA", strings.HasSuffix(s.exchange, "ECDSA"):
		return "ECDSA"
	case strings.Contains(s.exchange, "RSA"):
		return "RSA"
	case strings.Contains(s.exchange, "DSS"):
		return "DSS"
	default:
		return ""
	}
}

// Unencrypted reports whether data are sent in the clear.
func (s Suite) Unencrypted() bool {
	return strings.HasPrefix(s.cipher, "NULL") || s.cipher == "SHA256_SHA256" || s.cipher == "SHA384_SHA384" // RFC 9150
}

// Export reports whether the suite was made weak for the export laws of the 1990s.
func (s Suite) Export() bool { return strings.Contains(s.exchange, "EXPORT") }

// RC4 reports whether the suite uses RC4 (RFC 7465).
func (s Suite) RC4() bool { return strings.HasPrefix(s.cipher, "RC4") }

// SmallBlock reports whether the cipher has blocks of 64 bits, which repeat after some gigabytes (CVE-2016-2183).
func (s Suite) SmallBlock() bool {
	names := []string{"3DES", "DES", "IDEA", "RC2", "28147", "MAGMA"}
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(s.cipher, name) })
}

// ShortKey reports whether the key can be found by trying all: single DES and RC2.
func (s Suite) ShortKey() bool {
	return strings.HasPrefix(s.cipher, "DES") || strings.HasPrefix(s.cipher, "RC2") || s.Export()
}

// AEAD reports whether encryption and authentication are one step (RFC 5116); the others are CBC and older.
func (s Suite) AEAD() bool {
	modes := []string{"GCM", "CCM", "CHACHA20", "AEGIS", "MGM"}
	return strings.HasPrefix(s.exchange, "ECCPWD") ||
		slices.ContainsFunc(modes, func(mode string) bool { return strings.Contains(s.cipher, mode) })
}

// signed12 reports whether a suite is of TLS 1.2 only, since it is authenticated by more than SHA-1.
func (s Suite) signed12() bool {
	return s.AEAD() || strings.HasSuffix(s.cipher, "SHA256") || strings.HasSuffix(s.cipher, "SHA384")
}

func (s Suite) fits(v Version) bool {
	switch {
	case v == TLS13:
		return s.TLS13()
	case v == TLS12:
		return !s.TLS13()
	default:
		return !s.TLS13() && !s.signed12()
	}
}

// Strength says how much a suite protects.
type Strength string

const (
	Strong     Strength = "strong"     // forward secret, and AEAD (RFC 9325 section 4.2)
	Acceptable Strength = "acceptable" // forward secret, with CBC
	Weak       Strength = "weak"       // without forward secrecy, or with small blocks
	Insecure   Strength = "insecure"   // known to be broken, or no protection at all
)

// Values lists the strengths.
func (Strength) Values() []string { return kit.Values(Strong, Acceptable, Weak, Insecure) }

// Strength rates a suite.
func (s Suite) Strength() Strength {
	switch {
	case s.Unencrypted(), s.Anonymous(), s.RC4(), s.ShortKey(), s.exchange == "unknown":
		return Insecure
	case s.SmallBlock(), !s.ForwardSecret():
		return Weak
	case s.AEAD():
		return Strong
	default:
		return Acceptable
	}
}

// common reports whether a suite is one that servers of today have.
func (s Suite) common() bool {
	return (strings.HasPrefix(s.cipher, "AES") || strings.HasPrefix(s.cipher, "CHACHA20")) &&
		(s.exchange == "RSA" || s.exchange == "ECDHE_RSA" || s.exchange == "ECDHE_ECDSA" || s.exchange == "DHE_RSA")
}

// maxOffered bounds the suites of one ClientHello: some servers fail on more than 128.
const maxOffered = 100

// chunks divides the suites of a version into lists that are offered apart: the common ones with forward secrecy,
// those without, and the rest.
func chunks(v Version) [][]uint16 {
	var secret, static, rest []uint16
	for _, s := range table() {
		switch {
		case !s.fits(v):
		case s.common() && s.ForwardSecret(), s.TLS13():
			secret = append(secret, s.ID)
		case s.common():
			static = append(static, s.ID)
		default:
			rest = append(rest, s.ID)
		}
	}
	var list [][]uint16
	for _, chunk := range [][]uint16{secret, static, rest} {
		for len(chunk) > maxOffered {
			list, chunk = append(list, chunk[:maxOffered]), chunk[maxOffered:]
		}
		if len(chunk) > 0 {
			list = append(list, chunk)
		}
	}
	return list
}

// psk reports whether a suite needs a key that both sides share beforehand.
func (s Suite) psk() bool { return strings.Contains(s.exchange, "PSK") }

func (s Suite) chaCha() bool { return strings.HasPrefix(s.cipher, "CHACHA20") }

// A Version is a version of SSL or TLS, by its number on the wire.
type Version uint16

// The versions. That of SSLv2 has another form on the wire than all others.
const (
	SSL2  Version = 0x0002
	SSL3  Version = 0x0300
	TLS10 Version = 0x0301
	TLS11 Version = 0x0302
	TLS12 Version = 0x0303
	TLS13 Version = 0x0304
)

// Versions lists all versions, the oldest first.
func Versions() []Version { return []Version{SSL2, SSL3, TLS10, TLS11, TLS12, TLS13} }

// String returns the name of a version, as [crypto/tls.VersionName] does.
func (v Version) String() string {
	switch v {
	case SSL2:
		return "SSLv2"
	case SSL3:
		return "SSLv3"
	case TLS10, TLS11, TLS12, TLS13:
		return fmt.Sprintf("TLS 1.%d", v-TLS10)
	default:
		return fmt.Sprintf("0x%04X", uint16(v))
	}
}

// A Group is an elliptic curve, a prime field or a key encapsulation for the key exchange, by its number in IANA's
// registry "TLS Supported Groups" (as of 2026-11).
type Group uint16

// The groups that clients send key shares for. X25519MLKEM768 is the hybrid of X25519 and ML-KEM-768 that protects
// against quantum computers (draft-ietf-tls-ecdhe-mlkem).
const (
	P256           Group = 23
	P384           Group = 24
	X25519         Group = 29
	X25519MLKEM768 Group = 4588
)

// groupNames are the groups by number, in the order in which they are offered.
var groupNames = []struct {
	id   Group
	name string
}{
	{29, "X25519"}, {23, "P-256"}, {24, "P-384"}, {25, "P-521"}, {30, "X448"},
	{X25519MLKEM768, "X25519MLKEM768"}, {4587, "SecP256r1MLKEM768"}, {4589, "SecP384r1MLKEM1024"}, {4590,
		"curveSM2MLKEM768"},
	{512, "MLKEM512"}, {513, "MLKEM768"}, {514, "MLKEM1024"}, {25497, "X25519Kyber768Draft00"},
	{26, "brainpoolP256r1"}, {27, "brainpoolP384r1"}, {28, "brainpoolP512r1"},
	{31, "brainpoolP256r1tls13"}, {32, "brainpoolP384r1tls13"}, {33, "brainpoolP512r1tls13"},
	{41, "curveSM2"}, {22, "secp256k1"}, {21, "P-224"}, {20, "secp224k1"}, {19, "P-192"}, {18, "secp192k1"},
	{1, "sect163k1"}, {2, "sect163r1"}, {3, "sect163r2"}, {4, "sect193r1"}, {5, "sect193r2"}, {6, "sect233k1"},
	{7, "sect233r1"}, {8, "sect239k1"}, {9, "sect283k1"}, {10, "sect283r1"}, {11, "sect409k1"}, {12, "sect409r1"},
	{13, "sect571k1"}, {14, "sect571r1"}, {15, "secp160k1"}, {16, "secp160r1"}, {17, "secp160r2"},
	{256, "ffdhe2048"}, {257, "ffdhe3072"}, {258, "ffdhe4096"}, {259, "ffdhe6144"}, {260, "ffdhe8192"},
}

// String returns the name of a group, or its number.
func (g Group) String() string {
	for _, one := range groupNames {
		if one.id == g {
			return one.name
		}
	}
	return fmt.Sprintf("group %d", uint16(g))
}

// in13 reports whether a group may be used in TLS 1.3 (RFC 8446 section 4.2.7).
func (g Group) in13() bool {
	return g == 23 || g == 24 || g == 25 || g >= 29 && g <= 33 || g == 41 || g >= 256
}

// in12 reports whether a group may be used in TLS 1.2 and earlier. The prime fields are left out: a server that is
// offered them may use them in place of its own, whose size the scan measures.
func (g Group) in12() bool { return g <= 30 }

// groups lists those to offer in a version.
func groups(v Version) (list []Group) {
	for _, one := range groupNames {
		if v == TLS13 && one.id.in13() || v != TLS13 && one.id.in12() {
			list = append(list, one.id)
		}
	}
	return list
}

// PostQuantum reports whether a group protects against quantum computers.
func (g Group) PostQuantum() bool {
	return g >= 512 && g <= 514 || g >= 4587 && g <= 4590 || g == 25497
}
