package metering

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// BenchmarkAdmit is the hot path: a key that is in memory, on a plan that never refuses.
func BenchmarkAdmit(b *testing.B) {
	h := newHouse(b, "self", func(r *KeyRequest) { r.Scopes = Scopes() })
	g := h.gate(b, true)
	text := h.secret.Reveal()
	b.Run("one goroutine", func(b *testing.B) {
		b.ReportAllocs()
		now := noon
		for b.Loop() {
			now = now.Add(time.Millisecond)
			if _, err := g.Admit(b.Context(), text, client, now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel, one key", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() { // now and then refused, which costs a little more
				_, _ = g.Admit(b.Context(), text, client, time.Now())
			}
		})
	})
	unknown, err := NewSecret(Live, nil)
	noError(b, err)
	b.Run("refused: unknown", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = g.Admit(b.Context(), unknown.Reveal(), client, noon)
		}
	})
	b.Run("refused: malformed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = g.Admit(b.Context(), "svc_live_aaaa", client, noon)
		}
	})
}

// BenchmarkAdmitManyKeys spreads requests over keys that are all in memory, with an address list.
func BenchmarkAdmitManyKeys(b *testing.B) {
	const keys = 20_000
	g, secrets := crowd(b, keys)
	b.ReportAllocs()
	now, i := time.Now(), 0
	for b.Loop() {
		i = (i + 7919) % keys
		now = now.Add(time.Millisecond)
		if _, err := g.Admit(b.Context(), secrets[i], client, now); err != nil {
			b.Fatal(err)
		}
	}
}

// crowdStore finds keys without walking over all of them.
type crowdStore struct {
	generational
	byHash map[[32]byte]Key
}

func (s crowdStore) KeyByHash(_ context.Context, hash [32]byte) (Key, error) {
	return s.byHash[hash], nil
}

// crowd returns a gate that has every one of n keys in memory, and their secrets.
func crowd(b *testing.B, n int) (*Gate, []string) {
	h := newHouse(b, "self", nil)
	byHash := make(map[[32]byte]Key, n)
	secrets := make([]string, n)
	for i := range secrets {
		s, err := NewSecret(Live, nil)
		noError(b, err)
		secrets[i] = s.Reveal()
		byHash[s.Hash()] = Key{
			ID: KeyID(fmt.Sprintf("key_%026d", i)), Version: 1, Account: h.account.ID, Hash: s.Hash(),
			Scopes:      []Scope{DNSRead, MailRead},
			IPAllowlist: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		}
	}
	g, err := NewGate(b.Context(), GateConfig{Store: crowdStore{generational{h.fakeStore}, byHash}})
	noError(b, err)
	b.Cleanup(g.Close)
	for _, s := range secrets {
		_, err := g.Admit(b.Context(), s, client, time.Now())
		noError(b, err)
	}
	return g, secrets
}
