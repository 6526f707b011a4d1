//go:build !race

package dkim_test

// The race detector makes these many times slower, and nothing in them runs concurrently.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
	msgauth "github.com/emersion/go-msgauth/dkim"
	"github.com/stretchr/testify/require"
)

// TestDifferentialGenerated has go-msgauth sign messages of all shapes, damages some, and compares the verdicts.
func TestDifferentialGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	dns := records{"rsa._domainkey.example.org.": keyRecord(keys().rsa), "ed._domainkey.example.org.": keyRecord(keys().ed25519)}
	passed, failed := 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := randomMail(r)
		options := &msgauth.SignOptions{
			Domain: "example.org", Selector: "ed", Signer: keys().ed25519,
			HeaderCanonicalization: pick(r, msgauth.CanonicalizationSimple, msgauth.CanonicalizationRelaxed),
			BodyCanonicalization:   pick(r, msgauth.CanonicalizationSimple, msgauth.CanonicalizationRelaxed),
			HeaderKeys:             pick(r, nil, []string{"From", "From", "Subject"}, []string{"from", "x-a", "x-a", "x-a"}),
		}
		if seed%4 == 0 {
			options.Selector, options.Signer = "rsa", keys().rsa
		}
		var signed strings.Builder
		require.NoError(t, msgauth.Sign(&signed, strings.NewReader(text), options))
		name := fmt.Sprintf("seed %d", seed)
		v, err := dkim.Verify(t.Context(), dns.env(), []byte(signed.String()), dkim.Options{At: time.Now()})
		require.NoError(t, err)
		require.Equal(t, dkim.Pass, v.Result(), "%s: %s\n%q", name, v.Signatures[0].Reason, signed.String())
		damaged := damage(r, signed.String())
		if n, _ := compare(t, name, damaged, dns); n > 0 {
			if v, _ := dkim.Verify(t.Context(), dns.env(), []byte(damaged), dkim.Options{}); v.Result() == dkim.Pass {
				passed++
			} else {
				failed++
			}
		}
	}
	require.Positive(t, passed)
	require.Positive(t, failed)
	t.Logf("damaged messages: %d pass all the same, %d do not", passed, failed)
}

// TestHostile verifies what is made to be slow. Each case takes a fraction of a second; work that grew with the
// square of the input would take minutes.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	name := strings.Repeat("a:", 100_000)
	tests := []struct {
		name, text string
	}{
		{"thousands of signatures", strings.Repeat("DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=s1; h=From; bh=AAAA; b=AAAA\r\n", 3000)},
		{"distinct keys", strings.Repeat("DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=s1; h=From; bh=AAAA; b=AAAA; l=1\r\n", 2500)},
		{"100,000 names", "DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=s1; h=From:" + name + "; bh=AAAA; b=AAAA\r\n"},
		{"names up to the limit", strings.Repeat("DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=s1; h=From:"+
			strings.Repeat("a:", 25_000)+"; bh=AAAA; b=AAAA\r\na: b\r\n", 5)},
		{"a tag a byte", "DKIM-Signature: " + strings.Repeat("a=;", 21_000) + "\r\n"},
		{"semicolons", "DKIM-Signature: " + strings.Repeat(";", 60_000) + "\r\n"},
		{"fields of one name", "DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=s1; h=From:" + strings.Repeat("a:", 20_000) +
			"; bh=AAAA; b=AAAA\r\n" + strings.Repeat("a:\r\n", 40_000)},
		{"what cannot be explained", strings.Repeat("DKIM-Signature: v=1; a=ed25519-sha256; d=example.org; s=ed; h=From:Subject:"+
			strings.Repeat("a:", 60)+"; bh=AAAA; b="+strings.Repeat("A", 88)+"\r\n", 60) + strings.Repeat("Reply-To: a\r\n", 100) +
			"From: a\r\nSubject: a b c d e f g h\r\n" + strings.Repeat("a: b\r\n", 60)},
		{"no end of the header", strings.Repeat("a: b\r\n", 900_000)},
		{"blank lines", "From: a\r\n\r\n" + strings.Repeat("\r\n", 2_600_000)},
		{"white space", "From: a\r\n\r\n" + strings.Repeat(" \t", 2_600_000)},
		{"words", "From: a\r\n\r\n" + strings.Repeat("a ", 2_600_000)},
	}
	signed := sign(t, keys().rsa, "v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.org; s=s1; h=From:To:Subject", mail)
	dns := records{
		"s1._domainkey.example.org.": keyRecord(keys().rsa), "ed._domainkey.example.org.": keyRecord(keys().ed25519),
	}
	head, _, _ := strings.Cut(signed, "From: ")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := head + tt.text
			if !strings.Contains(text, "\r\n\r\n") {
				text += "\r\n" + strings.Repeat("body \r\n", 700_000)
			}
			began := diagtest.ProcessorTime()
			v, err := dkim.Verify(t.Context(), dns.env(), bytes.Clone([]byte(text)), dkim.Options{})
			require.NoError(t, err)
			require.LessOrEqual(t, len(v.Signatures), dkim.MaxSignatures)
			require.Less(t, diagtest.ProcessorTime()-began, 20*time.Second)
			t.Logf("%d bytes, %d signatures and %d more: %v", len(text), len(v.Signatures), v.Surplus, diagtest.ProcessorTime()-began)
		})
	}
}
