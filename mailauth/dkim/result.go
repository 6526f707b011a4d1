package dkim

import (
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// Word is the result of a signature as Authentication-Results fields write it (RFC 8601 section 2.7.1).
type Word string

// The results.
const (
	None      Word = "none"      // there is no signature
	Pass      Word = "pass"      // it verifies, and nothing speaks against accepting it
	Fail      Word = "fail"      // the message is not the one that was signed, or the key not the one that signed it
	Policy    Word = "policy"    // it verifies, and must or should not be accepted all the same
	Neutral   Word = "neutral"   // it has syntax errors, or asks for what verifiers do not know
	TempError Word = "temperror" // the key could not be looked up at present
	PermError Word = "permerror" // it cannot be verified, now or later
	Unchecked Word = "unchecked" // not of RFC 8601: the header is as signed, and there is no body
)

// Values lists the results.
func (Word) Values() []string {
	return diag.Values(None, Pass, Fail, Policy, Neutral, TempError, PermError, Unchecked)
}

// A Result is the verification of one DKIM-Signature. Its cryptographic verdict is in BodyHashOK and SignatureOK, what
// else speaks for or against it in Issues; Result sums up both.
type Result struct {
	Domain   string `json:"domain" doc:"the signing domain (d=), as A-labels; empty if it is not valid"`
	Selector string `json:"selector" doc:"the selector (s=); empty if it is not valid"`
	Identity string `json:"identity,omitempty" doc:"on whose behalf the domain signed (i=), decoded"`

	Verified    *bool  `json:"verified" doc:"whether the signature is valid and acceptable; null if unknown"`
	BodyHashOK  *bool  `json:"body_hash_ok,omitempty" doc:"whether the body is as signed; absent if unknown"`
	SignatureOK *bool  `json:"signature_ok,omitempty" doc:"whether the header is as signed; absent if unknown"`
	Result      Word   `json:"result" doc:"result of RFC 8601, or unchecked if there was no body"`
	Reason      string `json:"reason,omitempty" doc:"why the result is not pass, in a sentence"`
	Cause       Cause  `json:"cause,omitempty" doc:"what the reason says, as a code"`

	Algorithm        string        `json:"algorithm,omitempty" doc:"algorithms of key and hash (a=)" example:"rsa-sha256"`
	Canonicalization string        `json:"canonicalization" doc:"of the header and of the body" example:"relaxed/relaxed"`
	SignedAt         time.Time     `json:"signed_at,omitzero" doc:"when the message was signed (t=)"`
	ExpiresAt        time.Time     `json:"expires_at,omitzero" doc:"when the signature expires (x=)"`
	BodyLength       *int64        `json:"body_length,omitempty" min:"0" doc:"signed bytes of the body (l=); all if absent"`
	UnsignedBytes    int64         `json:"unsigned_bytes" min:"0" doc:"bytes of the body after the signed ones"`
	Fields           []SignedField `json:"signed_fields" doc:"header fields that h= names; at most 100"`
	Unsigned         []string      `json:"unsigned_fields" doc:"important header fields that h= does not name"`
	Issues           []Issue       `json:"issues" doc:"what speaks against the signature apart from cryptography"`
	KeyName          string        `json:"key_name,omitempty" doc:"where the key is looked up"`
	KeyRecord        string        `json:"key_record,omitempty" doc:"the record of the key, if there is exactly one"`
	PublicKey        pki.PublicKey `json:"public_key,omitzero" doc:"the key"`
	Testing          bool          `json:"testing" doc:"whether the domain says that it is testing DKIM"`

	Key       *Key       `json:"-"` // as it was read; nil if there is none
	Signature *Signature `json:"-"` // the tags with their positions
	Causes    []Cause    `json:"-"` // why body and header do not match, where that is told; Cause is the first
	Index     int        `json:"-"` // of the field in the message
}

// Cryptographic says whether the signature matches the message and the key, whatever else speaks against it; nil
// if that is not known.
func (r *Result) Cryptographic() *bool {
	switch failed := (Check{BodyHashOK: r.BodyHashOK, SignatureOK: r.SignatureOK}).Failed(); {
	case !failed && (r.BodyHashOK == nil || r.SignatureOK == nil):
		return nil
	default:
		return new(!failed)
	}
}
