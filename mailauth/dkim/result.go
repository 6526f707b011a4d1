package dkim

import (
	"bytes"
	"cmp"
	"crypto"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/diagkit/diagkit/mailauth/message"
	"golang.org/x/net/publicsuffix"
)

// AuthResult is the result of a signature as Authentication-Results fields write it (RFC 8601 section 2.7.1).
type AuthResult string

// The results.
const (
	None      AuthResult = "none"      // there is no signature
	Pass      AuthResult = "pass"      // it verifies and is acceptable
	Fail      AuthResult = "fail"      // the message is not the one that was signed, or the key not the one that signed it
	Policy    AuthResult = "policy"    // it verifies, but must or should not be accepted
	Neutral   AuthResult = "neutral"   // it has syntax errors, or uses unknown features
	TempError AuthResult = "temperror" // the key could not be looked up at present
	PermError AuthResult = "permerror" // it cannot be verified, now or later
	Unchecked AuthResult = "unchecked" // not of RFC 8601: the header is as signed, and there is no body
)

// Values lists the results.
func (AuthResult) Values() []string {
	return kit.Values(None, Pass, Fail, Policy, Neutral, TempError, PermError, Unchecked)
}

// A Result is the verification of one DKIM-Signature. Its cryptographic verdict is in BodyHashOK and SignatureOK, what
// else speaks for or against it in Issues; Result sums up both.
type Result struct {
	Domain   string `json:"domain" doc:"the signing domain (d=), as A-labels; empty if it is not valid"`
	Selector string `json:"selector" doc:"the selector (s=); empty if it is not valid"`
	Identity string `json:"identity,omitempty" doc:"on whose behalf the domain signed (i=), decoded"`

	Verified    *bool      `json:"verified" doc:"whether the signature is valid and acceptable; null if unknown"`
	BodyHashOK  *bool      `json:"body_hash_ok,omitempty" doc:"whether the body is as signed; absent if unknown"`
	SignatureOK *bool      `json:"signature_ok,omitempty" doc:"whether the header is as signed; absent if unknown"`
	Result      AuthResult `json:"result" doc:"result of RFC 8601, or unchecked if there was no body"`
	Reason      string     `json:"reason,omitempty" doc:"why the result is not pass, in a sentence"`
	Cause       Cause      `json:"cause,omitempty" doc:"what the reason says, as a code"`

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

	Key       *Key       `json:"-"` // as parsed; nil without one
	Signature *Signature `json:"-"` // the tags with their positions
	Causes    []Cause    `json:"-"` // why body and header do not match, if known; Cause is the first
	Index     int        `json:"-"` // of the field in the message
}

// Cause is the reason that a signature did not pass.
type Cause string

// The causes.
const (
	// Causes of fail.
	BodyChanged   Cause = "body_changed"   // no explanation was found
	FooterAdded   Cause = "footer_added"   // the body is as signed without its last lines
	BannerAdded   Cause = "banner_added"   // the body is as signed without its first lines
	BodyCutOff    Cause = "body_cut_off"   // it is shorter than l=
	BodyReencoded Cause = "body_reencoded" // it is as signed once its transfer encoding is undone
	WhiteSpace    Cause = "white_space"    // it is as signed but for white space
	HeaderChanged Cause = "header_changed" // the key is the right one, a header field is not
	SubjectTagged Cause = "subject_tagged" // the header is as signed without the tag before the subject
	// it is as signed with the From of another field, as lists rewrite it
	FromRewritten         Cause = "from_rewritten"
	FieldAdded            Cause = "field_added"            // the header is as signed without one of its fields
	OtherKey              Cause = "other_key"              // not signed with the published key, or damaged
	BadSignature          Cause = "bad_signature"          // the header or the key differs: Ed25519 does not tell which
	EmptyBody             Cause = "empty_body"             // the hash is that of an empty body
	MailboxQuoted         Cause = "mailbox_quoted"         // it is as signed without the quoting of mailbox files
	WrongCanonicalization Cause = "wrong_canonicalization" // the signer did not follow c=
	OtherHash             Cause = "other_hash"             // the signature was made with another hash than in a=
	// Causes of permerror, temperror and neutral.
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
	Refused        Cause = "refused"         // cause of policy: Result.Issues has the issue that is refused
)

// Values lists the causes.
func (Cause) Values() []string {
	return kit.Values(BodyChanged, FooterAdded, BannerAdded, BodyCutOff, BodyReencoded, WhiteSpace, HeaderChanged,
		SubjectTagged, FromRewritten, FieldAdded, OtherKey, EmptyBody, MailboxQuoted, WrongCanonicalization,
		BadSignature, OtherHash, SyntaxError, TagMissing, Unsupported, DomainMismatch, FromUnsigned, KeyMissing,
		KeyRevoked, KeyUnusable, KeyAmbiguous, KeyUnknown, HeaderTooLong, Refused)
}

// An Issue is a non-cryptographic problem of a signature.
type Issue struct {
	Code    IssueCode `json:"code" doc:"what it is"`
	Text    string    `json:"text" doc:"the same in a sentence"`
	Refused bool      `json:"refused" doc:"whether verifiers refuse the signature for it"`

	Location diag.Location `json:"-"` // in the value of the field; zero if it concerns no part of it
}

// IssueCode names an issue: rsa_sha1, short_key, draft, expired, future, times, body_length, appended, testing,
// public_suffix or from_added.
type IssueCode string

// The issues.
const (
	IssueSHA1         IssueCode = "rsa_sha1"      // RFC 8301 section 3.1: must not be accepted
	IssueShortKey     IssueCode = "short_key"     // RFC 8301 section 3.2: must not be accepted
	IssueDraft        IssueCode = "draft"         // no v=, which RFC 6376 section 3.5 requires
	IssueExpired      IssueCode = "expired"       // x= has passed
	IssueFuture       IssueCode = "future"        // t= is in the future
	IssueTimes        IssueCode = "times"         // x= is not after t=
	IssueLength       IssueCode = "body_length"   // l= leaves room for additions
	IssueAppended     IssueCode = "appended"      // and text was appended
	IssueTesting      IssueCode = "testing"       // the key has t=y
	IssuePublicSuffix IssueCode = "public_suffix" // d= is a domain below which anyone can register
	IssueFromAdded    IssueCode = "from_added"    // a second From that is not signed
)

// Values lists the issues.
func (IssueCode) Values() []string {
	return kit.Values(IssueSHA1, IssueShortKey, IssueDraft, IssueExpired, IssueFuture, IssueTimes, IssueLength,
		IssueAppended, IssueTesting, IssuePublicSuffix, IssueFromAdded)
}

const maxAhead = 10 * time.Minute

func (s *Signature) issues(c *Checker, check Check, at time.Time) []Issue {
	list := []Issue{}
	add := func(code IssueCode, refused bool, tag, format string, args ...any) {
		issue := Issue{Code: code, Text: fmt.Sprintf(format, args...), Refused: refused}
		if t, ok := s.tag(tag); ok {
			issue.Location = diag.Location{Offset: t.Offset, Length: t.Length}
		}
		list = append(list, issue)
	}
	if s.Hash == crypto.SHA1 { // RFC 8301 section 3.1
		add(IssueSHA1, true, "a", "The signature was made with rsa-sha1, which verifiers must not accept.")
	}
	if s.draft() { // RFC 6376 section 3.5
		add(IssueDraft, true, "", "The signature has no version tag (v=1), like those of drafts from before 2007.")
	}
	if p := check.Key; p != nil && p.Key != nil {
		if p.Short() { // RFC 8301 section 3.2
			add(IssueShortKey, true, "", "The RSA key at %s has %d bits, and verifiers must not accept fewer than %d.",
				p.Name, p.Key.Details.SizeBits, MinRSABits)
		}
		if p.Key.testing() { // RFC 6376 section 3.6.1
			add(IssueTesting, false, "", "The key at %s says that the domain is testing DKIM (t=y).", p.Name)
		}
	}
	if s.Expires != nil && at.After(*s.Expires) { // RFC 6376 section 3.5
		add(IssueExpired, true, "x", "The signature expired on %s.", s.Expires.Format(time.RFC3339))
	}
	if s.Time != nil && s.Time.Sub(at) > maxAhead { // RFC 6376 section 3.5
		add(IssueFuture, false, "t", "The signature says that it was made on %s, which is in the future.",
			s.Time.Format(time.RFC3339))
	}
	if s.Time != nil && s.Expires != nil && !s.Expires.After(*s.Time) { // RFC 6376 section 3.5
		add(IssueTimes, false, "x", "The signature expires no later than it was made (x= is not after t=).")
	}
	if s.Length != nil { // RFC 6376 section 8.2
		first := phrase.Count(*s.Length, "byte")
		if more := c.bodies.sizes[s.Body] - *s.Length; more > 0 {
			add(IssueAppended, false, "l",
				"The signature covers only the first %s of the body (l=): the last %d are not signed.", first, more)
		} else {
			add(IssueLength, false, "l",
				"The signature covers only the first %s of the body (l=): anything can be appended.", first)
		}
	}
	if suffix, official := publicsuffix.PublicSuffix(s.Domain.String()); official && suffix == s.Domain.String() {
		// RFC 6376 section 6.1.1
		add(IssuePublicSuffix, false, "d",
			"The signing domain %s is a public suffix, under which anyone can register.", s.Domain)
	}
	listed := view.CountIf(s.Names, func(n string) bool { return strings.EqualFold(n, "From") })
	if from := c.header.count("From"); listed > 0 && from > listed { // RFC 6376 section 8.15
		add(IssueFromAdded, false, "h", "The message has %d From fields, and the signature covers only the lowest "+
			"%d of them.",
			from, listed)
	}
	return list
}

// Split is [message.Split] for a message with signatures to verify: if a program has changed all line ends, it
// restores them first.
func Split(text []byte) *message.Message {
	m := message.Split(text)
	switch {
	case m.Ends.CRCRLF > 0 && m.Ends.CRLF+m.Ends.LF == 0:
		return message.Split(bytes.ReplaceAll(text, []byte("\r\r\n"), []byte("\r\n")))
	case m.Ends.CR > 0:
		return message.Split(bytes.ReplaceAll(text, []byte("\r"), []byte("\r\n")))
	}
	return m
}

func (r *Result) judge(c *Checker, at time.Time, cut bool) {
	s := r.Signature
	r.describe(c)
	check := c.Check(s, c.Selected(s, r.Index), r.Index)
	r.BodyHashOK, r.SignatureOK = check.BodyHashOK, check.SignatureOK
	if p := check.Key; p != nil {
		r.Key, r.KeyRecord = p.Key, clean(p.Record)
		if p.Key != nil {
			r.PublicKey, r.Testing = kit.OrZero(p.Key.Details), p.Key.testing()
		}
	}
	r.Issues = s.issues(c, check, at)
	r.Result, r.Cause, r.Reason = r.conclude(c, check)
	if cut { // the fields that count are the lowest ones, which are those that are missing
		r.Result, r.Cause = Neutral, HeaderTooLong
		r.Reason = fmt.Sprintf("The header has more than the %d KiB that are read, so that signed fields may be missing.",
			message.MaxHeaderBytes>>10)
	}
	switch r.Result {
	case Pass:
		r.Verified = new(true)
	case TempError, Unchecked:
	default:
		r.Verified = new(false)
	}
}

func (r *Result) describe(c *Checker) {
	s := r.Signature
	r.Domain, r.Selector, r.Identity = s.Domain.String(), s.Selector, clean(s.Identity)
	r.Algorithm = clean(s.Algorithm)
	r.Canonicalization = clean(string(s.Header) + "/" + string(s.Body))
	r.SignedAt, r.ExpiresAt, r.BodyLength = kit.OrZero(s.Time), kit.OrZero(s.Expires), s.Length
	if !s.KeyName.IsZero() {
		r.KeyName = s.KeyName.String()
	}
	if size, ok := c.bodies.sizes[s.Body]; ok && s.Length != nil {
		r.UnsignedBytes = max(0, size-*s.Length)
	}
	r.Fields, r.Unsigned = c.header.coverage(s)
}

// conclude sums up what is known, in the order of RFC 6376 section 6.1.
func (r *Result) conclude(c *Checker, check Check) (AuthResult, Cause, string) {
	s := r.Signature
	if err, ok := s.Err().(*SignatureError); ok {
		word := PermError
		if err.syntax() { // RFC 8601 section 2.7.1
			word = Neutral
		}
		return word, cmp.Or(faultCauses[err.Fault.Kind], SyntaxError),
			"The DKIM-Signature field is not valid: " + err.Fault.Text + "."
	}
	changed := r.BodyHashOK != nil && !*r.BodyHashOK
	switch p := check.Key; {
	case p.Cause == KeyUnknown && !changed:
		return TempError, p.Cause, p.Text
	case p.Cause == KeyUnknown:
	case p.Cause == KeyAmbiguous && r.SignatureOK != nil && *r.SignatureOK:
		return PermError, p.Cause, p.Text + " The signature was made with one of them."
	case p.Cause != "":
		return PermError, p.Cause, p.Text
	default:
		if cause, text := s.refusedBy(p); cause != "" {
			return PermError, cause, text
		}
	}
	if check.Failed() {
		var text string
		if r.Causes, text = c.Explain(s, check, r.Index); len(r.Causes) == 0 {
			return Fail, "", text
		}
		return Fail, r.Causes[0], text
	}
	for _, issue := range r.Issues {
		if issue.Refused {
			return Policy, Refused, issue.Text
		}
	}
	if r.BodyHashOK == nil {
		return Unchecked, "", "The signature over the header fields is valid; there is no body to compare with."
	}
	return Pass, "", ""
}

func (s *Signature) refusedBy(p *Published) (Cause, string) {
	switch d := s.IdentityDomain(); {
	case p.Key.Type != s.KeyType:
		return KeyUnusable, fmt.Sprintf("The key at %s is of the type %s, but the signature was made with %s.", p.Name,
			p.Key.Type, s.Algorithm)
	case p.Key.Strict() && d != s.Domain: // RFC 6376 section 3.6.1
		return DomainMismatch, fmt.Sprintf(
			"The key at %s is for %s alone (t=s), but the signature is on behalf of %s (i=).", p.Name, s.Domain, d)
	}
	return "", ""
}

var faultCauses = map[taglist.Kind]Cause{
	missingTag: TagMissing, unsupported: Unsupported, mismatch: DomainMismatch, noFrom: FromUnsigned,
}
