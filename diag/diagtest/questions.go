package diagtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// Questions counts how often f has each question asked of the resolver of the environment, by the question with what it
// asks of DNSSEC. The environment must not be in use yet; f gets it.
func Questions(env *diag.Env, f func(*diag.Env)) map[string]int {
	r := &recorder{Resolver: env.Resolver, asked: map[string]int{}}
	env.Resolver = r
	f(env)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// A recorder counts the questions that reach a resolver.
type recorder struct {
	diag.Resolver
	mu    sync.Mutex
	asked map[string]int
}

func (r *recorder) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	o := q.IsEdns0()
	r.mu.Lock()
	r.asked[fmt.Sprint(q.Question[0].String(), o != nil && o.Do(), q.CheckingDisabled)]++
	r.mu.Unlock()
	return r.Resolver.Exchange(ctx, q)
}
