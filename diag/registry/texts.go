package registry

import "github.com/diagkit/diagkit/diag"

// domainTexts are the headlines of a domain's registration where the gravest finding does not say it.
var domainTexts = diag.Texts{
	"valid": {
		Headline: "The domain is registered and in good standing",
		Sub:      "The registry reports nothing that needs to be done.",
	},
}

// ipTexts are those of an address.
var ipTexts = diag.Texts{
	"valid": {
		Headline: "The holder of the address is known",
		Sub:      "The registry names the network, its holder and where to report abuse.",
	},
	"ipwhois.address.special": {
		Headline: "A special-purpose address, which nobody holds",
		Sub:      "It is reserved by a standard and does not lead to one holder on the Internet.",
	},
}
