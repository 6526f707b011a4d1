package header

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// Authenticity says whether a message comes from the domain that its From field shows.
type Authenticity string

// The judgements.
const (
	likely     Authenticity = "likely"
	unlikely   Authenticity = "unlikely"
	notDecided Authenticity = "unknown"
)

// Values lists the judgements.
func (Authenticity) Values() []string { return diag.Values(likely, unlikely, notDecided) }

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
func (a *analysis) conclude(findings []diag.Finding) Conclusion {
	c := Conclusion{Authentic: notDecided, Reasons: []string{}}
	if a.live == nil {
		a.concludeOffline(&c)
		a.doubt(&c)
		a.sayDeception(&c, findings)
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
		c.say("DNS lookups failed (%s), so authenticity cannot be decided now.", diag.Quote(d.reason))
		a.sayMechanisms(&c)
	default:
		a.concludeOpen(&c)
	}
	a.sayRecorded(&c)
	a.sayARC(&c)
	a.doubt(&c)
	a.sayDeception(&c, findings)
	return c
}

// doubt takes back that a message is authentic where mail programs may show another author than the one that is.
func (a *analysis) doubt(c *Conclusion) {
	if n := a.count("From"); n > 1 && c.Authentic == likely {
		c.Authentic = notDecided
		c.say("There are %d From fields: a mail program may show one that is not authenticated.", n)
	}
}

// author is the domain of the From field; empty if there is none, or several.
func (a *analysis) author() string {
	if len(a.input.from) != 1 {
		return ""
	}
	return a.input.from[0].String()
}

func (a *analysis) concludePass(c *Conclusion) {
	c.Authentic = likely
	if a.live.open() && !slices.Contains(a.live.dmarc.by, policy.DKIM) {
		c.Authentic = notDecided
		c.say("DMARC passes for %s, but only because its SPF record authorizes every server on the Internet, which "+
			"proves nothing.",
			a.author())
	} else {
		c.say("DMARC passes: the message was sent on behalf of %s, the domain in From.", a.author())
	}
	a.saySigned(c)
	a.saySPF(c)
	a.sayForwarded(c)
	a.sayBroken(c)
}

func (a *analysis) concludeFail(c *Conclusion) {
	l := a.live
	c.say("DMARC fails: neither SPF nor DKIM authenticates %s, the domain in From.", a.author())
	a.sayMechanisms(c)
	c.Authentic = notDecided
	switch a.excuse() {
	case noExcuse:
		if l.excuseSilent() {
			c.say("DNS lookups failed that could explain it, so nothing more can be concluded now.")
			return
		}
		c.Authentic = unlikely
	case notedPass:
		c.Authentic = likely
		c.say("%s recorded at delivery that DMARC passed; keys or records have probably changed since.",
			diag.Quote(a.recordedTrusted("dmarc").authServID))
	case claimedPass:
		c.say("An Authentication-Results field of %s says that DMARC passed, but the sender could have added it: make sure "+
			"that the receiver removes such fields.", diag.Quote(a.recordedTrusted("dmarc").authServID))
	case changedBody:
		s := l.changedOnTheWay()
		if s.SignatureOK != nil && *s.SignatureOK {
			c.say("The header is as %s signed it, but the body is not: the message comes from that domain and was changed "+
				"on the way, as mailing lists and filters do.", s.Domain)
		} else {
			c.say("The header is as %s signed it once the changes that mailing lists make are undone: the message comes "+
				"from that domain and was changed on the way.", s.Domain)
		}
	case vouched:
		c.say("The ARC chain is valid, and %s states in it that DMARC passed before: the message is as trustworthy as "+
			"that server.",
			diag.Quote(l.arc.Sets[0].Domain))
	case sameSide:
		c.say("%s is authenticated and belongs to the same organization, but is not aligned with %s as its DMARC policy "+
			"requires.", l.misaligned(), a.author())
	case longAgo:
		c.say("The message was received on %s. Keys and SPF records may have changed since, so a failure today means "+
			"little.",
			day(l.at))
	case filtered:
		c.say("The message came through %s, a mail filter. If it is the receiver's, list it in trusted_authserv_ids, "+
			"so that the server before it is judged.", a.gateway())
	}
}

func (a *analysis) concludeWithoutPolicy(c *Conclusion) {
	l := a.live
	if l.nonexistent() {
		c.Authentic = unlikely
		c.say("The domain %s does not exist, so it cannot have sent the message.", a.author())
		return
	}
	c.say("%s publishes no DMARC policy.", a.author())
	signed := l.signed(dkim.Pass) != nil
	passes := l.spf != nil && l.spf.Outcome == spf.Pass && !l.open() && l.aligned(policy.SPF, l.spfDomain())
	fails := l.spf != nil && l.spf.Outcome == spf.Fail && l.aligned(policy.SPF, l.spfDomain())
	a.sayMechanisms(c)
	switch {
	case signed || passes:
		c.Authentic = likely
	case fails && len(l.dkim.Signatures) == 0 && a.forwarder() == "" && l.now.Sub(l.at) <= staleRecord:
		c.Authentic = unlikely
	}
}

// concludeOpen is for what the message at hand does not tell.
func (a *analysis) concludeOpen(c *Conclusion) {
	switch a.live.dmarc.open {
	case noAuthor:
		if len(a.input.from) > 1 {
			c.say("The From field has addresses in several domains, so DMARC cannot be applied; most receivers reject " +
				"such messages.")
		} else {
			c.say("No From field has a valid address, so there is no domain to authenticate.")
		}
	case noBody:
		c.say("The header is as %s signed it. Whether the body is too can only be checked with the whole message.",
			a.live.signed(dkim.Unchecked).Domain)
	case noHop:
		c.say("Which server delivered the message from outside is unknown. %s", a.live.why)
	case noEnvelope:
		c.say("The envelope sender is unknown because there is no Return-Path field, so SPF cannot be checked for DMARC.")
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
		c.say("Nothing was checked live, and no server in trusted_authserv_ids recorded a DMARC result.")
	case r.result == "pass":
		c.Authentic = likely
		c.say("%s recorded at delivery that DMARC passed for %s.", diag.Quote(r.authServID), diag.Quote(r.domain))
	case r.result == "fail":
		c.Authentic = unlikely
		c.say("%s recorded at delivery that DMARC failed for %s.", diag.Quote(r.authServID), diag.Quote(r.domain))
	default:
		c.say("%s recorded the DMARC result %s, which decides nothing.", diag.Quote(r.authServID), diag.Quote(r.result))
	}
	c.Reasons = append(c.Reasons, why)
}
