package survey

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

// A Probe is one thing to ask an address.
type Probe int

// The probes, in the order in which they are worth asking.
const (
	ProbeSOA       Probe = 0 // without EDNS
	ProbeTCP       Probe = 1
	ProbeTransfer  Probe = 2
	ProbeIdentity  Probe = 3 // EDNS with options and signatures
	ProbeEDNS      Probe = 4 // EDNS alone, if ProbeIdentity failed
	ProbeKeys      Probe = 5
	ProbeNS        Probe = 6
	ProbeA         Probe = 7
	ProbeAAAA      Probe = 8
	ProbeMX        Probe = 9
	ProbeTXT       Probe = 10
	ProbeCAA       Probe = 11
	ProbeHTTPS     Probe = 12
	ProbeCDS       Probe = 13
	ProbeCDNSKEY   Probe = 14
	ProbeAbsent    Probe = 15
	ProbeRecursion Probe = 16
	ProbeCase      Probe = 17
	ProbeVersion   Probe = 18 // of EDNS
	ProbeOption    Probe = 19
	ProbeFlags     Probe = 20
	ProbeSmall     Probe = 21
	ProbeChaos     Probe = 22
	probeStray     Probe = 23
	ProbeSubnet    Probe = 24
	ProbeWWW       Probe = 25
	probeCount           = 26
)

// An Address is one address of the name servers, and what it answered.
type Address struct {
	IP      netip.Addr
	Deep    bool   // examined in full
	EDNS    bool   // answers queries with EDNS
	Hurried bool   // the time was up before all was asked
	control uint16 // the type that it is known to answer for
	Replies [probeCount]Reply
	Origin  Origin
}

// SOA returns the reply that shows whether the server serves the zone, over any transport.
func (ad *Address) SOA() Reply {
	udp, tcp := ad.Replies[ProbeSOA].whole(), ad.Replies[ProbeTCP].whole()
	if udp.OK() || !tcp.OK() {
		return udp
	}
	return tcp
}

// Standing returns what the server is to the zone. One that fails for the SOA record alone serves it.
func (ad *Address) Standing(zone string) Standing {
	standing := ad.SOA().Standing(zone)
	if standing == Lame && ad.Replies[ProbeNS].names(zone) {
		return Authoritative
	}
	return standing
}

// Asked reports whether a probe was sent to the address.
func (ad *Address) Asked(p Probe) bool { return ad.Replies[p].Result != NotAsked }

// Source returns the address that replies of another came from, if any did.
func (ad *Address) Source() netip.Addr {
	for _, r := range ad.Replies {
		if r.From.IsValid() {
			return r.From.Addr().Unmap()
		}
	}
	return netip.Addr{}
}

// Latency returns the time of the fastest answer about the zone over UDP.
func (ad *Address) Latency() (fastest time.Duration, known bool) {
	for _, r := range ad.Replies[:ProbeRecursion] {
		if r.OK() && !r.TCP && (!known || r.Latency < fastest) {
			fastest, known = r.Latency, true
		}
	}
	return fastest, known
}

// askUDP asks an address that nothing is known of.
func (a *audit) askUDP(ctx context.Context, ip netip.Addr, q *dns.Msg) Reply {
	return a.complete(ctx, ip, q, a.wire.udp(ctx, ip, q, 2, silentAfter))
}

// complete queries again over TCP if a reply was truncated (RFC 7766 section 5).
func (a *audit) complete(ctx context.Context, ip netip.Addr, q *dns.Msg, r Reply) Reply {
	if !r.OK() || !r.Msg.Truncated {
		return r
	}
	switch over := a.wire.tcp(ctx, ip, q)[0].whole(); {
	case over.OK():
		over.Forged += r.Forged
		return over
	case over.Result == NotAsked: // what would have come is not known
		return over
	}
	return r.whole()
}

// ask asks an address that is known to answer, in the form that it understands.
func (a *audit) ask(ctx context.Context, ad *Address, q *dns.Msg) Reply {
	q = ad.fit(q)
	return a.complete(ctx, ad.IP, q, a.wire.udp(ctx, ad.IP, q, 2, ad.timeout()))
}

// fit returns a query in the form that the address understands.
func (ad *Address) fit(q *dns.Msg) *dns.Msg {
	if !ad.EDNS {
		return without(q)
	}
	return q
}

// timeout is how long a reply of the address may take, by the first.
func (ad *Address) timeout() time.Duration { return ad.Replies[ProbeSOA].patience() }

// examine asks an address whether it serves the zone and, if it does, all the rest.
func (a *audit) examine(ctx context.Context, ad *Address) {
	var g diag.Group
	overTCP := make(chan struct{})
	g.Go(func() {
		defer close(overTCP)
		replies := a.wire.tcp(ctx, ad.IP, plain(a.Zone, dns.TypeSOA), plain(a.Zone, dns.TypeAXFR))
		ad.Replies[ProbeTCP], ad.Replies[ProbeTransfer] = replies[0], replies[1]
	})
	a.first(ctx, ad)
	r := ad.Replies[ProbeSOA]
	if !r.OK() || r.Msg.Truncated {
		<-overTCP
		r = ad.SOA()
	}
	if r.OK() {
		for _, soa := range Set[*dns.SOA](r.Msg.Answer, a.Zone) {
			a.aim(ctx, soa.Ns)
		}
	}
	standing := r.Standing(a.Zone)
	if standing == Lame && ad.Replies[ProbeSOA].OK() && a.namesServers(ctx, ad) {
		standing = Authoritative
	}
	switch {
	case !r.OK() || !ad.Replies[ProbeSOA].OK():
	case standing == Lame:
		a.pool(ctx, ad, []Probe{ProbeRecursion, ProbeChaos}, false)
	case !ad.Deep:
		a.identify(ctx, ad)
		a.pool(ctx, ad, []Probe{ProbeRecursion, ProbeChaos}, false)
	default:
		a.identify(ctx, ad)
		a.pool(ctx, ad, a.rest(ad), standing == Authoritative)
		a.confirm(ctx, ad)
	}
	g.Wait()
}

// namesServers asks an address that failed for the SOA record for the NS records: with them it serves the zone.
func (a *audit) namesServers(ctx context.Context, ad *Address) bool {
	r := a.ask(ctx, ad, extended(a.Zone, dns.TypeNS))
	ad.Replies[ProbeNS] = r
	if !r.names(a.Zone) {
		return false
	}
	ad.control = dns.TypeNS
	a.followUp(ctx, ProbeNS, r)
	return true
}

// confirm asks once more for the types for which an address gave no answer or an error, if they are few: datagrams are
// lost, and a server may be busy. Many that fail are no accident.
func (a *audit) confirm(ctx context.Context, ad *Address) {
	var failed []Probe
	for _, p := range ApexProbes {
		if r := ad.Replies[p]; r.Result == TimedOut || r.OK() && !r.Settled() {
			failed = append(failed, p)
		}
	}
	if len(failed) > maxConfirmed {
		return
	}
	var g diag.Group
	for _, p := range failed {
		q := ad.fit(a.query(ctx, ad, p))
		g.Go(func() {
			r := a.complete(ctx, ad.IP, q, a.wire.udp(ctx, ad.IP, q, 1, ad.timeout()))
			if r.Settled() {
				ad.Replies[p] = r
				a.followUp(ctx, p, r)
			}
		})
	}
	g.Wait()
}

// first asks the first question, and looks out for replies from elsewhere if none comes.
func (a *audit) first(ctx context.Context, ad *Address) {
	var g diag.Group
	done := make(chan struct{})
	g.Go(func() {
		timer := time.NewTimer(silentAfter)
		defer timer.Stop()
		select {
		case <-done:
		case <-ctx.Done():
		case <-timer.C:
			ad.Replies[probeStray] = a.wire.stray(ctx, ad.IP, plain(a.Zone, dns.TypeSOA))
		}
	})
	ad.Replies[ProbeSOA] = a.wire.udp(ctx, ad.IP, plain(a.Zone, dns.TypeSOA), 2, silentAfter)
	close(done)
	g.Wait()
}

// identify finds out whether the address understands EDNS.
func (a *audit) identify(ctx context.Context, ad *Address) {
	ad.EDNS = true
	r := a.ask(ctx, ad, identity(a.Zone, ad.control))
	ad.Replies[ProbeIdentity] = r
	if r.Rcode() == dns.RcodeSuccess && r.EDNS() != nil {
		return
	}
	r = a.ask(ctx, ad, bare(a.Zone, ad.control))
	ad.Replies[ProbeEDNS] = r
	ad.EDNS = r.Rcode() == dns.RcodeSuccess && r.EDNS() != nil
}

func (a *audit) rest(ad *Address) []Probe {
	list := []Probe{ProbeKeys, ProbeNS, ProbeA, ProbeAAAA, ProbeMX, ProbeTXT, ProbeCAA, ProbeHTTPS, ProbeCDS,
		ProbeCDNSKEY, ProbeWWW, ProbeAbsent, ProbeRecursion, ProbeCase}
	if ad.EDNS {
		list = append(list, ProbeVersion, ProbeOption, ProbeFlags, ProbeSmall)
	}
	if ad.control == dns.TypeNS { // it was asked for them
		list = slices.DeleteFunc(list, func(p Probe) bool { return p == ProbeNS })
	}
	return list
}

// pool sends a list of queries, as many concurrently as the address permits, and then shared tasks, if the address
// serves the zone.
func (a *audit) pool(ctx context.Context, ad *Address, list []Probe, tasks bool) {
	var mu sync.Mutex
	next := func() (Probe, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(list) == 0 {
			return 0, false
		}
		p := list[0]
		list = list[1:]
		return p, true
	}
	a.versions.Go(func() { a.askVersion(ctx, ad) })
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
	ad.Hurried = ctx.Err() != nil
}

func (a *audit) run(ctx context.Context, ad *Address, p Probe) {
	q := a.query(ctx, ad, p)
	var r Reply
	switch {
	case q == nil:
		return
	case p == ProbeA:
		r = a.askA(ctx, ad, q)
	case p == ProbeSmall: // only the truncation matters
		r = a.wire.udp(ctx, ad.IP, q, 2, ad.timeout())
	default:
		r = a.ask(ctx, ad, q)
	}
	ad.Replies[p] = r
	a.followUp(ctx, p, r)
}

// askVersion asks for the version of the server, by custom (RFC 4892), while all else is asked. A query that is dropped
// delays nothing: it stops counting as one in flight when the reply is overdue, and is given up when all else is done.
func (a *audit) askVersion(ctx context.Context, ad *Address) {
	leave, ok := a.wire.enter(ctx, ad.IP)
	if !ok {
		return
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	brief, giveUp := context.WithCancel(ctx)
	defer giveUp()
	defer time.AfterFunc(max(quickestInfo, infoSlack*ad.Replies[ProbeSOA].Latency), func() {
		leave()
		context.AfterFunc(a.others, giveUp)
	}).Stop()
	q := plain("version.bind.", dns.TypeTXT)
	q.Question[0].Qclass = dns.ClassCHAOS
	r := a.wire.send(brief, ad.IP, q, 1, max(infoTimeout, infoSlack*ad.Replies[ProbeSOA].Latency)).whole()
	if brief.Err() != nil && ctx.Err() == nil {
		r.Result = TimedOut
	}
	ad.Replies[ProbeChaos] = r
}

// followUp asks about the names in a reply.
func (a *audit) followUp(ctx context.Context, p Probe, r Reply) {
	if !r.OK() {
		return
	}
	a.witness(r)
	switch p {
	case ProbeNS:
		for _, host := range HostsOf(Set[*dns.NS](r.Msg.Answer, a.Zone)) {
			a.meet(ctx, host)
			a.aimMeant(ctx, host)
		}
	case ProbeMX:
		for _, host := range MailServers(r, a.Zone) {
			a.aim(ctx, host)
			a.askOwn(host)
		}
	case ProbeWWW, ProbeHTTPS:
		a.aimAll(ctx, r.Msg.Answer)
	case ProbeAbsent:
		for _, rr := range r.Msg.Ns {
			// Names with octets that are not letters are synthesized by online signers (RFC 4470).
			if nsec, ok := rr.(*dns.NSEC); ok && !strings.Contains(nsec.NextDomain, `\`) {
				a.exists(nsec.NextDomain)
			}
		}
	}
}

// askA asks for the address of the zone on behalf of a network elsewhere and, if that confuses the server, without.
func (a *audit) askA(ctx context.Context, ad *Address, q *dns.Msg) Reply {
	if ad.EDNS {
		r := a.ask(ctx, ad, located(a.Zone))
		ad.Replies[ProbeSubnet] = r
		if r.Rcode() == dns.RcodeSuccess {
			return r
		}
	}
	return a.ask(ctx, ad, q)
}

// ApexTypes are the types of records at the apex for which probes ask, and ApexProbes these probes, in the order in
// which they are named.
var (
	ApexTypes = map[Probe]uint16{
		ProbeNS: dns.TypeNS, ProbeA: dns.TypeA, ProbeAAAA: dns.TypeAAAA, ProbeMX: dns.TypeMX, ProbeTXT: dns.TypeTXT,
		ProbeCAA: dns.TypeCAA, ProbeHTTPS: dns.TypeHTTPS, ProbeKeys: dns.TypeDNSKEY, ProbeCDS: dns.TypeCDS,
		ProbeCDNSKEY: dns.TypeCDNSKEY,
	}
	ApexProbes = []Probe{ProbeNS, ProbeA, ProbeAAAA, ProbeMX, ProbeTXT, ProbeCAA, ProbeHTTPS, ProbeKeys, ProbeCDS,
		ProbeCDNSKEY}
)

// query makes the query of a probe to an address, or nil if it cannot be asked.
func (a *audit) query(ctx context.Context, ad *Address, p Probe) *dns.Msg {
	if qtype, ok := ApexTypes[p]; ok {
		return extended(a.Zone, qtype)
	}
	switch p {
	case ProbeAbsent:
		if name := AbsentLabel + "." + a.Zone; fits(name) {
			return extended(name, dns.TypeA)
		}
	case ProbeWWW:
		if name := "www." + a.Zone; fits(name) {
			return extended(name, dns.TypeA)
		}
	case ProbeCase:
		return plain(MixedCase(a.Zone), ad.control)
	case ProbeVersion: // that does not exist (RFC 6891 section 6.1.3)
		return odd(a.Zone, ad.control, func(o *dns.OPT) { o.SetVersion(1) })
	case ProbeOption: // unassigned (RFC 6891 section 6.1.2)
		return odd(a.Zone, ad.control, func(o *dns.OPT) { o.Option = []dns.EDNS0{&dns.EDNS0_LOCAL{Code: UnassignedOption}} })
	case ProbeFlags: // unassigned (RFC 6891 section 6.1.4)
		return odd(a.Zone, ad.control, func(o *dns.OPT) { o.SetZ(UnassignedFlags) })
	case ProbeSmall:
		q := extended(a.Zone, dns.TypeDNSKEY)
		q.IsEdns0().SetUDPSize(dns.MinMsgSize) // which leaves no room for a reply with keys
		return q
	case ProbeRecursion:
		select { // for a name outside the zone that exists: that of the parent zone
		case <-a.aboveKnown:
			if a.aboveName != "" {
				return new(dns.Msg).SetQuestion(a.aboveName, dns.TypeSOA)
			}
		case <-ctx.Done():
		}
	}
	return nil
}
