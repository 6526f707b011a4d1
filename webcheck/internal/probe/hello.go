package probe

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/mlkem"
	"crypto/rand"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/crypto/cryptobyte"
)

// A Hello is the offer of a ClientHello.
type Hello struct {
	Version    Version   // the newest version that is offered
	Older      []Version // beside TLS 1.3, offered in supported_versions; before it a server may pick any older one
	Suites     []uint16
	Groups     []Group  // of the key exchange; empty leaves the extension out
	Shares     []Group  // for which a key share is sent, of X25519, P-256, P-384 and X25519MLKEM768; others have none
	Signatures []uint16 // signature schemes; nil means all that are known
	AnyChain   bool     // takes a chain with signatures of all schemes that are known, whatever Signatures are
	ServerName string   // host name or IP address, of which only names are sent (RFC 6066 section 3)
	ALPN       []string

	Compression bool // offers DEFLATE (RFC 3749) beside no compression
	Fallback    bool // says that a higher version failed before (RFC 7507)

	GREASE     bool     // has values that no server knows, and each has to ignore (RFC 8701)
	Extensions []uint16 // that many servers do not know, of those of [BrowserExtensions]; others are left out
	Octets     int      // size on the wire up to which it is padded (RFC 7685); 0 means 517
	Sent       Sent     // how it is divided

	secret *secret // the key share, instead of Shares; nil has none
}

// BrowserExtensions lists extensions that browsers send and many servers do not know: signed_certificate_timestamp (RFC
// 6962), compress_certificate (RFC 8879), record_size_limit (RFC 8449), delegated_credential (RFC 9345),
// application_settings (draft-vvv-tls-alps) and encrypted_client_hello (RFC 9849).
func BrowserExtensions() []uint16 {
	return []uint16{extTimestamps, extCompressCert, extRecordSize, extDelegated, extSettings, extECH}
}

// Sent says how a ClientHello is divided on its way.
type Sent uint8

const (
	Whole      Sent = iota // one record in one segment, if that can hold it
	InSegments             // one record in two TCP segments, the second one a moment later
	InRecords              // two records in one segment (RFC 8446 section 5.1)
)

// The numbers of the two signaling values, which are not suites.
const (
	renegotiationSCSV = 0x00FF // RFC 5746 section 3.3
	fallbackSCSV      = 0x5600 // RFC 7507 section 4
)

// The numbers of extensions (IANA, "TLS ExtensionType Values").
const (
	extServerName      = 0
	extStatus          = 5
	extGroups          = 10
	extPointFormats    = 11
	extSignatures      = 13
	extHeartbeat       = 15
	extALPN            = 16
	extTimestamps      = 18
	extPadding         = 21
	extMasterSecret    = 23
	extCompressCert    = 27
	extRecordSize      = 28
	extDelegated       = 34
	extSessionTicket   = 35
	extVersions        = 43
	extPSKModes        = 45
	extChainSignatures = 50
	extKeyShare        = 51
	extSettings        = 17613
	extECH             = 65037
	extRenegotiation   = 65281
)

// signatureSchemes are all that a server may have a certificate for (RFC 8446 section 4.2.3, RFC 8734, RFC 8998,
// RFC 5246 section 7.4.1.4.1): what is left out here would hide a server.
var signatureSchemes = []uint16{0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b,
	0x081a, 0x081b, 0x081c, 0x0401, 0x0501, 0x0601, 0x0303, 0x0301, 0x0302, 0x0402, 0x0502, 0x0602, 0x0203, 0x0201,
	0x0202, 0x0708, 0x0101, 0x0904, 0x0905, 0x0906, 0x0709, 0x0840, 0x0841, 0xeeee, 0xeded}

// The types of records and handshake messages that are written or read.
const (
	recordAlert       = 21
	recordHandshake   = 22
	recordChange      = 20
	clientHello       = 1
	serverHello       = 2
	certificate       = 11
	serverKeyExchange = 12
	certificateReq    = 13
	serverHelloDone   = 14
	certificateStatus = 22
)

// usual is the size up to which a ClientHello is padded: some load balancers of F5 hang on messages of 256 to 511
// octets (RFC 7685 section 4). The header of the record has five more.
const usual = 512 + 5

// bytes returns the encoded message.
func (h Hello) bytes() []byte {
	message := h.message(0)
	const headers = 5 + 4 // of the record and of the extension that pads
	if rest := cmp.Or(h.Octets, usual) - len(message) - headers; rest >= 0 && h.Version != SSL3 {
		message = h.message(4 + rest)
	}
	record := TLS10 // what all servers accept (RFC 8446 section 5.1)
	if h.Version == SSL3 {
		record = SSL3
	}
	pieces := [][]byte{message}
	if h.Sent == InRecords {
		pieces = [][]byte{message[:len(message)/2], message[len(message)/2:]}
	}
	var b cryptobyte.Builder
	for _, piece := range pieces {
		b.AddUint8(recordHandshake)
		b.AddUint16(uint16(record))
		list16(&b, func(b *cryptobyte.Builder) { b.AddBytes(piece) })
	}
	return b.BytesOrPanic() // lists are bounded by what is known
}

// message is the handshake message, with so many octets of padding.
func (h Hello) message(padding int) []byte {
	var b cryptobyte.Builder
	b.AddUint8(clientHello)
	b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) { h.body(b, padding) })
	return b.BytesOrPanic()
}

// segmentPause is how long the second of two segments waits, so that the first one is read alone.
const segmentPause = 50 * time.Millisecond

// send writes the hello to a connection.
func (h Hello) send(ctx context.Context, conn net.Conn) error {
	data := h.bytes()
	if h.Sent == InSegments {
		if _, err := conn.Write(data[:len(data)/2]); err != nil {
			return err
		}
		pause, cancel := context.WithTimeout(ctx, segmentPause)
		defer cancel()
		<-pause.Done()
		data = data[len(data)/2:]
	}
	_, err := conn.Write(data)
	return err
}

// body writes the message (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2).
func (h Hello) body(b *cryptobyte.Builder, padding int) {
	b.AddUint16(uint16(min(h.Version, TLS12)))
	b.AddBytes(random(32))
	b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) {
		if h.Version == TLS13 {
			b.AddBytes(random(32)) // middlebox compatibility (RFC 8446 section 4.1.2)
		}
	})
	list16(b, func(b *cryptobyte.Builder) {
		if h.GREASE {
			b.AddUint16(grease)
		}
		for _, s := range h.Suites {
			b.AddUint16(s)
		}
		if h.Version == SSL3 {
			b.AddUint16(renegotiationSCSV) // there are no extensions
		}
		if h.Fallback {
			b.AddUint16(fallbackSCSV)
		}
	})
	b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) {
		if h.Compression {
			b.AddUint8(1)
		}
		b.AddUint8(0)
	})
	if h.Version == SSL3 {
		return
	}
	list16(b, func(b *cryptobyte.Builder) {
		h.extensions(b)
		if padding > 0 {
			extension(b, extPadding, func(b *cryptobyte.Builder) { b.AddBytes(make([]byte, padding-4)) })
		}
	})
}

// grease and greaseToo are values that are reserved for what no server knows (RFC 8701 section 2).
const (
	grease    = 0x3A3A
	greaseToo = 0x7A7A
)

// extensions writes all but the padding.
func (h Hello) extensions(b *cryptobyte.Builder) {
	if h.GREASE {
		extension(b, grease, nothing)
		defer extension(b, greaseToo, func(b *cryptobyte.Builder) { b.AddUint8(0) })
	}
	if _, err := netip.ParseAddr(h.ServerName); err != nil && h.ServerName != "" {
		extension(b, extServerName, func(b *cryptobyte.Builder) {
			list16(b, func(b *cryptobyte.Builder) {
				b.AddUint8(0) // host_name
				list16(b, func(b *cryptobyte.Builder) { b.AddBytes([]byte(h.ServerName)) })
			})
		})
	}
	extension(b, extMasterSecret, nothing)
	if h.Version != TLS13 || len(h.Older) > 0 {
		extension(b, extRenegotiation, func(b *cryptobyte.Builder) { b.AddUint8(0) })
		extension(b, extSessionTicket, nothing)
		extension(b, extPointFormats, func(b *cryptobyte.Builder) { b.AddBytes([]byte{1, 0}) })
	}
	if h.Version != TLS13 {
		extension(b, extHeartbeat, func(b *cryptobyte.Builder) { b.AddUint8(2) }) // peer_not_allowed_to_send
	}
	extension(b, extStatus, func(b *cryptobyte.Builder) { b.AddBytes([]byte{1, 0, 0, 0, 0}) }) // ocsp
	if len(h.Groups) > 0 {
		h.groups(b)
	}
	if h.Version >= TLS12 {
		h.signatures(b)
	}
	if len(h.ALPN) > 0 {
		h.protocols(b)
	}
	if h.Version == TLS13 {
		h.versions(b)
		h.shares(b)
	}
	for _, number := range h.Extensions {
		if number != extSettings || len(h.ALPN) > 0 { // they are of an application protocol
			browser(b, number)
		}
	}
}

func (h Hello) groups(b *cryptobyte.Builder) {
	extension(b, extGroups, func(b *cryptobyte.Builder) {
		list16(b, func(b *cryptobyte.Builder) {
			if h.GREASE {
				b.AddUint16(grease)
			}
			for _, g := range h.Groups {
				b.AddUint16(uint16(g))
			}
		})
	})
}

func (h Hello) signatures(b *cryptobyte.Builder) {
	schemes := h.Signatures
	if schemes == nil {
		schemes = signatureSchemes
	}
	extension(b, extSignatures, func(b *cryptobyte.Builder) {
		list16(b, func(b *cryptobyte.Builder) {
			for _, s := range schemes {
				b.AddUint16(s)
			}
		})
	})
	if h.AnyChain {
		extension(b, extChainSignatures, func(b *cryptobyte.Builder) {
			list16(b, func(b *cryptobyte.Builder) {
				for _, s := range signatureSchemes {
					b.AddUint16(s)
				}
			})
		})
	}
	if h.secret != nil {
		extension(b, extTimestamps, nothing)
	}
}

func (h Hello) protocols(b *cryptobyte.Builder) {
	extension(b, extALPN, func(b *cryptobyte.Builder) {
		list16(b, func(b *cryptobyte.Builder) {
			for _, p := range h.ALPN {
				b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte(p)) })
			}
		})
	})
}

func (h Hello) versions(b *cryptobyte.Builder) {
	extension(b, extVersions, func(b *cryptobyte.Builder) {
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) {
			if h.GREASE {
				b.AddUint16(grease)
			}
			b.AddUint16(uint16(h.Version))
			for _, v := range h.Older {
				b.AddUint16(uint16(v))
			}
		})
	})
}

// shares writes the key shares. Without any the server answers with a HelloRetryRequest.
func (h Hello) shares(b *cryptobyte.Builder) {
	extension(b, extKeyShare, func(b *cryptobyte.Builder) {
		list16(b, func(b *cryptobyte.Builder) {
			if h.GREASE && len(h.Shares) > 0 {
				b.AddUint16(grease)
				list16(b, func(b *cryptobyte.Builder) { b.AddUint8(0) })
			}
			if h.secret != nil {
				b.AddUint16(uint16(h.secret.group))
				list16(b, func(b *cryptobyte.Builder) { b.AddBytes(h.secret.public) })
			}
			for _, g := range h.Shares {
				if key := share(g); key != nil {
					b.AddUint16(uint16(g))
					list16(b, func(b *cryptobyte.Builder) { b.AddBytes(key) })
				}
			}
		})
	})
	if len(h.Shares) > 0 {
		extension(b, extPSKModes, func(b *cryptobyte.Builder) { b.AddBytes([]byte{1, 1}) })
	}
}

// browser writes an extension as browsers do: compression with Brotli, records of 16,385 octets at most, signatures of
// delegated credentials with P-256, settings of HTTP/2, and an outer ClientHello of nothing (RFC 9849 section 6.2).
func browser(b *cryptobyte.Builder, number uint16) {
	content := map[uint16][]byte{
		extTimestamps: {}, extCompressCert: {2, 0, 2}, extRecordSize: {0x40, 1}, extDelegated: {0, 2, 4, 3},
		extSettings: {0, 3, 2, 'h', '2'}, extECH: {0, 0, 1, 0, 1}, // outer, HKDF-SHA256, AES-128-GCM
	}[number]
	if content == nil {
		return
	}
	extension(b, number, func(b *cryptobyte.Builder) {
		b.AddBytes(content)
		if number == extECH {
			b.AddBytes(random(1))
			list16(b, func(b *cryptobyte.Builder) { b.AddBytes(random(32)) })
			list16(b, func(b *cryptobyte.Builder) { b.AddBytes(random(144)) })
		}
	})
}

// share returns a key share whose private half is discarded; nil for groups that it cannot make one for.
func share(g Group) []byte {
	curve := map[Group]ecdh.Curve{
		X25519: ecdh.X25519(), P256: ecdh.P256(), P384: ecdh.P384(), X25519MLKEM768: ecdh.X25519(),
	}[g]
	if curve == nil {
		return nil
	}
	key, err := curve.GenerateKey(rand.Reader)
	if err != nil {
		return nil // it never fails
	}
	if g != X25519MLKEM768 {
		return key.PublicKey().Bytes()
	}
	hybrid, err := mlkem.GenerateKey768()
	if err != nil {
		return nil // likewise
	}
	return append(hybrid.EncapsulationKey().Bytes(), key.PublicKey().Bytes()...) // draft-ietf-tls-ecdhe-mlkem section 4.1
}

func extension(b *cryptobyte.Builder, number uint16, content func(*cryptobyte.Builder)) {
	b.AddUint16(number)
	list16(b, content)
}

func list16(b *cryptobyte.Builder, content func(*cryptobyte.Builder)) {
	b.AddUint16LengthPrefixed(content)
}

func nothing(*cryptobyte.Builder) {}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

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
