package survey

import (
	"context"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/suffix"
	"github.com/miekg/dns"
)

// aim looks up what a record points to.
func (a *audit) aim(ctx context.Context, target string) {
	if target = dns.CanonicalName(target); target != "." {
		a.prefetch(ctx, target)
		a.aimMeant(ctx, target)
	}
}

// aimMeant looks up what a record was probably meant to point to, if it lacks its final dot.
func (a *audit) aimMeant(ctx context.Context, target string) {
	if meant, _ := suffix.Undotted(target, a.Zone); meant != "" {
		a.prefetch(ctx, dns.CanonicalName(meant))
	}
}

// aimAliases does so for the aliases in a reply, and for services that are elsewhere.
func (a *audit) aimAll(ctx context.Context, answer []dns.RR) {
	for _, rr := range answer {
		switch r := rr.(type) {
		case *dns.CNAME:
			a.aimMeant(ctx, r.Target)
		case *dns.SRV:
			a.aim(ctx, r.Target)
		case *dns.HTTPS:
			a.aimService(ctx, r)
		}
	}
}

// maxServices is how many target names of a web site's service are looked up.
const maxServices = 8

// aimService looks up where an HTTPS record leads. In alias mode (RFC 9460 section 2.4.2) that may have such records of
// its own.
func (a *audit) aimService(ctx context.Context, r *dns.HTTPS) {
	a.aim(ctx, r.Target)
	target := dns.CanonicalName(r.Target)
	if r.Priority != 0 || target == "." {
		return
	}
	a.mu.Lock()
	_, known := a.Services[target]
	known = known || len(a.Services) == maxServices
	if !known {
		a.Services[target] = diag.Answer[*dns.HTTPS]{}
	}
	a.mu.Unlock()
	if known {
		return
	}
	a.g.Go(func() {
		answer := lookup[*dns.HTTPS](ctx, a, target)
		a.mu.Lock()
		a.Services[target] = answer
		a.mu.Unlock()
		for _, next := range answer.Records[:min(len(answer.Records), maxServices)] {
			a.aimService(ctx, next)
		}
	})
}

// witness takes note of the names whose own records a server of the zone returned.
func (a *audit) witness(r Reply) {
	if r.Rcode() != dns.RcodeSuccess || !r.Msg.Authoritative {
		return
	}
	for _, rr := range r.Msg.Answer {
		a.exists(rr.Header().Name)
	}
}

// witnessHosts does so for hosts that were looked up: those with an address, or an alias, exist.
func (a *audit) witnessHosts() {
	for name, h := range a.hosts {
		found := h.addresses
		if len(found.All())+len(found.V4.Aliases)+len(found.V6.Aliases) > 0 {
			a.exists(name)
		}
	}
}
