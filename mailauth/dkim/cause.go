package dkim

import "github.com/diagkit/diagkit/diag"

// Cause is why a signature did not pass.
type Cause string

// The causes.
const (
	// What makes the result fail.
	BodyChanged           Cause = "body_changed"           // no explanation was found
	FooterAdded           Cause = "footer_added"           // the body is as signed without its last lines
	BannerAdded           Cause = "banner_added"           // the body is as signed without its first lines
	BodyCutOff            Cause = "body_cut_off"           // it is shorter than l= says
	BodyReencoded         Cause = "body_reencoded"         // it is as signed once its transfer encoding is undone
	WhiteSpace            Cause = "white_space"            // it is as signed but for white space
	HeaderChanged         Cause = "header_changed"         // the key is the right one, a header field is not
	SubjectTagged         Cause = "subject_tagged"         // the header is as signed without the tag before the subject
	FromRewritten         Cause = "from_rewritten"         // it is as signed with the From of another field, as lists rewrite it
	FieldAdded            Cause = "field_added"            // the header is as signed without one of its fields
	OtherKey              Cause = "other_key"              // another key than is published signed, or it is damaged
	BadSignature          Cause = "bad_signature"          // the header or the key is another: Ed25519 does not tell
	EmptyBody             Cause = "empty_body"             // the hash is that of an empty body
	MailboxQuoted         Cause = "mailbox_quoted"         // it is as signed without the quoting of mailbox files
	WrongCanonicalization Cause = "wrong_canonicalization" // the signer did not do as c= says
	OtherHash             Cause = "other_hash"             // the signature was made with another hash than a= says
	// What makes it permerror, temperror or neutral.
	SyntaxError    Cause = "syntax"          // the field, or the value of a tag, is not valid
	TagMissing     Cause = "tag_missing"     // a required tag is left out
	Unsupported    Cause = "unsupported"     // version, algorithm, canonicalization or query method
	DomainMismatch Cause = "domain_mismatch" // i= is not in d=
	FromUnsigned   Cause = "from_unsigned"   // h= lacks From
	KeyMissing     Cause = "key_missing"     // there is no key at the selector
	KeyRevoked     Cause = "key_revoked"     // its p= is empty
	KeyUnusable    Cause = "key_unusable"    // its record is not valid, or not for this use
	KeyAmbiguous   Cause = "key_ambiguous"   // there are several
	KeyUnknown     Cause = "key_unknown"     // the DNS did not answer
	HeaderTooLong  Cause = "header_too_long" // not all of it was read
	Refused        Cause = "refused"         // What makes it policy; see the issues of the same name.
)

// Values lists the causes.
func (Cause) Values() []string {
	return diag.Values(BodyChanged, FooterAdded, BannerAdded, BodyCutOff, BodyReencoded, WhiteSpace, HeaderChanged,
		SubjectTagged, FromRewritten, FieldAdded, OtherKey, EmptyBody, MailboxQuoted, WrongCanonicalization,
		BadSignature, OtherHash, SyntaxError, TagMissing, Unsupported, DomainMismatch, FromUnsigned, KeyMissing,
		KeyRevoked, KeyUnusable, KeyAmbiguous, KeyUnknown, HeaderTooLong, Refused)
}

// An Issue is something about a signature that is no matter of cryptography.
type Issue struct {
	Code    IssueCode `json:"code" doc:"what it is"`
	Text    string    `json:"text" doc:"the same in a sentence"`
	Refused bool      `json:"refused" doc:"whether verifiers refuse the signature for it"`

	Location diag.Location `json:"-"` // in the value of the field; zero if it concerns no part of it
}

// IssueCode names an issue.
type IssueCode string

// The issues.
const (
	issueSHA1         IssueCode = "rsa_sha1"      // RFC 8301 section 3.1: must not be accepted
	issueShortKey     IssueCode = "short_key"     // RFC 8301 section 3.2: must not be accepted
	issueDraft        IssueCode = "draft"         // no v=, which RFC 6376 section 3.5 requires
	issueExpired      IssueCode = "expired"       // x= has passed
	issueFuture       IssueCode = "future"        // t= is yet to come
	issueTimes        IssueCode = "times"         // x= is not after t=
	issueLength       IssueCode = "body_length"   // l= leaves room for additions
	issueAppended     IssueCode = "appended"      // and something was added
	issueTesting      IssueCode = "testing"       // the key has t=y
	IssuePublicSuffix IssueCode = "public_suffix" // d= is a domain below which anyone can register
	IssueFromAdded    IssueCode = "from_added"    // a second From that is not signed
)

// Values lists the issues.
func (IssueCode) Values() []string {
	return diag.Values(issueSHA1, issueShortKey, issueDraft, issueExpired, issueFuture, issueTimes, issueLength,
		issueAppended, issueTesting, IssuePublicSuffix, IssueFromAdded)
}
