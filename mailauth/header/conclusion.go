package header

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/live"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func (a *analysis) conclude(findings []diag.Finding) Conclusion {
	c := Conclusion{Authentic: NotDecided, Reasons: []string{}}
	switch l := a.live; {
	case l == nil:
		a.concludeOffline(&c)
	case l.DMARC.Result == policy.ResultPass:
		a.concludePass(&c)
	case l.DMARC.Result == policy.ResultFail:
		a.concludeFail(&c)
	case l.DMARC.Result == policy.ResultNone:
		a.concludeWithoutPolicy(&c)
	case l.DMARC.Result == policy.ResultTempError:
		c.addReason("DNS lookups failed (%s), so authenticity cannot be decided now.", phrase.Quote(l.DMARC.Reason))
		a.addMechanismReasons(&c)
	default:
		a.concludeOpen(&c)
	}
	if a.live != nil {
		a.addAuthReasons(&c)
	}
	// Mail programs may show a different author than the authenticated one.
	if n := a.count("From"); n > 1 && c.Authentic == Likely {
		c.Authentic = NotDecided
		c.addReason("There are %d From fields: a mail program may show one that is not authenticated.", n)
	}
	for _, f := range filterCodes(findings, fraudCodes) { // an authentic sender may still deceive
		c.Reasons = append(c.Reasons, f.Detail)
	}
	return c
}

func (a *analysis) concludePass(c *Conclusion) {
	c.Authentic = Likely
	if a.live.AnyoneMaySend() && !slices.Contains(a.live.DMARC.By, policy.DKIM) {
		c.Authentic = NotDecided
		c.addReason("DMARC passes for %s, but only because its SPF record authorizes every server on the Internet, which "+
			"proves nothing.", a.live.Author())
	} else if !a.covered() {
		c.Authentic = NotDecided
		c.addReason("DMARC passes for %s by a DKIM signature alone, and that does not cover %s.",
			a.live.Author(), a.uncoveredParts())
	} else {
		c.addReason("DMARC passes: the message was sent on behalf of %s, the domain in From.", a.live.Author())
	}
	a.addFoundReasons(c)
}

// trustNote concludes from a server's record that DMARC passed. If that may rest on a signature alone, only what the
// signature covers is called authentic.
func (a *analysis) trustNote(c *Conclusion, n *note) {
	c.Authentic = Likely
	for i := range a.notes {
		s := &a.notes[i]
		spf := s.trusted && s.id == n.id && s.result.Method == "spf" && s.result.Value == "pass"
		if spf && route.SameOrganization(s.result.Domain(), a.fromDomain) {
			return
		}
	}
	s := a.choose(a.candidates())
	if s == nil || s.Length == nil && a.unsigned(s.Signature, "Subject") == 0 {
		return
	}
	c.Authentic = NotDecided
	c.addReason("The pass may rest on the DKIM signature of %s alone, which does not cover the whole message.", s.domain())
}

// uncoveredParts names the visible parts of the message that the best signature does not cover.
func (a *analysis) uncoveredParts() string {
	if a.best == nil {
		return "the message"
	}
	list := a.openFields(a.best.Signature, []string{"From", "Subject"})
	switch {
	case a.best.uncoveredBytes > 0 && *a.best.Length == 0:
		list = append(list, "the body")
	case a.best.uncoveredBytes > 0:
		list = append(list, "the end of the body")
	}
	return strings.Join(list, " and ")
}

func (a *analysis) concludeFail(c *Conclusion) {
	l := a.live
	c.addReason("DMARC fails: neither SPF nor DKIM authenticates %s, the domain in From.", l.Author())
	a.addMechanismReasons(c)
	switch a.findMitigation() {
	case noMitigation:
		if l.MitigationUnanswered() {
			c.addReason("DNS lookups failed that could explain it, so nothing more can be concluded now.")
			return
		}
		c.Authentic = Unlikely
	case notedPass:
		a.trustNote(c, a.notedTrusted())
		c.addReason("%s recorded at delivery that DMARC passed; keys or records have probably changed since.",
			a.notedTrusted().by())
	case claimedPass:
		c.addReason("An Authentication-Results field of %s says that DMARC passed, but the sender could have added "+
			"it: make sure that the receiver removes such fields.", a.notedTrusted().by())
	case changedBody:
		s := l.Changed()
		if s.SignatureOK != nil && *s.SignatureOK {
			c.addReason("The header is as %s signed it, but the body is not: the message comes from that domain "+
				"and was changed on the way, as mailing lists and filters do.", s.Domain)
		} else {
			c.addReason("The header is as %s signed it once the changes that mailing lists make are undone: the message comes "+
				"from that domain and was changed on the way.", s.Domain)
		}
	case arcVouched:
		c.addReason("The ARC chain is valid, and %s states in it that DMARC passed before: the message is as trustworthy as "+
			"that server.", phrase.Quote(l.ARC.Sets[0].Domain))
	case misaligned:
		c.addReason("%s is authenticated and belongs to the same organization, but is not aligned with %s as "+
			"its DMARC policy requires.", l.Misaligned(), l.Author())
	case oldMessage:
		c.addReason("The message was received on %s. Keys and SPF records may have changed since, so a failure today means "+
			"little.", day(l.At))
	case filtered:
		c.addReason("The message came through %s, a mail filter. If it is the receiver's, list it in trusted_authserv_ids, "+
			"so that the server before it is judged.", a.gateway())
	}
}

func (a *analysis) concludeWithoutPolicy(c *Conclusion) {
	l := a.live
	if l.Nonexistent() {
		c.Authentic = Unlikely
		c.addReason("The domain %s does not exist, so it cannot have sent the message.", l.Author())
		return
	}
	c.addReason("%s publishes no DMARC policy.", l.Author())
	a.addMechanismReasons(c)
	switch {
	case a.deliveredByAuthor(), l.Signed(dkim.Pass) != nil && a.covered():
		c.Authentic = Likely
	case l.SPFGave(eval.Fail) && l.SPFAligned() && len(l.DKIM.Signatures) == 0 && a.forwarder() == "" &&
		l.Now.Sub(l.At) <= staleRecord:
		c.Authentic = Unlikely
	}
}

func (a *analysis) concludeOpen(c *Conclusion) {
	switch a.live.DMARC.Open {
	case live.NoAuthor:
		if len(a.input.From) > 1 {
			c.addReason("The From field has addresses in several domains, so DMARC cannot be applied; most receivers reject " +
				"such messages.")
		} else {
			c.addReason("No From field has a valid address, so there is no domain to authenticate.")
		}
	case live.NoBody:
		c.addReason("The header is as %s signed it. Whether the body is too can only be checked with the whole message.",
			a.live.Signed(dkim.Unchecked).Domain)
	case live.NoHop:
		c.addReason("Which server delivered the message from outside is unknown. %s", a.live.Why)
	case live.NoEnvelope:
		c.addReason("The envelope sender is unknown because there is no Return-Path field, so SPF " +
			"cannot be checked for DMARC.")
	case live.Decided:
		c.addReason("The DMARC record cannot be used.")
	}
	a.addMechanismReasons(c)
}

// concludeOffline uses the results of a server that the caller trusts.
func (a *analysis) concludeOffline(c *Conclusion) {
	hop, why := a.input.Outside.Offline()
	if hop != nil {
		c.SendingIP = hop.IP.String()
	}
	switch n := a.notedTrusted(); {
	case n == nil:
		c.addReason("Nothing was checked live, and no server in trusted_authserv_ids recorded a DMARC result.")
	case n.result.Value == "pass":
		a.trustNote(c, n)
		c.addReason("%s recorded at delivery that DMARC passed for %s.", n.by(), phrase.Quote(n.result.Domain()))
	case n.result.Value == "fail":
		c.Authentic = Unlikely
		c.addReason("%s recorded at delivery that DMARC failed for %s.", n.by(), phrase.Quote(n.result.Domain()))
	default:
		c.addReason("%s recorded the DMARC result %s, which decides nothing.", n.by(), phrase.Quote(n.result.Value))
	}
	c.Reasons = append(c.Reasons, why)
}

func (n *note) by() string { return phrase.Quote(n.header.AuthservID) }

func (c *Conclusion) addReason(format string, args ...any) {
	c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// The maximum age of a message at which today's DNS counts as evidence against it. Keys are left published for about
// a week after their last use; SPF records change less often.
const (
	staleKey    = 7 * 24 * time.Hour
	staleRecord = 90 * 24 * time.Hour
)

// mitigation is a reason why a message may be genuine although DMARC fails.
type mitigation int

const (
	noMitigation mitigation = iota
	notedPass               // a server that the caller trusts recorded a pass
	claimedPass             // the same, where the sender could have written it
	changedBody             // the author's domain signed it, and the changes since are known
	arcVouched              // a valid ARC chain states that it passed before
	oldMessage              // the message is older than the DNS records about it
	filtered                // the previous server may be a filter of the receiver
	misaligned              // a domain of the author's organization is authenticated; only strict alignment refuses it
)

func (a *analysis) findMitigation() mitigation {
	l := a.live
	limit := staleRecord
	if len(l.Signatures(func(s *dkim.Result) bool { return l.Aligned(policy.DKIM, s.Domain) })) > 0 {
		limit = staleKey
	}
	n := a.notedTrusted()
	passes := n != nil && passed(*n.result)
	switch {
	case passes && a.isAboveOutsideHop(n):
		return notedPass
	case l.Misaligned() != "":
		return misaligned
	case l.Changed() != nil:
		return changedBody
	case l.Vouched():
		return arcVouched
	case l.Now.Sub(l.At) > limit:
		return oldMessage
	case a.gateway() != "":
		return filtered
	case passes:
		return claimedPass
	default:
		return noMitigation
	}
}

// isAboveOutsideHop reports whether a result is above the Received field of the outside hop, where no sender can write.
func (a *analysis) isAboveOutsideHop(n *note) bool {
	return a.live.Hop != nil && a.live.Hop.Field.Offset > n.field.Offset
}

func checked(a *analysis) bool { return a.live != nil }

func passes(a *analysis) bool { return checked(a) && a.live.DMARC.Result == policy.ResultPass }

func decisive(a *analysis) bool {
	return passes(a) || checked(a) && a.live.DMARC.Result == policy.ResultFail
}

// explainedByAge reports whether DMARC fails for a reason that lies in the time since delivery.
func explainedByAge(a *analysis) bool {
	return decisive(a) && !passes(a) && slices.Contains([]mitigation{notedPass, oldMessage}, a.findMitigation())
}

func current(a *analysis) bool { return decisive(a) && !explainedByAge(a) }

func enforced(a *analysis) bool {
	return a.live.BestCase != nil && a.live.BestCase.Applied != policy.None && a.live.BestCase.Applied != ""
}

func (a *analysis) addMechanismReasons(c *Conclusion) {
	a.addFoundReasons(c)
	if len(a.live.DKIM.Signatures) == 0 {
		c.addReason("The message is not signed with DKIM.")
	}
}

func (a *analysis) addFoundReasons(c *Conclusion) {
	a.addSignatureReasons(c)
	a.addSPFReasons(c)
	a.addForwardingReasons(c)
	a.addFailureReasons(c)
}

func (a *analysis) addSignatureReasons(c *Conclusion) {
	l := a.live
	s, unchecked, other := l.Signed(dkim.Pass), l.Signed(dkim.Unchecked), l.AnySigned()
	if s != nil {
		s = l.Signatures(func(s *dkim.Result) bool { return s.Signature == a.best.Signature })[0]
	}
	switch {
	case s == nil && unchecked != nil && l.DMARC.Open != live.NoBody:
		c.addReason("The header is as %s signed it; whether the body is, too, can be known only from the whole message.",
			unchecked.Domain)
		return
	case s == nil && other == nil:
		return
	case s == nil && l.Author() == "":
		c.addReason("The message was signed by %s.", other.Domain)
		return
	case s == nil:
		c.addReason("The message was signed by %s, which is not aligned with %s.", other.Domain, l.Author())
		return
	case s.UnsignedBytes > 0 && *s.BodyLength == 0:
		c.addReason("The message was signed by %s, but nothing of its body was (l=0).", s.Domain)
	case s.UnsignedBytes > 0:
		c.addReason("The message was signed by %s, except for the last %s of its body, which anyone "+
			"may have added.", s.Domain,
			phrase.Count(s.UnsignedBytes, "byte"))
	default:
		c.addReason("The message was signed by %s; its body and the signed fields have not been changed since.", s.Domain)
	}
	if open := a.open(s.Signature); open != "" {
		c.addReason("The signature does not cover %s, which anyone may have changed or added.", open)
	}
	if !s.ExpiresAt.IsZero() && s.ExpiresAt.Before(l.Now) {
		c.addReason("Its signature expired on %s; when the message was received, on %s, it was valid.",
			day(s.ExpiresAt), day(l.At))
	}
}

func (a *analysis) addSPFReasons(c *Conclusion) {
	l := a.live
	if l.SPF == nil {
		return
	}
	domain := phrase.Quote(l.SPF.Domain)
	switch l.SPF.Outcome {
	case eval.Pass:
		whose := ", the domain of the envelope sender, which is not the author's"
		switch {
		case l.SPFAligned():
			whose = ""
		case l.Author() == "":
			whose = ", the domain of the envelope sender"
		}
		c.addReason("The server %s is authorized to send for %s (SPF)%s.", l.Hop.IP, domain, whose)
	case eval.Fail, eval.Softfail:
		if a.forwarder() == "" {
			c.addReason("The server %s is not authorized to send for %s (SPF: %s).", l.Hop.IP, domain, l.SPF.Outcome)
		}
	case eval.Temperror:
		c.addReason("SPF for %s could not be checked: %s.", domain, phrase.Quote(l.SPF.Reason))
	case eval.Permerror:
		c.addReason("The SPF record of %s cannot be evaluated: %s.", domain, phrase.Quote(l.SPF.Reason))
	default:
		c.addReason("%s does not say whether the server %s may send (SPF: %s).", domain, l.Hop.IP, l.SPF.Outcome)
	}
}

func (a *analysis) addForwardingReasons(c *Conclusion) {
	by := a.forwarder()
	effect := "SPF concerns the forwarder"
	if a.live.SPFGave(eval.Fail, eval.Softfail) {
		effect = "SPF fails for that reason"
	}
	switch {
	case by == "":
	case a.live.Signed(dkim.Pass) != nil:
		c.addReason("It was forwarded by %s: %s, and DKIM still passes.", by, effect)
	default:
		c.addReason("According to its own header, it was forwarded by %s; if that is true, %s.", by, effect)
	}
}

// maxReasons bounds the reasons; no reader needs more.
const maxReasons = 12

func (a *analysis) addFailureReasons(c *Conclusion) {
	for _, s := range a.live.Signatures(func(s *dkim.Result) bool { return a.live.Aligned(policy.DKIM, s.Domain) }) {
		switch {
		case s.Result == dkim.Pass || s.Result == dkim.Unchecked:
		case s.BodyHashOK != nil && !*s.BodyHashOK:
			c.addReason("The body was changed after %s signed it: do not rely on what it says now.", s.Domain)
		case s.Result == dkim.TempError:
			c.addReason("A signature of %s could not be checked: %s", s.Domain, s.Reason)
		default:
			c.addReason("A signature of %s does not verify: %s", s.Domain, s.Reason)
		}
		if len(c.Reasons) > maxReasons {
			return
		}
	}
}

// addAuthReasons adds the origin of the message, the receiver's results, and the value of the ARC chain, which is not
// scored.
func (a *analysis) addAuthReasons(c *Conclusion) {
	if a.live.Hop != nil {
		c.SendingIP = a.live.Hop.IP.String()
	}
	if n := a.notedTrusted(); n != nil && n.result.Value == "fail" && c.Authentic == Likely {
		c.addReason("%s recorded at delivery that DMARC failed; keys or records have probably changed since.", n.by())
	}
	if r := a.live.ARC; r != nil && r.Result == arc.Pass && a.live.DMARC.Result == policy.ResultPass {
		c.addReason("Its ARC chain is valid: %s passed it on.", phrase.Quote(r.Sets[len(r.Sets)-1].Domain))
	}
}
