package zonecheck

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// evidence is the input of the rules: the answers, and the results for the signatures.
type evidence struct {
	*answers
	sec      zoneSecurity
	undotted []undotted
}

// newEvidence draws what follows from the answers. It touches nothing.
func newEvidence(s *survey.Survey) *evidence {
	a := newAnswers(s)
	return &evidence{a, a.secure(), a.findUndotted()}
}

func delegated(e *evidence) bool { return len(e.cut.hosts) > 0 }

func named(e *evidence) bool { return len(e.Servers) > 0 }

func addressed(e *evidence) bool { return len(e.Addresses) > 0 }

func reached(e *evidence) bool {
	return anyAddress(func(ad *survey.Address) bool { return ad.SOA().OK() })(e)
}

func served(e *evidence) bool { return len(e.serving) > 0 }

// hasSOA reports whether the SOA record is known.
func hasSOA(e *evidence) bool { return e.soa() != nil }

func signed(e *evidence) bool { return len(e.sec.keys) > 0 }

// anyAddress is the condition that something holds for an address.
func anyAddress(holds func(*survey.Address) bool) func(*evidence) bool {
	return func(e *evidence) bool { return slices.ContainsFunc(e.Addresses, holds) }
}

// anyServing is the condition that something holds for a server of the zone.
func anyServing(holds func(*survey.Address) bool) func(*evidence) bool {
	return func(e *evidence) bool { return slices.ContainsFunc(e.serving, holds) }
}

// asked is the condition that a probe was sent to an address, whatever came back.
func asked(p survey.Probe) func(*evidence) bool {
	return anyAddress(func(ad *survey.Address) bool { return ad.Asked(p) })
}

func answered(p survey.Probe) func(*evidence) bool {
	return anyAddress(func(ad *survey.Address) bool { return ad.Replies[p].OK() })
}

// answeredByAtLeast is the condition that a number of servers of the zone answered a probe with NOERROR.
func answeredByAtLeast(servers int, p survey.Probe) func(*evidence) bool {
	return func(e *evidence) bool {
		good := func(ad *survey.Address) bool { return ad.Replies[p].Rcode() == dns.RcodeSuccess }
		return view.CountIf(e.serving, good) >= servers
	}
}

// determined is the condition that a server of the zone gave an answer, positive or negative.
func determined(p survey.Probe) func(*evidence) bool {
	return anyServing(func(ad *survey.Address) bool { return ad.Replies[p].Settled() })
}

// hasType is the condition that a server returned records of a type at the apex.
func hasType(qtype uint16) func(*evidence) bool {
	return func(e *evidence) bool {
		r := e.at(e.Zone, qtype)
		return r.OK() && len(survey.RRSet(r.Msg.Answer, e.Zone, qtype)) > 0
	}
}

// probes lists the query of each source, and whether a server has answered it.
var probes = []struct {
	source rule.Source
	probe  survey.Probe
	told   func(*survey.Address, survey.Reply) bool
}{
	{identity, survey.ProbeIdentity, func(ad *survey.Address, r survey.Reply) bool {
		return r.OK() || ad.Asked(survey.ProbeEDNS)
	}},
	{recursion, survey.ProbeRecursion, func(_ *survey.Address, r survey.Reply) bool { return r.OK() }},
	{transfer, survey.ProbeTransfer, func(ad *survey.Address, r survey.Reply) bool {
		return transferAnswered(ad) || ad.Replies[survey.ProbeTCP].Result == survey.Refused
	}},
	{absent, survey.ProbeAbsent, settled}, {www, survey.ProbeWWW, settled}, {recordsKeys, survey.ProbeKeys, settled},
	{recordsNS, survey.ProbeNS, settled}, {recordsA, survey.ProbeA, settled}, {recordsAAAA, survey.ProbeAAAA, settled},
	{recordsMX, survey.ProbeMX, settled}, {recordsTXT, survey.ProbeTXT, settled}, {recordsCAA, survey.ProbeCAA, settled},
	{recordsHTTPS, survey.ProbeHTTPS, settled}, {recordsCDS, survey.ProbeCDS, settled},
	{recordsCDS, survey.ProbeCDNSKEY, settled},
}

func settled(_ *survey.Address, r survey.Reply) bool { return r.Settled() }

// silent reports whether it is not known what an address is to the zone. That it refuses connections, or is not
// public, is knowledge.
func silent(ad *survey.Address) bool {
	r := ad.SOA()
	return !r.OK() && r.Result != survey.Refused && r.Result != survey.Blocked
}

// fails reports whether a server fails for the records that show whether it serves the zone. One that refuses does
// not.
func fails(ad *survey.Address) bool {
	return ad.SOA().Rcode() == dns.RcodeServerFailure && ad.Asked(survey.ProbeNS) && !ad.Replies[survey.ProbeNS].Settled()
}

// Unanswered implements [rule.Unanswerer]. Of the servers of the parent zone, and of those of the zone, each is
// asked: what one of them did not say may be what the others do not know.
func (e *evidence) Unanswered() []rule.Source {
	var open []rule.Source
	note := func(s rule.Source, unknown bool) {
		if unknown {
			open = append(open, s)
		}
	}
	unasked := func(r survey.Reply) bool { return !r.Settled() }
	note(isZone, !e.cut.known && !served(e))
	note(parents, !e.cut.known)
	note(parentDS, !e.cut.dsKnown)
	for _, v := range e.Parent.Views {
		note(parents, unasked(v.NS))
		note(parentDS, unasked(v.DS))
	}
	note(parentSecurity, e.Parent.DS.Err() != nil)
	note(hosts, slices.ContainsFunc(e.Servers, func(s *survey.Server) bool { return e.lookupFailed(s.Name) }))
	note(servers, e.Exhausted || e.Surplus > 0 || slices.ContainsFunc(e.Addresses, silent))
	note(aliases, slices.ContainsFunc(e.Chains, func(c survey.Chain) bool {
		return c.Err != nil && !errors.Is(c.Err, survey.ErrLong)
	}))
	note(mailHosts, slices.ContainsFunc(e.mailServers(), e.lookupFailed))
	note(serviceHosts, e.servicesUnknown())
	note(primary, hasSOA(e) && e.lookupFailed(dns.CanonicalName(e.soa().Ns)))
	for _, ad := range e.Addresses {
		note(origins, ad.Deep && ad.Origin.Err != nil)
	}
	for _, replies := range e.Content {
		for _, r := range replies {
			note(content, served(e) && unasked(r))
		}
	}
	for _, r := range e.Within {
		note(within, unasked(r))
	}
	note(recordsSOA, slices.ContainsFunc(e.serving, func(ad *survey.Address) bool { return unasked(ad.SOA()) }))
	for _, p := range probes {
		note(p.source, slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool {
			return silent(ad) || fails(ad) || ad.Deep && slices.Contains(e.serving, ad) && !p.told(ad, ad.Replies[p.probe])
		}))
	}
	return open
}

// lookedUp reports whether a host was looked up, and an answer came.
func (e *evidence) lookedUp(host string) bool {
	a, ok := e.Hosts[host]
	return ok && a.Err() == nil
}

// lookupFailed reports whether a host was looked up in vain.
func (e *evidence) lookupFailed(host string) bool {
	a, ok := e.Hosts[host]
	return ok && (a.V4.Err() != nil || a.V6.Err() != nil)
}

// transferAnswered reports whether a server answered the request for a transfer, or hung up on it.
func transferAnswered(ad *survey.Address) bool {
	r := ad.Replies[survey.ProbeTransfer]
	return r.OK() || r.Result == survey.Reset
}

// answers are the results of a survey, with conclusions for all subjects.
type answers struct {
	*survey.Survey
	cut      zoneCut           // the delegation, as the parent zone has it
	responds map[bool]bool     // by whether it is IPv6: any server answered over UDP
	serving  []*survey.Address // those that are authoritative
	own      []string          // the servers that the zone names, of all answers
	ownTTL   *uint32           // of these NS records; nil without any
	cells    []cell            // what each server answered for each type
}

func newAnswers(s *survey.Survey) *answers {
	a := &answers{Survey: s, cut: cutOf(s.Parent, s.Zone), responds: map[bool]bool{}}
	for _, v := range s.Parent.Views {
		a.note(v.IP, v.NS, v.DS)
	}
	for _, ad := range s.Addresses {
		a.note(ad.IP, ad.Replies[:]...)
		if ad.Standing(s.Zone) == survey.Authoritative {
			a.serving = append(a.serving, ad)
		}
	}
	own := map[string]bool{}
	for _, ad := range a.serving {
		for _, rr := range a.records(ad, survey.ProbeNS, dns.TypeNS) {
			own[dns.CanonicalName(rr.(*dns.NS).Ns)] = true
			a.ownTTL = &rr.Header().Ttl
		}
	}
	a.own = slices.Sorted(maps.Keys(own))
	a.cells = a.matrix()
	return a
}

// note takes note of the version of IP that works from here.
func (a *answers) note(ip netip.Addr, replies ...survey.Reply) {
	for _, r := range replies {
		if r.OK() && !r.TCP {
			a.responds[ip.Is6()] = true
		}
	}
}

// records returns what an address answered to a probe: the records of a type at the apex. They are nil
// if it did not say.
func (a *answers) records(ad *survey.Address, p survey.Probe, qtype uint16) []dns.RR {
	r := ad.Replies[p]
	if r.Rcode() != dns.RcodeSuccess {
		return nil
	}
	return survey.RRSet(r.Msg.Answer, a.Zone, qtype)
}

// at returns the reply of one of the servers: if each was queried, the first that has records.
func (a *answers) at(name string, qtype uint16) (reply survey.Reply) {
	p, each := probeOf[qtype]
	if _, asked := a.Content[name][qtype]; asked || !each || name != a.Zone {
		return a.Content[name][qtype]
	}
	for _, ad := range a.serving {
		r := ad.Replies[p]
		if r.By = ad; r.Rcode() == dns.RcodeSuccess && len(r.Msg.Answer) > 0 {
			return r
		}
		if !reply.OK() || r.Rcode() == dns.RcodeSuccess && reply.Rcode() != dns.RcodeSuccess {
			reply = r
		}
	}
	return reply
}

func (a *answers) hostsOn(ip netip.Addr) []string {
	return view.Each(a.Servers, func(s *survey.Server) string {
		return view.TextIf(slices.Contains(s.IPs, ip), survey.BareName(s.Name))
	})
}

func (a *answers) target(ad *survey.Address) string {
	return strings.Join(append(a.hostsOn(ad.IP), ad.IP.String()), " ")
}

func (a *answers) place(ad *survey.Address) string {
	hosts := a.hostsOn(ad.IP)
	if len(hosts) == 0 {
		return ad.IP.String()
	}
	return strings.Join(hosts, " and ") + " (" + ad.IP.String() + ")"
}

func (a *answers) parentName() string {
	switch a.Parent.Zone {
	case "":
		return "the parent zone"
	case ".":
		return "the root zone"
	default:
		return "the parent zone " + survey.BareName(a.Parent.Zone)
	}
}

func (a *answers) soas() map[*survey.Address]*dns.SOA {
	list := map[*survey.Address]*dns.SOA{}
	for _, ad := range a.serving {
		if records := survey.Set[*dns.SOA](ad.SOA().Msg.Answer, a.Zone); len(records) > 0 {
			list[ad] = records[0]
		}
	}
	return list
}

func (a *answers) soa() *dns.SOA {
	var best *dns.SOA
	soas := a.soas()
	for _, ad := range a.serving {
		// RFC 1982 section 3.2: numbers run in a circle.
		if s := soas[ad]; s != nil && (best == nil || int32(s.Serial-best.Serial) > 0) {
			best = s
		}
	}
	return best
}

// hasSerial reports whether a server has a version of the zone.
func (a *answers) hasSerial(serial uint32) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(a.soas())), func(s *dns.SOA) bool { return s.Serial == serial })
}

// mx returns the MX records of the first server that answered for them; nil if none did.
func (a *answers) mx() []*dns.MX {
	for _, ad := range a.serving {
		if r := ad.Replies[survey.ProbeMX]; r.Rcode() == dns.RcodeSuccess {
			return append([]*dns.MX{}, survey.Set[*dns.MX](r.Msg.Answer, a.Zone)...)
		}
	}
	return nil
}

func (a *answers) mailServers() []string {
	var list []string
	for _, ad := range a.serving {
		if r := ad.Replies[survey.ProbeMX]; r.Rcode() == dns.RcodeSuccess {
			list = append(list, survey.MailServers(r, a.Zone)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (a *answers) keys() []*dns.DNSKEY {
	var keys []*dns.DNSKEY
	seen := map[string]bool{}
	for _, ad := range a.serving {
		for _, rr := range a.records(ad, survey.ProbeKeys, dns.TypeDNSKEY) {
			if text := contentOf(rr); !seen[text] && len(keys) < survey.MaxServers {
				seen[text] = true
				keys = append(keys, rr.(*dns.DNSKEY))
			}
		}
	}
	return keys
}

// childDS returns the CDS and CDNSKEY records, with which the zone asks for other DS records (RFC 7344).
func (a *answers) childDS() (cds []*dns.DS, cdnskey []*dns.DNSKEY) {
	if r := a.at(a.Zone, dns.TypeCDS); r.OK() {
		cds = kit.Map(survey.Set[*dns.CDS](r.Msg.Answer, a.Zone), func(rr *dns.CDS) *dns.DS { return &rr.DS })
	}
	if r := a.at(a.Zone, dns.TypeCDNSKEY); r.OK() {
		records := survey.Set[*dns.CDNSKEY](r.Msg.Answer, a.Zone)
		cdnskey = kit.Map(records, func(rr *dns.CDNSKEY) *dns.DNSKEY { return &rr.DNSKEY })
	}
	return cds[:min(len(cds), maxDS)], cdnskey[:min(len(cdnskey), maxDS)]
}
