package nameserver

import (
	"github.com/miekg/dns"
)

const (
	// maxDatagram is what the server sends and takes by UDP: the largest that arrives in one piece on
	// nearly every path (RFC 9715 section 3.1 sets out why fragments are to be avoided).
	maxDatagram = 1232
	// minDatagram is what every client takes (RFC 1035 section 4.2.1).
	minDatagram = dns.MinMsgSize
)

// Types that are no types of data: RFC 6895 section 3.1.
const (
	firstMeta = 128
	lastMeta  = 255
)

// answer answers a question. It never fails: what is wrong with a question is said by the code of the
// reply. A reply to a datagram fits into what the client takes.
func (s *snapshot) answer(q *dns.Msg, datagram bool) *dns.Msg {
	m := reply(q)
	extra, limit := negotiate(q, datagram)
	if m.Rcode = fault(q); m.Rcode == dns.RcodeSuccess {
		s.look(m, q.Question[0])
	}
	if s.signer != nil && m.Authoritative {
		if extra != nil && options(q)[0].Co() {
			extra.SetCo() // RFC 9824 section 5.1
		}
		s.prove(m, q.Question[0], extra)
	}
	if extra != nil {
		m.Extra = append(m.Extra, extra)
	}
	if !fits(m, limit) { // the addresses of name servers may be left out without a word: RFC 2181 section 9
		m.Extra = optional(extra)
		if !fits(m, limit) {
			truncate(m, extra)
		}
	}
	return m
}

// fits reports whether a reply is as short as it must be. Most are so without compression, which costs more than all
// else about an answer.
func fits(m *dns.Msg, limit int) bool {
	m.Compress = false
	plain := m.Len()
	m.Compress = true
	return plain <= limit || m.Len() <= limit
}

func optional(opt *dns.OPT) []dns.RR {
	if opt == nil {
		return nil
	}
	return []dns.RR{opt}
}

// reply is an empty reply to a question. Recursion is not available, and whether signatures are to be
// checked does not concern a server that checks none (RFC 4035 section 3.1.6): those bits are clear.
func reply(q *dns.Msg) *dns.Msg {
	m := new(dns.Msg)
	m.Id, m.Opcode, m.Response, m.Compress = q.Id, q.Opcode, true, true
	if q.Opcode == dns.OpcodeQuery {
		m.RecursionDesired = q.RecursionDesired // RFC 1035 section 4.1.1
	}
	if len(q.Question) == 1 {
		m.Question = q.Question
	}
	return m
}

// truncate empties a reply that does not fit. A part of the records would be of no use to anybody (RFC 2181 section 9).
func truncate(m *dns.Msg, opt *dns.OPT) {
	m.Truncated = true
	m.Answer, m.Ns, m.Extra = nil, nil, optional(opt) // RFC 6891 section 7
}

// fault is the code for a message that is no question of ours to answer, whatever the name.
func fault(q *dns.Msg) int {
	switch {
	case q.Opcode != dns.OpcodeQuery:
		return dns.RcodeNotImplemented
	case len(q.Question) != 1 || malformed(q): // RFC 9619 section 4
		return dns.RcodeFormatError
	}
	return faultyOPT(q)
}

func (s *snapshot) look(m *dns.Msg, q dns.Question) {
	name := dns.CanonicalName(q.Name) // RFC 4343 section 3
	switch {
	case q.Qclass != dns.ClassINET || !dns.IsSubDomain(s.apex, name):
		m.Rcode = dns.RcodeRefused
		return
	case q.Qtype == dns.TypeAXFR || q.Qtype == dns.TypeIXFR:
		m.Rcode = dns.RcodeRefused // RFC 5936 section 5: transfers are for secondaries
		return
	case q.Qtype == dns.TypeNXNAME && s.signer != nil:
		m.Rcode = dns.RcodeFormatError // RFC 9824 section 3.5
		return
	case q.Qtype == dns.TypeOPT || q.Qtype >= firstMeta && q.Qtype <= lastMeta && q.Qtype != dns.TypeANY:
		m.Rcode = dns.RcodeNotImplemented
		return
	}
	m.Authoritative = true
	n, exists := s.nodes[name]
	if !exists && s.member(m, q, name) {
		return
	}
	if !exists {
		m.Rcode = dns.RcodeNameError
		m.Ns = []dns.RR{s.negative} // RFC 2308 section 2.1
		return
	}
	if q.Qtype == dns.TypeANY && len(n) > 0 {
		m.Answer = []dns.RR{anything(q.Name)}
		return
	}
	rrs := n[q.Qtype]
	if len(rrs) == 0 {
		m.Ns = []dns.RR{s.negative} // RFC 2308 section 2.2
		return
	}
	m.Answer = named(rrs, q.Name)
	if q.Qtype == dns.TypeNS {
		m.Extra = s.addresses(rrs)
	}
}

// anything is the answer to a question for all types: a record that says why there are no others
// (RFC 8482 section 4.2).
func anything(name string) dns.RR {
	return &dns.HINFO{Hdr: header(name, dns.TypeHINFO, seconds(zoneTTL)), Cpu: "RFC8482"}
}

// named copies records with the name as it was asked for: its letter case may be a client's protection
// against forgery, and an equal name costs two octets.
func named(rrs []dns.RR, name string) []dns.RR {
	if rrs[0].Header().Name == name {
		return rrs
	}
	list := make([]dns.RR, len(rrs))
	for i, rr := range rrs {
		list[i] = dns.Copy(rr)
		list[i].Header().Name = name
	}
	return list
}

// addresses are those of name servers, as far as they are in the zone (RFC 1034 section 4.3.2).
func (s *snapshot) addresses(servers []dns.RR) (list []dns.RR) {
	for _, rr := range servers {
		n := s.nodes[dns.CanonicalName(rr.(*dns.NS).Ns)]
		list = append(append(list, n[dns.TypeA]...), n[dns.TypeAAAA]...)
	}
	return list
}
