package dnssec

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

// A replay is a recursive resolver that does not validate, in front of scripted servers. It forgets
// nothing.
type replay struct {
	*scenario
	step int

	mu    sync.Mutex
	known map[dns.Question]*entry
}

func (r *replay) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	question := q.Question[0]
	reply := new(dns.Msg).SetReply(q)
	reply.CheckingDisabled = true
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.known[question]
	if e == nil {
		e = r.find(question.Name, question.Qtype)
	}
	if r.known == nil {
		r.known = map[dns.Question]*entry{}
	}
	r.known[question] = e
	if e == nil {
		reply.Rcode = dns.RcodeServerFailure
		return reply, nil
	}
	reply.Rcode = dns.StringToRcode[e.Rcode]
	reply.Answer, reply.Ns, reply.Extra = rrs(e.Answer), rrs(e.Authority), rrs(e.Additional)
	return reply, nil
}

func rrs(lines []string) []dns.RR {
	var list []dns.RR
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			panic(line + ": " + err.Error())
		}
		list = append(list, rr)
	}
	return list
}

// find returns the reply to a question: that of the servers of the deepest zone known, which for DS
// records lies above the name. A delegation has its DS records.
func (r *replay) find(qname string, qtype uint16) *entry {
	zone, addrs := r.servers(qname, qtype)
	for range 8 {
		e := r.ask(addrs, qname, qtype)
		if qtype == dns.TypeDS && (e == nil || e.cut() == dns.CanonicalName(qname)) {
			return r.delegation(qname)
		}
		if e == nil || !e.refers(zone, qname) {
			return e
		}
		zone, addrs = r.glue(e)
	}
	return nil
}

// ask returns the reply of the first server that has one.
func (r *replay) ask(addrs []string, qname string, qtype uint16) *entry {
	for _, addr := range addrs {
		for _, server := range r.Servers {
			if !slices.Contains(server.Addrs, addr) || r.step < server.Range[0] || r.step > server.Range[1] {
				continue
			}
			for i := range server.Entries {
				if server.Entries[i].matches(qname, qtype) {
					return &server.Entries[i]
				}
			}
		}
	}
	return nil
}

func (e *entry) matches(qname string, qtype uint16) bool {
	for _, what := range e.Match {
		if what == "qtype" && dns.StringToType[e.Qtype] != qtype ||
			what == "qname" && dns.CanonicalName(e.Qname) != dns.CanonicalName(qname) ||
			what == "subdomain" && !dns.IsSubDomain(e.Qname, qname) {
			return false
		}
	}
	return true
}

// cut returns the zone that a reply refers to, or nothing.
func (e *entry) cut() string {
	if len(e.Answer) > 0 || e.Rcode != "NOERROR" {
		return ""
	}
	zone := ""
	for _, rr := range rrs(e.Authority) {
		switch rr.Header().Rrtype {
		case dns.TypeSOA:
			return ""
		case dns.TypeNS:
			zone = dns.CanonicalName(rr.Header().Name)
		}
	}
	return zone
}

func (e *entry) refers(from, qname string) bool {
	cut := e.cut()
	return cut != "" && cut != from && dns.IsSubDomain(from, cut) && dns.IsSubDomain(cut, qname)
}

// servers returns the deepest zone to which any reply refers, and its servers.
func (r *replay) servers(qname string, qtype uint16) (string, []string) {
	zone := ""
	var addrs []string
	take := func(cut string, found []string) {
		if dns.IsSubDomain(cut, qname) && len(found) > 0 && (qtype != dns.TypeDS || cut != dns.CanonicalName(qname)) &&
			(zone == "" || dns.CountLabel(cut) > dns.CountLabel(zone)) {
			zone, addrs = cut, found
		}
	}
	for i, addr := range slices.Concat(r.Options["stub-addr"], r.Options["forward-addr"]) {
		addr, _, _ = strings.Cut(addr, " ")
		take(dns.CanonicalName(r.Options["name"][min(i, len(r.Options["name"])-1)]), []string{addr})
	}
	for _, server := range r.Servers {
		for i := range server.Entries {
			if cut := server.Entries[i].cut(); cut != "" {
				take(r.glue(&server.Entries[i]))
			}
		}
	}
	return zone, addrs
}

// glue returns the addresses of the servers that a reply refers to.
func (r *replay) glue(referral *entry) (string, []string) {
	var addrs []string
	for _, rr := range rrs(referral.Authority) {
		ns, ok := rr.(*dns.NS)
		if !ok {
			continue
		}
		for _, server := range r.Servers {
			for _, e := range server.Entries {
				for _, rr := range rrs(slices.Concat(e.Additional, e.Answer)) {
					if a, ok := rr.(*dns.A); ok && dns.CanonicalName(a.Hdr.Name) == dns.CanonicalName(ns.Ns) {
						addrs = append(addrs, a.A.String())
					}
				}
			}
		}
	}
	return referral.cut(), addrs
}

// delegation answers the question for DS records from what the parent zone says in other replies: the
// referral to the zone, or a record about its name.
func (r *replay) delegation(qname string) *entry {
	for _, server := range r.Servers {
		for _, e := range server.Entries {
			if !e.delegates(dns.CanonicalName(qname)) {
				continue
			}
			answer := entry{Rcode: "NOERROR"}
			for i, rr := range rrs(e.Authority) {
				covered := rr.Header().Rrtype
				if sig, ok := rr.(*dns.RRSIG); ok {
					covered = sig.TypeCovered
				}
				switch covered {
				case dns.TypeDS:
					answer.Answer = append(answer.Answer, e.Authority[i])
				case dns.TypeNSEC, dns.TypeNSEC3:
					answer.Authority = append(answer.Authority, e.Authority[i])
				}
			}
			return &answer
		}
	}
	return nil
}

// delegates reports whether a reply has the delegation to a zone.
func (e *entry) delegates(zone string) bool {
	if e.cut() == zone {
		return true
	}
	for _, rr := range rrs(e.Authority) {
		switch r := rr.(type) {
		case *dns.NSEC:
			if dns.CanonicalName(r.Hdr.Name) == zone && types(r.TypeBitMap).delegates() {
				return true
			}
		case *dns.NSEC3:
			if r.Match(zone) && types(r.TypeBitMap).delegates() {
				return true
			}
		}
	}
	return false
}
