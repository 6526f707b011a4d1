package header

import (
	"context"
	"net/netip"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// maxNames bounds the names of an address that are looked up (RFC 7208 section 4.6.4 has the same limit).
const maxNames = 10

// PTR is what the DNS says about the address of the sending server.
type PTR struct {
	IP               string   `json:"ip" doc:"the address"`
	Hostnames        []string `json:"hostnames" doc:"its names, in lower case; at most 10"`
	Confirmed        []string `json:"confirmed" doc:"those of them that lead back to the address"`
	ForwardConfirmed bool     `json:"forward_confirmed" doc:"whether one of them does"`
	Error            string   `json:"error,omitempty" doc:"why the names, or their addresses, are not known"`

	addr netip.Addr
	err  error
}

// lookupPTR looks up the names of an address and then the addresses of these: two round trips.
func lookupPTR(ctx context.Context, env *diag.Env, ip netip.Addr) PTR {
	p := PTR{IP: ip.String(), Hostnames: []string{}, Confirmed: []string{}, addr: ip}
	answer := diag.Lookup[*dns.PTR](ctx, env, diag.IP{Addr: ip}.Reverse())
	p.fail(answer.Err())
	seen := map[diag.Domain]bool{}
	for _, r := range answer.Records {
		if d, err := diag.ParseDomain(r.Ptr); err == nil && !seen[d] && len(p.Hostnames) < maxNames {
			seen[d] = true
			p.Hostnames = append(p.Hostnames, d.String())
		}
	}
	leads, errs := make([]bool, len(p.Hostnames)), make([]error, len(p.Hostnames))
	var g diag.Group
	for i, host := range p.Hostnames {
		g.Go(func() { leads[i], errs[i] = leadsTo(ctx, env, host+".", ip) })
	}
	g.Wait()
	for i, host := range p.Hostnames {
		if leads[i] {
			p.Confirmed = append(p.Confirmed, host)
		}
	}
	if p.ForwardConfirmed = len(p.Confirmed) > 0; !p.ForwardConfirmed {
		for _, err := range errs {
			p.fail(err)
		}
	}
	return p
}

func (p *PTR) fail(err error) {
	if err != nil && p.err == nil {
		p.err, p.Error = err, diag.Reason(err)
	}
}

// leadsTo reports whether a host has the address.
func leadsTo(ctx context.Context, env *diag.Env, host string, ip netip.Addr) (found bool, err error) {
	if ip.Is4() {
		a := diag.Lookup[*dns.A](ctx, env, host)
		for _, r := range a.Records {
			addr, _ := netip.AddrFromSlice(r.A.To4())
			found = found || addr == ip
		}
		return found, a.Err()
	}
	a := diag.Lookup[*dns.AAAA](ctx, env, host)
	for _, r := range a.Records {
		addr, _ := netip.AddrFromSlice(r.AAAA.To16())
		found = found || addr == ip
	}
	return found, a.Err()
}
