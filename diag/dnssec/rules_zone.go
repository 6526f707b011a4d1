package dnssec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// minModulus is the RSA modulus size required by RFC 6781 section 3.4.2 and today by certification authorities, in
// bits.
const minModulus = 2048

// codeIsland is the code for a signed zone without a chain of trust.
const codeIsland = "dnssec.ds.island"

// insecureRules are about what ends the chain without being a fault of DNSSEC.
var insecureRules = rule.Rules[*Result]{{
	Code: codeDSMissing, Severity: diag.Info, Ref: "RFC 4035 section 2.4",
	Title:       "Insecure: no DS record in the parent zone",
	Requirement: "The zone is signed, and the parent zone has its DS record",
	Advice:      "Sign the zone, then have the DS record of its key signing key published in the parent zone.",
	Fails: func(r *Result) rule.Failures {
		if r.island() {
			return nil
		}
		return failed(codeDSMissing)(r)
	},
}, {
	Code: codeIsland, Severity: diag.Warning, Ref: "RFC 4035 section 2.4",
	Title:       "The zone is signed, but the parent zone has no DS record",
	Requirement: "The parent zone has a DS record of a signed zone",
	Advice: "Publish the DS record at the registrar once the signatures of the zone are in order: without it, " +
		"resolvers do not validate them.",
	When: func(r *Result) bool { return r.Signed },
	Fails: func(r *Result) rule.Failures {
		list := perZone(r, false, func(z Zone) string {
			switch {
			case !z.island():
				return ""
			case z.publish == "":
				return fmt.Sprintf("The zone has DNSKEY records, no DS record in %s, and signatures that would not validate "+
					"with one.", z.Parent)
			}
			return fmt.Sprintf("The zone has DNSKEY records, and no DS record in %s.", z.Parent)
		})
		for i := range list {
			list[i].Suggested = r.publish(list[i].Target)
		}
		return list
	},
}, {
	Code: codeDSUnsupported, Severity: diag.Error, Ref: "RFC 4035 section 5.2, RFC 6840 section 5.2",
	Title:       "No DS record has a supported algorithm and digest",
	Requirement: "A DS record has a supported algorithm and digest",
	Advice: "Sign the zone with a recommended algorithm such as ECDSAP256SHA256, and publish its DS record " +
		"with SHA-256.",
}, {
	Code: codeDenialIterations, Severity: diag.Error, Ref: "RFC 9276 section 3.2",
	Title: "Too many NSEC3 iterations for validators", Requirement: "NSEC3 has few enough iterations for validators",
	Advice: "Set the additional iterations of NSEC3 to 0.",
}, {
	Code: codeOptOut, Severity: diag.Info, Ref: "RFC 5155 section 9.2",
	Title: "The name lies in an NSEC3 opt-out span", Requirement: "The name does not lie in an NSEC3 opt-out span",
	Advice: "Sign the zone without opt-out, unless most of its names are delegations to unsigned zones.",
}}

// island reports whether a zone has keys without a chain of trust to them.
func (z Zone) island() bool { return z.Status == diag.Insecure && len(z.DS) == 0 && len(z.Keys) > 0 }

// island reports whether the chain ends in an island.
func (r *Result) island() bool {
	return slices.ContainsFunc(r.Chain, func(z Zone) bool { return z.island() && z.Zone == r.Failure.Zone })
}

// unprovable says why the answer cannot be proven.
func (r *Result) unprovable() string {
	switch {
	case r.Failure.Code == codeOptOut:
		return "of opt-out (RFC 5155 section 6)"
	case r.Failure.Code == codeDenialIterations:
		return "its NSEC3 records have too many iterations"
	case r.Failure.Code == codeDSUnsupported:
		return "no DS record can be used"
	case r.island():
		return "no DS record vouches for the keys of the zone"
	}
	return "the zone is not signed"
}

// answered reports whether there is an answer that counts for something.
func answered(r *Result) bool {
	return (r.Status == diag.Secure || r.Status == diag.Insecure) &&
		(r.Rcode == dns.RcodeSuccess || r.Rcode == dns.RcodeNameError)
}

func (r *Result) exists() bool { return r.Rcode != dns.RcodeNameError }

func (r *Result) question() string {
	n, _ := parseName(r.Name)
	return setKey{n, r.Type}.String()
}

// perZone collects the failures of all zones of a chain, or of only the last ones, whose owners are the users.
func perZone(r *Result, all bool, say func(Zone) string) rule.Failures {
	var list rule.Failures
	for _, z := range r.Chain {
		below := slices.ContainsFunc(r.Chain, func(other Zone) bool { return other.Parent == z.Zone })
		if detail := ""; all || !below {
			if detail = say(z); detail != "" {
				list = append(list, rule.Failure{Detail: detail, Target: z.Zone})
			}
		}
	}
	return list
}

// zones makes the test of a rule on all zones of the chain, or on the last ones.
func zones(all bool, say func(Zone) string) func(*Result) rule.Failures {
	return func(r *Result) rule.Failures { return perZone(r, all, say) }
}

// firstIn is the first text that a function has for an item of a list.
func firstIn[T any](list []T, say func(T) string) string { return cmp.Or(kit.Map(list, say)...) }

// some is the condition that something holds for a zone of the chain.
func some(is func(Zone) bool) func(*Result) bool {
	return func(r *Result) bool { return slices.ContainsFunc(r.Chain, is) }
}

var (
	hasKeys       = some(func(z Zone) bool { return len(z.Keys) > 0 })
	hasSignatures = some(func(z Zone) bool { return len(z.Signatures) > 0 })
	hasDS         = some(func(z Zone) bool { return len(z.DS) > 0 })
	hasNSEC3      = some(func(z Zone) bool { return z.Denial.Type == NSEC3 })
)

var signingRules = rule.Rules[*Result]{{
	Code: "dnssec.algorithm.deprecated", Severity: diag.Warning, Ref: "RFC 9904 section 2, RFC 9905 section 2",
	Title: "Signed with an algorithm that must not be used", Requirement: "No algorithm is used that must not be",
	Advice: "Roll over to ECDSAP256SHA256 or ED25519: operators of resolvers are to treat zones signed " +
		"with SHA-1 as unsigned.",
	When: hasKeys, Fails: zones(true, func(z Zone) string { return signedWith(z, MustNot) }),
}, {
	Code: "dnssec.algorithm.discouraged", Severity: diag.Info, Ref: "RFC 9904 section 2",
	Title: "Signed with an algorithm that is not recommended", Requirement: "The algorithms are recommended ones",
	Advice: "Roll over to ECDSAP256SHA256 or ED25519 with the next key.", When: hasKeys,
	Fails: zones(false, func(z Zone) string { return signedWith(z, NotRecommended) }),
}, {
	Code: "dnssec.algorithm.incomplete", Severity: diag.Warning, Ref: "RFC 4035 section 2.2, RFC 6840 section 5.11",
	Title:       "The keys are not signed with each algorithm of the DS records",
	Requirement: "The keys are signed with each algorithm of the DS records",
	Advice: "Sign with the key of each algorithm that has a DS record, or remove the DS record: some " +
		"validators demand it.",
	When: hasDS, Fails: zones(false, unsignedAlgorithm),
}, {
	Code: "dnssec.digest.sha1", Severity: diag.Warning, Ref: "RFC 9904 section 2, RFC 4509 section 3",
	Title: "A DS record has a SHA-1 digest", Requirement: "No DS record has a SHA-1 digest",
	Advice: "Publish the DS record with digest type 2 (SHA-256) at the registrar, and remove the one of type 1.",
	When:   hasDS,
	Fails: zones(true, func(z Zone) string {
		return firstIn(z.DS, func(ds DS) string {
			return view.TextIf(ds.DigestType == dns.SHA1,
				fmt.Sprintf("The DS record of %s for key %d has digest type 1 (SHA-1).", z.Zone, ds.KeyTag))
		})
	}),
}, {
	Code: "dnssec.key.weak", Severity: diag.Warning, Ref: "RFC 6781 section 3.4.2",
	Title: "RSA key shorter than 2048 bits", Requirement: "RSA keys have 2048 bits or more",
	Advice: "Roll over to ECDSAP256SHA256, whose keys and signatures are shorter and safer, or to 2048 bits.",
	When:   hasKeys,
	Fails: zones(false, func(z Zone) string {
		return firstIn(z.Keys, func(k DNSKEY) string {
			return view.TextIf(isRSA(k.Algorithm) && k.KeySizeBits < minModulus && !k.Revoked,
				fmt.Sprintf("Key %d of %s has %d bits.", k.KeyTag, z.Zone, k.KeySizeBits))
		})
	}),
}, {
	Code: "dnssec.nsec3.iterations", Severity: diag.Warning, DependsOn: []diag.Code{codeDenialIterations},
	Ref:   "RFC 9276 section 3.1",
	Title: "NSEC3 with additional iterations", Requirement: "NSEC3 has no additional iterations",
	Advice: "Set the additional iterations of NSEC3 to 0: they protect nothing, and resolvers are ceasing to accept them.",
	When:   hasNSEC3,
	Fails: zones(true, func(z Zone) string {
		return view.TextIf(z.Denial.Iterations > 0,
			fmt.Sprintf("The NSEC3 records of %s have %d additional iterations.", z.Zone, z.Denial.Iterations))
	}),
}}

func isRSA(algorithm uint8) bool {
	switch algorithm {
	case dns.RSAMD5, dns.RSASHA1, dns.RSASHA1NSEC3SHA1, dns.RSASHA256, dns.RSASHA512:
		return true
	}
	return false
}

// signedWith names the algorithms of the keys and DS records of a zone that have a standing.
func signedWith(z Zone, standing Recommendation) string {
	names := view.Each(algorithmsOf([]Zone{{Keys: z.Keys, DS: z.DS}}), func(a Algorithm) string {
		return view.TextIf(a.Recommendation == standing, fmt.Sprintf("%s (algorithm %d)", a.Name, a.Number))
	})
	return view.TextIf(len(names) > 0, fmt.Sprintf("The zone %s is signed with %s.", z.Zone, strings.Join(names, ", ")))
}

// unsignedAlgorithm says which algorithm of the DS records did not sign the keys.
func unsignedAlgorithm(z Zone) string {
	if z.Status != diag.Secure {
		return ""
	}
	return firstIn(z.DS, func(ds DS) string {
		signed := slices.ContainsFunc(z.Signatures, func(s Signature) bool {
			return s.TypeCovered == "DNSKEY" && s.Algorithm == ds.Algorithm
		})
		return view.TextIf(!signed, fmt.Sprintf("There is a DS record for %s, but the keys of %s are not signed with it.",
			ds.AlgorithmName, z.Zone))
	})
}
