package zonecheck

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// lookupPatience is how long the resolver is waited for. It may have to try several servers itself.
const lookupPatience = 3 * time.Second

var errBudget = errors.New("too many queries")

// An unchecked resolver does not validate (RFC 4035 section 3.2.2): an audit wants to see what is
// there, and judges the signatures itself. Its queries count.
type unchecked struct {
	inner diag.Resolver
	wire  *wire
}

// Exchange implements [diag.Resolver].
func (u unchecked) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if !u.wire.spend() {
		return nil, errBudget
	}
	q = q.Copy()
	q.CheckingDisabled = true
	return u.inner.Exchange(ctx, q)
}

// lookup asks the resolver.
func lookup[R dns.RR](ctx context.Context, a *audit, name string) diag.Answer[R] {
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	return diag.Lookup[R](ctx, a.raw, name)
}

// A hostLookup is the look-up of the addresses of a host, under way or done.
type hostLookup struct {
	done      chan struct{}
	addresses diag.Addresses
}

// lookupHost finds the addresses of a host. Each is looked up once.
func (a *audit) lookupHost(ctx context.Context, name string) diag.Addresses {
	name = dns.CanonicalName(name)
	a.mu.Lock()
	h := a.hosts[name]
	first := h == nil
	if first {
		h = &hostLookup{done: make(chan struct{})}
		a.hosts[name] = h
	}
	a.mu.Unlock()
	if first {
		defer close(h.done)
		limited, cancel := context.WithTimeout(ctx, lookupPatience)
		defer cancel()
		h.addresses = diag.LookupAddresses(limited, a.raw, name)
		return h.addresses
	}
	<-h.done // whoever looks it up ends with the context
	return h.addresses
}

// prefetch looks up the addresses of a host for later.
func (a *audit) prefetch(ctx context.Context, name string) {
	a.g.Go(func() { a.lookupHost(ctx, name) })
}

// An origin is what is known of the network that announces an address.
type origin struct {
	asn  string // empty if it is not known
	name diag.Answer[*dns.PTR]
}

// The zones in which Team Cymru tells who announces an address (www.team-cymru.com, "IP to ASN
// mapping"). Zonemaster asks them too.
const (
	originIPv4 = ".origin.asn.cymru.com."
	originIPv6 = ".origin6.asn.cymru.com."
)

// originOf looks up who announces an address, and its host name.
func (a *audit) originOf(ctx context.Context, ip netip.Addr) origin {
	var o origin
	var g diag.Group
	reverse := diag.IP{Addr: ip}.Reverse()
	if reverse == "" {
		return o
	}
	g.Go(func() { o.name = lookup[*dns.PTR](ctx, a, reverse) })
	g.Go(func() {
		question := strings.TrimSuffix(reverse, ".in-addr.arpa.") + originIPv4
		if ip.Is6() {
			question = strings.TrimSuffix(reverse, ".ip6.arpa.") + originIPv6
		}
		o.asn = asnIn(lookup[*dns.TXT](ctx, a, question))
	})
	g.Wait()
	return o
}

// asnIn reads an answer such as "64496 | 192.0.2.0/24 | US | arin | 2026-01-01". The first field may
// list several numbers.
func asnIn(answer diag.Answer[*dns.TXT]) string {
	for _, r := range answer.Records {
		numbers, _, found := strings.Cut(diag.TXT(r), "|")
		numbers = strings.TrimSpace(numbers)
		if found && numbers != "" && strings.Trim(numbers, "0123456789 ") == "" {
			return strings.Fields(numbers)[0]
		}
	}
	return ""
}

// A chase is what following the aliases of a name came upon.
type chase struct {
	name  string
	chain []string // targets, in order
	loop  bool     // the last target is a name that came before
	gone  bool     // the last name does not exist
	err   error    // why it is not known where the chain ends
	addrs []netip.Addr
}

var errLong = errors.New("the chain of aliases does not end")

// follow follows the aliases of a name hop by hop, each through all that the resolver says at once.
func (a *audit) follow(ctx context.Context, name string) chase {
	c := chase{name: name}
	seen := map[string]bool{name: true}
	for at := name; len(c.chain) <= maxHops; {
		targets, answer := a.hop(ctx, at)
		before := len(c.chain)
		for targets[at] != "" && len(c.chain) <= maxHops {
			at = targets[at]
			c.chain = append(c.chain, at)
			if seen[at] {
				c.loop = true
				return c
			}
			seen[at] = true
		}
		switch {
		case answer.Exists():
			for _, r := range answer.Records {
				c.addrs = append(c.addrs, addressIn(r))
			}
			return c
		case answer.NXDomain():
			c.gone = true
			return c
		case len(c.chain) == before:
			c.err = answer.Err()
			return c
		}
	}
	c.err = errLong
	return c
}

// hop asks for the address of a name and, if that fails, for its alias.
func (a *audit) hop(ctx context.Context, name string) (targets map[string]string, answer diag.Answer[*dns.A]) {
	answer = lookup[*dns.A](ctx, a, name)
	targets = map[string]string{}
	if answer.Err() != nil {
		if alias := lookup[*dns.CNAME](ctx, a, name); alias.Exists() {
			targets[name] = dns.CanonicalName(alias.Records[0].Target)
		}
		return targets, answer
	}
	for at, i := name, 0; i < len(answer.Aliases); i++ {
		targets[at] = answer.Aliases[i]
		at = answer.Aliases[i]
	}
	return targets, answer
}
