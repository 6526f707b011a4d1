package dkim_test

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/require"
)

// keys are those that the tests sign with.
var keys = sync.OnceValue(func() (k struct{ rsa, other, ed25519 crypto.Signer }) {
	k.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	k.other, _ = rsa.GenerateKey(rand.Reader, 2048)
	_, k.ed25519, _ = ed25519.GenerateKey(rand.Reader)
	return k
})

// keyRecord is the record of a key.
func keyRecord(key crypto.Signer) string {
	if public, ok := key.Public().(ed25519.PublicKey); ok {
		return "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)
	}
	der, _ := x509.MarshalPKIXPublicKey(key.Public())
	return "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der)
}

// A signer puts a signature in front of a message. Tags are all but bh and b.
type signer struct {
	key            crypto.Signer
	tags           string
	header, body   dkim.Canonicalization // override c=, if set
	hash, bodyHash crypto.Hash           // override a=
}

func sign(t testing.TB, key crypto.Signer, tags, text string) string {
	return signer{key: key, tags: tags}.sign(t, text)
}

func (w signer) sign(t testing.TB, text string) string {
	t.Helper()
	s := dkim.ParseSignature(dkim.DKIMSignature, w.tags)
	w.header, w.body = cmp.Or(w.header, s.Header), cmp.Or(w.body, s.Body)
	w.hash = cmp.Or(w.hash, s.Hash, crypto.SHA256)
	w.bodyHash = cmp.Or(w.bodyHash, s.Hash, crypto.SHA256)
	m := message.Split([]byte(text))
	var body bytes.Buffer
	w.body.WriteBody(&body, m.Body)
	if s.Length != nil {
		body.Truncate(int(min(*s.Length, int64(body.Len()))))
	}
	field := "DKIM-Signature: " + w.tags + "; bh=" + base64.StdEncoding.EncodeToString(sum(w.bodyHash, body.Bytes())) + ";\r\n\tb="
	var header []byte
	taken := map[string]int{}
	for _, name := range s.Names {
		all := m.All(name)
		name = strings.ToLower(name)
		if n := len(all) - 1 - taken[name]; n >= 0 {
			header = w.header.AppendField(header, all[n].Raw)
			taken[name]++
		}
	}
	header = append(header, bytes.TrimSuffix(w.header.AppendField(nil, []byte(field)), []byte("\r\n"))...)
	digest, options := sum(w.hash, header), w.hash
	if _, ok := w.key.(ed25519.PrivateKey); ok {
		options = 0
	}
	signature, err := w.key.Sign(rand.Reader, digest, options)
	require.NoError(t, err)
	return field + fold(base64.StdEncoding.EncodeToString(signature)) + "\r\n" + text
}

func sum(hash crypto.Hash, data []byte) []byte {
	h := hash.New()
	h.Write(data)
	return h.Sum(nil)
}

func fold(s string) string {
	var b strings.Builder
	for ; len(s) > 70; s = s[70:] {
		b.WriteString(s[:70] + "\r\n\t ")
	}
	return b.String() + s
}

// lf turns the line ends into those of files.
func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

var emptyHash = regexp.MustCompile(`bh=[^;]+;`)

// sign3 writes a verdict in one character.
func sign3(ok *bool) string {
	switch {
	case ok == nil:
		return "?"
	case *ok:
		return "+"
	default:
		return "-"
	}
}
