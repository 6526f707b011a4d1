package header

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/require"
)

// signatureField makes a field with a signature over these fields, which go-msgauth does not support.
func signatureField(field string, covered [][]byte) string {
	var header []byte
	for _, raw := range covered {
		header = dkim.Relaxed.AppendField(header, raw)
	}
	header = append(header, bytes.TrimSuffix(dkim.Relaxed.AppendField(nil, []byte(field)), []byte("\r\n"))...)
	digest := sha256.Sum256(header)
	return field + base64.StdEncoding.EncodeToString(ed25519.Sign(signingKey, digest[:])) + "\n"
}

// bodyHash returns the hash of the first most bytes of a body, or of the whole body if most is negative.
func bodyHash(body []byte, most int) string {
	var b bytes.Buffer
	dkim.Relaxed.WriteBody(&b, body)
	if most >= 0 {
		b.Truncate(most)
	}
	digest := sha256.Sum256(b.Bytes())
	return base64.StdEncoding.EncodeToString(digest[:])
}

// signedInPart signs a letter with l=, or all of its body with a negative length; the fields are those of h=, the
// lowest ones first.
func signedInPart(t testing.TB, text, names string, length int) string {
	t.Helper()
	m := message.Split([]byte(text))
	limit, taken, raw := "", map[string]int{}, [][]byte{}
	if length >= 0 {
		limit = fmt.Sprintf(" l=%d;", length)
	}
	for name := range strings.SplitSeq(names, ":") {
		all := m.All(name)
		if taken[name]++; taken[name] <= len(all) {
			raw = append(raw, all[len(all)-taken[name]].Raw)
		}
	}
	return signatureField(fmt.Sprintf("DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.org; s=s1; h=%s;%s bh=%s; b=",
		names, limit, bodyHash(m.Body, length)), raw) + text
}

// sealed puts a chain of ARC with one set before a message.
func sealed(t testing.TB, text string) string {
	t.Helper()
	m := message.Split([]byte(text))
	require.NotNil(t, m.First("From"))
	results := "ARC-Authentication-Results: i=1; fwd.example.net; dmarc=pass header.from=example.org\n"
	ams := signatureField("ARC-Message-Signature: i=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.net; s=s1; h=from; bh="+
		bodyHash(m.Body, -1)+"; b=", [][]byte{m.First("From").Raw})
	seal := signatureField("ARC-Seal: i=1; a=ed25519-sha256; t=1793523605; cv=none; d=example.net; s=s1; b=",
		[][]byte{[]byte(results), []byte(ams)})
	return strings.Join([]string{seal, ams, results, text}, "")
}
