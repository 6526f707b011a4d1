package dnssec

import (
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
)

var timeRules = rule.Rules[*Result]{{
	Code: "dnssec.signature.urgent", Severity: diag.Error, Ref: "RFC 4035 section 5.3.1",
	Title: "Signature expires within a day", Requirement: "No signature expires within a day",
	Advice: "Sign the zone again now, and find out why its signer stopped. When the signatures expire, " +
		"validating resolvers answer SERVFAIL.",
	When: hasSignatures, Fails: expiring(Urgent),
}, {
	Code: "dnssec.signature.expiring", Severity: diag.Warning, Fact: reach.SignatureEnds,
	Ref:   "RFC 6781 section 4.4.2",
	Title: "Signature not renewed in time", Requirement: "Signatures are renewed well before they expire",
	Advice: "Check that the signer of the zone runs: it should have renewed the signatures by now.",
	When:   hasSignatures, Fails: expiring(Overdue),
}, {
	Code: "dnssec.signature.stray", Severity: diag.Error, Ref: "RFC 4035 section 2.2, RFC 6840 section 5.11",
	Title: "Invalid signature beside a valid one", Requirement: "No signature beside a valid one is invalid",
	Advice: "Sign the zone again and remove the invalid signatures: some resolvers accept no set that has one.",
	When:   func(r *Result) bool { return hasSignatures(r) && r.Status == diag.Secure },
	Fails: zones(false, func(z Zone) string {
		return firstIn(z.Signatures, func(s Signature) string {
			return view.TextIf(!s.Valid && s.Code != codeWork && s.Code != codeSigKey && s.Code != codeSigUnsupported,
				s.Error+"; another signature over the same records is valid.")
		})
	}),
}, {
	Code: "dnssec.ttl.exceeded", Severity: diag.Warning, Ref: "RFC 4035 section 5.3.3",
	Title: "TTL longer than the signed TTL", Requirement: "No TTL is longer than the one that was signed",
	Advice: "Sign the zone again after changing a TTL: validating resolvers use the shorter one, others do not.",
	When:   hasSignatures,
	Fails: zones(false, func(z Zone) string {
		return firstIn(z.Signatures, func(s Signature) string {
			return view.TextIf(s.Valid && s.ExceedsTTL(), fmt.Sprintf(
				"The TTL of %s %s is %d seconds, and its signature allows %d.", s.TypeCovered, s.Owner, s.TTL, s.OriginalTTL))
		})
	}),
}}

// expiring makes the test of a rule on signatures that are that near their end, one for each zone: the
// soonest of those that a resolver may pick.
func expiring(urgency Urgency) func(*Result) rule.Failures {
	return func(r *Result) rule.Failures {
		due := map[string]time.Time{}
		list := perZone(r, false, func(z Zone) string {
			first := soonest(z.Signatures, func(s Signature) bool { return s.Valid && s.Urgency() == urgency })
			if first == nil {
				return ""
			}
			due[z.Zone] = first.Expiration
			return fmt.Sprintf("The signature over %s %s by key %d expires at %s.",
				first.TypeCovered, first.Owner, first.KeyTag, instant(first.Expiration))
		})
		for i := range list {
			list[i].Due = due[list[i].Target]
		}
		return list
	}
}

// soonest is the first to expire of the signatures that are so, or nil.
func soonest(list []Signature, is func(Signature) bool) (first *Signature) {
	for i := range list {
		if s := &list[i]; is(*s) && (first == nil || s.Expiration.Before(first.Expiration)) {
			first = s
		}
	}
	return first
}

var hygieneRules = rule.Rules[*Result]{{
	Code: "dnssec.key.collision", Severity: diag.Info, Ref: "RFC 4034 section 5.3, CVE-2023-50387",
	Title: "Two keys share a key tag", Requirement: "Each key has a tag of its own",
	Advice: "Replace one of the keys: some resolvers try only one or two keys with the same tag.", When: hasKeys,
	Fails: zones(false, collision),
}}

// collision says which keys of a zone share a tag and an algorithm.
func collision(z Zone) string {
	seen := map[[2]uint16]bool{}
	for _, k := range z.Keys {
		tag := [2]uint16{k.KeyTag, uint16(k.Algorithm)}
		if seen[tag] {
			return fmt.Sprintf("More than one key of %s has tag %d and algorithm %s.", z.Zone, k.KeyTag, k.AlgorithmName)
		}
		seen[tag] = true
	}
	return ""
}

var anchorRules = rule.Rules[*Result]{{
	Code: "dnssec.anchor.revoked", Severity: diag.Warning, Ref: "RFC 5011 section 2.1",
	Title: "A trust anchor is revoked", Requirement: "No trust anchor is revoked",
	Advice: "Remove the key from the list of trust anchors, and add the one that replaces it.",
	When:   func(r *Result) bool { return len(r.AnchorKeys) > 0 },
	Fails: func(r *Result) rule.Failures {
		anchor, _ := parseName(r.Anchor)
		return rule.FailEach(r.AnchorKeys, func(k AnchorKey) rule.Failures {
			return rule.FailIf(k.Revoked, "The zone has revoked the trust anchor %d.", k.KeyTag).About(anchor.String())
		})
	},
}}

const (
	// renewalShare is when the renewal of a signature is overdue: less than an eighth of its life is left. Signers renew
	// long before, also those that sign with every answer and give a life of few days (CONTRACT 1.7).
	renewalShare = 8
	// urgentAtMost is the remaining validity below which an overdue signature is about to expire.
	urgentAtMost = 24 * time.Hour
	// longValidity is when a stolen key or an old record can be replayed for too long (RFC 6781 section
	// 4.4.2.2 weighs weeks against months; Zonemaster DNSSEC04).
	longValidity = 180 * 24 * time.Hour
)

// An Urgency says how urgently a signature must be renewed.
type Urgency int

// The urgencies.
const (
	InTime  Urgency = 0 // renewal is not due
	Overdue Urgency = 1 // it should have been renewed already
	Urgent  Urgency = 2 // the same, and it expires within a day
)

// Urgency rates the time left until a valid signature expires.
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

// Validity returns the time from the inception of a signature to its expiration.
func (s Signature) Validity() time.Duration { return s.Expiration.Sub(s.Inception) }

// TooLong reports whether a signature is valid for so long that its records can be replayed for months.
func (s Signature) TooLong() bool { return s.Validity() > longValidity }

// ExceedsTTL reports whether the time to live of the records is longer than the signed one, to which
// validators reduce it (RFC 4035 section 5.3.3).
func (s Signature) ExceedsTTL() bool { return s.TTL > s.OriginalTTL }
