package resolver

import (
	"bytes"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

const (
	headerLen = 12 // RFC 1035 section 4.1.1
	prefixLen = 2  // length of a message on a stream, RFC 1035 section 4.2.2
	// ednsSize is the UDP payload that avoids fragmentation on the Internet (RFC 9715 section 3).
	ednsSize = 1232
	// maxDatagram is the largest datagram read. RFC 6891 section 6.2.5 suggests no more than 4096;
	// longer ones count as truncated and are queried again over TCP.
	maxDatagram = 4096
	// maxMessage is the largest message there is.
	maxMessage = 65535
)

// Bits of the third and fourth byte of a header, RFC 1035 section 4.1.1.
const (
	bitQR      = 0x80
	maskOpcode = 0x78
	bitTC      = 0x02
	maskRcode  = 0x0f
)

// A query is one question on its way: the message as it goes out, and what a reply must repeat.
// While a query is in flight its wire form does not change.
type query struct {
	msg       *dns.Msg // the caller's, never written to
	frame     []byte   // length, then the message
	wire      []byte   // the message, within frame
	end       int      // where the question ends within wire
	asked     []byte   // the question as the caller spelt it
	hasEDNS   bool     // an OPT record goes out
	addedEDNS bool     // it was not the caller's, so the reply's is not for the caller
	folded    bool     // the letter case in wire is random
	halved    *window  // because the query was not answered, maybe wrongly

	buf      [512]byte
	askedBuf [256 + 4]byte
}

var queries = sync.Pool{New: func() any { return new(query) }}

var errQuestion = errors.New("a query must hold exactly one question")

// newQuery packs a message. It adds an OPT record (RFC 6891) if wanted and missing.
func newQuery(msg *dns.Msg, addEDNS bool) (*query, error) {
	if len(msg.Question) != 1 {
		return nil, errQuestion
	}
	q := queries.Get().(*query)
	if err := q.pack(msg, addEDNS); err != nil {
		q.free()
		return nil, fmt.Errorf("packing the question %.300q: %w", msg.Question[0].Name, err)
	}
	return q, nil
}

// free ends the query. A window that was halved on account of it without proof of a loss gets its size back.
func (q *query) free() {
	if q.halved != nil {
		q.halved.restore()
	}
	q.msg, q.frame, q.wire, q.halved = nil, nil, nil, nil
	queries.Put(q)
}

func (q *query) pack(msg *dns.Msg, addEDNS bool) error {
	q.msg, q.folded = msg, false
	opt := msg.IsEdns0()
	if opt != nil {
		msg = withOPT(msg, dns.Copy(opt)) // packing writes into the OPT record
	}
	packed, err := msg.PackBuffer(q.buf[prefixLen:])
	if err != nil {
		return err
	}
	q.addedEDNS = opt == nil && addEDNS && msg.IsTsig() == nil // TSIG must come last (RFC 8945 section 5.1)
	q.hasEDNS = opt != nil || q.addedEDNS
	if q.addedEDNS {
		count := binary.BigEndian.Uint16(packed[10:])
		binary.BigEndian.PutUint16(packed[10:], count+1)
		packed = append(packed, 0, 0, byte(dns.TypeOPT), ednsSize>>8, ednsSize&0xff, 0, 0, 0, 0, 0, 0)
	}
	if len(packed) > maxMessage {
		return errors.New("the message is too long")
	}
	q.frame = append(q.buf[:prefixLen], packed...)
	binary.BigEndian.PutUint16(q.frame, uint16(len(packed)))
	q.wire = q.frame[prefixLen:]
	q.end = questionEnd(q.wire)
	q.asked = append(q.askedBuf[:0], q.wire[headerLen:q.end]...)
	return nil
}

// withOPT returns a shallow copy of a message with another OPT record, or none if opt is nil.
func withOPT(msg *dns.Msg, opt dns.RR) *dns.Msg {
	shallow := *msg
	shallow.Extra = make([]dns.RR, 0, len(msg.Extra))
	for _, rr := range msg.Extra {
		if rr.Header().Rrtype != dns.TypeOPT {
			shallow.Extra = append(shallow.Extra, rr)
		} else if opt != nil {
			shallow.Extra = append(shallow.Extra, opt)
			opt = nil
		}
	}
	return &shallow
}

// withoutEDNS packs the query again without an OPT record.
func (q *query) withoutEDNS() error {
	original := q.msg
	err := q.pack(withOPT(original, nil), false)
	q.msg = original
	return err
}

// questionEnd returns where the only question of a freshly packed message ends.
func questionEnd(wire []byte) int {
	off := headerLen
	for wire[off] != 0 {
		off += 1 + int(wire[off])
	}
	return off + 1 + 4
}

// fold makes the case of each letter of the name random: what a forger must guess grows by a bit a
// letter (draft-vixie-dnsext-dns0x20). Lengths of labels are below 64 and never look like letters.
func (q *query) fold() {
	var bits uint64
	name := q.wire[headerLen : q.end-4]
	for i, c := range name {
		if i%64 == 0 {
			bits = randomUint64()
		}
		if 'a' <= c|0x20 && c|0x20 <= 'z' {
			name[i] = c&^0x20 | byte(bits&1)<<5
		}
		bits >>= 1
	}
	q.folded = true
}

// unfold gives the name the case that the caller wrote.
func (q *query) unfold() {
	copy(q.wire[headerLen:q.end], q.asked)
	q.folded = false
}

// matches reports whether a message of the right identifier is a reply to the query: it is a reply,
// of the same kind of request, and repeats the question (RFC 5452 section 9.1). If the query went
// out in random case, the case must be the same.
func (q *query) matches(reply []byte) bool {
	if len(reply) < headerLen || reply[2]&bitQR == 0 || (reply[2]^q.wire[2])&maskOpcode != 0 {
		return false
	}
	switch binary.BigEndian.Uint16(reply[4:]) {
	case 0:
		// Servers that do not read on after the header repeat nothing. Such a reply may only
		// decline, so that a forged one gains no more than a lost one.
		return len(reply) == headerLen && declinesRequest(int(reply[3]&maskRcode))
	case 1:
	default:
		return false
	}
	if len(reply) < q.end {
		return false
	}
	got, sent := reply[headerLen:q.end], q.wire[headerLen:q.end]
	if q.folded {
		return bytes.Equal(got, sent)
	}
	name := len(sent) - 4
	return bytes.Equal(got[name:], sent[name:]) && equalFold(got[:name], sent[:name])
}

// differsInCase reports whether a message is from a server that does not repeat the letter case of the name: it differs
// from a reply in nothing else.
func (q *query) differsInCase(reply []byte) bool {
	if !q.folded {
		return false
	}
	q.folded = false
	defer func() { q.folded = true }()
	return q.matches(reply)
}

// declinesRequest reports whether an rcode means that the server did not process the query at all.
func declinesRequest(rcode int) bool {
	return rcode == dns.RcodeFormatError || rcode == dns.RcodeNotImplemented || rcode == dns.RcodeRefused
}

// equalFold compares names in wire form, in which only ASCII letters have case (RFC 4343).
func equalFold(a, b []byte) bool {
	for i, c := range a {
		d := b[i]
		if c == d {
			continue
		}
		if c|0x20 != d|0x20 || c|0x20 < 'a' || 'z' < c|0x20 {
			return false
		}
	}
	return true
}

func truncated(reply []byte) bool { return reply[2]&bitTC != 0 }

var errCounts = errors.New("it holds fewer records than its header says")

// decode turns a reply that matches into a message for the caller: with the caller's identifier and spelling of the
// name, and without an OPT record that the caller did not ask for. It writes into the reply.
func (q *query) decode(reply []byte) (*dns.Msg, error) {
	m, off := new(dns.Msg), headerLen
	if err := m.Unpack(reply[:headerLen]); err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	m.Id, m.Question = q.msg.Id, []dns.Question{q.msg.Question[0]}
	if binary.BigEndian.Uint16(reply[4:]) == 1 {
		copy(reply[headerLen:q.end], q.asked) // names compressed into the question follow
		off = q.end
	}
	for i, section := range []*[]dns.RR{&m.Answer, &m.Ns, &m.Extra} {
		for n := binary.BigEndian.Uint16(reply[6+2*i:]); n > 0; n-- {
			if off == len(reply) && m.Truncated {
				break
			}
			h, end, err := q.header(reply, off)
			if err != nil {
				return nil, fmt.Errorf("reading the reply: %w", err)
			}
			if off = end; i == 2 && h.Rrtype == dns.TypeOPT && q.addedEDNS {
				m.Rcode |= int(h.Ttl>>24) << 4 // RFC 6891 section 6.1.3
				continue
			}
			rr, _, err := dns.UnpackRRWithHeader(h, reply[:end], end-int(h.Rdlength))
			if err != nil {
				return nil, fmt.Errorf("reading the reply: %w", err)
			}
			*section = append(*section, rr)
		}
	}
	if q.folded {
		respell(m)
	}
	return m, nil
}

// header reads the part of a record before its data, and returns where the data end. A name that refers to the
// question, as most do, is not parsed again.
func (q *query) header(reply []byte, off int) (h dns.RR_Header, end int, err error) {
	const fixed = 10 // RFC 1035 section 4.1.3
	if h.Name = q.msg.Question[0].Name; off+2 <= len(reply) && reply[off] == 0xc0 && reply[off+1] == headerLen {
		off += 2
	} else if h.Name, off, err = dns.UnpackDomainName(reply, off); err != nil {
		return h, 0, err
	}
	if len(reply)-off < fixed {
		return h, 0, errCounts
	}
	h.Rrtype, h.Class = binary.BigEndian.Uint16(reply[off:]), binary.BigEndian.Uint16(reply[off+2:])
	h.Ttl, h.Rdlength = binary.BigEndian.Uint32(reply[off+4:]), binary.BigEndian.Uint16(reply[off+8:])
	if off += fixed; len(reply)-off < int(h.Rdlength) {
		return h, 0, errCounts
	}
	return h, off + int(h.Rdlength), nil
}

// respell takes the random letter case out of the records of an answer that were made for the question:
// those of its name, and the alias synthesized from a DNAME record.
func respell(m *dns.Msg) {
	name, redirected := m.Question[0].Name, false
	for _, rr := range m.Answer {
		h := rr.Header()
		redirected = redirected || h.Rrtype == dns.TypeDNAME
		if !strings.EqualFold(h.Name, name) {
			continue
		}
		h.Name = name
		if alias, ok := rr.(*dns.CNAME); ok && redirected {
			alias.Target = dns.CanonicalName(alias.Target)
		}
	}
}

// refusesEDNS reports whether a server that does not know EDNS stumbled over the OPT record: it
// answers FORMERR, or NOTIMP, without one of its own (RFC 6891 section 7).
func (q *query) refusesEDNS(reply []byte) bool {
	rcode := int(reply[3] & maskRcode)
	return q.hasEDNS && binary.BigEndian.Uint16(reply[10:]) == 0 &&
		(rcode == dns.RcodeFormatError || rcode == dns.RcodeNotImplemented)
}

// Each processor draws from a source of its own, so that drawing takes no lock.
var entropies = sync.Pool{New: func() any {
	var seed [32]byte
	crand.Read(seed[:]) // never fails: it ends the program instead
	return rand.NewChaCha8(seed)
}}

// randomUint64 returns a number that an observer of past ones cannot predict: it comes from ChaCha8,
// which erases its key as it goes, seeded by the operating system.
func randomUint64() uint64 {
	chacha := entropies.Get().(*rand.ChaCha8)
	defer entropies.Put(chacha)
	return chacha.Uint64()
}
