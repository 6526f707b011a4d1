package tlscerttest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// A Property is a property of a ClientHello, such as "large" or "key_share".
type Property = probe.Property

// A Middlebox stands in front of a server and drops connections with a ClientHello that it cannot handle. Its
// zero value forwards everything.
type Middlebox struct {
	MaxOctets  int            // a longer ClientHello is dropped; 0 means no limit
	OneSegment bool           // one that does not arrive in a single segment is dropped
	OneRecord  bool           // one in several records is dropped
	Dropped    []Property     // one with any of these properties is dropped
	NeedsName  bool           // one without SNI is dropped
	Silent     bool           // dropped connections are left open instead of closed
	Server     func(net.Conn) // handles forwarded connections, and closes them
}

// segmentOctets is the capacity of a TCP segment on Ethernet, with timestamps (RFC 9293 section 3.7.1, RFC 7323
// appendix A).
const segmentOctets = 1448

// Serve answers one connection.
func (m Middlebox) Serve(conn net.Conn) {
	buffer := make([]byte, maxHello)
	n, err := conn.Read(buffer)
	if err != nil {
		conn.Close()
		return
	}
	data, pieces := buffer[:n], 1
	for len(data) < 5 || data[0] == 22 && len(data) < 5+int(binary.BigEndian.Uint16(data[3:])) {
		n, err := conn.Read(buffer[len(data):])
		if err != nil {
			conn.Close()
			return
		}
		data, pieces = buffer[:len(data)+n], pieces+1
	}
	if m.drops(data, pieces) {
		if m.Silent {
			io.Copy(io.Discard, conn)
		}
		conn.Close()
		return
	}
	m.Server(&replayed{conn, io.MultiReader(bytes.NewReader(data), conn)})
}

func (m Middlebox) drops(data []byte, pieces int) bool {
	if m.MaxOctets > 0 && len(data) > m.MaxOctets || m.OneSegment && (pieces > 1 || len(data) > segmentOctets) {
		return true
	}
	if len(data) < 5 || data[0] != 22 {
		return false
	}
	size := int(binary.BigEndian.Uint16(data[3:]))
	h, ok := readHello(data[5:][:min(size, len(data)-5)])
	if !ok {
		return m.OneRecord
	}
	return m.NeedsName && !h.name || slices.ContainsFunc(m.Dropped, h.has)
}

// has reports whether a ClientHello has a property.
func (h hello) has(p probe.Property) bool {
	switch p {
	case probe.Protocols:
		return len(h.alpn) > 0
	case probe.NewVersion:
		return h.version >= probe.TLS13
	case probe.Reserved:
		return slices.ContainsFunc(slices.Concat(h.values, h.extensions), func(n uint16) bool { return n&0x0f0f == 0x0a0a })
	case probe.Extensions:
		return slices.Contains(h.extensions, 27) // compress_certificate
	case probe.KeyShare:
		return slices.Contains(h.shares, probe.X25519MLKEM768)
	default:
		return false
	}
}

// A replayed connection has been read from before.
type replayed struct {
	net.Conn
	in io.Reader
}

func (r *replayed) Read(b []byte) (int, error) { return r.in.Read(b) }
