package spf

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// lookups asks the DNS for everything that one diagnostic wants to know, each question once: what the tree
// and the evaluation both ask for is waited for by both. Without the DNS, as in a validation, it is nil.
type lookups struct {
	ctx context.Context
	env *diag.Env

	mu           sync.Mutex
	pending      map[question]*pending
	reserved     map[question]bool
	publications map[string]*publication
	left         int // questions that the walk over the tree may still ask
}

type question struct {
	name  string // absolute, in lower case
	qtype uint16
}

// pending is a question that has been asked.
type pending struct {
	done   chan struct{}
	answer any // a diag.Answer of the type asked for, once done
}

func newLookups(ctx context.Context, env *diag.Env, questions int) *lookups {
	return &lookups{
		ctx: ctx, env: env, pending: map[question]*pending{}, reserved: map[question]bool{},
		publications: map[string]*publication{}, left: questions,
	}
}

// ask asks a question, or waits for the answer if it was asked before. The name has no final dot, and is not malformed.
func ask[R dns.RR](l *lookups, name string, qtype uint16) diag.Answer[R] {
	q := question{absolute(strings.ToLower(name)), qtype}
	l.mu.Lock()
	f, known := l.pending[q]
	if !known {
		f = &pending{done: make(chan struct{})}
		f.answer = diag.Answer[R]{Name: q.name, Rcode: dns.RcodeServerFailure} // if the resolver panics
		l.pending[q] = f
	}
	l.mu.Unlock()
	if !known {
		defer close(f.done)
		a := diag.Lookup[R](l.ctx, l.env, q.name)
		f.answer = a
		return a
	}
	<-f.done
	return f.answer.(diag.Answer[R])
}

// reserve takes questions from what the walk may ask, and reports whether that was possible: not
// beyond the bound, and not without the DNS. Those that were reserved before cost nothing.
func (l *lookups) reserve(name string, qtypes ...uint16) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var missing []question
	for _, t := range qtypes {
		if q := (question{absolute(strings.ToLower(name)), t}); !l.reserved[q] {
			missing = append(missing, q)
		}
	}
	if len(missing) > l.left {
		return false
	}
	l.left -= len(missing)
	for _, q := range missing {
		l.reserved[q] = true
	}
	return true
}

// failure says in plain words why an answer is not known; nil if it is.
func failure[R dns.RR](a diag.Answer[R]) error {
	if a.Silent() {
		return fmt.Errorf("the lookup of %s got no answer", strings.TrimSuffix(a.Name, "."))
	}
	return a.Err()
}

// addresses are those of a host, in the families that were asked for.
type addresses struct {
	v4, v6 []netip.Addr
	err    error // the servers did not say, for one family at least
}

// addressesOf asks for the addresses of a host in one or both families at once.
func (l *lookups) addressesOf(name string, v4, v6 bool) addresses {
	var a diag.Answer[*dns.A]
	var aaaa diag.Answer[*dns.AAAA]
	var g diag.Group
	if v4 {
		g.Go(func() { a = ask[*dns.A](l, name, dns.TypeA) })
	}
	if v6 {
		g.Go(func() { aaaa = ask[*dns.AAAA](l, name, dns.TypeAAAA) })
	}
	g.Wait()
	list := addresses{err: cmp.Or(failure(a), failure(aaaa))}
	for _, r := range a.Records[:min(len(a.Records), maxAddresses)] {
		if ip, ok := netip.AddrFromSlice(r.A.To4()); ok {
			list.v4 = append(list.v4, ip)
		}
	}
	for _, r := range aaaa.Records[:min(len(aaaa.Records), maxAddresses)] {
		if ip, ok := netip.AddrFromSlice(r.AAAA.To16()); ok {
			list.v6 = append(list.v6, ip)
		}
	}
	return list
}

// maxAddresses is how many addresses of a host are looked at, in each family. A message of the DNS has
// room for four thousand, which nobody has a use for.
const maxAddresses = 1000

// A publication is what a name has for records of SPF.
type publication struct {
	done    chan struct{} // closed once the rest is known
	answer  diag.Answer[*dns.TXT]
	texts   []string // of all TXT records
	records []string // those that are records of SPF
	parsed  *Record  // the record, if there is exactly one
	faults  []SyntaxError
}

// published asks for the TXT records of a name, picks out those of SPF (RFC 7208 sections 4.4 and 4.5),
// and parses the record if there is exactly one.
func (l *lookups) published(name string) *publication {
	key := strings.ToLower(name)
	l.mu.Lock()
	p, known := l.publications[key]
	if !known {
		p = &publication{done: make(chan struct{})}
		p.answer.Rcode = dns.RcodeServerFailure // if the resolver panics
		l.publications[key] = p
	}
	l.mu.Unlock()
	if known {
		<-p.done
		return p
	}
	defer close(p.done)
	p.answer = ask[*dns.TXT](l, name, dns.TypeTXT)
	for _, r := range p.answer.Records {
		text := diag.TXT(r)
		p.texts = append(p.texts, text)
		if isRecord(text) {
			p.records = append(p.records, text)
		}
	}
	if len(p.records) == 1 {
		p.parsed, p.faults = Parse(p.records[0])
	}
	return p
}

// mxHosts returns the names of MX hosts, the most preferred first, without those that are none (RFC 7505).
func mxHosts(a diag.Answer[*dns.MX]) []string {
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

// asked counts the questions so far.
func (l *lookups) asked() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending)
}
