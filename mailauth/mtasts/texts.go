package mtasts

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "MTA-STS is enforced and covers every mail server",
		Sub:      "Senders that know MTA-STS deliver over authenticated TLS only. Watch the TLS reports.",
	},
	"valid": {
		Headline: "MTA-STS is set up correctly",
		Sub:      "Senders find the policy and follow it. Watch the TLS reports.",
	},
	"warning": {
		Headline: "MTA-STS works but has a weakness",
		Sub:      "Senders find the policy. The findings say what would make it protect better.",
	},
	"invalid": {
		Headline: "MTA-STS is broken: senders find no policy that they can use",
		Sub:      "New senders deliver as if there were no MTA-STS, open to attackers. Fix the first finding first.",
	},
	"missing": {
		Headline: "MTA-STS is not set up",
		Sub:      "Attackers can make senders deliver without encryption. Serve a policy, then publish the record.",
	},
	"unknown": {
		Headline: "MTA-STS could not be examined in full",
		Sub:      "Servers did not answer, so that there is no verdict. Try again in a few minutes.",
	},
	"mtasts.record.unknown": {
		Headline: "MTA-STS record could not be looked up",
		Sub:      "The name servers did not answer. Check them and try again.",
	},
	"mtasts.record.location": {
		Headline: "The MTA-STS record is published at the wrong name",
		Sub:      "Senders look at _mta-sts below the domain and nowhere else. Publish it there.",
	},
	"mtasts.record.alias": {
		Headline: "The CNAME at _mta-sts leads to no MTA-STS record",
		Sub:      "For senders there is no MTA-STS. Have the record published at the target, or replace the CNAME.",
	},
	"mtasts.policy.unknown": {
		Headline: "MTA-STS policy could not be fetched: its host did not answer",
		Sub:      "Senders without a copy deliver unprotected until it is back. Check the web server, and try again.",
	},
	"mtasts.mx.unknown": {
		Headline: "MTA-STS is published, but mail servers could not be looked up",
		Sub:      "Whether the policy covers them is not known. Check the name servers and try again.",
	},
	"mtasts.record.multiple": {
		Headline: "More than one MTA-STS record, so senders use none",
		Sub:      "Remove all but one; until then the policy has no effect on new senders.",
	},
	"mtasts.record.version": {
		Headline: "The MTA-STS record does not begin with v=STSv1; and is ignored",
		Sub:      "For senders there is no MTA-STS. Publish the record that the recommendation suggests.",
	},
	"mtasts.policy.host.missing": {
		Headline: "The MTA-STS record promises a policy, but its host does not exist",
		Sub:      "Senders find no policy and deliver unprotected. Give mta-sts an address and serve the policy there.",
	},
	"mtasts.policy.connection": {
		Headline: "The MTA-STS policy host cannot be reached",
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
		Headline: "MTA-STS policy is not served (no status 200)",
		Sub:      "Senders find no policy and deliver unprotected. Serve it at /.well-known/mta-sts.txt.",
	},
	"mtasts.policy.blank_line": {
		Headline: "The MTA-STS policy has blank lines, which strict senders refuse",
		Sub:      "Others accept it, so protection depends on the sender. Remove the blank lines.",
	},
	"mtasts.policy.media_type": {
		Headline: "The MTA-STS policy is not served as text/plain",
		Sub:      "Strict senders do not use it. Let the web server send the right Content-Type.",
	},
	"mtasts.policy.unannounced": {
		Headline: "MTA-STS policy is not announced by a TXT record",
		Sub:      "No sender looks for the policy. Publish the record that the recommendation suggests.",
	},
	"mtasts.mx.undeliverable": {
		Headline: "The enforced MTA-STS policy covers no mail server",
		Sub:      "Senders that enforce the policy refuse to deliver. Correct it now, and change the id of the record.",
	},
	"mtasts.mx.uncovered": {
		Headline: "The MTA-STS policy does not cover a mail server",
		Sub:      "Senders that enforce the policy do not deliver there. Add the host, and change the id of the record.",
	},
	"mtasts.policy.mode.none": {
		Headline: "MTA-STS is switched off by mode none",
		Sub:      "Senders deliver as if there were no policy. Set the mode to testing, or remove all of it.",
	},
	"mtasts.policy.mode.testing": {
		Headline: "MTA-STS is in testing mode, not enforced",
		Sub:      "Senders report failures and deliver anyway. Once the reports are clean, set the mode to enforce.",
	},
	"mtasts.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "Nobody can send mail to it. Check the spelling, registration and delegation.",
	},
	"mtasts.record.missing.no_mail": {
		Headline: "MTA-STS is not set up, and not needed",
		Sub:      "The domain receives no mail, so that there is nothing to protect.",
	},
	"mtasts.policy.max_age.zero": {
		Headline: "MTA-STS policy has max_age 0 and protects nothing",
		Sub:      "Senders do not keep the policy. Set max_age to 604800 or more.",
	},
	"mtasts.tls_rpt.missing": {
		Headline: "MTA-STS works, but no TLS reports are requested",
		Sub:      "You do not learn which senders fail. Publish a TLSRPT record.",
	},
	"mtasts.policy.max_age.short": {
		Headline: "MTA-STS works, but its max_age is short",
		Sub:      "An attacker can wait until the policy has expired. Set max_age to 604800 or more.",
	},
	"mtasts.policy.certificate.expiring": {
		Headline: "MTA-STS works, but a certificate expires soon",
		Sub:      "Once it has expired, senders cannot fetch the policy. Renew the certificate and automate renewal.",
	},
}
