package dnssec

import (
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// timeRules are about signatures that are valid today.
var timeRules = diag.Rules[*Result]{
	{
		Code: "dnssec.signature.urgent", Severity: diag.Error,
		Title:       "Signatures expire within a day or so",
		Requirement: "No signature expires within a day or so",
		Ref:         "RFC 4035 section 5.3.1",
		Advice: "Sign the zone again now, and find out why its signer stopped. When the signatures expire, " +
			"validating resolvers answer SERVFAIL.",
		When:  hasSignatures,
		Fails: expiring(Urgent),
	},
	{
		Code: "dnssec.signature.expires_soon", Severity: diag.Warning,
		Title:       "Signatures are overdue for renewal",
		Requirement: "Signatures are renewed well before they expire",
		Ref:         "RFC 6781 section 4.4.2",
		Advice:      "Check that the signer of the zone runs: it should have renewed the signatures by now.",
		When:        hasSignatures,
		Fails:       expiring(Overdue),
	},
	{
		Code: "dnssec.signature.long", Severity: diag.Info,
		Title:       "Signatures are valid for more than half a year",
		Requirement: "Signatures are valid for weeks rather than months",
		Ref:         "RFC 6781 section 4.4.2.2",
		Advice:      "Shorten the validity of the signatures: as long as it lasts, old records can be replayed.",
		When:        hasSignatures,
		Fails: zones(false, func(z Zone) string {
			for _, s := range z.Signatures {
				if s.Valid && s.TooLong() {
					return fmt.Sprintf("The signature over %s %s by key %d is valid for %d days.",
						s.TypeCovered, s.Owner, s.KeyTag, s.Validity()/(24*time.Hour))
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.signature.stray", Severity: diag.Error,
		Title:       "An invalid signature stands beside a valid one",
		Requirement: "Each of the signatures over a record set is valid",
		Ref:         "RFC 4035 section 2.2, RFC 6840 section 5.11",
		Advice:      "Sign the zone again and remove the invalid signatures: some resolvers accept no set that has one.",
		When:        func(r *Result) bool { return hasSignatures(r) && r.Status == diag.Secure },
		Fails: zones(false, func(z Zone) string {
			for _, s := range z.Signatures {
				if !s.Valid && s.Code != codeWork && s.Code != codeSigKey && s.Code != codeSigUnsupported {
					return s.Error + "; another signature over the same records is valid."
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.ttl.exceeded", Severity: diag.Warning,
		Title:       "The TTL of records is longer than the signed one",
		Requirement: "No TTL is longer than the one that was signed",
		Ref:         "RFC 4035 section 5.3.3",
		Advice:      "Sign the zone again after changing a TTL: validating resolvers use the shorter one, others do not.",
		When:        hasSignatures,
		Fails: zones(false, func(z Zone) string {
			for _, s := range z.Signatures {
				if s.Valid && s.ExceedsTTL() {
					return fmt.Sprintf("The TTL of %s %s is %d seconds, and its signature allows %d.",
						s.TypeCovered, s.Owner, s.TTL, s.OriginalTTL)
				}
			}
			return ""
		}),
	},
}

// expiring makes the test of a rule on signatures that are that near their end, one for each zone: the
// soonest of those that a resolver may pick.
func expiring(urgency Urgency) func(*Result) diag.Failures {
	return func(r *Result) diag.Failures {
		due := map[string]time.Time{}
		list := perZone(r, false, func(z Zone) string {
			var first *Signature
			for i := range z.Signatures {
				s := &z.Signatures[i]
				if s.Valid && s.Urgency() == urgency && (first == nil || s.Expiration.Before(first.Expiration)) {
					first = s
				}
			}
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

// hygieneRules are about records that are left over.
var hygieneRules = diag.Rules[*Result]{
	{
		Code: "dnssec.ds.orphan", Severity: diag.Info,
		Title:       "A DS record matches no key of the zone",
		Requirement: "Every DS record matches a key of the zone",
		Ref:         "RFC 6781 section 4.1.2",
		Advice:      "Remove the DS record unless it is for a key that will be introduced.",
		When:        hasDS,
		Fails: zones(false, func(z Zone) string {
			for _, ds := range z.DS {
				if z.Status == diag.Secure && !ds.MatchesDNSKEY {
					return fmt.Sprintf("The DS record for key %d (%s) matches no key of %s.", ds.KeyTag, ds.AlgorithmName, z.Zone)
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.key.revoked", Severity: diag.Info,
		Title:       "A key is revoked",
		Requirement: "No key is revoked",
		Ref:         "RFC 5011 section 2.1",
		Advice:      "Remove the revoked key after a month, when those who had it as a trust anchor have seen that.",
		When:        hasKeys,
		Fails: zones(false, func(z Zone) string {
			for _, k := range z.Keys {
				if k.Revoked {
					return fmt.Sprintf("Key %d of %s is revoked.", k.KeyTag, z.Zone)
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.key.collision", Severity: diag.Info,
		Title:       "Two keys share a key tag",
		Requirement: "Each key has a tag of its own",
		Ref:         "RFC 4034 section 5.3, CVE-2023-50387",
		Advice:      "Replace one of the keys: some resolvers try only one or two keys with the same tag.",
		When:        hasKeys,
		Fails:       zones(false, collision),
	},
}

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

// hasAnchors reports whether it is known in which state the trust anchors are.
func hasAnchors(r *Result) bool { return len(r.AnchorKeys) > 0 }

// anchorRules are about the trust anchors over time.
var anchorRules = diag.Rules[*Result]{
	{
		Code: "dnssec.anchor.missing", Severity: diag.Info,
		Title:       "A trust anchor is not among the keys of its zone",
		Requirement: "Each trust anchor is among the keys of its zone",
		Ref:         "RFC 5011 section 4",
		Advice:      "Update the list of trust anchors if the key is no longer used.",
		When:        hasAnchors,
		Fails:       inState(AnchorMissing, "The trust anchor %d is not among the keys of its zone."),
	},
	{
		Code: "dnssec.anchor.revoked", Severity: diag.Warning,
		Title:       "A trust anchor is revoked",
		Requirement: "No trust anchor is revoked",
		Ref:         "RFC 5011 section 2.1",
		Advice:      "Remove the key from the list of trust anchors, and add the one that replaces it.",
		When:        hasAnchors,
		Fails:       inState(AnchorRevoked, "The zone has revoked the trust anchor %d."),
	},
	{
		Code: "dnssec.anchor.pending", Severity: diag.Info,
		Title:       "The trust anchor's zone has a new key signing key",
		Requirement: "All key signing keys of the trust anchor's zone are trust anchors",
		Ref:         "RFC 5011 section 2.2",
		Advice:      "Look out for a new trust anchor: the zone has published a key that may become one.",
		When:        hasAnchors,
		Fails:       inState(AnchorPending, "Key %d is published, and is no trust anchor."),
	},
}

// inState makes the test of a rule on the keys of the trust anchor's zone.
func inState(state AnchorState, format string) func(*Result) diag.Failures {
	return func(r *Result) diag.Failures {
		var list diag.Failures
		for _, k := range r.AnchorKeys {
			if k.State == state {
				anchor, _ := parseName(r.Anchor)
				list = append(list, diag.Failure{Detail: fmt.Sprintf(format, k.KeyTag), Target: anchor.String()})
			}
		}
		return list
	}
}
