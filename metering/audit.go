package metering

import (
	"cmp"
	"fmt"
	"slices"
)

// An Auditor recomputes the values that a store has derived from its ledger. A store gives it all entries in their
// order, then all balances and the versions of the plans, all of one moment. It keeps some 300 bytes for each account
// and month.
type Auditor struct {
	Known         func(KeyID) bool // whether a key exists
	UnchainedUpTo int64            // up to which entries have no chain: those of earlier layouts

	audit       Audit
	tallies     map[auditMonth]*tally
	unknownKeys map[KeyID]bool
}

// formSize is the capacity for the canonical form of a typical entry that is a group by itself.
const formSize = 240

type auditMonth struct {
	account AccountID
	period  Period
}

// A StoredBalance is a balance as a store keeps it.
type StoredBalance struct {
	Account AccountID
	Period  Period
	Used    int64
	Charges int64
	Overage int64
	Micros  int64
	Peak    int64 // the highest ceiling of a charge
	Chain   Chain // zero: none, or a part of the month was pruned
}

// tally sums up the entries of an account and month, in the form of a balance whose chain is that of the last entry.
type tally struct {
	StoredBalance
	form         []byte // of the group under way
	first        int64  // its first entry
	unchained    int64  // entries without a chain
	missingStart bool   // the first link has no beginning
	hasBalance   bool   // the balance was seen
}

// Entry adds the next entry of the ledger.
func (a *Auditor) Entry(e Entry) {
	a.audit.Entries++
	a.audit.Credits += e.Credits
	t := a.tally(e.Account, e.Period)
	t.Used += e.Credits
	t.Charges++
	t.Overage += e.Overage
	t.Micros += e.Overage * e.OverageRate
	t.Peak = max(t.Peak, e.Ceiling)
	if !a.Known(e.Key) && !a.unknownKeys[e.Key] {
		if a.unknownKeys == nil {
			a.unknownKeys = make(map[KeyID]bool)
		}
		a.unknownKeys[e.Key] = true
		a.fault(e.Account, e.Period, "key %q charged, but does not exist", e.Key)
	}
	if e.Seq <= a.UnchainedUpTo {
		t.unchained++
		return
	}
	if t.form == nil {
		t.first, t.form = e.Seq, AppendGroup(make([]byte, 0, formSize), e.Account, e.Period)
	}
	if t.form = e.AppendForm(t.form); e.Chain != nil {
		a.verifyGroup(t, e)
	}
}

func (a *Auditor) tally(account AccountID, p Period) *tally {
	t := a.tallies[auditMonth{account, p}]
	if t == nil {
		if a.tallies == nil {
			a.tallies = make(map[auditMonth]*tally)
		}
		t = &tally{StoredBalance: StoredBalance{Account: account, Period: p}}
		a.tallies[auditMonth{account, p}] = t
	}
	return t
}

// verifyGroup verifies the current group, of which e is the last entry. If the first one of a month has no beginning,
// the balance says whether that was pruned.
func (a *Auditor) verifyGroup(t *tally, e Entry) {
	switch {
	case t.Chain.LinkForm(t.form) == *e.Chain:
	case t.Chain == (Chain{}):
		t.missingStart = true
	default:
		a.fault(t.Account, t.Period, "entries %d to %d do not fit into the chain: some were changed, removed or added",
			t.first, e.Seq)
	}
	t.Chain, t.form = *e.Chain, nil
}

// reportOpenGroup reports a last group without a chain.
func (a *Auditor) reportOpenGroup(t *tally) {
	if t.form != nil {
		a.fault(t.Account, t.Period, "the entries from %d on have no chain", t.first)
	}
}

// Balance adds a balance.
func (a *Auditor) Balance(b StoredBalance) {
	t := a.tally(b.Account, b.Period)
	if t.hasBalance {
		a.fault(b.Account, b.Period, "there are two balances")
	}
	t.hasBalance = true
	a.reportOpenGroup(t)
	a.compareSums(b, t)
	if b.Used > b.Peak {
		a.fault(b.Account, b.Period, "%d credits were used, the plan allowed %d", b.Used, b.Peak)
	}
	if b.Peak < t.Peak || b.Peak > t.Peak && t.unchained == 0 && b.Chain != (Chain{}) {
		a.fault(b.Account, b.Period, "the balance says that the plan allowed %d credits, the ledger %d", b.Peak, t.Peak)
	}
	switch {
	case b.Chain != t.Chain && b.Chain != (Chain{}):
		a.fault(b.Account, b.Period, "the last entries of the chain are missing")
	case b.Chain != (Chain{}) && t.missingStart:
		a.fault(b.Account, b.Period, "the first entries of the chain were changed, removed or added")
	case t.missingStart:
		t.unchained = t.Charges // the beginning was pruned
	case b.Chain != t.Chain:
		a.fault(b.Account, b.Period, "the balance has lost its chain")
	}
	a.audit.Unproven += t.unchained
}

// compareSums compares a balance with the sums of its entries.
func (a *Auditor) compareSums(b StoredBalance, t *tally) {
	if b.Used != t.Used || b.Charges != t.Charges || t.Charges == 0 {
		a.fault(b.Account, b.Period, "the balance says %d credits in %d charges, the ledger %d in %d",
			b.Used, b.Charges, t.Used, t.Charges)
	}
	if b.Overage != t.Overage || b.Micros != t.Micros {
		a.fault(b.Account, b.Period,
			"the balance says %d credits of overage for %d millionths of a cent, the ledger %d for %d",
			b.Overage, b.Micros, t.Overage, t.Micros)
	}
}

// Plans adds the versions of the plans, in order, with their number and newest link according to the store.
func (a *Auditor) Plans(versions []PlanVersion, count int64, newest Chain) {
	var last Chain
	for _, v := range versions {
		if v.Link(last) != v.Chain {
			a.fault("", v.From, "plan %q does not fit into the chain: versions were changed, removed or added",
				v.Plan.ID)
		}
		last = v.Chain
	}
	if int64(len(versions)) != count || last != newest {
		a.fault("", Period{}, "there are %d versions of plans with the newest link %x, there were %d with %x",
			len(versions), last[:4], count, newest[:4])
	}
}

// Finish returns the result; accounts is their number.
func (a *Auditor) Finish(accounts int) Audit {
	for _, t := range a.tallies {
		if !t.hasBalance {
			a.reportOpenGroup(t)
			a.compareSums(StoredBalance{Account: t.Account, Period: t.Period}, t)
		}
	}
	a.audit.Accounts = accounts
	slices.SortFunc(a.audit.Faults, func(a, b AuditFault) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), a.Period.Compare(b.Period), cmp.Compare(a.Detail, b.Detail))
	})
	return a.audit
}

func (a *Auditor) fault(account AccountID, p Period, format string, args ...any) {
	a.audit.Faults = append(a.audit.Faults, AuditFault{account, p, fmt.Sprintf(format, args...)})
}
