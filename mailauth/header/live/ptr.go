package live

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

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

	Err error `json:"-"` // the same
}

// lookupPTR looks up the names of an address and then the addresses of these: two round trips.
func lookupPTR(ctx context.Context, env *diag.Env, ip netip.Addr) *PTR {
	p := &PTR{IP: ip.String(), Hostnames: []string{}, Confirmed: []string{}}
	answer := diag.Lookup[*dns.PTR](ctx, env, diag.IP{Addr: ip}.Reverse())
	p.fail(answer.Err())
	for _, r := range answer.Records {
		d, err := diag.ParseDomain(r.Ptr)
		if err == nil && !slices.Contains(p.Hostnames, d.String()) && len(p.Hostnames) < maxNames {
			p.Hostnames = append(p.Hostnames, d.String())
		}
	}
	hosts := make([]diag.Addresses, len(p.Hostnames))
	var g diag.Group
	for i, host := range p.Hostnames {
		if ip.Is4() {
			g.Go(func() { hosts[i].V4 = diag.Lookup[*dns.A](ctx, env, host+".") })
		} else {
			g.Go(func() { hosts[i].V6 = diag.Lookup[*dns.AAAA](ctx, env, host+".") })
		}
	}
	g.Wait()
	for i, host := range p.Hostnames {
		if slices.Contains(hosts[i].All(), ip) {
			p.Confirmed = append(p.Confirmed, host)
		}
	}
	if p.ForwardConfirmed = len(p.Confirmed) > 0; !p.ForwardConfirmed {
		for _, a := range hosts {
			p.fail(cmp.Or(a.V4.Err(), a.V6.Err()))
		}
	}
	return p
}

func (p *PTR) fail(err error) {
	if err != nil && p.Err == nil {
		p.Err, p.Error = err, diag.Reason(err)
	}
}
