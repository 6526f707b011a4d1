package member

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"

	"github.com/diagkit/diagkit/metering"
)

// Leave keeps a text for a page of a session, such as the secret of a new key for the page of that key. It is sealed by
// the secret of the session, which no store holds, and takes the place of one that nobody has taken.
func (m Members) Leave(ctx context.Context, secret, page, text string) error {
	seal, err := sealer(secret)
	if err != nil {
		return err
	}
	nonce := make([]byte, seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return m.editLeft(ctx, secret, func(b *entryBody) { b.Left = seal.Seal(nonce, nonce, []byte(text), []byte(page)) })
}

// Take returns what was left for a page, once. It is empty if nothing was.
func (m Members) Take(ctx context.Context, secret string, s Session, page string) (text string, err error) {
	b, err := s.body()
	if err != nil || b.Left == nil {
		return "", err
	}
	seal, err := sealer(secret)
	if err != nil || len(b.Left) < seal.NonceSize() {
		return "", err
	}
	plain, err := seal.Open(nil, b.Left[:seal.NonceSize()], b.Left[seal.NonceSize():], []byte(page))
	if err != nil { // it is for another page
		return "", nil
	}
	return string(plain), m.editLeft(ctx, secret, func(b *entryBody) { b.Left = nil })
}

// editLeft edits a session as it is now.
func (m Members) editLeft(ctx context.Context, secret string, edit func(*entryBody)) error {
	for range versionTries {
		r, err := m.byToken(ctx, sessionKind, secret)
		if err != nil {
			return err
		}
		s, err := parseSession(r)
		if err != nil {
			return err
		}
		if err := m.note(ctx, &s, edit); !errors.Is(err, metering.ErrVersion) {
			return err
		}
	}
	return metering.ErrVersion
}

// sealer is AES-256-GCM under a key that only the secret of a session tells.
func sealer(secret string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte("left in the session\n" + secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
