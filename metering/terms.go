package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// TermsKind is the kind of the records that remember the terms that an account has left.
const TermsKind = "terms"

// Terms are the plan and the overage setting that an account has agreed to.
type Terms struct {
	Plan             PlanID    `json:"plan"`
	OverageEnabled   bool      `json:"overage_enabled"`
	AgreedPriceCents *int64    `json:"agreed_price_cents,omitempty"` // of a plan without a price
	PlanSince        Period    `json:"plan_since,omitzero"`          // the month since which the plan was held
	Began            time.Time `json:"-"`                            // when they came into force, if known
}

// equal compares what the terms say. As long as the plan is the same it has been held since the same month.
func (t Terms) equal(other Terms) bool {
	return t.Plan == other.Plan && t.OverageEnabled == other.OverageEnabled &&
		Same(t.AgreedPriceCents, other.AgreedPriceCents)
}

// terms are those in force in a month.
func (a Account) terms(p Period) Terms {
	plan := a.PlanIn(p)
	return Terms{
		Plan: plan, OverageEnabled: a.OverageEnabled, AgreedPriceCents: a.AgreedPriceCents, PlanSince: a.heldSince(plan),
	}
}

// applyScheduled is the account with a change of plan written down that was scheduled and has come, and what remembers
// the plan before it.
func (a Account) applyScheduled(now time.Time) (Account, []Record) {
	s := a.Scheduled
	if s == nil || PeriodOf(now).Before(s.From) {
		return a, nil
	}
	note := a.termsRecord("0.", a.terms(s.From.Previous()), s.From.Start()) // sorts before those of the same instant
	a.Plan, a.PlanSince, a.Scheduled = s.Plan, a.heldSince(s.Plan), nil
	return a, []Record{note}
}

// termsRecord records terms that the account leaves at an instant. It is written before the change: what it says is
// true even if the change is never made.
func (a Account) termsRecord(prefix string, t Terms, until time.Time) Record {
	id := fmt.Sprintf("%s%019d", prefix, a.Version) // sorts by version: two changes may be of one microsecond
	return Record{Account: a.ID, Kind: TermsKind, ID: id, At: until, Body: RecordBody(t)}
}

// putTerms stores records of terms. They are named by the version of the account, so that a second try finds those of
// the first.
func putTerms(ctx context.Context, store Records, notes []Record) error {
	for _, note := range notes {
		err := store.PutRecords(ctx, note)
		if errors.Is(err, ErrVersion) {
			var old Record
			if old, err = store.Record(ctx, note.Account, TermsKind, note.ID); err == nil {
				note.Version = old.Version
				err = store.PutRecords(ctx, note)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A TermsHistory is the records of TermsKind of some accounts. It records the changes that [Admin.SetAccount] makes;
// after any other change, the new terms count for earlier months, too.
type TermsHistory map[AccountID][]Record

// ReadTerms reads the former terms of an account; those of all accounts for an empty id.
func ReadTerms(ctx context.Context, store Records, account AccountID) (TermsHistory, error) {
	b := TermsHistory{}
	for r, err := range store.Records(ctx, RecordFilter{Kind: TermsKind, Account: account}) {
		if err != nil {
			return nil, fmt.Errorf("reading the terms that accounts have left: %w", err)
		}
		b[r.Account] = append(b[r.Account], r)
	}
	return b, nil
}

// In returns the terms that were in force for an account at any time of a month, in their order.
func (b TermsHistory) In(a Account, p Period) ([]Terms, error) {
	var list []Terms
	began := a.CreatedAt
	add := func(t Terms, until time.Time) {
		t.Began = began
		if t.PlanSince == (Period{}) { // as in older records
			t.PlanSince = PeriodOf(a.CreatedAt)
		}
		if t.Began.Before(p.End()) && until.After(p.Start()) {
			list = append(list, t)
		}
		began = until
	}
	for _, r := range b[a.ID] {
		var t Terms
		if err := json.Unmarshal(r.Body, &t); err != nil {
			return nil, fmt.Errorf("terms of %s until %v: %w", a.ID, r.At, err)
		}
		add(t, r.At)
	}
	if s := a.Scheduled; s != nil {
		add(a.terms(s.From.Previous()), s.From.Start())
	}
	add(a.terms(p), p.End())
	return list, nil
}
