package metering

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Head is a proof of all entries up to one, small enough to be kept elsewhere: an attacker who changes the ledger
// and all that is derived from it, chains included, cannot change the head too.
type Head struct {
	Seq    int64       `json:"seq"` // of the newest entry
	Months []MonthHead `json:"months"`
}

// MonthHead is the hash of the entries of a month, with their numbers and links, in their order.
type MonthHead struct {
	Month   Period `json:"month"`
	Entries int64  `json:"entries_count"`
	Hash    Chain  `json:"hash"`
}

// ReadHead computes the head of all entries up to a number, or of all for 0.
func ReadHead(ctx context.Context, l Ledger, last int64) (Head, error) {
	months := make(map[Period]MonthHead)
	head := Head{Seq: last}
	for e, err := range l.Entries(ctx, EntryFilter{}) {
		if err != nil {
			return Head{}, fmt.Errorf("reading the ledger: %w", err)
		}
		if last > 0 && e.Seq > last {
			break
		}
		m := months[e.Period]
		form := appendNumber(e.AppendForm(AppendGroup(nil, e.Account, e.Period)), e.Seq)
		if e.Chain != nil {
			form = append(form, e.Chain[:]...)
		}
		months[e.Period] = MonthHead{e.Period, m.Entries + 1, m.Hash.LinkForm(form)}
		head.Seq = max(head.Seq, e.Seq)
	}
	head.Months = slices.SortedFunc(maps.Values(months), func(a, b MonthHead) int { return a.Month.Compare(b.Month) })
	return head, nil
}

// Comparison is the result of comparing a ledger with a head.
type Comparison struct {
	Same    []Period `json:"same_months"`
	Changed []Period `json:"changed_months"`
	// Pruned are the months from which entries are missing, including all months before them: they cannot be compared.
	// Only the retention policy tells whether they were pruned or removed.
	Pruned []Period `json:"pruned_months"`
}

// Compare compares a ledger with a head that was made of it. This month and the one before it cannot have been pruned.
func (h Head) Compare(ctx context.Context, l Ledger, now time.Time) (Comparison, error) {
	c := Comparison{[]Period{}, []Period{}, []Period{}}
	current, err := ReadHead(ctx, l, max(1, h.Seq))
	if err != nil {
		return c, err
	}
	found := make(map[Period]MonthHead)
	for _, m := range current.Months {
		found[m.Month] = m
	}
	months := slices.Clone(h.Months)
	slices.SortFunc(months, func(a, b MonthHead) int { return a.Month.Compare(b.Month) })
	for _, m := range months {
		old := len(c.Same)+len(c.Changed) == 0 && m.Month.Before(PeriodOf(now).Previous())
		switch monthHead := found[m.Month]; {
		case monthHead == m:
			c.Same = append(c.Same, m.Month)
		case old && monthHead.Entries < m.Entries:
			c.Pruned = append(c.Pruned, m.Month)
		default:
			c.Changed = append(c.Changed, m.Month)
		}
		delete(found, m.Month)
	}
	c.Changed = slices.AppendSeq(c.Changed, maps.Keys(found)) // not covered by the head
	slices.SortFunc(c.Changed, Period.Compare)
	return c, nil
}
