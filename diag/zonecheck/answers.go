package zonecheck

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// answers are what a survey brought, with what follows from it for all subjects.
type answers struct {
	*survey.Survey
	cut      zoneCut           // the delegation, as the parent zone has it
	responds map[bool]bool     // by whether it is IPv6: any server answered over UDP
	serving  []*survey.Address // those that are authoritative
	own      []string          // the servers that the zone names, of all answers
	ownTTL   *uint32           // of these NS records; nil if there are none
}

func newAnswers(s *survey.Survey) *answers {
	a := &answers{Survey: s, cut: cutOf(s.Parent, s.Zone), responds: map[bool]bool{}}
	for _, v := range s.Parent.Views {
		a.note(v.IP, v.NS, v.DS)
	}
	for _, ad := range s.Addresses {
		a.note(ad.IP, ad.Replies[:]...)
		if ad.SOA().Standing(s.Zone) == survey.Authoritative {
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

func (a *answers) at(name string, qtype uint16) survey.Reply { return a.Content[name][qtype] }

func (a *answers) hostsOn(ip netip.Addr) []string {
	var list []string
	for _, s := range a.Servers {
		if slices.Contains(s.IPs, ip) {
			list = append(list, survey.BareName(s.Name))
		}
	}
	return list
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
	for _, soa := range a.soas() {
		if soa.Serial == serial {
			return true
		}
	}
	return false
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
		for _, rr := range survey.Set[*dns.CDS](r.Msg.Answer, a.Zone) {
			cds = append(cds, &rr.DS)
		}
	}
	if r := a.at(a.Zone, dns.TypeCDNSKEY); r.OK() {
		for _, rr := range survey.Set[*dns.CDNSKEY](r.Msg.Answer, a.Zone) {
			cdnskey = append(cdnskey, &rr.DNSKEY)
		}
	}
	return cds[:min(len(cds), maxDS)], cdnskey[:min(len(cdnskey), maxDS)]
}
