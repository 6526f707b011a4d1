package zonecheck

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words where the gravest finding does not say it.
var texts = diag.Texts{
	"valid": {
		Headline: "The domain is delegated and served without a fault",
		Sub:      "The name servers that were asked answer and agree.",
	},
	"zone.delegation.cyclic": {
		Headline: "The domain cannot be resolved: its delegation depends on itself",
		Sub:      "No resolver finds a name server. Give one a name with glue, or a name in a domain that works.",
	},
	"zone.delegation.lame": {
		Headline: "The domain cannot be resolved: no name server serves the zone",
		Sub: "The name servers answer but do not have the zone. Configure it there, or delegate the domain to the servers " +
			"that have it.",
	},
	"zone.delegation.unreachable": {
		Headline: "The domain cannot be resolved: no name server can be reached",
		Sub:      "Start the name servers and open port 53 for UDP and TCP.",
	},
	"zone.glue.none": {
		Headline: "The domain cannot be resolved: its name servers have no glue",
		Sub:      "Resolvers have no address to start with. Register the addresses of the name servers at the registrar.",
	},
}
