package propagation

import "github.com/diagkit/diagkit/diag"

// texts are the headlines of a check where the gravest finding does not say it. The progress in numbers is in the
// summary.
var texts = diag.Texts{
	"valid": {
		Headline: "All resolvers that answered agree",
		Sub:      "Each of them returns the expected records. Nothing needs to be done.",
	},
	"propagation.name.nxdomain": {
		Headline: "All resolvers that answered say that the name does not exist",
		Sub:      "If there should be records, check the spelling and add them to the zone.",
	},
	"propagation.records.nodata": {
		Headline: "All resolvers that answered say there is no such record",
		Sub:      "If there should be records of the type, add them to the zone.",
	},
}
