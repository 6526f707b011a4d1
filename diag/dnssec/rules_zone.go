package dnssec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

const (
	// minModulus is what RFC 6781 section 3.4.2 and today's requirements of certification authorities
	// ask of RSA.
	minModulus = 2048
)

// insecureRules are about what ends the chain without being a fault of DNSSEC.
var insecureRules = diag.Rules[*Result]{
	{
		Code: codeDSMissing, Severity: diag.Warning,
		Requirement: "The zone is signed, and the zone above has its DS record",
		Ref:         "RFC 4035 section 2.4",
		Advice:      "Sign the zone, then have the DS record of its key signing key published in the zone above.",
		Fails:       failed(codeDSMissing),
	},
	{
		Code: "dnssec.ds.island", Severity: diag.Warning,
		Requirement: "The zone above has the DS record of a zone that is signed",
		Ref:         "RFC 4035 section 2.4",
		Advice: "Have the DS record of the key signing key published in the zone above: without it nobody " +
			"validates the signatures.",
		When: func(r *Result) bool { return r.Signed },
		Fails: func(r *Result) diag.Failures {
			return perZone(r, false, func(z Zone) string {
				if z.Status != diag.Insecure || len(z.DS) > 0 || len(z.Keys) == 0 {
					return ""
				}
				return fmt.Sprintf("The zone has %d keys, and no DS record in %s.", len(z.Keys), z.Parent)
			})
		},
	},
	{
		Code: codeDSUnsupported, Severity: diag.Error,
		Requirement: "The DS records are of a kind that validators support",
		Ref:         "RFC 4035 section 5.2, RFC 6840 section 5.2",
		Advice: "Sign the zone with an algorithm that is recommended, such as ECDSAP256SHA256, and publish " +
			"its DS record with SHA-256.",
		Fails: failed(codeDSUnsupported),
	},
	{
		Code: codeDenialIterations, Severity: diag.Error,
		Requirement: "The NSEC3 records have few enough iterations to count",
		Ref:         "RFC 9276 section 3.2",
		Advice:      "Set the additional iterations of NSEC3 to 0.",
		Fails:       failed(codeDenialIterations),
	},
	{
		Code: codeOptOut, Severity: diag.Info,
		Requirement: "The proof leaves nothing out",
		Ref:         "RFC 5155 section 9.2",
		Advice:      "Sign the zone without opt-out, unless most of its names are delegations to unsigned zones.",
		Fails:       failed(codeOptOut),
	},
	{
		Code: codeExempted, Severity: diag.Info,
		Requirement: "Validation is not switched off for the zone",
		Ref:         "RFC 7646 section 2",
		Advice:      "Remove the zone from the list of negative trust anchors once its owner has mended it.",
		Fails:       failed(codeExempted),
	},
}

// perZone collects what there is to say about the zones of a chain, or those of them only that have
// none below in it: their owners are the ones who ask.
func perZone(r *Result, all bool, say func(Zone) string) diag.Failures {
	var list diag.Failures
	for _, z := range r.Chain {
		below := slices.ContainsFunc(r.Chain, func(other Zone) bool { return other.Parent == z.Zone })
		if detail := ""; all || !below {
			if detail = say(z); detail != "" {
				list = append(list, diag.Failure{Detail: detail, Target: z.Zone})
			}
		}
	}
	return list
}

// zones makes the test of a rule on all zones of the chain, or on the last ones.
func zones(all bool, say func(Zone) string) func(*Result) diag.Failures {
	return func(r *Result) diag.Failures { return perZone(r, all, say) }
}

func hasKeys(r *Result) bool {
	return slices.ContainsFunc(r.Chain, func(z Zone) bool { return len(z.Keys) > 0 })
}

func hasSignatures(r *Result) bool {
	return slices.ContainsFunc(r.Chain, func(z Zone) bool { return len(z.Signatures) > 0 })
}

func hasDS(r *Result) bool {
	return slices.ContainsFunc(r.Chain, func(z Zone) bool { return len(z.DS) > 0 })
}

func hasNSEC3(r *Result) bool {
	return slices.ContainsFunc(r.Chain, func(z Zone) bool { return z.Denial != nil && z.Denial.Type == NSEC3 })
}

// signingRules are about how the zones are signed.
var signingRules = diag.Rules[*Result]{
	{
		Code: "dnssec.algorithm.deprecated", Severity: diag.Warning,
		Requirement: "No algorithm is used that must not be",
		Ref:         "RFC 9904 section 2, RFC 9905 section 2",
		Advice: "Roll over to ECDSAP256SHA256 or ED25519: operators of resolvers are to treat zones signed " +
			"with SHA-1 as unsigned.",
		When: hasKeys,
		Fails: zones(true, func(z Zone) string {
			if names := algorithmsWith(z, MustNot); names != "" {
				return "The zone is signed with " + names + "."
			}
			return ""
		}),
	},
	{
		Code: "dnssec.algorithm.discouraged", Severity: diag.Info,
		Requirement: "The algorithms are those that are recommended",
		Ref:         "RFC 9904 section 2",
		Advice:      "Roll over to ECDSAP256SHA256 or ED25519 with the next key.",
		When:        hasKeys,
		Fails: zones(false, func(z Zone) string {
			if names := algorithmsWith(z, NotRecommended); names != "" {
				return "The zone is signed with " + names + "."
			}
			return ""
		}),
	},
	{
		Code: "dnssec.algorithm.incomplete", Severity: diag.Warning,
		Requirement: "The keys are signed with every algorithm of the DS records",
		Ref:         "RFC 4035 section 2.2, RFC 6840 section 5.11",
		Advice: "Sign with the key of each algorithm that has a DS record, or remove the DS record: some " +
			"validators demand it.",
		When:  hasDS,
		Fails: zones(false, unsignedAlgorithm),
	},
	{
		Code: "dnssec.digest.sha1", Severity: diag.Warning,
		Requirement: "The DS records do not rely on SHA-1",
		Ref:         "RFC 9904 section 2, RFC 4509 section 3",
		Advice:      "Have the DS record published with a digest of type 2 (SHA-256), and remove the one of type 1.",
		When:        hasDS,
		Fails: zones(true, func(z Zone) string {
			if !slices.ContainsFunc(z.DS, func(ds DS) bool { return ds.DigestType == dns.SHA1 }) {
				return ""
			}
			return "There is a DS record with a digest of type 1 (SHA-1)."
		}),
	},
	{
		Code: "dnssec.key.weak", Severity: diag.Warning,
		Requirement: "RSA keys have 2048 bits or more",
		Ref:         "RFC 6781 section 3.4.2",
		Advice:      "Roll over to ECDSAP256SHA256, whose keys and signatures are shorter and safer, or to longer keys.",
		When:        hasKeys,
		Fails: zones(false, func(z Zone) string {
			for _, k := range z.Keys {
				if isRSA(k.Algorithm) && k.KeySizeBits < minModulus && !k.Revoked {
					return fmt.Sprintf("The key %d has %d bits.", k.KeyTag, k.KeySizeBits)
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.nsec3.iterations", Severity: diag.Warning,
		Requirement: "NSEC3 has no additional iterations",
		Ref:         "RFC 9276 section 3.1",
		Advice: "Set the additional iterations of NSEC3 to 0: they protect nothing, and resolvers stop to " +
			"accept them.",
		When: hasNSEC3,
		Fails: zones(true, func(z Zone) string {
			if z.Denial == nil || z.Denial.Iterations == 0 {
				return ""
			}
			return fmt.Sprintf("The NSEC3 records have %d additional iterations.", z.Denial.Iterations)
		}),
	},
	{
		Code: "dnssec.nsec3.salt", Severity: diag.Info,
		Requirement: "NSEC3 has no salt",
		Ref:         "RFC 9276 section 3.1",
		Advice:      "Leave the salt out: it has no effect, since names of other zones hash to something else anyway.",
		When:        hasNSEC3,
		Fails: zones(true, func(z Zone) string {
			if z.Denial == nil || z.Denial.SaltLength == 0 {
				return ""
			}
			return fmt.Sprintf("The NSEC3 records have %d octets of salt.", z.Denial.SaltLength)
		}),
	},
}

func isRSA(algorithm uint8) bool {
	switch algorithm {
	case dns.RSAMD5, dns.RSASHA1, dns.RSASHA1NSEC3SHA1, dns.RSASHA256, dns.RSASHA512:
		return true
	}
	return false
}

// algorithmsWith names the algorithms of the keys and DS records of a zone that have a standing.
func algorithmsWith(z Zone, standing Recommendation) string {
	var names []string
	for _, a := range algorithmsOf([]Zone{{Keys: z.Keys, DS: z.DS}}) {
		if a.Recommendation == standing {
			names = append(names, fmt.Sprintf("%s (algorithm %d)", a.Name, a.Number))
		}
	}
	return strings.Join(names, ", ")
}

// unsignedAlgorithm says which algorithm of the DS records did not sign the keys.
func unsignedAlgorithm(z Zone) string {
	if z.Status != diag.Secure {
		return ""
	}
	for _, ds := range z.DS {
		signed := slices.ContainsFunc(z.Signatures, func(s Signature) bool {
			return s.TypeCovered == "DNSKEY" && s.Algorithm == ds.Algorithm
		})
		if !signed {
			return fmt.Sprintf("There is a DS record for %s, with which the keys are not signed.", ds.AlgorithmName)
		}
	}
	return ""
}

// hygieneRules are about times, and about records that are left over.
var hygieneRules = diag.Rules[*Result]{
	{
		Code: "dnssec.signature.urgent", Severity: diag.Error,
		Title:       "Signatures expire within a day or so",
		Requirement: "No signature expires within a day or so",
		Ref:         "RFC 4035 section 5.3.1",
		Advice: "Sign the zone again now, and find out why its signer stopped: when the signatures expire, " +
			"validating resolvers refuse the zone.",
		When:  hasSignatures,
		Fails: expiring(Urgent),
	},
	{
		Code: "dnssec.signature.expires_soon", Severity: diag.Warning,
		Title:       "Signatures are overdue for renewal",
		Requirement: "Signatures are renewed well before they expire",
		Ref:         "RFC 6781 section 4.4.2",
		Advice: "Check that the software that signs the zone is running: it should have renewed the " +
			"signatures by now.",
		When:  hasSignatures,
		Fails: expiring(Overdue),
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
		Code: "dnssec.signature.stray", Severity: diag.Warning,
		Requirement: "All signatures are right, not only enough of them",
		Ref:         "RFC 4035 section 2.2",
		Advice:      "Remove signatures that are out of date: validators waste time on them, and depend on the others.",
		When:        func(r *Result) bool { return hasSignatures(r) && r.Status == diag.Secure },
		Fails: zones(false, func(z Zone) string {
			for _, s := range z.Signatures {
				if !s.Valid && s.Code != codeWork && s.Code != codeSigKey && s.Code != codeSigUnsupported {
					return s.Error + "; another one is right."
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.ds.orphan", Severity: diag.Info,
		Requirement: "Every DS record is that of a key of the zone",
		Ref:         "RFC 6781 section 4.1.2",
		Advice:      "Remove the DS record, unless it is for a key that will come.",
		When:        hasDS,
		Fails: zones(false, func(z Zone) string {
			for _, ds := range z.DS {
				if z.Status == diag.Secure && !ds.MatchesDNSKEY {
					return fmt.Sprintf("The DS record for the key %d (%s) is not that of a key of the zone.",
						ds.KeyTag, ds.AlgorithmName)
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.key.revoked", Severity: diag.Info,
		Requirement: "No key is revoked",
		Ref:         "RFC 5011 section 2.1",
		Advice:      "Remove the revoked key once those who had it as a trust anchor have seen that, after a month or so.",
		When:        hasKeys,
		Fails: zones(false, func(z Zone) string {
			for _, k := range z.Keys {
				if k.Revoked {
					return fmt.Sprintf("The key %d is revoked.", k.KeyTag)
				}
			}
			return ""
		}),
	},
	{
		Code: "dnssec.key.collision", Severity: diag.Info,
		Requirement: "The keys have tags of their own",
		Ref:         "RFC 4034 section 5.3, CVE-2023-50387",
		Advice:      "Replace one of the keys: some resolvers try only one or two keys with the same tag.",
		When:        hasKeys,
		Fails:       zones(false, collision),
	},
	{
		Code: "dnssec.anchor.missing", Severity: diag.Info,
		Requirement: "All trust anchors are keys of their zone",
		Ref:         "RFC 5011 section 4",
		Advice:      "Bring the list of trust anchors up to date if the key is no longer used.",
		When:        func(r *Result) bool { return len(r.AnchorKeys) > 0 },
		Fails:       inState(AnchorMissing, "The trust anchor %d is not among the keys of its zone."),
	},
	{
		Code: "dnssec.anchor.revoked", Severity: diag.Warning,
		Requirement: "No trust anchor is revoked",
		Ref:         "RFC 5011 section 2.1",
		Advice:      "Remove the key from the list of trust anchors, and take the one that replaces it.",
		When:        func(r *Result) bool { return len(r.AnchorKeys) > 0 },
		Fails:       inState(AnchorRevoked, "The trust anchor %d says of itself that it must not be used any more."),
	},
	{
		Code: "dnssec.anchor.pending", Severity: diag.Info,
		Requirement: "All keys that sign the keys of the trust anchor's zone are trust anchors",
		Ref:         "RFC 5011 section 2.2",
		Advice:      "Look out for a new trust anchor: the zone has published a key to come.",
		When:        func(r *Result) bool { return len(r.AnchorKeys) > 0 },
		Fails:       inState(AnchorPending, "The key %d is published, and not a trust anchor."),
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

// collision says which keys of a zone share a tag and an algorithm.
func collision(z Zone) string {
	seen := map[[2]uint16]bool{}
	for _, k := range z.Keys {
		tag := [2]uint16{k.KeyTag, uint16(k.Algorithm)}
		if seen[tag] {
			return fmt.Sprintf("More than one key has the tag %d and the algorithm %s.", k.KeyTag, k.AlgorithmName)
		}
		seen[tag] = true
	}
	return ""
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
