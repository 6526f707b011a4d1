package probe

import (
	"encoding/binary"
	"io"
	"net"

	"golang.org/x/crypto/cryptobyte"
)

// ciphers2 are the cipher kinds of SSLv2 (Hickman, "The SSL Protocol", section 4.6), of three bytes each.
var ciphers2 = []uint32{0x010080, 0x020080, 0x030080, 0x040080, 0x050080, 0x060040, 0x0700C0, 0x080080}

// The types of messages of SSLv2.
const (
	clientHello2 = 1
	serverHello2 = 4
)

// ask2 sends the hello of SSLv2, which has a form of its own (Hickman, section 2.5).
func ask2(conn net.Conn) (*Reply, error) {
	var b cryptobyte.Builder
	const challenge = 16
	size := 9 + 3*len(ciphers2) + challenge
	b.AddUint16(uint16(size) | 1<<15) // a record without padding
	b.AddUint8(clientHello2)
	b.AddUint16(uint16(SSL2))
	b.AddUint16(uint16(3 * len(ciphers2)))
	b.AddUint16(0) // no session
	b.AddUint16(challenge)
	for _, c := range ciphers2 {
		b.AddUint24(c)
	}
	b.AddBytes(random(challenge))
	if _, err := conn.Write(b.BytesOrPanic()); err != nil {
		return nil, closed(err)
	}
	return reply2(conn)
}

// reply2 reads the hello of the server. One that does not know SSLv2 sends an alert in the form of SSLv3.
func reply2(in io.Reader) (*Reply, error) {
	var head [5]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, closed(err)
	}
	if looksLikeTLS(head[:]) {
		return nil, &refusal{Alert: ProtocolVersion}
	}
	if head[0]&0x80 == 0 || head[2] != serverHello2 {
		return nil, &refusal{Mute: true}
	}
	size := int(binary.BigEndian.Uint16(head[:])&0x7fff) - 3
	rest := make([]byte, max(0, size))
	if _, err := io.ReadFull(in, rest); err != nil {
		return nil, closed(err)
	}
	body := cryptobyte.String(rest)
	var version, certSize, suitesSize uint16
	if !body.ReadUint16(&version) || !body.ReadUint16(&certSize) || !body.ReadUint16(&suitesSize) {
		return nil, errMalformed
	}
	// head[3] says whether the session is known, head[4] is the type of the certificate.
	var id uint16
	var cert []byte
	if Version(version) != SSL2 || !body.ReadUint16(&id) || !body.ReadBytes(&cert, int(certSize)) {
		return nil, errMalformed
	}
	reply := &Reply{Version: SSL2}
	if len(cert) > 0 {
		reply.Chain = [][]byte{cert}
	}
	if suitesSize == 0 {
		return nil, &refusal{Alert: HandshakeFailure} // it speaks SSLv2, but has switched off all ciphers
	}
	return reply, nil
}
