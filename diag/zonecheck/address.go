package zonecheck

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A probe is one thing to ask an address.
type probe int

// The probes, in the order in which they are worth asking.
const (
	probeSOA       probe = 0 // without EDNS
	probeTCP       probe = 1
	probeTransfer  probe = 2
	probeIdentity  probe = 3 // EDNS with options and signatures
	probeEDNS      probe = 4 // EDNS alone, if the former failed
	probeKeys      probe = 5
	probeNS        probe = 6
	probeA         probe = 7
	probeAAAA      probe = 8
	probeMX        probe = 9
	probeTXT       probe = 10
	probeAbsent    probe = 11
	probeRecursion probe = 12
	probeCase      probe = 13
	probeVersion   probe = 14 // of EDNS
	probeOption    probe = 15
	probeFlags     probe = 16
	probeSmall     probe = 17
	probeChaos     probe = 18
	probeStray     probe = 19
	probeSubnet    probe = 20
	probeTLS       probe = 21 // port 853
	probeWWW       probe = 22
	probeCount           = 23
)

// An address is one address of the name servers, and what was heard from there.
type address struct {
	ip      netip.Addr
	deep    bool // examined in full
	edns    bool // answers queries with EDNS
	hurried bool // the time was up before all was asked
	replies [probeCount]reply
	origin  origin
}

// soa returns the reply that tells whether the server serves the zone, by whichever transport it came.
func (ad *address) soa() reply {
	udp, tcp := ad.replies[probeSOA], ad.replies[probeTCP]
	if udp.ok() && !udp.msg.Truncated || !tcp.ok() {
		return udp
	}
	return tcp
}

// askUDP asks an address that nothing is known of.
func (a *audit) askUDP(ctx context.Context, ip netip.Addr, q *dns.Msg) reply {
	r := a.wire.udp(ctx, ip, q, silentAfter)
	if r.ok() && r.msg.Truncated {
		if whole := a.wire.tcp(ctx, ip, q); whole[0].ok() {
			return whole[0]
		}
	}
	return r
}

// ask asks an address that is known to answer, in the form that it understands.
func (a *audit) ask(ctx context.Context, ad *address, q *dns.Msg) reply {
	if !ad.edns {
		q = without(q)
	}
	r := a.wire.udp(ctx, ad.ip, q, ad.patience())
	if r.ok() && r.msg.Truncated {
		if whole := a.wire.tcp(ctx, ad.ip, q); whole[0].ok() {
			whole[0].forged += r.forged
			return whole[0]
		}
	}
	return r
}

// patience is how long a reply of the address may take, by the first.
func (ad *address) patience() time.Duration {
	return min(silentAfter, max(quickest, slack*ad.replies[probeSOA].latency))
}

// examine asks an address whether it serves the zone and, if it does, all the rest.
func (a *audit) examine(ctx context.Context, ad *address) {
	var g diag.Group
	overTCP := make(chan struct{})
	g.Go(func() {
		defer close(overTCP)
		replies := a.wire.tcp(ctx, ad.ip, plain(a.zone, dns.TypeSOA), plain(a.zone, dns.TypeAXFR))
		ad.replies[probeTCP], ad.replies[probeTransfer] = replies[0], replies[1]
	})
	a.first(ctx, ad)
	r := ad.replies[probeSOA]
	if !r.ok() || r.msg.Truncated {
		<-overTCP
		r = ad.soa()
	}
	if r.ok() {
		for _, soa := range set[*dns.SOA](r.msg.Answer, a.zone) {
			a.prefetch(ctx, soa.Ns)
		}
	}
	switch {
	case !r.ok() || !ad.replies[probeSOA].ok():
	case a.standingOf(r) == lame:
		a.pool(ctx, ad, []probe{probeRecursion, probeChaos}, false)
	case !ad.deep:
		a.identify(ctx, ad)
		a.pool(ctx, ad, []probe{probeRecursion, probeChaos}, false)
	default:
		a.identify(ctx, ad)
		a.pool(ctx, ad, a.rest(ad), a.standingOf(r) == authoritative)
	}
	g.Wait()
}

// first asks the first question, and looks out for replies from elsewhere if none comes.
func (a *audit) first(ctx context.Context, ad *address) {
	var g diag.Group
	done := make(chan struct{})
	g.Go(func() {
		timer := time.NewTimer(silentAfter)
		defer timer.Stop()
		select {
		case <-done:
		case <-ctx.Done():
		case <-timer.C:
			ad.replies[probeStray] = a.wire.stray(ctx, ad.ip, plain(a.zone, dns.TypeSOA))
		}
	})
	ad.replies[probeSOA] = a.wire.udp(ctx, ad.ip, plain(a.zone, dns.TypeSOA), silentAfter)
	close(done)
	g.Wait()
}

// identify finds out whether the address understands EDNS.
func (a *audit) identify(ctx context.Context, ad *address) {
	ad.edns = true
	r := a.ask(ctx, ad, identity(a.zone))
	ad.replies[probeIdentity] = r
	if r.rcode() == dns.RcodeSuccess && optOf(r) != nil {
		return
	}
	r = a.ask(ctx, ad, bare(a.zone, dns.TypeSOA))
	ad.replies[probeEDNS] = r
	ad.edns = r.rcode() == dns.RcodeSuccess && optOf(r) != nil
}

// rest lists what is left to ask an address.
func (a *audit) rest(ad *address) []probe {
	list := []probe{probeKeys, probeNS, probeA, probeAAAA, probeMX, probeTXT, probeWWW, probeAbsent,
		probeRecursion, probeCase}
	if ad.edns {
		list = append(list, probeVersion, probeOption, probeFlags, probeSmall)
	}
	return append(list, probeChaos, probeTLS)
}

// pool asks a list of questions, as many at once as the address may be asked, and then what has to be
// asked somewhere, if the address serves the zone.
func (a *audit) pool(ctx context.Context, ad *address, list []probe, tasks bool) {
	var mu sync.Mutex
	next := func() (probe, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(list) == 0 {
			return 0, false
		}
		p := list[0]
		list = list[1:]
		return p, true
	}
	var g diag.Group
	for range MaxInFlight {
		g.Go(func() {
			for p, ok := next(); ok && ctx.Err() == nil; p, ok = next() {
				a.run(ctx, ad, p)
			}
			if tasks {
				a.work(ctx, ad)
			}
		})
	}
	g.Wait()
	ad.hurried = ctx.Err() != nil
}

// run asks one question and follows up what the reply leads to.
func (a *audit) run(ctx context.Context, ad *address, p probe) {
	if p == probeTLS {
		ad.replies[p] = a.wire.tls(ctx, ad.ip, max(tlsPatience, 3*ad.replies[probeSOA].latency))
		return
	}
	q := a.query(ctx, p)
	if q == nil {
		return
	}
	if p == probeA {
		a.runA(ctx, ad, q)
		return
	}
	r := a.ask(ctx, ad, q)
	ad.replies[p] = r
	if !r.ok() {
		return
	}
	switch p {
	case probeNS:
		for _, host := range hostsOf(set[*dns.NS](r.msg.Answer, a.zone)) {
			a.exists(host)
			a.meet(ctx, host)
		}
	case probeMX:
		for _, host := range exchangers(r, a.zone) {
			a.exists(host)
			a.prefetch(ctx, host)
		}
	case probeWWW:
		for _, rr := range r.msg.Answer {
			if alias, ok := rr.(*dns.CNAME); ok {
				a.exists(alias.Target)
			}
		}
	case probeAbsent:
		for _, rr := range r.msg.Ns {
			// Names with octets that are not letters are made up by those who sign each answer (RFC 4470).
			if nsec, ok := rr.(*dns.NSEC); ok && !strings.Contains(nsec.NextDomain, `\`) {
				a.exists(nsec.NextDomain)
			}
		}
	}
}

// runA asks for the address of the zone on behalf of a network elsewhere and, if that confuses the
// server, without.
func (a *audit) runA(ctx context.Context, ad *address, q *dns.Msg) {
	if ad.edns {
		r := a.ask(ctx, ad, located(a.zone))
		ad.replies[probeSubnet] = r
		if r.rcode() == dns.RcodeSuccess {
			ad.replies[probeA] = r
			return
		}
	}
	ad.replies[probeA] = a.ask(ctx, ad, q)
}

// query makes the query of a probe, or nil if it cannot be asked.
func (a *audit) query(ctx context.Context, p probe) *dns.Msg {
	switch p {
	case probeKeys:
		return extended(a.zone, dns.TypeDNSKEY)
	case probeNS:
		return extended(a.zone, dns.TypeNS)
	case probeA:
		return extended(a.zone, dns.TypeA)
	case probeAAAA:
		return extended(a.zone, dns.TypeAAAA)
	case probeMX:
		return extended(a.zone, dns.TypeMX)
	case probeTXT:
		return extended(a.zone, dns.TypeTXT)
	case probeAbsent:
		if name := absentLabel + "." + a.zone; fits(name) {
			return extended(name, dns.TypeA)
		}
	case probeWWW:
		if name := "www." + a.zone; fits(name) {
			return extended(name, dns.TypeA)
		}
	case probeCase:
		return plain(mixed(a.zone), dns.TypeSOA)
	case probeVersion:
		return versioned(a.zone)
	case probeOption:
		return optioned(a.zone)
	case probeFlags:
		return flagged(a.zone)
	case probeSmall:
		return small(a.zone)
	case probeChaos:
		return chaos()
	case probeRecursion:
		select { // for a name outside the zone that exists: that of the zone above
		case <-a.aboveKnown:
			if a.aboveName != "" {
				return recursive(a.aboveName)
			}
		case <-ctx.Done():
		}
	}
	return nil
}

// exchangers lists the mail exchangers in a reply, in lower case, sorted, the null MX left out.
func exchangers(r reply, zone string) []string {
	var list []string
	if !r.ok() {
		return nil
	}
	for _, mx := range set[*dns.MX](r.msg.Answer, zone) {
		if mx.Mx != "." {
			list = append(list, dns.CanonicalName(mx.Mx))
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), maxExchangers)]
}
