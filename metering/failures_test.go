package metering_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failures are those for which systems that meter are known, and the tests that hold this one to doing better.
// A test is named by its file, below the root of the module, and its function.
var failures = []struct{ what, tests string }{
	{"a quota is checked first and charged later, so that many pass at once; or all losers give up, and it is not sold",
		"metering/meteringtest/race.go:testRaceQuota httpapi/race_test.go:TestCapIsSoldExactly"},
	{"requests are counted after they ran, so that a burst passes the rate limit",
		"metering/limiter_test.go:TestBucketIsExactUnderContention metering/gate_test.go:TestAdmitIsExactUnderContention"},
	{"a buffer of charges is replayed over a balance that was set meanwhile",
		"metering/meteringtest/race.go:testRacePlans metering/meteringtest/ledger.go:testAudit"},
	{"an idempotency key is claimed before the charge is written, so that a crash serves for nothing",
		"httpapi/store_crash_test.go:TestStoreCrash httpapi/crash_test.go:TestCrash metering/sqlite/unraced_test.go:TestCrash"},
	{"a crash leaves an idempotency key in progress until it expires",
		"metering/meteringtest/idempotency.go:testClaimLapsed httpapi/crash_test.go:TestCrash"},
	{"a failure after the effect releases the claim, so that it happens twice",
		"metering/meteringtest/idempotency.go:testClaimReleased httpapi/hosted_resolve_test.go:TestResolveIsIdempotent"},
	{"a panic or a lost client leaves a claim that nobody resolves",
		"httpapi/failure_test.go:TestFailuresAreFree httpapi/failure_test.go:TestLostClient"},
	{"a replay of a binary reply is empty, cut off or of another media type",
		"httpapi/idempotency_test.go:TestImagesAreDrawnAgain metering/meteringtest/idempotency.go:testReplayForms"},
	{"a reply is replayed to another caller, or to one who may no longer ask",
		"httpapi/refusals_test.go:TestReplaysPassTheGate metering/meteringtest/idempotency.go:testClaimPerKey"},
	{"the reply to a charge is lost, and the repetition is charged again",
		"httpapi/failure_test.go:TestLostAcknowledgement cmd/diagd/internal/bench/unraced_test.go:TestBenchCrash"},
	{"admission and charge do not agree on the month, or months of unequal length drift",
		"metering/meteringtest/ledger.go:testMonth metering/period_test.go:TestConformancePeriods " +
			"metering/billing/close_test.go:TestCloseAtMidnight"},
	{"the memory of a limiter grows with every address, or it admits all when full",
		"metering/unraced_test.go:TestIPLimiterMemoryIsBounded metering/iplimiter_test.go:TestIPLimiterNeverFailsOpen"},
	{"a limiter fails under contention",
		"metering/limiter_test.go:TestBucketIsExactUnderContention " +
			"metering/iplimiter_test.go:TestIPLimiterIsExactUnderContention"},
	{"a higher limit does not hold before the old one has been waited for",
		"metering/limiter_test.go:TestBucketPlanChange httpapi/refusals_test.go:TestPlanChangeHoldsAtOnce"},
	{"a cache goes on accepting a revoked key",
		"metering/stress_test.go:TestRevocationRacesWithRequests metering/processes_test.go:TestChangesReachAnotherProcess"},
	{"the time or text of a refusal tells of keys that exist",
		"httpapi/timing_test.go:TestInvalidKeysTakeAsLong httpapi/gate_test.go:TestInvalidKeysLookAlike"},
	{"a month is invoiced twice",
		"metering/billing/close_test.go:TestCloseRace metering/billing/unraced_test.go:TestCloseDies " +
			"metering/billing/unraced_test.go:TestCrash"},
	{"a budget is overshot, or used up by estimates",
		"metering/meteringtest/race.go:testRaceBudget metering/meteringtest/quota.go:testOverage"},
	{"holds that were dropped are never released",
		"metering/internal/hold/hold_test.go:TestCancelledPromisesLeaveNothing metering/meteringtest/quota.go:testLease"},
}

// Each failure has tests that exist.
func TestKnownFailuresAreTested(t *testing.T) {
	for i, f := range failures {
		for name := range strings.FieldsSeq(f.tests) {
			file, function, _ := strings.Cut(name, ":")
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
			if err != nil || !strings.Contains(string(text), "\nfunc "+function+"(t *testing.T") {
				t.Errorf("%d: %s: there is no %s (%v)", i+1, f.what, name, err)
			}
		}
	}
}
