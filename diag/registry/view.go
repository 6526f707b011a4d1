package registry

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// maxNamed bounds the items of a list that a line names.
const maxNamed = 4

// View presents the report: the registrar of the domain, and the expiry date.
func (r *DomainReport) View() *view.View {
	v := view.OfText(cmp.Or(r.DomainUnicode, r.Domain.String()), r.Text, r.Findings, r.Partial)
	v.Fact("registered", view.TextIf(r.RegisteredDomain != r.Domain.String(), r.RegisteredDomain))
	if r.Registered == nil || !*r.Registered {
		v.Fact("asked", phrase.Series(r.Servers, maxNamed))
		return v
	}
	v.Fact("registrar", cmp.Or(r.Registrar.Name, r.Registrar.URL), "rdap.registrar")
	ends := ""
	if r.DaysUntilExpiry != nil {
		ends = view.Days(*r.DaysUntilExpiry, r.Dates.ExpiresAt)
		v.Fact("ends", ends, "rdap.expiry")
	} else {
		v.Fact("ends", "not known: the registry does not publish it")
	}
	if n := r.AgeDays; n != nil {
		age := cmp.Or(view.TextIf(*n < 730, phrase.Count(*n, "day")), fmt.Sprintf("%d years", *n/365))
		v.Fact("created", view.Date(r.Dates.CreatedAt)+", "+age+" old", "rdap.age")
	}
	statuses := kit.Map(r.Statuses, func(s Status) string { return s.Code })
	v.Fact("status", phrase.Series(statuses, maxNamed), "rdap.status", "rdap.lock")
	servers := kit.Map(r.Nameservers, func(n Nameserver) string { return n.Name })
	v.Fact("name servers", cmp.Or(phrase.Series(servers, maxNamed), "none"), "rdap.nameservers")
	ds := len(r.DNSSEC.DS)
	v.Fact("dnssec", view.Known(r.DNSSEC.Signed, "signed"+view.TextIf(ds > 0, ", "+phrase.Count(ds, "DS record")),
		"not signed", "not known: the registry does not say"))
	if i := slices.IndexFunc(r.Contacts, func(c Contact) bool { return c.Role == Registrant }); i >= 0 {
		c := r.Contacts[i]
		holder := cmp.Or(c.Organization, c.Name, view.TextIf(c.Redacted, "withheld by the registry"))
		v.Fact("holder", strings.TrimPrefix(holder+", "+c.Country, ", "))
	}
	v.BriefIf(ends != "" && len(v.Findings) == 0, r.Registrar.Name, "ends in "+ends)
	return v
}

// View presents the report: the holder of the address, and the abuse contact.
func (r *IPReport) View() *view.View {
	v := view.OfText(r.IP.String(), r.Text, r.Findings, r.Partial)
	if r.Purpose.Name != "" {
		v.Fact("reserved for", r.Purpose.Name+" ("+r.Purpose.RFC+")", "ipwhois.address")
		v.Fact("reachable", view.TextIf(!r.Purpose.GloballyReachable, "not from the Internet"))
	}
	n := r.Network
	cidrs := phrase.Series(kit.Map(n.CIDRs, netip.Prefix.String), maxNamed)
	v.Fact("network", view.TextIf(r.Purpose.Name == "" || r.Source != FromNone, strings.TrimSpace(cidrs+" "+n.Name)),
		"ipwhois.network", "ipwhois.registry")
	holder := cmp.Or(r.Organization.Name, r.Organization.Handle)
	v.Fact("holder", holder)
	v.Fact("country", cmp.Or(r.Organization.Country, n.Country))
	a := r.ASN
	v.Fact("as", view.TextIf(a != (ASN{}), strings.TrimSpace(fmt.Sprintf("AS%d %s %s", a.Number, a.Name, a.Route))))
	if r.Source != FromNone {
		abuse := append(slices.Clone(r.Abuse.Emails), r.Abuse.Phones...)
		v.Fact("abuse", cmp.Or(phrase.Series(abuse, maxNamed), "no contact"), "ipwhois.abuse")
		v.Fact("registry", strings.ToUpper(string(r.Registry))+", by "+strings.ToUpper(string(r.Source)))
	}
	v.Fact("since", view.TextIf(!n.RegisteredAt.IsZero(), view.Date(n.RegisteredAt)))
	v.BriefIf(len(v.Findings) == 0 && holder != "", holder, cidrs)
	return v
}
