package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// retryWait is when a watch that may not run looks again whether it may, beside the month's turn.
const retryWait = time.Hour

// may says why the run must wait, if it must.
func (s *session) may(ctx context.Context, need int64) (Reason, error) {
	month := metering.PeriodOf(s.at)
	s.doc.turn(month)
	if s.left = s.doc.budget() - s.doc.Spent; s.left < need {
		return NoBudget, nil
	}
	key, err := s.admin.ActingKey(ctx, s.record.Account, actor)
	if refused, ok := errors.AsType[*metering.RefusedError](err); ok && refused != nil {
		return NoKey, nil
	}
	if err != nil {
		return "", err
	}
	s.key = key.ID
	account, err := s.Store.Account(ctx, s.record.Account)
	if err != nil {
		return "", err
	}
	if account.Suspension != nil {
		return Suspended, nil
	}
	b, err := s.Store.Balance(ctx, account.ID, month)
	if err != nil {
		return "", err
	}
	plan, ok := s.Plans.In(month)[account.PlanIn(month)]
	if !ok {
		return "", fmt.Errorf("account %s has the plan %q, which does not exist", account.ID, account.PlanIn(month))
	}
	taken := metering.Taken{Credits: b.Used + b.Held, Overage: b.Overage, Micros: b.OverageMicros}
	if plan.Limits(account).Left(taken) < need {
		return NoCredits, nil
	}
	return "", nil
}

// turn begins a month. What a node that died had held was spent, as far as anybody knows.
func (doc *document) turn(month metering.Period) {
	if doc.Month != month.Number() {
		doc.Month, doc.Spent = month.Number(), 0
	}
	doc.Claim = claim{}
}

// wait puts the run off: to the month's turn where only that helps, else for an hour.
func (s *session) wait(ctx context.Context, reason Reason) error {
	s.doc.Wait = string(reason)
	turn := metering.PeriodOf(s.at).End().Add(s.doc.place(&s.record, min(s.doc.every(), day)))
	if s.record.Due = turn; reason != NoBudget {
		soon := s.at.Add(retryWait + s.doc.place(&s.record, retryWait/4))
		if soon.Before(turn) {
			s.record.Due = soon
		}
	}
	s.doc.Next = s.record.Due.Unix()
	record, err := s.doc.record(s.record)
	if err == nil {
		err = s.Store.PutRecords(ctx, record)
	}
	if err == nil {
		s.observe(OutcomeWaiting)
	}
	return err
}

func (w *Watches) observe(outcome string) {
	if w.Observe != nil {
		w.Observe(outcome)
	}
}

// claim makes the run this node's, and holds what it may spend.
func (s *session) claim(ctx context.Context, need int64) error {
	s.left = min(s.left, need+mostConfirmed)
	s.doc.Claim = claim{Token: s.token, Until: s.at.Add(lease).Unix(), Held: s.left}
	s.doc.Spent += s.left
	s.doc.Wait = ""
	s.record.Due = instant(s.doc.Claim.Until)
	record, err := s.doc.record(s.record)
	if err != nil {
		return err
	}
	return s.Store.PutRecords(ctx, record)
}

// errSpent ends a run that has spent what it may.
var errSpent = errors.New("the run has spent what it may")

// overloaded is the reason of a problem for which the server itself is the cause, and which is soon over.
const (
	overloaded    = "overloaded"
	overloadTries = 5
)

// ask runs an operation as the account's key for watches, and counts what it costs.
func (s *session) ask(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
	s.mu.Lock()
	err := s.refusal
	if err == nil && s.left < ep.Credits {
		err = errSpent
	}
	if err == nil {
		s.left -= ep.Credits
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	answer, err := s.Ask(ctx, s.key, ep, body)
	for try := 1; try < overloadTries && isOverload(err); try++ {
		select {
		case <-time.After(time.Duration(try) * time.Second):
		case <-ctx.Done():
		}
		answer, err = s.Ask(ctx, s.key, ep, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.left += ep.Credits
		if refusalOf(err) != "" {
			s.refusal = err
		}
		return nil, err
	}
	s.left += ep.Credits - answer.Credits
	s.spent += answer.Credits
	return &answer.Result, nil
}

func isOverload(err error) bool {
	p, ok := errors.AsType[*httpapi.Problem](err)
	return ok && p.Details.Reason == overloaded
}

// refusalOf says what the watch must wait for, if an error says so.
func refusalOf(err error) Reason {
	if _, ok := errors.AsType[*metering.RefusedError](err); ok {
		return NoKey
	}
	p, ok := errors.AsType[*httpapi.Problem](err)
	switch {
	case !ok:
		return ""
	case p.Code == "QUOTA_EXCEEDED" && p.Details.Reason == string(metering.QuotaSuspended):
		return Suspended
	case p.Code == "QUOTA_EXCEEDED":
		return NoCredits
	case strings.HasSuffix(string(p.Code), "_API_KEY"):
		return NoKey
	}
	return ""
}
