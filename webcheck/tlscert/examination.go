package tlscert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// An examination holds the results for a host: each certificate that it presents at one of its addresses is evidence
// of its own, which the rules judge.
type examination struct {
	parts           []*evidence // what was presented at addresses that answered, that which clients meet first at the head
	missing         *evidence   // in place of all that did not answer; nil if all did
	places          []*place    // all addresses, if there are several
	leftOut         int         // addresses beyond maxAddresses
	unansweredKinds []string    // kinds of addresses of which the DNS did not say whether there are any
	baseline        baseline
	limit           probe.Limit                        // of connections in all
	related         memo[string, related]              // what certificates point to, by chain
	clients         memo[*probe.Report, clientResults] // how clients fare, by scan
	services        *services                          // of the authorities
}

// A place is an address of the host.
type place struct {
	addr    netip.Addr
	failure *fetch.Error // why there was no connection
	blocked bool         // by the guard
	main    *evidence    // what is presented to usual clients there; nil if nothing was connected to
}

// The bounds of examining several addresses.
const (
	maxAddresses = 8 // large sites publish up to eight
	// maxConnections is how many connections are open at the same time, at all addresses together, beside the first one
	// to each.
	maxConnections = 20
	// maxPerServer is how many of them one address gets: fewer than a browser opens to a host.
	maxPerServer = 5
)

// others examines the addresses of the host beside that which answered first.
func (x *examination) others(ctx context.Context, env *diag.Env, first *evidence, connected <-chan struct{}) {
	if _, isIP := first.req.Host.IP(); isIP {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	found := diag.LookupAddresses(bounded, env, first.req.Host.Name())
	<-connected
	if !first.connected() { // to none of them
		return
	}
	for kind, err := range map[string]error{"IPv4": found.V4.Err(), "IPv6": found.V6.Err()} {
		if err != nil {
			x.unansweredKinds = append(x.unansweredKinds, kind)
		}
	}
	slices.Sort(x.unansweredKinds)
	x.choose(found.All(), first)
	var g diag.Group
	for _, p := range x.places[1:] {
		g.Go(func() { p.examine(ctx, env, first) })
	}
	g.Wait()
	slices.SortFunc(x.places, func(a, b *place) int { return a.addr.Compare(b.addr) })
}

// choose fills in which addresses are examined: that which answered first, and of the others as many of both kinds as
// there is room for.
func (x *examination) choose(all []netip.Addr, first *evidence) {
	x.places = []*place{{addr: first.addr.Addr(), main: first}}
	var kinds [2][]netip.Addr
	for _, a := range all {
		if a = a.Unmap(); a != first.addr.Addr() {
			k := map[bool]int{true: 0, false: 1}[a.Is4()]
			kinds[k] = append(kinds[k], a)
		}
	}
	for i := range kinds {
		slices.SortFunc(kinds[i], netip.Addr.Compare) // servers rotate the order
	}
	for len(kinds[0])+len(kinds[1]) > 0 {
		k := map[bool]int{true: 0, false: 1}[len(kinds[0]) > 0 && len(kinds[0]) >= len(kinds[1])]
		if len(x.places) == maxAddresses {
			x.leftOut++
		} else {
			x.places = append(x.places, &place{addr: kinds[k][0]})
		}
		kinds[k] = kinds[k][1:]
	}
}

// examine connects to the address, and learns what the first evidence holds of its own.
func (p *place) examine(ctx context.Context, env *diag.Env, first *evidence) {
	e := first.another()
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	port := uint16(e.req.Port)
	conn, err := env.DialAddr(bounded, "tcp", netip.AddrPortFrom(p.addr, port), ports)
	if err != nil {
		_, p.blocked = errors.AsType[*diag.BlockedError](err)
		p.failure = fetch.DialError(bounded, p.addr.String(), port, err)
		return
	}
	e.addr = netip.AddrPortFrom(p.addr, port)
	p.main = e
	e.converse(ctx, env, conn)
}

// another is evidence of the same host of which nothing is known yet.
func (e *evidence) another() *evidence {
	return &evidence{
		req: e.req, began: e.began, now: e.now, name: e.name, roots: e.roots, logs: e.logs, whole: e.whole,
		limit: make(probe.Limit, maxPerServer), further: true,
	}
}

// A baseline is the scan of the address at which the first handshake succeeded. Others are only compared with it, and
// scanned themselves where they differ: a host is not asked the same hundreds of questions at each of its addresses.
type baseline struct {
	mu   sync.Mutex
	done chan struct{} // nil until the scan starts
	scan *probe.Report
}

// of returns the scan of an address.
func (b *baseline) of(ctx context.Context, scan func() *probe.Report, like func(*probe.Report) bool) *probe.Report {
	b.mu.Lock()
	first := b.done == nil
	if first {
		b.done = make(chan struct{})
	}
	b.mu.Unlock()
	if first {
		defer close(b.done)
		b.scan = scan()
		return b.scan
	}
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	if ctx.Err() == nil && !b.scan.Partial && like(b.scan) {
		return b.scan
	}
	return scan()
}

// fingerprint distinguishes lists of bytes from the network.
func fingerprint(list ...[]byte) string {
	h := sha256.New()
	for _, b := range list {
		binary.Write(h, binary.BigEndian, uint64(len(b)))
		h.Write(b)
	}
	return string(h.Sum(nil))
}

// settle decides what is judged: what is presented at addresses that answered, or if none did why the first did not.
func (x *examination) settle(first *evidence, answer caa, pins dane) {
	if len(x.places) == 1 && x.leftOut == 0 && len(x.unansweredKinds) == 0 {
		x.places = nil
	}
	speaks := func(e *evidence) {
		if len(e.observation().Unanswered()) == 0 {
			x.parts = append(append(x.parts, e), e.others...)
		}
	}
	speaks(first)
	for _, p := range x.places {
		if p.main != nil && p.main != first {
			speaks(p.main)
		}
	}
	if len(x.parts) == 0 {
		x.parts = []*evidence{first}
	}
	if slices.ContainsFunc(x.scope(), func(p diag.ScopePart) bool { return p.State == diag.NotAnswered }) {
		x.missing = first.another()
		x.missing.absent, x.missing.failure = true, &fetch.Error{Code: fetch.Timeout, Unanswered: true}
		x.missing.caa, x.missing.dane = answer, pins
	}
	known := map[string]digested{}
	for _, e := range x.parts {
		e.caa, e.dane = answer, pins
		e.digestOnce(known)
	}
}

// digestOnce is digest, but for what was digested already at another address.
func (e *evidence) digestOnce(known map[string]digested) {
	key := fingerprint(append(slices.Clone(e.served), e.staple, []byte{byte(e.handshakeSCTs)})...)
	d, ok := known[key]
	if !ok || e.failure != nil {
		e.digest()
		known[key] = e.digested
		return
	}
	e.digested = d
	if d.tls != nil {
		connection := *d.tls
		e.tls = &connection
		e.describeConnection()
	}
}

// worst is the part that says most against the host, and of those that say the same the first.
func (x *examination) worst() *evidence {
	worst, of := x.parts[0], diag.Verdict{}
	if len(x.parts) == 1 {
		return worst
	}
	for i, e := range x.parts {
		if i > 0 && e.like(x.parts[0]) {
			continue
		}
		v := rules().Judge(e, texts)
		if i == 0 || worse(v, of) {
			worst, of = e, v
		}
	}
	return worst
}

// like reports whether the rules find the same in another part, whatever that is.
func (e *evidence) like(other *evidence) bool {
	return e.failure == nil && other.failure == nil && e.scan == other.scan && e.leaf() != nil && other.leaf() != nil &&
		same(e.leaf(), other.leaf()) && len(e.served) == len(other.served)
}

// worse orders verdicts by the gravest finding, then by the score.
func worse(a, b diag.Verdict) bool {
	gravest := func(v diag.Verdict) int {
		if len(v.Findings) == 0 {
			return -1
		}
		return int(v.Findings[0].Severity)
	}
	score := func(v diag.Verdict) int {
		if v.Score == nil {
			return -1
		}
		return *v.Score
	}
	return cmp.Or(cmp.Compare(gravest(b), gravest(a)), cmp.Compare(score(a), score(b))) < 0
}
