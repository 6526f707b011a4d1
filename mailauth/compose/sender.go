package compose

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/provider"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// Silent reports whether the domain says that it sends no mail: its SPF record is valid and lets no host pass
// (RFC 7208 section 10.1.2).
func Silent(p *Part[spf.LookupReport]) bool {
	if p.Result == nil || !p.Result.Valid || !p.Result.Found {
		return false
	}
	r := p.Result
	has := func(code diag.Code) bool {
		return slices.ContainsFunc(r.Findings, func(f diag.Finding) bool { return f.Code == code })
	}
	alone := len(r.Terms) == 1 && r.AllQualifier == eval.QualifierFail
	return (alone || has("spf.none.form")) && !has("spf.senders.none")
}

// Parked reports whether the records of the domain show no use for mail: it receives none, and has no SPF record.
func Parked(p *Part[spf.LookupReport]) bool {
	return slices.ContainsFunc(p.Findings, func(f diag.Finding) bool { return f.Code == "spf.record.missing.no_mail" })
}

// Sends reports whether the domain seems to send mail, whether it receives any or not: its SPF record is there and does
// not say otherwise, or it has a key to sign with.
func Sends(p *Part[spf.LookupReport], keys []*DKIMPart) bool {
	return p.Result != nil && p.Result.Found && !Silent(p) || signs(keys)
}

func signs(keys []*DKIMPart) bool {
	return slices.ContainsFunc(keys, func(k *DKIMPart) bool { return k.Works() })
}

// Doubtful reports whether SPF lets nobody send although there is a key to sign with, and tells it with the SPF part. Nobody
// knows then whether the domain sends mail.
func Doubtful(p *Part[spf.LookupReport], keys []*DKIMPart) bool {
	doubt := Silent(p) && signs(keys)
	p.Add(&senderReport{senderRules.Judge(doubt, senderTexts)})
	return doubt
}

type senderReport struct{ diag.Verdict }

func (*senderReport) Rules() []diag.RuleInfo { return senderRules.Describe() }

var senderRules = diag.Rules[bool]{{
	Code: "check.spf.mute", Severity: diag.Warning, Ref: "RFC 7208 section 10.1.2",
	Title:       "SPF lets nobody send, but there is a DKIM key",
	Requirement: "SPF lets somebody send where there is a DKIM key",
	Advice: "List every host and service that sends mail of the domain in its SPF record. If nobody sends any, revoke " +
		"the DKIM key: an empty p= tells verifiers that it is out of use.",
	Fails: func(doubt bool) diag.Failures {
		return diag.FailIf(doubt, "The SPF record says that no host sends mail of the domain, and a DKIM key is there to sign it with.")
	},
}}

var senderTexts = diag.Texts{"valid": {Headline: "SPF and DKIM agree", Sub: "Nothing speaks against the SPF record."}}

// senders are the services that an SPF record lets send and that can sign with the domain of a customer.
func senders(p *Part[spf.LookupReport]) (list []*provider.Service) {
	if p.Result == nil {
		return nil
	}
	for _, known := range p.Result.Providers {
		if s := provider.BySPF(known.Domain); s != nil && s.Sign != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
