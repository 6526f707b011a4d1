package nameserver

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxPacked bounds the answers of a snapshot that are kept packed, some 30 MB: types and sizes are the client's to
	// choose.
	maxPacked = 1 << 16
	// packedLife is how long an answer is kept packed: signatures are made anew long before they end.
	packedLife = time.Minute
	headerSize = 12 // octets: RFC 1035 section 4.1.1
	optSize    = 11 // of an OPT record without options: RFC 6891 section 6.1.2
)

// A packed answer is one to a plain question as it is sent, but for the ID, the bit RD and the letter case of the name.
type packed struct {
	full, short []byte // short is what a client gets that has had more than its share
	outcome     string
	name        string // for which it counts, and how many are as one
	share       int
	made        time.Time
}

type pantry struct {
	mu      sync.RWMutex
	answers map[string]*packed
}

// A plain question is one about a name of the class IN by a client that sends nothing else but, perhaps, an OPT record
// without options. Its key holds all that the answer depends on: the name in lower case, the type, whether there
// is an OPT record, its flags DO and CO, and how long the answer may be.
type plain struct {
	key  [maxName + 5]byte
	size int // of the key
	name int // octets of the name
}

// isPlain reads a datagram, and reports whether it is a plain question.
func (p *plain) isPlain(query []byte) bool {
	const (
		flags = 1<<15 | 0xf<<11 | 1<<10 | 1<<9 | 1<<7 | 1<<6 | 0xf // all but RD, AD and CD
		extra = 10                                                 // octet of the header that tells of additional records, with the one behind
	)
	if len(query) < headerSize || binary.BigEndian.Uint16(query[2:])&flags != 0 ||
		binary.BigEndian.Uint32(query[4:]) != 1<<16 || query[8] != 0 || query[9] != 0 || query[extra] != 0 || query[extra+1] > 1 {
		return false
	}
	rest := query[headerSize:]
	p.name = 0
	for {
		if p.name >= len(rest) || p.name >= maxName || rest[p.name] > maxLabel {
			return false
		}
		n := int(rest[p.name]) + 1
		if p.name+n > len(rest) || p.name+n > maxName {
			return false
		}
		p.key[p.name] = rest[p.name]
		for i := p.name + 1; i < p.name+n; i++ {
			c := rest[i]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			p.key[i] = c
		}
		p.name += n
		if n == 1 {
			break
		}
	}
	if rest = rest[p.name:]; len(rest) < 4 || rest[2] != 0 || rest[3] != dns.ClassINET {
		return false
	}
	if t := binary.BigEndian.Uint16(rest); t == dns.TypeAXFR || t == dns.TypeIXFR {
		return false
	}
	key := append(p.key[:p.name], rest[0], rest[1])
	limit, bits := uint16(minDatagram), byte(0)
	if rest = rest[4:]; query[extra+1] == 1 {
		// The name ., the type, the size, an extended code, version 0, flags, no options.
		if len(rest) != optSize || rest[0] != 0 || rest[1] != 0 || rest[2] != byte(dns.TypeOPT) || rest[5] != 0 || rest[6] != 0 ||
			rest[9] != 0 || rest[10] != 0 {
			return false
		}
		limit = min(max(binary.BigEndian.Uint16(rest[3:]), minDatagram), maxDatagram)
		bits = 1 | rest[7]&0xc0 // DO and CO
	} else if len(rest) > 0 {
		return false
	}
	p.size = len(append(key, bits, byte(limit>>8), byte(limit)))
	return true
}

// ready is the answer to a plain question, packed now if it does not lie ready; nil if it cannot be.
func (s *snapshot) ready(p *plain, query []byte, now time.Time) *packed {
	s.pantry.mu.RLock()
	a := s.pantry.answers[string(p.key[:p.size])]
	s.pantry.mu.RUnlock()
	if a != nil && now.Sub(a.made).Abs() < packedLife {
		return a
	}
	q := new(dns.Msg)
	if q.Unpack(query) != nil {
		return nil
	}
	m := s.answer(q, true)
	a = &packed{outcome: dns.RcodeToString[m.Rcode], made: now}
	a.name, a.share = s.counted(q)
	var err error
	if a.full, err = m.Pack(); err != nil {
		return nil
	}
	truncate(m, m.IsEdns0())
	if a.short, err = m.Pack(); err != nil {
		return nil
	}
	if _, exists := s.nodes[dns.CanonicalName(q.Question[0].Name)]; exists { // not what clients make up
		s.pantry.mu.Lock()
		defer s.pantry.mu.Unlock()
		if s.pantry.answers == nil || len(s.pantry.answers) >= maxPacked {
			s.pantry.answers = make(map[string]*packed)
		}
		s.pantry.answers[string(p.key[:p.size])] = a
	}
	return a
}

// to copies an answer to the end of a buffer, for the question that it answers.
func (p *plain) to(out, answer, query []byte) []byte {
	start := len(out)
	out = append(out, answer...)
	reply := out[start:]
	copy(reply, query[:2])
	reply[2] = reply[2]&^1 | query[2]&1
	copy(reply[headerSize:], query[headerSize:headerSize+p.name])
	return out
}
