// Package arc verifies ARC chains, in which intermediaries attest what they saw before they passed a message on (RFC
// 8617): call [Verify] with a message, or [Parse] with its header fields to use no network.
//
// # How ARC works
//
// A mailing list or forwarder that changes a message breaks its DKIM signature, and SPF does not authorize its
// server. With ARC it records the authentication results it found, signs the message anew, and seals both, in three
// fields with the same instance i=, called a set:
//
//	ARC-Authentication-Results: i=1; lists.example.net; dkim=pass header.d=example.org; dmarc=pass
//	ARC-Message-Signature: i=1; a=rsa-sha256; d=lists.example.net; s=arc; h=from:subject:date; bh=…; b=…
//	ARC-Seal: i=1; a=rsa-sha256; d=lists.example.net; s=arc; cv=none; b=…
//
// The message signature works like DKIM's, and later changes break it. The seal covers only ARC fields, its own set
// and all earlier ones, so it survives later changes to the message. Its tag cv= says whether the chain was valid
// when the sealer received it. Sets are numbered from 1 without gaps. A chain is valid if all seals are, and the
// message signature of the last set is: older ones break whenever a later sealer changes something.
//
// A valid chain proves that the fields are what the sealers wrote, not that the sealers are honest; whom to trust is
// the receiver's decision. The IETF is about to declare ARC historic, so nothing should be scored by it.
//
// # How to use the package
//
// [Parse] finds the sets and what is wrong with their structure. [Verify] looks up all keys at once and validates
// the chain (RFC 8617 section 5.2); [Result.Reason] is a sentence that can be shown to users.
package arc

import (
	"context"
	"crypto"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
)

// Result is the result of validating a chain.
type Result struct {
	Result State  `json:"result" doc:"state of the chain"`
	Reason string `json:"reason,omitempty" doc:"why the chain is not valid, or why that is not known"`
	// OldestPass is the lowest instance from which on all message signatures are valid; 0 if all are, or the chain
	// does not pass (RFC 8617 section 5.2, step 5).
	OldestPass int `json:"oldest_pass" min:"0" doc:"the set since which the message is unchanged; 0 if always, or without pass"`

	Chain
}

// Verify validates the chain of a message. Whatever is wrong with the message, it returns a result; an error means
// that the context has ended. Without a body, message signatures are known to be invalid where their header fields
// were changed, and not known to be valid.
func Verify(ctx context.Context, env *diag.Env, text []byte, o dkim.Options) (*Result, error) {
	m := dkim.Split(text)
	r := &Result{Chain: *Parse(m.Fields)}
	switch {
	case len(m.Excess) > 0:
		r.Result = Unknown
		r.Reason = fmt.Sprintf("The header has more than the %d KiB that are read.", message.MaxHeaderBytes>>10)
		return r, ctx.Err()
	case len(r.Faults) > 0:
		r.Result, r.Reason = Fail, r.Faults[0].Text
		return r, ctx.Err()
	case len(r.Sets) == 0:
		r.Result = None
		return r, ctx.Err()
	}
	c := dkim.NewChecker(m, o.HeaderOnly)
	for i := range r.Sets {
		c.Add(r.Sets[i].Message)
		c.Add(r.Sets[i].Seal)
	}
	if err := c.Gather(ctx, env); err != nil {
		return nil, err
	}
	var sealed []int // the fields of all sets so far
	for i := range r.Sets {
		s := &r.Sets[i]
		s.check(c, sealed)
		sealed = append(sealed, s.ResultsIndex, s.MessageIndex, s.SealIndex)
	}
	r.conclude()
	return r, nil
}

// check verifies the signatures of a set; sealed are the fields of those before it.
func (s *Set) check(c *dkim.Checker, sealed []int) {
	check := c.Check(s.Message, c.Selected(s.Message, s.MessageIndex), s.MessageIndex)
	s.MessageOK, s.MessageReason = s.judge(c, s.Message, check, s.MessageIndex)
	if s.State == Fail { // RFC 8617 section 5.1.2: such a seal covers its own set alone
		sealed = nil
	}
	sealed = append(sealed[:len(sealed):len(sealed)], s.ResultsIndex, s.MessageIndex)
	check = c.Check(s.Seal, sealed, s.SealIndex)
	s.SealOK, s.SealReason = s.judge(c, s.Seal, check, s.SealIndex)
}

func (s *Set) judge(c *dkim.Checker, signature *dkim.Signature, check dkim.Check, self int) (*bool, string) {
	switch p := check.Key; {
	case p.Cause == dkim.KeyUnknown && !check.Failed():
		return nil, p.Text
	case p.Cause == dkim.KeyUnknown: // with whatever key, the body is not the one that was signed
		_, text := c.Explain(signature, check, self)
		return new(false), text
	case p.Cause != "":
		return new(false), p.Text
	case p.Key.Type != signature.KeyType:
		return new(false), fmt.Sprintf("The key at %s is of the type %s, but the algorithm is %s.", p.Name, p.Key.Type,
			signature.Algorithm)
	case signature.Hash == crypto.SHA1: // RFC 8301 section 3.1
		return new(false), "The signature was made with rsa-sha1, which verifiers must not accept."
	case p.Short(): // RFC 8301 section 3.2
		return new(false), fmt.Sprintf("The RSA key at %s has %d bits, and verifiers must not accept fewer than %d.",
			p.Name, p.Key.Details.SizeBits, dkim.MinRSABits)
	}
	if check.Failed() {
		_, text := c.Explain(signature, check, self)
		return new(false), text
	}
	if check.BodyHashOK == nil && signature.Kind == dkim.ARCMessage {
		return nil, "The message signature covers the body, but there is no body to compare it with."
	}
	return check.SignatureOK, ""
}

// conclude validates the chain (RFC 8617 section 5.2).
func (r *Result) conclude() {
	last := &r.Sets[len(r.Sets)-1]
	for i := range r.Sets { // step 2; no sealer may go on after that (section 5.1.2)
		if s := &r.Sets[i]; s.State == Fail {
			r.Result = Fail
			r.Reason = fmt.Sprintf("The sealer of i=%d, %s, found that the chain had already failed.", s.Instance, s.Domain)
			return
		}
	}
	r.Result = Pass
	r.require(last.MessageOK, "The message signature i=%d of %s is not valid: %s", last, last.MessageReason) // step 4
	for i := len(r.Sets) - 1; i >= 0; i-- {                                                                  // step 6
		s := &r.Sets[i]
		r.require(s.SealOK, "The seal i=%d of %s is not valid: %s", s, s.SealReason)
	}
	if r.Result == Pass {
		for i := len(r.Sets) - 1; i >= 0; i-- { // step 5
			if ok := r.Sets[i].MessageOK; ok == nil || !*ok {
				r.OldestPass = r.Sets[i].Instance + 1
				return
			}
		}
	}
}

func (r *Result) require(ok *bool, format string, s *Set, reason string) {
	switch {
	case ok == nil && r.Result == Pass:
		r.Result, r.Reason = Unknown, reason
	case ok != nil && !*ok && r.Result != Fail:
		r.Result, r.Reason = Fail, fmt.Sprintf(format, s.Instance, s.Domain, reason)
	}
}
