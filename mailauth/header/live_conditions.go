package header

import (
	"slices"

	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// checked reports whether the live checks were made.
func checked(a *analysis) bool { return a.live != nil }

// passes reports whether DMARC passes.
func passes(a *analysis) bool { return checked(a) && a.live.DMARC.Result == policy.ResultPass }

// decisive reports whether DMARC passes or fails.
func decisive(a *analysis) bool {
	return passes(a) || checked(a) && a.live.DMARC.Result == policy.ResultFail
}

// lately reports whether DMARC fails for a reason that lies in the time since delivery.
func lately(a *analysis) bool {
	return decisive(a) && !passes(a) && slices.Contains([]excuse{notedPass, longAgo}, a.excuse())
}

// current reports whether DMARC passes, or fails for no such reason.
func current(a *analysis) bool { return decisive(a) && !lately(a) }

// enforced reports whether the policy asks receivers to act.
func enforced(a *analysis) bool {
	return a.live.Could != nil && a.live.Could.Applied != policy.None && a.live.Could.Applied != ""
}
