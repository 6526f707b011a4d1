package diag

import (
	"context"
	"errors"
	"strings"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A Delegation is how a zone will be delegated that is examined before it is published.
type Delegation struct {
	Zone    string                // absolute
	Servers []resolver.NameServer // empty: there are none yet that could be asked
	DS      []*dns.DS             // that the parent zone will have
}

// A delegator is a Resolver that answers for zones before they are published, such as one of package overlay. The
// name servers that the world has for such a zone have another version of it, or none.
type delegator interface {
	Undelegated(name string) (Delegation, bool)
}

// ErrUndelegated says that only the name servers of a zone could tell, and that they do not have it yet.
var ErrUndelegated = errors.New("the zone is not published yet")

// Undelegated returns how the zone of a name will be delegated, if the resolver of the environment answers for it
// before it is published. A check that asks name servers itself asks those, or nobody.
func (e *Env) Undelegated(name string) (Delegation, bool) {
	if d, ok := e.source().Resolver.(delegator); ok {
		return d.Undelegated(dns.CanonicalName(name))
	}
	return Delegation{}, false
}

// Published returns nil if the servers of the world may be asked about a name. Else the error wraps [ErrUndelegated]
// and [ErrUnavailable].
func (e *Env) Published(name string) error {
	d, ok := e.Undelegated(name)
	if !ok {
		return nil
	}
	zone := strings.TrimSuffix(d.Zone, ".")
	return Unavailable("the name servers of "+zone+", which are not asked before the zone is published", ErrUndelegated)
}

// WithResolver returns an environment like e with another resolver, as one that answers for zones to be published.
func (e *Env) WithResolver(r Resolver) *Env {
	e = e.orReal()
	return &Env{
		Resolver: r, HideResolver: e.HideResolver, Dial: e.Dial, Roots: e.Roots, TrustAnchors: e.TrustAnchors,
		RootServers: e.RootServers, HelloName: e.HelloName, Clock: e.Clock, Guard: e.Guard, Data: e.Data,
	}
}

// withheld is a resolver that is not asked about names that are not published yet: it would tell of another version.
type withheld struct {
	Resolver
	env *Env
}

// Exchange implements [Resolver].
func (w *withheld) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if err := w.env.allowed(q); err != nil {
		return nil, err
	}
	return w.Resolver.Exchange(ctx, q)
}

// allowed says whether a question may be put to servers of the world.
func (e *Env) allowed(q *dns.Msg) error {
	if len(q.Question) == 1 {
		return e.Published(q.Question[0].Name)
	}
	return nil
}
