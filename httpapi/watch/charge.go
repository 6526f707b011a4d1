package watch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// retryWait is when a watch that may not run checks again whether it may, in addition to the start of a month.
const retryWait = time.Hour

// checkFunds returns why the run must wait, if it must.
func (s *session) checkFunds(ctx context.Context, need int64) (Reason, error) {
	month := metering.PeriodOf(s.at)
	if s.doc.Month != month.Number() {
		s.doc.Month, s.doc.Spent = month.Number(), 0
	}
	s.doc.Claim = claim{} // of a node that died: what it held counts as spent
	if s.creditsLeft = s.doc.budget() - s.doc.Spent; s.creditsLeft < need {
		return NoBudget, nil
	}
	key, err := s.admin.ServiceKey(ctx, s.record.Account, serviceName)
	if reason := refusalOf(err); reason != "" {
		return reason, nil
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
	if plan.Limits(account).Remaining(taken) < need {
		return NoCredits, nil
	}
	return "", nil
}

// wait postpones the run: to the next month if only that helps, otherwise for an hour.
func (doc *document) wait(r *metering.Record, reason Reason, now time.Time) {
	turn := metering.PeriodOf(now).End().Add(spreadOffset(r, min(doc.Every, day)))
	soon := now.Add(retryWait + spreadOffset(r, retryWait/4))
	if r.Due = turn; reason != NoBudget && soon.Before(turn) {
		r.Due = soon
	}
	doc.Reason, doc.Next = reason, r.Due
}

func (w *Watches) observe(outcome string) {
	if w.Observe != nil {
		w.Observe(outcome)
	}
}

// claim assigns the run to this node, and holds what it may spend.
func (s *session) claim(ctx context.Context, need int64) error {
	s.creditsLeft = min(s.creditsLeft, need+maxQuestions)
	s.doc.Claim = claim{Token: rand.Text(), Until: s.at.Add(lease), Held: s.creditsLeft}
	s.doc.Spent += s.creditsLeft
	s.record.Due = s.doc.Claim.Until
	return s.put(ctx, s.record, s.doc)
}

// errBudgetSpent ends a run that has used up its credits, or was refused.
var errBudgetSpent = errors.New("the run has spent what it may")

// overloadTries is how often an operation is tried if the server itself causes a problem, which is soon over.
const overloadTries = 5

// ask runs an operation as the account's key for watches, and counts its cost.
func (s *session) ask(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
	s.mu.Lock()
	if s.refusal != "" || s.creditsLeft < ep.Credits {
		s.mu.Unlock()
		return nil, errBudgetSpent
	}
	s.creditsLeft -= ep.Credits
	s.mu.Unlock()
	answer, err := s.Ask(ctx, s.key, ep, body)
	for try := 1; try < overloadTries && overloaded(err); try++ {
		select {
		case <-time.After(time.Duration(try) * time.Second):
		case <-ctx.Done():
		}
		answer, err = s.Ask(ctx, s.key, ep, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.creditsLeft += ep.Credits
	if err != nil {
		s.refusal = cmp.Or(s.refusal, refusalOf(err))
		return nil, err
	}
	s.creditsLeft -= answer.Credits
	s.spent += answer.Credits
	return &answer.Result, nil
}

func overloaded(err error) bool {
	p, ok := errors.AsType[*httpapi.Problem](err)
	return ok && p.Details.Reason == "overloaded"
}

// refusalOf returns the reason why the watch must wait, if an error is one.
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
