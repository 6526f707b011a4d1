package tlsrpt

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {Headline: "TLSRPT is set up correctly",
		Sub: "The published record was examined; the reception of reports was not. Check that they arrive and that " +
			"somebody reads them."},
	"valid": {Headline: "TLSRPT is set up",
		Sub: "The published record was examined; the reception of reports was not. Check that they arrive."},
	"tlsrpt.policy.missing": {Headline: "TLSRPT is set up, but there is no policy to report about",
		Sub: "The published record was examined; the reception of reports was not. Set up MTA-STS or DANE, so that " +
			"they tell more."},
}
