package watch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering"
)

const (
	// mostConfirmed bounds the changes of a run that other resolvers confirm; the others wait for the next.
	mostConfirmed = 16
)

// How runs end, for [Config].
const (
	OutcomeOK      = "ok"
	OutcomeWaiting = "waiting" // for what the watch says
	OutcomeLost    = "lost"    // it was broken off, or its lease has ended
)

// A session is a run under way.
type session struct {
	*Watches
	record  metering.Record
	doc     *document
	token   string
	key     metering.KeyID
	regular bool
	at      time.Time
	state   *state
	known   metering.Record // of the state

	mu      sync.Mutex
	left    int64 // what the run may still spend
	spent   int64
	refusal error // of a call, after which none is made
}

// run runs a watch that is due, or says why it waits.
func (w *Watches) run(ctx context.Context, r metering.Record) error {
	doc, err := parse(r)
	if err != nil {
		return err
	}
	s := &session{Watches: w, record: r, doc: doc, at: w.now(), token: rand.Text()}
	if s.known, s.state, err = w.known(ctx, r); err != nil {
		return err
	}
	s.state.keep(doc.Domain, doc.Checks)
	s.regular = s.at.Unix() >= doc.Next || len(s.state.Doubts) == 0
	checks, probes := s.plan()
	need := int64(len(probes))
	for _, c := range checks {
		_, most := c.Price()
		need += most
	}
	reason, err := s.may(ctx, need)
	if err != nil {
		return err
	}
	if reason != "" {
		return s.wait(ctx, reason)
	}
	if err := s.claim(ctx, need); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	n := s.look(bounded, checks, probes)
	if ctx.Err() != nil {
		n = nil // it is run again
	}
	return s.finish(context.WithoutCancel(ctx), n)
}

// known reads what is known of the domain, which is nothing before the first run.
func (w *Watches) known(ctx context.Context, r metering.Record) (metering.Record, *state, error) {
	known, err := w.Store.Record(ctx, r.Account, stateKind, r.ID)
	if errors.Is(err, metering.ErrNotFound) {
		return metering.Record{Account: r.Account, Kind: stateKind, ID: r.ID, At: w.now()}, &state{}, nil
	}
	if err != nil {
		return known, nil, err
	}
	s, err := parseState(known)
	return known, s, err
}

// A probe is a question to a resolver about a doubt.
type probe struct {
	*doubt
	other bool
	check target.Check
}

// second is the resolver beside that of the environment: the authoritative servers themselves.
const second = "authoritative"

// plan lists the checks of the run, and the questions to resolvers: all checks, or those about which there is a doubt.
func (s *session) plan() (checks []target.Check, probes []probe) {
	checks = checksOf(s.doc.Domain, s.doc.Checks)
	if !s.regular {
		checks = slices.DeleteFunc(checks, func(c target.Check) bool {
			return !slices.ContainsFunc(s.state.Doubts, func(d *doubt) bool { return d.Check == c.Name })
		})
	}
	for i, d := range s.state.Doubts {
		if !d.asked() || d.Count > 0 && s.at.Sub(d.Last) < answersApart {
			continue
		}
		name, kind := s.doc.Domain, "NS"
		if d.Topic == recordGone {
			name, kind, _ = splitKey(d.Key)
		}
		p := probe{doubt: d, other: d.other(), check: question(name, kind, "")}
		if p.other {
			p.check = question(name, kind, second)
		}
		p.check.Name = fmt.Sprint("probe ", i)
		probes = append(probes, p)
	}
	return checks, probes
}

// look runs the checks and puts the questions, and compares what they say with what is known.
func (s *session) look(ctx context.Context, checks []target.Check, probes []probe) *news {
	t := target.Target{Kind: target.Domain, Text: s.doc.Domain}
	all := slices.Clone(checks)
	for _, p := range probes {
		all = append(all, p.check)
	}
	whole := target.RunChecks(ctx, t, all, s.ask, nil)
	var replies []target.Part
	asked := map[string]target.Part{}
	for _, p := range whole.Parts {
		if strings.HasPrefix(p.Name, "probe ") {
			asked[p.Name] = p
		} else {
			replies = append(replies, p)
		}
	}
	n, open := s.state.weigh(observe(s.doc.Domain, replies, s.at), s.regular)
	for _, p := range probes {
		if slices.Contains(s.state.Doubts, p.doubt) { // else it is settled
			s.state.reply(p.doubt, asked[p.check.Name], p.other, s.at, n)
		}
	}
	for _, c := range s.confirmed(ctx, open) {
		s.state.take(c, s.at, s.at, n)
	}
	s.state.renew(s.at, n)
	s.state.close(s.at)
	return n
}

// confirmed are the changes that another resolver sees too, or where none answers the first one once more. What only
// one answer says is no change.
func (s *session) confirmed(ctx context.Context, open []Change) []Change {
	open = open[:min(len(open), mostConfirmed)]
	sure := make([]bool, len(open))
	var group sync.WaitGroup
	for i, c := range open {
		group.Go(func() {
			for _, resolver := range []string{second, ""} {
				q := question(c.Name, c.Type, resolver)
				p := target.RunChecks(ctx, target.Target{}, []target.Check{q}, s.ask, nil).Parts[0]
				r, ok := p.Report.(*resolve.Report)
				if !ok || r.Rcode != noError && r.Rcode != nxdomain {
					continue
				}
				set := setOf(c.Name, c.Type, c.Begins, valuesOf(r))
				if len(set) > 0 {
					set[0].bounded()
					sure[i] = !slices.Equal(set[0].Values, c.Old)
				}
				return
			}
		})
	}
	group.Wait()
	return slices.DeleteFunc(open, func(c Change) bool {
		return !sure[slices.IndexFunc(open, func(o Change) bool { return o.key() == c.key() })]
	})
}

// finish writes what came of the run, the events and the next Due, in one step: all of it, or where the lease has ended
// nothing.
func (s *session) finish(ctx context.Context, n *news) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	beside, err := s.outcome(ctx, n)
	if err != nil {
		return err
	}
	lost := false
	err = retry(func() error {
		record, doc, err := s.read(ctx, s.record.Account, s.record.ID)
		if errors.Is(err, metering.ErrNotFound) || err == nil && doc.Claim.Token != s.token {
			lost = true
			return nil
		}
		if err != nil {
			return err
		}
		s.conclude(&record, doc, n)
		if record, err = doc.record(record); err != nil {
			return err
		}
		return s.Store.PutRecords(ctx, append([]metering.Record{record}, beside...)...)
	})
	switch {
	case err != nil:
		return fmt.Errorf("writing what came of the run: %w", err)
	case lost || n == nil:
		s.observe(OutcomeLost)
	case s.doc.Wait != "":
		s.observe(OutcomeWaiting)
	default:
		s.observe(OutcomeOK)
	}
	if len(beside) > 2 && s.Wake != nil {
		s.Wake()
	}
	s.poke()
	return nil
}

// conclude brings the watch to how it stands after the run. Its settings may have been changed meanwhile.
func (s *session) conclude(r *metering.Record, doc *document, n *news) {
	doc.Spent -= doc.Claim.Held - s.spent
	doc.Claim, doc.Wait = claim{}, ""
	now := s.now()
	if n == nil { // broken off: it is run again, by whoever is there
		r.Due = now
		return
	}
	if s.refusal != nil {
		doc.Wait = string(refusalOf(s.refusal))
	}
	s.doc.Wait = doc.Wait
	doc.Last, doc.End = s.at.Unix(), string(s.state.End)
	k := s.state
	doc.Mark, doc.Score, doc.Counts, doc.Unknown = string(k.Mark), k.Score, k.counts(), len(k.Unknown)
	if doc.Worst = ""; len(k.Findings) > 0 && k.Findings[0].Severity > diag.Info { // the gravest comes first
		doc.Worst = k.Findings[0].Code
	}
	doc.Expires, doc.Expiry = 0, ""
	if e := k.next(); !e.At.IsZero() && k.End == "" {
		doc.Expires, doc.Expiry = e.At.Unix(), e.What
	}
	if text := n.text(s.doc.Domain); text != "" {
		doc.Changed, doc.Change = s.at.Unix(), text
	}
	if s.regular {
		doc.Next = doc.slot(r, s.at).Unix()
	}
	r.Due = instant(doc.Next)
	if doc.Pending = len(k.Doubts) > 0; doc.Pending {
		if soon := now.Add(answersApart); soon.Before(r.Due) {
			r.Due = soon
		}
	}
	if doc.Wait != "" {
		r.Due = now.Add(retryWait + doc.place(r, retryWait/4))
		doc.Next = r.Due.Unix()
	}
}

// outcome are the records that are written beside the watch: what is known, the history and the events.
func (s *session) outcome(ctx context.Context, n *news) ([]metering.Record, error) {
	if n == nil {
		return nil, nil
	}
	before := &Snapshot{}
	if len(s.known.Body) > 0 {
		old, err := parseState(s.known)
		if err != nil {
			return nil, err
		}
		before = &old.Snapshot
	}
	known, err := s.state.record(s.known)
	if err != nil {
		return nil, err
	}
	k := &s.state.Snapshot
	row := Run{At: s.at, Mark: k.Mark, Score: k.Score, Credits: s.spent, Confirming: !s.regular, Unknown: k.Unknown}
	if !before.At.IsZero() {
		row.Difference = Diff(before, k)
	}
	past, err := s.extend(ctx, s.record, row, k)
	if err != nil {
		return nil, err
	}
	events, err := s.events(n)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]metering.Record{known}, past, events), nil
}
