package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
)

// The limits of reading from one connection.
const (
	maxRecord  = 1<<14 + 2048 // RFC 5246 section 6.2.3; that of TLS 1.3 is smaller
	maxMessage = 128 << 10    // of one handshake message; chains have 3 to 10 KiB, and may be of 16 MiB
	maxRead    = 160 << 10    // of all together
	maxRecords = 512          // so that empty ones do not go on forever
)

// A refusal says that a server does not want to speak as it was asked to.
type refusal struct {
	Alert Alert // the reason that it gave
	Mute  bool  // it closed the connection without a reason
}

func (r *refusal) Error() string {
	if r.Mute {
		return "the server closed the connection"
	}
	return "the server answered with the alert " + r.Alert.String()
}

// An Alert is the description of an alert (RFC 8446 section 6).
type Alert uint8

// The alerts that reveal something about a server.
const (
	HandshakeFailure      Alert = 40
	ProtocolVersion       Alert = 70
	InappropriateFallback Alert = 86  // RFC 7507 section 5
	unrecognizedName      Alert = 112 // RFC 6066 section 3
	NoApplicationProtocol Alert = 120 // RFC 7301 section 3.2
)

var alertNames = map[Alert]string{
	0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", HandshakeFailure: "handshake_failure",
	42: "bad_certificate", 43: "unsupported_certificate", 47: "illegal_parameter", 49: "access_denied", 50: "decode_error",
	51: "decrypt_error", ProtocolVersion: "protocol_version", 71: "insufficient_security", 80: "internal_error",
	InappropriateFallback: "inappropriate_fallback", 90: "user_canceled", 109: "missing_extension",
	110: "unsupported_extension", unrecognizedName: "unrecognized_name", 115: "unknown_psk_identity",
	116: "certificate_required", NoApplicationProtocol: "no_application_protocol",
}

// String returns the name of an alert, or its number.
func (a Alert) String() string {
	if name, ok := alertNames[a]; ok {
		return name
	}
	return fmt.Sprintf("%d", uint8(a))
}

// errNotTLS says that what came is not TLS.
var errNotTLS = errors.New("the server does not speak TLS on this port")

var errTooMuch = errors.New("the server sent more than a handshake can hold")

// errMalformed says that a message is not as the protocol defines it.
var errMalformed = errors.New("the server sent a malformed handshake message")

// faulty reports whether an error says that the server answered, and broke the protocol.
func faulty(err error) bool {
	return errors.Is(err, errNotTLS) || errors.Is(err, errTooMuch) || errors.Is(err, errMalformed)
}

type reader struct {
	in      io.Reader
	left    int // bytes that may still be read
	records int
	buffer  []byte // of the message that is not yet complete
}

// message returns the next handshake message, the content of which is valid until the next call.
func (r *reader) message() (kind uint8, content []byte, err error) {
	for {
		if len(r.buffer) >= 4 {
			size := int(r.buffer[1])<<16 | int(r.buffer[2])<<8 | int(r.buffer[3])
			if size > maxMessage {
				return 0, nil, errTooMuch
			}
			if len(r.buffer) >= 4+size {
				kind, content = r.buffer[0], r.buffer[4:4+size]
				r.buffer = r.buffer[4+size:]
				return kind, content, nil
			}
		}
		if err := r.record(); err != nil {
			return 0, nil, err
		}
	}
}

// record reads the next record and adds it to the message.
func (r *reader) record() error {
	var head [5]byte
	if r.records++; r.records > maxRecords {
		return errTooMuch
	}
	if n, err := io.ReadFull(r.in, head[:]); err != nil {
		if n > 0 && !looksLikeTLS(head[:n]) && !timedOut(err) {
			return errNotTLS
		}
		return closed(err)
	}
	if !looksLikeTLS(head[:]) {
		return errNotTLS
	}
	size := int(binary.BigEndian.Uint16(head[3:]))
	if size > maxRecord || size > r.left {
		return errTooMuch
	}
	before := len(r.buffer)
	r.buffer = slices.Grow(r.buffer, size)[:before+size]
	content := r.buffer[before:]
	if head[0] != recordHandshake {
		r.buffer = r.buffer[:before]
	}
	if _, err := io.ReadFull(r.in, content); err != nil {
		return closed(err)
	}
	r.left -= size + len(head)
	switch {
	case head[0] == recordAlert && size == 2:
		if warning := content[0] == 1; warning && Alert(content[1]) == unrecognizedName {
			return nil // the handshake continues (RFC 6066 section 3)
		}
		return &refusal{Alert: Alert(content[1])}
	case head[0] == recordAlert:
		return errMalformed
	}
	return nil // a change of the cipher means nothing here (RFC 8446 appendix D.4)
}

// looksLikeTLS reports whether bytes may begin a record: a known type, and a version from SSLv3 on.
func looksLikeTLS(head []byte) bool {
	return head[0] >= recordChange && head[0] <= recordHandshake && (len(head) < 2 || head[1] == 3)
}

// closed makes a refusal of the end of a connection, unless time has run out.
func closed(err error) error {
	if timedOut(err) {
		return err
	}
	return &refusal{Mute: true}
}

func timedOut(err error) bool {
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}
