package dkim

import (
	"bytes"
	"crypto/rsa"
	"fmt"
	"strings"
)

// Explain says why a check failed: the causes, that of the body first, and the same in sentences.
func (c *Checker) Explain(s *Signature, check Check, self int) (causes []Cause, text string) {
	if check.BodyHashOK != nil && !*check.BodyHashOK {
		cause, why := c.explainBody(s)
		causes, text = append(causes, cause), why
	}
	if check.SignatureOK != nil && !*check.SignatureOK && check.Key.Key != nil {
		cause, why := c.explainHeader(s, check, self)
		causes, text = append(causes, cause), strings.TrimPrefix(text+" "+why, " ")
	}
	return causes, text
}

// A target recognizes the digest that a signature was made of.
type target func(digest []byte) bool

// explainHeader says why a signature does not match the header. What RSA signed can be read from the signature, so
// that another key is told from another header; with Ed25519 it can only be tried.
func (c *Checker) explainHeader(s *Signature, check Check, self int) (Cause, string) {
	name, same := check.Key.Name, target(nil)
	key, isRSA := check.Key.Key.Public.(*rsa.PublicKey)
	if isRSA {
		signed, hash, ok := signedDigest(key, s.Bytes)
		switch bits := key.N.BitLen(); {
		case !ok && len(s.Bytes) != (bits+7)/8:
			return OtherKey, fmt.Sprintf("The signature was made with another key than the one published at %s: "+
				"the signature has %d bits, the key %d. If the key is the right one, b= was damaged.", name, 8*len(s.Bytes), bits)
		case !ok:
			return OtherKey, fmt.Sprintf(
				"The signature was made with another key than the one published at %s, or was damaged.", name)
		case hash != s.Hash:
			return OtherHash, fmt.Sprintf("The signature was made with %s, although a= says %s.", hash, s.Algorithm)
		}
		same = func(digest []byte) bool { return bytes.Equal(digest, signed) }
	} else {
		same = func(digest []byte) bool { return matches(check.Key.Key.Public, s.Hash, digest, s.Bytes) }
	}
	if cause, text := c.tryHeaders(s, self, same); cause != "" {
		return cause, text
	}
	if names := c.changed(s); len(names) > 0 {
		return HeaderChanged, fmt.Sprintf("Header fields were changed after signing, as the copies in z= show: %s.",
			strings.Join(names, ", "))
	}
	if isRSA {
		return HeaderChanged,
			"A signed header field was changed, removed or added after signing. The key is the one that signed."
	}
	return BadSignature, fmt.Sprintf(
		"A signed header field was changed after signing, or the key at %s is not the one that signed.", name)
}

// changed lists the signed fields that differ from the copies in z=.
func (c *Checker) changed(s *Signature) (names []string) {
	squeeze := func(v string) string { return strings.Join(strings.Fields(v), " ") }
	for _, old := range s.Copied {
		if all := c.header.byName[strings.ToLower(old.Name)]; len(all) == 1 && len(names) < maxSubjectWords {
			f := &c.header.fields[all[0]]
			if squeeze(f.Value()) != squeeze(old.Value) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}
