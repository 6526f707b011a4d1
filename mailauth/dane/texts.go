package dane

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "DANE protects all mail servers",
		Sub: "Senders that use DANE deliver over authenticated TLS only. Publish the next TLSA record " +
			"before a key changes.",
	},
	"valid": {
		Headline: "DANE is set up correctly",
		Sub: "Senders that use DANE deliver over authenticated TLS only. Publish the next TLSA record " +
			"before a key changes.",
	},
	"dane.mail.none": {
		Headline: "DANE is not set up, and not needed",
		Sub:      "The domain has no server of this kind, so that there is nothing to protect.",
	},
	"dane.tlsa.unknown": {
		Headline: "TLSA lookup failed: senders that use DANE defer mail",
		Sub:      "They cannot tell whether DANE applies. Let every name server of the host answer TLSA queries.",
	},
	"dane.mx.insecure": {
		Headline: "MX records are not signed, so DANE does not protect the domain",
		Sub: "The mail servers have TLSA records, but an attacker can forge which servers they are. " +
			"Sign the domain's zone.",
	},
	"dane.host.insecure": {
		Headline: "DANE protects only some of the mail servers",
		Sub:      "An attacker can make senders turn to the one that is not signed. Sign its zone, or remove its MX record.",
	},
	"dane.tlsa.missing": {
		Headline: "DANE is not set up: no TLSA records",
		Sub:      "Attackers can make senders deliver without encryption, unless MTA-STS prevents it.",
	},
	"dane.tlsa.unasked": {
		Headline: "DANE is not possible: mail servers are not signed",
		Sub: "Senders do not even ask for TLSA records. Sign the zone of the mail servers, and let " +
			"TLSA queries be answered.",
	},
	"dane.host.missing": {
		Headline: "DANE protects only some of the mail servers",
		Sub: "An attacker can make senders turn to one without TLSA records. Publish TLSA records for " +
			"every mail server.",
	},
	"dane.tlsa.usage.pkix": {
		Headline: "DANE works, but TLSA records with usage 0 or 1 have no effect",
		Sub:      "Mail servers treat them as unusable. Replace them by records with usage 3 or 2.",
	},
	"dane.certificate.unverified": {
		Headline: "TLSA records are published; certificates were not compared",
		Sub:      "Whether senders can deliver is not known without a connection to the mail servers.",
	},
	"dane.server.unreachable": {
		Headline: "TLSA records exist, but a certificate could not be fetched",
		Sub:      "Whether senders can deliver to that mail server is not known. Check that it answers, and try again.",
	},
	"dane.starttls.missing": {
		Headline: "TLSA records exist, but a mail server does not offer STARTTLS",
		Sub:      "Senders that use DANE do not deliver to it. Enable STARTTLS, or remove its TLSA records until then.",
	},
	"dane.starttls.failed": {
		Headline: "TLSA records exist, but TLS with a mail server fails",
		Sub:      "Senders that use DANE do not deliver to it. Check its certificate, key and TLS versions.",
	},
	"dane.certificate.mismatch": {
		Headline: "The certificate of a mail server matches no TLSA record",
		Sub: "Senders that use DANE defer mail, and return it in the end. Publish a TLSA record for " +
			"its key beside the old one.",
	},
	"dane.certificate.name": {
		Headline: "DANE fails: the certificate does not match the mail server's name",
		Sub: "With usage 2 (DANE-TA) the name counts, and senders do not deliver. Get a certificate " +
			"with the right name.",
	},
	"dane.certificate.chain": {
		Headline: "DANE fails: a certificate does not lead to its trust anchor",
		Sub:      "Senders that use DANE do not deliver. Let the server send the whole chain, or publish a record 3 1 1.",
	},
}
