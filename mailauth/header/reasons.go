package header

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/header/live"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func (a *analysis) sayMechanisms(c *Conclusion) {
	a.sayFound(c)
	if len(a.live.DKIM.Signatures) == 0 {
		c.say("The message is not signed with DKIM.")
	}
}

func (a *analysis) sayFound(c *Conclusion) {
	a.saySigned(c)
	a.saySPF(c)
	a.sayForwarded(c)
	a.sayBroken(c)
}

func (a *analysis) saySigned(c *Conclusion) {
	l := a.live
	s, unchecked, other := l.Signed(dkim.Pass), l.Signed(dkim.Unchecked), l.AnySigned()
	switch {
	case s == nil && unchecked != nil && l.DMARC.Open != live.NoBody:
		c.say("The header is as %s signed it; whether the body is, too, can be told only of the whole message.", unchecked.Domain)
		return
	case s == nil && other == nil:
		return
	case s == nil && l.Author() == "":
		c.say("The message was signed by %s.", other.Domain)
		return
	case s == nil:
		c.say("The message was signed by %s, which is not aligned with %s.", other.Domain, l.Author())
		return
	case s.UnsignedBytes > 0:
		c.say("The message was signed by %s, except for the last %s of its body, which anyone may have added.", s.Domain,
			diag.Count(s.UnsignedBytes, "byte"))
	default:
		c.say("The message was signed by %s; its body and the signed fields have not been changed since.", s.Domain)
	}
	if open := unsigned(s); open != "" {
		c.say("The signature does not cover %s, which anyone may have changed or added.", open)
	}
	if !s.ExpiresAt.IsZero() && s.ExpiresAt.Before(l.Now) {
		c.say("Its signature expired on %s; when the message was received, on %s, it was valid.", day(s.ExpiresAt), day(l.At))
	}
}

func unsigned(s *dkim.Result) string {
	var list []string
	for _, name := range []string{"subject", "date", "to", "cc", "reply-to", "sender"} {
		added := slices.ContainsFunc(s.Fields, func(f dkim.SignedField) bool { return f.Name == name && f.Unsigned() > 0 })
		if added || slices.Contains(s.Unsigned, name) {
			list = append(list, textproto.CanonicalMIMEHeaderKey(name))
		}
	}
	return strings.Join(list, ", ")
}

func (a *analysis) saySPF(c *Conclusion) {
	l := a.live
	if l.SPF == nil {
		return
	}
	domain := diag.Quote(l.SPF.Domain)
	switch l.SPF.Outcome {
	case eval.Pass:
		whose := ", the domain of the envelope sender, which is not the author's"
		switch {
		case l.SPFAligned():
			whose = ""
		case l.Author() == "":
			whose = ", the domain of the envelope sender"
		}
		c.say("The server %s is authorized to send for %s (SPF)%s.", l.Hop.IP, domain, whose)
	case eval.Fail, eval.Softfail:
		if a.forwarder() == "" {
			c.say("The server %s is not authorized to send for %s (SPF: %s).", l.Hop.IP, domain, l.SPF.Outcome)
		}
	case eval.Temperror:
		c.say("SPF for %s could not be checked: %s.", domain, diag.Quote(l.SPF.Reason))
	case eval.Permerror:
		c.say("The SPF record of %s cannot be evaluated: %s.", domain, diag.Quote(l.SPF.Reason))
	default:
		c.say("%s does not say whether the server %s may send (SPF: %s).", domain, l.Hop.IP, l.SPF.Outcome)
	}
}

func (a *analysis) sayForwarded(c *Conclusion) {
	by := a.forwarder()
	effect := "SPF concerns the forwarder"
	if a.live.SPFGave(eval.Fail, eval.Softfail) {
		effect = "SPF fails for that reason"
	}
	switch {
	case by == "":
	case a.live.Signed(dkim.Pass) != nil:
		c.say("It was forwarded by %s: %s, and DKIM still passes.", by, effect)
	default:
		c.say("According to its own header, it was forwarded by %s; if that is true, %s.", by, effect)
	}
}

// maxReasons bounds the reasons; who reads them out has finished long before.
const maxReasons = 12

func (a *analysis) sayBroken(c *Conclusion) {
	for _, s := range a.live.Signatures(func(s *dkim.Result) bool { return a.live.Aligned(policy.DKIM, s.Domain) }) {
		switch {
		case s.Result == dkim.Pass || s.Result == dkim.Unchecked:
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

// sayHistory says where the message came from, what the receiver found, and what the ARC chain is worth, which is not
// scored.
func (a *analysis) sayHistory(c *Conclusion) {
	if a.live.Hop != nil {
		c.SendingIP = a.live.Hop.IP.String()
	}
	if n := a.notedTrusted(); n != nil && n.result.Value == "fail" && c.Authentic == likely {
		c.say("%s recorded at delivery that DMARC failed; keys or records have probably changed since.", n.by())
	}
	if r := a.live.ARC; r != nil && r.Result == arc.Pass && a.live.DMARC.Result == policy.ResultPass {
		c.say("Its ARC chain is valid: %s passed it on.", diag.Quote(r.Sets[len(r.Sets)-1].Domain))
	}
}
