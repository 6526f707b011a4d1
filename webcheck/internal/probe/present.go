package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
)

// A KeyType is a kind of key that a certificate has. A server may have a certificate for each, and chooses by what the
// client can verify (RFC 8446 section 4.4.2.2, RFC 8422 section 5.3).
type KeyType string

// The types. EdDSA is Ed25519 or Ed448 (RFC 8422 section 5.1.3).
const (
	AnyKey KeyType = ""
	ECDSA  KeyType = "ECDSA"
	RSA    KeyType = "RSA"
	EdDSA  KeyType = "EdDSA"
)

// KeyTypes lists the types, but for AnyKey.
func KeyTypes() []KeyType { return []KeyType{ECDSA, RSA, EdDSA} }

// signaturesOf are the schemes by which a key of a type signs (RFC 8446 section 4.2.3).
var signaturesOf = map[KeyType][]uint16{
	ECDSA: {0x0403, 0x0503, 0x0603, 0x081a, 0x081b, 0x081c, 0x0303, 0x0203},
	RSA:   {0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b, 0x0401, 0x0501, 0x0601, 0x0301, 0x0201},
	EdDSA: {0x0807, 0x0808},
}

// suitesFor are the common suites that are authenticated by a type of key, and those of TLS 1.3 that can be read here.
func suitesFor(key KeyType) []uint16 {
	list := []uint16{0x1301, 0x1302, 0x1303}
	for _, s := range table() {
		rsa := strings.HasSuffix(s.exchange, "RSA") && s.exchange != "ECDHE_ECDSA"
		if ecdsa := s.exchange == "ECDHE_ECDSA"; s.common() && (key == AnyKey || key == RSA && rsa || key != RSA && ecdsa) {
			list = append(list, s.ID)
		}
	}
	return bounded(list)
}

// Present asks for the certificates that a server shows to a client which can verify one type of key only, in TLS 1.3
// or whichever older version it speaks. Group is that of the key share, such as X25519; of post-quantum groups no other
// is offered. The reply has no Chain where the server asks for a key exchange that is not known here. The error is as
// that of [Ask], or that of dial or of the context.
func Present(ctx context.Context, dial Dialer, config Config, key KeyType, group Group) (*Reply, error) {
	s := newScanner(dial, config)
	reply, err := s.present(ctx, key, group)
	if err != nil || !reply.Retry {
		return reply, err
	}
	return s.present(ctx, key, reply.Group)
}

// TooLong reports whether an error of [Ask] or [Present] says that the server sent more than is read.
func TooLong(err error) bool { return errors.Is(err, errTooMuch) }

func (s *scanner) present(ctx context.Context, key KeyType, group Group) (*Reply, error) {
	secret := newSecret(group)
	if secret == nil {
		return &Reply{Version: TLS13, Group: group}, nil
	}
	h := s.hello(TLS13, suitesFor(key))
	h.Older, h.Signatures, h.AnyChain, h.secret = []Version{TLS12}, signaturesOf[key], true, secret
	h.Groups = append([]Group{group}, slices.DeleteFunc(groups(TLS13), func(g Group) bool {
		return g == group || g.PostQuantum()
	})...)
	release, err := s.config.Limits.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	bounded, cancel := context.WithTimeout(ctx, connectionTime)
	defer cancel()
	conn, err := s.dial(bounded)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return askSecret(bounded, conn, h)
}

// askSecret is [Ask], and decrypts the certificates of TLS 1.3.
func askSecret(ctx context.Context, conn net.Conn, h Hello) (*Reply, error) {
	if end, ok := ctx.Deadline(); ok {
		conn.SetDeadline(end)
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	sent := h.bytes()
	if _, err := conn.Write(sent); err != nil {
		return nil, closed(err)
	}
	r := &reader{in: conn, left: maxRead}
	kind, content, err := r.message()
	if err != nil {
		return nil, err
	}
	reply := &Reply{}
	if kind != serverHello || !reply.hello(content) {
		return nil, errMalformed
	}
	if reply.Version != TLS13 {
		return r.rest(reply), nil
	}
	if reply.Retry {
		return reply, nil
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(serverHello)<<24|uint32(len(content)))
	transcript := [][]byte{sent[5:], header, content}
	opened, err := h.secret.open(conn, reply, transcript)
	if err != nil {
		return nil, err
	}
	r = &reader{in: opened, left: maxRead}
	for len(reply.Chain) == 0 {
		kind, content, err := r.message()
		switch {
		case errors.Is(err, errUndecipherable):
			return nil, errMalformed
		case err != nil:
			return nil, err
		case kind == finished:
			return reply, nil // without a certificate
		}
		reply.addEncrypted(kind, content)
	}
	return reply, nil
}

// The types of messages that are encrypted.
const (
	encryptedExtensions = 8
	finished            = 20
)

// addEncrypted reads one of the messages after the ServerHello of TLS 1.3 (RFC 8446 sections 4.3 and 4.4).
func (reply *Reply) addEncrypted(kind uint8, content cryptobyte.String) {
	var list, requestContext cryptobyte.String
	switch kind {
	case encryptedExtensions:
		if content.ReadUint16LengthPrefixed(&list) {
			eachExtension(list, func(kind uint16, content cryptobyte.String) {
				if kind == extALPN {
					reply.extension(kind, content)
				}
			})
		}
	case certificateReq:
		reply.ClientCertificate = true
	case certificate:
		if content.ReadUint8LengthPrefixed(&requestContext) && content.ReadUint24LengthPrefixed(&list) {
			reply.readEntries(list)
		}
	}
}

// readEntries reads the certificates of TLS 1.3, each with extensions (RFC 8446 section 4.4.2). What is malformed ends
// the chain.
func (reply *Reply) readEntries(list cryptobyte.String) {
	var der, extensions cryptobyte.String
	for len(reply.Chain) < MaxChain && list.ReadUint24LengthPrefixed(&der) &&
		list.ReadUint16LengthPrefixed(&extensions) {
		if reply.Chain = append(reply.Chain, append([]byte(nil), der...)); len(reply.Chain) > 1 {
			continue
		}
		eachExtension(extensions, func(kind uint16, content cryptobyte.String) {
			switch kind {
			case extStatus:
				reply.add(certificateStatus, content) // RFC 8446 section 4.4.2.1
			case extTimestamps:
				reply.extension(kind, content)
			}
		})
	}
}

func eachExtension(list cryptobyte.String, do func(kind uint16, content cryptobyte.String)) {
	var kind uint16
	var content cryptobyte.String
	for list.ReadUint16(&kind) && list.ReadUint16LengthPrefixed(&content) {
		do(kind, content)
	}
}
