package overlay

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Bounds of a delegation, as in an audit of a zone.
const (
	maxServers = 20
	maxDS      = 12
)

// Delegated is a zone that is at its servers already, and that its parent zone does not delegate to them yet. They are
// asked through the network of the environment, whose guard holds for them.
func Delegated(env *diag.Env, d diag.Delegation) *Zone {
	d.Zone = dns.CanonicalName(d.Zone)
	return &Zone{Name: d.Zone, delegation: d, ask: env.Iterator()}
}

// ParseDelegation reads how a zone will be delegated: servers such as ns1.example.net/192.0.2.1, each with an address
// or, several times, with several, and the data of DS records. A server without an address is looked up with the
// resolver of the environment.
func ParseDelegation(ctx context.Context, env *diag.Env, zone string, servers, ds []string) (diag.Delegation, error) {
	d := diag.Delegation{Zone: dns.CanonicalName(zone)}
	if len(servers) > maxServers || len(ds) > maxDS {
		return d, diag.Invalid("ns", "there are more than %d servers or %d DS records", maxServers, maxDS)
	}
	for _, text := range servers {
		host, address, with := strings.Cut(strings.TrimSpace(text), "/")
		name, err := diag.ParseDomain(host)
		if err != nil {
			return d, diag.Invalid("ns", "%.100q is no name server, such as ns1.example.net/192.0.2.1", text)
		}
		addrs := []netip.Addr{}
		if addr, err := netip.ParseAddr(address); err == nil && addr.Zone() == "" {
			addrs = append(addrs, addr.Unmap())
		} else if with {
			return d, diag.Invalid("ns", "%.100q is no address, such as 192.0.2.1", address)
		} else if addrs = diag.LookupAddresses(ctx, env, name.FQDN()).All(); len(addrs) == 0 {
			return d, diag.Invalid("ns", "%s has no address: add it, as in %s/192.0.2.1", name, name)
		}
		i := slices.IndexFunc(d.Servers, func(s resolver.NameServer) bool { return s.Name == name.FQDN() })
		if i < 0 {
			i = len(d.Servers)
			d.Servers = append(d.Servers, resolver.NameServer{Name: name.FQDN()})
		}
		d.Servers[i].Addrs = append(d.Servers[i].Addrs, addrs...)
	}
	for _, text := range ds {
		rr, err := dns.NewRR(fmt.Sprintf("%s 3600 IN DS %s", d.Zone, text))
		record, ok := rr.(*dns.DS)
		if err != nil || !ok || strings.ContainsAny(text, "\n;") {
			return d, diag.Invalid("ds", "%.100q is no DS record, such as 12345 13 2 and the digest in hexadecimal", text)
		}
		d.DS = append(d.DS, record)
	}
	return d, nil
}

// servers takes the answer of the first server that gives one.
func (w *walk) servers(ctx context.Context, z *Zone, name string) (next string, err error) {
	err = diag.ErrUndelegated
	for _, s := range z.delegation.Servers {
		for _, ip := range s.Addrs {
			hop := z.ask.AskServer(ctx, z.Name, s.Name, ip, dns.Question{Name: name, Qtype: w.qtype, Qclass: dns.ClassINET})
			switch {
			case hop.Err != nil || hop.Reply == nil:
				err = cmp.Or(hop.Err, err)
			case hop.Child != "":
				return w.world(ctx, name, nil, nil)
			default:
				return w.own(hop.Reply, z, name), nil
			}
		}
	}
	return "", err
}

// own adds what a server of the zone says about names in it.
func (w *walk) own(m *dns.Msg, z *Zone, name string) (next string) {
	chain, rrs := diag.FollowAliases(m, name, w.qtype)
	w.reply.Rcode, w.reply.Ns = m.Rcode, m.Ns
	for _, alias := range chain {
		w.reply.Answer = append(w.reply.Answer, alias)
		if name = dns.CanonicalName(alias.Target); !dns.IsSubDomain(z.Name, name) {
			w.reply.Rcode, w.reply.Ns = dns.RcodeSuccess, nil
			return name
		}
	}
	w.reply.Answer = append(w.reply.Answer, rrs...)
	return ""
}
