package csr

import "bytes"

// A kind classifies the input: a request, or what was given in its place.
type kind string

const (
	requestKind     kind = "request"
	certificateKind kind = "certificate"
	privateKeyKind  kind = "private_key"
	publicKeyKind   kind = "public_key"
	sshKeyKind      kind = "ssh_key"
	pkcs7Kind       kind = "pkcs7"
	pkcs12Kind      kind = "pkcs12"
	crlKind         kind = "crl"
	pgpKind         kind = "pgp"
	spkacKind       kind = "spkac"
	parametersKind  kind = "parameters"
	printedKind     kind = "printed" // the readable form that openssl prints
	configKind      kind = "config"  // a configuration of openssl
	pageKind        kind = "page"    // HTML
	nameKind        kind = "name"    // of a file, or a URL
	unknownKind     kind = "unknown"
)

// secret reports whether it is something that must not be pasted.
func (k kind) secret() bool { return k == privateKeyKind || k == pkcs12Kind }

// The first bytes of DER values (X.690 section 8.1.2).
const (
	tagInteger   = 0x02
	tagBits      = 0x03
	tagOctets    = 0x04
	tagOID       = 0x06
	tagIA5       = 0x16
	tagUTCTime   = 0x17
	tagTime      = 0x18
	tagSequence  = 0x30
	tagSet       = 0x31
	tagContext0  = 0xa0
	opensshMagic = "openssh-key-v1\x00"
)

// kindOf reports what bytes are by their structure. It needs no more than their beginning: what was cut off is still
// recognized.
func kindOf(der []byte) kind {
	switch {
	case bytes.HasPrefix(der, []byte(opensshMagic)):
		return privateKeyKind
	case isSSHKey(der):
		return sshKeyKind
	case len(der) < 4 || der[0] != tagSequence:
		return unknownKind
	}
	outer, _ := read(der)
	first, ok := read(outer.content)
	if !ok {
		return unknownKind
	}
	second, _ := read(first.after)
	switch first.tag {
	case tagInteger:
		return kindOfNumbers(first)
	case tagOID:
		if bytes.HasPrefix(first.content, oidPKCS7) {
			return pkcs7Kind
		}
	case tagSequence:
		return kindOfSequence(first, second)
	}
	return unknownKind
}

// A value is the beginning of a DER value: its content may be cut off.
type value struct {
	tag     byte
	content []byte
	after   []byte // what follows
}

// read reads a value whose content may be cut off.
func read(der []byte) (value, bool) {
	length, header, ok := derLength(der)
	if !ok {
		return value{}, false
	}
	v := value{tag: der[0], content: der[header:]}
	if length < len(v.content) {
		v.content, v.after = v.content[:length], v.content[length:]
	}
	return v, true
}

// derLength reads tag and length (X.690 section 8.1.3). An indefinite length is that of BER, and none.
func derLength(der []byte) (length, header int, ok bool) {
	if len(der) < 2 || der[0]&0x1f == 0x1f {
		return 0, 0, false
	}
	if der[1] < 0x80 {
		return int(der[1]), 2, true
	}
	octets := int(der[1] & 0x7f)
	if octets == 0 || octets > 4 || len(der) < 2+octets {
		return 0, 0, false
	}
	for _, b := range der[2 : 2+octets] {
		length = length<<8 | int(b)
	}
	return length, 2 + octets, length >= 0
}

// oidPKCS7 begins the identifiers of PKCS #7 (RFC 5652 section 4), oidPBES2 is that of encrypted private keys.
var (
	oidPKCS7   = []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07}
	oidPKCS5   = []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05}
	oidPKCS12  = []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c}
	sshKeyWord = [][]byte{[]byte("ssh-"), []byte("ecdsa-sha2-"), []byte("sk-")}
)

// kindOfNumbers distinguishes what begins with a number: private keys begin with their version, 0 or 1 (RFC 8017
// appendix A.1.2, RFC 5958 section 2, RFC 5915 section 3), PKCS #12 with 3 (RFC 7292 section 4), and public keys and
// parameters with a large number.
func kindOfNumbers(first value) kind {
	switch {
	case len(first.content) > 1:
		return publicKeyKind
	case len(first.content) == 1 && first.content[0] == 3:
		return pkcs12Kind
	default:
		return privateKeyKind
	}
}

// kindOfSequence distinguishes what begins with a sequence: what is signed, and keys that begin with their algorithm.
func kindOfSequence(first, second value) kind {
	inside, ok := read(first.content)
	if !ok {
		return unknownKind
	}
	switch inside.tag {
	case tagContext0:
		return certificateKind
	case tagOID:
		switch {
		case second.tag == tagOctets, bytes.HasPrefix(inside.content, oidPKCS5), bytes.HasPrefix(inside.content, oidPKCS12):
			return privateKeyKind
		default:
			return publicKeyKind
		}
	case tagInteger:
		return kindOfSigned(inside)
	case tagSequence:
		if next, ok := read(inside.after); ok && next.tag == tagIA5 {
			return spkacKind
		}
		if next, ok := read(inside.content); ok && next.tag == tagOID {
			return crlKind
		}
	}
	return unknownKind
}

// kindOfSigned distinguishes what begins with a version: requests (RFC 2986 section 4.1) go on with the subject,
// certificates of version 1 and revocation lists (RFC 5280 sections 4.1 and 5.1) with an algorithm.
func kindOfSigned(version value) kind {
	second, ok := read(version.after)
	if !ok || second.tag != tagSequence {
		return unknownKind
	}
	if inside, ok := read(second.content); len(second.content) == 0 || ok && inside.tag == tagSet {
		return requestKind
	}
	third, _ := read(second.after)
	fourth, _ := read(third.after)
	switch fourth.tag {
	case tagSequence:
		return certificateKind
	case tagUTCTime, tagTime:
		return crlKind
	}
	return unknownKind
}

// isSSHKey reports whether bytes are a public key as SSH sends it (RFC 4253 section 6.6): a string with its length.
func isSSHKey(data []byte) bool {
	if len(data) < 12 || data[0] != 0 || data[1] != 0 || data[2] != 0 {
		return false
	}
	for _, word := range sshKeyWord {
		if bytes.HasPrefix(data[4:], word) {
			return true
		}
	}
	return false
}

// descriptions are the kinds in words, other than requests and private keys.
var descriptions = map[kind]string{
	certificateKind: "a certificate",
	publicKeyKind:   "a public key",
	sshKeyKind:      "a public key for SSH",
	pkcs7Kind:       "a PKCS #7 bundle of certificates",
	crlKind:         "a revocation list",
	pgpKind:         "text of OpenPGP",
	spkacKind:       "a request in the old form SPKAC",
	parametersKind:  "parameters for keys",
	printedKind:     "the readable form of a request, as openssl prints it with -text",
	configKind:      "a configuration of openssl",
	pageKind:        "an HTML page",
	nameKind:        "the name of a file or a URL",
}

// secrets are the kinds with private keys, in words.
var secrets = map[kind]string{
	privateKeyKind: "a private key",
	pkcs12Kind:     "a PKCS #12 file, which as a rule holds a private key",
}
