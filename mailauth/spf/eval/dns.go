package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
)

// Lookups runs the DNS queries for the evaluations of one message, each query once: repeated requests, from any
// goroutine, wait for the same answer. Queries do not take a goroutine of their own.
type Lookups struct {
	ctx   context.Context
	env   *diag.Env
	began time.Time
	ahead diag.Group // speculative queries

	mu             sync.Mutex
	asked          []question
	firstQuestions [12]question // for the first queries, which in most evaluations are all
}

type question struct {
	name   string // absolute, in lower case
	answer any    // a *pending of the queried type
}

type pending[R dns.RR] struct {
	done   sync.WaitGroup
	answer diag.Answer[R]
}

// NewLookups returns Lookups without queries. The context ends all of them.
func NewLookups(ctx context.Context, env *diag.Env) *Lookups {
	l := &Lookups{ctx: ctx, env: env, began: time.Now()}
	l.asked = l.firstQuestions[:0]
	return l
}

// Wait returns when all speculative queries have ended. To abort them, end the context first.
func (l *Lookups) Wait() { l.ahead.Wait() }

// Ask queries the records of one type, or waits for the answer of an earlier query. The name has no final dot, and no
// [NameFault].
func Ask[R dns.RR](l *Lookups, name string) *diag.Answer[R] {
	name = absolute(name)
	l.mu.Lock()
	for i := range l.asked {
		if p, ok := l.asked[i].answer.(*pending[R]); ok && l.asked[i].name == name {
			l.mu.Unlock()
			p.done.Wait()
			return &p.answer
		}
	}
	p := &pending[R]{answer: diag.Answer[R]{Name: name, Rcode: dns.RcodeServerFailure}} // if the resolver panics
	p.done.Add(1)
	l.asked = append(l.asked, question{name, p})
	l.mu.Unlock()
	defer p.done.Done()
	p.answer = diag.Lookup[R](l.ctx, l.env, name)
	return &p.answer
}

// slowAfter is how long an evaluation takes at most with a resolver that has the answers cached: then sequential
// queries are faster than concurrent ones. With slower resolvers, queries are sent ahead.
const slowAfter = 100 * time.Microsecond

// slow reports whether the resolver is slow to answer.
func (l *Lookups) slow() bool { return time.Since(l.began) > slowAfter }

// AnswerError describes in plain words why an answer is unknown; nil if it is known.
func AnswerError[R dns.RR](a *diag.Answer[R]) error {
	if a.Silent() {
		return fmt.Errorf("the lookup of %s got no answer", strings.TrimSuffix(a.Name, "."))
	}
	return a.Err()
}

// record queries the TXT records of a name and selects the SPF records (RFC 7208 sections 4.4 and 4.5): one of them,
// and their number.
func (l *Lookups) record(name string) (text string, count int, err error) {
	answer := Ask[*dns.TXT](l, name)
	for _, r := range answer.Records {
		if one := dnsmsg.TXT(r); IsRecord(one) {
			text = one
			count++
		}
	}
	return text, count, AnswerError(answer)
}

// MXHosts returns the names of MX hosts, the most preferred first, without null MX records (RFC 7505).
func MXHosts(a *diag.Answer[*dns.MX]) []string {
	list, names := slices.Clone(a.Records), make([]string, 0, len(a.Records))
	slices.SortFunc(list, func(a, b *dns.MX) int {
		return cmp.Or(cmp.Compare(a.Preference, b.Preference), cmp.Compare(a.Mx, b.Mx))
	})
	for _, r := range list {
		if name := Unescape(r.Mx); name != "" && NameFault(name) == "" {
			names = append(names, name)
		}
	}
	return names
}

// The limits of an evaluation (RFC 7208 section 4.6.4).
const (
	MaxLookups = 10  // terms that need the DNS
	MaxVoids   = 2   // terms with a void lookup
	MaxMX      = 10  // MX hosts behind one mx
	MaxTerms   = 100 // terms that need the DNS, where a [Request] lifts the limits
)

// MaxAddresses bounds the addresses of a host that are evaluated, in each family. A DNS message has room for four
// thousand, far more than any host needs.
const MaxAddresses = 1000

// maxAhead bounds the speculative queries of an evaluation.
const maxAhead = 60

// prefetch sends concurrent queries for the probable needs of the rest of an evaluation.
type prefetch struct {
	*mail
	terms     atomic.Int32 // that may still be followed
	questions atomic.Int32 // that may still be sent
}

// follow queries what the record of a domain needs, except for terms that depend on the host names of the client.
func (f *prefetch) follow(record *Record, domain string) {
	final := record.Find(All) != nil
	for i := range record.Terms {
		t := &record.Terms[i]
		switch {
		case t.Name == All:
			return
		case t.Name == Redirect && final: // which is ignored
			continue
		case !t.Name.Counted() || t.Name == PTR || t.Uses("p") || !f.asciiLocal && t.Uses("sl"):
			continue
		}
		if f.terms.Add(-1) < 0 {
			return
		}
		if name := f.target(t, domain); NameFault(name) == "" && f.questions.Add(-1) >= 0 {
			f.ahead.Go(func() { f.ask(t.Name, name) })
		}
	}
}

// ask queries what a mechanism or redirect needs for a name, and follows the result.
func (f *prefetch) ask(mechanism Name, name string) {
	switch mechanism {
	case A:
		_, _, _ = f.addresses(name, &Term{})
	case Exists:
		Ask[*dns.A](f.Lookups, name)
	case MX:
		hosts := MXHosts(Ask[*dns.MX](f.Lookups, name))
		for _, host := range hosts[:min(len(hosts), MaxMX)] {
			if f.questions.Add(-1) >= 0 {
				f.ahead.Go(func() { _, _, _ = f.addresses(host, &Term{}) })
			}
		}
	default:
		if text, count, err := f.record(name); err == nil && count == 1 {
			if record, faults := Parse(text); len(faults) == 0 {
				f.follow(record, strings.TrimSuffix(name, "."))
			}
		}
	}
}
