package zonecheck

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// report judges the evidence and writes it down.
func (e *evidence) report(ended time.Time) *Report {
	r := &Report{
		Domain:        e.domain,
		DomainUnicode: e.domain.UnicodeIfDifferent(),
		Verdict:       rules.Judge(e, texts),
		Parent:        e.parentReport(),
		Zone:          Zone{Nameservers: bareNames(e.own), TTL: e.ownTTL},
		Nameservers:   []Nameserver{},
		SOA:           e.soaReport(),
		Diversity:     e.diversity(),
		Partial:       e.partial(),
		Timing:        diag.NewTiming(e.now, ended),
	}
	r.Delegation = e.delegationReport()
	for _, s := range e.servers {
		n := Nameserver{Name: bareName(s.name), Addresses: []Address{}}
		for _, ad := range e.addresses {
			if slices.Contains(s.ips, ad.ip) {
				n.Addresses = append(n.Addresses, e.addressReport(ad))
			}
		}
		r.Nameservers = append(r.Nameservers, n)
	}
	r.Checks, r.Summary = outcomes(r.Verdict)
	return r
}

func bareNames(list []string) []string {
	names := []string{}
	for _, n := range list {
		names = append(names, bareName(n))
	}
	return names
}

func (e *evidence) parentReport() Parent {
	p := Parent{Zone: bareName(e.parent.zone), Servers: bareNames(e.parent.hosts), Nameservers: []ParentNameserver{}}
	for _, host := range e.cut.hosts {
		n := ParentNameserver{Name: bareName(host), Glue: []netip.Addr{}}
		for _, g := range e.cut.glue[host] {
			n.Glue = append(n.Glue, g.ip)
		}
		p.Nameservers = append(p.Nameservers, n)
	}
	return p
}

func (e *evidence) delegationReport() Delegation {
	d := Delegation{MissingAtParent: []string{}, MissingInZone: []string{}, Lame: []string{}}
	if len(e.own) > 0 && len(e.cut.hosts) > 0 {
		d.MissingAtParent = bareNames(minus(e.own, e.cut.hosts))
		d.MissingInZone = bareNames(minus(e.cut.hosts, e.own))
		d.Consistent = len(d.MissingAtParent)+len(d.MissingInZone) == 0
	}
	for _, s := range e.servers {
		bad := func(ad *address) bool {
			return slices.Contains(s.ips, ad.ip) && standingOf(ad.soa(), e.zone) >= modest
		}
		if slices.ContainsFunc(e.addresses, bad) {
			d.Lame = append(d.Lame, bareName(s.name))
		}
	}
	return d
}

// minus lists what is in the first list and not in the second.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func (e *evidence) addressReport(ad *address) Address {
	r := Address{
		Address: ad.ip, IPVersion: diag.IP{Addr: ad.ip}.Version(),
		UDP: ad.replies[probeSOA].ok(), TCP: ad.replies[probeTCP].ok(),
		Authoritative:      standingOf(ad.soa(), e.zone) == authoritative,
		RecursionAvailable: recurses(ad),
		AXFROpen:           transfers(ad, e.zone),
		EDNS:               ad.edns,
		NSID:               nsidOf(ad.replies[probeIdentity]),
		Error:              e.trouble(ad),
	}
	r.Reachable = r.UDP || r.TCP
	if soa := e.soas()[ad]; soa != nil {
		r.SOASerial = new(soa.Serial)
	}
	if fastest, ok := latency(ad); ok {
		r.LatencyMS = new(fastest.Milliseconds())
	}
	return r
}

// latency returns the time of the fastest answer about the zone over UDP.
func latency(ad *address) (fastest time.Duration, known bool) {
	for _, r := range ad.replies[:probeRecursion] {
		if r.ok() && !r.tcp && (!known || r.latency < fastest) {
			fastest, known = r.latency, true
		}
	}
	return fastest, known
}

// nsidOf returns the identifier of a server.
func nsidOf(r reply) string {
	opt := optOf(r)
	if opt == nil {
		return ""
	}
	for _, o := range opt.Option {
		if id, ok := o.(*dns.EDNS0_NSID); ok && id.Nsid != "" {
			b, err := hex.DecodeString(id.Nsid)
			if err != nil || slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' }) {
				return strings.ToLower(id.Nsid)
			}
			return string(b)
		}
	}
	return ""
}

// trouble says in words why an address does not serve the zone.
func (e *evidence) trouble(ad *address) string {
	r := ad.soa()
	switch standingOf(r, e.zone) {
	case authoritative:
		return ""
	case modest:
		return "its answer does not claim to be authoritative"
	case upward:
		return "it refers to the servers of a zone above"
	case lame:
		return "it does not serve the zone: " + said(r)
	}
	switch r.outcome {
	case closed:
		return "the connection was refused"
	case malformed:
		return "its reply cannot be read"
	case unroutable:
		return "there is no way to the address from here"
	case blocked:
		return "the address is not public"
	case notAsked:
		return "there was no time to ask it"
	default:
		return "it does not answer"
	}
}

// said names the rcode of a reply, with what else tells it from a good one.
func said(r reply) string {
	if r.msg.Rcode != dns.RcodeSuccess {
		return "it answers " + diag.RcodeName(r.msg.Rcode)
	}
	if r.msg.Authoritative {
		return "it answers NOERROR without the record"
	}
	return "it answers NOERROR without the record and without authority"
}

func (e *evidence) soaReport() SOA {
	s := e.soa()
	if s == nil {
		return SOA{Serials: []uint32{}}
	}
	r := SOA{
		MName: bareName(s.Ns), RName: bareName(s.Mbox), Serial: s.Serial, Refresh: s.Refresh, Retry: s.Retry,
		Expire: s.Expire, Minimum: s.Minttl, TTL: s.Hdr.Ttl, Consistent: true, Serials: []uint32{},
	}
	for _, other := range e.soas() {
		r.Consistent = r.Consistent && strings.EqualFold(contentOf(other), contentOf(s))
		if !slices.Contains(r.Serials, other.Serial) {
			r.Serials = append(r.Serials, other.Serial)
		}
	}
	slices.SortFunc(r.Serials, func(a, b uint32) int { // the distance from the newest
		return cmp.Compare(s.Serial-a, s.Serial-b)
	})
	return r
}

// prefixOf returns the network of an address that is announced as one at least: smaller ones are not
// accepted between providers.
func prefixOf(ip netip.Addr) netip.Prefix {
	bits := 24
	if ip.Is6() {
		bits = 48
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

func (e *evidence) diversity() Diversity {
	d := Diversity{IPVersions: []int{}}
	prefixes, asns := map[netip.Prefix]bool{}, map[string]bool{}
	for _, ad := range e.addresses {
		prefixes[prefixOf(ad.ip)] = true
		if ad.origin.asn != "" {
			asns[ad.origin.asn] = true
		}
		if v := (diag.IP{Addr: ad.ip}).Version(); !slices.Contains(d.IPVersions, v) {
			d.IPVersions = append(d.IPVersions, v)
		}
	}
	d.PrefixesCount = len(prefixes)
	if len(asns) > 0 {
		d.ASNsCount = new(len(asns))
	}
	return d
}

// partial reports whether something was left open.
func (e *evidence) partial() bool {
	open := e.exhausted || e.surplus > 0 || !e.cut.known
	for _, ad := range e.addresses {
		open = open || !ad.soa().ok() && ad.soa().outcome != closed && ad.soa().outcome != blocked ||
			ad.hurried
	}
	for _, s := range e.servers {
		open = open || e.hosts[s.name].Err() != nil && len(e.cut.glue[s.name]) == 0
	}
	return open
}

// outcomes lists what came of each rule, in the order of the table.
func outcomes(v diag.Verdict) ([]Outcome, Summary) {
	failed := map[diag.Code][]diag.Finding{}
	for _, f := range v.Findings {
		failed[f.Code] = append(failed[f.Code], f)
	}
	passed := map[diag.Code]bool{}
	for _, c := range v.Passed {
		passed[c.Code] = true
	}
	list, count := []Outcome{}, Summary{}
	for _, rule := range rules.Describe() {
		o := Outcome{Code: rule.Code, Category: Category(rule.Category.Code), Status: Passed, Message: rule.Requirement}
		findings := failed[rule.Code]
		switch {
		case len(findings) > 0:
			o.Status, o.Message, o.Action = statusOf(rule), messageOf(findings), rule.Advice
		case !passed[rule.Code]:
			continue
		}
		switch o.Status {
		case Passed:
			count.PassCount++
		case Warned:
			count.WarningCount++
		case Failed:
			count.FailCount++
		case Informed:
			count.InfoCount++
		}
		list = append(list, o)
	}
	return list, count
}

// statusOf is the outcome of a rule that is violated.
func statusOf(rule diag.RuleInfo) Status {
	switch {
	case rule.Severity == diag.Info:
		return Informed
	case rule.Severity == diag.Warning || rule.State == diag.Unknown:
		return Warned
	default:
		return Failed
	}
}

func messageOf(findings []diag.Finding) string {
	f := findings[0]
	text := f.Detail
	if f.Target != "" {
		text = f.Target + ": " + text
	}
	if len(findings) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(findings)-1)
	}
	return text
}
