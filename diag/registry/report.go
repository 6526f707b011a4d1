package registry

import (
	"time"

	"github.com/diagkit/diagkit/diag"
)

const day = 24 * time.Hour

// report judges the evidence and writes it down.
func (e *domainEvidence) report(raw bool, ended time.Time) *DomainReport {
	f, verdict := e.facts, domainRules.Judge(e, domainTexts)
	r := &DomainReport{
		Text: verdict.Text(), Domain: e.domain, DomainUnicode: e.domain.UnicodeIfDifferent(), RegisteredDomain: e.name,
		Protocol: e.protocol, Servers: e.servers(), Handle: f.handle, Registrar: f.registrar, Dates: f.dates,
		Statuses: explainAll(f.statuses), Nameservers: append([]Nameserver{}, f.nameservers...),
		DNSSEC: DNSSEC{DS: append([]DS{}, f.ds...)}, Contacts: append([]Contact{}, f.contacts...),
		Timing: diag.NewTiming(e.now, ended), Findings: verdict.Findings,
		Partial: !e.outcome.conclusive() || e.registrar.url != "" && e.registrar.outcome != found,
	}
	if e.outcome.conclusive() {
		r.Registered = new(e.outcome == found)
	}
	if f.signedKnown {
		r.DNSSEC.Signed = new(f.signed)
	}
	if !f.dates.CreatedAt.IsZero() {
		r.AgeDays = new(max(0, days(e.now.Sub(f.dates.CreatedAt))))
	}
	if !f.dates.ExpiresAt.IsZero() {
		r.DaysUntilExpiry = new(days(f.dates.ExpiresAt.Sub(e.now)))
	}
	if raw && e.protocol == rdap {
		r.Raw = clip(e.rdap.raw, maxReportText)
	} else if raw {
		r.Raw = rawWhois(e.whois)
	}
	return r
}

// days returns the whole days of a duration, rounded towards zero.
func days(d time.Duration) int { return int(d / day) }

// servers lists who answered.
func (e *domainEvidence) servers() []string {
	list := []string{}
	for _, a := range []rdapAnswer{e.rdap, e.registrar} {
		if a.url != "" && a.outcome != unanswered {
			list = append(list, a.url)
		}
	}
	for _, a := range e.whois {
		if a.err == nil {
			list = append(list, a.host)
		}
	}
	return list
}
