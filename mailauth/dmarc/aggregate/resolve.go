package aggregate

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/provider"
	"github.com/miekg/dns"
)

// The bounds of what is looked up in reverse DNS.
const (
	// maxResolved is how many sources are looked up, the largest first: nine tenths of the mail come from fewer.
	maxResolved = 50
	// maxPTR is how many names of one address are followed. Mail servers have one.
	maxPTR = 3
	// resolveTimeout is how long names are waited for. They add to a result that stands without them.
	resolveTimeout = 8 * time.Second
)

func (e *evidence) resolve(ctx context.Context, env *diag.Env) error {
	limited, cancel := diag.Within(ctx, resolveTimeout)
	defer cancel()
	list := e.top[:min(len(e.top), maxResolved)]
	unknown := make([]bool, len(list))
	var g diag.Group
	for i, s := range list {
		if s.ip.IsValid() {
			g.Go(func() { unknown[i] = !s.resolve(limited, env) })
		}
	}
	g.Wait()
	for i, s := range list {
		if unknown[i] {
			e.unnamed++
			e.unsure = e.unsure || s.seen&sawSPF == 0 // the name might have told what it is
		}
		if s.confirmed && strings.HasSuffix("."+s.names[0], "."+e.sums.align.organization) {
			s.seen |= sawOwnName
		}
		if s.service == nil && s.confirmed {
			s.serve(provider.Identify(provider.Traces{PTR: s.names[:1]}))
		}
	}
	return ctx.Err()
}

// resolve looks up the names of a source. A name counts only if it leads back to the address, for the owner of
// an address may give it any name (RFC 8601 section 2.7.3). It reports whether the servers answered.
func (s *source) resolve(ctx context.Context, env *diag.Env) bool {
	ptr := diag.Lookup[*dns.PTR](ctx, env, diag.IP{Addr: s.ip}.Reverse())
	if ptr.Err() != nil {
		return false
	}
	for _, r := range ptr.Records[:min(len(ptr.Records), maxPTR)] {
		s.names = append(s.names, strings.TrimSuffix(dns.CanonicalName(r.Ptr), "."))
	}
	leads := make([]bool, len(s.names))
	silent := make([]bool, len(s.names))
	var g diag.Group
	for i, name := range s.names {
		g.Go(func() {
			a := diag.LookupAddresses(ctx, env, name+".")
			leads[i] = slices.Contains(a.All(), s.ip)
			silent[i] = !leads[i] && a.Err() != nil
		})
	}
	g.Wait()
	if i := slices.Index(leads, true); i >= 0 {
		s.names[0], s.names[i] = s.names[i], s.names[0]
		s.confirmed = true
		return true
	}
	return !slices.Contains(silent, true)
}
