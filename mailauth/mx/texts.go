package mx

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "MX records are set up correctly",
		Sub:      "Every MX host has a public address. Whether the mail servers accept mail was not tested.",
	},
	"mx.record.missing": {
		Headline: "Domain receives no mail: it has neither MX record nor address",
		Sub:      "Nothing is wrong if that is intended. Publish MX records if the domain is to receive mail.",
	},
	"mx.record.implicit": {
		Headline: "No MX record: mail goes to the domain's own address",
		Sub:      "That is rarely a mail server. Publish MX records, or a null MX if the domain has no mail at all.",
	},
	"mx.null.present": {
		Headline: "Null MX: the domain says that it receives no mail",
		Sub:      "Senders give up at once, as intended. Publish MX records if the domain is to receive mail.",
	},
	"mx.hosts.unreachable": {
		Headline: "No MX host has a public address: mail cannot be delivered",
		Sub:      "All mail to the domain is deferred and then lost. Correct the MX records or the addresses of the hosts.",
	},
}
