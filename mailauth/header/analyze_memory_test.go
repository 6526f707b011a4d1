//go:build !race

package header

// The race detector uses additional memory.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// hostileMessages are of maximum size and crafted to consume memory and time.
func hostileMessages(t testing.TB) map[string]string {
	fill := func(head, unit string) string {
		return head + "\n" + strings.Repeat(unit, (maxMessageBytes-len(head)-1)/len(unit))
	}
	header := func(unit string) string { return strings.Repeat(unit, (250<<10)/len(unit)) }
	hash, signature := strings.Repeat("A", 43)+"=", strings.Repeat("A", 86)+"=="
	var lengths, selectors, received strings.Builder
	for i := range 50 {
		fmt.Fprintf(&lengths, "DKIM-Signature: v=1; a=ed25519-sha256; c=simple/relaxed; d=example.org; s=s1; h=from; l=%d; bh=%s; b=%s\n",
			maxMessageBytes/2-10*i, hash, signature)
		fmt.Fprintf(&selectors, "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.org; s=s1; i=@a%d.example.org; h=%s; bh=%s; b=%s\n",
			i, strings.Repeat("from:", 800), hash, signature)
	}
	for i := range 2000 {
		fmt.Fprintf(&received, "Received: from a%d.test ([203.0.113.9]) by b%[1]d.test with ESMTP id %[1]d for <c@d.test>; Sun, 01 Nov 2026 09:00:04 +0000\n", i)
	}
	const from = "From: a@example.org\n"
	return map[string]string{
		"body":       fill(direct+signed(t, letter, "example.org", nil)+"\n", "another line of the body\n"),
		"lengths":    fill(lengths.String()+from, "a \t b\n"),
		"signatures": fill(selectors.String()+from, "a\n"),
		"fields":     fill(header("a:\n")+from, "a\n"),
		"results":    fill("Authentication-Results: mx; "+header("spf=a ")+"\n"+from, "a\n"),
		"received":   fill(received.String()+from, "a\n"),
		"base64": fill(direct+strings.Replace(headOf(signed(t, letter, "example.org", nil)), "text/plain",
			"text/plain\nContent-Transfer-Encoding: base64", 1), strings.Repeat("QUJD", 18)+"\n"),
		"line ends":          fill(lengths.String()+from, "a\r\r\n"),
		"one line":           fill(direct+signed(t, letter, "example.org", nil)+"\n", "a"),
		"header: fields":     header("a:\n") + from,
		"header: results":    "Authentication-Results: mx; " + header("spf=a ") + "\n" + from,
		"header: received":   received.String() + from,
		"header: signatures": selectors.String() + from,
		"header: verdicts":   header("X-Mimecast-Impersonation-Protect: "+strings.Repeat("a=b;", 30)+"\n") + from,
		"header: addresses":  "From: " + header("a@b.c, ") + "\n",
		"blank":              fill(lengths.String()+from, "\r\n"),
	}
}

// The memory of an analysis stays within the estimate of its request.
func TestMemoryOfAnalyze(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	env := mailWorld(t).Env()
	for name, text := range hostileMessages(t) {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(text), maxMessageBytes)
			req := AnalyzeRequest{Message: text}
			if strings.HasPrefix(name, "header: ") {
				req = AnalyzeRequest{Headers: text}
			}
			weight := req.Memory()
			var r *AnalyzeReport
			var took time.Duration
			live := diagtest.LiveBytes(weight, func() {
				begin := time.Now()
				r, _ = Analyze(t.Context(), env, req)
				took = time.Since(begin)
			})
			reply, err := json.Marshal(r)
			require.NoError(t, err)
			t.Logf("%d KiB of %d, %d KiB of reply, %v", (live)>>10, weight>>10, len(reply)>>10, took)
			require.LessOrEqual(t, live+2*int64(len(reply)), weight)
		})
	}
}

// BenchmarkAnalyze analyzes an ordinary message without the DNS.
func BenchmarkAnalyze(b *testing.B) {
	text := []byte(direct + signed(b, letter, "example.org", nil))
	text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	env := mailWorld(b).Env()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(b.Context(), env, AnalyzeRequest{MessageBase64: text}); err != nil {
			b.Fatal(err)
		}
	}
}
