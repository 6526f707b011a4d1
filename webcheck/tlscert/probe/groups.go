package probe

import "fmt"

// A Group is an elliptic curve, a prime field or a key encapsulation for the key exchange, by its number in IANA's
// registry "TLS Supported Groups" (as of 2026-11).
type Group uint16

// X25519MLKEM768 is the hybrid of X25519 and ML-KEM-768 that protects against quantum computers
// (draft-ietf-tls-ecdhe-mlkem).
const X25519MLKEM768 Group = 4588

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
// offered them may use them in the place of its own, whose size is to be learned.
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
