package dkim_test

import (
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

func BenchmarkVerify(b *testing.B) {
	for _, canonical := range []string{"simple/simple", "relaxed/relaxed"} {
		text, dns := large(b, canonical)
		b.Run(canonical+"/diagkit", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				v, err := dkim.Verify(b.Context(), dns.env(), []byte(text), dkim.Options{})
				require.NoError(b, err)
				require.Equal(b, dkim.Pass, v.Result())
			}
		})
		b.Run(canonical+"/go-msgauth", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				v, err := msgauth.VerifyWithOptions(strings.NewReader(text), &msgauth.VerifyOptions{LookupTXT: dns.lookup})
				require.NoError(b, err)
				require.NoError(b, v[0].Err)
			}
		})
	}
}
