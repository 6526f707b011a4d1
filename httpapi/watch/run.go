package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering"
)

// maxQuestions bounds the resolver queries of a run.
const maxQuestions = 16

// How runs end, see [Config].Observe.
const (
	OutcomeOK      = "ok"
	OutcomeWaiting = "waiting" // for the Reason of the watch
	OutcomeLost    = "lost"    // it was broken off, or its lease has ended
)

// A session is a run under way.
type session struct {
	*Watches
	record      metering.Record
	doc         *document
	key         metering.KeyID
	regular     bool
	at          time.Time
	state       *state
	stateRecord metering.Record // of the state
	previous    Snapshot
	suspected   []diag.Code // before the run

	mu          sync.Mutex
	creditsLeft int64 // credits that the run may still spend
	spent       int64
	refusal     Reason // of a call, after which no other is made
}

// run runs a watch that is due, or returns why it waits.
func (w *Watches) run(ctx context.Context, r metering.Record) error {
	doc, err := parse(r)
	if err != nil {
		return err
	}
	s := &session{Watches: w, record: r, doc: doc, at: w.now()}
	if s.stateRecord, s.state, err = w.readState(ctx, r.Account, r.ID); err != nil {
		return err
	}
	s.previous, s.suspected = s.state.Snapshot.clone(), s.state.suspectedFaults()
	s.state.keepChecks(w.catalogue().checks(doc.Domain, doc.Checks))
	s.state.setRules(w.catalogue().rules)
	s.regular = !s.at.Before(doc.Next) || !s.state.hasPending()
	checks, need := s.plan()
	reason, err := s.checkFunds(ctx, need)
	if err != nil {
		return err
	}
	if reason != "" {
		doc.wait(&s.record, reason, s.at)
		if err = s.put(ctx, s.record, doc); err == nil {
			s.observe(OutcomeWaiting)
		}
		return err
	}
	if err := s.claim(ctx, need); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	c := s.examine(bounded, checks)
	if ctx.Err() != nil {
		c = nil // it is run again
	}
	return s.finish(context.WithoutCancel(ctx), c)
}

// plan returns the checks of the run, which are all, or those with a doubt, and the credits that it needs: the
// maximum cost of the checks, and of the resolver queries that are due.
func (s *session) plan() (checks []target.Check, need int64) {
	doubted := map[string]bool{}
	for _, p := range s.state.Suspicions {
		doubted[p.Check] = true
		if p.isQueryDue(s.at) {
			need++
		}
	}
	for _, c := range s.catalogue().checks(s.doc.Domain, s.doc.Checks) {
		if s.regular || doubted[c.Name] {
			_, most := c.Price()
			need += most
			checks = append(checks, c)
		}
	}
	return checks, need
}

// examine runs the checks, compares their results with the known state, and asks resolvers about the differences.
func (s *session) examine(ctx context.Context, checks []target.Check) *comparison {
	t := target.Target{Kind: target.Domain, Text: s.doc.Domain}
	whole := target.RunChecks(ctx, t, checks, s.ask, nil)
	c := &comparison{state: s.state, catalogue: s.catalogue(), domain: s.doc.Domain, at: s.at,
		seen: observe(s.doc.Domain, whole.Parts, s.at)}
	if s.regular {
		c.digest = whole.Digest(s.at)
	}
	c.evaluate(s.regular)
	keys := c.questions()
	replies := make([]*resolve.Report, len(keys))
	var group diag.Group
	for i, key := range keys {
		resolver := ""
		if c.Suspicions[key].usesSecondResolver() {
			resolver = secondResolver
		}
		group.Go(func() { replies[i] = s.resolve(ctx, c.question(key), resolver) })
	}
	group.Wait()
	for i, key := range keys {
		c.reply(key, replies[i])
	}
	c.conclude()
	return c
}

// secondResolver is the resolver in addition to that of the environment: the authoritative servers themselves.
const secondResolver = "authoritative"

// resolve queries a resolver for a set of records; nil if it does not answer.
func (s *session) resolve(ctx context.Context, set Set, resolver string) *resolve.Report {
	q := question(set.Name, set.Type, resolver)
	r, ok := target.RunChecks(ctx, target.Target{}, []target.Check{q}, s.ask, nil).Parts[0].Report.(*resolve.Report)
	if !ok || !isAnswer(r.Rcode) && r.Rcode != servfail {
		return nil
	}
	return r
}

// finish writes the result of the run, the events and the next Due, in one step: all of it, or nothing if the lease
// has ended. Nil is a run that was aborted.
func (s *session) finish(ctx context.Context, c *comparison) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	var beside []metering.Record
	if c != nil {
		var err error
		if beside, err = s.otherRecords(ctx, c); err != nil {
			return err
		}
	}
	outcome := OutcomeLost
	err := metering.Retry(func() error {
		record, doc, err := s.read(ctx, s.record.Account, s.record.ID)
		if errors.Is(err, metering.ErrNotFound) || err == nil && doc.Claim.Token != s.doc.Claim.Token {
			return nil
		}
		if err != nil {
			return err
		}
		doc.Spent -= doc.Claim.Held - s.spent
		doc.Claim = claim{}
		if record.Due = s.now(); c != nil { // otherwise another node runs it again
			outcome = s.conclude(&record, doc, c)
		}
		return s.put(ctx, record, doc, beside...)
	})
	if err != nil {
		return fmt.Errorf("writing what came of the run: %w", err)
	}
	s.observe(outcome)
	if c != nil && len(c.notices) > 0 && s.Wake != nil {
		s.Wake()
	}
	s.worker.Wake()
	return nil
}

// conclude updates the watch, whose settings may have been changed meanwhile, to its state after the run.
func (s *session) conclude(r *metering.Record, doc *document, c *comparison) (outcome string) {
	now := s.now()
	doc.Reason, doc.LastRun, doc.RunCost = c.End, s.at, s.catalogue().price(doc.Checks)
	doc.Mark, doc.Score, doc.Counts, doc.Unknown = c.Mark, c.Score, countsOf(c.Findings), len(c.Unknown)
	doc.Coverage, doc.Areas = c.Coverage, c.catalogue.areasOf(c.Findings)
	if doc.Worst = ""; len(c.Findings) > 0 && c.Findings[0].Severity > diag.Info { // the gravest comes first
		doc.Worst = c.Findings[0].Code
	}
	if doc.Expires, doc.Expiry = (time.Time{}), ""; len(c.Expiries) > 0 && c.End == "" {
		doc.Expires, doc.Expiry = c.Expiries[0].At, c.Expiries[0].What
	}
	if text := c.text(); text != "" {
		doc.Changed, doc.Change = s.at, text
	}
	if s.regular {
		doc.Next = doc.slot(r, s.at)
	}
	r.Due = doc.Next
	if soon := now.Add(confirmationInterval); c.hasPending() && soon.Before(r.Due) {
		r.Due = soon
	}
	if s.refusal != "" {
		doc.wait(r, s.refusal, now)
		return OutcomeWaiting
	}
	return OutcomeOK
}

// otherRecords returns the records that are written with the watch: the known state, the history and the events.
func (s *session) otherRecords(ctx context.Context, c *comparison) ([]metering.Record, error) {
	known, err := s.state.record(s.stateRecord)
	if err != nil {
		return nil, err
	}
	row := Run{At: s.at, Mark: c.Mark, Score: c.Score, Credits: s.spent, Confirming: !s.regular, Unknown: c.Unknown}
	if !s.previous.At.IsZero() {
		row.Difference = Diff(&s.previous, &c.Snapshot)
	}
	past, err := s.extend(ctx, row, &c.Snapshot)
	if err != nil {
		return nil, err
	}
	report, err := s.report(ctx, c)
	if err != nil {
		return nil, err
	}
	events, err := s.events(c)
	return slices.Concat([]metering.Record{known}, past, report, events), err
}
