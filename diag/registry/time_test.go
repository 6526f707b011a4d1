package registry

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The registry is asked in two round trips, one for the name and one for the connection, and so is the
// registrar.
func TestDomainRoundTrips(t *testing.T) {
	tests := []struct {
		name  string
		setup func(*diagtest.World)
		want  int
	}{
		{"registry and registrar", published(good), 4},
		{"registry alone", edited(`"rel": "related"`, `"rel": "other"`), 2},
		{"not registered", published(`{"errorCode": 404}`), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, diagtest.RoundTrips(t, tt.setup, func(ctx context.Context, env *diag.Env) {
				_, err := LookupDomain(ctx, env, request)
				require.NoError(t, err)
			}))
		})
	}
}

// A registry that hangs leaves time for WHOIS, within the time of the caller.
func TestSlowRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		whois(whoisGood)(w)
		w.Behave(verisign+":443", diagtest.Hangs)
		w.Whois("whois.registrar.example", map[string]string{"": diagtest.NoReply})
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		r, err := LookupDomain(ctx, w.Env(), request)
		require.NoError(t, err)
		require.True(t, *r.Registered)
		require.Equal(t, []string{"whois.verisign-grs.com"}, r.Servers)
	})
}

func TestDomainEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{time.Second, 8 * time.Second} {
			w := diagtest.NewWorld(t)
			w.Host(verisign)
			w.Behave(verisign+":443", diagtest.Hangs)
			w.Whois("whois.verisign-grs.com", map[string]string{"": diagtest.NoReply})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(wait, cancel)
			_, err := LookupDomain(ctx, w.Env(), request)
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

func TestIPRoundTrips(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		want   int
	}{
		{"with an autonomous system", network, 4},
		{"without", strings.Replace(network, "arin_originas0", "x", 1), 2},
	}
	c := client(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, diagtest.RoundTrips(t, answering(tt.answer), func(ctx context.Context, env *diag.Env) {
				_, err := c.LookupIP(ctx, env, ipRequest)
				require.NoError(t, err)
			}))
		})
	}
}

// Failed optional queries do not affect the answer.
func TestSlowSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		answering(network)(w)
		b, err := ParseBootstrap([]byte(`{"asn": {"services": [[["64496-64511"], ["https://rdap.slow.example/"]]]}}`))
		require.NoError(t, err)
		w.Host("rdap.slow.example")
		w.Behave("rdap.slow.example:443", diagtest.Hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		r, err := (&Client{Bootstrap: b}).LookupIP(ctx, w.Env(), ipRequest)
		require.NoError(t, err)
		require.Equal(t, ASN{Number: 64500}, r.ASN)
	})
}

func TestIPEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{time.Second, 8 * time.Second} {
			w := diagtest.NewWorld(t)
			w.Host(arin)
			w.Behave(arin+":443", diagtest.Hangs)
			w.Behave(arin+":80", diagtest.Refuses)
			w.Whois("whois.arin.net", map[string]string{"": diagtest.NoReply})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(wait, cancel)
			_, err := LookupIP(ctx, w.Env(), ipRequest)
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

// The shorter the time of the caller, the less is waited for each server.
func TestSlowRegistryLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		whois(strings.ReplaceAll(whoisGood, "whois.registrar.example", ""))(w)
		w.Behave(verisign+":443", diagtest.Hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r, err := LookupDomain(ctx, w.Env(), request)
		require.NoError(t, err)
		require.True(t, *r.Registered)
	})
}

// An answer without end is cut.
func TestEndlessAnswer(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Serve("whois.example:43", func(c net.Conn) {
		for range 4 * maxWhois / len(whoisGood) {
			if _, err := io.WriteString(c, whoisGood); err != nil {
				return
			}
		}
	})
	a := askWhois(t.Context(), w.Env(), "whois.example", "x")
	require.NoError(t, a.err)
	require.Len(t, a.text, maxWhois)
}

// A registrar that hangs costs only what is known to it alone.
func TestSlowRegistrar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		published(good)(w)
		w.Behave(registrar+":443", diagtest.Hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		begin := time.Now()
		r, err := LookupDomain(ctx, w.Env(), request)
		require.NoError(t, err)
		require.True(t, *r.Registered)
		require.Equal(t, []diag.Code{"rdap.registrar.unanswered"}, diagtest.CodesOf(r.Findings))
		require.LessOrEqual(t, time.Since(begin), registrarTimeout+time.Second)
	})
}
