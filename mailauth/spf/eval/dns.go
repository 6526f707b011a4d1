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
	"github.com/miekg/dns"
)

// Lookups asks the DNS for all that evaluations of one message want to know, and asks each question once: who asks
// it again, from any goroutine, waits for the same answer. No question takes a goroutine of its own.
type Lookups struct {
	ctx   context.Context
	env   *diag.Env
	began time.Time
	ahead diag.Group // what was asked before it was known to be needed

	mu    sync.Mutex
	asked []question
	room  [12]question // for the first ones, which are all in most evaluations
}

type question struct {
	name   string // absolute, in lower case
	answer any    // a *pending of the type that was asked for
}

type pending[R dns.RR] struct {
	done   sync.WaitGroup
	answer diag.Answer[R]
}

// NewLookups returns lookups that have asked nothing. The context ends all of them.
func NewLookups(ctx context.Context, env *diag.Env) *Lookups {
	l := &Lookups{ctx: ctx, env: env, began: time.Now()}
	l.asked = l.room[:0]
	return l
}

// Wait returns when nothing is under way that was asked ahead. To give it up, end the context before.
func (l *Lookups) Wait() { l.ahead.Wait() }

// Ask asks for the records of one type, or waits for the answer if they were asked for before. The name has no
// final dot, and no [NameFault].
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

// patience is how long an evaluation may take if the resolver has the answers at hand: then to ask one question after
// the other is faster than to ask several at once. Others are asked ahead.
const patience = 100 * time.Microsecond

// slow reports whether the resolver lets its answers be waited for.
func (l *Lookups) slow() bool { return time.Since(l.began) > patience }

// AnswerError says in plain words why an answer is not known; nil if it is.
func AnswerError[R dns.RR](a *diag.Answer[R]) error {
	if a.Silent() {
		return fmt.Errorf("the lookup of %s got no answer", strings.TrimSuffix(a.Name, "."))
	}
	return a.Err()
}

// record asks for the TXT records of a name, and picks out those of SPF (RFC 7208 sections 4.4 and 4.5): one of
// them, and how many there are.
func (l *Lookups) record(name string) (text string, count int, err error) {
	answer := Ask[*dns.TXT](l, name)
	for _, r := range answer.Records {
		if one := diag.TXT(r); IsRecord(one) {
			text = one
			count++
		}
	}
	return text, count, AnswerError(answer)
}

// MXHosts returns the names of MX hosts, the most preferred first, without those that are none (RFC 7505).
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
	MaxVoids   = 2   // terms for which the DNS has nothing
	MaxMX      = 10  // MX hosts behind one mx
	MaxTerms   = 100 // terms that need the DNS, where a [Request] lifts the limits
)

// MaxAddresses is how many addresses of a host are looked at, in each family. A message of the DNS has
// room for four thousand, which nobody has a use for.
const MaxAddresses = 1000

// maxAhead bounds the questions that an evaluation asks before it knows that it needs the answers.
const maxAhead = 60

// foresight asks at once for what the rest of an evaluation will probably need.
type foresight struct {
	*mail
	terms     atomic.Int32 // that may still be followed
	questions atomic.Int32 // that may still be asked
}

// follow asks for what the record of a domain needs. What depends on the host names of the client is left out.
func (f *foresight) follow(record *Record, domain string) {
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

// ask asks what a mechanism or redirect needs to know of a name, and goes on from there.
func (f *foresight) ask(mechanism Name, name string) {
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
