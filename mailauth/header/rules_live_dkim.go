package header

import (
	"cmp"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dkim"
)

var liveDKIMRules = diag.Rules[*analysis]{{
	Code: "header.live.dkim.body", Severity: diag.Warning, Weight: 15, Ref: "RFC 6376 section 6.1.3",
	Title:       "Body was changed after signing: DKIM body hash does not match",
	Requirement: "The body has not been changed since it was signed with DKIM",
	Advice: "Do not rely on the body, such as account numbers in it, before the sender confirms it. Look for what " +
		"changes messages on the way: a mailing list, a disclaimer or a virus filter.",
	When: anySignature(func(s *dkim.Result) bool { return s.BodyHashOK != nil }),
	Fails: eachLive(func(s *dkim.Result) bool { return s.BodyHashOK != nil && !*s.BodyHashOK },
		"The body hash of the DKIM signature of %s does not match: the body was altered. %s"),
}, {
	Code: "header.live.dkim.signature", Severity: diag.Warning, Weight: 15, Ref: "RFC 6376 section 6.1.3",
	Title: "DKIM signature does not match the header", Requirement: "The signed header fields match the DKIM signature",
	Advice: "Compare the signed fields with those of the original. If the key was replaced since, the result at the " +
		"time of delivery counts.",
	When: anySignature(usableKey),
	Fails: eachLive(func(s *dkim.Result) bool { return usableKey(s) && !*s.SignatureOK },
		"The DKIM signature of %s does not verify. %s"),
}, {
	Code: "header.live.dkim.key", Severity: diag.Warning, Weight: 10, Ref: "RFC 6376 section 6.1",
	Title: "DKIM signature cannot be verified", Requirement: "All DKIM signatures can be verified",
	Advice: "Have the signer publish a valid key under the selector that it uses, and keep old keys published for at " +
		"least a week after the last signature. Use dkim/lookup to see what is wrong with the key.",
	When: anySignature(func(s *dkim.Result) bool { return s.Result != dkim.TempError }),
	Fails: eachLive(func(s *dkim.Result) bool { return s.Result == dkim.PermError || s.Result == dkim.Neutral },
		"The DKIM signature of %s cannot be verified. %s"),
}, {
	Code: "header.live.dkim.policy", Severity: diag.Warning, Weight: 10, Ref: "RFC 8301 section 3",
	Title:       "DKIM signature must not be accepted, though it matches",
	Requirement: "DKIM signatures that match may be accepted",
	Advice: "Have the signer use rsa-sha256 with a 2048-bit key, or Ed25519 in addition, and correct what the detail " +
		"names.",
	When: anySignature(func(s *dkim.Result) bool { return s.Result == dkim.Pass || s.Result == dkim.Policy }),
	Fails: eachLive(func(s *dkim.Result) bool { return s.Result == dkim.Policy },
		"The DKIM signature of %s must not be accepted. %s"),
}, {
	Code: "header.live.dkim.appended", Severity: diag.Warning, Weight: 10, Ref: "RFC 6376 section 8.2",
	Title: "DKIM signature covers only the beginning of the body", Requirement: "DKIM signatures cover the whole body",
	Advice: "Do not rely on the end of the body. Have the signer remove the l= tag.",
	When:   anySignature(func(s *dkim.Result) bool { return s.BodyHashOK != nil }),
	Fails: func(a *analysis) diag.Failures {
		return diag.FailEach(a.live.Signatures(func(s *dkim.Result) bool { return s.UnsignedBytes > 0 }),
			func(s *dkim.Result) diag.Failures {
				return diag.Fail("The DKIM signature of %s covers only the beginning of the body (l=%d); the following %s may come from anyone.",
					s.Domain, *s.BodyLength, diag.Count(s.UnsignedBytes, "byte")).About(s.Domain)
			})
	},
}, {
	Code: "header.live.dkim.caution", Severity: diag.Warning, Weight: 5, Ref: "RFC 6376 section 8.15",
	Title: "DKIM signature is misleading", Requirement: "No DKIM signature is misleading",
	Advice: "Do not rely on the signature for what the detail names. The signer has to correct how it signs.",
	When:   anySignature(func(s *dkim.Result) bool { return s.SignatureOK != nil }),
	Fails: func(a *analysis) diag.Failures {
		return diag.FailEach(a.live.DKIM.Signatures, func(s dkim.Result) diag.Failures {
			return diag.FailEach(s.Issues, func(i dkim.Issue) diag.Failures {
				misleading := i.Code == dkim.IssueFromAdded || i.Code == dkim.IssuePublicSuffix
				return diag.FailIf(misleading && !i.Refused, "The DKIM signature of %s: %s", s.Domain, i.Text).About(s.Domain)
			})
		})
	},
}}

func anySignature(is func(*dkim.Result) bool) func(*analysis) bool {
	return func(a *analysis) bool { return checked(a) && len(a.live.Signatures(is)) > 0 }
}

// usableKey reports whether the header was compared with a key that may be used for the signature.
func usableKey(s *dkim.Result) bool {
	return s.SignatureOK != nil && s.Result != dkim.PermError && s.Result != dkim.Neutral
}

// eachLive makes a rule about such signatures; the text has the domain and why.
func eachLive(holds func(*dkim.Result) bool, format string) func(*analysis) diag.Failures {
	return func(a *analysis) diag.Failures {
		return diag.FailEach(a.live.Signatures(holds), func(s *dkim.Result) diag.Failures {
			return diag.Fail(format, cmp.Or(s.Domain, "an unknown domain"), s.Reason).About(s.Domain)
		})
	}
}
