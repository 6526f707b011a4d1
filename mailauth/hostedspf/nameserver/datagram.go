package nameserver

import (
	"encoding/binary"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// batch is how many datagrams one system call reads or sends, where supported (recvmmsg(2)).
const batch = 64

// datagrams answers plain questions, and leaves others to the DNS library, for which it is a [net.PacketConn].
type datagrams struct {
	*net.UDPConn
	server  *Server
	batches *ipv4.PacketConn // of IPv6 too: addresses do not matter to its calls
	read    []ipv4.Message
	write   []ipv4.Message // their answers, each with room of its own
	others  []ipv4.Message // the messages of the last read that are not plain
	chosen  bool           // the socket is bound to all addresses of the machine, and an answer specifies its source
}

type peer struct {
	*net.UDPAddr
	control []byte // lets the answer come from the address that the question went to
}

func (s *Server) datagrams(conn net.PacketConn) net.PacketConn {
	socket, ok := conn.(*net.UDPConn)
	if !ok || runtime.GOOS == "windows" { // where batches are not to be had
		return conn
	}
	d := &datagrams{UDPConn: socket, server: s, batches: ipv4.NewPacketConn(socket)}
	if d.chosen = addrOf(socket.LocalAddr()).IsUnspecified(); d.chosen {
		// One of them may fail, that of the other family.
		_ = d.batches.SetControlMessage(ipv4.FlagDst, true)
		_ = ipv6.NewPacketConn(socket).SetControlMessage(ipv6.FlagDst, true)
	}
	for range batch {
		m := ipv4.Message{Buffers: [][]byte{make([]byte, maxDatagram)}}
		if d.chosen {
			m.OOB = append(ipv4.NewControlMessage(ipv4.FlagDst), ipv6.NewControlMessage(ipv6.FlagDst)...)
		}
		d.read = append(d.read, m)
		d.write = append(d.write, ipv4.Message{Buffers: [][]byte{make([]byte, 0, maxDatagram)}})
	}
	return d
}

// ReadFrom implements [net.PacketConn]. It answers plain questions.
func (d *datagrams) ReadFrom(p []byte) (int, net.Addr, error) {
	for len(d.others) == 0 {
		n, err := d.batches.ReadBatch(d.read, 0)
		if err != nil {
			return 0, nil, err
		}
		d.answer(d.read[:n])
	}
	m := d.others[0]
	d.others = d.others[1:]
	from, _ := m.Addr.(*net.UDPAddr)
	return copy(p, m.Buffers[0][:m.N]), peer{from, d.control(m)}, nil
}

// WriteTo implements [net.PacketConn].
func (d *datagrams) WriteTo(p []byte, to net.Addr) (int, error) {
	n, _, err := d.WriteMsgUDP(p, to.(peer).control, to.(peer).UDPAddr)
	return n, err
}

func (d *datagrams) control(m ipv4.Message) []byte {
	var six ipv6.ControlMessage
	var four ipv4.ControlMessage
	switch {
	case !d.chosen:
		return nil
	case six.Parse(m.OOB[:m.NN]) == nil && six.Dst != nil && six.Dst.To4() == nil:
		return (&ipv6.ControlMessage{Src: six.Dst}).Marshal()
	case six.Dst != nil:
		return (&ipv4.ControlMessage{Src: six.Dst}).Marshal()
	case four.Parse(m.OOB[:m.NN]) == nil && four.Dst != nil:
		return (&ipv4.ControlMessage{Src: four.Dst}).Marshal()
	}
	return nil
}

// answer answers the datagrams that are plain questions, and keeps the others.
func (d *datagrams) answer(read []ipv4.Message) {
	s, answers := d.server, 0
	current, now := s.current.Load(), s.config.Clock()
	d.others = d.others[:0]
	var p plain
	for _, m := range read {
		query := m.Buffers[0][:m.N]
		var a *packed
		if p.isPlain(query) {
			a = current.ready(&p, query, now)
		}
		if a == nil {
			d.others = append(d.others, m)
			continue
		}
		text, outcome := a.full, a.outcome
		switch s.limiter.rule(addrOf(m.Addr), a.name, a.share, now) {
		case drop:
			s.observe(dropped)
			continue
		case truncated:
			text = a.short
		}
		s.observe(outcome)
		out := &d.write[answers]
		out.Buffers[0] = p.to(out.Buffers[0][:0], text, query)
		out.Addr, out.OOB = m.Addr, d.control(m)
		answers++
	}
	for rest := d.write[:answers]; len(rest) > 0; {
		n, err := d.batches.WriteBatch(rest, 0)
		if err != nil {
			s.config.Log.Debug("a DNS answer was not sent", "error", err)
		}
		rest = rest[max(n, 1):]
	}
}

const (
	// maxPacked bounds the answers of a snapshot that are kept packed, some 30 MB: types and sizes are the client's to
	// choose.
	maxPacked = 1 << 16
	// packedLife is how long an answer is kept packed: signatures are renewed long before they expire.
	packedLife = time.Minute
	headerSize = 12 // octets: RFC 1035 section 4.1.1
	optSize    = 11 // of an OPT record without options: RFC 6891 section 6.1.2
)

// A packed answer is one to a plain question as it is sent, but for the ID, the bit RD and the letter case of the name.
type packed struct {
	full, short []byte // short is for a client beyond its rate
	outcome     string
	name        string // for which it counts, and how many are as one
	share       int
	made        time.Time
}

type pantry struct {
	mu      sync.RWMutex
	answers map[string]*packed
}

// A plain question is one about a name of the class IN by a client that sends nothing else but, perhaps, an OPT
// record without options. Its key holds everything that the answer depends on: the name in lower case, the type,
// whether there is an OPT record, its flags DO and CO, and how long the answer may be.
type plain struct {
	key  [maxName + 5]byte
	size int // of the key
	name int // octets of the name
}

// isPlain reads a datagram, and reports whether it is a plain question.
func (p *plain) isPlain(query []byte) bool {
	const (
		flags = 1<<15 | 0xf<<11 | 1<<10 | 1<<9 | 1<<7 | 1<<6 | 0xf // all but RD, AD and CD
		extra = 10                                                 // with the next octet, the count of additional records
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
	if _, exists := s.nodes[dns.CanonicalName(q.Question[0].Name)]; exists { // not made-up names
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
