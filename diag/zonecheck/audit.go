package zonecheck

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// An audit is the work on one domain. Whatever is learned leads to more questions, so all of it is one
// group of goroutines, and ends when none of them has anything left to ask.
type audit struct {
	env  *diag.Env
	raw  *diag.Env // asks the resolver without validation
	wire *wire
	zone string // absolute
	g    diag.Group

	aboveName  string // a zone above, empty if none is known; valid once aboveKnown is closed
	aboveKnown chan struct{}

	origins   diag.Group // look-ups of networks, which are not waited for like the rest
	originCtx context.Context

	mu        sync.Mutex
	parent    parentSide
	resolver  diag.Answer[*dns.NS] // the servers as the resolver knows them
	servers   map[string]*server   // by name
	addresses map[netip.Addr]*address
	hosts     map[string]*hostLookup
	chases    []chase
	tasks     []*task
	names     map[string]bool // names in the zone that exist
	within    map[string]reply
	cyclic    []string
	surplus   int // servers and addresses that were left out
}

// A server is a name server by its name.
type server struct {
	name string // absolute
	ips  []netip.Addr
}

func newAudit(env *diag.Env, d diag.Domain) *audit {
	w := newWire(env)
	a := &audit{
		env: env, wire: w, zone: d.FQDN(),
		raw:        &diag.Env{Resolver: unchecked{env.DNS(), w}},
		aboveKnown: make(chan struct{}),
		servers:    map[string]*server{},
		addresses:  map[netip.Addr]*address{},
		hosts:      map[string]*hostLookup{},
		names:      map[string]bool{},
		within:     map[string]reply{},
	}
	a.tasks = a.contentTasks()
	return a
}

// gather asks all there is to ask.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	a := newAudit(env, d)
	began := env.Now()
	limited, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	originCtx, giveUp := context.WithCancel(limited)
	defer giveUp()
	a.originCtx = originCtx
	a.g.Go(func() { a.askParent(limited) })
	a.g.Go(func() { a.askResolver(limited) })
	for _, label := range []string{"www", "mail", "webmail", "autodiscover", "ftp"} { // often aliases
		if name := label + "." + a.zone; fits(name) {
			a.g.Go(func() { a.chase(limited, name) })
		}
	}
	a.g.Wait()
	a.askRest(limited)
	defer time.AfterFunc(originGrace, giveUp).Stop()
	a.origins.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := a.evidence(d, began)
	if e.silence() {
		return nil, fmt.Errorf("auditing %s: %w: %w", d, diag.ErrUnavailable, a.parent.err)
	}
	return e, nil
}

// fits reports whether a name is not too long.
func fits(name string) bool {
	_, ok := dns.IsDomainName(name)
	return ok && len(name) <= 254
}

// askResolver learns the servers from the resolver, for a start.
func (a *audit) askResolver(ctx context.Context) {
	answer := lookup[*dns.NS](ctx, a, a.zone)
	a.mu.Lock()
	a.resolver = answer
	a.mu.Unlock()
	if len(answer.Aliases) > 0 {
		return
	}
	for _, host := range hostsOf(answer.Records) {
		a.meet(ctx, host)
	}
}

func (a *audit) chase(ctx context.Context, name string) {
	c := a.follow(ctx, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chases = append(a.chases, c)
}

// askRest asks what only the answers so far made worth asking.
func (a *audit) askRest(ctx context.Context) {
	var g diag.Group
	if len(a.addresses) == 0 && len(a.servers) > 0 {
		g.Go(func() {
			hosts := slices.Sorted(maps.Keys(a.servers))
			a.cyclic = a.cycle(ctx, []string{a.zone}, hosts)
		})
	}
	g.Go(func() { a.askWithin(ctx) })
	g.Wait()
}

// meet takes note of a name server and examines its addresses, once.
func (a *audit) meet(ctx context.Context, host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.servers[host] != nil {
		return
	}
	if len(a.servers) == MaxServers {
		a.surplus++
		return
	}
	a.servers[host] = &server{name: host}
	if literal(host).IsValid() {
		return
	}
	a.g.Go(func() {
		for _, ip := range a.lookupHost(ctx, host).All() {
			a.visit(ctx, ip, host)
		}
	})
}

// literal returns the address that the name of a server is, by mistake.
func literal(host string) netip.Addr {
	ip, err := netip.ParseAddr(bareName(host))
	if err != nil {
		return netip.Addr{}
	}
	return ip
}

// visit examines an address of a name server, once.
func (a *audit) visit(ctx context.Context, ip netip.Addr, host string) {
	ip = ip.Unmap()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.servers[host]
	if s == nil {
		return // one of those that were left out
	}
	known := a.addresses[ip]
	if known == nil && len(a.addresses) == MaxAddresses {
		a.surplus++
		return
	}
	if !slices.Contains(s.ips, ip) {
		s.ips = append(s.ips, ip)
	}
	if known != nil {
		return
	}
	ad := &address{ip: ip, deep: len(a.addresses) < MaxProbed}
	a.addresses[ip] = ad
	a.g.Go(func() { a.examine(ctx, ad) })
	if ad.deep {
		a.origins.Go(func() { ad.origin = a.originOf(a.originCtx, ip) })
	}
}

// exists takes note that a name exists.
func (a *audit) exists(name string) {
	name = dns.CanonicalName(name)
	if !inside(a.zone, name) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names[name] = true
}
