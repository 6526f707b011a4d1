package smtpcheck

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "Mail servers are reachable and set up correctly",
		Sub: "Nothing is wrong with what could be tested; the findings name what could not. No message was sent, so that " +
			"delivery to a mailbox was not tested.",
	},
	"warning": {
		Headline: "Mail servers accept mail but have a weakness",
		Sub:      "Mail arrives. The findings say what would protect it better.",
	},
	"invalid": {
		Headline: "A mail server does not work as it should",
		Sub:      "Some mail is delayed or lost. Fix the first finding first.",
	},
	"missing": {
		Headline: "No mail server",
		Sub:      "Mail for the domain has no mail server to go to.",
	},
	"unknown": {
		Headline: "Mail servers could not be tested",
		Sub:      "Nothing was learned that would allow a verdict. Try again, or from another network.",
	},
	"smtp.mx.unknown": {
		Headline: "MX records could not be looked up",
		Sub:      "The name servers did not answer, and senders defer mail until they do. Check them and try again.",
	},
	"smtp.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "Nobody can send mail to it. Check the spelling, registration and delegation.",
	},
	"smtp.mx.missing": {
		Headline: "Domain receives no mail: it has neither MX record nor address",
		Sub:      "Nothing is wrong if that is intended. Publish MX records if the domain is to receive mail.",
	},
	"smtp.mx.null": {
		Headline: "Null MX: the domain does not receive mail",
		Sub:      "No mail server was contacted. Nothing is wrong if that is intended.",
	},
	"smtp.mx.implicit": {
		Headline: "No MX record: mail goes to the domain's own address",
		Sub:      "A server answers there, but many senders treat such a domain with suspicion. Publish MX records.",
	},
	"smtp.mx.alias": {
		Headline: "An MX record points to a CNAME, which is forbidden",
		Sub:      "Most senders follow it, some do not. Name the host at the end of the alias.",
	},
	"smtp.host.nonexistent": {
		Headline: "Host does not exist",
		Sub:      "The DNS answers NXDOMAIN, so that there is nothing to test. Check the spelling of the name.",
	},
	"smtp.host.missing": {
		Headline: "A mail server has no address",
		Sub:      "Senders lose time on it, and its share of the mail. Add an address or remove its MX record.",
	},
	"smtp.ipv4.missing": {
		Headline: "Mail servers have IPv6 addresses only",
		Sub:      "They work, but senders without IPv6 cannot deliver. Add an IPv4 address to a mail server.",
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
	"smtp.address.private": {
		Headline: "A mail server has an address that is not public",
		Sub:      "No sender on the Internet reaches it. Publish its public address.",
	},
	"smtp.connection.refused": {
		Headline: "A mail server refuses connections",
		Sub:      "Senders have to use the other servers. Start it, or remove its address or MX record.",
	},
	"smtp.connection.silent": {
		Headline: "A mail server does not answer",
		Sub:      "Senders wait for minutes before they try the others. Start it, or remove its address or MX record.",
	},
	"smtp.address.unavailable": {
		Headline: "A mail server does not answer at one of its addresses",
		Sub:      "Mail arrives by its other address. Let it listen on this one, or remove the address record.",
	},
	"smtp.backup.unavailable": {
		Headline: "Backup mail server does not answer",
		Sub: "Mail arrives while the preferred server works, and waits when that fails. Start the backup, or remove its MX " +
			"record.",
	},
	"smtp.session.deferred": {
		Headline: "A mail server answers with a temporary failure",
		Sub:      "Senders try again later. Look for the reason in the log of the mail server if it persists.",
	},
	"smtp.banner.refused": {
		Headline: "A mail server turns clients away in its banner",
		Sub:      "Mail to it is returned at once. Allow connections from the Internet, or remove its MX record.",
	},
	"smtp.banner.invalid": {
		Headline: "A server accepts connections but sends no SMTP banner",
		Sub:      "Senders cannot deliver to it. Check which program listens on the port.",
	},
	"smtp.hello.refused": {
		Headline: "A mail server accepts neither EHLO nor HELO",
		Sub:      "Senders cannot deliver to it. Look for the reason in its log.",
	},
	"smtp.hello.basic": {
		Headline: "A mail server knows HELO but not EHLO: no encryption",
		Sub:      "Mail arrives unencrypted and without modern extensions. Enable EHLO.",
	},
	"smtp.starttls.missing": {
		Headline: "No STARTTLS: mail arrives unencrypted",
		Sub:      "Anybody on the way can read the mail. Install a certificate and enable STARTTLS.",
	},
	"smtp.starttls.refused": {
		Headline: "STARTTLS is offered, then refused",
		Sub:      "Mail arrives unencrypted, or not at all from senders that insist on TLS. Look into the server's log.",
	},
	"smtp.tls.handshake": {
		Headline: "TLS handshake with a mail server fails",
		Sub:      "Many senders defer mail when TLS fails. Check certificate, key and TLS versions of the server.",
	},
	"smtp.starttls.injection": {
		Headline: "Unencrypted bytes follow the reply to STARTTLS",
		Sub:      "The server, or something on the way, breaks the protection of TLS. Update the mail server.",
	},
	"smtp.hello.encrypted": {
		Headline: "A mail server does not answer over TLS",
		Sub:      "The handshake succeeds, and then nothing works. Look for the reason in the log of the server.",
	},
	"smtp.tls.version": {
		Headline: "A mail server uses an obsolete TLS version",
		Sub:      "Modern senders refuse it. Enable TLS 1.2 and 1.3.",
	},
	"smtp.tls.cipher": {
		Headline: "A mail server encrypts TLS with a broken cipher",
		Sub:      "Recorded mail can be decrypted. Enable AES-GCM, and disable RC4 and 3DES.",
	},
	"smtp.certificate.expired": {
		Headline: "Certificate of a mail server has expired",
		Sub:      "Senders that check certificates do not deliver. Renew it and automate renewal.",
	},
	"smtp.certificate.early": {
		Headline: "Certificate of a mail server is not valid yet",
		Sub:      "Senders that check certificates do not deliver. Install one that is valid now.",
	},
	"smtp.certificate.incomplete": {
		Headline: "Certificate chain of a mail server is incomplete",
		Sub: "Senders that check certificates do not trust it. Send the intermediate certificates along, if the issuer is " +
			"a public authority.",
	},
	"smtp.certificate.self_signed": {
		Headline: "Certificate of a mail server is self-signed",
		Sub:      "Senders that check certificates do not trust it. Use one of a public authority, or DANE.",
	},
	"smtp.certificate.untrusted": {
		Headline: "Certificate of a mail server is not trusted",
		Sub:      "Senders that check certificates do not deliver. Use one of a public authority.",
	},
	"smtp.certificate.name": {
		Headline: "Certificate does not match the name of the mail server",
		Sub:      "Senders that check certificates do not deliver. Get one with the name of the MX host.",
	},
	"smtp.certificate.expiring": {
		Headline: "Certificate of a mail server expires within two weeks",
		Sub:      "Renew it and automate renewal: after that, senders that check certificates do not deliver.",
	},
	"smtp.certificate.key": {
		Headline: "Certificate of a mail server has a weak key",
		Sub:      "Its TLS can be broken with effort. Get a certificate with a stronger key.",
	},
	"smtp.auth.plaintext": {
		Headline: "Passwords can be sent unencrypted: plaintext AUTH before TLS",
		Sub:      "Offer AUTH over TLS only, and not at all on port 25.",
	},
	"smtp.relay.open": {
		Headline: "Open relay: strangers can send mail through the server",
		Sub:      "Spammers will abuse it and blocklists will list it. Restrict relaying today.",
	},
}
