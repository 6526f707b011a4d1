package overlay

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A Resolver lays zones over the real DNS. It implements [diag.Resolver].
type Resolver struct {
	upstream diag.Resolver
	zones    map[string]*Zone // by name
}

// New returns a resolver that answers from the zones, and asks upstream for everything else. If two zones
// have the same name, the later one is used.
func New(upstream diag.Resolver, zones ...*Zone) *Resolver {
	r := &Resolver{upstream, map[string]*Zone{}}
	for _, z := range zones {
		r.zones[z.Name] = z
	}
	return r
}

// zone returns the zone that is responsible for a question, or nil: for DS records that is the one above a cut
// (RFC 4035 section 3.1.4.1).
func (r *Resolver) zone(name string, qtype uint16) *Zone {
	for above := name; ; above = resolver.ParentName(above) {
		if z := r.zones[above]; z != nil && (above != name || qtype != dns.TypeDS) {
			return z
		}
		if above == "." {
			return nil
		}
	}
}

// Undelegated returns how the zone of a name will be delegated, and whether the resolver answers for the name
// itself: for all names of a complete zone, and for those of a partial zone that exist in it.
func (r *Resolver) Undelegated(name string) (diag.Delegation, bool) {
	if z := r.zone(name, 0); z != nil && z.holds(name) {
		return z.delegation, true
	}
	return diag.Delegation{}, false
}

// Exchange implements [diag.Resolver]. It resolves recursively and does not validate.
func (r *Resolver) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if len(q.Question) != 1 || q.Question[0].Qclass != dns.ClassINET || q.Opcode != dns.OpcodeQuery {
		return r.upstream.Exchange(ctx, q)
	}
	w := &walk{Resolver: r, query: q, qtype: q.Question[0].Qtype, reply: answerTo(q)}
	var seen []string
	for name := dns.CanonicalName(q.Question[0].Name); name != "" && len(seen) <= dnsmsg.MaxAliases; {
		if slices.Contains(seen, name) {
			break // an alias that leads back: the caller sees an endless chain
		}
		seen = append(seen, name)
		next, err := w.step(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("asking for %s %s: %w", dns.TypeToString[w.qtype], name, err)
		}
		name = next
	}
	return w.reply, nil
}

func answerTo(q *dns.Msg) *dns.Msg {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	if opt := q.IsEdns0(); opt != nil {
		m.SetEdns0(opt.UDPSize(), opt.Do())
	}
	return m
}

// A walk is the way to one answer, along aliases, through zones and the world.
type walk struct {
	*Resolver
	query *dns.Msg
	qtype uint16
	reply *dns.Msg
}

// step adds to the reply what there is at a name. It returns where an alias leads, or nothing at the end.
func (w *walk) step(ctx context.Context, name string) (next string, err error) {
	z := w.zone(name, w.qtype)
	if own := w.zones[name]; own != nil && own.ask != nil && w.qtype == dns.TypeDS {
		return "", diag.ErrUndelegated // they are not signed yet
	}
	if z == nil {
		return w.world(ctx, name, nil, nil)
	}
	if z.ask != nil {
		return w.servers(ctx, z, name)
	}
	what, rrs := z.lookup(name, w.qtype)
	switch what {
	case unsigned:
		return "", diag.ErrUndelegated
	case outside, beneath, wild:
		return w.world(ctx, name, z, rrs)
	case absent:
		w.reply.Rcode = dns.RcodeNameError
		fallthrough
	case nothing:
		w.reply.Ns = z.denial()
		return "", nil
	}
	return w.add(rrs), nil
}

// add adds records of a zone. It returns where an alias among them leads.
func (w *walk) add(rrs []dns.RR) (next string) {
	w.reply.Answer = append(w.reply.Answer, rrs...)
	if alias, ok := rrs[len(rrs)-1].(*dns.CNAME); ok && w.qtype != dns.TypeCNAME && w.qtype != dns.TypeANY {
		return dns.CanonicalName(alias.Target)
	}
	return ""
}

// world asks upstream; z is the zone, if any, that holds something near the name, and wildcard what it has for a name
// that does not exist.
func (w *walk) world(ctx context.Context, name string, z *Zone, wildcard []dns.RR) (next string, err error) {
	m, err := w.ask(ctx, name, w.qtype)
	if err != nil || m == nil {
		w.reply = nil // no message is no answer
		return "", err
	}
	switch {
	case m.Rcode != dns.RcodeNameError:
	case len(wildcard) > 0:
		return w.add(wildcard), nil
	case w.unknown(ctx, name, z):
		return "", diag.ErrUndelegated
	case z != nil && z.nodes[name] != nil:
		m = m.Copy()
		m.Rcode = dns.RcodeSuccess // the name will exist, though without records of the type
	}
	return w.take(m, name), nil
}

// unknown reports whether a name does not exist only because a delegation is new: that of the zone itself, whose DS
// records its parent zone will have, or one in it.
func (w *walk) unknown(ctx context.Context, name string, z *Zone) bool {
	if z == nil {
		return w.qtype == dns.TypeDS && w.zones[name] != nil
	}
	cut := z.cut(name)
	if cut == "" {
		return false
	}
	m, err := w.ask(ctx, cut, dns.TypeNS)
	return err != nil || m == nil || m.Rcode != dns.RcodeSuccess
}

func (w *walk) ask(ctx context.Context, name string, qtype uint16) (*dns.Msg, error) {
	q := w.query
	if len(w.reply.Answer) > 0 || qtype != q.Question[0].Qtype || name != dns.CanonicalName(q.Question[0].Name) {
		q = q.Copy()
		q.Question[0].Name, q.Question[0].Qtype = name, qtype
	}
	return w.upstream.Exchange(ctx, q)
}

// take adds an answer of the world up to the first alias that leads back into a zone, and returns that. An answer that
// needs nothing else stays as it is.
func (w *walk) take(m *dns.Msg, name string) (next string) {
	chain, _ := dnsmsg.FollowAliases(m, name, w.qtype)
	var aliases []dns.RR
	for _, alias := range chain {
		target := dns.CanonicalName(alias.Target)
		aliases = append(aliases, alias)
		if z := w.zone(target, w.qtype); z != nil && z.answers(target, w.qtype) {
			w.reply.Answer = append(w.reply.Answer, aliases...)
			return target
		}
	}
	if len(w.reply.Answer) == 0 {
		w.reply = m
		return ""
	}
	w.reply.Rcode, w.reply.Truncated = m.Rcode, m.Truncated
	w.reply.Answer = append(w.reply.Answer, m.Answer...)
	w.reply.Ns = m.Ns
	if opt := m.IsEdns0(); opt != nil { // with the reasons of the rcode
		w.reply.Extra = []dns.RR{opt}
	}
	return ""
}

// answers reports whether a question need not be put to the world.
func (z *Zone) answers(name string, qtype uint16) bool {
	what := found
	if z.ask == nil {
		what, _ = z.lookup(name, qtype)
	}
	return what != outside && what != beneath
}

// Bounds of a delegation, as in an audit of a zone.
const (
	maxServers = 20
	maxDS      = 12
)

// Delegated returns a zone that is already on the servers of the delegation, although the parent zone does
// not delegate to them yet. They are queried through the network of env, if its guard allows them.
func Delegated(env *diag.Env, d diag.Delegation) *Zone {
	d.Zone = dns.CanonicalName(d.Zone)
	return &Zone{Name: d.Zone, delegation: d, ask: env.Iterator()}
}

// ParseDelegation parses a future delegation: servers such as "ns1.example.net" or
// "ns1.example.net/192.0.2.1", and the data of DS records. A server with several addresses is listed once for
// each; one without an address is looked up with the resolver of the environment.
func ParseDelegation(ctx context.Context, env *diag.Env, zone string, servers, ds []string) (diag.Delegation, error) {
	d := diag.Delegation{Zone: dns.CanonicalName(zone)}
	if len(servers) > maxServers || len(ds) > maxDS {
		return d, input.Invalid("ns", "there are more than %d servers or %d DS records", maxServers, maxDS)
	}
	for _, text := range servers {
		host, address, with := strings.Cut(strings.TrimSpace(text), "/")
		name, err := diag.ParseDomain(host)
		if err != nil {
			return d, input.Invalid("ns", "%.100q is not a name server, such as ns1.example.net/192.0.2.1", text)
		}
		addrs := []netip.Addr{}
		if addr, err := netip.ParseAddr(address); err == nil && addr.Zone() == "" {
			addrs = append(addrs, addr.Unmap())
		} else if with {
			return d, input.Invalid("ns", "%.100q is not an address, such as 192.0.2.1", address)
		} else if addrs = diag.LookupAddresses(ctx, env, name.FQDN()).All(); len(addrs) == 0 {
			return d, input.Invalid("ns", "%s has no address: add it, as in %s/192.0.2.1", name, name)
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
			return d, input.Invalid("ds", "%.100q is not a DS record, such as 12345 13 2 and the digest in "+
				"hexadecimal", text)
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
	chain, rrs := dnsmsg.FollowAliases(m, name, w.qtype)
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
