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
	"warning": {
		Headline: "DANE works but has a weakness",
		Sub:      "Senders deliver. The findings say what would make the protection complete.",
	},
	"invalid": {
		Headline: "DANE is broken for a mail server",
		Sub:      "Senders that use DANE defer mail or deliver without authentication. Fix the first finding first.",
	},
	"missing": {
		Headline: "DANE is not in effect",
		Sub:      "Attackers can make senders deliver without encryption, unless MTA-STS prevents it.",
	},
	"unknown": {
		Headline: "DANE could not be examined in full",
		Sub:      "Servers did not answer, so that there is no verdict. Try again in a few minutes.",
	},
	"dane.mx.bogus": {
		Headline: "DNSSEC validation of the MX records fails",
		Sub: "Senders that validate cannot find the mail servers and defer mail. Repair the signatures " +
			"or the DS records now.",
	},
	"dane.mx.unknown": {
		Headline: "Mail servers could not be looked up",
		Sub:      "The name servers did not answer. Check them and try again.",
	},
	"dane.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "Nobody can send mail to it. Check the spelling, registration and delegation.",
	},
	"dane.mail.none": {
		Headline: "DANE is not set up, and not needed",
		Sub:      "The domain has no server of this kind, so that there is nothing to protect.",
	},
	"dane.host.unknown": {
		Headline: "Addresses of a mail server could not be looked up",
		Sub:      "Whether DANE protects it is not known. Check the name servers and try again.",
	},
	"dane.dnssec.unknown": {
		Headline: "DNSSEC status could not be determined",
		Sub:      "Whether DANE applies is not known. Try again with a resolver that validates DNSSEC.",
	},
	"dane.host.bogus": {
		Headline: "DNSSEC validation fails for a mail server",
		Sub:      "Senders that validate defer mail to it. Repair the signatures or the DS records of its zone.",
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
	"dane.tlsa.insecure": {
		Headline: "TLSA records are not signed and have no effect",
		Sub:      "Senders ignore TLSA records that DNSSEC does not prove. Sign the zone of the mail server.",
	},
	"dane.host.insecure": {
		Headline: "DANE protects only some of the mail servers",
		Sub:      "An attacker can make senders turn to the one that is not signed. Sign its zone, or remove its MX record.",
	},
	"dane.tlsa.location": {
		Headline: "TLSA records are published at the wrong name",
		Sub: "Senders look for them at the names of the mail servers, so DANE is not in effect. " +
			"Publish them there, or remove them.",
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
	"dane.tlsa.missing.submission": {
		Headline: "DANE is not set up for submission",
		Sub:      "Few mail clients use it: they check the certificate by its name. There is nothing to do.",
	},
	"dane.host.missing": {
		Headline: "DANE protects only some of the mail servers",
		Sub: "An attacker can make senders turn to one without TLSA records. Publish TLSA records for " +
			"every mail server.",
	},
	"dane.host.address": {
		Headline: "A mail server has no address",
		Sub:      "Nobody can deliver to it. Give it an address, or remove the record that names it.",
	},
	"dane.tlsa.unusable": {
		Headline: "No TLSA record of a mail server can be used for SMTP",
		Sub:      "Senders encrypt, but do not check whose server it is. Publish a TLSA record 3 1 1.",
	},
	"dane.tlsa.usage.pkix": {
		Headline: "DANE works, but TLSA records with usage 0 or 1 have no effect",
		Sub:      "Mail servers treat them as unusable. Replace them by records with usage 3 or 2.",
	},
	"dane.tlsa.data": {
		Headline: "DANE works, but a TLSA record is malformed",
		Sub:      "Senders ignore it. Publish its data anew, complete and in hexadecimal digits.",
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
	"dane.certificate.dates": {
		Headline: "DANE fails: a certificate is expired or not yet valid",
		Sub:      "With usage 2 (DANE-TA) the dates count, and senders do not deliver. Renew the certificate.",
	},
	"dane.certificate.chain": {
		Headline: "DANE fails: a certificate does not lead to its trust anchor",
		Sub:      "Senders that use DANE do not deliver. Let the server send the whole chain, or publish a record 3 1 1.",
	},
	"dane.certificate.expiring": {
		Headline: "DANE works, but a certificate expires soon",
		Sub:      "With usage 2 (DANE-TA) senders do not deliver once it has expired. Renew it and automate renewal.",
	},
}
