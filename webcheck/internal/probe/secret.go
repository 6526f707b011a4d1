package probe

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/mlkem"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"hash"
	"io"

	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/crypto/cryptobyte"
)

// A secret is the private half of a key share.
type secret struct {
	group  Group
	public []byte
	agree  func(theirs []byte) ([]byte, error)
}

// newSecret makes a key share for a group, or nil where that is not known here.
func newSecret(g Group) *secret {
	if g == X25519MLKEM768 {
		return newHybrid()
	}
	curve := map[Group]ecdh.Curve{X25519: ecdh.X25519(), P256: ecdh.P256(), 24: ecdh.P384(), 25: ecdh.P521()}[g]
	if curve == nil {
		return nil
	}
	key, err := curve.GenerateKey(rand.Reader)
	if err != nil {
		return nil // it never fails
	}
	return &secret{g, key.PublicKey().Bytes(), func(theirs []byte) ([]byte, error) {
		public, err := curve.NewPublicKey(theirs)
		if err != nil {
			return nil, err
		}
		return key.ECDH(public)
	}}
}

// newHybrid makes a share of ML-KEM-768 and X25519, in this order (draft-ietf-tls-ecdhe-mlkem section 4).
func newHybrid() *secret {
	classic := newSecret(X25519)
	key, err := mlkem.GenerateKey768()
	if err != nil {
		return nil // it never fails
	}
	return &secret{X25519MLKEM768, append(key.EncapsulationKey().Bytes(), classic.public...),
		func(theirs []byte) ([]byte, error) {
			if len(theirs) < mlkem.CiphertextSize768 {
				return nil, errMalformed
			}
			post, err := key.Decapsulate(theirs[:mlkem.CiphertextSize768])
			if err != nil {
				return nil, err
			}
			rest, err := classic.agree(theirs[mlkem.CiphertextSize768:])
			return append(post, rest...), err
		}}
}

// open derives the key of the server's handshake messages (RFC 8446 section 7.1), and returns what decrypts them.
func (s *secret) open(in io.Reader, reply *Reply, transcript [][]byte) (io.Reader, error) {
	newHash, size, newAEAD := sha256.New, 16, gcm
	switch reply.Suite {
	case 0x1301:
	case 0x1302:
		newHash, size = sha512.New384, 32
	case 0x1303:
		size, newAEAD = 32, chacha20poly1305.New
	default:
		return nil, errMalformed // it was not offered
	}
	shared, err := s.agree(reply.share)
	if err != nil || reply.Group != s.group {
		return nil, errMalformed
	}
	h := newHash()
	for _, piece := range transcript {
		h.Write(piece)
	}
	key, iv, err := trafficKey(newHash, shared, h.Sum(nil), size)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return &opener{in: in, aead: aead, iv: iv}, nil
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// trafficKey is the key schedule as far as the handshake keys of the server (RFC 8446 sections 7.1 and 7.3).
func trafficKey(newHash func() hash.Hash, shared, transcript []byte, size int) (key, iv []byte, err error) {
	length := newHash().Size()
	early, err := hkdf.Extract(newHash, make([]byte, length), nil)
	if err != nil {
		return nil, nil, err
	}
	derived, err := expandLabel(newHash, early, "derived", newHash().Sum(nil), length)
	if err != nil {
		return nil, nil, err
	}
	handshake, err := hkdf.Extract(newHash, shared, derived)
	if err != nil {
		return nil, nil, err
	}
	traffic, err := expandLabel(newHash, handshake, "s hs traffic", transcript, length)
	if err != nil {
		return nil, nil, err
	}
	if key, err = expandLabel(newHash, traffic, "key", nil, size); err != nil {
		return nil, nil, err
	}
	iv, err = expandLabel(newHash, traffic, "iv", nil, 12)
	return key, iv, err
}

func expandLabel(newHash func() hash.Hash, secret []byte, label string, context []byte, size int) ([]byte, error) {
	var b cryptobyte.Builder
	b.AddUint16(uint16(size))
	b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte("tls13 " + label)) })
	b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(context) })
	return hkdf.Expand(newHash, secret, string(b.BytesOrPanic()), size)
}

// errUndecipherable says that a record is not encrypted with the key that was agreed on.
var errUndecipherable = errors.New("a record cannot be decrypted")

// recordData is the type of encrypted records (RFC 8446 section 5.2).
const recordData = 23

// An opener decrypts records, and hands them on as if they had not been encrypted.
type opener struct {
	in     io.Reader
	aead   cipher.AEAD
	iv     []byte
	number uint64
	opened bytes.Reader // of the last record
	sealed [maxRecord]byte
}

// Read implements [io.Reader].
func (o *opener) Read(p []byte) (int, error) {
	for o.opened.Len() == 0 {
		if err := o.record(); err != nil {
			return 0, err
		}
	}
	return o.opened.Read(p)
}

// record reads the next record. Those that are not encrypted are handed on as they are (RFC 8446 section 5).
func (o *opener) record() error {
	var head [5]byte
	if _, err := io.ReadFull(o.in, head[:]); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint16(head[3:]))
	if size > maxRecord {
		return errTooMuch
	}
	sealed := o.sealed[:size]
	if _, err := io.ReadFull(o.in, sealed); err != nil {
		return err
	}
	if head[0] != recordData {
		o.opened.Reset(append(head[:], sealed...))
		return nil
	}
	nonce := bytes.Clone(o.iv)
	for i := range 8 {
		nonce[len(nonce)-1-i] ^= byte(o.number >> (8 * i))
	}
	o.number++
	plain, err := o.aead.Open(nil, nonce, sealed, head[:])
	if err != nil {
		return errUndecipherable
	}
	plain = bytes.TrimRight(plain, "\x00") // padding (RFC 8446 section 5.4)
	if len(plain) == 0 {
		return errUndecipherable
	}
	last := len(plain) - 1
	record := binary.BigEndian.AppendUint16([]byte{plain[last], 3, 3}, uint16(last))
	o.opened.Reset(append(record, plain[:last]...))
	return nil
}
