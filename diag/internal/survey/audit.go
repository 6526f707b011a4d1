package survey

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// An audit is the work on one domain. Whatever is learned leads to more questions, so all of it is one
// group of goroutines, and ends when none of them has anything left to ask.
type audit struct {
	*Survey // what was learned

	env  *diag.Env
	raw  *diag.Env // asks the resolver without validation
	wire *wire
	will *diag.Delegation // that the parent zone will have, if it is not to be asked
	g    diag.Group

	aboveName  string // the parent zone, empty if it is not known; valid once aboveKnown is closed
	aboveKnown chan struct{}

	origins   diag.Group // lookups of networks, which are not waited for like the rest
	originCtx context.Context

	versions diag.Group      // queries for versions of software, which nothing waits for
	others   context.Context // ends when all else is done

	mu        sync.Mutex         // guards the survey and what follows
	servers   map[string]*Server // by name
	addresses map[netip.Addr]*Address
	hosts     map[string]*hostLookup
	tasks     []*task
	own       int             // tasks for mail servers within the zone
	names     map[string]bool // names in the zone that exist
}

func newAudit(env *diag.Env, d diag.Domain) *audit {
	w := newWire(env)
	a := &audit{
		Survey: &Survey{
			Domain: d, Zone: d.FQDN(), Began: env.Now(), Hosts: map[string]diag.Addresses{},
			Content: map[string]map[uint16]Reply{}, Within: map[string]Reply{}, Public: env.Public,
			Services: map[string]diag.Answer[*dns.HTTPS]{}, Across: map[uint16]Reply{},
		},
		env: env, wire: w, raw: &diag.Env{Resolver: unchecked{env.DNS(), w}}, aboveKnown: make(chan struct{}),
		servers: map[string]*Server{}, addresses: map[netip.Addr]*Address{}, hosts: map[string]*hostLookup{},
		names: map[string]bool{},
	}
	a.tasks = a.contentTasks()
	return a
}

// fits reports whether a name is not too long.
func fits(name string) bool {
	_, ok := dns.IsDomainName(name)
	return ok && len(name) <= 254
}

// askResolver learns the servers from the resolver, for a start.
func (a *audit) askResolver(ctx context.Context) {
	answer := lookup[*dns.NS](ctx, a, a.Zone)
	a.mu.Lock()
	a.Resolver = answer
	a.mu.Unlock()
	if len(answer.Aliases) > 0 {
		return
	}
	for _, host := range HostsOf(answer.Records) {
		a.meet(ctx, host)
	}
}

func (a *audit) keepChain(ctx context.Context, name string) {
	c := a.follow(ctx, name)
	for _, target := range c.Targets {
		a.aimMeant(ctx, target)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Chains = append(a.Chains, c)
}

// askRest asks what only the answers so far made worth asking.
func (a *audit) askRest(ctx context.Context) {
	var g diag.Group
	if len(a.addresses) == 0 && len(a.servers) > 0 {
		g.Go(func() {
			hosts := slices.Sorted(maps.Keys(a.servers))
			a.Cyclic = a.cycle(ctx, []string{a.Zone}, hosts)
		})
	}
	g.Go(func() { a.askWithin(ctx) })
	g.Go(func() { a.askElsewhere(ctx) })
	g.Go(func() { a.askAcross(ctx) })
	g.Wait()
}

// askAcross queries a server on the other side of the zone cut for the types for which all on one side were silent:
// if it is silent too, or there is no such server, the queries may be lost near us.
func (a *audit) askAcross(ctx context.Context) {
	serving := slices.DeleteFunc(a.serving(), func(ad *Address) bool { return !ad.Deep })
	above := slices.DeleteFunc(slices.Clone(a.Parent.Views), func(v View) bool { return !v.NS.OK() || !v.IP.IsValid() })
	var g diag.Group
	ask := func(qtype uint16, ip netip.Addr, known Reply) {
		g.Go(func() {
			var r Reply
			if ip.IsValid() {
				r = a.wire.udp(ctx, ip, plain(a.Zone, qtype), 2, known.patience())
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.Across[qtype] = r
		})
	}
	first := append(above, View{})[0]
	for _, p := range ApexProbes {
		if len(serving) > 0 &&
			!slices.ContainsFunc(serving, func(ad *Address) bool { return ad.Replies[p].Result != TimedOut }) {
			ask(ApexTypes[p], first.IP, first.NS)
		}
	}
	if len(above) > 0 && !slices.ContainsFunc(above, func(v View) bool { return v.DS.Result != TimedOut }) {
		below := append(serving, &Address{})[0]
		ask(dns.TypeDS, below.IP, below.Replies[ProbeSOA])
	}
	g.Wait()
}

// serving lists the addresses that serve the zone over UDP.
func (a *audit) serving() (list []*Address) {
	for _, ip := range slices.SortedFunc(maps.Keys(a.addresses), netip.Addr.Compare) {
		if ad := a.addresses[ip]; ad.Standing(a.Zone) == Authoritative && ad.Replies[ProbeSOA].OK() {
			list = append(list, ad)
		}
	}
	return list
}

// meet takes note of a name server and examines its addresses, once.
func (a *audit) meet(ctx context.Context, host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.servers[host] != nil {
		return
	}
	if len(a.servers) == MaxServers {
		a.Surplus++
		return
	}
	a.servers[host] = &Server{Name: host}
	if Literal(host).IsValid() {
		return
	}
	a.g.Go(func() {
		for _, ip := range a.lookupHost(ctx, host).All() {
			a.visit(ctx, ip, host)
		}
	})
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
	if known == nil && len(a.addresses) == maxAddresses {
		a.Surplus++
		return
	}
	if !slices.Contains(s.IPs, ip) {
		s.IPs = append(s.IPs, ip)
	}
	if known != nil {
		return
	}
	ad := &Address{IP: ip, Deep: len(a.addresses) < MaxProbed, control: dns.TypeSOA}
	a.addresses[ip] = ad
	a.g.Go(func() { a.examine(ctx, ad) })
	if ad.Deep {
		a.origins.Go(func() { ad.Origin = a.originOf(a.originCtx, ip) })
	}
}

func (a *audit) exists(name string) {
	name = dns.CanonicalName(name)
	if !dns.IsSubDomain(a.Zone, name) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names[name] = true
}

// A task is a question about the contents of the zone that any of its servers may answer.
type task struct {
	name  string
	qtype uint16
	begun bool
	reply Reply
}

// contentTasks lists what is asked of one server. The names below others show whether the names in between exist.
func (a *audit) contentTasks() []*task {
	list := []*task{}
	add := func(prefix string, types ...uint16) {
		if name := prefix + a.Zone; fits(name) {
			for _, t := range types {
				list = append(list, &task{name: name, qtype: t})
			}
		}
	}
	add("", dns.TypeNSEC3PARAM, dns.TypeZONEMD)
	add("www.", dns.TypeAAAA, dns.TypeHTTPS)
	add("_smtp._tls.", dns.TypeTXT)
	add("default._domainkey.", dns.TypeTXT)
	add("_imaps._tcp.", dns.TypeSRV)
	return list
}

// maxOwn is how many mail servers within the zone its servers are asked for.
const maxOwn = 2

// askOwn adds the task to ask a server of the zone for the address of a mail server within: the answer shows, as that
// of the resolver does not, whether the proofs of the zone deny what it has.
func (a *audit) askOwn(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := func(t *task) bool { return t.name == host && t.qtype == dns.TypeA }
	if host == a.Zone || host == "www."+a.Zone || !dns.IsSubDomain(a.Zone, host) || a.own == maxOwn ||
		slices.ContainsFunc(a.tasks, known) {
		return
	}
	a.own++
	a.tasks = append(a.tasks, &task{name: host, qtype: dns.TypeA})
}

// work runs tasks that are not started yet, until none are left.
func (a *audit) work(ctx context.Context, ad *Address) {
	for ctx.Err() == nil {
		t := a.nextTask()
		if t == nil {
			return
		}
		r := a.ask(ctx, ad, extended(t.name, t.qtype))
		r.By = ad
		t.reply = r
		if a.witness(r); r.OK() {
			a.aimAll(ctx, r.Msg.Answer)
		}
	}
}

// nextTask returns a task that is not started yet, or nil.
func (a *audit) nextTask() *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		if !t.begun {
			t.begun = true
			return t
		}
	}
	return nil
}

// askElsewhere asks another server for what one left unanswered.
func (a *audit) askElsewhere(ctx context.Context) {
	serving := a.serving()
	var g diag.Group
	for _, t := range a.tasks {
		other := func(ad *Address) bool { return ad != t.reply.By }
		if i := slices.IndexFunc(serving, other); i >= 0 && t.begun && !t.reply.OK() {
			g.Go(func() {
				t.reply = a.ask(ctx, serving[i], extended(t.name, t.qtype))
				t.reply.By = serving[i]
			})
		}
	}
	g.Wait()
}

// askWithin asks for the names between names that exist and the zone: they exist too, although they may
// have no records (RFC 8020 section 2, RFC 4592 section 2.2.2).
func (a *audit) askWithin(ctx context.Context) {
	servers := a.serving()
	if len(servers) == 0 {
		return
	}
	a.witnessHosts()
	names := a.betweenNames()
	replies := make([]Reply, len(names))
	var g diag.Group
	for i, name := range names {
		g.Go(func() {
			replies[i] = a.ask(ctx, servers[i%len(servers)], extended(name, dns.TypeA))
			replies[i].By = servers[i%len(servers)]
		})
	}
	g.Wait()
	for i, name := range names {
		a.Within[name] = replies[i]
	}
}

// betweenNames lists the unobserved names between those that exist and the zone.
func (a *audit) betweenNames() []string {
	names := map[string]bool{}
	for name := range a.names {
		for n := name; n != a.Zone && n != "."; n = resolver.ParentName(n) {
			if n != name && !a.names[n] && !strings.HasPrefix(n, "*.") {
				names[n] = true
			}
		}
	}
	list := slices.Sorted(maps.Keys(names))
	return list[:min(len(list), maxWithin)]
}
