package dkim

import (
	"crypto/rsa"
	"fmt"
	"io"
	"mime/quotedprintable"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// Reason says in a word why verifiers do not use a key.
type Reason string

// The reasons, in the order in which a verifier meets them (RFC 6376 section 6.1.2).
const (
	ReasonSyntax  Reason = "syntax"       // the tag list is not valid, or its version is not DKIM1
	ReasonType    Reason = "key type"     // k is not known
	ReasonMissing Reason = "no key"       // p is left out
	ReasonRevoked Reason = "revoked"      // p is empty
	ReasonData    Reason = "key data"     // p is not a key of the type
	ReasonHash    Reason = "hash"         // h excludes every hash algorithm in use
	ReasonService Reason = "service type" // s excludes mail
	ReasonSHA1    Reason = "sha1"         // h lets only sha1 be used
	ReasonSize    Reason = "size"         // the RSA key is smaller than verifiers may accept
)

// Policy reports whether the key was good once: it is whole, and RFC 8301 alone forbids its use.
func (r Reason) Policy() bool { return r == ReasonSHA1 || r == ReasonSize }

// A KeyError says why verifiers do not use a key.
type KeyError struct {
	Reason Reason
	Text   string // a clause that can be understood alone
}

func (e *KeyError) Error() string { return "the DKIM key cannot be used: " + e.Text }

// reasons assigns the faults of a record, all but the harmless ones.
var reasons = map[taglist.Kind]Reason{
	badType: ReasonType, noKey: ReasonMissing, badBase64: ReasonData, badKey: ReasonData, otherType: ReasonData,
	wrapped: ReasonData, secret: ReasonData, cutOff: ReasonData, exponent: ReasonData, factor: ReasonData,
	badHash: ReasonHash, onlySHA1: ReasonSHA1, badService: ReasonService,
}

// Err says why verifiers do not use the key: a *[KeyError], or nil if they do. The gravest reason comes first,
// so that one of [Reason.Policy] means that there is no other: Public is set then.
func (k *Key) Err() error {
	for _, order := range []Reason{
		ReasonSyntax, ReasonType, ReasonMissing, ReasonRevoked, ReasonData, ReasonHash, ReasonService,
		ReasonSHA1,
	} {
		if order == ReasonRevoked && k.Revoked {
			return &KeyError{ReasonRevoked, "it has been revoked by an empty p="}
		}
		for _, f := range k.List.Faults {
			reason, known := reasons[f.Kind]
			if !known {
				reason = ReasonSyntax
			}
			if !f.Harmless && reason == order {
				return &KeyError{reason, f.Text}
			}
		}
	}
	if key, ok := k.Public.(*rsa.PublicKey); ok && key.N.BitLen() < MinRSABits { // RFC 8301 section 3.2
		return &KeyError{ReasonSize, fmt.Sprintf("the RSA key has %d bits, and verifiers accept %d or more",
			key.N.BitLen(), MinRSABits)}
	}
	return nil
}

// notes decodes the tag n, a qp-section (RFC 6376 section 3.6.1, RFC 2045 section 6.7). What is not valid stays
// as it is.
func notes(s string) string {
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(s)))
	if err != nil {
		return s
	}
	return string(text)
}

// maxQuoted bounds what a sentence quotes of a value, in bytes: no value but that of p is longer.
const maxQuoted = 40

// quoted quotes a text of strangers within a sentence.
func quoted(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%q", diag.Quote(s))
}
