package dnssec

import "time"

// An engine checks signatures and proofs. It asks nothing, and belongs to one goroutine.
type engine struct {
	policy   Policy
	now      time.Time
	memo     *memo
	thorough bool // judge every signature of a set, for a report

	work   Work
	limits limits
	needed budget // of what decides whether a set is right
	spare  budget // of the other signatures, which only a report tells of
	rounds int    // of hashing for the present answer
}

// The limits of the work that signatures may cause. Keys may share a tag and sets have many
// signatures, so that the checks multiply (KeyTrap, CVE-2023-50387). Real zones need one check for a
// set, and one more for each other key with the same tag, of which there are seldom two.
type limits struct {
	checks   int // for one answer
	failures int // checks that fail, in all
	total    int // checks in all; 0 means no limit of its own
}

// usual are the limits of a validation.
var usual = limits{checks: maxSignatures, failures: maxFailures}

const (
	maxSignatures = 16 // checks for one answer
	maxFailures   = 8  // checks that fail, in a whole validation
	maxListed     = 32 // signatures, keys and the like that a report lists for a zone
)

// A budget counts signatures checked: for the present answer, in vain for all, and in all.
type budget struct{ checks, failures, total int }

func (b budget) exhausted(l limits) bool {
	return b.checks >= l.checks || b.failures >= l.failures || l.total > 0 && b.total >= l.total
}

// begin resets what is counted for each answer.
func (e *engine) begin() { e.needed.checks, e.spare.checks, e.rounds = 0, 0, 0 }
