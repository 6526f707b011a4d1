package survey

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Survey is all that was answered about a domain. Nothing in it is a judgment.
type Survey struct {
	Domain    diag.Domain
	Zone      string // the domain as an absolute name
	Began     time.Time
	Parent    Parent
	Resolver  diag.Answer[*dns.NS] // the servers as the resolver knows them
	Servers   []*Server            // by name
	Addresses []*Address           // IPv4 first
	Hosts     map[string]diag.Addresses
	Chains    []Chain                            // of usual names, by name
	Content   map[string]map[uint16]Reply        // what any of the servers was asked, by name and type
	Within    map[string]Reply                   // for names between the zone and names that exist
	Across    map[uint16]Reply                   // of a server across the zone cut, for silent types
	Services  map[string]diag.Answer[*dns.HTTPS] // of names that HTTPS records in alias mode lead to
	Cyclic    []string                           // zones whose delegations depend on each other
	Surplus   int                                // servers and addresses that were left out
	Exhausted bool                               // whether there were too many queries
	// Public reports whether an address is globally reachable, judging by its number.
	Public func(netip.Addr) bool
}

// A Server is a name server by its name.
type Server struct {
	Name string // absolute
	IPs  []netip.Addr
}

// Ask asks the resolver, the parent zone and all name servers of a domain. It takes [Timeout] at most.
// The error is that of the context if it ended, or wraps [diag.ErrUnavailable] if the resolver of the
// environment did not answer at all. A zone that will be delegated otherwise, see [diag.Env.Undelegated], is surveyed
// at the servers that it will have.
func Ask(ctx context.Context, env *diag.Env, d diag.Domain) (*Survey, error) {
	a := newAudit(env, d)
	if will, ok := env.Undelegated(a.Zone); ok && will.Zone == a.Zone && len(will.Servers) > 0 {
		a.will = &will
	} else if err := env.Published(a.Zone); err != nil {
		return nil, err
	}
	limited, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	originCtx, giveUp := context.WithCancel(limited)
	defer giveUp()
	a.originCtx = originCtx
	others, ended := context.WithCancel(limited)
	defer ended()
	a.others = others
	a.g.Go(func() { a.askParent(limited) })
	a.g.Go(func() { a.askResolver(limited) })
	for _, label := range []string{"www", "mail", "webmail", "autodiscover", "ftp"} { // often aliases
		if name := label + "." + a.Zone; fits(name) {
			a.g.Go(func() { a.keepChain(limited, name) })
		}
	}
	a.g.Wait()
	a.askRest(limited)
	defer time.AfterFunc(originGrace, giveUp).Stop()
	a.origins.Wait()
	ended()
	a.versions.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.settle()
	if a.Parent.Zone == "" && a.Resolver.Silent() && len(a.Addresses) == 0 {
		return nil, fmt.Errorf("auditing %s: finding the parent zone: %w", d,
			diag.Unavailable(diag.DefaultResolver, a.Parent.Err))
	}
	return a.Survey, nil
}

// settle puts in order what was answered.
func (a *audit) settle() {
	s := a.Survey
	s.Exhausted = a.wire.exhausted()
	for _, name := range slices.Sorted(maps.Keys(a.servers)) {
		server := a.servers[name]
		slices.SortFunc(server.IPs, netip.Addr.Compare)
		s.Servers = append(s.Servers, server)
	}
	byIP := func(a, b *Address) int { return a.IP.Compare(b.IP) }
	s.Addresses = slices.SortedFunc(maps.Values(a.addresses), byIP)
	for name, h := range a.hosts {
		s.Hosts[name] = h.addresses
	}
	for _, t := range a.tasks {
		if s.Content[t.name] == nil {
			s.Content[t.name] = map[uint16]Reply{}
		}
		s.Content[t.name][t.qtype] = t.reply
	}
	slices.SortFunc(s.Chains, func(a, b Chain) int { return strings.Compare(a.Name, b.Name) })
}

// The bounds of an audit.
const (
	// Timeout is how long an audit takes at most. What has not answered then is unknown. It leaves
	// half a second of six for the judgment.
	Timeout = 5500 * time.Millisecond
	// MaxQueries is how many queries an audit sends, to servers and to the resolver together. Thirteen
	// servers with two addresses each, which is the most that is usual, stay below.
	MaxQueries = 450
	// MaxInFlight is how many queries one address is asked at the same time, so that no server takes
	// an audit for an attack. Busy resolvers ask many more.
	MaxInFlight = 3
	// MaxServers is how many names of servers are examined. More than 13 do not fit into a referral of 512 octets.
	MaxServers = 20
	// maxAddresses is how many addresses are asked whether they serve the zone, and MaxProbed how many
	// of these are examined in full.
	maxAddresses = 26
	MaxProbed    = 10
	// maxConfirmed is how many types an address may fail for and be asked again.
	maxConfirmed = 3
)

const (
	// silentAfter is how long the reply to a query is waited for before it is sent again, and once
	// more after that. Round trips around the earth last for up to 400 ms.
	silentAfter = 1500 * time.Millisecond
	// quickest is the least time that a server is given for a reply once it is known to answer, and
	// slack how many times longer than usual a reply may take.
	quickest = 400 * time.Millisecond
	slack    = 5
	// tcpTimeout bounds a connection with what is asked over it.
	tcpTimeout = 2500 * time.Millisecond
	// quickestInfo is how long an address is given at least for what only an info finding depends on: the version of
	// its software, and infoSlack how many times longer than usual the reply may take. After that it is waited for only
	// as long as others are, up to infoTimeout. Firewalls drop such queries, so they are not sent again.
	quickestInfo = 2 * time.Millisecond
	infoSlack    = 3
	infoTimeout  = 100 * time.Millisecond
	// originGrace is how long the lookups of the networks of servers may go on when all else is done.
	// They end in zones that have nothing to do with the domain, and matter little.
	originGrace = 250 * time.Millisecond
	// maxStrays is how many datagrams that are no reply are read while waiting for one.
	maxStrays = 32
	// maxDatagram is the largest datagram read. RFC 6891 section 6.2.5 suggests no more than 4096.
	maxDatagram = 4096
	// maxParents is how many addresses of the parent zone are asked.
	maxParents = 8
	// maxAncestors is how many ancestors of the domain are looked up concurrently to find the parent zone.
	maxAncestors = 8
	// maxMailServers is how many mail servers are examined.
	maxMailServers = 20
	// maxHops is how many aliases are followed, as resolvers do.
	maxHops = 16
	// maxWithin is how many names between a name and its zone are asked for.
	maxWithin = 6
	// maxDepth is how far a chain of delegations that depend on each other is followed.
	maxDepth = 3
)
