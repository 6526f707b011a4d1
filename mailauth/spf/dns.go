package spf

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// desk asks the DNS for everything that one diagnostic wants to know, each question once: what the tree
// and the evaluation both ask for is waited for by both.
type desk struct {
	ctx context.Context
	env *diag.Env

	mu      sync.Mutex
	flights map[question]*flight
	paid    map[question]bool // by afford
	left    int               // questions that the walk over the tree may still ask
}

type question struct {
	name  string // absolute, in lower case
	qtype uint16
}

// A flight is a question that has been asked.
type flight struct {
	done   chan struct{}
	answer any // a diag.Answer of the type asked for, once done
}

func newDesk(ctx context.Context, env *diag.Env, questions int) *desk {
	return &desk{ctx: ctx, env: env, flights: map[question]*flight{}, paid: map[question]bool{}, left: questions}
}

// ask asks a question, or waits for the answer if it was asked before. The name has no final dot, and
// is not malformed.
func ask[R dns.RR](d *desk, name string, qtype uint16) diag.Answer[R] {
	q := question{absolute(strings.ToLower(name)), qtype}
	d.mu.Lock()
	f, known := d.flights[q]
	if !known {
		f = &flight{done: make(chan struct{})}
		f.answer = diag.Answer[R]{Name: q.name, Rcode: dns.RcodeServerFailure} // if the resolver panics
		d.flights[q] = f
	}
	d.mu.Unlock()
	if !known {
		defer close(f.done)
		a := diag.Lookup[R](d.ctx, d.env, q.name)
		f.answer = a
		return a
	}
	<-f.done
	return f.answer.(diag.Answer[R])
}

// afford takes questions from what the walk may ask. Those that were paid for cost nothing.
func (d *desk) afford(name string, qtypes ...uint16) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var unpaid []question
	for _, t := range qtypes {
		if q := (question{absolute(strings.ToLower(name)), t}); !d.paid[q] {
			unpaid = append(unpaid, q)
		}
	}
	if len(unpaid) > d.left {
		return false
	}
	d.left -= len(unpaid)
	for _, q := range unpaid {
		d.paid[q] = true
	}
	return true
}

// addresses are those of a host, in the families that were asked for.
type addresses struct {
	v4, v6 []netip.Addr
	err    error // the servers did not say, for one family at least
}

// addressesOf asks for the addresses of a host in one or both families at once.
func (d *desk) addressesOf(name string, v4, v6 bool) addresses {
	var a diag.Answer[*dns.A]
	var aaaa diag.Answer[*dns.AAAA]
	var g diag.Group
	if v4 {
		g.Go(func() { a = ask[*dns.A](d, name, dns.TypeA) })
	}
	if v6 {
		g.Go(func() { aaaa = ask[*dns.AAAA](d, name, dns.TypeAAAA) })
	}
	g.Wait()
	list := addresses{err: cmp.Or(a.Err(), aaaa.Err())}
	for _, r := range a.Records[:min(len(a.Records), MaxAddresses)] {
		if ip, ok := netip.AddrFromSlice(r.A.To4()); ok {
			list.v4 = append(list.v4, ip)
		}
	}
	for _, r := range aaaa.Records[:min(len(aaaa.Records), MaxAddresses)] {
		if ip, ok := netip.AddrFromSlice(r.AAAA.To16()); ok {
			list.v6 = append(list.v6, ip)
		}
	}
	return list
}

// MaxAddresses is how many addresses of a host are looked at, in each family. A message of the DNS has
// room for four thousand, which nobody has a use for.
const MaxAddresses = 1000

// A publication is what a name has for records of SPF.
type publication struct {
	answer  diag.Answer[*dns.TXT]
	texts   []string // of all TXT records
	records []string // those that are records of SPF
}

// published asks for the TXT records of a name, and picks out those of SPF (RFC 7208 sections 4.4 and
// 4.5).
func (d *desk) published(name string) publication {
	p := publication{answer: ask[*dns.TXT](d, name, dns.TypeTXT)}
	for _, r := range p.answer.Records {
		text := diag.TXT(r)
		p.texts = append(p.texts, text)
		if isRecord(text) {
			p.records = append(p.records, text)
		}
	}
	return p
}

// exchangers returns the names of mail exchangers, the most preferred first, without those that are none
// (RFC 7505).
func exchangers(a diag.Answer[*dns.MX]) []string {
	var names []string
	byPreference := func(a, b *dns.MX) int {
		return cmp.Or(cmp.Compare(a.Preference, b.Preference), cmp.Compare(a.Mx, b.Mx))
	}
	for _, r := range slices.SortedFunc(slices.Values(a.Records), byPreference) {
		if name := unescaped(r.Mx); name != "" && malformed(name) == "" {
			names = append(names, name)
		}
	}
	return names
}

// unescaped returns the name that the DNS library wrote, without the final dot.
func unescaped(name string) string { return unescape(strings.TrimSuffix(name, ".")) }

// unescape undoes the escapes of master files (RFC 1035 section 5.1).
func unescape(text string) string { return diag.TXT(&dns.TXT{Txt: []string{text}}) }
