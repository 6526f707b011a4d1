package nameserver

import (
	"net"
	"runtime"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// batch is how many datagrams one system call reads or sends, where the system can (recvmmsg(2)).
const batch = 64

// datagrams answers plain questions, and leaves others to the DNS library, for which it is a [net.PacketConn].
type datagrams struct {
	*net.UDPConn
	server  *Server
	batches *ipv4.PacketConn // of IPv6 too: addresses do not matter to its calls
	read    []ipv4.Message
	write   []ipv4.Message // their answers, each with room of its own
	others  []ipv4.Message // of those read last, what is not plain
	chosen  bool           // the socket has all addresses of the machine, and an answer says which it comes from
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

// ReadFrom implements [net.PacketConn]. It answers what is plain.
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

// control is what goes out with the answer to a datagram.
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
