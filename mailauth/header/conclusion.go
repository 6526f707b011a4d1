package header

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// How old a message may be for what the DNS says today to speak against it. Keys are left published for about a week
// after their last use; SPF records change less often.
const (
	staleKey    = 7 * 24 * time.Hour
	staleRecord = 90 * 24 * time.Hour
)

// Authenticity says whether a message comes from the domain that its From field shows.
type Authenticity string

// The judgements.
const (
	Likely     Authenticity = "likely"
	Unlikely   Authenticity = "unlikely"
	NotDecided Authenticity = "unknown"
)

// Values lists the judgements.
func (Authenticity) Values() []string {
	return []string{string(Likely), string(Unlikely), string(NotDecided)}
}

// A Conclusion says whether a message is authentic, with reasons that can be read out.
type Conclusion struct {
	Authentic Authenticity `json:"authentic" doc:"whether the message comes from the domain that its From field shows"`
	SendingIP string       `json:"sending_ip,omitempty" doc:"address of the server that delivered the message to the receiver's side"`
	Reasons   []string     `json:"reasons" doc:"why, in sentences for people, the weightiest first"`
}

// say adds a reason.
func (c *Conclusion) say(format string, args ...any) {
	c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
}

// conclude weighs what was found.
func (a *analysis) conclude() Conclusion {
	c := Conclusion{Authentic: NotDecided, Reasons: []string{}}
	if a.live == nil {
		a.concludeOffline(&c)
		a.sayDeception(&c)
		return c
	}
	if a.live.hop != nil {
		c.SendingIP = a.live.hop.ip.String()
	}
	switch d := a.live.dmarc; {
	case d.result == policy.ResultPass:
		a.concludePass(&c)
	case d.result == policy.ResultFail:
		a.concludeFail(&c)
	case d.result == policy.ResultNone:
		a.concludeWithoutPolicy(&c)
	case d.result == policy.ResultTempError:
		c.say("The DNS did not answer all questions (%s), so that nothing can be concluded now.", diag.Quote(d.reason))
		a.sayMechanisms(&c)
	default:
		a.concludeOpen(&c)
	}
	a.sayRecorded(&c)
	a.sayARC(&c)
	a.sayDeception(&c)
	return c
}

// author is the domain of the From field.
func (a *analysis) author() string {
	if len(a.input.from) == 0 {
		return ""
	}
	return a.input.from[0].String()
}

func (a *analysis) concludePass(c *Conclusion) {
	c.Authentic = Likely
	c.say("DMARC passes: %s stands behind the address in the From field.", a.author())
	a.saySigned(c)
	a.saySPF(c)
	a.sayForwarded(c)
	a.sayBroken(c)
}

func (a *analysis) concludeFail(c *Conclusion) {
	l := a.live
	c.say("DMARC fails: neither SPF nor DKIM shows that %s sent the message.", a.author())
	a.sayMechanisms(c)
	c.Authentic = NotDecided
	switch a.excuse() {
	case noExcuse:
		c.Authentic = Unlikely
	case notedPass:
		c.Authentic = Likely
		c.say("%s noted when the message arrived that DMARC passed; keys or records have probably changed since.",
			diag.Quote(a.recordedTrusted("dmarc").authServID))
	case claimedPass:
		c.say("A field in the name of %s says that DMARC passed, but the sender could have written it: make sure that the "+
			"receiver removes such fields.", diag.Quote(a.recordedTrusted("dmarc").authServID))
	case changedBody:
		c.say("The header is still as %s signed it, but the body is not: the message is genuine in its origin and was changed "+
			"on the way, as mailing lists and filters do.", l.headerIntact().Domain)
	case vouched:
		c.say("The ARC chain is valid, and %s says in it that DMARC passed before: the message is as trustworthy as that server.",
			diag.Quote(l.arc.Sets[0].Domain))
	case longAgo:
		c.say("The message was received on %s. Keys and SPF records may have changed since, so that a failure today says little.",
			day(l.at))
	case filtered:
		c.say("The message came through %s, a mail filter. If it is that of the receiver, name it in trusted_authserv_ids: "+
			"then the server before it is judged.", a.gateway())
	}
}

// beyondReach reports whether a note stands above the Received field of the outside hop, where no sender can write.
func (a *analysis) beyondReach(r *recorded) bool {
	if a.live.hop == nil {
		return false
	}
	border := a.hops[a.live.hop.index].field
	return slices.IndexFunc(a.msg.Fields, func(f message.Field) bool { return f.Offset == border.Offset }) > r.position
}

// excuse is why a message may be genuine although DMARC fails.
type excuse int

const (
	noExcuse    excuse = iota
	notedPass          // a server that the caller trusts noted that it passed
	claimedPass        // the same, where the sender could have written it
	changedBody        // the header is as the author's domain signed it
	vouched            // a valid ARC chain says that it passed before
	longAgo            // the message is older than what the DNS says about it
	filtered           // the server before may be a filter of the receiver
)

// excuse finds why the message may be genuine although DMARC fails now.
func (a *analysis) excuse() excuse {
	l := a.live
	age, limit := l.now.Sub(l.at), staleRecord
	if len(l.signatures(func(s *dkim.Result) bool { return l.aligned(policy.DKIM, s.Domain) })) > 0 {
		limit = staleKey
	}
	switch r := a.recordedTrusted("dmarc"); {
	case r != nil && r.result == "pass" && a.beyondReach(r):
		return notedPass
	case l.headerIntact() != nil:
		return changedBody
	case l.arcVouches():
		return vouched
	case age > limit:
		return longAgo
	case a.gateway() != "":
		return filtered
	case r != nil && r.result == "pass":
		return claimedPass
	default:
		return noExcuse
	}
}

func (a *analysis) concludeWithoutPolicy(c *Conclusion) {
	l := a.live
	c.say("%s publishes no DMARC policy.", a.author())
	signed := l.signed(dkim.Pass) != nil
	passes := l.spf != nil && l.spf.Outcome == spf.Pass && l.aligned(policy.SPF, l.spfDomain())
	fails := l.spf != nil && l.spf.Outcome == spf.Fail && l.aligned(policy.SPF, l.spfDomain())
	a.sayMechanisms(c)
	switch {
	case signed || passes:
		c.Authentic = Likely
	case fails && len(l.dkim.Signatures) == 0 && a.forwarder() == "" && l.now.Sub(l.at) <= staleRecord:
		c.Authentic = Unlikely
	}
}

// concludeOpen is for what the message at hand does not tell.
func (a *analysis) concludeOpen(c *Conclusion) {
	switch a.live.dmarc.open {
	case noAuthor:
		if len(a.input.from) > 1 {
			c.say("The From field shows addresses of several domains, so that DMARC cannot be applied; most receivers refuse such messages.")
		} else {
			c.say("There is no From field with a valid address, so that there is no domain to be authentic for.")
		}
	case noBody:
		c.say("The header is as %s signed it. Whether the body is, too, can be told only of the whole message.",
			a.live.signed(dkim.Unchecked).Domain)
	case noHop:
		c.say("It is not known which server delivered the message from outside. %s", a.live.why)
	case noEnvelope:
		c.say("The envelope sender is not known, since there is no Return-Path field: SPF cannot be checked for DMARC.")
	case decided:
		c.say("The DMARC record cannot be used.")
	}
	a.sayMechanisms(c)
}

// concludeOffline uses what a server noted that the caller trusts.
func (a *analysis) concludeOffline(c *Conclusion) {
	hop, why := a.input.outside.offline()
	if hop != nil {
		c.SendingIP = hop.ip.String()
	}
	r := a.recordedTrusted("dmarc")
	switch {
	case r == nil:
		c.say("Nothing was checked live, and no Authentication-Results field of a server in trusted_authserv_ids says how DMARC went.")
	case r.result == "pass":
		c.Authentic = Likely
		c.say("%s noted when the message arrived that DMARC passes for %s.", diag.Quote(r.authServID), diag.Quote(r.domain))
	case r.result == "fail":
		c.Authentic = Unlikely
		c.say("%s noted when the message arrived that DMARC fails for %s.", diag.Quote(r.authServID), diag.Quote(r.domain))
	default:
		c.say("%s noted the DMARC result %s, which decides nothing.", diag.Quote(r.authServID), diag.Quote(r.result))
	}
	c.Reasons = append(c.Reasons, why)
}

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
	if s == nil {
		if other := a.live.anySigned(); other != nil {
			c.say("The message was signed by %s, which is another organization than %s.", other.Domain, a.author())
		}
		return
	}
	if s.UnsignedBytes > 0 {
		c.say("The message was signed by %s, except for the last %s of its body, which anybody may have added.", s.Domain,
			diag.Count(s.UnsignedBytes, "byte"))
	} else {
		c.say("The message was signed by %s and has not been changed since.", s.Domain)
	}
	if s.ExpiresAt != nil && s.ExpiresAt.Before(a.live.now) {
		c.say("Its signature expired on %s; when the message was received, on %s, it was valid.", day(*s.ExpiresAt), day(a.live.at))
	}
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
	case l.spf.Outcome == spf.Pass:
		c.say("The server %s is authorized to send for %s (SPF), which is the envelope sender and not the author.", l.hop.ip, domain)
	case l.spf.Outcome == spf.Fail, l.spf.Outcome == spf.Softfail:
		if a.forwarder() == "" {
			c.say("The server %s is not authorized to send for %s (SPF: %s).", l.hop.ip, domain, l.spf.Outcome)
		}
	case l.spf.Outcome == spf.Temperror:
		c.say("SPF of %s could not be checked: %s.", domain, diag.Quote(l.spf.Reason))
	case l.spf.Outcome == spf.Permerror:
		c.say("SPF of %s cannot be evaluated: %s.", domain, diag.Quote(l.spf.Reason))
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
	effect := "SPF is about the forwarder"
	if l.spf != nil && l.spf.Outcome != spf.Pass {
		effect = "SPF fails for that reason"
	}
	switch {
	case l.signed(dkim.Pass) != nil:
		c.say("It was forwarded by %s: %s, and DKIM still passes.", by, effect)
	default:
		c.say("It says of itself that it was forwarded by %s; if that is true, %s.", by, effect)
	}
}

// sayBroken says which aligned signatures do not verify.
func (a *analysis) sayBroken(c *Conclusion) {
	for i := range a.live.dkim.Signatures {
		s := &a.live.dkim.Signatures[i]
		switch {
		case !a.live.aligned(policy.DKIM, s.Domain) || s.Result == dkim.Pass || s.Result == dkim.Unchecked:
		case s.BodyHashOK != nil && !*s.BodyHashOK:
			c.say("The body was changed after %s had signed it: do not rely on what it says now.", s.Domain)
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
	if r := a.recordedTrusted("dmarc"); r != nil && r.result == "fail" && c.Authentic == Likely {
		c.say("%s noted when the message arrived that DMARC failed; keys or records have probably changed since.", diag.Quote(r.authServID))
	}
}

// sayARC says what the chain is worth, which is not scored.
func (a *analysis) sayARC(c *Conclusion) {
	if r := a.live.arc; r != nil && r.Result == arc.Pass && a.live.dmarc.result == policy.ResultPass {
		c.say("Its ARC chain is valid: %s passed it on.", diag.Quote(r.Sets[len(r.Sets)-1].Domain))
	}
}

// sayDeception warns of what authentication does not cover.
func (a *analysis) sayDeception(c *Conclusion) {
	if shown := a.input.claims.shownAddress; shown != "" {
		c.say("The display name shows the address %s, but the message comes from %s.", diag.Quote(shown), a.author())
	}
}

// headerIntact returns an aligned signature whose header is as it was signed although the body is not.
func (l *liveEvidence) headerIntact() *dkim.Result {
	for i := range l.dkim.Signatures {
		s := &l.dkim.Signatures[i]
		if l.aligned(policy.DKIM, s.Domain) && s.SignatureOK != nil && *s.SignatureOK && s.BodyHashOK != nil && !*s.BodyHashOK {
			return s
		}
	}
	return nil
}

// anySigned returns a signature that passes, whoever made it.
func (l *liveEvidence) anySigned() *dkim.Result {
	for i := range l.dkim.Signatures {
		if l.dkim.Signatures[i].Result == dkim.Pass {
			return &l.dkim.Signatures[i]
		}
	}
	return nil
}

// spfDomain is the domain that SPF was checked for, as alignment names it.
func (l *liveEvidence) spfDomain() string {
	if l.spf == nil {
		return ""
	}
	return mailDomain(l.spf.Domain).String()
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// gateways are mail filters that organizations put before their own servers, by organizational domain. Their
// servers also send, so that only the receiver knows on which side they are.
var gateways = map[string]bool{
	"pphosted.com": true, "ppe-hosted.com": true, "mimecast.com": true, "messagelabs.com": true, "iphmx.com": true,
	"barracudanetworks.com": true, "ess.barracudanetworks.com": true, "hornetsecurity.com": true, "antispameurope.com": true,
	"trendmicro.com": true, "trendmicro.eu": true, "mailcontrol.com": true, "fireeyecloud.com": true, "sophos.com": true,
	"mailspamprotection.com": true, "spamexperts.com": true, "antispamcloud.com": true, "mailanyone.net": true,
	"retarus.com": true, "vadesecure.com": true, "mailinblack.com": true, "spamtitan.com": true, "mxthunder.com": true,
	"n-able.com": true, "appriver.com": true, "zerospam.ca": true, "cloudfilter.net": true, "eset.com": true, "libraesva.com": true,
}

// gateway returns the name of the sending server if it is that of a mail filter.
func (a *analysis) gateway() string {
	if name := a.server(); gateways[organizational(name)] {
		return name
	}
	return ""
}

// server is the name of the sending server: one that the DNS confirms, or none.
func (a *analysis) server() string {
	if a.live == nil || a.live.ptr == nil || len(a.live.ptr.Confirmed) == 0 {
		return ""
	}
	return a.live.ptr.Confirmed[0]
}

// forwarder returns who passed the message on, if the sending server is neither the author's nor the envelope
// sender's and says itself that it took the message from elsewhere; empty if it did not.
func (a *analysis) forwarder() string {
	l := a.live
	if l == nil || l.hop == nil {
		return ""
	}
	name := a.server()
	if name == "" {
		name = strings.TrimSuffix(l.hop.from, ".")
	}
	org := organizational(name)
	if org == "" || org == organizational(a.author()) || !a.input.claims.forwards(org) {
		return ""
	}
	if l.spf != nil && l.spf.Outcome == spf.Pass && l.aligned(policy.SPF, l.spfDomain()) {
		return ""
	}
	return name
}

// arcVouches reports whether the chain is valid and says that DMARC passed for the author before.
func (l *liveEvidence) arcVouches() bool {
	if l.arc.Result != arc.Pass || len(l.input.from) != 1 {
		return false
	}
	noted := l.arc.Sets[0].Authentication
	return noted != nil && slices.ContainsFunc(noted.Results, func(r authres.Result) bool {
		return r.Method == "dmarc" && r.Value == "pass" && r.Domain() == l.input.from[0].String()
	})
}
