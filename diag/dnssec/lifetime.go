package dnssec

import "time"

const (
	// renewalShare is when the renewal of a signature is overdue: less than an eighth of its life is left. Signers renew
	// long before, also those that sign with every answer and give a life of few days (CONTRACT 1.7).
	renewalShare = 8
	// urgentAtMost is what is left of one that is overdue when it is about to expire.
	urgentAtMost = 24 * time.Hour
	// longValidity is when a stolen key or an old record can be replayed for too long (RFC 6781 section
	// 4.4.2.2 weighs weeks against months; Zonemaster DNSSEC04).
	longValidity = 180 * 24 * time.Hour
)

// An Urgency says how near its end a signature is.
type Urgency int

// The urgencies.
const (
	InTime  Urgency = 0 // it need not have been renewed yet
	Overdue Urgency = 1 // it should have been renewed by now
	Urgent  Urgency = 2 // the same, and it expires within a day
)

// Urgency rates the time that is left to a signature that is valid.
func (s Signature) Urgency() Urgency {
	left := time.Duration(s.ExpiresInSeconds) * time.Second
	switch {
	case left >= s.Validity()/renewalShare:
		return InTime
	case left > urgentAtMost:
		return Overdue
	default:
		return Urgent
	}
}

// Validity is the time from the inception of a signature to its expiration.
func (s Signature) Validity() time.Duration { return s.Expiration.Sub(s.Inception) }

// TooLong reports whether a signature is valid for so long that what it signs can be replayed for months.
func (s Signature) TooLong() bool { return s.Validity() > longValidity }

// ExceedsTTL reports whether the records live longer in caches than their signer meant them to: a
// validator cuts that down to what was signed (RFC 4035 section 5.3.3).
func (s Signature) ExceedsTTL() bool { return s.TTL > s.OriginalTTL }
