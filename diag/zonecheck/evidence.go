package zonecheck

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// Evidence is what the rules look at: what was answered, and what follows from it for each subject.
type evidence struct {
	*survey.Survey
	cut      zoneCut           // the delegation, as the parent zone has it
	responds map[bool]bool     // by whether it is IPv6: any server answered over UDP
	serving  []*survey.Address // those that are authoritative
	own      []string          // the servers that the zone names, of all answers
	ownTTL   *uint32           // of these NS records; nil if there are none
	sec      security
}

// newEvidence draws what follows from the answers. It touches nothing.
func newEvidence(s *survey.Survey) *evidence {
	e := &evidence{Survey: s, cut: cutOf(s.Parent, s.Zone), responds: map[bool]bool{}}
	for _, v := range s.Parent.Views {
		e.note(v.IP, v.NS, v.DS)
	}
	for _, ad := range s.Addresses {
		e.note(ad.IP, ad.Replies[:]...)
		if ad.SOA().Standing(s.Zone) == survey.Authoritative {
			e.serving = append(e.serving, ad)
		}
	}
	own := map[string]bool{}
	for _, ad := range e.serving {
		for _, rr := range e.records(ad, survey.ProbeNS, dns.TypeNS) {
			own[dns.CanonicalName(rr.(*dns.NS).Ns)] = true
			e.ownTTL = &rr.Header().Ttl
		}
	}
	e.own = slices.Sorted(maps.Keys(own))
	e.sec = e.secure()
	return e
}

// note takes note of the version of IP that works from here.
func (e *evidence) note(ip netip.Addr, replies ...survey.Reply) {
	for _, r := range replies {
		if r.OK() && !r.TCP {
			e.responds[ip.Is6()] = true
		}
	}
}

// records returns what an address answered to a probe: the records of a type at the apex. They are nil
// if it did not say.
func (e *evidence) records(ad *survey.Address, p survey.Probe, qtype uint16) []dns.RR {
	r := ad.Replies[p]
	if r.Rcode() != dns.RcodeSuccess {
		return nil
	}
	return survey.RRSet(r.Msg.Answer, e.Zone, qtype)
}

// at returns the reply about contents of the zone.
func (e *evidence) at(name string, qtype uint16) survey.Reply { return e.Content[name][qtype] }

// hostsOn lists the names of the servers at an address.
func (e *evidence) hostsOn(ip netip.Addr) []string {
	var list []string
	for _, s := range e.Servers {
		if slices.Contains(s.IPs, ip) {
			list = append(list, survey.BareName(s.Name))
		}
	}
	return list
}

// target names an address in findings.
func (e *evidence) target(ad *survey.Address) string {
	return strings.Join(append(e.hostsOn(ad.IP), ad.IP.String()), " ")
}

// place names an address in sentences.
func (e *evidence) place(ad *survey.Address) string {
	hosts := e.hostsOn(ad.IP)
	if len(hosts) == 0 {
		return ad.IP.String()
	}
	return strings.Join(hosts, " and ") + " (" + ad.IP.String() + ")"
}

// parentName names the parent zone in sentences.
func (e *evidence) parentName() string {
	switch e.Parent.Zone {
	case "":
		return "the parent zone"
	case ".":
		return "the root zone"
	default:
		return "the parent zone " + survey.BareName(e.Parent.Zone)
	}
}

// soas returns the SOA record of each server that has one.
func (e *evidence) soas() map[*survey.Address]*dns.SOA {
	list := map[*survey.Address]*dns.SOA{}
	for _, ad := range e.serving {
		if records := survey.Set[*dns.SOA](ad.SOA().Msg.Answer, e.Zone); len(records) > 0 {
			list[ad] = records[0]
		}
	}
	return list
}

// soa returns the SOA record with the highest serial number, or nil.
func (e *evidence) soa() *dns.SOA {
	var best *dns.SOA
	soas := e.soas()
	for _, ad := range e.serving {
		// RFC 1982 section 3.2: numbers run in a circle.
		if s := soas[ad]; s != nil && (best == nil || int32(s.Serial-best.Serial) > 0) {
			best = s
		}
	}
	return best
}

// minus lists what is in the first list and not in the second.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func bareNames(list []string) []string {
	names := []string{}
	for _, n := range list {
		names = append(names, survey.BareName(n))
	}
	return names
}

// hasSerial reports whether a server has a version of the zone.
func (e *evidence) hasSerial(serial uint32) bool {
	for _, soa := range e.soas() {
		if soa.Serial == serial {
			return true
		}
	}
	return false
}
