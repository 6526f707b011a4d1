package compose

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/provider"
	"github.com/diagkit/diagkit/mailauth/spf"
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
	alone := len(r.Terms) == 1 && r.AllQualifier == spf.QualifierFail
	return (alone || has("spf.none.form")) && !has("spf.senders.none")
}

// Parked reports whether the records of the domain show no use for mail: it receives none, and has no SPF record.
func Parked(p *Part[spf.LookupReport]) bool {
	return slices.ContainsFunc(p.Findings, func(f diag.Finding) bool { return f.Code == "spf.record.missing.no_mail" })
}

// Sends reports whether the domain seems to send mail, whether it receives any or not: its SPF record is there and does
// not say otherwise, or it has a key to sign with.
func Sends(p *Part[spf.LookupReport], keys []*DKIMPart) bool {
	if Silent(p) {
		return false
	}
	works := func(k *DKIMPart) bool { return k.Works() }
	return p.Result != nil && p.Result.Found || slices.ContainsFunc(keys, works)
}

// Senders are the services that an SPF record lets send and that can sign with the domain of a customer.
func Senders(p *Part[spf.LookupReport]) (list []*provider.Service) {
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
