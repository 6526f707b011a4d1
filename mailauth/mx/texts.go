package mx

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "MX records are set up correctly",
		Sub:      "Every MX host has a public address. Whether the mail servers accept mail was not tested.",
	},
	"warning": {
		Headline: "MX records work but have a weakness",
		Sub:      "Mail arrives. The findings say what would make delivery more reliable.",
	},
	"invalid": {
		Headline: "MX records are broken in part",
		Sub:      "Some mail is delayed or lost. Fix the first finding first.",
	},
	"missing": {
		Headline: "No MX record",
		Sub:      "Mail for the domain has no mail server to go to.",
	},
	"unknown": {
		Headline: "MX records could not be examined in full",
		Sub:      "Name servers did not answer, so that there is no verdict. Try again in a few minutes.",
	},
	"mx.lookup.unknown": {
		Headline: "MX records could not be looked up",
		Sub:      "The name servers did not answer, and senders defer mail until they do. Check them and try again.",
	},
	"mx.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "Nobody can send mail to it. Check the spelling, registration and delegation.",
	},
	"mx.domain.address.unknown": {
		Headline: "No MX record, and the address of the domain is unknown",
		Sub:      "Whether the domain receives mail is not known. Check its name servers and try again.",
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
	"mx.null.mixed": {
		Headline: "Null MX beside other MX records: some senders deliver no mail",
		Sub:      "Senders disagree about what it means. Remove the null MX if the domain receives mail.",
	},
	"mx.null.preference": {
		Headline: "Null MX with a preference other than 0",
		Sub:      "Some senders do not recognize it. Publish \"0 .\" as the only MX record.",
	},
	"mx.hosts.unreachable": {
		Headline: "No MX host has a public address: mail cannot be delivered",
		Sub:      "All mail to the domain is deferred and then lost. Correct the MX records or the addresses of the hosts.",
	},
	"mx.host.literal": {
		Headline: "An MX record has an IP address instead of a host name",
		Sub:      "Senders look it up as a name and find nothing. Use a host name that has an address record.",
	},
	"mx.host.localhost": {
		Headline: "An MX record points to localhost",
		Sub:      "Senders would deliver to themselves. Name the mail server in the MX record.",
	},
	"mx.host.repeated_domain": {
		Headline: "An MX host name ends with the domain twice",
		Sub:      "The final dot is missing in the zone file. Write the name with a dot at its end.",
	},
	"mx.host.invalid": {
		Headline: "An MX record has an invalid host name",
		Sub:      "Senders refuse to look it up. Correct the name in the MX record.",
	},
	"mx.host.alias": {
		Headline: "An MX record points to a CNAME, which is forbidden",
		Sub:      "Most senders follow it, some do not. Name the host at the end of the alias.",
	},
	"mx.host.unknown": {
		Headline: "The addresses of an MX host could not be looked up",
		Sub:      "Whether mail reaches it is not known. Check its name servers and try again.",
	},
	"mx.host.nonexistent": {
		Headline: "An MX host does not exist",
		Sub:      "Senders lose time on it, and its share of the mail. Correct its name or remove its MX record.",
	},
	"mx.host.address.missing": {
		Headline: "An MX host has no address",
		Sub:      "Senders lose time on it, and its share of the mail. Add an address or remove its MX record.",
	},
	"mx.host.address.private": {
		Headline: "An MX host has no public address",
		Sub:      "No sender on the Internet reaches it. Publish its public address or remove its MX record.",
	},
	"mx.ipv4.missing": {
		Headline: "MX hosts have IPv6 addresses only",
		Sub:      "Senders without IPv6 cannot deliver. Add an IPv4 address to a mail server.",
	},
}
