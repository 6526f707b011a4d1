package propagation

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// evidence is what was seen; only fetch and compare fill it.
type evidence struct {
	name     diag.Name
	qtype    resolve.Type
	expected []string

	probes       []*probe
	authority    authority
	began, ended time.Time

	reference  observation // what is right
	known      bool        // by the request or the authoritative servers, not by the majority
	truth      observation // what the authoritative servers say
	versions   int         // how many different things they say
	serials    int         // how many versions of the zone they have
	notServing []*authServer
	silent     []*authServer

	notFollowed bool // an alias led to what could not be learned
}

type probe struct {
	vantage   Vantage
	reply     *dns.Msg
	err       error
	addr      netip.Addr
	transport resolver.Transport
	latency   time.Duration

	observation observation
	status      Status
	filtered    string // what it says about filtering the name, if it does
}

// fetch asks everybody at once.
func (e *evidence) fetch(ctx context.Context, env *diag.Env) error {
	e.began = env.Now()
	limited, cancel := diag.Within(ctx, timeout)
	defer cancel()
	var group diag.Group
	group.Go(func() { e.authority.ask(limited, env, e) })
	for _, s := range e.probes {
		group.Go(func() { s.look(limited, env, e) })
	}
	group.Wait()
	e.ended = env.Now()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, s := range e.authority.servers {
		if s.err == nil {
			return nil
		}
	}
	for _, s := range e.probes {
		if s.reply != nil {
			return nil
		}
	}
	return diag.Unavailable(fmt.Sprintf("any of %d resolvers or the authoritative name servers", len(e.probes)), errors.New("none replied"))
}

func (s *probe) look(ctx context.Context, env *diag.Env, e *evidence) {
	servers, err := s.vantage.servers()
	if err != nil {
		s.err = err
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resolverTimeout)
	defer cancel()
	var trace resolver.Trace
	began := env.Now()
	s.reply, s.err = env.Upstream(upstreamID(servers), servers...).Exchange(resolver.WithTrace(ctx, &trace),
		diag.Question(e.name.FQDN(), uint16(e.qtype), false))
	s.latency = env.Now().Sub(began)
	if errors.Is(s.err, context.DeadlineExceeded) {
		s.err = resolver.ErrTimeout
	}
	if len(servers) > 0 && len(servers[0].Addrs) > 0 {
		s.addr = servers[0].Addrs[0]
	}
	for _, step := range trace.Steps() {
		if ip := step.Addr.Addr(); ip.IsValid() {
			s.addr, s.transport = ip, step.Transport
		}
	}
	if s.reply != nil && s.reply.Truncated {
		s.reply, s.err = nil, errors.New("the reply was cut off, over TCP too")
	}
}

// upstreamID names a set of servers by what it is made of, since lists of vantages may be replaced.
func upstreamID(servers []resolver.Server) string {
	return "propagation " + strings.Join(diag.Map(servers, resolver.Server.String), " ")
}
