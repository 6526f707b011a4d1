package mtasts

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "MTA-STS is enforced and covers every mail exchanger",
		Sub:      "Senders that know MTA-STS deliver over authenticated TLS only. Keep an eye on the TLS reports.",
	},
	"valid": {
		Headline: "MTA-STS is set up without a fault",
		Sub:      "Senders find the policy and keep to it. Keep an eye on the TLS reports.",
	},
	"warning": {
		Headline: "MTA-STS works, and could be better",
		Sub:      "Senders find the policy. The findings say what would make it protect better.",
	},
	"invalid": {
		Headline: "MTA-STS is broken: senders find no policy that they can use",
		Sub:      "New senders deliver as if there were no MTA-STS, open to attackers. Mend the first finding first.",
	},
	"missing": {
		Headline: "MTA-STS is not set up",
		Sub:      "Attackers can make senders deliver without encryption. Serve a policy, then publish the record.",
	},
	"unknown": {
		Headline: "MTA-STS could not be examined in full",
		Sub:      "Servers did not answer, so that nothing can be said for certain. Try again in a few minutes.",
	},
	"mtasts.record.unknown": {
		Headline: "The name servers did not say whether there is an MTA-STS record",
		Sub:      "Nothing can be said about MTA-STS until they answer. Check the zone, and try again.",
	},
	"mtasts.policy.unknown": {
		Headline: "The MTA-STS policy could not be learned: its host did not answer",
		Sub:      "Senders without a copy deliver unprotected until it is back. Check the web server, and try again.",
	},
	"mtasts.mx.unknown": {
		Headline: "MTA-STS is published, but the mail exchangers could not be learned",
		Sub:      "Whether the policy lists them all is open. Check the zone, and try again.",
	},
	"mtasts.record.multiple": {
		Headline: "There are several MTA-STS records, so senders use none",
		Sub:      "Remove all but one; until then the policy has no effect on new senders.",
	},
	"mtasts.record.version": {
		Headline: "The MTA-STS record does not begin with v=STSv1; and is discarded",
		Sub:      "For senders there is no MTA-STS. Publish the record that the recommendation suggests.",
	},
	"mtasts.policy.host.missing": {
		Headline: "The MTA-STS record promises a policy, but its host does not exist",
		Sub:      "Senders find no policy and deliver unprotected. Give mta-sts an address and serve the policy there.",
	},
	"mtasts.policy.connection": {
		Headline: "The MTA-STS policy host cannot be connected to",
		Sub:      "Senders find no policy and deliver unprotected. Let a web server answer on port 443.",
	},
	"mtasts.policy.certificate.expired": {
		Headline: "The certificate of the MTA-STS policy host has expired",
		Sub:      "Senders do not trust the policy, and do not learn of changes. Renew the certificate.",
	},
	"mtasts.policy.certificate.untrusted": {
		Headline: "The certificate of the MTA-STS policy host is not trusted",
		Sub:      "Senders do not use the policy. Install a certificate of a public authority with its whole chain.",
	},
	"mtasts.policy.certificate.name": {
		Headline: "The certificate of the MTA-STS policy host is for another name",
		Sub:      "Senders do not use the policy. Get a certificate that lists the policy host.",
	},
	"mtasts.policy.redirect": {
		Headline: "The MTA-STS policy is behind a redirect, which senders do not follow",
		Sub:      "Senders find no policy and deliver unprotected. Serve it at the address itself.",
	},
	"mtasts.policy.status": {
		Headline: "The web server of the MTA-STS policy does not serve one",
		Sub:      "Senders find no policy and deliver unprotected. Serve it at /.well-known/mta-sts.txt.",
	},
	"mtasts.policy.blank_line": {
		Headline: "The MTA-STS policy has blank lines, which strict senders refuse",
		Sub:      "Others accept it, so protection depends on the sender. Remove the blank lines.",
	},
	"mtasts.policy.media_type": {
		Headline: "The MTA-STS policy is not served as text/plain",
		Sub:      "Careful senders do not use it. Let the web server send the right Content-Type.",
	},
	"mtasts.policy.unannounced": {
		Headline: "There is an MTA-STS policy, but no record that announces it",
		Sub:      "No sender looks for the policy. Publish the record that the recommendation suggests.",
	},
	"mtasts.mx.undeliverable": {
		Headline: "The enforced MTA-STS policy lists none of the mail exchangers",
		Sub:      "Senders that heed the policy refuse to deliver. Correct it now, and change the id of the record.",
	},
	"mtasts.mx.uncovered": {
		Headline: "The MTA-STS policy leaves out a mail exchanger",
		Sub:      "Senders that heed the policy do not deliver there. Add the host, and change the id of the record.",
	},
	"mtasts.policy.mode.none": {
		Headline: "MTA-STS is switched off by the mode none",
		Sub:      "Senders deliver as if there were no policy. Set the mode to testing, or remove all of it.",
	},
	"mtasts.policy.mode.testing": {
		Headline: "MTA-STS is set up, and only tests so far",
		Sub:      "Senders report failures and deliver anyway. Once the reports are clean, set the mode to enforce.",
	},
}
