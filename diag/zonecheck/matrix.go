package zonecheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// The outcomes of a query other than a response code, which goes by its name.
const (
	noData    = "NODATA" // NOERROR without a record of the type (RFC 2308 section 2.2)
	silence   = "silent"
	cutOff    = "truncated" // and TCP did not bring the rest
	malformed = "malformed"
)

// apexTypes are the types for which each server is asked, in the order in which they are named. The servers of the
// parent zone are those that know DS.
var apexTypes = []uint16{dns.TypeSOA, dns.TypeNS, dns.TypeA, dns.TypeAAAA, dns.TypeMX, dns.TypeTXT, dns.TypeCAA,
	dns.TypeHTTPS, dns.TypeDNSKEY, dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeDS}

// probeOf maps a type at the apex to its probe; SOA and DS are not included.
var probeOf = func() map[uint16]survey.Probe {
	list := map[uint16]survey.Probe{}
	for p, qtype := range survey.ApexTypes {
		list[qtype] = p
	}
	return list
}()

// A cell is the answer of one server for one type at the apex.
type cell struct {
	qtype  uint16
	server string // its names
	ip     netip.Addr
	ad     *survey.Address // nil of a server of the parent zone
	counts bool            // the server is one of those that should know
	answer string
	reply  survey.Reply
}

// answerTo returns the outcome of the query for a type in a word; empty if it was not sent from here.
func (a *answers) answerTo(r survey.Reply, qtype uint16) string {
	switch r.Result {
	case survey.NotAsked, survey.Unroutable, survey.Blocked:
		return ""
	case survey.Answered:
	case survey.Truncated:
		return cutOff
	case survey.Malformed:
		return malformed
	default:
		return silence
	}
	aliased := len(survey.Set[*dns.CNAME](r.Msg.Answer, a.Zone)) > 0
	switch {
	case r.Rcode() == dns.RcodeNameError && aliased: // what does not exist is its target (RFC 6604 section 2)
		return dnsmsg.RcodeName(dns.RcodeSuccess)
	case r.Rcode() == dns.RcodeSuccess && !aliased && len(survey.RRSet(r.Msg.Answer, a.Zone, qtype)) == 0:
		return noData
	default:
		return dnsmsg.RcodeName(r.Rcode())
	}
}

// matrix lists what each server answered for each type, by type.
func (a *answers) matrix() (list []cell) {
	add := func(c cell) {
		if c.answer = a.answerTo(c.reply, c.qtype); c.answer != "" {
			list = append(list, c)
		}
	}
	for _, qtype := range apexTypes {
		for _, ad := range a.Addresses {
			c := cell{qtype: qtype, server: strings.Join(a.hostsOn(ad.IP), " "), ip: ad.IP, ad: ad,
				counts: slices.Contains(a.serving, ad)}
			if p, ok := probeOf[qtype]; ok {
				c.reply = ad.Replies[p]
				add(c)
			} else if qtype == dns.TypeSOA {
				c.reply = ad.SOA()
				add(c)
			}
		}
	}
	for _, v := range a.Parent.Views {
		if v.IP.IsValid() { // and not supposed
			add(cell{qtype: dns.TypeDS, server: survey.BareName(v.Host), ip: v.IP, reply: v.DS,
				counts: v.NS.Rcode() == dns.RcodeSuccess})
		}
	}
	return list
}

func (c cell) place() string {
	return fmt.Sprintf("%s (%s)", strings.ReplaceAll(c.server, " ", " and "), c.ip)
}

// of lists the cells of a type at the servers that should know it.
func (a *answers) of(qtype uint16) []cell {
	return slices.DeleteFunc(slices.Clone(a.cells), func(c cell) bool { return c.qtype != qtype || !c.counts })
}

// answered reports whether a server gave an answer, positive or negative.
func (c cell) answered() bool {
	return c.answer == noData || c.answer == dnsmsg.RcodeName(dns.RcodeSuccess)
}

// lost reports whether no server answers for a type.
func (a *answers) lost(qtype uint16) bool { return !slices.ContainsFunc(a.of(qtype), cell.answered) }

// undecided reports whether all servers are silent about a type, and none across the zone cut answered: the queries may
// be lost near us.
func (a *answers) undecided(qtype uint16) bool {
	across, asked := a.Across[qtype]
	return asked && !across.OK()
}

// A lapse is one thing that is wrong with the answers of a set of servers, with the types that it concerns.
type lapse struct {
	cells []cell // of the first type: the servers
	types []uint16
}

// lapses puts cells together, by their servers.
func lapses(cells []cell) (list []lapse) {
	for _, qtype := range apexTypes {
		var at []cell
		for _, c := range cells {
			if c.qtype == qtype {
				at = append(at, c)
			}
		}
		same := func(l lapse) bool {
			return slices.EqualFunc(l.cells, at, func(a, b cell) bool { return a.ip == b.ip && a.ad == b.ad })
		}
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].types = append(list[i].types, qtype)
		} else if len(at) > 0 {
			list = append(list, lapse{at, []uint16{qtype}})
		}
	}
	return list
}

// every reports whether no other server should know a type.
func (e *evidence) every(l lapse) bool { return len(l.cells) == len(e.of(l.types[0])) }

// who names the servers, those affected at all their addresses by name alone.
func (e *evidence) who(l lapse) (names []string) {
	others := func(server string) bool {
		return slices.ContainsFunc(e.of(l.types[0]), func(c cell) bool {
			return c.server == server && !slices.ContainsFunc(l.cells, func(m cell) bool { return m.ip == c.ip })
		})
	}
	for _, c := range l.cells {
		name := c.place()
		if len(l.cells) > 1 && !others(c.server) {
			name = strings.ReplaceAll(c.server, " ", " and ")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// concerned names the types and, unless all of them are meant, the servers.
func (e *evidence) concerned(l lapse) string {
	words := l.names()
	if !e.every(l) {
		for _, c := range l.cells {
			words = append(words, c.server, c.ip.String())
		}
	}
	return strings.Join(words, " ")
}

func (l lapse) names() []string {
	return kit.Map(l.types, func(t uint16) string { return dns.Type(t).String() })
}
