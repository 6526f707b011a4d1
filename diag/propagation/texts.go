package propagation

import "github.com/diagkit/diagkit/diag"

// texts are the headlines of a check where the gravest finding does not say it. The progress in numbers is in the
// summary.
var texts = diag.Texts{
	"valid": {
		Headline: "All resolvers that answered agree",
		Sub:      "Each of them has the records that it should have.",
	},
	"propagation.name.nxdomain": {
		Headline: "The name does not exist, as all resolvers that answered say",
		Sub:      "If there should be records, check the spelling and add them to the zone.",
	},
	"propagation.records.nodata": {
		Headline: "No record of this type, as all resolvers that answered say",
		Sub:      "If there should be records of the type, add them to the zone.",
	},
}
