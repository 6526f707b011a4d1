package deliverability

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// Rules describes what is examined: by this package, and by those of the components.
func (*Report) Rules() []rule.Description {
	return slices.Concat(rules.Describe(), addressRules.Describe(), (*ReputationReport)(nil).Rules(), compose.Rules(),
		(*spf.LookupReport)(nil).Rules(), (*dkim.LookupReport)(nil).Rules(), (*dmarc.LookupReport)(nil).Rules(),
		(*bimi.LookupReport)(nil).Rules(), (*tlsrpt.LookupReport)(nil).Rules())
}

var rules = rule.Rules[*scoring]{reach.NoDomain(rule.Rule[*scoring]{
	Code: "score.domain.nxdomain",
	Fails: func(s *scoring) rule.Failures {
		return rule.FailIf(s.nonexistent,
			"The DNS answers NXDOMAIN for %s. Receivers refuse mail from a domain that does not exist.",
			s.domain)
	},
})}

var texts = rule.Texts{
	"valid": {Headline: "Domain exists", Sub: "The components say how likely its mail is to be accepted."},
}

var addressRules = rule.Rules[*scoring]{{
	Code: "score.spf.unauthenticated", Severity: diag.Error, Ref: "RFC 9989 section 4.2",
	Title:       "Sending address is authenticated by neither SPF nor DKIM",
	Requirement: "Mail from the sending address can be authenticated",
	Advice: "Add the address, or the service that it belongs to, to the SPF record of the domain, and have its mail " +
		"signed with a DKIM key of the domain: large receivers refuse mail that neither authenticates.",
	When: func(s *scoring) bool { return s.spfOutcome() != "" && !s.SendsNoMail },
	Fails: func(s *scoring) rule.Failures {
		return rule.FailIf(s.spfOutcome() != eval.Pass && s.unsigned(),
			"SPF of %s gives %s for %s, and no DKIM key is published "+
				"with which its mail could be signed.", s.domain, s.spfOutcome(), s.sender)
	},
}, {
	Code: "score.spf.address", Severity: diag.Warning, DependsOn: []diag.Code{"score.spf.unauthenticated"},
	Ref:   "RFC 7208 section 2.6",
	Title: "Sending address does not pass SPF", Requirement: "The sending address passes SPF",
	Advice: "Add the address, or the service that it belongs to, to the SPF record of the domain; or make sure that " +
		"the return path of its mail is in a domain whose SPF lets it pass, and that the mail is signed for this one.",
	When: func(s *scoring) bool { return s.spfOutcome() != "" },
	Fails: func(s *scoring) rule.Failures {
		return rule.FailIf(s.spfOutcome() != eval.Pass,
			"SPF of %s gives %s for %s: mail from there with this return path is not "+
				"authenticated by SPF.", s.domain, s.spfOutcome(), s.sender)
	},
}, {
	Code: "score.spf.silent", Severity: diag.Error, Ref: "RFC 7208 section 10.1.2",
	Title:       "SPF record says that the domain sends no mail",
	Requirement: "The records let some host send mail of the domain",
	Advice: "If the host sends mail of the domain, replace the SPF record v=spf1 -all with one that lists every " +
		"sender, and sign the mail. If it should not, keep the record: receivers refuse that mail.",
	When: func(s *scoring) bool { return !s.sender.IsZero() },
	Fails: func(s *scoring) rule.Failures {
		return rule.FailIf(s.SendsNoMail, "The SPF record of %s lets no host send, so that mail from %s fails.",
			s.domain, s.sender)
	},
}}

func (s *scoring) unsigned() bool {
	for _, k := range s.DKIM {
		none := slices.ContainsFunc(k.Findings, func(f diag.Finding) bool { return f.Code == "check.dkim.none" })
		if k.State != diag.Missing && !none {
			return false
		}
	}
	return true
}

func (s *scoring) spfOutcome() eval.Outcome {
	if s.SPF.Result == nil {
		return ""
	}
	if state := s.SPF.Result.State; state != diag.Valid && state != diag.Warned {
		return ""
	}
	if r := s.SPF.Result.IPTest.Result; r != eval.Temperror {
		return r
	}
	return ""
}

var addressTexts = rule.Texts{
	"valid": {Headline: "Sending address passes SPF", Sub: "Receivers that ask for SPF accept mail from it."},
	"invalid": {Headline: "SPF does not let the sending address pass, and nothing signs",
		Sub: "Receivers refuse mail that neither SPF nor DKIM authenticates. List the address, and have its mail signed."},
	"score.spf.silent": {Headline: "SPF says that the domain sends no mail",
		Sub: "Mail from the sending address fails. List it in the record if it sends mail of the domain."},
	"warning": {Headline: "SPF does not let the sending address pass",
		Sub: "The record is in order, but mail from the address is not authenticated by it. Add the address or its service."},
}

var reputationRules = append(rule.Rules[*ReputationReport]{{
	Code: "score.address.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title:       "Mail servers could not be looked up",
	Requirement: "The name servers answer for the MX records, whose hosts are taken for those that send",
	Advice: "Check that the name servers answer for the MX records and their hosts, or give the sending address in the " +
		"field ip.",
	Fails: func(r *ReputationReport) rule.Failures {
		if r.mxErr == nil || len(r.Addresses) > 0 {
			return nil
		}
		return rule.Fail("No address to ask blocklists about is known: the lookup of the mail servers failed: %s.",
			diag.Reason(r.mxErr))
	},
}, {
	Code: "score.address.unneeded", NoAction: true, Severity: diag.Info, StateIfFailed: diag.Unknown,
	Ref:         "RFC 7208 section 10.1.2",
	Title:       "No sending address to examine, and none is needed",
	Requirement: "The domain sends mail, which comes from some address",
	Advice:      "Leave it: blocklists say nothing about a domain that sends no mail.",
	Fails: func(r *ReputationReport) rule.Failures {
		return rule.FailIf(r.noSignOfMail, "The domain sends no mail, as far as its records tell.")
	},
}, {
	Code: "score.address.none", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5782 section 2.1",
	Title: "No sending address is known", Requirement: "An address that sends mail is known",
	Advice: "Give the address of the host that sends the mail in the field ip to check it against blocklists.",
	Fails: func(r *ReputationReport) rule.Failures {
		return rule.FailIf(len(r.Addresses) == 0 && r.mxErr == nil && !r.noSignOfMail,
			"The request gave no address, and no mail server of the domain has one.")
	},
}, {
	Code: "score.address.assumed", Severity: diag.Info, HoldsWhenUnanswered: true, Ref: "RFC 5782 section 2.1",
	Title:       "Addresses of the mail servers taken for those that send",
	Requirement: "The request gave the address that sends mail",
	Advice: "Give the address of the host that sends the mail in the field ip: it need not be a mail server of the " +
		"domain.",
	When: func(r *ReputationReport) bool { return len(r.Addresses) > 0 },
	Fails: func(r *ReputationReport) rule.Failures {
		if !r.Assumed {
			return nil
		}
		f := rule.Fail("The request gave no address, so that blocklists were asked about %s of the hosts "+
			"that receive mail of "+
			"the domain.", r.count())
		if r.service != nil {
			f[0].Detail += fmt.Sprintf(" They belong to %s, which may send from others: this says little about "+
				"mail of the domain.",
				r.service.Name)
		}
		if r.mxErr != nil {
			f[0].Detail += fmt.Sprintf(" More may be in use: a lookup failed (%s).", diag.Reason(r.mxErr))
		}
		return f
	},
}}, compose.ReverseRules(func(r *ReputationReport) []compose.ReverseName { return r.Reverse })...)

func (r *ReputationReport) count() string {
	if len(r.Addresses) == 1 {
		return "1 address"
	}
	return fmt.Sprintf("%d addresses", len(r.Addresses))
}

var reputationTexts = rule.Texts{
	"valid": {Headline: "Nothing is known against the sending addresses", Sub: "Check again when mail is rejected."},
	"warning": {Headline: "Reverse DNS of a sending address is incomplete",
		Sub: "Large receivers refuse mail from it. Have its operator publish a name that leads back to the address."},
	"score.address.unneeded": {Headline: "Reputation does not matter: the domain sends no mail",
		Sub: "Give the address of a host in the field ip if one sends mail of the domain."},
	"unknown": {Headline: "Reputation of the sending addresses is not known",
		Sub: "Give the address of the host that sends the mail, and check again."},
}

func goodText(silent bool) diag.Text {
	if silent {
		return diag.Text{Headline: "Domain sends no mail, and forgeries can be rejected",
			Sub: "Nothing needs to be improved. Publish its senders in SPF before it sends mail."}
	}
	return diag.Text{Headline: "Mail of the domain is set up to be accepted",
		Sub: "Nothing needs to be improved. Check again when you add a sending service or mail is rejected."}
}

func openText(s *scoring) diag.Text {
	t := diag.Text{Headline: "Set up well as far as measured; some components are not known",
		Sub: "What could be measured is in order. Check again later for the rest."}
	unknown := len(s.DKIM) == 1 && s.DKIM[0].Selector == "" && !s.DKIM[0].Known()
	switch {
	case unknown && !s.reputation.Known():
	case unknown:
		t.Headline = "Set up well as far as measured; DKIM selector is not known"
		t.Sub = "Everything else is in order. Check again with the selectors that your mail is signed with."
	case !s.reputation.Known():
		t.Headline = "Set up well as far as measured; reputation is not known"
		t.Sub = "Everything else is in order. Check the sending address on the websites of the blocklists."
	}
	return t
}
