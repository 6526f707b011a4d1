package spf

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// A TermReport describes a term of a record.
type TermReport struct {
	Position   int            `json:"position" min:"0" doc:"first byte in the record, from 0"`
	Raw        string         `json:"raw" doc:"the term as it is written"`
	Kind       eval.Kind      `json:"kind" doc:"whether it is a mechanism or a modifier"`
	Qualifier  eval.Qualifier `json:"qualifier,omitempty" doc:"sign of a mechanism; + if it has none"`
	Mechanism  eval.Name      `json:"mechanism,omitempty" doc:"name of a mechanism"`
	Modifier   eval.Name      `json:"modifier,omitempty" doc:"name of a modifier"`
	Value      string         `json:"value,omitempty" doc:"what follows the colon or equals sign, without prefix lengths"`
	PrefixV4   *int           `json:"prefix_v4,omitempty" min:"0" max:"32" doc:"length of the prefix for IPv4, if written"`
	PrefixV6   *int           `json:"prefix_v6,omitempty" min:"0" max:"128" doc:"length of the prefix for IPv6, if written"`
	Result     eval.Outcome   `json:"result,omitempty" doc:"what is decided if the mechanism matches"`
	DNSLookups int            `json:"dns_lookups" min:"0" doc:"DNS lookups of the term and what it leads to"`
	Valid      bool           `json:"valid" doc:"whether it keeps to the syntax"`
}

// A NodeReport is the record of one domain in the tree of all records that one record leads to.
type NodeReport struct {
	Domain            string        `json:"domain" doc:"the domain, with macros where it depends on them"`
	Via               Via           `json:"via" doc:"how it is reached"`
	Depth             int           `json:"depth" min:"0" doc:"levels below the record that is examined"`
	Record            string        `json:"record,omitempty" doc:"its record, if there is exactly one"`
	DNSLookups        int           `json:"dns_lookups" min:"0" doc:"DNS lookups of the terms of this record"`
	CumulativeLookups int           `json:"cumulative_lookups" min:"0" doc:"those of this record and all below"`
	IP4AddressCount   *int64        `json:"ip4_address_count,omitempty" min:"0" max:"4294967296" doc:"addresses that pass"`
	IP6NetworkCount   *int          `json:"ip6_network_count,omitempty" min:"0" doc:"networks that pass"`
	Hosts             []HostReport  `json:"hosts" doc:"addresses behind the terms a and mx of this record"`
	RedundantWith     string        `json:"redundant_with,omitempty" doc:"another include that passes all of these"`
	Loop              bool          `json:"loop" doc:"whether it leads back to a record above"`
	Error             string        `json:"error,omitempty" doc:"why it cannot be evaluated"`
	Children          []*NodeReport `json:"children" doc:"records that it includes or redirects to, in order"`
}

// A HostReport is a host that a term refers to.
type HostReport struct {
	Term      string       `json:"term" doc:"the term a or mx"`
	Name      string       `json:"name" doc:"name of the host"`
	Addresses []netip.Addr `json:"addresses" maxitems:"100" doc:"addresses of the host, at most 100 of them"`
}

const maxHostAddresses = 100

// A Count is a number with a limit that receivers set.
type Count struct {
	Count     int  `json:"count" min:"0" doc:"the number"`
	Limit     int  `json:"limit" min:"0" doc:"the greatest number that receivers accept"`
	Exceeded  bool `json:"exceeded" doc:"whether there are more"`
	Estimated bool `json:"estimated,omitempty" doc:"whether other records, which were not examined, may add to it"`
}

// Authorized describes the hosts that pass.
type Authorized struct {
	IP4             []netip.Prefix `json:"ip4" maxitems:"1000" doc:"the fewest IPv4 networks, at most 1000 of them"`
	IP6             []netip.Prefix `json:"ip6" maxitems:"1000" doc:"the fewest IPv6 networks, at most 1000 of them"`
	IP4AddressCount int64          `json:"ip4_address_count" min:"0" max:"4294967296" doc:"number of IPv4 addresses"`
}

// maxNetworks bounds the lists of networks in a report; domains in use have up to some hundred.
const maxNetworks = 1000

// An IPTest is the decision of a receiver about an address.
type IPTest struct {
	IP            netip.Addr   `json:"ip" doc:"the address"`
	Result        eval.Outcome `json:"result" doc:"what is decided; needs_dns: the record alone does not say"`
	MatchedTerm   string       `json:"matched_term,omitempty" doc:"the mechanism that decides"`
	MatchedDomain string       `json:"matched_domain,omitempty" doc:"whose record has it"`
	Explanation   string       `json:"explanation,omitempty" doc:"what the domain says about a fail"`
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (e *evidence) nodeReport(n *Node) *NodeReport {
	r := &NodeReport{
		Domain: clean(n.Domain), Via: n.Via, Depth: n.Depth, Record: clean(n.Record), DNSLookups: n.DNSLookups,
		CumulativeLookups: n.CumulativeLookups, Hosts: []HostReport{}, Loop: n.State == NodeLoop, Error: clean(n.Error),
		Children: []*NodeReport{},
	}
	if n.known() {
		passed := n.passing()
		r.IP4AddressCount, r.IP6NetworkCount = new(passed.count4()), new(len(passed.Prefixes6()))
	}
	for _, t := range n.Terms {
		for _, h := range t.Hosts {
			r.Hosts = append(r.Hosts, HostReport{clean(t.Raw), clean(h.Name),
				append([]netip.Addr{}, h.Addresses[:min(len(h.Addresses), maxHostAddresses)]...)})
		}
	}
	for _, c := range n.Children {
		one := e.nodeReport(c)
		if n.Depth == 0 {
			one.RedundantWith = e.redundantWith(c)
		}
		r.Children = append(r.Children, one)
	}
	return r
}

// redundantWith names the include that already passes every host that a record below the root passes; empty without
// one.
func (e *evidence) redundantWith(n *Node) string {
	t := e.tree.Root.find(func(t *ResolvedTerm) bool { return t.Child == n })
	if other := cmp.Or(e.redundant(t, true), e.redundant(t, false)); other != nil {
		return clean(other.Target)
	}
	return ""
}

func (e *evidence) lookupCount() Count {
	n := e.tree.Root.CumulativeLookups
	return Count{n, eval.MaxLookups, n > eval.MaxLookups, e.offline}
}

// isValid reports whether no finding is worse than a warning, known or unknown.
func (e *evidence) isValid(v diag.Verdict) bool {
	grave := func(f diag.Finding) bool { return f.Severity >= diag.Error }
	return len(e.records) == 1 && !slices.ContainsFunc(v.Findings, grave) && !slices.Contains(e.Unanswered(), fromOthers)
}

func (e *evidence) partial() bool {
	for _, t := range e.tree.terms() {
		if t.Err != nil { // an explanation
			return true
		}
	}
	return len(e.Unanswered()) > 0 || e.result != nil && e.result.Outcome == eval.Temperror
}

func (e *evidence) termReports() []TermReport {
	list := make([]TermReport, 0, len(e.tree.Root.Terms))
	for _, t := range e.tree.Root.Terms {
		one := TermReport{
			Position: t.Offset, Raw: clean(t.Raw), Kind: t.Kind, Value: t.Value,
			DNSLookups: t.Lookups(), Valid: t.Valid,
		}
		one.PrefixV4, one.PrefixV6 = t.Prefixes()
		switch t.Kind {
		case eval.Mechanism:
			one.Qualifier, one.Mechanism = t.Qualifier, t.Name
		case eval.Modifier:
			one.Modifier = eval.Name(string(t.Name) + t.Unknown)
		default: // it is unreadable; most terms are mechanisms
			one.Kind = eval.Mechanism
		}
		if t.Kind == eval.Mechanism && t.Valid {
			one.Result = t.Qualifier.Outcome()
		}
		list = append(list, one)
	}
	return list
}

func (e *evidence) valueOf(name eval.Name) string {
	if record := e.tree.Root.Parsed; record != nil && record.Find(name) != nil {
		return record.Find(name).Value
	}
	return ""
}

func (e *evidence) allQualifier() eval.Qualifier {
	if record := e.tree.Root.Parsed; record != nil && record.Find(eval.All) != nil {
		return record.Find(eval.All).Qualifier
	}
	return ""
}

func (e *evidence) authorizedReport() Authorized {
	v4, v6 := e.authorized.Prefixes4(), e.authorized.Prefixes6()
	return Authorized{v4[:min(len(v4), maxNetworks)], v6[:min(len(v6), maxNetworks)], e.authorized.count4()}
}

func (e *evidence) ipTest() IPTest {
	if e.result == nil {
		return IPTest{}
	}
	return IPTest{
		IP: e.ip, Result: e.result.Outcome, MatchedTerm: clean(e.result.MatchedTerm),
		MatchedDomain: clean(e.result.MatchedDomain), Explanation: e.result.Explanation,
	}
}

// A Provider is a service that a domain authorizes to send in its name.
type Provider struct {
	Domain string `json:"domain" doc:"the domain whose record is included"`
	Name   string `json:"name" doc:"the service"`
}

func providerOf(domain string) string { return kit.OrZero(provider.BySPF(domain)).Name }

// meantProvider returns the include domain of the only service whose name differs from a name by one typo. It is
// empty without exactly one such service, or if the name belongs to a service itself.
func meantProvider(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	meant, owner := "", (*provider.Service)(nil)
	for _, s := range provider.Services() {
		for _, domain := range s.SPF {
			switch {
			case eval.Below(name, domain), owner != nil && owner != s && differsByTypo(name, domain):
				return ""
			case owner == nil && differsByTypo(name, domain):
				meant, owner = domain, s
			}
		}
	}
	return meant
}

// providers names the services in a tree, each where the record of the domain first leads to it.
func (t *Tree) providers() []Provider {
	list := []Provider{}
	seen := map[Provider]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		for _, c := range n.Children {
			p := Provider{strings.ToLower(c.Domain), providerOf(c.Domain)}
			switch {
			case p.Name == "":
				visit(c)
			case !seen[p]:
				seen[p] = true
				list = append(list, p)
			}
		}
	}
	visit(t.Root)
	return list
}
