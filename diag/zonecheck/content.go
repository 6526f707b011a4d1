package zonecheck

import (
	"context"
	"maps"
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
	reply reply
}

// maxTries is how many servers are asked what one of them could say.
const maxTries = 2

// contentTasks lists what is asked of one server. The names below others show whether the names in
// between exist.
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
func (a *audit) work(ctx context.Context, ad *address) {
	for ctx.Err() == nil {
		t := a.nextTask()
		if t == nil {
			return
		}
		r := a.ask(ctx, ad, extended(t.name, t.qtype))
		r.by = ad
		a.finish(t, r)
		if r.rcode() == dns.RcodeSuccess && len(r.msg.Answer) > 0 {
			a.exists(t.name)
			for _, rr := range r.msg.Answer {
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
		if t.tries < maxTries && !t.reply.ok() {
			t.tries++
			return t
		}
	}
	return nil
}

func (a *audit) finish(t *task, r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.reply.ok() {
		t.reply = r
	}
}

// askWithin asks for the names between names that exist and the zone: they exist too, although they may
// have no records (RFC 8020 section 2, RFC 4592 section 2.2.2).
func (a *audit) askWithin(ctx context.Context) {
	servers := []*address{}
	for _, ip := range slices.SortedFunc(maps.Keys(a.addresses), compareAddrs) {
		if ad := a.addresses[ip]; a.standingOf(ad.soa()) == authoritative && ad.replies[probeSOA].ok() {
			servers = append(servers, ad)
		}
	}
	if len(servers) == 0 {
		return
	}
	names := a.betweenNames()
	replies := make([]reply, len(names))
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
		for n := name; n != a.zone && n != "."; n = above(n) {
			if n != name && !a.names[n] && !strings.HasPrefix(n, "*.") {
				names[n] = true
			}
		}
	}
	list := slices.Sorted(maps.Keys(names))
	return list[:min(len(list), maxWithin)]
}
