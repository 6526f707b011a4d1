package dkim

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// Split is [message.Split] for a message whose signatures are to be verified: where a program has spoiled all line
// ends, they are restored first.
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
			r.PublicKey, r.Testing = diag.OrZero(p.Key.Details), p.Key.Testing()
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
	r.SignedAt, r.ExpiresAt, r.BodyLength = diag.OrZero(s.Time), diag.OrZero(s.Expires), s.Length
	if !s.KeyName.IsZero() {
		r.KeyName = s.KeyName.String()
	}
	if size, ok := c.bodies.sizes[s.Body]; ok && s.Length != nil {
		r.UnsignedBytes = max(0, size-*s.Length)
	}
	r.Fields, r.Unsigned = c.header.coverage(s)
}

// conclude sums up what is known, in the order of RFC 6376 section 6.1.
func (r *Result) conclude(c *Checker, check Check) (Word, Cause, string) {
	s := r.Signature
	if err, ok := s.Err().(*SignatureError); ok {
		word := PermError
		if err.Syntax() { // RFC 8601 section 2.7.1
			word = Neutral
		}
		return word, cmp.Or(faultCauses[err.Fault.Kind], SyntaxError), "The DKIM-Signature field is not valid: " + err.Fault.Text + "."
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

// refusedBy says why a key that is valid is not for this signature.
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

// faultCauses are the causes of faults of fields, all but those of syntax.
var faultCauses = map[taglist.Kind]Cause{
	missingTag: TagMissing, unsupported: Unsupported, mismatch: DomainMismatch, noFrom: FromUnsigned,
}
