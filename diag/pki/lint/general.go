package lint

import (
	"crypto/x509"

	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// parseConstraints reads the extension (RFC 5280 section 4.2.1.10).
func parseConstraints(der []byte) (t subtree, ok bool) {
	in := cryptobyte.String(der)
	var body, permitted, excluded cryptobyte.String
	var some, other bool
	if !in.ReadASN1(&body, asn1.SEQUENCE) || !in.Empty() ||
		!body.ReadOptionalASN1(&permitted, &some, asn1.Tag(0).ContextSpecific().Constructed()) ||
		!body.ReadOptionalASN1(&excluded, &other, asn1.Tag(1).ContextSpecific().Constructed()) || !body.Empty() {
		return subtree{}, false
	}
	var fine bool
	if t.permitted, ok = subtrees(permitted); ok {
		t.excluded, fine = subtrees(excluded)
	}
	return t, ok && fine
}

// subtrees reads GeneralSubtrees. The distances minimum and maximum are not used (RFC 5280 section 4.2.1.10).
func subtrees(in cryptobyte.String) (list []generalName, ok bool) {
	for !in.Empty() {
		var one cryptobyte.String
		if !in.ReadASN1(&one, asn1.SEQUENCE) {
			return nil, false
		}
		n, ok := readGeneralName(&one)
		if !ok {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

func readGeneralName(in *cryptobyte.String) (generalName, bool) {
	var value cryptobyte.String
	var tag asn1.Tag
	if !in.ReadAnyASN1(&value, &tag) || tag&0xc0 != 0x80 {
		return generalName{}, false
	}
	return generalName{uint8(tag) & 0x1f, value}, true
}

// namesOf returns what is held against name constraints: the alternative names, the subject, and mail
// addresses in it where there is none among the alternative names. It is false if they cannot be read.
func namesOf(c *x509.Certificate) (list []generalName, ok bool) {
	if e := find(c, oidSAN); e != nil {
		in := cryptobyte.String(e.Value)
		var body cryptobyte.String
		if !in.ReadASN1(&body, asn1.SEQUENCE) {
			return nil, false
		}
		for !body.Empty() {
			n, ok := readGeneralName(&body)
			if !ok {
				return list, false
			}
			list = append(list, n)
		}
	}
	if len(c.EmailAddresses) == 0 {
		for _, a := range pki.Attributes(c.RawSubject) {
			if a.Type == emailAddress {
				list = append(list, generalName{emailName, []byte(a.Value)})
			}
		}
	}
	if !emptyName(c.RawSubject) {
		list = append(list, generalName{directoryName, c.RawSubject})
	}
	return list, true
}

const emailAddress = "1.2.840.113549.1.9.1"
