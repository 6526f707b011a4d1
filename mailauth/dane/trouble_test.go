package dane

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// A server that does not answer is reported before the caller's time is up.
func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setting{zone: oneMX + key, spoil: func(w *diagtest.World) { w.Behave("mx.example.com:25", diagtest.Hangs) }}
		_, env := s.world(t)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		r, err := Lookup(ctx, env, Request{Domain: diag.MustDomain("example.com")})
		require.NoError(t, err)
		require.Equal(t, Unverified, r.Hosts[0].Status)
		require.Contains(t, r.Hosts[0].Error, "response")
		require.True(t, r.Partial)
	})
}

func TestNothingLearned(t *testing.T) {
	s := setting{zone: oneMX, spoil: func(w *diagtest.World) { w.Silence("example.com") }}
	_, env := s.world(t)
	_, err := Lookup(t.Context(), env, Request{Domain: diag.MustDomain("example.com")})
	require.ErrorIs(t, err, diag.ErrUnavailable)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Lookup(ended, env, Request{Domain: diag.MustDomain("example.com")})
	require.ErrorIs(t, err, context.Canceled)
}

func TestBadRequest(t *testing.T) {
	for _, req := range []Request{{}, {Domain: diag.MustDomain("example.com"), Port: 26}} {
		_, err := Lookup(t.Context(), nil, req)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
	}
}

// Without a certificate matches is null, not false.
func TestMatchesIsNull(t *testing.T) {
	for want, verify := range map[string]bool{"true": true, "null": false} {
		r := (&setting{zone: oneMX + key, req: Request{Verify: &verify}}).lookup(t)
		text, err := json.Marshal(r.Hosts[0].TLSA[0])
		require.NoError(t, err)
		require.Contains(t, string(text), `"matches_certificate":`+want)
	}
}

// Names that are too long for the prefix have no TLSA records, which is not a fault.
func TestLongName(t *testing.T) {
	label := "a123456789b123456789c123456789d123456789e123456789f12345678.g"
	host := label + "." + label + "." + label + "." + label[:50] + ".example.com."
	r := (&setting{zone: "example.com. MX 10 " + host + "\n" + host + " A 192.0.2.25\n", down: true}).lookup(t)
	require.Equal(t, []diag.Code{"dane.tlsa.missing"}, diagtest.Codes(r.Verdict))
	require.False(t, r.Partial)
}

// A host with several addresses is wrong if it is wrong at one of them, and then nothing is suggested.
func TestAddressesDiffer(t *testing.T) {
	s := setting{zone: oneMX + key + "mx.example.com. AAAA 2001:db8::25\n"}
	s.smtp.Host = "v4.example.com"
	s.cert.Names = []string{"mx.example.com"}
	s.zone = "v4.example.com. A 192.0.2.25\nv6.example.com. AAAA 2001:db8::25\n" + s.zone
	s.spoil = func(w *diagtest.World) { w.SMTP(diagtest.SMTP{Host: "v6.example.com"}) }
	r := s.lookup(t)
	require.Equal(t, Failed, r.Hosts[0].Status)
	require.Contains(t, r.Findings[0].Detail, "mx.example.com at 2001:db8::25 presents")
	require.Empty(t, r.Recommendations[0].SuggestedValue)
}

// A certificate may be for the name of which the domain is an alias (RFC 7672 section 3.2.2).
func TestDomainIsAlias(t *testing.T) {
	s := setting{zone: oneMX + "alias.example.com. CNAME example.com.\n" + at + "2 0 1 {issuer}\n" + at + other,
		cert: diagtest.CertSpec{Names: []string{"example.com"}}}
	_, env := s.world(t)
	r, err := Lookup(t.Context(), env, Request{Domain: diag.MustDomain("alias.example.com")})
	require.NoError(t, err)
	require.Equal(t, Pass, r.Hosts[0].Status)
}

// The advice addresses those who can act: the operator of the mail servers publishes TLSA records, in a signed zone.
func TestAdviceIsForWhoCanAct(t *testing.T) {
	provider := "example.com. MX 10 mx.example.net.\nmx.example.net. A 198.51.100.25\n"
	for _, tt := range []struct{ zone, signed, detail, advice string }{
		{oneMX, "", "_25._tcp.mx.example.com.", "Have each mail server keep its private key"},
		{oneMX, "none", "the domain is not signed", "MTA-STS, which needs no DNSSEC"},
		{provider, "none", "the domain is not signed", "ask whether it supports DANE"},
		{provider, "", "The zone of the mail servers is not signed", "Ask the provider of the mail servers"},
		{provider, "example.com. example.net.", "_25._tcp.mx.example.net.", "only the provider knows when their keys change"},
		{provider + "_25._tcp.example.com. TLSA " + other, "", "_25._tcp.example.com", "Remove the TLSA records at the domain"},
	} {
		r := (&setting{zone: tt.zone, signed: tt.signed}).lookup(t)
		require.Equal(t, diag.Missing, r.State)
		require.Contains(t, r.Findings[0].Detail, tt.detail)
		require.Contains(t, r.Findings[0].Advice, tt.advice)
	}
}

// The finding names the records that are not signed.
func TestErrorNamesWhatIsNotSigned(t *testing.T) {
	provider := "example.com. MX 10 mx.example.net.\nmx.example.net. A 198.51.100.25\n"
	for signed, want := range map[string]string{
		"example.net.": "there are no TLSA records, and the MX records of example.com are not signed",
		"none":         "there are no TLSA records, and the address records of mx.example.net are not signed",
	} {
		require.Equal(t, want, (&setting{zone: provider, signed: signed}).lookup(t).Hosts[0].Error)
	}
}
