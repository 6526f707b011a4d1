package nameserver

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxDatagram bounds messages sent and accepted over UDP: the largest size that arrives unfragmented on nearly
	// every path (RFC 9715 section 3.1 explains why to avoid fragments).
	maxDatagram = 1232
	// minDatagram is the size that every client accepts (RFC 1035 section 4.2.1).
	minDatagram = dns.MinMsgSize
)

// Types that are no types of data: RFC 6895 section 3.1.
const (
	firstMeta = 128
	lastMeta  = 255
)

// answer answers a question. It never fails: a fault of the question is reported in the code of the reply. A reply to
// a datagram fits the size that the client accepts.
func (s *snapshot) answer(q *dns.Msg, datagram bool) *dns.Msg {
	m := reply(q)
	extra, limit := negotiate(q, datagram)
	if m.Rcode = fault(q); m.Rcode == dns.RcodeSuccess && !asksForCookie(q) {
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

// reply returns an empty reply to a question. Recursion is not available, and whether signatures should be checked
// does not concern a server that checks none (RFC 4035 section 3.1.6): those bits are clear.
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

// truncate empties a reply that does not fit. A part of the records would be useless (RFC 2181 section 9).
func truncate(m *dns.Msg, opt *dns.OPT) {
	m.Truncated = true
	m.Answer, m.Ns, m.Extra = nil, nil, optional(opt) // RFC 6891 section 7
}

// fault is the code for a message that is no question of ours to answer, whatever the name.
func fault(q *dns.Msg) int {
	switch {
	case q.Opcode != dns.OpcodeQuery:
		return dns.RcodeNotImplemented
	case len(q.Question) != 1 && !asksForCookie(q) || malformed(q): // RFC 9619 section 4
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
		// A record that explains the absence of others: RFC 8482 section 4.2.
		m.Answer = []dns.RR{&dns.HINFO{Hdr: header(q.Name, dns.TypeHINFO, seconds(zoneTTL)), Cpu: "RFC8482"}}
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

// named copies records with the name as queried: its letter case may be a client's protection against forgery, and an
// equal name costs two octets.
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

// The form of DNS cookies (RFC 7873 section 4, RFC 9018 section 4). Their hash is HMAC-SHA256, cut off, where RFC
// 9018 has SipHash: only the server that made a cookie needs to verify it. A cookie of another server is invalid
// here, and the client gets a new one immediately.
const (
	clientCookie = 8 // octets
	serverCookie = 16
	minServer    = 8 // of other servers
	maxServer    = 32
	cookieLife   = time.Hour        // RFC 9018 section 4.3
	cookieRenew  = 30 * time.Minute // after that a client gets a new one
	cookieAhead  = 5 * time.Minute
)

// A jar makes cookies. Who sends one back has received it, so its address is not forged.
type jar struct{ secret [32]byte }

func newJar() *jar {
	j := new(jar)
	rand.Read(j.secret[:]) // it never fails
	return j
}

func cookieOf(q *dns.Msg) []byte {
	for _, opt := range options(q) {
		for _, o := range opt.Option {
			if cookie, ok := o.(*dns.EDNS0_COOKIE); ok {
				raw, _ := hex.DecodeString(cookie.Cookie) // as it was unpacked
				return raw
			}
		}
	}
	return nil
}

// asksForCookie reports whether a message has no question and only requests or verifies a cookie (RFC 7873 section
// 5.4).
func asksForCookie(q *dns.Msg) bool { return len(q.Question) == 0 && cookieOf(q) != nil }

// check reads the cookie of a question. It returns the cookie for the answer, nil if the client sent none, and
// whether this server recently made it for the address.
func (j *jar) check(q *dns.Msg, from netip.Addr, now time.Time) (reply *dns.EDNS0_COOKIE, known bool) {
	raw := cookieOf(q)
	if len(raw) < clientCookie {
		return nil, false
	}
	client, server := raw[:clientCookie], raw[clientCookie:]
	fresh := j.bake(client, uint32(now.Unix()), from)
	if len(server) == serverCookie {
		stamp := binary.BigEndian.Uint32(server[4:])
		age := time.Duration(int32(uint32(now.Unix())-stamp)) * time.Second // RFC 1982
		known = -cookieAhead <= age && age <= cookieLife && hmac.Equal(server, j.bake(client, stamp, from))
		if known && age < cookieRenew {
			fresh = server
		}
	}
	return &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: hex.EncodeToString(client) + hex.EncodeToString(fresh)}, known
}

func (j *jar) bake(client []byte, stamp uint32, from netip.Addr) []byte {
	half := make([]byte, serverCookie-8, serverCookie+sha256.Size)
	half[0] = 1
	binary.BigEndian.PutUint32(half[4:], stamp)
	mac := hmac.New(sha256.New, j.secret[:])
	mac.Write(client)
	mac.Write(half)
	mac.Write(from.Unmap().AsSlice())
	return mac.Sum(half)[:serverCookie]
}

// keepalive is how long an idle connection stays open, in the units of RFC 7828 section 3.1.
const keepalive = uint16(idleTimeout / (100 * 1e6))

func options(q *dns.Msg) (list []*dns.OPT) {
	for _, rr := range q.Extra {
		if opt, ok := rr.(*dns.OPT); ok {
			list = append(list, opt)
		}
	}
	return list
}

func faultyOPT(q *dns.Msg) int {
	list, cookie := options(q), cookieOf(q)
	switch n := len(cookie); {
	case len(list) == 0:
		return dns.RcodeSuccess
	case len(list) > 1 || list[0].Hdr.Name != ".": // RFC 6891 sections 6.1.1, 6.1.2
		return dns.RcodeFormatError
	case list[0].Version() > 0: // RFC 6891 section 6.1.3
		return dns.RcodeBadVers
	case cookie != nil && n != clientCookie && (n < clientCookie+minServer || n > clientCookie+maxServer):
		return dns.RcodeFormatError // RFC 7873 section 5.2.2
	}
	return dns.RcodeSuccess
}

// negotiate returns the OPT record of the reply, if the client sent one (RFC 6891 section 7), and how
// long the reply may be.
func negotiate(q *dns.Msg, datagram bool) (*dns.OPT, int) {
	limit := dns.MaxMsgSize
	if datagram {
		limit = minDatagram
	}
	list := options(q)
	if len(list) == 0 {
		return nil, limit
	}
	theirs := list[0]
	opt := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
	opt.SetUDPSize(maxDatagram)
	if theirs.Do() {
		opt.SetDo() // RFC 3225 section 3
	}
	if datagram {
		return opt, min(max(int(theirs.UDPSize()), minDatagram), maxDatagram) // RFC 6891 section 6.2.3
	}
	for _, o := range theirs.Option {
		if o.Option() == dns.EDNS0TCPKEEPALIVE { // RFC 7828 section 3.3.2
			opt.Option = append(opt.Option, &dns.EDNS0_TCP_KEEPALIVE{Code: dns.EDNS0TCPKEEPALIVE, Timeout: keepalive})
			break
		}
	}
	return opt, limit
}
