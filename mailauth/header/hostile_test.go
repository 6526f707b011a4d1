package header

import (
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/internal/filters"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/require"
)

// hostile returns headers of 256 KiB that are crafted to be slow to read.
func hostile() map[string]string {
	fill := func(begin, unit string) string {
		return begin + strings.Repeat(unit, (message.MaxHeaderBytes-len(begin))/len(unit))
	}
	return map[string]string{
		"one line":            fill("Subject: ", "a"),
		"many fields":         fill("", "a:\n"),
		"many Received":       fill("", "Received: x; y\n"),
		"many real Received":  fill("", "Received: from a ([1.2.3.4]) by b; Sun, 1 Nov 2026 09:00:04 +0000\n"),
		"nested comments":     fill("Received: from a ", "("),
		"closed comments":     fill("Received: from a ", "(a [1.2.3.4])"),
		"brackets":            fill("Received: from a ", "[1.1.1."),
		"semicolons":          fill("Received: from a ", ";"),
		"one result":          fill("Authentication-Results: a; ", "spf=pass "),
		"many results":        fill("", "Authentication-Results: a; dmarc=pass\n"),
		"many foreign":        fill("Received: from a by mx.example.com; x\nAuthentication-Results: mx.example.com; dmarc=fail\n", "Authentication-Results: a.b.example; dmarc=pass\n"),
		"many in one":         fill("Authentication-Results: a; ", "dkim=pass header.d=a.example;"),
		"authors":             fill("From: ", "a@b.example,"),
		"different authors":   fill("From: ", "a@\u00fcb.example,"),
		"many From":           fill("", "From: a@b.example\n"),
		"display name":        fill("From: \"", "a@b.example ") + "\" <a@b>",
		"encoded words":       fill("Subject: ", "=?utf-8?Q?a?= "),
		"signature":           fill("DKIM-Signature: ", "v=1;"),
		"signed names":        fill("DKIM-Signature: v=1; h=", "a:"),
		"many signatures":     fill("", "DKIM-Signature: v=1; a=rsa-sha256; d=a.example; h=from\n"),
		"many seals":          fill("", "ARC-Seal: i=1\n"),
		"tests of a filter":   fill("X-Spam-Status: Yes, score=5 tests=", "A,"),
		"many filters":        fill("", "X-Spam-Flag: YES\n"),
		"addresses to leave":  fill("List-Unsubscribe: ", "<https://a>,"),
		"malformed lines":     fill("A: b\n", "x\n"),
		"control characters":  fill("A: b", "\r\x00"),
		"signs of quoting":    fill("", "> > > > > >"),
		"encoded equals":      fill("v=3D", "=3D"),
		"folded without end":  fill("A: b", "\n "),
		"label after label":   fill("From: a@", "a."),
		"mixed line of bytes": fill("From: a@", "\xff\u00fc"),
	}
}

// Every header is read quickly, whatever its content.
func TestHostileHeaders(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			began := diagtest.ProcessorTime()
			r := audit(t, text)
			took := diagtest.ProcessorTime() - began
			require.NotEmpty(t, r.Headline)
			t.Log(took)
			require.Less(t, took, 5*time.Second)
		})
	}
}

// Any text is audited, and its report encodes as JSON and stays within bounds.
func FuzzAudit(f *testing.F) {
	f.Add(good)
	f.Add("From: a\nReceived: from x by y; z\n" + arcSet)
	f.Add("X-Forefront-Antispam-Report: SCL:5;CAT:SPOOF\nX-Spamd-Result: default: False [1.4 / 15]; A(1)[b]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || len(text) > message.MaxHeaderBytes {
			return
		}
		r := audit(t, text)
		if r.Headline == "" || len(r.Hops) > route.MaxHops || len(r.SpamVerdicts) > 2*filters.MaxVerdicts {
			t.Errorf("%q: %s, %d hops", text, r.Headline, len(r.Hops))
		}
		for _, finding := range r.Findings {
			if !strings.HasSuffix(finding.Detail, ".") || strings.ContainsAny(finding.Detail, "\n\x00") {
				t.Errorf("%q", finding.Detail)
			}
		}
	})
}

func BenchmarkAudit(b *testing.B) {
	b.SetBytes(int64(len(good)))
	b.ReportAllocs()
	for b.Loop() {
		audit(b, good)
	}
}
