package smtpcheck

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "Mail servers are reachable and set up correctly",
		Sub:      "Nothing is wrong with what could be tested. No message was sent, so that delivery to a mailbox was not tested.",
	},
	"smtp.mx.missing": {
		Headline: "Domain receives no mail: it has neither MX record nor address",
		Sub:      "Nothing is wrong if that is intended. Publish MX records if the domain is to receive mail.",
	},
	"smtp.mx.null": {
		Headline: "Null MX: the domain does not receive mail",
		Sub:      "No mail server was contacted. Nothing is wrong if that is intended.",
	},
	"smtp.servers.unknown": {
		Headline: "No response from the mail servers: outcome unknown",
		Sub: "Either they do not answer, or the network of this service cannot reach them. Test from another network " +
			"before you change anything.",
	},
	"smtp.servers.deferred": {
		Headline: "Mail servers answer with a temporary failure: outcome unknown",
		Sub:      "Senders try again later. Test again in a few minutes, and look into the log if it stays like this.",
	},
	"smtp.servers.unwelcome": {
		Headline: "Mail servers refuse this client: outcome unknown",
		Sub:      "That says nothing about other senders. Test from another address, or allow this one.",
	},
	"smtp.relay.deferred": {
		Headline: "Mail servers work; the relay test was deferred, as by greylisting",
		Sub:      "Nothing is wrong with the rest. Test again in a quarter of an hour to learn whether a server relays.",
	},
	"smtp.servers.unreachable": {
		Headline: "No mail server accepts mail",
		Sub: "None can be reached and used, so that all mail is deferred or returned to its senders. The findings say what " +
			"is wrong with each server.",
	},
	"smtp.relay.open": {
		Headline: "Open relay: strangers can send mail through the server",
		Sub:      "Spammers will abuse it and blocklists will list it. Restrict relaying today.",
	},
}
