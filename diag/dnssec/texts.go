package dnssec

import (
	"cmp"

	"github.com/diagkit/diagkit/diag"
)

// headline returns what a result says in words: where the chain does not hold or ends, the reason for
// that, unless something graver was found.
func headline(r *Result, v diag.Verdict) diag.Text {
	for _, f := range v.Findings {
		if r.Failure == nil || f.Code != r.Failure.Code || f.Severity < v.Findings[0].Severity {
			continue
		}
		if text, ok := texts[string(f.Code)]; ok {
			return text
		}
		return diag.Text{Headline: f.Title, Sub: cmp.Or(f.Advice, f.Detail)}
	}
	return diag.Text{Headline: v.Headline, Sub: v.Sub}
}

// texts are what results say in words where the gravest finding does not.
var texts = diag.Texts{
	"valid": {
		Headline: "Secure: the answer validates up to the trust anchor",
		Sub:      "Every signature in the chain is valid. Nothing needs to be done.",
	},
	"dnssec.answer.nxdomain": {
		Headline: "Secure: the name is proven not to exist",
		Sub:      "The zone denies it with signed records. Check the spelling, or add the name to the zone.",
	},
	string(codeDSUnsupported): {
		Headline: "Insecure: the DS records cannot be used by validators",
		Sub:      "The zone counts as unsigned. Sign it with a supported algorithm and publish its DS record.",
	},
}
