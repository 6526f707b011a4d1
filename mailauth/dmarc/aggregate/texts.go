package aggregate

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where that is not the title of the gravest finding.
var texts = diag.Texts{
	"excellent": {Headline: "Mail of the domain passes DMARC, and the policy is enforced",
		Sub: "Nothing of the domain's own mail is lost by it. Check the reports of other receivers, and again when a " +
			"new service sends for you."},
	"valid": {Headline: "Mail of the domain passes DMARC",
		Sub: "The findings say what can be improved. Check the reports of other receivers too."},
	"dmarc.report.policy.none": {Headline: "The policy is p=none: failing mail is only reported",
		Sub: "Mail of the domain passes DMARC, but spoofed mail would be delivered. See whether it is ready to enforce."},
}
