package header

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

var liveSPFRules = diag.Rules[*analysis]{{
	Code: "header.live.spf.fail", Severity: diag.Warning, Weight: 15, Ref: "RFC 7208 section 2.6.4",
	Title:       "SPF fails: the server is not authorized to send for the domain",
	Requirement: "SPF does not fail for the sending server",
	Advice: "If the server belongs to the domain or its sending service, have the owner of the domain authorize it " +
		"in the SPF record. Otherwise someone else used the domain as envelope sender.",
	Fails: func(a *analysis) diag.Failures {
		if !refused(a.live.SPF) || passes(a) && a.forwarder() != "" {
			return nil
		}
		text := ""
		if a.live.SPF.Explanation != "" {
			text = " The domain says: " + diag.Quote(a.live.SPF.Explanation)
		}
		return diag.Fail("SPF gives %s: %s does not authorize the server %s, from which the message came.%s",
			a.live.SPF.Outcome, diag.Quote(a.live.SPF.Domain), a.live.Hop.IP, text).About(a.live.SPF.Domain)
	},
}, {
	Code: "header.live.spf.all", Severity: diag.Warning, Weight: 15, Ref: "RFC 7208 section 5.1",
	Title:       "SPF record authorizes every server on the Internet",
	Requirement: "The SPF record authorizes specific servers only",
	Advice: "Do not treat the pass as evidence. The owner of the domain has to list the servers that send for it, " +
		"and end the record with -all or ~all.",
	When: func(a *analysis) bool { return judged(a) && a.live.SPF.Outcome == eval.Pass },
	Fails: func(a *analysis) diag.Failures {
		return diag.FailIf(a.live.AnyoneMaySend(), "SPF passes by the mechanism all: %s authorizes anyone to send.",
			diag.Quote(a.live.SPF.Domain)).About(a.live.SPF.Domain)
	},
}, {
	Code: "header.live.spf.permerror", Severity: diag.Warning, Weight: 10, Ref: "RFC 7208 section 2.6.7",
	Title: "Envelope sender's SPF record is invalid", Requirement: "The envelope sender's SPF record is valid",
	Advice: "Have the owner of the domain correct its SPF record. Use spf/lookup to see what is wrong with it.",
	When:   func(a *analysis) bool { return judged(a) && a.live.SPF.Outcome != eval.None },
	Fails: func(a *analysis) diag.Failures {
		return diag.FailIf(a.live.SPF.Outcome == eval.Permerror, "The SPF record of %s cannot be evaluated: %s.",
			diag.Quote(a.live.SPF.Domain), diag.Quote(a.live.SPF.Reason)).About(a.live.SPF.Domain)
	},
}, {
	Code: "header.live.spf.helo", Severity: diag.Warning, Weight: 5, Reads: []diag.Source{asksHELO},
	Ref: "RFC 7208 section 2.3", Title: "SPF fails for the HELO name of the server",
	Requirement: "SPF does not fail for the HELO name of the server",
	Advice: "Have the operator of the server authorize its address in the SPF record of its HELO name, such as " +
		"\"v=spf1 a -all\", or use a HELO name of its own.",
	When: func(a *analysis) bool {
		return checked(a) && a.live.HELO != nil && a.live.HELO.Outcome != eval.Temperror && a.live.HELO.Outcome != eval.None
	},
	Fails: func(a *analysis) diag.Failures {
		return diag.FailIf(refused(a.live.HELO), "SPF for the HELO name %s gives %s for %s: that name does not "+
			"authorize the server.", diag.Quote(a.live.HELO.Domain), a.live.HELO.Outcome, a.live.Hop.IP)
	},
}}

// judged reports whether SPF has a result for the envelope sender.
func judged(a *analysis) bool {
	return checked(a) && a.live.SPF != nil && a.live.SPF.Outcome != eval.Temperror
}

func refused(r *eval.Result) bool { return r.Outcome == eval.Fail || r.Outcome == eval.Softfail }
