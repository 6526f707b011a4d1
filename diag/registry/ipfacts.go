package registry

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// ipFacts are what the answers of a registry say of an address, whatever their protocol.
type ipFacts struct {
	network      Network
	organization Organization
	asn          ASN
	abuse        AbuseDesk
	contacts     []IPContact
	faults       int
}

// factsOfPurpose describes a block that nobody registers.
func factsOfPurpose(block netip.Prefix, purpose Purpose) ipFacts {
	return ipFacts{network: Network{
		CIDRs: []netip.Prefix{block}, StartAddress: block.Addr().String(), EndAddress: last(block).String(),
		Name: purpose.Name,
	}}
}

// factsOfNetwork reads the facts from a network, and from the autonomous system if that was found.
func factsOfNetwork(o, autnum *object) ipFacts {
	f := ipFacts{
		network: Network{
			CIDRs: o.cidrs, StartAddress: addressText(o.start), EndAddress: addressText(o.end), Name: o.name,
			Handle: o.handle, Type: o.kind, ParentHandle: o.parent, Country: o.country, Status: o.statuses,
			RegisteredAt: o.event("registration"), UpdatedAt: o.event("last changed"),
		},
		organization: holder(o), faults: o.faults,
	}
	for _, e := range o.entities {
		if e.hasRole("abuse") {
			f.abuse.add(e.card.emails, e.card.phones)
		}
		f.contacts = append(f.contacts, e.ipContact())
	}
	if len(o.origins) > 0 {
		f.asn = ASN{Number: o.origins[0]}
		if autnum != nil {
			f.asn.Name = autnum.name
		}
	}
	return f
}

func addressText(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.String()
}

func (a *AbuseDesk) add(emails, phones []string) {
	for _, s := range emails {
		a.Emails = addOnce(a.Emails, s)
	}
	for _, s := range phones {
		a.Phones = addOnce(a.Phones, s)
	}
}

// holder finds the organization that holds a network. At RIPE the role of registrant is also that of
// maintainers, who may change the record; an organization goes before those.
func holder(o *object) Organization {
	var best *entity
	for i, e := range o.entities {
		if e.depth > 0 || !e.hasRole("registrant") {
			continue
		}
		if best == nil || rankHolder(e) > rankHolder(*best) {
			best = &o.entities[i]
		}
	}
	if best == nil {
		return Organization{}
	}
	c := best.card
	return Organization{cmp.Or(c.name, c.organization, best.handle), best.handle, c.country}
}

func rankHolder(e entity) int {
	handle := strings.ToUpper(e.handle)
	switch {
	case e.card.kind == "org" || strings.HasPrefix(handle, "ORG-"):
		return 2
	case strings.HasSuffix(handle, "-MNT") || strings.HasPrefix(handle, "MNT-"):
		return 0
	}
	return 1
}

func (e entity) ipContact() IPContact {
	c := e.card
	return IPContact{
		Roles: slices.Clone(e.roles), Name: c.name, Organization: c.organization,
		Emails: slices.Clone(c.emails), Phones: slices.Clone(c.phones), Redacted: e.redacted,
	}
}

func (e *ipEvidence) report(raw bool, ended time.Time) *IPReport {
	f, verdict := e.facts, ipRules.Judge(e, ipTexts)
	r := &IPReport{
		Text: verdict.Text(), IP: e.ip, Version: e.ip.Version(), Source: e.source, Registry: e.registry,
		Purpose: diag.OrZero(e.purpose), Network: f.network, Organization: f.organization, ASN: f.asn, Abuse: f.abuse,
		Contacts: append([]IPContact{}, f.contacts...), Referrals: e.referrals(), Timing: diag.NewTiming(e.now, ended),
		Findings: verdict.Findings, Partial: !e.outcome.conclusive(),
	}
	r.Network.CIDRs = append([]netip.Prefix{}, r.Network.CIDRs...)
	r.Network.Status = append([]string{}, r.Network.Status...)
	r.Abuse.Emails = append([]string{}, r.Abuse.Emails...)
	r.Abuse.Phones = append([]string{}, r.Abuse.Phones...)
	for i, c := range r.Contacts {
		r.Contacts[i].Roles = append([]string{}, c.Roles...)
		r.Contacts[i].Emails = append([]string{}, c.Emails...)
		r.Contacts[i].Phones = append([]string{}, c.Phones...)
	}
	switch {
	case raw && e.source == fromRDAP:
		r.Raw = clip(e.rdap.raw, maxReportText)
	case raw:
		r.Raw = rawWhois(e.whois)
	}
	return r
}

// referrals lists the servers that led to the one with the answer.
func (e *ipEvidence) referrals() []string {
	list := append([]string{}, e.rdap.passed...)
	for _, a := range e.whois[:max(0, len(e.whois)-1)] {
		list = append(list, a.host)
	}
	return list
}
