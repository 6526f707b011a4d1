// Package tlscerttest has TLS servers for tests, with protocol versions and options that crypto/tls does not
// support: call [Server.Serve] with a connection.
//
// A Server answers a ClientHello up to the point at which cryptography would begin. No handshake can be
// completed with it, but a scan sees everything that it claims to support.
package tlscerttest

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"slices"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"golang.org/x/crypto/cryptobyte"
)

// A Version is a version of SSL or TLS: 2 means SSL 2.0, others are as in the protocol, such as 0x0303 for
// TLS 1.2.
type Version = probe.Version

// A Group is a key exchange group, by its number in IANA's registry.
type Group = probe.Group

// A Server is a TLS server that selects from the offer of a client, and then ends the handshake. The zero
// value refuses everything.
type Server struct {
	Suites      map[Version][]uint16 // accepted cipher suites by version, in order of preference
	ClientOrder bool                 // the client's preference counts
	Groups      []Group              // groups for ECDHE and TLS 1.3
	Signatures  []uint16             // signature schemes, one of which the client must support; nil means any
	DHBits      int                  // size of the prime for DHE
	Chain       [][]byte             // certificates in DER form
	ChainSize   int                  // length field of the Certificate message; 0 means the real length
	Staple      []byte               // OCSP response
	ALPN        []string             // application protocols
	Bare        bool                 // it answers no extensions, like a very old library
	Compress    bool                 // it accepts compression
	Fallback    bool                 // it refuses fallback connections (RFC 7507)
	SSL2        bool                 // it answers an SSLv2 ClientHello
	Mute        bool                 // it closes the connection instead of sending an alert
}

// A hello holds the offer of a client.
type hello struct {
	version     probe.Version
	suites      []uint16
	groups      []probe.Group
	signatures  []uint16
	alpn        []string
	compression []byte
	extensions  []uint16
	values      []uint16 // numbers of suites, groups and extensions, which may be reserved ones
	shares      []probe.Group
	name        bool // has the name of the server
}

// maxHello bounds what is read of a client.
const maxHello = 1 << 14

// Serve answers one connection and closes it.
func (s Server) Serve(conn net.Conn) {
	defer conn.Close()
	var head [5]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return
	}
	if head[0]&0x80 != 0 {
		io.ReadFull(conn, make([]byte, max(0, int(binary.BigEndian.Uint16(head[:])&0x7fff)-3)))
		s.serve2(conn)
		return
	}
	message, err := readMessage(conn, head)
	if err != nil {
		return
	}
	h, ok := readHello(message)
	if !ok {
		s.refuse(conn, 50) // decode_error
		return
	}
	s.answer(conn, h)
	io.Copy(io.Discard, conn)
}

// readMessage reads a handshake message, the first record of which has the header, from as many records as it takes.
func readMessage(conn net.Conn, head [5]byte) (message []byte, err error) {
	for {
		record := make([]byte, min(maxHello, int(binary.BigEndian.Uint16(head[3:]))))
		if _, err := io.ReadFull(conn, record); err != nil {
			return nil, err
		}
		message = append(message, record...)
		if len(message) < 4 || len(message) >= 4+int(binary.BigEndian.Uint16(message[2:])) || len(message) > maxHello {
			return message, nil
		}
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return nil, err
		}
	}
}

func (s Server) refuse(conn net.Conn, alert probe.Alert) {
	if !s.Mute {
		conn.Write([]byte{21, 3, 1, 0, 2, 2, byte(alert)})
	}
	conn.Close()
}

func (s Server) answer(conn net.Conn, h hello) {
	version := h.version
	for version > probe.SSL2 && len(s.Suites[version]) == 0 {
		version--
	}
	if version <= probe.SSL2 {
		s.refuse(conn, probe.ProtocolVersion)
		return
	}
	newer := slices.ContainsFunc(probe.Versions(), func(v probe.Version) bool {
		return v > h.version &&
			len(s.Suites[v]) > 0
	})
	if s.Fallback && newer && slices.Contains(h.suites, 0x5600) {
		s.refuse(conn, probe.InappropriateFallback)
		return
	}
	suite, ok := s.pick(version, h)
	if !ok || s.Signatures != nil && !slices.ContainsFunc(s.Signatures, func(n uint16) bool {
		return slices.Contains(h.signatures, n)
	}) {
		s.refuse(conn, probe.HandshakeFailure)
		return
	}
	for _, piece := range s.flight(version, suite, h) {
		for len(piece) > 0 {
			n := min(len(piece), 1<<14)
			conn.Write([]byte{22, 3, byte(min(version, probe.TLS12)), byte(n >> 8), byte(n)})
			conn.Write(piece[:n])
			piece = piece[n:]
		}
	}
}

// pick returns a suite that both sides have, and for which there is a group.
func (s Server) pick(v probe.Version, h hello) (uint16, bool) {
	mine, theirs := s.Suites[v], h.suites
	if s.ClientOrder {
		mine, theirs = theirs, mine
	}
	for _, id := range mine {
		suite := probe.SuiteOf(id)
		needs := suite.EllipticCurve() || suite.TLS13()
		if slices.Contains(theirs, id) && (!needs || s.group(h) != 0) {
			return id, true
		}
	}
	return 0, false
}

// group returns the first group that both sides have; 0 without one.
func (s Server) group(h hello) probe.Group {
	for _, g := range s.Groups {
		if slices.Contains(h.groups, g) {
			return g
		}
	}
	return 0
}

// flight returns the answer of the server, in pieces with a record each.
func (s Server) flight(v probe.Version, suite uint16, h hello) (pieces [][]byte) {
	message := func(kind uint8, content func(*cryptobyte.Builder)) {
		var b cryptobyte.Builder
		b.AddUint8(kind)
		b.AddUint24LengthPrefixed(content)
		pieces = append(pieces, b.BytesOrPanic())
	}
	message(2, func(b *cryptobyte.Builder) { s.hello(b, v, suite, h) })
	if described := probe.SuiteOf(suite); v < probe.TLS13 {
		if !described.Anonymous() && len(s.Chain) > 0 {
			pieces = append(pieces, s.certificates()...)
		}
		if len(s.Staple) > 0 {
			message(22, func(b *cryptobyte.Builder) {
				b.AddUint8(1)
				b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(s.Staple) })
			})
		}
		switch {
		case described.EllipticCurve():
			message(12, func(b *cryptobyte.Builder) {
				b.AddUint8(3)
				b.AddUint16(uint16(s.group(h)))
			})
		case described.FiniteField():
			message(12, func(b *cryptobyte.Builder) {
				b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
					prime := make([]byte, (s.DHBits+7)/8)
					prime[0] = 1 << ((s.DHBits - 1) % 8)
					b.AddBytes(prime)
				})
			})
		}
		message(14, func(*cryptobyte.Builder) {})
	}
	return pieces
}

// certificates is the message with the chain, without a copy of it: tests measure memory beside the server.
func (s Server) certificates() [][]byte {
	size := func(n int) []byte { return []byte{byte(n >> 16), byte(n >> 8), byte(n)} }
	all := 0
	for _, der := range s.Chain {
		all += 3 + len(der)
	}
	pieces := [][]byte{append(append([]byte{11}, size(cmp.Or(s.ChainSize, 3+all))...), size(all)...)}
	for _, der := range s.Chain {
		pieces = append(pieces, size(len(der)), der)
	}
	return pieces
}

// retry makes a HelloRetryRequest of a ServerHello (RFC 8446 section 4.1.3).
var retry = []byte("\xCF\x21\xAD\x74\xE5\x9A\x61\x11\xBE\x1D\x8C\x02\x1E\x65\xB8\x91" +
	"\xC2\xA2\x11\x16\x7A\xBB\x8C\x5E\x07\x9E\x09\xE2\xC8\xA8\x33\x9C")

func (s Server) hello(b *cryptobyte.Builder, v probe.Version, suite uint16, h hello) {
	b.AddUint16(uint16(min(v, probe.TLS12)))
	shared := slices.Contains(h.shares, s.group(h))
	if v == probe.TLS13 && !shared {
		b.AddBytes(retry)
	} else {
		b.AddBytes(make([]byte, 32))
	}
	b.AddUint8(0)
	b.AddUint16(suite)
	if s.Compress && slices.Contains(h.compression, 1) {
		b.AddUint8(1)
	} else {
		b.AddUint8(0)
	}
	if v == probe.SSL3 || s.Bare && v < probe.TLS13 {
		return
	}
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
		extension := func(kind uint16, content ...byte) {
			b.AddUint16(kind)
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(content) })
		}
		if v == probe.TLS13 {
			extension(43, 3, 4)
			share := []byte{byte(s.group(h) >> 8), byte(s.group(h))}
			if shared {
				share = append(share, 0, 1, 0) // of no use, as nothing after it is sent
			}
			extension(51, share...)
			return
		}
		extension(23)
		extension(0xff01, 0)
		extension(35)
		for _, p := range s.ALPN {
			if slices.Contains(h.alpn, p) {
				extension(16, append([]byte{0, byte(len(p) + 1), byte(len(p))}, p...)...)
				break
			}
		}
	})
}

func readHello(record cryptobyte.String) (h hello, ok bool) {
	var kind uint8
	var body, session, suites, compression, extensions cryptobyte.String
	var version uint16
	if !record.ReadUint8(&kind) || kind != 1 || !record.ReadUint24LengthPrefixed(&body) || !body.ReadUint16(&version) ||
		!body.Skip(32) || !body.ReadUint8LengthPrefixed(&session) || !body.ReadUint16LengthPrefixed(&suites) ||
		!body.ReadUint8LengthPrefixed(&compression) {
		return h, false
	}
	h.version, h.compression, h.suites = probe.Version(version), compression, numbers(suites)
	h.values = append(h.values, h.suites...)
	if body.Empty() {
		return h, true
	}
	if !body.ReadUint16LengthPrefixed(&extensions) {
		return h, false
	}
	for !extensions.Empty() {
		var id uint16
		var content, list cryptobyte.String
		if !extensions.ReadUint16(&id) || !extensions.ReadUint16LengthPrefixed(&content) {
			return h, false
		}
		h.extensions = append(h.extensions, id)
		switch {
		case id == 0:
			h.name = true
		case id == 51 && content.ReadUint16LengthPrefixed(&list):
			var group uint16
			for one := (cryptobyte.String)(nil); list.ReadUint16(&group) && list.ReadUint16LengthPrefixed(&one); {
				h.shares = append(h.shares, probe.Group(group))
			}
		case id == 43 && content.ReadUint8LengthPrefixed(&list):
			for _, n := range numbers(list) {
				if n <= uint16(probe.TLS13) { // else it is reserved
					h.version = max(h.version, probe.Version(n))
				}
			}
		case id == 10 && content.ReadUint16LengthPrefixed(&list):
			for _, n := range numbers(list) {
				h.groups = append(h.groups, probe.Group(n))
			}
		case id == 13 && content.ReadUint16LengthPrefixed(&list):
			h.signatures = numbers(list)
		case id == 16 && content.ReadUint16LengthPrefixed(&list):
			for one := (cryptobyte.String)(nil); list.ReadUint8LengthPrefixed(&one); {
				h.alpn = append(h.alpn, string(one))
			}
		}
	}
	return h, true
}

func numbers(list cryptobyte.String) (all []uint16) {
	for n := uint16(0); list.ReadUint16(&n); {
		all = append(all, n)
	}
	return all
}

// serve2 it answers an SSLv2 ClientHello.
func (s Server) serve2(conn net.Conn) {
	if !s.SSL2 {
		s.refuse(conn, probe.ProtocolVersion)
		return
	}
	var cert []byte
	if len(s.Chain) > 0 {
		cert = s.Chain[0]
	}
	var b cryptobyte.Builder
	b.AddUint16(uint16(11+len(cert)+3) | 1<<15)
	b.AddBytes([]byte{4, 0, 1, 0, 2})
	b.AddUint16(uint16(len(cert)))
	b.AddUint16(3)
	b.AddUint16(0)
	b.AddBytes(cert)
	b.AddBytes([]byte{1, 0, 0x80})
	conn.Write(b.BytesOrPanic())
}
