package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A private key that was pasted in place of a signing request is reported, and appears nowhere afterwards: not in
// replies, replays, logs or the files of the store. Neither does one in a request that is refused.
func TestPastedPrivateKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	bare := base64.StdEncoding.EncodeToString(der)

	dir := t.TempDir()
	s := start(t, "--store=sqlite:"+filepath.Join(dir, "diag.db"), "--log-level=debug", "--log-format=json", "--ip-rate=0")
	seen := &bytes.Buffer{}
	for _, c := range []struct {
		body   string
		status int
	}{
		{`{"csr":` + string(quoted) + `}`, http.StatusOK}, {`{"csr":"` + bare + `"}`, http.StatusOK}, {`{"csr":"` + bare[:100] + `"}`, http.StatusOK},
		{`{"csr":[` + string(quoted) + `]}`, http.StatusBadRequest}, {`{"csr":` + string(quoted) + `,"x":1}`, http.StatusBadRequest},
		{`{"csr":` + string(quoted), http.StatusBadRequest}, {`{"pem":` + string(quoted) + `}`, http.StatusBadRequest}, {text, http.StatusBadRequest},
	} {
		idempotency := "key-of-this-case-" + strings.Repeat("x", seen.Len()%50)
		for range 2 { // the second is a replay
			r := s.post("/certificates/csr/parse", c.body, "Idempotency-Key", idempotency)
			require.Equal(t, c.status, r.status, r.body)
			if c.status == http.StatusOK {
				require.Contains(t, r.body, `"csr.private_key.present"`)
			}
			seen.WriteString(r.body)
			require.NoError(t, r.header.Write(seen))
		}
	}
	var hidden []string
	for i := 0; i+32 <= len(bare); i += 32 {
		hidden = append(hidden, bare[i:i+32])
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-") && len(line) > 20 {
			hidden = append(hidden, line)
		}
	}
	assertAbsent(t, "what was seen", seen.Bytes(), hidden)
	assertFilesHide(t, dir, hidden)
	require.Equal(t, exitOK, s.wait())
	assertFilesHide(t, dir, hidden)
	assertAbsent(t, "log", []byte(s.log.String()), hidden)
}
