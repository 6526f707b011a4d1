package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

// The bounds of a walk.
const (
	// MaxQueries bounds the queries of a tree walk (RFC 9989 section 4.10).
	MaxQueries = 8
	// Timeout bounds the wait for answers. What is unanswered by then is unknown, before the caller's deadline.
	Timeout = 10 * time.Second
	// maxName is the maximum length of a name in text form without the final dot (RFC 1035 section 2.3.4).
	maxName = 253
)

// node is the label in front of a domain in the name of its record (RFC 9989 section 4.5).
const node = "_dmarc"

// An Outcome is the result of a step of a walk: record, stop, no_record, skipped or unknown.
type Outcome string

// The outcomes.
const (
	Recorded Outcome = "record"    // there is one record, and the walk continues
	Stopped  Outcome = "stop"      // there is one record, and its psd tag ends the walk
	NoRecord Outcome = "no_record" // there is no record
	Skipped  Outcome = "skipped"   // several records, of which none counts, or a name too long to be looked up
	Failed   Outcome = "unknown"   // the servers did not answer
)

// Values lists the outcomes.
func (Outcome) Values() []string { return kit.Values(Recorded, Stopped, NoRecord, Skipped, Failed) }

// A Step is one place where a walk looks for a record.
type Step struct {
	Domain  string // the domain, without a final dot
	Name    string // where its record would be: _dmarc.<domain>, without a final dot
	Asked   bool   // false if the name is too long to exist, and was not queried
	Answer  diag.Answer[*dns.TXT]
	Found   taglist.Found // records, and texts that were probably meant as such
	Record  *Record       // the record, if there is exactly one
	Outcome Outcome
}

// Err returns why the answer is unknown, or nil.
func (s *Step) Err() error {
	if !s.Asked {
		return nil
	}
	return s.Answer.Err()
}

// DanglingAlias describes, as a sentence, an alias at the name that leads neither to a record nor to a text that was
// meant as one; empty without one. Nothing else can be published next to a CNAME (RFC 1034 section 3.6.2).
func (s *Step) DanglingAlias() string {
	aliases := s.Answer.Aliases
	if !s.Asked || s.Err() != nil || len(aliases) == 0 || len(s.Found.Records)+len(s.Found.Strays) > 0 {
		return ""
	}
	what := "has no DMARC record"
	if s.Answer.NXDomain() {
		what = "does not exist"
	}
	return fmt.Sprintf("%s is an alias (CNAME) of %s, which %s.", s.Name,
		strings.TrimSuffix(aliases[len(aliases)-1], "."), what)
}

// PSD returns the value of psd in the record; undeclared without a record.
func (s *Step) PSD() PSD { return cmp.Or(kit.OrZero(s.Record).PSD, Undeclared) }

// A Walk is a DNS tree walk: all steps that a receiver takes one after the other until it stops, in that order
// (RFC 9989 section 4.10).
type Walk struct {
	Start string
	Steps []Step // at least the start
}

// Queries lists the names that were looked up, without a final dot.
func (w *Walk) Queries() []string {
	names := make([]string, 0, len(w.Steps))
	for i := range w.Steps {
		if w.Steps[i].Asked {
			names = append(names, w.Steps[i].Name)
		}
	}
	return names
}

// Err returns why a step is unknown, or nil.
func (w *Walk) Err() error {
	return cmp.Or(kit.Map(w.Steps, func(s Step) error { return s.Err() })...)
}

func (w *Walk) silent() bool {
	return !slices.ContainsFunc(w.Steps, func(s Step) bool { return s.Asked && !s.Answer.Silent() })
}

// At returns the step for a domain, or nil if the walk did not reach it.
func (w *Walk) At(domain string) *Step {
	if i := slices.IndexFunc(w.Steps, func(s Step) bool { return s.Domain == domain }); i >= 0 {
		return &w.Steps[i]
	}
	return nil
}

// stop returns the step that ended the walk before its natural end, or nil.
func (w *Walk) stop() *Step {
	if last := &w.Steps[len(w.Steps)-1]; last.Outcome == Stopped {
		return last
	}
	return nil
}

// organizational returns the organizational domain of the start (RFC 9989 section 4.10.2). If a step is unknown, the
// result follows from the others, and the error says that it may be wrong.
func (w *Walk) organizational() (domain string, err error) {
	if last := w.stop(); last != nil {
		switch {
		case last.Record.PSD == NotPSD:
			return last.Domain, w.Err()
		case last.Domain != w.Start: // psd=y
			return below(w.Start, last.Domain), w.Err()
		}
	}
	domain = w.Start
	for i := range w.Steps {
		if w.Steps[i].Record != nil { // the fewest labels come last
			domain = w.Steps[i].Domain
		}
	}
	return domain, w.Err()
}

// below returns the domain one label below a parent on the way to a start.
func below(start, parent string) string {
	rest := strings.TrimSuffix(start, "."+parent)
	return rest[strings.LastIndex(rest, ".")+1:] + "." + parent
}

// path lists the domains that a walk queries unless it stops earlier (RFC 9989 section 4.10, steps 3 to 7).
func path(start string) []string {
	labels := strings.Split(start, ".")
	rest := labels[max(1, len(labels)-(MaxQueries-1)):]
	list := []string{start}
	for i := range rest {
		list = append(list, strings.Join(rest[i:], "."))
	}
	return list
}

type lookups struct {
	mu      sync.Mutex
	answers map[string]diag.Answer[*dns.TXT] // by domain
}

// ask looks for the records of domains in goroutines of the group. All queries are concurrent: receivers walk step by
// step, but the names that they may reach are known from the start.
func (l *lookups) ask(ctx context.Context, env *diag.Env, g *diag.Group, domains ...string) {
	if l.answers == nil {
		l.answers = map[string]diag.Answer[*dns.TXT]{}
	}
	for _, d := range domains {
		name := node + "." + d
		l.mu.Lock()
		_, asked := l.answers[d]
		if !asked {
			l.answers[d] = diag.Answer[*dns.TXT]{}
		}
		l.mu.Unlock()
		if asked || len(name) > maxName {
			continue
		}
		g.Go(func() {
			a := diag.Lookup[*dns.TXT](ctx, env, name)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.answers[d] = a
		})
	}
}

func (l *lookups) step(domain string) Step {
	name := node + "." + domain
	s := Step{Domain: domain, Name: name, Asked: len(name) <= maxName, Outcome: Skipped}
	if !s.Asked {
		return s
	}
	if s.Answer = l.answers[domain]; s.Answer.Err() != nil {
		s.Outcome = Failed
		return s
	}
	s.Found = Format.Find(s.Answer.Records)
	switch len(s.Found.Records) {
	case 0:
		s.Outcome = NoRecord
	case 1:
		record := Read(s.Found.List)
		s.Record, s.Outcome = &record, Recorded
		if record.PSD != Undeclared {
			s.Outcome = Stopped
		}
	}
	return s
}

// walk takes the steps from a start, whose answers are all available.
func (l *lookups) walk(start string) Walk {
	w := Walk{Start: start}
	for _, domain := range path(start) {
		s := l.step(domain)
		w.Steps = append(w.Steps, s)
		if s.Outcome == Stopped {
			break
		}
	}
	return w
}
