package registry

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"go4.org/netipx"
)

// regionals are the regional registries: the domains of their servers, and of the national registries
// below them, and their WHOIS servers.
var regionals = []struct {
	registry Registry
	domains  []string
	whois    string
}{
	{ARIN, []string{"arin.net"}, "whois.arin.net"},
	{RIPE, []string{"ripe.net"}, "whois.ripe.net"},
	{APNIC, []string{"apnic.net", "nic.ad.jp", "kisa.or.kr", "krnic.net", "twnic.net.tw", "twnic.tw", "cnnic.cn",
		"idnic.net", "irinn.in", "vnnic.vn"}, "whois.apnic.net"},
	{LACNIC, []string{"lacnic.net", "registro.br", "nic.mx"}, "whois.lacnic.net"},
	{AFRINIC, []string{"afrinic.net"}, "whois.afrinic.net"},
}

func registryOf(server string) (Registry, string) {
	host := server
	if u, err := diag.ParseURL(server); err == nil {
		host = u.Host().Name()
	}
	for _, r := range regionals {
		for _, d := range r.domains {
			if host == d || strings.HasSuffix(host, "."+d) {
				return r.registry, r.whois
			}
		}
	}
	return NoRegistry, ianaWhois
}

// ipEvidence is the input of the rules and the report.
type ipEvidence struct {
	ip      diag.IP
	now     time.Time
	block   netip.Prefix // with the purpose
	purpose *Purpose

	services []string
	rdap     rdapAnswer
	autnum   rdapAnswer // of the autonomous system, if the network names one
	whois    []whoisAnswer

	outcome  outcome
	source   Source
	registry Registry
	facts    ipFacts
}

// fetchIP asks the regional registry over RDAP and then for the autonomous system, or, if that leaves
// the question open, over WHOIS.
func (c *Client) fetchIP(ctx context.Context, env *diag.Env, ip diag.IP) (*ipEvidence, error) {
	e := &ipEvidence{ip: ip, now: env.Now(), source: FromNone, registry: NoRegistry, outcome: absent}
	e.services = c.bootstrap().forAddress(ip.Addr)
	if block, purpose, ok := PurposeOf(ip.Addr); ok {
		e.block, e.purpose, e.facts = block, &purpose, factsOfPurpose(block, purpose)
		if !e.asked() {
			return e, nil
		}
	}
	whois := ianaWhois
	if len(e.services) > 0 {
		e.registry, whois = registryOf(e.services[0])
	}
	var err error
	if e.rdap, err = askRDAP(ctx, env, e.services, "ip/"+ip.String(), classNetwork); err != nil {
		return nil, err
	}
	if o := e.rdap.object; o != nil && !o.covers(ip.Addr) {
		e.rdap.outcome, e.rdap.object, e.rdap.reason = unreadable, nil, "its answer is about other addresses"
	}
	switch {
	case e.rdap.outcome == found:
		err = e.askSystem(ctx, env, c.bootstrap())
	case e.rdap.outcome == absent && !e.rdap.doubt:
	default:
		query := func(host string) string { return addressQuery(host, ip.Addr) }
		e.whois = follow(ctx, env, whois, query, func(text string) string { return readNetwork(text, ip.Addr).referral })
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return e, e.parse()
}

// asked reports whether a registry is asked. Of the special-purpose addresses these are the ones that are reached from
// anywhere, of which some are registered like others (RFC 7534 section 3.1), where a registry is in charge of them.
func (e *ipEvidence) asked() bool {
	return e.purpose == nil || e.purpose.GloballyReachable && len(e.services) > 0
}

// covers reports whether the range of a network has the address, or is not given.
func (o *object) covers(ip netip.Addr) bool {
	return !o.start.IsValid() || !o.end.IsValid() ||
		o.start.BitLen() == ip.BitLen() && o.start.Compare(ip) <= 0 && ip.Compare(o.end) <= 0
}

// askSystem asks for the name of the autonomous system that the network names.
func (e *ipEvidence) askSystem(ctx context.Context, env *diag.Env, b *Bootstrap) error {
	if len(e.rdap.object.origins) == 0 {
		return nil
	}
	number := e.rdap.object.origins[0]
	limited, cancel := diag.Within(ctx, registrarTimeout)
	defer cancel()
	services := b.forSystem(uint32(number))
	a, err := askRDAP(limited, env, services[:min(1, len(services))], fmt.Sprintf("autnum/%d", number), "autnum")
	if err == nil {
		e.autnum = a
	}
	return ctx.Err()
}

// parse parses and judges the answers. It returns an error that wraps [diag.ErrUnavailable] if no server answered.
func (e *ipEvidence) parse() error {
	e.outcome = e.rdap.outcome
	if e.outcome.conclusive() {
		e.source = FromRDAP
		if r, _ := registryOf(e.rdap.url); r != NoRegistry {
			e.registry = r
		}
	}
	if e.outcome == found {
		e.facts = factsOfNetwork(e.rdap.object, e.autnum.object)
		return nil
	}
	for _, a := range e.whois {
		e.weigh(a)
	}
	if e.outcome == absent && e.rdap.doubt && e.source == FromRDAP {
		e.outcome, e.source = unanswered, FromNone // unconfirmed, and any web server might say so
	}
	if e.purpose != nil && e.outcome != found {
		e.facts = factsOfPurpose(e.block, *e.purpose)
	}
	if e.outcome.conclusive() || e.outcome == unreadable && spoke(e.whois) ||
		e.purpose != nil && ourFailure(e.rdap, e.whois) == nil {
		return nil
	}
	return fmt.Errorf("looking up the holder of %s: %w", e.ip, failureOf(e.rdap, e.whois))
}

// weigh takes an answer of WHOIS into account. Where one server refers to another, the later one knows better, if it is
// a regional registry or has an answer. IANA has no more than the blocks of the registries.
func (e *ipEvidence) weigh(a whoisAnswer) {
	regional, _ := registryOf(a.host)
	n := &networkRecord{}
	o := unanswered
	if a.text != "" {
		n = readNetwork(a.text, e.ip.Addr)
		o = n.judge(a.text)
	}
	if o == found && a.host == ianaWhois {
		o = unreadable
	}
	if o == unanswered {
		if e.outcome == found && regional != NoRegistry {
			e.outcome, e.facts, e.source = unreadable, ipFacts{}, FromNone
		}
		return
	}
	if o == found || regional != NoRegistry || !e.outcome.conclusive() {
		e.outcome, e.facts, e.source = o, n.facts, FromNone
	}
	if o.conclusive() {
		e.source = FromWHOIS
		if regional != NoRegistry {
			e.registry = regional
		}
	}
}

// ipFacts are the data of a registry's answers for an address, in any protocol.
type ipFacts struct {
	network      Network
	organization Organization
	asn          ASN
	abuse        AbuseDesk
	contacts     []IPContact
}

// factsOfPurpose describes a block of special-purpose addresses.
func factsOfPurpose(block netip.Prefix, purpose Purpose) ipFacts {
	return ipFacts{network: Network{
		CIDRs: []netip.Prefix{block}, StartAddress: block.Addr().String(), EndAddress: netipx.PrefixLastIP(block).String(),
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
		organization: holder(o),
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

// embeddedIPv4 returns the IPv4 address embedded in an IPv6 address, if it is one of a translator (RFC 6052 section
// 2.2), of 6to4 (RFC 3056 section 2) or of Teredo (RFC 4380 section 4).
func embeddedIPv4(block netip.Prefix, ip netip.Addr) (netip.Addr, bool) {
	b := ip.As16()
	switch block.String() {
	case "64:ff9b::/96":
		return netip.AddrFrom4([4]byte(b[12:])), true
	case "2002::/16":
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case "2001::/32":
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	}
	return netip.Addr{}, false
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

// holder finds the organization that holds a network. At RIPE maintainers, which may change the record, have the
// role of registrant too; an organization takes precedence.
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
		Purpose: kit.OrZero(e.purpose), Network: f.network, Organization: f.organization, ASN: f.asn, Abuse: f.abuse,
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
	case raw && e.source == FromRDAP:
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
