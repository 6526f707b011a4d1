package spf

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// LookupReport says what a domain publishes, what it leads to, and what to think of it.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Valid        bool         `json:"valid" doc:"whether nothing is worse than a warning"`
	RecordsCount int          `json:"spf_records_count" min:"0" doc:"number of SPF records; there must be one"`
	Version      string       `json:"version" doc:"version of the record, empty without one" example:"spf1"`
	Terms        []TermReport `json:"terms" doc:"terms of the record, in order"`
	AllQualifier Qualifier    `json:"all_qualifier,omitempty" doc:"sign of all: what is said of all other hosts"`
	Redirect     string       `json:"redirect,omitempty" doc:"domain to whose record the record hands over"`
	Exp          string       `json:"exp,omitempty" doc:"name of the explanation of a fail"`
	DNSLookups   Count        `json:"dns_lookups" doc:"DNS lookups of all records, as receivers count them"`
	VoidLookups  Count        `json:"void_lookups" doc:"lookups of all records that find nothing"`
	Tree         *NodeReport  `json:"tree" doc:"the records that the record leads to"`
	Authorized   Authorized   `json:"authorized" doc:"hosts that pass, as far as that does not depend on the mail"`
	LengthBytes  int          `json:"length_bytes" min:"0" doc:"length of the record"`
	Providers    []Provider   `json:"providers" doc:"known services that are included"`
	IPTest       *IPTest      `json:"ip_test,omitempty" doc:"what a receiver decides about the address"`
	Partial      bool         `json:"partial" doc:"whether something could not be learned"`
}

// A TermReport describes a term of a record.
type TermReport struct {
	Position   int       `json:"position" min:"0" doc:"first byte in the record, from 0"`
	Raw        string    `json:"raw" doc:"the term as it is written"`
	Kind       Kind      `json:"kind" doc:"whether it is a mechanism or a modifier"`
	Qualifier  Qualifier `json:"qualifier,omitempty" doc:"sign of a mechanism; + if it has none"`
	Mechanism  Name      `json:"mechanism,omitempty" doc:"name of a mechanism"`
	Modifier   Name      `json:"modifier,omitempty" doc:"name of a modifier"`
	Value      string    `json:"value,omitempty" doc:"what follows the colon or equals sign, without lengths of prefixes"`
	PrefixV4   *int      `json:"prefix_v4,omitempty" min:"0" max:"32" doc:"length of the prefix for IPv4, if written"`
	PrefixV6   *int      `json:"prefix_v6,omitempty" min:"0" max:"128" doc:"length of the prefix for IPv6, if written"`
	Result     Outcome   `json:"result,omitempty" doc:"what is decided if the mechanism matches"`
	DNSLookups int       `json:"dns_lookups" min:"0" doc:"DNS lookups of the term and what it leads to"`
	Valid      bool      `json:"valid" doc:"whether it keeps to the syntax"`
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

// A HostReport is a host that a term stands for.
type HostReport struct {
	Term      string       `json:"term" doc:"the term a or mx"`
	Name      string       `json:"name" doc:"name of the host"`
	Addresses []netip.Addr `json:"addresses" maxitems:"100" doc:"addresses of the host, at most 100 of them"`
}

// maxHostAddresses bounds the addresses of one host in a report.
const maxHostAddresses = 100

// A Count is a number with a limit that receivers set.
type Count struct {
	Count     int  `json:"count" min:"0" doc:"the number"`
	Limit     int  `json:"limit" min:"0" doc:"the greatest number that receivers accept"`
	Exceeded  bool `json:"exceeded" doc:"whether there are more"`
	Estimated bool `json:"estimated,omitempty" doc:"whether other records, which were not looked at, may add to it"`
}

// Authorized are hosts that pass.
type Authorized struct {
	IP4             []netip.Prefix `json:"ip4" maxitems:"1000" doc:"the fewest IPv4 networks, at most 1000 of them"`
	IP6             []netip.Prefix `json:"ip6" maxitems:"1000" doc:"the fewest IPv6 networks, at most 1000 of them"`
	IP4AddressCount int64          `json:"ip4_address_count" min:"0" max:"4294967296" doc:"number of IPv4 addresses"`
}

// maxNetworks bounds the lists of networks in a report; domains in use have up to some hundred.
const maxNetworks = 1000

// An IPTest says what a receiver decides about an address.
type IPTest struct {
	IP            netip.Addr `json:"ip" doc:"the address"`
	Result        Outcome    `json:"result" doc:"what is decided; needs_dns: the record alone does not say"`
	MatchedTerm   string     `json:"matched_term,omitempty" doc:"the mechanism that decides"`
	MatchedDomain string     `json:"matched_domain,omitempty" doc:"whose record has it"`
	Explanation   string     `json:"explanation,omitempty" doc:"what the domain says about a fail"`
}

// Rules describes what is examined.
func (*LookupReport) Rules() []diag.RuleInfo { return rules().Describe() }

// lookupReport judges the evidence and writes it down.
func (e *evidence) lookupReport(ended time.Time) *LookupReport {
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain, e.published.answer, e.records, e.now, ended),
		Verdict:      rules().Judge(e, texts), RecordsCount: len(e.records), Terms: e.terms(), DNSLookups: e.lookupCount(),
		VoidLookups: Count{e.tree.Voids(), MaxVoids, e.tree.Voids() > MaxVoids, false}, Tree: e.nodeReport(e.tree.Root),
		Authorized: e.authorizedReport(), Providers: e.tree.providers(), IPTest: e.ipTest(), Partial: e.partial(),
	}
	r.Valid = e.valid(r.Verdict)
	r.AllQualifier, r.Redirect, r.Exp = e.summary()
	if len(e.records) > 0 {
		r.Version = strings.TrimPrefix(version, "v=")
	}
	if len(e.records) == 1 {
		r.LengthBytes = len(e.records[0])
	}
	return r
}

// nodeReport writes a node of the tree down, and those below it.
func (e *evidence) nodeReport(n *Node) *NodeReport {
	clean := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	r := &NodeReport{
		Domain: clean(n.Domain), Via: n.Via, Depth: n.Depth, Record: clean(n.Record), DNSLookups: n.DNSLookups,
		CumulativeLookups: n.CumulativeLookups, Hosts: []HostReport{}, Loop: n.State == NodeLoop, Error: clean(n.Error),
		Children: []*NodeReport{},
	}
	if n.known() {
		passed := n.passing()
		r.IP4AddressCount, r.IP6NetworkCount = new(passed.Count4()), new(len(passed.Prefixes6()))
	}
	for i := range n.Terms {
		t := &n.Terms[i]
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

// redundantWith names the include that lets pass what a record below the root lets pass, if there is one.
func (e *evidence) redundantWith(n *Node) string {
	for i := range e.tree.Root.Terms {
		if t := &e.tree.Root.Terms[i]; t.Child == n {
			if other := cmp.Or(e.redundant(t, true), e.redundant(t, false)); other != nil {
				return strings.ToValidUTF8(other.Target, "\uFFFD")
			}
		}
	}
	return ""
}

// known reports whether it is known which addresses pass by a record, but for what depends on the mail.
func (n *Node) known() bool {
	open := func(t ResolvedTerm) bool { return t.Err != nil || t.Cut }
	unknown := func(c *Node) bool { return !c.known() }
	return n.State != NodeUnknown && n.State != NodeCut && n.State != NodeDynamic && !slices.ContainsFunc(n.Terms, open) &&
		!slices.ContainsFunc(n.Children, unknown)
}

func (e *evidence) lookupCount() Count {
	n := e.tree.Root.CumulativeLookups
	return Count{n, MaxLookups, n > MaxLookups, e.offline}
}

// valid reports whether nothing is worse than a warning, in what was found and in what is not known.
func (e *evidence) valid(v diag.Verdict) bool {
	grave := func(f diag.Finding) bool { return f.Severity >= diag.Error }
	return len(e.records) == 1 && !slices.ContainsFunc(v.Findings, grave) && !slices.Contains(e.Unanswered(), fromOthers)
}

// partial reports whether the servers left something open.
func (e *evidence) partial() bool {
	silent := func(t ResolvedTerm) bool { return t.Err != nil } // an explanation
	return len(e.Unanswered()) > 0 || slices.ContainsFunc(e.nodes, func(n *Node) bool { return slices.ContainsFunc(n.Terms, silent) }) ||
		e.result != nil && e.result.Outcome == Temperror
}

// terms describes the terms of the record itself.
func (e *evidence) terms() []TermReport {
	list := make([]TermReport, 0, len(e.tree.Root.Terms))
	for i := range e.tree.Root.Terms {
		t := &e.tree.Root.Terms[i]
		one := TermReport{
			Position: t.Offset, Raw: strings.ToValidUTF8(t.Raw, "\uFFFD"), Kind: t.Kind, Value: t.Value,
			PrefixV4: t.PrefixV4, PrefixV6: t.PrefixV6, DNSLookups: t.Lookups(), Valid: t.Valid,
		}
		switch t.Kind {
		case Mechanism:
			one.Qualifier, one.Mechanism = t.Qualifier, t.Name
		case Modifier:
			one.Modifier = Name(string(t.Name) + t.Unknown)
		default: // it cannot be read; most terms are mechanisms
			one.Kind, one.PrefixV4, one.PrefixV6 = Mechanism, nil, nil
		}
		if t.Kind == Mechanism && t.Valid {
			one.Result = t.Qualifier.Outcome()
		}
		list = append(list, one)
	}
	return list
}

// summary returns what the record says of all, redirect and exp.
func (e *evidence) summary() (all Qualifier, redirect, exp string) {
	record := e.tree.Root.Parsed
	if record == nil {
		return "", "", ""
	}
	if t := record.find(All); t != nil {
		all = t.Qualifier
	}
	if t := record.find(Redirect); t != nil {
		redirect = t.Value
	}
	if t := record.find(Exp); t != nil {
		exp = t.Value
	}
	return all, redirect, exp
}

func (e *evidence) authorizedReport() Authorized {
	v4, v6 := e.authorized.Prefixes4(), e.authorized.Prefixes6()
	return Authorized{v4[:min(len(v4), maxNetworks)], v6[:min(len(v6), maxNetworks)], e.authorized.Count4()}
}

func (e *evidence) ipTest() *IPTest {
	if e.result == nil {
		return nil
	}
	clean := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	return &IPTest{
		IP: e.ip, Result: e.result.Outcome, MatchedTerm: clean(e.result.MatchedTerm),
		MatchedDomain: clean(e.result.MatchedDomain), Explanation: e.result.Explanation,
	}
}
