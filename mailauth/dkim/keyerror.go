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

// reason says in a word why verifiers do not use a key.
type reason string

// The reasons, in the order in which a verifier meets them (RFC 6376 section 6.1.2).
const (
	reasonSyntax  reason = "syntax"       // the tag list is not valid, or its version is not DKIM1
	reasonType    reason = "key type"     // k is not known
	reasonMissing reason = "no key"       // p is left out
	reasonRevoked reason = "revoked"      // p is empty
	reasonData    reason = "key data"     // p is not a key of the type
	reasonHash    reason = "hash"         // h excludes every hash algorithm in use
	reasonService reason = "service type" // s excludes mail
	reasonSHA1    reason = "sha1"         // h lets only sha1 be used
	reasonSize    reason = "size"         // the RSA key is smaller than verifiers may accept
)

// Policy reports whether the key was good once: it is whole, and RFC 8301 alone forbids its use.
func (r reason) Policy() bool { return r == reasonSHA1 || r == reasonSize }

// A keyError says why verifiers do not use a key.
type keyError struct {
	Reason reason
	Text   string // a clause that can be understood alone
}

func (e *keyError) Error() string { return "the DKIM key cannot be used: " + e.Text }

// reasons assigns the faults of a record, all but the harmless ones.
var reasons = map[taglist.Kind]reason{
	badType: reasonType, noKey: reasonMissing, badBase64: reasonData, badKey: reasonData, otherType: reasonData,
	wrapped: reasonData, secret: reasonData, cutOff: reasonData, exponent: reasonData, factor: reasonData,
	badHash: reasonHash, onlySHA1: reasonSHA1, badService: reasonService,
}

// Err says why verifiers do not use the key: a *keyError, or nil if they do. The gravest reason comes first,
// so that one of [Reason.Policy] means that there is no other: Public is set then.
func (k *Key) Err() error {
	for _, order := range []reason{reasonSyntax, reasonType, reasonMissing, reasonRevoked, reasonData, reasonHash,
		reasonService, reasonSHA1} {
		if order == reasonRevoked && k.Revoked {
			return &keyError{reasonRevoked, "it has been revoked by an empty p="}
		}
		for _, f := range k.List.Faults {
			reason, known := reasons[f.Kind]
			if !known {
				reason = reasonSyntax
			}
			if !f.Harmless && reason == order {
				return &keyError{reason, f.Text}
			}
		}
	}
	if key, ok := k.Public.(*rsa.PublicKey); ok && key.N.BitLen() < MinRSABits { // RFC 8301 section 3.2
		return &keyError{reasonSize, fmt.Sprintf("the RSA key has %d bits, and verifiers accept %d or more",
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
