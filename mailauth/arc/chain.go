package arc

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
)

// MaxSets bounds the sets of a chain: one with more has failed (RFC 8617 section 5.1.1.2).
const MaxSets = 50

// State is the validation state of a chain (RFC 8617 section 4.4), also in the tag cv.
type State string

// The states.
const (
	None    State = "none"    // there are no fields of ARC
	Pass    State = "pass"    // the chain is valid
	Fail    State = "fail"    // it is not, now or later
	Unknown State = "unknown" // not of RFC 8617: a key could not be looked up at present
)

// Values lists the states.
func (State) Values() []string { return diag.Values(None, Pass, Fail, Unknown) }

// A Chain is the sets of a message as they stand there.
type Chain struct {
	Instances  int     `json:"instances" min:"0" doc:"the highest instance"`
	Sets       []Set   `json:"sets" doc:"the sets, oldest first"`
	OrderValid bool    `json:"order_valid" doc:"whether the structure of the chain is valid"`
	Faults     []Fault `json:"faults" doc:"what is wrong with the structure"`
}

// A Set is what one sealer added.
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

// A Fault is something wrong with the structure of a chain.
type Fault struct {
	Code     FaultCode `json:"code" doc:"what it is"`
	Instance int       `json:"instance,omitempty" min:"0" doc:"the set that it concerns"`
	Text     string    `json:"text" doc:"the same in a sentence"`
}

// FaultCode names a fault.
type FaultCode string

const (
	noInstance FaultCode = "instance"    // a field without a valid i=
	tooMany    FaultCode = "too_many"    // more than [MaxSets]
	gap        FaultCode = "gap"         // a set is missing
	incomplete FaultCode = "incomplete"  // a set lacks a field
	duplicate  FaultCode = "duplicate"   // a set has a field twice
	syntax     FaultCode = "syntax"      // a field is not valid
	wrongState FaultCode = "wrong_state" // cv= is not none in the first set, or is none in a later one
)

// Values lists the faults.
func (FaultCode) Values() []string {
	return diag.Values(noInstance, tooMany, gap, incomplete, duplicate, syntax, wrongState)
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

// Parse finds the sets among the fields of a header. It asks nobody: whether the signatures are valid is not known
// then.
func Parse(fields []message.Field) *Chain {
	c := &Chain{Sets: []Set{}, Faults: []Fault{}}
	found := map[int]*Set{}
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Is(resultsField), f.Is(messageField), f.Is(sealField):
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

type part struct {
	instance  int
	signature *dkim.Signature // of the message or of the seal
	results   *authres.Header
}

func read(f *message.Field) (p part) {
	switch {
	case f.Is(resultsField):
		if p.results, _ = authres.ParseARC(f.Value()); p.results != nil {
			p.instance = p.results.Instance
		}
		return p
	case f.Is(messageField):
		p.signature = dkim.ParseSignature(dkim.ARCMessage, string(f.RawValue()))
	default:
		p.signature = dkim.ParseSignature(dkim.ARCSeal, string(f.RawValue()))
	}
	p.instance = p.signature.Instance
	return p
}

func (c *Chain) add(found map[int]*Set, f *message.Field, index int) {
	p := read(f)
	switch {
	case p.instance < 1: // RFC 8617 section 4.2.1
		c.fault(noInstance, 0, "An %s field has no valid instance (i=).", f.Name)
		return
	case p.instance > MaxSets:
		c.fault(tooMany, p.instance, "An %s field has instance %d; a chain has at most %d.", f.Name, p.instance, MaxSets)
		return
	}
	s := found[p.instance]
	if s == nil {
		s = &Set{Instance: p.instance, SignedFields: []string{}, SealIndex: -1, MessageIndex: -1, ResultsIndex: -1}
		found[p.instance] = s
	}
	if !s.add(p, index) { // RFC 8617 section 5.1.1
		c.fault(duplicate, p.instance, "The set i=%d has more than one %s.", p.instance, f.Name)
	}
}

// add takes a field over, unless there is one of its name.
func (s *Set) add(p part, index int) bool {
	switch {
	case p.results != nil && s.ResultsIndex < 0:
		s.Authentication, s.ResultsIndex = p.results, index
		s.AuthServID = diag.Quote(p.results.AuthservID)
	case p.results != nil:
		return false
	case p.signature.Kind == dkim.ARCMessage && s.MessageIndex < 0:
		s.Message, s.MessageIndex = p.signature, index
		for _, n := range p.signature.Names[:min(len(p.signature.Names), dkim.MaxFields)] {
			s.SignedFields = append(s.SignedFields, strings.ToLower(strings.ToValidUTF8(n, "\uFFFD")))
		}
	case p.signature.Kind == dkim.ARCSeal && s.SealIndex < 0:
		s.Seal, s.SealIndex = p.signature, index
		s.Domain, s.Selector = s.Seal.Domain.String(), s.Seal.Selector
		s.State, s.SealedAt = State(s.Seal.State), diag.OrZero(s.Seal.Time)
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
			c.fault(gap, next, "The set i=%d is missing: the chain goes up to i=%d.", next, c.Instances)
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
			c.fault(incomplete, s.Instance, "The set i=%d has no %s.", s.Instance, f.name)
		}
	}
	for _, signature := range []*dkim.Signature{s.Message, s.Seal} {
		if signature == nil {
			continue
		}
		if err, ok := signature.Err().(*dkim.SignatureError); ok {
			c.fault(syntax, s.Instance, "The %s of the set i=%d is not valid: %s.", signature.Kind, s.Instance, err.Fault.Text)
		}
	}
	if s.Message != nil && s.Seal != nil && s.Message.Domain != s.Seal.Domain {
		s.MessageDomain = s.Message.Domain.String()
	}
	switch {
	case s.Seal == nil || s.State == "":
	case s.Instance == 1 && s.State == Pass: // RFC 8617 section 5.1.1
		c.fault(wrongState, 1, "The first seal says cv=%s: there was no chain before it.", s.State)
	case s.Instance > 1 && s.State == None:
		c.fault(wrongState, s.Instance, "The seal i=%d says cv=none, although there was a chain before it.", s.Instance)
	}
}
