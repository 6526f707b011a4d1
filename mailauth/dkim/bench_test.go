package dkim_test

import (
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/dkim"
	msgauth "github.com/emersion/go-msgauth/dkim"
	"github.com/stretchr/testify/require"
)

// large is a message of 5 MiB with two signatures, as providers sign for their customers.
func large(b testing.TB, canonical string) (text string, dns records) {
	line := "The quick  brown fox jumps over the lazy dog, and then over all the other ones.\r\n"
	text = "From: alice@example.org\r\nSubject: large\r\n\r\n" + strings.Repeat(line, 5<<20/len(line))
	tags := "v=1; a=rsa-sha256; c=" + canonical + "; d=example.org; s=s1; h=From:Subject"
	text = sign(b, keys().rsa, tags, sign(b, keys().rsa, tags, text))
	return text, records{"s1._domainkey.example.org.": keyRecord(keys().rsa)}
}

// BenchmarkVerifyOrdinary is a message as most are: 5 KB, one signature, with a key that was seen before.
func BenchmarkVerifyOrdinary(b *testing.B) {
	line := "The quick  brown fox jumps over the lazy dog, and then over all the other ones.\r\n"
	text := "From: alice@example.org\r\nTo: bob@example.com\r\nSubject: ordinary\r\n\r\n" + strings.Repeat(line, 5<<10/len(line))
	text = sign(b, keys().rsa, "v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.org; s=s1; h=From:To:Subject", text)
	benchmarkVerify(b, "", text, records{"s1._domainkey.example.org.": keyRecord(keys().rsa)})
}

// BenchmarkParseKey is a key of 2048 bits that was never seen before, and one that was.
func BenchmarkParseKey(b *testing.B) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(b, err)
	b.Run("new", func(b *testing.B) {
		public := key.PublicKey
		for b.Loop() {
			public.N = new(big.Int).Add(public.N, big.NewInt(1<<20))
			dkim.ParseKey(keyRecord(&rsa.PrivateKey{PublicKey: public}))
		}
	})
	record := keyRecord(key)
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			dkim.ParseKey(record)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	for _, canonical := range []string{"simple/simple", "relaxed/relaxed"} {
		text, dns := large(b, canonical)
		benchmarkVerify(b, canonical+"/", text, dns)
	}
}

// benchmarkVerify verifies a message with this package and with go-msgauth.
func benchmarkVerify(b *testing.B, prefix, text string, dns records) {
	b.Run(prefix+"diagkit", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			v, err := dkim.Verify(b.Context(), dns.env(), []byte(text), dkim.Options{})
			require.NoError(b, err)
			require.Equal(b, dkim.Pass, v.Result())
		}
	})
	b.Run(prefix+"go-msgauth", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			v, err := msgauth.VerifyWithOptions(strings.NewReader(text), &msgauth.VerifyOptions{LookupTXT: dns.lookup})
			require.NoError(b, err)
			require.NoError(b, v[0].Err)
		}
	})
}
