package overlay

import (
	"context"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Resolver lays zones over the world. It implements [diag.Resolver].
type Resolver struct {
	upstream diag.Resolver
	zones    map[string]*Zone // by name
}

// New returns a resolver that answers from the zones, and asks upstream for all else. If two zones have one name, the
// later counts.
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
	for above := name; ; above = parent(above) {
		if z := r.zones[above]; z != nil && (above != name || qtype != dns.TypeDS) {
			return z
		}
		if above == "." {
			return nil
		}
	}
}

// Undelegated returns how the zone of a name will be delegated, if the resolver answers for the name itself: for all
// names of a whole zone, and of a partial one for those that it holds, or has something below.
func (r *Resolver) Undelegated(name string) (diag.Delegation, bool) {
	if z := r.zone(name, 0); z != nil && z.holds(name) {
		return z.delegation, true
	}
	return diag.Delegation{}, false
}

// Exchange implements [diag.Resolver], as a resolver that recurses and does not validate.
func (r *Resolver) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if len(q.Question) != 1 || q.Question[0].Qclass != dns.ClassINET || q.Opcode != dns.OpcodeQuery {
		return r.upstream.Exchange(ctx, q)
	}
	w := &walk{Resolver: r, query: q, qtype: q.Question[0].Qtype, reply: answerTo(q)}
	var seen []string
	for name := dns.CanonicalName(q.Question[0].Name); name != "" && len(seen) <= diag.MaxAliases; {
		if slices.Contains(seen, name) {
			break // an alias that leads back: who asked sees that the chain has no end
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

// answerTo begins the reply to a query.
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
		return "", diag.ErrUndelegated // nobody has signed them yet
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
	chain, _ := diag.FollowAliases(m, name, w.qtype)
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
