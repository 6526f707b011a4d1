package spf

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Names with underscores are records that others include; a wildcard and the root have none of their own.
func TestNamesWithoutRecord(t *testing.T) {
	for name, text := range map[string]string{
		"*.example.com": "domain: is a wildcard; ask for a name that it covers",
		".":             "domain: is the root, which has no SPF record",
	} {
		domain, err := diag.ParseName(name)
		require.NoError(t, err)
		_, err = Lookup(t.Context(), nil, LookupRequest{Name: domain})
		require.EqualError(t, err, text)
		_, err = Validate(ValidateRequest{Record: "v=spf1 -all", Domain: domain})
		require.EqualError(t, err, text)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
	}
}

// A resolver that panics does not leave callers waiting.
func TestPanic(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(hosts)
	require.Panics(t, func() {
		_, _ = Lookup(t.Context(), &diag.Env{Resolver: panics{w}}, request)
	})
}

type panics struct{ *diagtest.World }

func (p panics) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if q.Question[0].Qtype == dns.TypeTXT {
		panic("hostile answer")
	}
	return p.World.Exchange(ctx, q)
}

// An examination does not wait for speculative queries that are no longer needed.
func TestLookupGivesUpWhatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zoneWith(t, "v=spf1 a:a.example.com exists:%{i}.silent.example.com -all", hosts)
		w.Silence("*.silent.example.com")
		w.Delay("example.com", time.Millisecond)
		w.Delay("a.example.com", time.Millisecond) // so that all speculative queries have been sent
		slow := &lingering{World: w}
		begin := time.Now()
		r, err := Lookup(t.Context(), &diag.Env{Resolver: slow}, LookupRequest{
			Domain: request.Domain, IP: diag.MustIP("192.0.2.26"),
		})
		require.NoError(t, err)
		require.Equal(t, eval.Pass, r.IPTest.Result)
		require.Equal(t, 1, w.Asked("192.0.2.26.silent.example.com", dns.TypeA))
		require.LessOrEqual(t, time.Since(begin), time.Second+2*time.Millisecond) // the resolver lingers for a second
		require.Zero(t, slow.busy.Load())
	})
}

// lingering is a resolver that notices late that its caller has given up.
type lingering struct {
	*diagtest.World
	busy atomic.Int64
}

func (l *lingering) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	l.busy.Add(1)
	defer l.busy.Add(-1)
	m, err := l.World.Exchange(ctx, q)
	if ctx.Err() != nil {
		<-time.After(time.Second)
	}
	return m, err
}

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }
