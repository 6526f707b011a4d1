package header

import "github.com/diagkit/diagkit/diag"

// auditTexts are what the verdict of an audit says in words.
var auditTexts = diag.Texts{
	"excellent": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage, and the domain in From did not fail authentication.",
	},
	"valid": {
		Headline: "The header is consistent and shows no anomalies",
		Sub:      "Nothing in it suggests deception or damage. The findings list possible improvements.",
	},
	"header.authres.missing": {
		Headline: "The header is consistent, but authentication was not recorded",
		Sub: "Whether the sender is authentic cannot be determined from this header. Use " +
			"mail/header-analyze to check it now.",
	},
}

// analyzeTexts are those of an analysis with live checks.
var analyzeTexts = diag.Texts{
	string(diag.Valid): {
		Headline: "The message is authentic: DMARC passes for its author",
		Sub: "SPF or DKIM confirms that it was sent for the domain in From. Whether that is the domain that you know, only " +
			"you can tell: compare it letter by letter.",
	},
	"header.live.undecided": {
		Headline: "Whether the message is authentic cannot be told from this alone",
		Sub: "No fault was found in what was submitted. Submit the whole message with all its fields to " +
			"evaluate DMARC.",
	},
	"header.live.forwarded": {
		Headline: "The message is authentic and was forwarded",
		Sub:      "DKIM still verifies, so DMARC passes. SPF concerns the forwarder.",
	},
}
