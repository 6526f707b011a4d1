package live

import (
	"cmp"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// evaluate finds out what DMARC makes of what passed (RFC 9989 section 5.3): each identifier has been compared with
// the author's domain as if it had passed.
func (e *Evidence) evaluate() DMARC {
	c := e.Could
	switch {
	case c == nil && len(e.From) > 1: // RFC 9989 section 5.3.1
		return DMARC{Result: policy.ResultPermError, Open: NoAuthor}
	case c == nil:
		return DMARC{Open: NoAuthor}
	case c.Result == policy.ResultNone, len(c.Identifiers) == 0 && c.Result != policy.ResultFail:
		d := DMARC{Result: c.Result}
		if c.Err != nil {
			d.Reason = diag.Reason(c.Err)
		}
		return d
	}
	d := DMARC{Result: policy.ResultFail}
	var temporary error
	for i := range c.Identifiers {
		id := &c.Identifiers[i]
		switch passed, known := e.passed(id); {
		case passed && id.Aligned:
			d.By = append(d.By, id.Mechanism)
		case passed && id.Err != nil, !known && id.Aligned:
			temporary, d.Result = cmp.Or(id.Err, temporary), policy.ResultTempError
		}
	}
	if err := c.Err; err != nil && c.Tag == "" && d.Result == policy.ResultFail { // whether the domain exists is not known
		temporary, d.Result = err, policy.ResultTempError
	}
	switch {
	case len(d.By) > 0:
		d.Result, d.By = policy.ResultPass, slices.Compact(d.By)
	case d.Result == policy.ResultTempError:
		d.Reason = e.temporary(temporary)
	case e.Signed(dkim.Unchecked) != nil:
		return DMARC{Open: NoBody}
	case e.Hop == nil:
		return DMARC{Open: NoHop}
	case e.Envelope == nil:
		return DMARC{Open: NoEnvelope}
	}
	return d
}

// temporary says why something could not be looked up that DMARC needs.
func (e *Evidence) temporary(err error) string {
	switch {
	case err != nil:
		return diag.Reason(err)
	case e.SPFGave(eval.Temperror):
		return e.SPF.Reason
	default:
		return "a DKIM key could not be looked up"
	}
}

// passed reports whether a mechanism authenticated an identifier, and whether that is known. What cannot be told
// for want of a body counts as not passed.
func (e *Evidence) passed(id *policy.Identifier) (passed, known bool) {
	if id.Mechanism == policy.SPF {
		return e.SPFGave(eval.Pass) && MailDomain(e.SPF.Domain) == id.Domain, !e.SPFGave(eval.Temperror)
	}
	known = true
	for _, s := range e.Signatures(func(s *dkim.Result) bool { return s.Domain == id.Domain.String() }) {
		if s.Result == dkim.Pass {
			return true, true
		}
		known = known && s.Result != dkim.TempError
	}
	return false, known
}
