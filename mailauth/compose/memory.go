package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
	"github.com/miekg/dns"
)

type (
	memoryKey  struct{}
	journalKey struct{}
)

// WithMemory returns a context in which runs share the reports of their parts: the report of an earlier part with the
// same request is reused if the DNS still gives the same answers to its queries. Mail servers and web servers are then
// contacted once, however often unrelated DNS records change.
func WithMemory(ctx context.Context) context.Context {
	return context.WithValue(smtp.Sharing(ctx), memoryKey{}, &memory{parts: map[string]remembered{}})
}

type memory struct {
	mu    sync.Mutex
	parts map[string]remembered
}

// remembered is the report of a part, and the DNS replies that it is based on.
type remembered struct {
	report  any
	replies []exchange
}

type exchange struct{ query, reply *dns.Msg }

// A journal records the DNS replies to a part. It is unusable if a query was not answered.
type journal struct {
	mu         sync.Mutex
	replies    []exchange
	unanswered bool
}

// recorder is a resolver that writes into the journal of the context.
type recorder struct{ diag.Resolver }

// Exchange implements [diag.Resolver].
func (n recorder) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	reply, err := n.Resolver.Exchange(ctx, q)
	if j, ok := ctx.Value(journalKey{}).(*journal); ok && !errors.Is(err, context.Canceled) { // not a canceled query
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.unanswered = j.unanswered || err != nil || reply == nil; !j.unanswered {
			j.replies = append(j.replies, exchange{q.Copy(), reply.Copy()})
		}
	}
	return reply, err
}

// recall returns the report of a part, or nil without one that is still valid.
func (m *memory) recall(ctx context.Context, env *diag.Env, key string) any {
	m.mu.Lock()
	known := m.parts[key]
	m.mu.Unlock()
	for _, e := range known.replies {
		reply, err := env.DNS().Exchange(ctx, e.query.Copy())
		if err != nil || !sameReply(reply, e.reply) {
			return nil
		}
	}
	return known.report
}

// sameReply reports whether two replies say the same, whatever their times to live.
func sameReply(a, b *dns.Msg) bool {
	return a.Rcode == b.Rcode && a.AuthenticatedData == b.AuthenticatedData && a.Truncated == b.Truncated &&
		len(a.Answer) == len(b.Answer) && !slices.ContainsFunc(a.Answer, func(rr dns.RR) bool {
		return !slices.ContainsFunc(b.Answer, func(other dns.RR) bool { return dns.IsDuplicate(rr, other) })
	})
}

// rememberedLookup is a lookup whose report is remembered, if the context remembers.
func rememberedLookup[Q, P any](
	ctx context.Context, env *diag.Env, kind Kind, lookup func(context.Context, *diag.Env, Q) (P, error), req Q,
) (P, error) {
	m, ok := ctx.Value(memoryKey{}).(*memory)
	if !ok {
		return lookup(ctx, env, req)
	}
	key := fmt.Sprintf("%s %+v", kind.Code, req)
	if known, ok := m.recall(ctx, env, key).(P); ok {
		return known, nil
	}
	j := &journal{}
	report, err := lookup(context.WithValue(ctx, journalKey{}, j), env, req)
	if replies, ok := j.complete(); err == nil && ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.parts[key] = remembered{report, replies}
	}
	return report, err
}

// complete returns the replies so far, unless a query was not answered. Abandoned queries may still be pending.
func (j *journal) complete() (replies []exchange, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clip(j.replies), !j.unanswered
}
