package propagation

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

const (
	// maxServers bounds the addresses of authoritative servers that are asked. Zones have up to 13
	// servers of two addresses.
	maxServers = 32
	// maxTargets bounds the aliases that are followed into other zones. All servers of a zone name the
	// same one unless they disagree.
	maxTargets = 4
)

type authority struct {
	zone    *resolver.Zone
	servers []*authServer
}

type authServer struct {
	name        string
	addr        netip.Addr // invalid if unknown
	hop         resolver.Hop
	observation observation
	serial      *uint32
	err         error // why it does not count
}

// errServerAddress says that a name server could not be asked.
var errServerAddress = errors.New("no address of the name server is known")

func (a *authority) ask(ctx context.Context, env *diag.Env, e *evidence) {
	it := env.Iterator()
	a.zone = it.FindZone(ctx, e.name.FQDN())
	if a.zone.Name == "." && a.zone.Err != nil {
		return // not even a root server replied
	}
	for _, server := range a.zone.Servers {
		if len(server.Addrs) == 0 {
			a.add(authServer{name: server.Name, err: errServerAddress})
		}
		for _, ip := range server.Addrs {
			a.add(authServer{name: server.Name, addr: ip.Unmap()})
		}
	}
	f := &follower{ctx: ctx, it: it, e: e, targets: map[string]*target{}}
	var group diag.Group
	for _, s := range a.servers {
		if !s.addr.IsValid() {
			continue
		}
		group.Go(func() {
			q := dns.Question{Name: e.name.FQDN(), Qtype: uint16(e.qtype), Qclass: dns.ClassINET}
			s.hop = it.AskServer(ctx, a.zone.Name, s.name, s.addr, q)
			s.read(f, a.zone.Name)
		})
		group.Go(func() {
			q := dns.Question{Name: a.zone.Name, Qtype: dns.TypeSOA, Qclass: dns.ClassINET}
			s.serial = serialIn(it.AskServer(ctx, a.zone.Name, s.name, s.addr, q), a.zone.Name)
		})
	}
	group.Wait()
}

func (a *authority) add(s authServer) {
	if s.observation.values = []string{}; len(a.servers) < maxServers {
		a.servers = append(a.servers, &s)
	}
}

func serialIn(h resolver.Hop, zone string) *uint32 {
	if h.Err != nil || h.Reply == nil {
		return nil
	}
	for _, rr := range h.Reply.Answer {
		if soa, ok := rr.(*dns.SOA); ok && dns.CanonicalName(soa.Hdr.Name) == zone {
			return new(soa.Serial)
		}
	}
	return nil
}

var errReferral = errors.New("it refers to other servers")

// errNotFollowed says that a server answered with an alias into another zone, which did not answer or was
// one too many to ask. The server has done its part.
var errNotFollowed = errors.New("what is there could not be learned")

// read takes from the reply what the server may say: the records of its zone. An alias into another
// zone is followed there.
func (s *authServer) read(f *follower, zone string) {
	if s.err = s.hop.Err; s.err == nil && s.hop.Child != "" {
		s.err = errReferral
	}
	if s.err != nil {
		return
	}
	own := *s.hop.Reply
	own.Answer = slices.DeleteFunc(slices.Clone(own.Answer), func(rr dns.RR) bool {
		return !dns.IsSubDomain(zone, rr.Header().Name)
	})
	s.observation = observe(&own, f.e.name.FQDN(), f.e.qtype)
	chain, rrs := dnsmsg.FollowAliases(&own, f.e.name.FQDN(), uint16(f.e.qtype))
	if len(rrs) > 0 || len(chain) == 0 {
		return
	}
	target := dns.CanonicalName(chain[len(chain)-1].Target)
	if dns.IsSubDomain(zone, target) && (own.Rcode == dns.RcodeNameError || hasSOA(&own)) {
		return // the zone itself says that the target has no records
	}
	ttl := s.observation.ttl
	if s.observation = f.follow(target); s.observation.answered {
		s.observation.ttl = min(s.observation.ttl, ttl)
	} else {
		s.err = fmt.Errorf("the alias leads to %s: %w", strings.TrimSuffix(target, "."), errNotFollowed)
	}
}

func hasSOA(m *dns.Msg) bool {
	return slices.ContainsFunc(m.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// A follower finds what is at the end of aliases, each once for all servers that name it.
type follower struct {
	ctx context.Context
	it  *resolver.Iterator
	e   *evidence

	mu      sync.Mutex
	targets map[string]*target
}

// A target is where an alias leads.
type target struct {
	observation observation
	done        chan struct{} // closed when observation is set
}

func (f *follower) follow(name string) observation {
	f.mu.Lock()
	t, known := f.targets[name]
	if !known {
		t = &target{observation: observation{values: []string{}}, done: make(chan struct{})}
		if len(f.targets) == maxTargets {
			f.mu.Unlock()
			return t.observation
		}
		f.targets[name] = t
	}
	f.mu.Unlock()
	if known {
		<-t.done // the first caller obeys the context
		return t.observation
	}
	defer close(t.done)
	if walk := f.it.Find(f.ctx, name, uint16(f.e.qtype), false); walk.Err == nil {
		t.observation = observe(walk.Reply, name, f.e.qtype)
	}
	return t.observation
}
