package header

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// sayMechanisms says how each mechanism went.
func (a *analysis) sayMechanisms(c *Conclusion) {
	a.saySigned(c)
	a.saySPF(c)
	a.sayForwarded(c)
	a.sayBroken(c)
	if len(a.live.dkim.Signatures) == 0 {
		c.say("The message is not signed with DKIM.")
	}
}

// saySigned says which signature shows who sent the message.
func (a *analysis) saySigned(c *Conclusion) {
	s := a.live.signed(dkim.Pass)
	if u := a.live.signed(dkim.Unchecked); s == nil && u != nil && a.live.dmarc.open != noBody {
		c.say("The header is as %s signed it; whether the body is, too, can be told only of the whole message.", u.Domain)
		return
	}
	if s == nil {
		switch other := a.live.anySigned(); {
		case other == nil:
		case a.author() == "":
			c.say("The message was signed by %s.", other.Domain)
		default:
			c.say("The message was signed by %s, which is not aligned with %s.", other.Domain, a.author())
		}
		return
	}
	if s.UnsignedBytes > 0 {
		c.say("The message was signed by %s, except for the last %s of its body, which anyone may have added.", s.Domain,
			diag.Count(s.UnsignedBytes, "byte"))
	} else {
		c.say("The message was signed by %s; its body and the signed fields have not been changed since.", s.Domain)
	}
	if open := unsigned(s); open != "" {
		c.say("The signature does not cover %s, which anyone may have changed or added.", open)
	}
	if s.ExpiresAt != nil && s.ExpiresAt.Before(a.live.now) {
		c.say("Its signature expired on %s; when the message was received, on %s, it was "+
			"valid.", day(*s.ExpiresAt), day(a.live.at))
	}
}

// shownFields are what people read of a header, as signatures name them.
var shownFields = []string{"subject", "date", "to", "cc", "reply-to", "sender"}

// unsigned lists the fields that people read and a signature does not cover.
func unsigned(s *dkim.Result) string {
	var list []string
	for _, name := range shownFields {
		added := slices.ContainsFunc(s.Fields, func(f dkim.SignedField) bool { return f.Name == name && f.Unsigned() > 0 })
		if added || slices.Contains(s.Unsigned, name) {
			list = append(list, textproto.CanonicalMIMEHeaderKey(name))
		}
	}
	return strings.Join(list, ", ")
}

// saySPF says what SPF shows about the server that delivered the message.
func (a *analysis) saySPF(c *Conclusion) {
	l := a.live
	if l.spf == nil {
		return
	}
	domain := diag.Quote(l.spf.Domain)
	switch aligned := l.aligned(policy.SPF, l.spfDomain()); {
	case l.spf.Outcome == spf.Pass && aligned:
		c.say("The server %s is authorized to send for %s (SPF).", l.hop.ip, domain)
	case l.spf.Outcome == spf.Pass && a.author() == "":
		c.say("The server %s is authorized to send for %s (SPF), the domain of the envelope sender.", l.hop.ip, domain)
	case l.spf.Outcome == spf.Pass:
		c.say("The server %s is authorized to send for %s (SPF), the domain of the envelope sender, which is not the "+
			"author's.", l.hop.ip, domain)
	case l.spf.Outcome == spf.Fail, l.spf.Outcome == spf.Softfail:
		if a.forwarder() == "" {
			c.say("The server %s is not authorized to send for %s (SPF: %s).", l.hop.ip, domain, l.spf.Outcome)
		}
	case l.spf.Outcome == spf.Temperror:
		c.say("SPF for %s could not be checked: %s.", domain, diag.Quote(l.spf.Reason))
	case l.spf.Outcome == spf.Permerror:
		c.say("The SPF record of %s cannot be evaluated: %s.", domain, diag.Quote(l.spf.Reason))
	default:
		c.say("%s does not say whether the server %s may send (SPF: %s).", domain, l.hop.ip, l.spf.Outcome)
	}
}

// sayForwarded explains by whom the message came if not by the author's side.
func (a *analysis) sayForwarded(c *Conclusion) {
	by := a.forwarder()
	if by == "" {
		return
	}
	l := a.live
	effect := "SPF concerns the forwarder"
	if l.spf != nil && refused(l.spf) {
		effect = "SPF fails for that reason"
	}
	switch {
	case l.signed(dkim.Pass) != nil:
		c.say("It was forwarded by %s: %s, and DKIM still passes.", by, effect)
	default:
		c.say("According to its own header, it was forwarded by %s; if that is true, %s.", by, effect)
	}
}

// sayBroken says which aligned signatures do not verify.
func (a *analysis) sayBroken(c *Conclusion) {
	for i := range a.live.dkim.Signatures {
		s := &a.live.dkim.Signatures[i]
		switch {
		case !a.live.aligned(policy.DKIM, s.Domain) || s.Result == dkim.Pass || s.Result == dkim.Unchecked:
		case s.BodyHashOK != nil && !*s.BodyHashOK:
			c.say("The body was changed after %s signed it: do not rely on what it says now.", s.Domain)
		case s.Result == dkim.TempError:
			c.say("A signature of %s could not be checked: %s", s.Domain, s.Reason)
		default:
			c.say("A signature of %s does not verify: %s", s.Domain, s.Reason)
		}
		if len(c.Reasons) > maxReasons {
			return
		}
	}
}

// maxReasons bounds the reasons; who reads them out has finished long before.
const maxReasons = 12

// sayRecorded says that the receiver found something else.
func (a *analysis) sayRecorded(c *Conclusion) {
	if r := a.recordedTrusted("dmarc"); r != nil && r.result == "fail" && c.Authentic == likely {
		c.say("%s recorded at delivery that DMARC failed; keys or records have probably changed since.", diag.Quote(r.authServID))
	}
}

// sayARC says what the chain is worth, which is not scored.
func (a *analysis) sayARC(c *Conclusion) {
	if r := a.live.arc; r != nil && r.Result == arc.Pass && a.live.dmarc.result == policy.ResultPass {
		c.say("Its ARC chain is valid: %s passed it on.", diag.Quote(r.Sets[len(r.Sets)-1].Domain))
	}
}

// sayDeception warns of what authentication does not cover: who is authentic may still deceive.
func (a *analysis) sayDeception(c *Conclusion, findings []diag.Finding) {
	for _, f := range findings {
		if slices.Contains(frauds, f.Code) {
			c.Reasons = append(c.Reasons, f.Detail)
		}
	}
}
