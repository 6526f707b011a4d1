package zonecheck

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

func (e *evidence) parentReport() Parent {
	p := Parent{
		Zone: survey.BareName(e.Parent.Zone), Servers: bareNames(e.Parent.Hosts), Nameservers: []ParentNameserver{},
	}
	for _, host := range e.cut.hosts {
		glue := kit.Map(e.cut.glue[host], func(g survey.Glue) netip.Addr { return g.IP })
		p.Nameservers = append(p.Nameservers, ParentNameserver{Name: survey.BareName(host), Glue: glue})
	}
	return p
}

func (e *evidence) delegationReport() Delegation {
	d := Delegation{MissingAtParent: []string{}, MissingInZone: []string{}}
	if compared(e) {
		d.MissingAtParent = bareNames(minus(e.own, e.cut.hosts))
		d.MissingInZone = bareNames(minus(e.cut.hosts, e.own))
		d.Consistent = len(d.MissingAtParent)+len(d.MissingInZone) == 0
	}
	d.Lame = view.Each(e.Servers, func(s *survey.Server) string {
		return view.TextIf(slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool {
			return slices.Contains(s.IPs, ad.IP) && ad.Standing(e.Zone) >= survey.NonAuthoritative
		}), survey.BareName(s.Name))
	})
	return d
}

// answersReport lists what each server answers for each type, in the order of the types.
func (e *evidence) answersReport() []Answer {
	return kit.Map(e.cells, func(c cell) Answer {
		return Answer{Type: dns.Type(c.qtype).String(), Server: c.server, Address: c.ip, Answer: c.answer}
	})
}

func (e *evidence) addressReport(ad *survey.Address) Address {
	r := Address{
		Address: ad.IP, IPVersion: diag.IP{Addr: ad.IP}.Version(), UDP: ad.Replies[survey.ProbeSOA].OK(),
		TCP: ad.Replies[survey.ProbeTCP].OK(), Authoritative: ad.Standing(e.Zone) == survey.Authoritative,
		RecursionAvailable: recurses(ad), AXFROpen: transfers(ad, e.Zone), EDNS: ad.EDNS,
		NSID: nsidOf(ad.Replies[survey.ProbeIdentity]), Error: e.trouble(ad),
	}
	r.Reachable = r.UDP || r.TCP
	if soa := e.soas()[ad]; soa != nil {
		r.SOASerial = new(soa.Serial)
	}
	if fastest, ok := ad.Latency(); ok {
		r.LatencyMS = new(fastest.Milliseconds())
	}
	return r
}

func (e *evidence) soaReport() (r SOA) {
	s := e.soa()
	if s == nil {
		return r
	}
	r = SOA{
		MName: survey.BareName(s.Ns), RName: survey.BareName(s.Mbox), Serial: s.Serial, Refresh: s.Refresh,
		Retry: s.Retry, Expire: s.Expire, Minimum: s.Minttl, TTL: s.Hdr.Ttl, Consistent: true, Serials: []uint32{},
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

func (e *evidence) diversity() Diversity {
	d := Diversity{IPVersions: []int{}}
	prefixes, asns := map[netip.Prefix]bool{}, map[string]bool{}
	for _, ad := range e.Addresses {
		prefixes[prefixOf(ad.IP)] = true
		if ad.Origin.ASN != "" {
			asns[ad.Origin.ASN] = true
		}
		if v := (diag.IP{Addr: ad.IP}).Version(); !slices.Contains(d.IPVersions, v) {
			d.IPVersions = append(d.IPVersions, v)
		}
	}
	d.PrefixesCount = len(prefixes)
	if len(asns) > 0 {
		d.ASNsCount = new(len(asns))
	}
	return d
}

// results lists the outcome of each rule that applied, in the order of the table.
func results(v diag.Verdict) []RuleResult {
	failed := map[diag.Code][]diag.Finding{}
	for _, f := range v.Findings {
		failed[f.Code] = append(failed[f.Code], f)
	}
	passed := map[diag.Code]bool{}
	for _, c := range v.Passed {
		passed[c.Code] = true
	}
	list := []RuleResult{}
	for _, rule := range rules().Describe() {
		r := RuleResult{
			Code: rule.Code, Category: Category(rule.Category.Code), Status: Passed, Message: rule.Requirement,
		}
		switch findings := failed[rule.Code]; {
		case len(findings) > 0:
			worst := findings[0] // they come first
			r.Status, r.Message, r.Action = statusOf(rule, worst), worst.Detail, worst.Advice
			if more := len(findings) - 1; more > 0 {
				r.Message += fmt.Sprintf(" And %d more.", more)
			}
		case !passed[rule.Code]:
			continue
		}
		list = append(list, r)
	}
	return list
}

func summarize(list []RuleResult) (s Summary) {
	counts := map[Status]*int{
		Passed: &s.PassCount, Warned: &s.WarningCount, Failed: &s.FailCount, Informed: &s.InfoCount,
	}
	for _, r := range list {
		*counts[r.Status]++
	}
	return s
}

// statusOf is the status of a rule that is violated.
func statusOf(rule rule.Description, f diag.Finding) Status {
	switch {
	case f.Severity == diag.Info:
		return Informed
	case f.Severity == diag.Warning || rule.State == diag.Unknown:
		return Warned
	default:
		return Failed
	}
}

func contents(records []dns.RR) string {
	if len(records) == 0 {
		return "none"
	}
	lines := kit.Map(records, dataOf)
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ", ")
}

// dataOf writes the data of a record, names in lower case and the last without its final dot.
func dataOf(rr dns.RR) string {
	data := strings.TrimPrefix(rr.String(), rr.Header().String())
	if rr.Header().Rrtype == dns.TypeTXT {
		return data
	}
	return strings.TrimSuffix(strings.ToLower(data), ".")
}

// contentOf writes type and data of a record without its name and time to live.
func contentOf(rr dns.RR) string {
	h := rr.Header()
	return dns.Type(h.Rrtype).String() + " " + strings.TrimPrefix(rr.String(), h.String())
}

func hostName(name string) bool {
	_, err := diag.ParseDomain(survey.BareName(name))
	return err == nil
}

func bareNames(list []string) []string { return kit.Map(list, survey.BareName) }

// minus lists what is in the first list and not in the second.
func minus(all, less []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(less, s) })
}
