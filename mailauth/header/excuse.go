package header

import (
	"slices"
	"time"

	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// How old a message may be for what the DNS says today to speak against it. Keys are left published for about a week
// after their last use; SPF records change less often.
const (
	staleKey    = 7 * 24 * time.Hour
	staleRecord = 90 * 24 * time.Hour
)

// excuse is why a message may be genuine although DMARC fails.
type excuse int

const (
	noExcuse    excuse = iota
	notedPass          // a server that the caller trusts noted that it passed
	claimedPass        // the same, where the sender could have written it
	changedBody        // the author's domain signed it, and what was changed since is known
	vouched            // a valid ARC chain says that it passed before
	longAgo            // the message is older than what the DNS says about it
	filtered           // the server before may be a filter of the receiver
	sameSide           // a domain of the author's organization is authenticated; only strict alignment refuses it
)

func (a *analysis) excuse() excuse {
	l := a.live
	limit := staleRecord
	if len(l.Signatures(func(s *dkim.Result) bool { return l.Aligned(policy.DKIM, s.Domain) })) > 0 {
		limit = staleKey
	}
	n := a.notedTrusted()
	passes := n != nil && passed(*n.result)
	switch {
	case passes && a.beyondReach(n):
		return notedPass
	case l.Misaligned() != "":
		return sameSide
	case l.Changed() != nil:
		return changedBody
	case l.Vouched():
		return vouched
	case l.Now.Sub(l.At) > limit:
		return longAgo
	case a.gateway() != "":
		return filtered
	case passes:
		return claimedPass
	default:
		return noExcuse
	}
}

// beyondReach reports whether a note stands above the Received field of the outside hop, where no sender can write.
func (a *analysis) beyondReach(n *note) bool {
	return a.live.Hop != nil && a.live.Hop.Field.Offset > n.field.Offset
}

func checked(a *analysis) bool { return a.live != nil }

func passes(a *analysis) bool { return checked(a) && a.live.DMARC.Result == policy.ResultPass }

func decisive(a *analysis) bool {
	return passes(a) || checked(a) && a.live.DMARC.Result == policy.ResultFail
}

// lately reports whether DMARC fails for a reason that lies in the time since delivery.
func lately(a *analysis) bool {
	return decisive(a) && !passes(a) && slices.Contains([]excuse{notedPass, longAgo}, a.excuse())
}

// current reports whether DMARC passes, or fails for no such reason.
func current(a *analysis) bool { return decisive(a) && !lately(a) }

func enforced(a *analysis) bool {
	return a.live.Could != nil && a.live.Could.Applied != policy.None && a.live.Could.Applied != ""
}
