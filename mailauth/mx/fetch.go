package mx

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/miekg/dns"
)

// The bounds of what is looked up.
const (
	// timeout is how long anything is waited for.
	timeout = 10 * time.Second
	// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
	maxName = 254
)

type evidence struct {
	domain diag.Domain
	now    time.Time
	public func(netip.Addr) bool // whether senders all over the Internet reach an address

	mail reception.Hosts

	preferences map[string][]uint16 // of the MX records, by the name of the host, in ascending order

	hosts []host                    // those of mail
	wild  diag.Answer[*dns.MX]      // of the wildcard of the domain; zero if the domain is too long to have one
	meant map[string]reception.Host // by the name of the host: what it was meant to be, if it repeats the domain
}

// gather asks all there is to ask in two round trips. A host whose name repeats the domain by mistake takes a third,
// for the name that was meant.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	e := &evidence{domain: d, now: env.Now(), public: env.Public, meant: map[string]reception.Host{}}
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	var g diag.Group
	g.Go(func() {
		e.mail = reception.LookupHosts(bounded, env, d.Name(), reception.MaxHosts)
		e.lookupMeant(bounded, env)
	})
	if wildcard := d.Sub("*"); len(wildcard) <= maxName {
		g.Go(func() { e.wild = diag.Lookup[*dns.MX](bounded, env, wildcard) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.mail.MX.Silent() {
		return nil, fmt.Errorf("examining the MX records of %s: %w", d,
			diag.Unavailable(diag.DefaultResolver, e.mail.MX.Err()))
	}
	return e, nil
}

// lookupMeant looks up the names without the domain that a zone file appended to them.
func (e *evidence) lookupMeant(ctx context.Context, env *diag.Env) {
	var repeating []string
	var meant []reception.Host
	for _, h := range e.mail.List {
		if name := withoutDomain(h.Name, e.domain.String()); name != "" {
			repeating = append(repeating, h.Name)
			meant = append(meant, reception.Host{Preference: h.Preference, Name: name})
		}
	}
	reception.Resolve(ctx, env, meant)
	for i, name := range repeating {
		e.meant[name] = meant[i]
	}
}

func (e *evidence) digest() {
	e.preferences = map[string][]uint16{}
	for _, mx := range e.mail.MX.Records {
		name := bare(dns.CanonicalName(mx.Mx))
		e.preferences[name] = append(e.preferences[name], mx.Preference)
	}
	for _, list := range e.preferences {
		slices.Sort(list)
	}
	for _, h := range e.mail.List {
		one := host{Host: h}
		for _, ip := range h.Addresses.All() {
			if e.public(ip) {
				one.reachable = append(one.reachable, ip)
			} else {
				one.special = append(one.special, ip)
			}
		}
		one.fault = e.faultOf(&one)
		e.hosts = append(e.hosts, one)
	}
}
