package notify

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMailKey(t *testing.T) {
	text := func(kind string, key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		if k, ok := key.(*rsa.PrivateKey); ok && kind == "RSA PRIVATE KEY" {
			der = x509.MarshalPKCS1PrivateKey(k)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	rsaKey := func(bits int) *rsa.PrivateKey {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		require.NoError(t, err)
		return key
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	good, weak := rsaKey(2048), rsaKey(1024)
	for _, tt := range []struct{ name, text, want string }{
		{"RSA", text("PRIVATE KEY", good), ""},
		{"RSA of old", text("RSA PRIVATE KEY", good), ""},
		{"Ed25519", text("PRIVATE KEY", ed25519.NewKeyFromSeed(make([]byte, 32))), ""},
		{"weak", text("PRIVATE KEY", weak), "1024 bits"},
		{"curve", text("PRIVATE KEY", curve), "neither RSA nor Ed25519"},
		{"encrypted", text("ENCRYPTED PRIVATE KEY", good), "encrypted"},
		{"certificate", text("CERTIFICATE", good), `"CERTIFICATE"`},
		{"cut off", strings.Replace(text("PRIVATE KEY", good), "M", "N", 1), "cannot be read"},
		{"nothing", "", "no PEM block"},
	} {
		key, err := ParseMailKey([]byte(tt.text))
		if tt.want == "" {
			require.NoError(t, err, tt.name)
			require.NotNil(t, key)
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.name)
		require.Nil(t, key)
	}
}

// No input of a caller of Send injects a header field.
func TestSendRefuses(t *testing.T) {
	require.ErrorContains(t, (*MailServer)(nil).Send(t.Context(), "a@example.com", "x", "y"), "--mail-server")
	s, err := ParseMailServer("submission://mail.example.net", "diagd@example.net")
	require.NoError(t, err)
	for _, to := range []string{"", "a", "a@example.com\r\nBcc: b@example.com", "A <a@example.com>", "a@example.com,b@example.com"} {
		require.ErrorContains(t, s.Send(t.Context(), to, "x", "y"), "mail address", to)
	}
	l := letter{id: "msg_x", to: "a@example.com", subject: "x\r\nBcc: b@example.com\r\n\r\nbody", text: "y"}
	text, err := l.write("diagd@example.net", nil)
	require.NoError(t, err)
	require.NotContains(t, string(text), "\nBcc")
	require.Equal(t, 1, strings.Count(string(text), "\r\n\r\n"))
}
