package smtpcheck

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/miekg/dns"
)

const (
	// timeout bounds the whole check: the operation has 30 seconds (CONTRACT 1.9).
	timeout = 28 * time.Second
	// maxConnections bounds the simultaneous connections to a host. Package smtp has the same bound for an address.
	maxConnections = 2
	// maxAddresses bounds the addresses tested of each host and IP version. Large providers publish up to eight, all
	// of which lead to servers with the same configuration.
	maxAddresses = 2
	// maxServers bounds the addresses and ports that are tested in all, the most preferred hosts first.
	maxServers = 60
)

type evidence struct {
	req    Request
	began  time.Time
	now    time.Time
	public func(netip.Addr) bool // whether senders all over the Internet reach an address

	mail    reception.Hosts // its List has the one host of a request for a host
	servers []*server
	skipped int // skipped addresses

	noMailService, stranded, dead bool // where the path to a mail server ends, see chain.go; set by digest
}

func gather(ctx context.Context, env *diag.Env, req Request) (*evidence, error) {
	e := &evidence{req: req, began: env.Now(), now: env.Now(), public: env.Public}
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	if err := e.findHosts(bounded, env); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	e.list()
	p := &prober{env: env, evidence: e, slots: map[string]chan struct{}{}}
	p.makeSlots()
	var g diag.Group
	for _, s := range e.servers {
		g.Go(func() { p.probe(bounded, s) })
	}
	e.reverse(bounded, env, &g)
	g.Wait()
	return e, ctx.Err()
}

func (e *evidence) findHosts(ctx context.Context, env *diag.Env) error {
	if e.byDomain() {
		e.mail = reception.LookupHosts(ctx, env, e.req.Domain.Name(), e.req.MaxHosts)
		if e.mail.MX.Silent() {
			return fmt.Errorf("testing the mail servers of %s: %w", e.req.Domain,
				diag.Unavailable(diag.DefaultResolver, e.mail.MX.Err()))
		}
		return nil
	}
	host := reception.Host{Name: e.req.Host.Name()}
	if _, ok := e.req.Host.IP(); !ok {
		host.Addresses = diag.LookupAddresses(ctx, env, dns.Fqdn(host.Name))
		if host.Addresses.V4.Silent() && host.Addresses.V6.Silent() {
			return fmt.Errorf("testing the mail server %s: %w", host.Name,
				diag.Unavailable(diag.DefaultResolver, host.Addresses.Err()))
		}
	}
	e.mail.List = []reception.Host{host}
	return nil
}

func (e *evidence) byDomain() bool { return !e.req.Domain.IsZero() }

// list builds the list of servers: each address and port once, for the first host with it.
func (e *evidence) list() {
	seen := map[netip.AddrPort]bool{}
	for i := range e.mail.List {
		host := &e.mail.List[i]
		var preference *uint16
		if e.mail.MX.Exists() {
			preference = &host.Preference
		}
		addresses := e.pick(host)
		for _, port := range e.req.Ports {
			for _, ip := range addresses {
				addr := netip.AddrPortFrom(ip, uint16(port))
				if seen[addr] {
					continue
				}
				seen[addr] = true
				if len(e.servers) == maxServers {
					e.skipped++
					continue
				}
				e.servers = append(e.servers, &server{
					now: e.now, host: host.Name, preference: preference, addr: addr, public: e.public(ip),
					relay: relay{status: RelayInconclusive}, ptr: ptr{hosts: []string{}},
				})
			}
		}
	}
}

func (e *evidence) pick(host *reception.Host) []netip.Addr {
	if ip, ok := e.req.Host.IP(); ok {
		return []netip.Addr{ip.Addr}
	}
	var v4, v6 []netip.Addr
	for _, ip := range host.Addresses.All() {
		if ip.Is4() {
			v4 = append(v4, ip)
		} else {
			v6 = append(v6, ip)
		}
	}
	e.skipped += max(0, len(v4)-maxAddresses) + max(0, len(v6)-maxAddresses)
	return slices.Concat(v4[:min(len(v4), maxAddresses)], v6[:min(len(v6), maxAddresses)])
}

type ptr struct {
	hosts     []string
	confirmed bool
	unsure    bool  // an address lookup of one of the hosts failed
	err       error // why the names are unknown
}

const maxPTRHosts = 20

// reverse looks up the names of all addresses: two round trips, concurrently with the sessions.
func (e *evidence) reverse(ctx context.Context, env *diag.Env, g *diag.Group) {
	byAddress := map[netip.Addr][]*server{}
	for _, s := range e.servers {
		byAddress[s.addr.Addr()] = append(byAddress[s.addr.Addr()], s)
	}
	for ip, servers := range byAddress {
		g.Go(func() {
			found := ptr{hosts: []string{}}
			report, err := resolve.Reverse(ctx, env, resolve.ReverseRequest{IP: diag.IP{Addr: ip}})
			switch {
			case err != nil:
				found.err = err
			case report.Rcode != "NOERROR" && report.Rcode != "NXDOMAIN":
				found.err = fmt.Errorf("the resolver answered %s", report.Rcode)
			default:
				found.hosts = report.Hostnames[:min(len(report.Hostnames), maxPTRHosts)]
				found.confirmed = report.ForwardConfirmed
				found.unsure = !found.confirmed && slices.ContainsFunc(report.Forward, func(f resolve.Forward) bool {
					return f.Rcode != "NOERROR" && f.Rcode != "NXDOMAIN"
				})
			}
			for _, s := range servers {
				s.ptr = found
			}
		})
	}
}
