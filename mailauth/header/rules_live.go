package header

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

var liveRules = sync.OnceValue(func() rule.Rules[*analysis] {
	type common = rule.Rule[*analysis]
	return slices.Concat(
		liveDMARCRules.With(common{Category: factorDMARC, Reads: []rule.Source{asksPolicy, asksMitigation}}),
		liveSPFRules.With(common{Category: factorLive, Reads: []rule.Source{asksSPF, asksPath}, When: spfKnown}),
		// Failures of one of several signatures are facts, even if others are unknown.
		slices.Concat(liveDKIMRules, bodyRules).
			With(common{Category: factorLive, Reads: []rule.Source{asksKeys}, HoldsWhenUnanswered: true}),
		liveServerRules.With(common{Category: factorServer, Reads: []rule.Source{asksNames}, When: ptrKnown}))
})

// The sources of the rules about a message.
const (
	asksSPF        rule.Source = "spf"
	asksHELO       rule.Source = "helo"
	asksKeys       rule.Source = "keys"
	asksPolicy     rule.Source = "policy"
	asksNames      rule.Source = "names"
	asksMitigation rule.Source = "excuse" // possible explanations of a DMARC failure
	asksPath       rule.Source = "path"   // evidence that separates forwarding from forgery
	asksAuthor     rule.Source = "author" // whether the domain exists
)

// Unanswered lists the sources without a DNS answer.
func (a *analysis) Unanswered() []rule.Source {
	l := a.live
	if l == nil {
		return nil
	}
	hop, decided := !l.HopUnanswered(), l.DMARC.Result != policy.ResultTempError
	return rule.Unanswered(map[rule.Source]bool{
		asksSPF: hop && !l.SPFGave(eval.Temperror), asksHELO: hop && (l.HELO == nil || l.HELO.Outcome != eval.Temperror),
		asksKeys: !l.KeyUnanswered(), asksPolicy: decided, asksNames: !l.NamesUnanswered(),
		asksMitigation: !l.MitigationUnanswered(),
		asksPath:       decided && !l.NamesUnanswered(), asksAuthor: !l.AuthorUnanswered(),
	})
}

var liveDKIMRules = rule.Rules[*analysis]{{
	Code: "header.live.dkim.body", Severity: diag.Warning, Weight: 15, Ref: "RFC 6376 section 6.1.3",
	Title:       "Body was changed after signing: DKIM body hash does not match",
	Requirement: "The body has not been changed since it was signed with DKIM",
	Advice: "Do not rely on the body, such as account numbers in it, before the sender confirms it. Look for what " +
		"changes messages on the way: a mailing list, a disclaimer or a virus filter.",
	// A hash of a part says nothing about the whole.
	When: anySignature(func(s *dkim.Result) bool {
		return s.BodyHashOK != nil && (s.UnsignedBytes == 0 || !*s.BodyHashOK)
	}),
	Fails: eachLive(func(s *dkim.Result) bool { return s.BodyHashOK != nil && !*s.BodyHashOK },
		"The body hash of the DKIM signature of %s does not match: the body was altered. %s"),
}, {
	Code: "header.live.dkim.signature", Severity: diag.Warning, Weight: 15, Ref: "RFC 6376 section 6.1.3",
	Title: "DKIM signature does not match the header", Requirement: "The signed header fields match the DKIM signature",
	Advice: "Compare the signed fields with those of the original. If the key was replaced since, the result at the " +
		"time of delivery counts.",
	When: anySignature(usableKey),
	Fails: eachLive(func(s *dkim.Result) bool { return usableKey(s) && !*s.SignatureOK },
		"The DKIM signature of %s does not verify. %s"),
}, {
	Code: "header.live.dkim.key", Severity: diag.Warning, Weight: 10, Ref: "RFC 6376 section 6.1",
	Title: "DKIM signature cannot be verified", Requirement: "All DKIM signatures can be verified",
	Advice: "Have the signer publish a valid key under the selector that it uses, and keep old keys published for at " +
		"least a week after the last signature. Use dkim/lookup to see what is wrong with the key.",
	When: anySignature(func(s *dkim.Result) bool { return s.Result != dkim.TempError }),
	Fails: eachLive(func(s *dkim.Result) bool {
		return (s.Result == dkim.PermError || s.Result == dkim.Neutral) && !strictIdentity(s) && !explainedByHeader(s)
	}, "The DKIM signature of %s cannot be verified. %s"),
}, {
	Code: "header.live.dkim.strict", Severity: diag.Warning, Weight: 10, Ref: "RFC 6376 section 3.6.1",
	Title:       "DKIM key does not allow signatures for subdomains (t=s)",
	Requirement: "DKIM keys allow the identities that they sign for",
	Advice: "Have the signer leave out i= or name the domain of d= itself in it. If it has to sign for subdomains with " +
		"this key, remove s from t= in the key record.",
	When:  anySignature(func(s *dkim.Result) bool { return s.Key != nil && s.Key.Strict() }),
	Fails: eachLive(strictIdentity, "The DKIM signature of %s is not valid for its identity. %s"),
}, {
	Code: "header.live.dkim.expired", Severity: diag.Warning, Weight: 10, Ref: "RFC 6376 section 3.5",
	Title:       "DKIM signature had expired when the message was received",
	Requirement: "DKIM signatures had not expired when the message was received",
	Advice: "Have the signer set x= at least a week after t=, or leave it out: queues and greylisting delay messages. " +
		"If the message is much older than its delivery, someone may have sent it again.",
	When: anySignature(func(s *dkim.Result) bool { return !s.ExpiresAt.IsZero() && s.SignatureOK != nil }),
	Fails: eachLive(func(s *dkim.Result) bool { return s.Result == dkim.Policy && refusingIssue(s) == dkim.IssueExpired },
		"The DKIM signature of %s matches, but verifiers no longer accept it. %s"),
}, {
	Code: "header.live.dkim.policy", Severity: diag.Warning, Weight: 10, Ref: "RFC 8301 section 3",
	Title:       "DKIM signature must not be accepted, though it matches",
	Requirement: "DKIM signatures that match may be accepted",
	Advice: "Have the signer use rsa-sha256 with a 2048-bit key, or Ed25519 in addition, and correct what the detail " +
		"names.",
	When: anySignature(func(s *dkim.Result) bool { return s.Result == dkim.Pass || s.Result == dkim.Policy }),
	Fails: eachLive(func(s *dkim.Result) bool { return s.Result == dkim.Policy && refusingIssue(s) != dkim.IssueExpired },
		"The DKIM signature of %s must not be accepted. %s"),
}, {
	Code: "header.live.dkim.caution", Severity: diag.Warning, Weight: 5, Ref: "RFC 6376 section 8.15",
	Title: "DKIM signature is misleading", Requirement: "No DKIM signature is misleading",
	Advice: "Do not rely on the signature for what the detail names. The signer has to correct how it signs.",
	When:   anySignature(func(s *dkim.Result) bool { return s.SignatureOK != nil }),
	Fails: func(a *analysis) rule.Failures {
		return rule.FailEach(a.live.DKIM.Signatures, func(s dkim.Result) rule.Failures {
			return rule.FailEach(s.Issues, func(i dkim.Issue) rule.Failures {
				misleading := i.Code == dkim.IssueFromAdded || i.Code == dkim.IssuePublicSuffix
				return rule.FailIf(misleading && !i.Refused, "The DKIM signature of %s: %s", s.Domain, i.Text).About(s.Domain)
			})
		})
	},
}}

// strictIdentity reports whether the key is not for the subdomain on whose behalf it signed.
func strictIdentity(s *dkim.Result) bool {
	return s.Result == dkim.PermError && s.Cause == dkim.DomainMismatch && s.Signature.Err() == nil
}

// explainedByHeader reports whether a rule about the header explains why a signature cannot be verified.
func explainedByHeader(s *dkim.Result) bool {
	return s.Signature.Err() != nil && s.Cause != dkim.KeyUnusable
}

// refusingIssue returns the first issue for which verifiers reject a matching signature; empty without such an issue.
func refusingIssue(s *dkim.Result) dkim.IssueCode {
	for _, i := range s.Issues {
		if i.Refused {
			return i.Code
		}
	}
	return ""
}

func anySignature(is func(*dkim.Result) bool) func(*analysis) bool {
	return func(a *analysis) bool { return checked(a) && len(a.live.Signatures(is)) > 0 }
}

// usableKey reports whether the header was compared with a key that may be used for the signature.
func usableKey(s *dkim.Result) bool {
	return s.SignatureOK != nil && s.Result != dkim.PermError && s.Result != dkim.Neutral
}

// eachLive makes a rule about such signatures; the text includes the domain and the reason.
func eachLive(holds func(*dkim.Result) bool, format string) func(*analysis) rule.Failures {
	return func(a *analysis) rule.Failures {
		return rule.FailEach(a.live.Signatures(holds), func(s *dkim.Result) rule.Failures {
			return rule.Fail(format, cmp.Or(s.Domain, "an unknown domain"), s.Reason).About(s.Domain)
		})
	}
}

func ptrKnown(a *analysis) bool { return checked(a) && a.live.PTR != nil && a.live.PTR.Err == nil }

var liveServerRules = rule.Rules[*analysis]{{
	Code: "header.live.hop", Severity: diag.Info, Category: factorServer, Ref: "RFC 5321 section 4.4",
	Title:       "Server that delivered the message from outside is unknown",
	Requirement: "The server that delivered the message from outside is known",
	Advice: "Submit all Received fields, and list the receiver's own servers and mail filters in " +
		"trusted_authserv_ids.",
	When: checked,
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(a.live.Hop == nil, "SPF and PTR could not be checked. %s", a.live.Why)
	},
}, {
	Code: "header.live.ptr.missing", Severity: diag.Warning, Weight: 10, Ref: "RFC 1912 section 2.1",
	Title: "Sending address has no PTR record", Requirement: "The sending address has a PTR record",
	Advice: "Have the operator of the server publish a PTR record for its address, with a host name that resolves to " +
		"this address. Google, Microsoft and Yahoo reject or defer mail from addresses without one.",
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(len(a.live.PTR.Hostnames) == 0,
			"The address %s, from which the message came, has no PTR record (reverse DNS).", a.live.PTR.IP).About(a.live.PTR.IP)
	},
}, {
	Code: "header.live.ptr.unconfirmed", Severity: diag.Warning, Weight: 10,
	DependsOn: []diag.Code{"header.live.ptr.missing"}, Ref: "RFC 1912 section 2.1",
	Title:       "PTR name of the sending address does not resolve back to it",
	Requirement: "The PTR name of the sending address resolves back to it",
	Advice: "Have the operator of the server publish an address record for the name in the PTR record. Anyone can " +
		"put any name in a PTR record, so large receivers require one that resolves back.",
	Fails: func(a *analysis) rule.Failures {
		p := a.live.PTR
		return rule.FailIf(!p.ForwardConfirmed,
			"The PTR record of %s points to %s, which does not resolve to this address.", p.IP,
			strings.Join(p.Hostnames, ", ")).About(p.IP)
	},
}, {
	Code: "header.live.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Category: factorServer,
	Ref: "RFC 1912 section 2.1", Title: "PTR lookup for the sending address failed",
	Requirement: "The PTR lookup for the sending address succeeded", Advice: "Repeat the check later.",
	When: func(a *analysis) bool { return checked(a) && a.live.PTR != nil },
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(a.live.PTR.Err != nil,
			"The PTR record of %s, or the host that it points to, could not be looked up: %s.",
			a.live.PTR.IP, a.live.PTR.Error).About(a.live.PTR.IP)
	},
}, {
	Code: "header.live.gateway", Severity: diag.Info, Category: factorServer, Ref: "RFC 7208 section 2.5",
	Title: "Message came through a mail filter", Requirement: "No external mail filter is in between",
	Advice: "If the filter is the receiver's, add its domain to trusted_authserv_ids: SPF has to be checked for the " +
		"server that delivered to the filter.",
	When: func(a *analysis) bool { return ptrKnown(a) && decisive(a) && !passes(a) },
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(a.gateway() != "", "The server that delivered the message, %s, is a mail filter, which may "+
			"belong to the sender or to the receiver.", a.gateway())
	},
}, {
	Code: "header.live.blocklisted", Severity: diag.Warning, Weight: 5, Reads: []rule.Source{rule.FromRequest},
	Ref: "RFC 5782 section 2.1", Title: "Sending address is on a blocklist",
	Requirement: "The sending address is on none of the blocklists that answered",
	Advice: "Check the address with blacklist/ip, which says what each list has against it. The operator of the " +
		"server removes the cause first and then requests removal.",
	When: func(a *analysis) bool { return checked(a) && a.live.Listed != nil },
	Fails: func(a *analysis) rule.Failures {
		return rule.FailEach(a.live.Listed, func(r dnsbl.Result) rule.Failures {
			because := ""
			if len(r.Meanings) > 0 {
				because = " (" + strings.Join(r.Meanings, "; ") + ")"
			}
			return rule.Fail("%s lists %s, from which the message came%s.", r.Name, a.live.Hop.IP, because).
				About(a.live.Hop.IP.String())
		}).Joined()
	},
}}

var liveSPFRules = rule.Rules[*analysis]{{
	Code: "header.live.spf.fail", Severity: diag.Warning, Weight: 15, Ref: "RFC 7208 section 2.6.4",
	Title:       "SPF fails: the server is not authorized to send for the domain",
	Requirement: "SPF does not fail for the sending server",
	Advice: "If the server belongs to the domain or its sending service, have the owner of the domain authorize it " +
		"in the SPF record. Otherwise someone else used the domain as envelope sender.",
	Fails: func(a *analysis) rule.Failures {
		if !refused(a.live.SPF) || passes(a) && a.forwarder() != "" {
			return nil
		}
		text := ""
		if a.live.SPF.Explanation != "" {
			text = " The domain says: " + phrase.Quote(a.live.SPF.Explanation)
		}
		return rule.Fail("SPF gives %s: %s does not authorize the server %s, from which the message came.%s",
			a.live.SPF.Outcome, phrase.Quote(a.live.SPF.Domain), a.live.Hop.IP, text).About(a.live.SPF.Domain)
	},
}, {
	Code: "header.live.spf.all", Severity: diag.Warning, Weight: 15, Ref: "RFC 7208 section 5.1",
	Title:       "SPF record authorizes every server on the Internet",
	Requirement: "The SPF record authorizes specific servers only",
	Advice: "Do not treat the pass as evidence. The owner of the domain has to list the servers that send for it, " +
		"and end the record with -all or ~all.",
	When: func(a *analysis) bool { return spfKnown(a) && a.live.SPF.Outcome == eval.Pass },
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(a.live.AnyoneMaySend(), "SPF passes by the mechanism all: %s authorizes anyone to send.",
			phrase.Quote(a.live.SPF.Domain)).About(a.live.SPF.Domain)
	},
}, {
	Code: "header.live.spf.permerror", Severity: diag.Warning, Weight: 10, Ref: "RFC 7208 section 2.6.7",
	Title: "Envelope sender's SPF record is invalid", Requirement: "The envelope sender's SPF record is valid",
	Advice: "Have the owner of the domain correct its SPF record. Use spf/lookup to see what is wrong with it.",
	When:   func(a *analysis) bool { return spfKnown(a) && a.live.SPF.Outcome != eval.None },
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(a.live.SPF.Outcome == eval.Permerror, "The SPF record of %s cannot be evaluated: %s.",
			phrase.Quote(a.live.SPF.Domain), phrase.Quote(a.live.SPF.Reason)).About(a.live.SPF.Domain)
	},
}, {
	Code: "header.live.spf.helo", Severity: diag.Warning, Weight: 5, Reads: []rule.Source{asksHELO},
	Ref: "RFC 7208 section 2.3", Title: "SPF fails for the HELO name of the server",
	Requirement: "SPF does not fail for the HELO name of the server",
	Advice: "Have the operator of the server authorize its address in the SPF record of its HELO name, such as " +
		"\"v=spf1 a -all\", or use a HELO name of its own.",
	When: func(a *analysis) bool {
		return checked(a) && a.live.HELO != nil && a.live.HELO.Outcome != eval.Temperror && a.live.HELO.Outcome != eval.None
	},
	Fails: func(a *analysis) rule.Failures {
		return rule.FailIf(refused(a.live.HELO), "SPF for the HELO name %s gives %s for %s: that name does not "+
			"authorize the server.", phrase.Quote(a.live.HELO.Domain), a.live.HELO.Outcome, a.live.Hop.IP)
	},
}}

func spfKnown(a *analysis) bool {
	return checked(a) && a.live.SPF != nil && a.live.SPF.Outcome != eval.Temperror
}

func refused(r *eval.Result) bool { return r.Outcome == eval.Fail || r.Outcome == eval.Softfail }
