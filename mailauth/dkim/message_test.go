package dkim_test

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/stretchr/testify/require"
)

// verifyWith verifies a message against one key at s1._domainkey.example.org.
func verifyWith(t testing.TB, text string, o dkim.Options) *dkim.Verification {
	dns := records{"s1._domainkey.example.org.": keyRecord(keys().rsa)}
	v, err := dkim.Verify(t.Context(), dns.env(), []byte(text), o)
	require.NoError(t, err)
	return v
}

func TestVerifyOddMessages(t *testing.T) {
	for _, text := range []string{"", "\r\n", "\n", "\r", "a", "a: b", "a: b\r\n", "\r\n\r\nbody", "\xff\xfe", ":\r\n:", "From x\r\na: b"} {
		v := verifyWith(t, text, dkim.Options{})
		require.Empty(t, v.Signatures)
		require.Equal(t, dkim.None, v.Result())
	}
	for _, field := range []string{"DKIM-Signature", "DKIM-Signature:", "dkim-signature : ;", "DKIM-Signature: b=", "DKIM-Signature: b=;b"} {
		v := verifyWith(t, field, dkim.Options{})
		require.NotEqual(t, dkim.Pass, v.Result())
	}
	header, _, _ := strings.Cut(sign(t, keys().rsa, simple, strings.Split(mail, "\r\n\r\n")[0]+"\r\n"), "\r\n\r\n")
	require.Equal(t, dkim.Pass, verifyWith(t, header, dkim.Options{}).Result())            // neither blank line nor body
	require.Equal(t, dkim.Pass, verifyWith(t, header+"\r\n\r\n", dkim.Options{}).Result()) // RFC 6376 section 3.4.3
	v := verifyWith(t, "DomainKey-Signature: a=rsa-sha1; q=dns; c=nofws; s=s1; d=example.org; b=AAAA\r\n"+mail, dkim.Options{})
	require.Equal(t, 1, v.Historic)
	require.Equal(t, dkim.None, v.Result())
}

func TestVerifyHeaderOnly(t *testing.T) {
	text := sign(t, keys().rsa, relaxed, mail)
	header, _, _ := strings.Cut(text, "\r\n\r\n")
	r := verifyWith(t, header, dkim.Options{HeaderOnly: true}).Signatures[0]
	require.Equal(t, dkim.Unchecked, r.Result)
	require.Nil(t, r.Verified)
	require.Nil(t, r.BodyHashOK)
	require.True(t, *r.SignatureOK)
	r = verifyWith(t, strings.Replace(header, "To: bob", "To: eve", 1), dkim.Options{HeaderOnly: true}).Signatures[0]
	require.Equal(t, dkim.Fail, r.Result)
	require.False(t, *r.Verified)
}

func TestVerifyAt(t *testing.T) {
	text := sign(t, keys().rsa, relaxed+"; t=1793000000; x=1793400000", mail)
	require.Equal(t, dkim.Policy, verifyWith(t, text, dkim.Options{}).Result())
	require.Equal(t, dkim.Pass, verifyWith(t, text, dkim.Options{At: time.Unix(1793400000, 0)}).Result())
}

func TestVerifyCoverage(t *testing.T) {
	text := sign(t, keys().rsa, relaxed+":from:cc:DKIM-Signature:received", "Received: 1\r\nReceived: 2\r\nReply-To: c\r\n"+mail)
	r := verifyWith(t, text, dkim.Options{}).Signatures[0]
	require.Equal(t, dkim.Pass, r.Result, r.Reason)
	var list []string
	for _, f := range r.Fields {
		list = append(list, fmt.Sprintf("%s %d/%d/%d %v %v %d", f.Name, f.Listed, f.Present, f.Signed, f.Oversigned, f.Present == 0, f.Unsigned()))
	}
	require.Equal(t, []string{
		"from 2/1/1 true false 0", "to 1/1/1 false false 0", "subject 1/1/1 false false 0", "date 1/1/1 false false 0",
		"cc 1/0/0 true true 0", "dkim-signature 1/0/0 true true 0", "received 1/2/1 false false 1",
	}, list)
	require.Equal(t, []string{"reply-to", "mime-version"}, r.Unsigned)
}

func TestVerifyManySignatures(t *testing.T) {
	text := mail
	for i := range dkim.MaxSignatures + 5 {
		text = fmt.Sprintf("DKIM-Signature: v=1; a=rsa-sha256; d=example.org; s=s%d; h=From; bh=AAAA; b=AAAA\r\n", i) + text
	}
	v := verifyWith(t, text, dkim.Options{})
	require.Len(t, v.Signatures, dkim.MaxSignatures)
	require.Equal(t, 5, v.Surplus)
	require.Equal(t, "s54", v.Signatures[0].Selector) // in the order of the message
}

func TestVerifyLongHeader(t *testing.T) {
	text := sign(t, keys().rsa, relaxed, mail)
	at := strings.Index(text, "From: ")
	v := verifyWith(t, text[:at]+strings.Repeat("X: y\r\n", 50_000)+text[at:], dkim.Options{})
	require.Equal(t, dkim.Neutral, v.Signatures[0].Result)
	require.Equal(t, dkim.HeaderTooLong, v.Signatures[0].Cause)
}

func TestVerifySeveralKeys(t *testing.T) {
	w := diagtest.NewWorld(t)
	key := keyRecord(keys().ed25519)
	w.Zone(fmt.Sprintf("s1._domainkey.example.org. 300 IN TXT \"%s\"\ns1._domainkey.example.org. 300 IN TXT \"%s; n=old\"\n", key, key))
	v, err := dkim.Verify(t.Context(), w.Env(), []byte(sign(t, keys().ed25519, edwards, mail)), dkim.Options{})
	require.NoError(t, err)
	require.Equal(t, dkim.KeyAmbiguous, v.Signatures[0].Cause)
	require.Equal(t, dkim.PermError, v.Signatures[0].Result)
	require.True(t, *v.Signatures[0].SignatureOK)
}

// A key that is too large is not computed with, whatever it is.
func TestVerifyLargeKey(t *testing.T) {
	n := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 9001), big.NewInt(1))
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n, E: 65537})
	require.NoError(t, err)
	dns := records{"s1._domainkey.example.org.": "v=DKIM1; p=" + base64.StdEncoding.EncodeToString(der)}
	v, err := dkim.Verify(t.Context(), dns.env(), []byte(sign(t, keys().rsa, relaxed, mail)), dkim.Options{})
	require.NoError(t, err)
	require.Equal(t, dkim.KeyUnusable, v.Signatures[0].Cause, v.Signatures[0].Reason)
	require.Nil(t, v.Signatures[0].SignatureOK)
}

// TestRoundTripsOfVerify: however many keys, one round trip.
func TestRoundTripsOfVerify(t *testing.T) {
	text := mail
	for _, tags := range []string{edwards, edwards, strings.Replace(edwards, "s=s1", "s=s2", 1), strings.Replace(edwards, "s=s1", "s=s3", 1)} {
		text = sign(t, keys().ed25519, tags, text)
	}
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		for _, s := range []string{"s1", "s2"} {
			w.Zone(fmt.Sprintf("%s._domainkey.example.org. 300 IN TXT \"%s\"", s, keyRecord(keys().ed25519)))
		}
	}, func(ctx context.Context, env *diag.Env) {
		v, err := dkim.Verify(ctx, env, []byte(text), dkim.Options{})
		require.NoError(t, err)
		require.Equal(t, dkim.PermError, v.Signatures[0].Result)
		require.Equal(t, dkim.Pass, v.Signatures[3].Result)
	})
	require.Equal(t, 1, trips)
}

func TestVerifyContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := dkim.Verify(ctx, records{}.env(), []byte(sign(t, keys().ed25519, edwards, mail)), dkim.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestExplain finds what the signer did wrong, and what programs do to messages.
func TestExplain(t *testing.T) {
	quoted := "From: a\r\n\r\nHello\r\nFrom here on = 1\r\n"
	encode := func(s string) string {
		head, body, _ := strings.Cut(s, "\r\n\r\n")
		return head + "\r\nContent-Transfer-Encoding: Quoted-Printable\r\n\r\n" + strings.ReplaceAll(body, "=", "=3D")
	}
	tests := []struct {
		name   string
		signer signer
		change func(string) string
		cause  dkim.Cause
	}{
		{"quoted-printable", signer{tags: relaxed}, encode, dkim.BodyReencoded},
		{"mailbox", signer{tags: relaxed}, replace("\r\nFrom here", "\r\n>From here"), dkim.MailboxQuoted},
		{"simple body", signer{tags: relaxed, body: dkim.Simple}, replace("Hello", "Hello "), dkim.BodyChanged},
		{"simple body called relaxed", signer{tags: relaxed, body: dkim.Simple}, nil, dkim.WrongCanonicalization},
		{"relaxed header called simple", signer{tags: simple, header: dkim.Relaxed}, nil, dkim.WrongCanonicalization},
		{"other hash", signer{tags: relaxed, hash: crypto.SHA1}, nil, dkim.OtherHash},
		{"other hash of the body", signer{tags: relaxed, bodyHash: crypto.SHA1}, nil, dkim.BodyChanged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.signer.key = keys().rsa
			text := tt.signer.sign(t, strings.Replace(quoted, "= 1", "=  1", 1))
			if tt.change != nil {
				text = tt.change(text)
			}
			r := verifyWith(t, text, dkim.Options{}).Signatures[0]
			require.Equal(t, dkim.Fail, r.Result)
			require.Equal(t, tt.cause, r.Cause, r.Reason)
		})
	}
}

// The length of the result is bounded for any message.
func TestVerifyManyNames(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	names := "From"
	for i := range 20_000 {
		names += fmt.Sprintf(":x%d", i)
	}
	r := verifyWith(t, sign(t, keys().rsa, "v=1; a=rsa-sha256; d=example.org; s=s1; h="+names, mail), dkim.Options{}).Signatures[0]
	require.Equal(t, dkim.Neutral, r.Result) // beyond MaxSignatureBytes
	names = names[:10_000]
	r = verifyWith(t, sign(t, keys().rsa, "v=1; a=rsa-sha256; d=example.org; s=s1; h="+names, mail), dkim.Options{}).Signatures[0]
	require.Equal(t, dkim.Pass, r.Result, r.Reason)
	require.Len(t, r.Fields, dkim.MaxFields)
}
