package spf

import (
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// LookupReport says what a domain publishes, what it leads to, and what to think of it.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Valid        bool         `json:"valid" doc:"whether receivers can evaluate the record"`
	RecordsCount int          `json:"spf_records_count" min:"0" doc:"number of SPF records; there must be one"`
	Version      string       `json:"version" doc:"version of the record, empty without one" example:"spf1"`
	Terms        []TermReport `json:"terms" doc:"terms of the record, in order"`
	AllQualifier Qualifier    `json:"all_qualifier,omitempty" doc:"sign of all: what is said of all other hosts"`
	Redirect     string       `json:"redirect,omitempty" doc:"domain to whose record the record hands over"`
	Exp          string       `json:"exp,omitempty" doc:"name of the explanation of a fail"`
	DNSLookups   Count        `json:"dns_lookups" doc:"terms of all records that need the DNS"`
	VoidLookups  Count        `json:"void_lookups" doc:"terms of all records for which the DNS has nothing"`
	Tree         *Node        `json:"tree" doc:"the records that the record leads to"`
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
	DNSLookups int       `json:"dns_lookups" min:"0" doc:"terms that need the DNS, with those that it leads to"`
	Valid      bool      `json:"valid" doc:"whether it keeps to the syntax"`
}

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
func (*LookupReport) Rules() []diag.RuleInfo { return rules.Describe() }

// lookupReport judges the evidence and writes it down.
func (e *evidence) lookupReport(ended time.Time) *LookupReport {
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain, e.published.answer, e.records, e.now, ended),
		Verdict:      rules.Judge(e, texts),
		Valid:        e.valid(),
		RecordsCount: len(e.records),
		Terms:        e.terms(),
		DNSLookups:   e.lookupCount(),
		VoidLookups:  Count{e.tree.Voids(), MaxVoids, e.tree.Voids() > MaxVoids, false},
		Tree:         e.tree.Root,
		Authorized:   e.authorizedReport(),
		Providers:    e.tree.providers(),
		IPTest:       e.ipTest(),
		Partial:      e.partial(),
	}
	r.AllQualifier, r.Redirect, r.Exp = e.summary()
	if len(e.records) > 0 {
		r.Version = strings.TrimPrefix(version, "v=")
	}
	if len(e.records) == 1 {
		r.LengthBytes = len(e.records[0])
	}
	for _, n := range e.nodes {
		n.Domain = strings.ToValidUTF8(n.Domain, "\uFFFD")
		n.Error = strings.ToValidUTF8(n.Error, "\uFFFD")
		if n.Children == nil {
			n.Children = []*Node{}
		}
	}
	return r
}

func (e *evidence) lookupCount() Count {
	n := e.tree.Root.CumulativeLookups
	return Count{n, MaxLookups, n > MaxLookups, e.offline}
}

// valid reports whether receivers can evaluate the record, whatever the mail: it does not end in
// permerror for certain.
func (e *evidence) valid() bool {
	if len(e.records) != 1 || e.tree.Root.CumulativeLookups > MaxLookups || e.tree.Voids() > MaxVoids {
		return false
	}
	for _, n := range e.nodes {
		if n.broken() {
			return false
		}
		for i := range n.Terms {
			if n.Terms[i].MXCount > MaxMX {
				return false
			}
		}
	}
	return true
}

// partial reports whether the servers left something open.
func (e *evidence) partial() bool {
	return e.published.answer.Err() != nil || e.type99.Silent() || !e.tree.Complete() ||
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
			one.Modifier = t.Name
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
	return Authorized{
		v4[:min(len(v4), maxNetworks)], v6[:min(len(v6), maxNetworks)], e.authorized.Count4(),
	}
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
