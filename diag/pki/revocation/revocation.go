package revocation

import (
	"time"

	"github.com/diagkit/diagkit/diag/kit"
)

// A Status is the revocation status of a certificate: good, revoked, unknown, unusable, unanswered, left_out or
// not_offered.
type Status string

// The statuses. [CRL] and [OCSP] return the first four; the others are set by callers that fetch.
const (
	Good       Status = "good"
	Revoked    Status = "revoked"
	Unknown    Status = "unknown"     // the authority does not know the certificate (RFC 6960 section 2.2)
	Unusable   Status = "unusable"    // the answer cannot be relied on
	Unanswered Status = "unanswered"  // the service did not answer
	LeftOut    Status = "left_out"    // the service was not asked, or its answer exceeds a limit
	NotOffered Status = "not_offered" // the certificate names no service
)

// Values lists the statuses.
func (Status) Values() []string {
	return kit.Values(Good, Revoked, Unknown, Unusable, Unanswered, LeftOut, NotOffered)
}

// A Reason is the reason for a revocation, by its name in RFC 5280 section 5.3.1; empty if the authority
// gives none.
type Reason string

// Hold is the reason of a revocation that may be lifted. All others are final.
const Hold Reason = "certificateHold"

// reasons are the names by their numbers; 7 is not used, and 0 says nothing.
var reasons = map[int]Reason{
	1: "keyCompromise", 2: "cACompromise", 3: "affiliationChanged", 4: "superseded", 5: "cessationOfOperation",
	6: Hold, 8: "removeFromCRL", 9: "privilegeWithdrawn", 10: "aACompromise",
}

// removed is the number of the reason that takes a certificate from a list again.
const removed = 8

// An Answer is the status of one certificate according to a list or a response.
type Answer struct {
	Status     Status
	ThisUpdate time.Time // when the answer was made; zero if it cannot be read
	NextUpdate time.Time // when the next one is due; zero if not given
	RevokedAt  time.Time // zero unless revoked
	Reason     Reason
	Err        error // why the answer is unusable, as a clause; otherwise nil
}

// clockSkew is by how much an answer may be ahead of the time here; OpenSSL allows as much.
const clockSkew = 5 * time.Minute

func unusable(err error) Answer { return Answer{Status: Unusable, Err: err} }

// current checks the times of an answer: one that is not current is unusable, except that a permanent revocation
// stays.
func (a Answer) current(now time.Time) Answer {
	final := a.Status == Revoked && a.Reason != Hold
	switch {
	case now.Before(a.ThisUpdate.Add(-clockSkew)):
		a.Status, a.Err = Unusable, errorf("it is valid only from %s", stamp(a.ThisUpdate))
	case !a.NextUpdate.IsZero() && now.After(a.NextUpdate) && !final:
		a.Status, a.Err = Unusable, errorf("it was valid until %s", stamp(a.NextUpdate))
	}
	if a.Status == Unusable {
		a.RevokedAt, a.Reason = time.Time{}, ""
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
