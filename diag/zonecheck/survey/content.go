package survey

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A task is a question about the contents of the zone that any of its servers may answer.
type task struct {
	name  string
	qtype uint16
	tries int
	reply Reply
}

// maxTries is how many servers are asked what one of them could say.
const maxTries = 2

// contentTasks lists what is asked of one server. The names below others show whether the names in between exist.
func (a *audit) contentTasks() []*task {
	list := []*task{}
	add := func(prefix string, types ...uint16) {
		if name := prefix + a.zone; fits(name) {
			for _, t := range types {
				list = append(list, &task{name: name, qtype: t})
			}
		}
	}
	add("", dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeNSEC3PARAM, dns.TypeCAA, dns.TypeHTTPS, dns.TypeZONEMD)
	add("www.", dns.TypeAAAA)
	add("_smtp._tls.", dns.TypeTXT)
	add("default._domainkey.", dns.TypeTXT)
	add("_imaps._tcp.", dns.TypeSRV)
	return list
}

// work does tasks that nobody has begun, as long as there are any.
func (a *audit) work(ctx context.Context, ad *Address) {
	for ctx.Err() == nil {
		t := a.nextTask()
		if t == nil {
			return
		}
		r := a.ask(ctx, ad, extended(t.name, t.qtype))
		r.By = ad
		a.finish(t, r)
		if r.Rcode() == dns.RcodeSuccess && len(r.Msg.Answer) > 0 {
			a.exists(t.name)
			for _, rr := range r.Msg.Answer {
				if alias, ok := rr.(*dns.CNAME); ok {
					a.exists(alias.Target)
				}
			}
		}
	}
}

func (a *audit) nextTask() *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		if t.tries < maxTries && !t.reply.OK() {
			t.tries++
			return t
		}
	}
	return nil
}

func (a *audit) finish(t *task, r Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.reply.OK() {
		t.reply = r
	}
}

// askWithin asks for the names between names that exist and the zone: they exist too, although they may
// have no records (RFC 8020 section 2, RFC 4592 section 2.2.2).
func (a *audit) askWithin(ctx context.Context) {
	servers := []*Address{}
	for _, ip := range slices.SortedFunc(maps.Keys(a.addresses), netip.Addr.Compare) {
		if ad := a.addresses[ip]; ad.SOA().Standing(a.zone) == Authoritative && ad.Replies[ProbeSOA].OK() {
			servers = append(servers, ad)
		}
	}
	if len(servers) == 0 {
		return
	}
	names := a.betweenNames()
	replies := make([]Reply, len(names))
	var g diag.Group
	for i, name := range names {
		g.Go(func() { replies[i] = a.ask(ctx, servers[i%len(servers)], extended(name, dns.TypeA)) })
	}
	g.Wait()
	for i, name := range names {
		a.within[name] = replies[i]
	}
}

// betweenNames lists the names between those that exist and the zone, which nobody has seen.
func (a *audit) betweenNames() []string {
	names := map[string]bool{}
	for name := range a.names {
		for n := name; n != a.zone && n != "."; n = parentName(n) {
			if n != name && !a.names[n] && !strings.HasPrefix(n, "*.") {
				names[n] = true
			}
		}
	}
	list := slices.Sorted(maps.Keys(names))
	return list[:min(len(list), maxWithin)]
}
