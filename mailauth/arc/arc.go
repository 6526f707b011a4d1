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
// A valid chain proves that the fields are what the sealers wrote, not that the sealers are honest; which sealers to
// trust is the receiver's decision. The IETF is about to declare ARC historic, so nothing should be scored by it.
//
// # How to use the package
//
// [Parse] finds the sets and what is wrong with their structure. [Verify] looks up all keys concurrently and validates
// the chain (RFC 8617 section 5.2); [Result.Reason] is a sentence that can be shown to users.
package arc

import (
	"context"
	"crypto"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/authres"
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

// Verify validates the chain of a message, whose text [message.Read] takes from a reader. Whatever is wrong with the
// message, it returns a result; an error means that the context has ended. Without a body, message signatures are known
// to be invalid where their header fields were changed, and not known to be valid.
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

// MaxSets bounds the sets of a chain: one with more has failed (RFC 8617 section 5.2, step 1).
const MaxSets = 50

// State is the validation state of a chain (RFC 8617 section 4.4), also in the tag cv.
type State string

// The states.
const (
	None    State = "none"    // there are no ARC fields
	Pass    State = "pass"    // the chain is valid
	Fail    State = "fail"    // it is not, and never will be
	Unknown State = "unknown" // not of RFC 8617: a key could not be looked up at present
)

// Values lists the states.
func (State) Values() []string { return kit.Values(None, Pass, Fail, Unknown) }

// A Chain holds the ARC sets of a message as found in its header.
type Chain struct {
	Instances  int     `json:"instances" min:"0" doc:"the highest instance"`
	Sets       []Set   `json:"sets" doc:"the sets, oldest first"`
	OrderValid bool    `json:"order_valid" doc:"whether the structure of the chain is valid"`
	Faults     []Fault `json:"faults" doc:"what is wrong with the structure"`
}

// A Set holds the fields that one sealer added.
type Set struct {
	Instance      int       `json:"instance" min:"0" doc:"number of the set (i=)"`
	Domain        string    `json:"domain" doc:"domain of the sealer (d=); empty without a valid ARC-Seal"`
	Selector      string    `json:"selector" doc:"selector of its key (s=)"`
	State         State     `json:"chain_validation,omitempty" doc:"the state of the chain as the sealer found it (cv=)"`
	SealedAt      time.Time `json:"sealed_at,omitzero" doc:"when it was sealed (t=)"`
	MessageDomain string    `json:"message_domain,omitempty" doc:"domain of the message signature, if it is another one"`
	SignedFields  []string  `json:"signed_fields" doc:"what the message signature covers (h=), lower case"`
	AuthServID    string    `json:"authserv_id,omitempty" doc:"who authenticated the message"`
	SealOK        *bool     `json:"seal_ok,omitempty" doc:"whether the seal is valid; absent if unknown"`
	MessageOK     *bool     `json:"message_ok,omitempty" doc:"whether the message is as sealed; absent if unknown"`
	SealReason    string    `json:"seal_reason,omitempty" doc:"why the seal is not valid, or unknown"`
	MessageReason string    `json:"message_reason,omitempty" doc:"why the message signature is not valid, or unknown"`
	// The fields, nil if they are missing.
	Seal           *dkim.Signature `json:"-"`
	Message        *dkim.Signature `json:"-"`
	Authentication *authres.Header `json:"-"`
	// Where the fields are in the header; -1 if they are missing.
	SealIndex, MessageIndex, ResultsIndex int `json:"-"`
}

// A Fault is a structural error of a chain.
type Fault struct {
	Code     FaultCode `json:"code" doc:"what it is"`
	Instance int       `json:"instance,omitempty" min:"0" doc:"the set that it concerns"`
	Text     string    `json:"text" doc:"the same in a sentence"`
}

// FaultCode names a fault: instance, too_many, gap, incomplete, duplicate, syntax or wrong_state.
type FaultCode string

const (
	FaultNoInstance FaultCode = "instance"    // a field without a valid i=
	FaultTooMany    FaultCode = "too_many"    // more than [MaxSets]
	FaultGap        FaultCode = "gap"         // a set is missing
	FaultIncomplete FaultCode = "incomplete"  // a set lacks a field
	FaultDuplicate  FaultCode = "duplicate"   // a set has a field twice
	FaultSyntax     FaultCode = "syntax"      // a field is not valid
	FaultWrongState FaultCode = "wrong_state" // cv= is other than none in the first set, or none in a later one
)

// Values lists the faults.
func (FaultCode) Values() []string {
	return kit.Values(FaultNoInstance, FaultTooMany, FaultGap, FaultIncomplete, FaultDuplicate, FaultSyntax,
		FaultWrongState)
}

const (
	resultsField = "ARC-Authentication-Results"
	messageField = string(dkim.ARCMessage)
	sealField    = string(dkim.ARCSeal)
)

// maxFaults bounds the list of faults; the first ones tell enough.
const maxFaults = 20

func (c *Chain) fault(code FaultCode, instance int, format string, args ...any) {
	if len(c.Faults) < maxFaults {
		c.Faults = append(c.Faults, Fault{code, instance, fmt.Sprintf(format, args...)})
	}
}

// Parse finds the sets among the fields of a header. It makes no DNS lookups and does not verify the signatures.
func Parse(fields []message.Field) *Chain {
	c := &Chain{Sets: []Set{}, Faults: []Fault{}}
	found := map[int]*Set{}
	for i := range fields {
		f := &fields[i]
		if f.Is(resultsField) || f.Is(messageField) || f.Is(sealField) {
			c.add(found, f, i)
		}
	}
	for instance, s := range found {
		c.Instances = max(c.Instances, instance)
		c.Sets = append(c.Sets, *s)
	}
	slices.SortFunc(c.Sets, func(a, b Set) int { return a.Instance - b.Instance })
	c.check()
	c.OrderValid = len(c.Faults) == 0
	return c
}

func read(f *message.Field) (instance int, results *authres.Header, signature *dkim.Signature) {
	if f.Is(resultsField) {
		if results, _ = authres.ParseARC(f.Value()); results != nil {
			instance = results.Instance
		}
		return instance, results, nil
	}
	kind := dkim.ARCSeal
	if f.Is(messageField) {
		kind = dkim.ARCMessage
	}
	signature = dkim.ParseSignature(kind, string(f.RawValue()))
	return signature.Instance, nil, signature
}

func (c *Chain) add(found map[int]*Set, f *message.Field, index int) {
	instance, results, signature := read(f)
	switch {
	case instance < 1: // RFC 8617 section 4.2.1
		c.fault(FaultNoInstance, 0, "An %s field has no valid instance (i=).", f.Name)
		return
	case instance > MaxSets:
		c.fault(FaultTooMany, instance, "An %s field has instance %d; a chain has at most %d.", f.Name, instance, MaxSets)
		return
	}
	s := found[instance]
	if s == nil {
		s = &Set{Instance: instance, SignedFields: []string{}, SealIndex: -1, MessageIndex: -1, ResultsIndex: -1}
		found[instance] = s
	}
	if !s.add(results, signature, index) { // RFC 8617 section 5.1.1
		c.fault(FaultDuplicate, instance, "The set i=%d has more than one %s.", instance, f.Name)
	}
}

// add adds a field, unless the set already has one of that name.
func (s *Set) add(results *authres.Header, signature *dkim.Signature, index int) bool {
	switch {
	case results != nil && s.ResultsIndex < 0:
		s.Authentication, s.ResultsIndex = results, index
		s.AuthServID = phrase.Quote(results.AuthservID)
	case results != nil:
		return false
	case signature.Kind == dkim.ARCMessage && s.MessageIndex < 0:
		s.Message, s.MessageIndex = signature, index
		for _, n := range signature.Names[:min(len(signature.Names), dkim.MaxFields)] {
			s.SignedFields = append(s.SignedFields, strings.ToLower(strings.ToValidUTF8(n, "\uFFFD")))
		}
	case signature.Kind == dkim.ARCSeal && s.SealIndex < 0:
		s.Seal, s.SealIndex = signature, index
		s.Domain, s.Selector = s.Seal.Domain.String(), s.Seal.Selector
		s.State, s.SealedAt = State(s.Seal.State), kit.OrZero(s.Seal.Time)
	default:
		return false
	}
	return true
}

// check looks for faults across sets (RFC 8617 section 5.2, steps 1 to 3).
func (c *Chain) check() {
	next := 1
	for i := range c.Sets {
		s := &c.Sets[i]
		if s.Instance > next {
			c.fault(FaultGap, next, "The set i=%d is missing: the chain goes up to i=%d.", next, c.Instances)
		}
		next = s.Instance + 1
		c.checkSet(s)
	}
}

func (c *Chain) checkSet(s *Set) {
	for _, f := range []struct {
		name  string
		index int
	}{{resultsField, s.ResultsIndex}, {messageField, s.MessageIndex}, {sealField, s.SealIndex}} {
		if f.index < 0 {
			c.fault(FaultIncomplete, s.Instance, "The set i=%d has no %s.", s.Instance, f.name)
		}
	}
	for _, signature := range []*dkim.Signature{s.Message, s.Seal} {
		if signature == nil {
			continue
		}
		if err, ok := signature.Err().(*dkim.SignatureError); ok {
			c.fault(FaultSyntax, s.Instance, "The %s of the set i=%d is not valid: %s.", signature.Kind, s.Instance,
				err.Fault.Text)
		}
	}
	if s.Message != nil && s.Seal != nil && s.Message.Domain != s.Seal.Domain {
		s.MessageDomain = s.Message.Domain.String()
	}
	switch {
	case s.Seal == nil || s.State == "":
	case s.Instance == 1 && s.State == Pass: // RFC 8617 section 5.1.1
		c.fault(FaultWrongState, 1, "The first seal says cv=%s: there was no chain before it.", s.State)
	case s.Instance > 1 && s.State == None:
		c.fault(FaultWrongState, s.Instance, "The seal i=%d says cv=none, although there was a chain before it.", s.Instance)
	}
}
