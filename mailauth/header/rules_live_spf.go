package header

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf"
)

var liveSPFRules = diag.Rules[*analysis]{
	{
		Code: "header.live.spf.forwarded", Severity: diag.Info, Category: liveAuth,
		Title:       "SPF fails because the message was forwarded",
		Requirement: "SPF does not fail for a forwarder",
		Ref:         "RFC 7208 appendix D",
		Advice: "Do not add the forwarder to the SPF record: it would let all its customers send for the domain. DKIM " +
			"is what counts here.",
		When: func(a *analysis) bool { return judged(a) && passes(a) && a.forwarder() != "" },
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(refused(a.live.spf),
				"SPF gives %s: %s does not authorize %s, the server of the forwarder %s.", a.live.spf.Outcome,
				diag.Quote(a.live.spf.Domain), a.live.hop.ip, a.forwarder())
		},
	},
	{
		Code: "header.live.spf.fail", Severity: diag.Warning, Weight: 15, Category: liveAuth,
		Title:       "SPF fails: the server may not send for the domain",
		Requirement: "SPF does not refuse the server",
		Ref:         "RFC 7208 section 2.6.4",
		Advice: "If the server is one of the domain's own or of its service, have the owner of the domain authorize it in " +
			"the SPF record; " +
			"otherwise somebody else used the domain as envelope sender.",
		When: judged,
		Fails: func(a *analysis) diag.Failures {
			if !refused(a.live.spf) || passes(a) && a.forwarder() != "" {
				return nil
			}
			text := ""
			if a.live.spf.Explanation != "" {
				text = " The domain says: " + diag.Quote(a.live.spf.Explanation)
			}
			return diag.Fail("SPF gives %s: %s does not authorize the server %s, from which the message came.%s",
				a.live.spf.Outcome, diag.Quote(a.live.spf.Domain), a.live.hop.ip, text).About(a.live.spf.Domain)
		},
	},
	{
		Code: "header.live.spf.all", Severity: diag.Warning, Weight: 15, Category: liveAuth,
		Title:       "SPF passes for every server of the Internet",
		Requirement: "SPF passes for the servers of the domain only",
		Ref:         "RFC 7208 section 5.1",
		Advice: "Do not take the pass for proof of anything. The owner of the domain has to list the servers that send for " +
			"it, and end the " +
			"record with -all or ~all.",
		When: func(a *analysis) bool { return judged(a) && a.live.spf.Outcome == spf.Pass },
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.live.open(), "SPF passes by the mechanism all: %s authorizes anybody to send.",
				diag.Quote(a.live.spf.Domain)).About(a.live.spf.Domain)
		},
	},
	{
		Code: "header.live.spf.permerror", Severity: diag.Warning, Weight: 10, Category: liveAuth,
		Title:       "The SPF record of the envelope sender is broken",
		Requirement: "The SPF record of the envelope sender can be evaluated",
		Ref:         "RFC 7208 section 2.6.7",
		Advice:      "Have the owner of the domain correct its SPF record; spf/lookup says what is wrong with it.",
		When:        func(a *analysis) bool { return judged(a) && a.live.spf.Outcome != spf.None },
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.live.spf.Outcome == spf.Permerror, "The SPF record of %s cannot be evaluated: %s.",
				diag.Quote(a.live.spf.Domain), diag.Quote(a.live.spf.Reason)).About(a.live.spf.Domain)
		},
	},
	{
		Code: "header.live.spf.none", Severity: diag.Info, Category: liveAuth,
		Title:       "The envelope sender has no SPF record",
		Requirement: "The envelope sender has an SPF record",
		Ref:         "RFC 7208 section 2.6.1",
		Advice:      "Have the owner of the domain publish an SPF record with all servers that send for it.",
		When:        judged,
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.live.spf.Outcome == spf.None, "SPF gives none: %s has no SPF record.",
				diag.Quote(a.live.spf.Domain)).About(a.live.spf.Domain)
		},
	},
	{
		Code: "header.live.spf.helo", Severity: diag.Warning, Weight: 5, Category: liveAuth,
		Title:       "SPF of the HELO name refuses the server",
		Requirement: "SPF of the HELO name does not refuse the server",
		Ref:         "RFC 7208 section 2.3",
		Advice: "Have the operator of the server authorize its address in the SPF record of its HELO name, such as " +
			"\"v=spf1 a -all\", or let " +
			"it give its own name.",
		When: func(a *analysis) bool {
			return checked(a) && a.live.helo != nil && a.live.helo.Outcome != spf.Temperror && a.live.helo.Outcome != spf.None
		},
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(refused(a.live.helo), "SPF of the HELO name %s gives %s for %s: the server uses a name that "+
				"does not authorize it.", diag.Quote(a.live.helo.Domain), a.live.helo.Outcome, a.live.hop.ip)
		},
	},
	{
		Code: "header.live.spf.unaligned", Severity: diag.Info, Category: liveAuth,
		Title:       "SPF passes for another domain than that of the author",
		Requirement: "SPF does not pass for a domain that is not aligned",
		Ref:         "RFC 9989 section 4.4.2",
		Advice: "If a service sends for the domain, set up a return path below the domain with it, so that SPF counts " +
			"for DMARC, too.",
		When: func(a *analysis) bool { return judged(a) && a.live.spf.Outcome == spf.Pass && len(a.input.from) == 1 },
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(!a.live.aligned(policy.SPF, a.live.spfDomain()) && a.forwarder() == "",
				"SPF passes for %s, which is not aligned with %s.", diag.Quote(a.live.spf.Domain), a.author())
		},
	},
}

// refused reports whether SPF says that a server may not send.
func refused(r *spf.Result) bool { return r.Outcome == spf.Fail || r.Outcome == spf.Softfail }
