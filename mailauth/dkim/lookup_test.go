package dkim

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func lookup(t *testing.T, w *diagtest.World, req LookupRequest) *LookupReport {
	t.Helper()
	r, err := Lookup(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

// The report has what the contract names.
func TestLookupReport(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(at("s1._domainkey.example.com.", "v=DKIM1; h=sha256; k=rsa; s=email; t=s; n=a note; p="+rsa2048))
	r := lookup(t, w, request)
	require.Equal(t, "s1._domainkey.example.com", r.RecordName)
	require.True(t, r.Found && r.Valid && r.StrictIdentity && !r.Testing && !r.Revoked)
	require.Equal(t, []string{"DKIM1", "rsa", "a note"}, []string{r.Version, string(r.KeyType), r.Notes})
	require.Equal(t, [][]string{{"sha256"}, {"email"}, {"s"}}, [][]string{r.HashAlgorithms, r.ServiceTypes, r.Flags})
	require.Equal(t, 2048, r.PublicKey.SizeBits)
	require.False(t, r.PublicKey.Weak)
	require.Equal(t, rsa2048, r.PublicKeyBase64)
	require.Len(t, r.ParsedTags, 7)
	require.Equal(t, PossibleSelectors, r.OtherSelectors)
	require.Equal(t, 2, r.StringsCount)

	w = diagtest.NewWorld(t)
	w.Zone(zone)
	r = lookup(t, w, request)
	require.False(t, r.Found || r.Valid)
	require.Equal(t, UnknownType, r.KeyType)
	require.Equal(t, NoSelectors, r.OtherSelectors)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, list := range []string{"hash_algorithms", "service_types", "flags", "parsed_tags", "records", "known_selectors"} {
		require.Contains(t, string(text), `"`+list+`":[]`)
	}
	require.NotContains(t, string(text), "public_key")
}

// A CNAME names the service that has to act.
func TestLookupService(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone + "s1._domainkey.example.com. CNAME s1.domainkey.u123.wl456.sendgrid.net.\nsendgrid.net. A 192.0.2.9\n")
	r := lookup(t, w, request)
	require.Equal(t, "missing 0 record.alias.dangling", outcome(r.Verdict))
	require.Contains(t, r.Service, "SendGrid")
	require.Contains(t, r.Findings[0].Detail, r.Service)
	require.Contains(t, r.Findings[0].Advice, r.Service)
	require.Equal(t, []string{"s1.domainkey.u123.wl456.sendgrid.net"}, r.CNAMEChain)
}

// A key costs one round trip, and one more if it is missing and others may exist.
func TestLookupRoundTrips(t *testing.T) {
	tests := []struct {
		name, zone string
		want       int
	}{
		{"found", at("s1._domainkey.example.com.", good), 1},
		{"no keys at all", zone, 1},
		{"another selector", at("google._domainkey.example.com.", good), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(tt.zone) },
				func(ctx context.Context, env *diag.Env) {
					_, err := Lookup(ctx, env, request)
					require.NoError(t, err)
				})
			require.Equal(t, tt.want, trips)
		})
	}
}

// Common mistakes in the selector are rejected, with advice on what to enter instead.
func TestLookupInput(t *testing.T) {
	long := diag.MustDomain(strings.Repeat(strings.Repeat("a", 60)+".", 4) + "com")
	tests := []struct {
		req           LookupRequest
		field, remedy string
	}{
		{LookupRequest{}, "domain", "missing"},
		{LookupRequest{Domain: request.Domain}, "selector", "DKIM-Signature"},
		{LookupRequest{request.Domain, diag.MustSelector("s1._domainkey.example.com")}, "selector", `enter the part before _domainkey: "s1"`},
		{LookupRequest{request.Domain, diag.MustSelector("a.b._domainkey")}, "selector", `"a.b"`},
		{LookupRequest{request.Domain, diag.MustSelector("_domainkey.example.com")}, "selector", "no selector before"},
		{LookupRequest{long, request.Selector}, "selector", "too long"},
	}
	for _, tt := range tests {
		_, err := Lookup(t.Context(), nil, tt.req)
		input, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, tt.field, input.Field)
		require.Contains(t, input.Reason, tt.remedy)
	}
	for _, text := range []string{"", " \n", strings.Repeat("a", maxRecordLength+1)} {
		_, err := Validate(ValidateRequest{Record: text})
		_, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok)
	}
}

// If no server answers, nothing is known; a context that has ended is its own error.
func TestLookupFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("example.com")
		w.Silence("*.example.com")
		_, err := Lookup(t.Context(), w.Env(), request)
		require.ErrorIs(t, err, diag.ErrUnavailable)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = Lookup(ctx, w.Env(), request)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// failing answers as a resolver does that could not look up the target of an alias.
type failing struct{ *diagtest.World }

func (f failing) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	m, err := f.World.Exchange(ctx, q)
	if err == nil && strings.HasPrefix(q.Question[0].Name, "s1._domainkey.example.com.") {
		m.Rcode = dns.RcodeServerFailure
	}
	return m, err
}

func TestLookupUnknownTarget(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone + alias)
	r, err := Lookup(t.Context(), &diag.Env{Resolver: failing{w}, Clock: w.Env().Clock}, request)
	require.NoError(t, err)
	require.Equal(t, "unknown none record.unknown", outcome(r.Verdict))
	require.Contains(t, r.Findings[0].Detail, "is an alias (CNAME) of s1.dkim.example.net, whose TXT lookup failed")
}

// A finding about base64 points at what does not belong there.
func TestLocations(t *testing.T) {
	tests := []struct{ text, at string }{
		{"v=DKIM1; p=-----BEGIN PUBLIC KEY-----" + rsa2048, "-----BEGIN PUBLIC KEY-----"},
		{"v=DKIM1; p=" + rsa2048[:100] + `"` + rsa2048[100:], `"`},
		{"v=DKIM1; p=" + rsa2048[:99] + "=" + rsa2048[99:], "="},
		{"v=DKIM1; k=RSA; p=" + rsa2048, "RSA"},
		{"v=DKIM1; t=y; p=" + rsa2048, "t=y"},
		{"v=DKIM1; P=" + rsa2048, "P"},
		{"k=rsa; v=DKIM1; p=" + rsa2048, "k=rsa"},
		{"v=DKIM1; s=x; p=" + rsa2048, "x"},
		{"v=DKIM1; p=" + rsa512, "p=" + rsa512},
	}
	for _, tt := range tests {
		r, err := Validate(ValidateRequest{Record: tt.text})
		require.NoError(t, err)
		l := r.Findings[0].Location
		require.NotNil(t, l, "%+v", r.Findings[0])
		require.Equal(t, tt.at, tt.text[l.Offset:l.Offset+l.Length])
	}
}

// Only the service can change what it publishes behind an alias, and nothing is published at the alias.
func TestAdviceAtTarget(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone + "s1._domainkey.example.com. CNAME s1.domainkey.u1.wl.sendgrid.net.\n" +
		"s1.domainkey.u1.wl.sendgrid.net. TXT" + quote("v=DKIM1; k=rsa; t=y; p="+bareRSA1024))
	r, err := Lookup(t.Context(), w.Env(), request)
	require.NoError(t, err)
	require.Len(t, r.Findings, 3)
	for _, f := range r.Findings {
		require.Contains(t, f.Advice, "Have Twilio SendGrid replace the key")
		require.NotContains(t, f.Advice, "Generate")
	}
	require.Empty(t, suggested(r.Verdict))
}
