package metering

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// Prices returns the price list of a month. [Plans] is one that never changes; a [PriceList] is that of a store.
type Prices interface{ In(p Period) Plans }

// In implements [Prices].
func (p Plans) In(Period) Plans { return p }

// A PlanVersion is a plan as it is from a month on, until a version of a later month. It is never changed.
type PlanVersion struct {
	Plan               Plan
	ReplacesAllowances bool   // accounts that have the plan keep no larger allowance of the versions before it
	From               Period // the zero Period: always
	ImportedAt         time.Time
	Chain              Chain // set by the store; see [PlanVersion.Link]
}

// versionBody is the JSON form of a version in stores: a plan with one more field.
type versionBody struct {
	Plan
	Existing bool `json:"existing,omitempty"`
}

// Body returns Plan and ReplacesAllowances as stores keep them; [PlanVersion.SetBody] reads them.
func (v PlanVersion) Body() ([]byte, error) {
	return json.Marshal(versionBody{v.Plan, v.ReplacesAllowances})
}

// SetBody sets Plan and ReplacesAllowances to those of a body. Plan.ID is that of the version.
func (v *PlanVersion) SetBody(data []byte) error {
	body := versionBody{Plan: Plan{ID: v.Plan.ID}}
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("plan %s from %v on: %w", v.Plan.ID, v.From, err)
	}
	body.ID = v.Plan.ID
	v.Plan, v.ReplacesAllowances = body.Plan, body.Existing
	return nil
}

// StoredVersions returns the versions as a store keeps them after those that it has, and the newest link. The error is
// ErrVersion if two of them are of the same plan and month.
func StoredVersions(stored, versions []PlanVersion) (added []PlanVersion, newest Chain, err error) {
	if len(stored) > 0 {
		newest = stored[len(stored)-1].Chain
	}
	for _, v := range versions {
		for _, old := range slices.Concat(stored, added) {
			if old.Plan.ID == v.Plan.ID && old.From == v.From {
				return nil, newest, fmt.Errorf("plan %s from %v on: %w", v.Plan.ID, v.From, ErrVersion)
			}
		}
		v.ImportedAt = v.ImportedAt.UTC().Truncate(time.Microsecond)
		v.Plan.PriceCents, v.Plan.larger = clone(v.Plan.PriceCents), nil
		v.Chain = v.Link(newest)
		added, newest = append(added, v), v.Chain
	}
	return added, newest, nil
}

// Versions returns the plans as versions from a month on, by id.
func (p Plans) Versions(from Period, importedAt time.Time) (list []PlanVersion) {
	for _, id := range slices.Sorted(maps.Keys(p)) {
		list = append(list, PlanVersion{Plan: p[id], From: from, ImportedAt: importedAt})
	}
	return list
}

// PlanVersions holds the price lists of all months.
type PlanVersions interface {
	// PlanVersions returns all versions, in the order in which they were put.
	PlanVersions(ctx context.Context) ([]PlanVersion, error)

	// PutPlanVersions adds versions, all or none, in one durable transaction. It returns ErrVersion where a plan has a
	// version of that month.
	PutPlanVersions(ctx context.Context, versions ...PlanVersion) error
}

// A PriceList holds the price lists of all months, as last read. Its plans know their earlier allowances, which
// accounts keep; see [Plan.Allowance]. It is safe for concurrent use, and has no plan before the first read.
type PriceList struct {
	periods atomic.Pointer[[]pricePeriod] // by month, the last first
}

// pricePeriod is the plans from a month on.
type pricePeriod struct {
	from  Period
	plans Plans
}

// NewPriceList returns a list of the given versions.
func NewPriceList(versions ...PlanVersion) *PriceList {
	l := new(PriceList)
	l.setVersions(versions)
	return l
}

// Read reloads the list. A store without plans leaves it unchanged.
func (l *PriceList) Read(ctx context.Context, s Store) error {
	versions, err := s.PlanVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the plans: %w", err)
	}
	if len(versions) > 0 {
		l.setVersions(versions)
	}
	return nil
}

func (l *PriceList) setVersions(versions []PlanVersion) {
	versions = slices.Clone(versions)
	slices.SortStableFunc(versions, func(a, b PlanVersion) int { return a.From.Compare(b.From) })
	var periods []pricePeriod
	plans := Plans{}
	for i, v := range versions {
		if i == 0 || v.From != versions[i-1].From {
			plans = maps.Clone(plans)
			periods = append(periods, pricePeriod{v.From, plans})
		}
		plan := v.Plan
		plan.larger = nil
		if old, ok := plans[plan.ID]; ok && !v.ReplacesAllowances {
			plan = plan.replacing(old, v.From)
		}
		plans[plan.ID] = plan
	}
	slices.Reverse(periods)
	l.periods.Store(&periods)
}

// In implements [Prices].
func (l *PriceList) In(p Period) Plans {
	if periods := l.periods.Load(); periods != nil {
		for _, s := range *periods {
			if !p.Before(s.from) {
				return s.plans
			}
		}
	}
	return nil
}

// ImportPlans puts plans into force from a month on, those that differ from the store's versions for it, and returns
// the added ones. Plans in force do not change: the month must be a later one, or the plans be new. Accounts that have
// a plan keep its allowance where the new one is smaller, unless ReplaceAllowances is set.
func (a Admin) ImportPlans(ctx context.Context, plans Plans, from Period) ([]PlanVersion, error) {
	if err := plans.Validate(); err != nil {
		return nil, &FieldError{Field: "plans", Reason: err.Error()}
	}
	var added []PlanVersion
	err := Retry(func() error {
		versions, err := a.store().PlanVersions(ctx)
		if err != nil {
			return err
		}
		list, now := NewPriceList(versions...), a.Time()
		added = nil
		for _, v := range plans.Versions(from, now) {
			old, known := list.In(from)[v.Plan.ID]
			v.ReplacesAllowances = known && a.ReplaceAllowances
			if known && old.Equal(v.Plan) && (!v.ReplacesAllowances || old.larger == nil) {
				continue
			}
			taken := slices.ContainsFunc(versions, func(o PlanVersion) bool { return o.Plan.ID == v.Plan.ID && o.From == from })
			if first := PeriodOf(now); known && !first.Before(from) {
				return &FieldError{Field: "from", Reason: fmt.Sprintf(
					"the plan %q is in force: a new version holds from %v at the earliest", v.Plan.ID, first.Next())}
			} else if from.Before(first) {
				reason := fmt.Sprintf("the plan %q can hold from %v on", v.Plan.ID, first)
				return &FieldError{Field: "from", Reason: reason}
			} else if taken {
				return &FieldError{Field: "from", Reason: fmt.Sprintf(
					"the plan %q has a version that holds from %v on, which never changes: another holds from %v at the earliest",
					v.Plan.ID, from, from.Next())}
			}
			added = append(added, v)
		}
		if len(added) == 0 {
			return nil
		}
		return a.store().PutPlanVersions(ctx, added...)
	})
	if err != nil {
		return nil, wrap(err, "importing plans")
	}
	return added, nil
}
