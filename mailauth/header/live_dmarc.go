package header

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// dmarcResult is DMARC of the message, as far as it can be told.
type dmarcResult struct {
	result policy.Result // empty if it cannot be told, for the reason in open
	open   dmarcOpen
	by     []policy.Mechanism // that make it pass, SPF first
	reason string             // why it is not known, from the DNS
}

// dmarcOpen is why DMARC cannot be told although the DNS has answered.
type dmarcOpen int

const (
	decided    dmarcOpen = iota
	noAuthor             // not exactly one domain in From
	noHop                // the address that SPF is about is not known
	noEnvelope           // the envelope sender is not known
	noBody               // an aligned signature covers a body that is not there
)

// evaluate finds out what DMARC makes of what passed (RFC 9989 section 5.3): each identifier has been compared with
// the author's domain as if it had passed.
func (e *liveEvidence) evaluate() dmarcResult {
	c := e.could
	switch {
	case c == nil && len(e.input.from) > 1: // RFC 9989 section 5.3.1
		return dmarcResult{result: policy.ResultPermError, open: noAuthor}
	case c == nil:
		return dmarcResult{open: noAuthor}
	case c.Result == policy.ResultNone, len(c.Identifiers) == 0 && c.Result != policy.ResultFail:
		r := dmarcResult{result: c.Result}
		if c.Err != nil {
			r.reason = diag.Reason(c.Err)
		}
		return r
	}
	r := dmarcResult{result: policy.ResultFail}
	var temporary error
	for i := range c.Identifiers {
		id := &c.Identifiers[i]
		switch passed, known := e.passed(id); {
		case passed && id.Aligned:
			r.by = append(r.by, id.Mechanism)
		case passed && id.Err != nil, !known && id.Aligned:
			temporary = errOr(id.Err, temporary)
			r.result = policy.ResultTempError
		}
	}
	if err := c.Err; err != nil && c.Tag == "" && r.result == policy.ResultFail { // whether the domain exists is not known
		temporary, r.result = err, policy.ResultTempError
	}
	switch {
	case len(r.by) > 0:
		r.result, r.by = policy.ResultPass, slices.Compact(r.by)
	case r.result == policy.ResultTempError:
		r.reason = e.temporary(temporary)
	case e.unchecked():
		return dmarcResult{open: noBody}
	case e.hop == nil:
		return dmarcResult{open: noHop}
	case e.input.envelope == nil:
		return dmarcResult{open: noEnvelope}
	}
	return r
}

// temporary says why something could not be looked up that DMARC needs.
func (e *liveEvidence) temporary(err error) string {
	switch {
	case err != nil:
		return diag.Reason(err)
	case e.spf != nil && e.spf.Outcome == spf.Temperror:
		return e.spf.Reason
	default:
		return "a DKIM key could not be looked up"
	}
}

func errOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// passed reports whether a mechanism authenticated an identifier, and whether that is known. What cannot be told
// for want of a body counts as not passed.
func (e *liveEvidence) passed(id *policy.Identifier) (passed, known bool) {
	if id.Mechanism == policy.SPF {
		if e.spf == nil {
			return false, true
		}
		return e.spf.Outcome == spf.Pass && mailDomain(e.spf.Domain) == id.Domain, e.spf.Outcome != spf.Temperror
	}
	known = true
	for i := range e.dkim.Signatures {
		s := &e.dkim.Signatures[i]
		if s.Domain != id.Domain.String() {
			continue
		}
		if s.Result == dkim.Pass {
			return true, true
		}
		known = known && s.Result != dkim.TempError
	}
	return false, known
}

// aligned reports whether a domain is aligned with that of the author; without a policy, by the public suffix list.
func (e *liveEvidence) aligned(m policy.Mechanism, domain string) bool {
	if e.could == nil || domain == "" {
		return false
	}
	for i := range e.could.Identifiers {
		if id := &e.could.Identifiers[i]; id.Mechanism == m && id.Domain.String() == domain {
			return id.Aligned
		}
	}
	if len(e.could.Identifiers) > 0 {
		return false
	}
	org := organizational(domain)
	return domain == e.input.from[0].String() || org != "" && org == organizational(e.input.from[0].String())
}

// unchecked reports whether an aligned signature may pass or not, depending on a body that is not there.
func (e *liveEvidence) unchecked() bool {
	return slices.ContainsFunc(e.dkim.Signatures, func(s dkim.Result) bool {
		return s.Result == dkim.Unchecked && e.aligned(policy.DKIM, s.Domain)
	})
}

// signed returns the first aligned signature with one of the results; nil if there is none.
func (e *liveEvidence) signed(results ...dkim.Word) *dkim.Result {
	for i := range e.dkim.Signatures {
		if s := &e.dkim.Signatures[i]; slices.Contains(results, s.Result) && e.aligned(policy.DKIM, s.Domain) {
			return s
		}
	}
	return nil
}
