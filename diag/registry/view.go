package registry

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// maxNamed bounds the items of a list that a line names.
const maxNamed = 4

// View is what a person sees of the report: with whom the domain is registered, and until when.
func (r *DomainReport) View() *view.View {
	v := view.OfText(cmp.Or(r.DomainUnicode, r.Domain.String()), r.Text, r.Findings)
	v.Partial = r.Partial
	if r.RegisteredDomain != r.Domain.String() {
		v.Fact("registered", r.RegisteredDomain)
	}
	if r.Registered == nil || !*r.Registered {
		v.Fact("asked", diag.Series(r.Servers, maxNamed))
		return v
	}
	v.Fact("registrar", cmp.Or(r.Registrar.Name, r.Registrar.URL), "rdap.registrar")
	if at, n := r.Dates.ExpiresAt, r.DaysUntilExpiry; n != nil {
		v.Fact("ends", view.Days(*n, at), "rdap.expiry")
	} else {
		v.Fact("ends", "not known: the registry does not publish it")
	}
	if at, n := r.Dates.CreatedAt, r.AgeDays; n != nil {
		v.Fact("created", at.UTC().Format(time.DateOnly)+", "+age(*n), "rdap.age")
	}
	statuses := diag.Map(r.Statuses, func(s Status) string { return s.Code })
	v.Fact("status", diag.Series(statuses, maxNamed), "rdap.status", "rdap.lock")
	servers := diag.Map(r.Nameservers, func(n Nameserver) string { return n.Name })
	v.Fact("name servers", cmp.Or(diag.Series(servers, maxNamed), "none"), "rdap.nameservers")
	v.Fact("dnssec", r.DNSSEC.text())
	v.Fact("holder", r.holder())
	if at, n := r.Dates.ExpiresAt, r.DaysUntilExpiry; n != nil && len(v.Findings) == 0 {
		v.Brief = view.Join(r.Registrar.Name, "ends in "+view.Days(*n, at))
	}
	return v
}

// age is a number of days in years, as far as there are some.
func age(n int) string {
	if n < 730 {
		return diag.Count(n, "day") + " old"
	}
	return fmt.Sprintf("%d years old", n/365)
}

func (d *DNSSEC) text() string {
	switch {
	case d.Signed == nil:
		return "not known: the registry does not say"
	case !*d.Signed:
		return "not signed"
	case len(d.DS) == 0:
		return "signed"
	}
	return "signed, " + diag.Count(len(d.DS), "DS record")
}

// holder is the registrant as far as the registry tells.
func (r *DomainReport) holder() string {
	i := slices.IndexFunc(r.Contacts, func(c Contact) bool { return c.Role == registrant })
	if i < 0 {
		return ""
	}
	c := r.Contacts[i]
	text := cmp.Or(c.Organization, c.Name)
	if text == "" && c.Redacted {
		text = "withheld by the registry"
	}
	return strings.TrimPrefix(text+", "+c.Country, ", ")
}

// View is what a person sees of the report: who holds the address, and where abuse is reported.
func (r *IPReport) View() *view.View {
	v := view.OfText(r.IP.String(), r.Text, r.Findings)
	v.Partial = r.Partial
	if r.Purpose.Name != "" {
		v.Fact("reserved for", r.Purpose.Name+" ("+r.Purpose.RFC+")", "ipwhois.address")
		if !r.Purpose.GloballyReachable {
			v.Fact("reachable", "not from the Internet")
		}
	}
	n := r.Network
	cidrs := diag.Series(diag.Map(n.CIDRs, netip.Prefix.String), maxNamed)
	if r.Purpose.Name == "" {
		v.Fact("network", strings.TrimSpace(cidrs+" "+n.Name), "ipwhois.network", "ipwhois.registry")
	}
	holder := cmp.Or(r.Organization.Name, r.Organization.Handle)
	v.Fact("holder", holder)
	v.Fact("country", cmp.Or(r.Organization.Country, n.Country))
	if a := r.ASN; a != (ASN{}) {
		v.Fact("as", strings.TrimSpace(fmt.Sprintf("AS%d %s %s", a.Number, a.Name, a.Route)))
	}
	if r.Source != fromNone {
		abuse := append(slices.Clone(r.Abuse.Emails), r.Abuse.Phones...)
		v.Fact("abuse", cmp.Or(diag.Series(abuse, maxNamed), "no contact"), "ipwhois.abuse")
		v.Fact("registry", strings.ToUpper(string(r.Registry))+", by "+strings.ToUpper(string(r.Source)))
	}
	if !n.RegisteredAt.IsZero() {
		v.Fact("since", n.RegisteredAt.UTC().Format(time.DateOnly))
	}
	if len(v.Findings) == 0 && holder != "" {
		v.Brief = view.Join(holder, cidrs)
	}
	return v
}
