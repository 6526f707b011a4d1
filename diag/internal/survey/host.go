package survey

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// lookupTimeout is how long the resolver is waited for. It may have to try several servers itself.
const lookupTimeout = 3 * time.Second

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
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return diag.Lookup[R](ctx, a.raw, name)
}

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
		limited, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		h.addresses = diag.LookupAddresses(limited, a.raw, name)
		return h.addresses
	}
	<-h.done // the lookup ends with the context
	return h.addresses
}

func (a *audit) prefetch(ctx context.Context, name string) {
	a.g.Go(func() { a.lookupHost(ctx, name) })
}

// An Origin is the network that announces an address.
type Origin struct {
	ASN string // empty if it is not known
	Err error  // why the network is unknown, if there was no answer
}

// The zones in which Team Cymru publishes the network that announces an address (www.team-cymru.com, "IP to ASN
// mapping"). Zonemaster queries them too.
const (
	originIPv4 = ".origin.asn.cymru.com."
	originIPv6 = ".origin6.asn.cymru.com."
)

// originOf looks up the network that announces an address.
func (a *audit) originOf(ctx context.Context, ip netip.Addr) Origin {
	reverse := diag.IP{Addr: ip}.Reverse()
	if reverse == "" {
		return Origin{}
	}
	question := strings.TrimSuffix(reverse, ".in-addr.arpa.") + originIPv4
	if ip.Is6() {
		question = strings.TrimSuffix(reverse, ".ip6.arpa.") + originIPv6
	}
	answer := lookup[*dns.TXT](ctx, a, question)
	return Origin{asnIn(answer), answer.Err()}
}

// asnIn reads an answer such as "64496 | 192.0.2.0/24 | US | arin | 2026-01-01". The first field may
// list several numbers.
func asnIn(answer diag.Answer[*dns.TXT]) string {
	for _, r := range answer.Records {
		numbers, _, found := strings.Cut(dnsmsg.TXT(r), "|")
		numbers = strings.TrimSpace(numbers)
		if found && numbers != "" && strings.Trim(numbers, "0123456789 ") == "" {
			return strings.Fields(numbers)[0]
		}
	}
	return ""
}

// A Chain is the result of following the aliases of a name.
type Chain struct {
	Name     string
	Targets  []string // of the aliases, in order
	Loop     bool     // the last target is a name that came before
	NXDomain bool     // the last name does not exist
	Err      error    // why it is not known where the chain ends
	Addrs    []netip.Addr
}

// End is the last name of the chain.
func (c Chain) End() string { return append([]string{c.Name}, c.Targets...)[len(c.Targets)] }

// ErrLong says that a chain has more aliases than are followed.
var ErrLong = errors.New("the chain of aliases does not end")

// follow follows the aliases of a name hop by hop, each through all that one reply of the resolver holds.
func (a *audit) follow(ctx context.Context, name string) Chain {
	c := Chain{Name: name}
	seen := map[string]bool{name: true}
	for at := name; len(c.Targets) <= maxHops; {
		targets, answer := a.hop(ctx, at)
		before := len(c.Targets)
		for targets[at] != "" && len(c.Targets) <= maxHops {
			at = targets[at]
			c.Targets = append(c.Targets, at)
			if seen[at] {
				c.Loop = true
				return c
			}
			seen[at] = true
		}
		switch {
		case answer.Exists():
			for _, r := range answer.Records {
				c.Addrs = append(c.Addrs, resolver.AddressIn(r))
			}
			return c
		case answer.NXDomain():
			c.NXDomain = true
			return c
		case len(c.Targets) == before:
			c.Err = answer.Err()
			return c
		}
	}
	c.Err = ErrLong
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
