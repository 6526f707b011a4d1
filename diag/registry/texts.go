package registry

import "github.com/diagkit/diagkit/diag"

// domainTexts are the headlines of a domain's registration where the gravest finding does not say it.
var domainTexts = diag.Texts{
	"valid": {
		Headline: "The domain is registered and in good standing",
		Sub:      "The registry reports nothing that requires action.",
	},
}

// ipTexts are those of an address.
var ipTexts = diag.Texts{
	"valid": {
		Headline: "The holder of the address is known",
		Sub:      "The registry names the network, its holder and where to report abuse.",
	},
	"ipwhois.address.special": {
		Headline: "A special-purpose address that nobody holds",
		Sub:      "A standard reserves it, and it has no single holder. Ask the operator of the network that uses it.",
	},
}
