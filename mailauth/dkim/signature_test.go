package dkim_test

import (
	"crypto"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/stretchr/testify/require"
)

func TestParseSignature(t *testing.T) {
	value := " v=1; a=rsa-sha256; c=relaxed;\r\n\td=Example.ORG; s=S1.mail; t=1793523600; x=9999999999999;\r\n" +
		" h=From : To\r\n\t:from; l=0012; q=dns/txt; i=al=69ce@mail.=65xample.org;\r\n" +
		" z=From:alice@example.org|Subject:a=20b=7Cc; bh=AAEC; b=Aw\r\n\tQF\r\n"
	s := dkim.ParseSignature(dkim.DKIMSignature, value)
	require.NoError(t, s.Err())
	require.Empty(t, s.List.Faults)
	require.Equal(t, []any{"1", "rsa-sha256", dkim.RSA, crypto.SHA256, dkim.Relaxed, dkim.Simple},
		[]any{s.Version, s.Algorithm, s.KeyType, s.Hash, s.Header, s.Body})
	require.Equal(t, "example.org s1.mail s1.mail._domainkey.example.org", s.Domain.String()+" "+s.Selector+" "+s.KeyName.String())
	require.Equal(t, "alice@mail.example.org mail.example.org", s.Identity+" "+s.IdentityDomain().String())
	require.Equal(t, []string{"From", "To", "from"}, s.Names)
	require.Equal(t, int64(12), *s.Length)
	require.Equal(t, time.Unix(1793523600, 0).UTC(), *s.Time)
	require.Equal(t, 9999, s.Expires.Year())
	require.Equal(t, []dkim.Copied{{Name: "From", Value: "alice@example.org"}, {Name: "Subject", Value: "a b|c"}}, s.Copied)
	require.Equal(t, []byte{0, 1, 2}, s.BodyHash)
	require.Equal(t, []byte{3, 4, 5}, s.Bytes)
	for _, tag := range s.List.Tags {
		require.True(t, strings.HasPrefix(value[tag.Offset:], tag.Name+"="))
	}
}

func TestSignatureErrors(t *testing.T) {
	const good = "v=1; a=rsa-sha256; d=example.org; s=s1; h=From; bh=AAEC; b=AwQF"
	tests := []struct {
		kind  dkim.SignatureKind
		value string
		want  string // part of the error; empty without one
	}{
		{dkim.DKIMSignature, good, ""},
		{dkim.DKIMSignature, good + ";", ""},
		{dkim.DKIMSignature, good + "; unknown=1", ""},
		{dkim.DKIMSignature, strings.TrimPrefix(good, "v=1; "), ""}, // a draft
		{dkim.DKIMSignature, "", "a= is missing"},
		{dkim.DKIMSignature, good + ";; t=1", "nothing before a semicolon"},
		{dkim.DKIMSignature, good + "; t", "no equals sign"},
		{dkim.DKIMSignature, good + "; 1=2", "cannot be the name"},
		{dkim.DKIMSignature, good + "; b=AwQF", "appears again"},
		{dkim.DKIMSignature, good + "; t=", "t= is not a number"},
		{dkim.DKIMSignature, good + "; t=-1", "t=-1 is not a number"},
		{dkim.DKIMSignature, good + "; l=1e3", "l=1e3 is not a number"},
		{dkim.DKIMSignature, good + "; l=" + strings.Repeat("9", 76), ""},
		{dkim.DKIMSignature, good + "; c=", "c= is not one of"},
		{dkim.DKIMSignature, good + "; c=relaxed/", "c=relaxed/ is not one of"},
		{dkim.DKIMSignature, good + "; c=Relaxed", "c=Relaxed is not one of"},
		{dkim.DKIMSignature, good + "; i=alice", "is not an address"},
		{dkim.DKIMSignature, good + "; i=@", "is not an address"},
		{dkim.DKIMSignature, good + "; i=a@b@mail.example.org", ""},
		{dkim.DKIMSignature, strings.Replace(good, "h=From", "h=:", 1), "names no header field"},
		{dkim.DKIMSignature, strings.Replace(good, "s=s1", "s=", 1), "s= is not a selector"},
		{dkim.DKIMSignature, strings.Replace(good, "s=s1", "s=*", 1), "s=* is not a selector"},
		{dkim.DKIMSignature, strings.Replace(good, "s=s1", "s=a b", 1), "s=a b is not a selector"},
		{dkim.DKIMSignature, strings.Replace(good, "d=example.org", "d=192.0.2.1", 1), "is not a domain"},
		{dkim.DKIMSignature, strings.Replace(good, "d=example.org", "d=example.org s=s2", 1), "is not a domain"},
		{dkim.DKIMSignature, strings.Replace(good, "AwQF", "A.QF", 1), "b= is not valid base64"},
		{dkim.DKIMSignature, strings.Replace(good, "AwQF", "", 1), "b= is empty"},
		{dkim.DKIMSignature, strings.Repeat("a", dkim.MaxSignatureBytes+1), "more than the 65536"},

		{dkim.ARCMessage, "i=1; a=rsa-sha256; d=example.org; s=s1; h=To; bh=AAEC; b=AwQF", ""},
		{dkim.ARCMessage, "i=0; a=rsa-sha256; d=example.org; s=s1; h=To; bh=AAEC; b=AwQF", "not the number of an ARC set"},
		{dkim.ARCMessage, "i=1; a=rsa-sha256; d=example.org; s=s1; h=To:arc-seal; bh=AAEC; b=AwQF", "must not cover"},
		{dkim.ARCSeal, "i=2; a=rsa-sha256; d=example.org; s=s1; cv=pass; b=AwQF", ""},
		{dkim.ARCSeal, "i=2; a=rsa-sha256; d=example.org; s=s1; b=AwQF", "cv= is missing"},
		{dkim.ARCSeal, "i=2; a=rsa-sha256; d=example.org; s=s1; cv=Pass; b=AwQF", "cv=Pass is not"},
		{dkim.ARCSeal, "i=2; a=rsa-sha256; d=example.org; s=s1; cv=pass; h=From; b=AwQF", "must not have the tag h="},
	}
	for _, tt := range tests {
		err := dkim.ParseSignature(tt.kind, tt.value).Err()
		if tt.want == "" {
			require.NoError(t, err, "%q", tt.value)
		} else {
			require.ErrorContains(t, err, tt.want, "%q", tt.value)
		}
	}
}

// The positions of tags are correct, and a signature printed from them is the same one.
func FuzzSignature(f *testing.F) {
	f.Add("v=1; a=rsa-sha256; c=relaxed/simple; d=example.org; s=s1; h=From:To; bh=AAEC; b=AwQF; i=@mail.example.org; l=1", 0)
	f.Add("i=1; a=ed25519-sha256; d=example.org;\r\n\ts=s1; cv=none; b=AwQF", 2)
	f.Add("i=1; a=rsa-sha1; d=b\u00fccher.example; s=s1; z=a:b|c; t=1; x=0; q=dns; h=from; bh=A==; b = A", 1)
	f.Fuzz(func(t *testing.T, value string, n int) {
		kind := []dkim.SignatureKind{dkim.DKIMSignature, dkim.ARCMessage, dkim.ARCSeal}[uint(n)%3]
		s := dkim.ParseSignature(kind, value)
		for _, tag := range s.List.Tags {
			require.True(t, strings.HasPrefix(value[tag.Offset:tag.Offset+tag.Length], tag.Name))
		}
		for _, fault := range s.List.Faults {
			require.LessOrEqual(t, fault.Offset+fault.Length, len(value)+1)
		}
		if s.Err() != nil {
			return
		}
		require.False(t, s.KeyName.IsZero())
		require.NotZero(t, s.Hash)
		require.NotEmpty(t, s.Bytes)
		again := dkim.ParseSignature(kind, s.List.String())
		require.NoError(t, again.Err())
		again.List, again.Value = s.List, s.Value // those differ
		require.Equal(t, s, again)
	})
}

// Whatever the message and the record of the key are, there is a result that agrees with its parts.
func FuzzVerify(f *testing.F) {
	signed := sign(f, keys().rsa, "v=1; a=rsa-sha256; c=relaxed/simple; d=example.org; s=s1; h=From:To:To; l=3", mail)
	f.Add(signed, keyRecord(keys().rsa))
	f.Add(strings.Replace(signed, "Subject: ", "Subject: [team] ", 1), keyRecord(keys().rsa))
	f.Add(signed, "~~")
	f.Add("DKIM-Signature:", "p=")
	f.Fuzz(func(t *testing.T, text, record string) {
		dns := records{"s1._domainkey.example.org.": record}
		v, err := dkim.Verify(t.Context(), dns.env(), []byte(text), dkim.Options{})
		require.NoError(t, err)
		_, err = json.Marshal(v)
		require.NoError(t, err)
		for _, r := range v.Signatures {
			require.Equal(t, r.Result == dkim.Pass, r.Reason == "", "%s", r.Result)
			require.Equal(t, r.Result == dkim.Pass, r.Verified != nil && *r.Verified)
			if r.Result == dkim.Pass || r.Result == dkim.Policy {
				require.True(t, verifies(r))
			}
		}
	})
}
