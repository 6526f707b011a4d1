package metering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// termsKind is the kind of the records that remember the terms that an account has left.
const termsKind = "terms"

// Terms are what an account has agreed to pay for.
type Terms struct {
	Plan           PlanID `json:"plan"`
	OverageEnabled bool   `json:"overage_enabled"`
}

// Terms are those in force now.
func (a Account) Terms() Terms { return Terms{a.Plan, a.OverageEnabled} }

// noteTerms remembers terms that are about to be left. It comes before the change: what it says is true even
// if the change is never made. It is named by the version of the account, so that a second try finds it.
func noteTerms(ctx context.Context, store Records, a Account, now time.Time) error {
	body, err := json.Marshal(a.Terms())
	if err != nil {
		return err
	}
	note := Record{Account: a.ID, Kind: termsKind, ID: strconv.FormatInt(a.Version, 10), At: now, Body: body}
	err = store.PutRecords(ctx, note)
	if !errors.Is(err, ErrVersion) {
		return err
	}
	old, err := store.Record(ctx, a.ID, termsKind, note.ID)
	if err != nil {
		return err
	}
	note.Version = old.Version
	return store.PutRecords(ctx, note)
}

// TermsIn returns the terms that were in force for an account at any time of a month, each once and those at
// the end of it last. It knows of changes by [Admin.SetAccount]; after a change by accounts alone it takes
// the new terms for those of old.
func TermsIn(ctx context.Context, store Records, a Account, p Period) ([]Terms, error) {
	var list []Terms
	last := a.Terms()
	for r, err := range store.Records(ctx, RecordFilter{Kind: termsKind, Account: a.ID}) {
		if err != nil {
			return nil, fmt.Errorf("terms of %s in %v: %w", a.ID, p, err)
		}
		var left Terms
		if err := json.Unmarshal(r.Body, &left); err != nil {
			return nil, fmt.Errorf("terms of %s until %v: %w", a.ID, r.At, err)
		}
		if !r.At.Before(p.End()) {
			last = left
			break
		}
		if !r.At.Before(p.Start()) {
			list = append(list, left)
		}
	}
	slices.Reverse(list)
	var once []Terms
	for _, t := range append([]Terms{last}, list...) {
		if !slices.Contains(once, t) {
			once = append(once, t)
		}
	}
	slices.Reverse(once)
	return once, nil
}
