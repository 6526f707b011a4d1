package tlscert

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "Certificate and TLS configuration are in order",
		Sub:      "Clients trust the certificate and connect securely. Keep renewal automated.",
	},
	"valid": {
		Headline: "Certificate is trusted and matches the name",
		Sub:      "Clients connect without a warning. The findings name what could be better.",
	},
	"warning": {
		Headline: "Certificate is trusted, but the TLS setup has a weakness",
		Sub:      "Clients connect without a warning. Fix the first finding first.",
	},
	"invalid": {
		Headline: "Clients refuse to connect, or are not protected",
		Sub:      "Visitors see an error instead of the site, or can be listened to. Fix the first finding first.",
	},
	"unknown": {
		Headline: "TLS could not be examined",
		Sub:      "The server or the name servers did not answer, so that there is no verdict. Try again.",
	},
	"tls.host.unknown": {
		Headline: "Address of the host could not be looked up",
		Sub:      "The name servers did not answer. Check them and try again.",
	},
	"tls.host.nonexistent": {
		Headline: "Host does not exist",
		Sub:      "The DNS answers NXDOMAIN, so that nobody can connect. Check the spelling and the zone.",
	},
	"tls.host.address": {
		Headline: "Host has no address",
		Sub:      "Nobody can connect to it. Publish an A or AAAA record.",
	},
	"tls.host.blocked": {
		Headline: "Host leads to an address that is not public",
		Sub:      "It was not connected to, so that there is no verdict. Check the addresses in the DNS.",
	},
	"tls.connect.unanswered": {
		Headline: "Server does not answer, so TLS could not be examined",
		Sub:      "No connection came about in time. Check the server and its firewall, then try again.",
	},
	"tls.connect.refused": {
		Headline: "Server cannot be reached: connection refused",
		Sub:      "Nothing listens on the port. Start the server, or check the port and the address.",
	},
	"tls.handshake.unanswered": {
		Headline: "Server does not answer the TLS handshake",
		Sub:      "The connection came about, but no TLS. Check that the port speaks TLS from the first byte.",
	},
	"tls.handshake.plain": {
		Headline: "Server does not speak TLS on the port",
		Sub:      "What it sends is another protocol. Enable TLS, or check the port.",
	},
	"tls.handshake.failed": {
		Headline: "TLS handshake fails",
		Sub:      "No client can connect. Look for the reason in the log of the server.",
	},
	"tls.handshake.uncommon": {
		Headline: "Common clients cannot connect over TLS",
		Sub:      "The server only accepts what browsers do not have. Enable common cipher suites and groups.",
	},
	"tls.certificate.missing": {
		Headline: "Server shows no certificate",
		Sub:      "Browsers refuse to connect, and anybody can pose as the server. Configure a certificate.",
	},
	"tls.certificate.malformed": {
		Headline: "Certificate cannot be read",
		Sub:      "Clients refuse to connect. Have the certificate issued again.",
	},
	"tls.certificate.expired": {
		Headline: "Certificate has expired",
		Sub:      "Clients refuse to connect. Renew the certificate, reload the server and automate both.",
	},
	"tls.certificate.early": {
		Headline: "Certificate is not yet valid",
		Sub:      "Clients refuse to connect until its validity begins. Install one that is valid now.",
	},
	"tls.certificate.expiring": {
		Headline: "Certificate expires soon",
		Sub:      "Clients refuse to connect from then on. Renew it now, and automate renewal.",
	},
	"tls.certificate.name": {
		Headline: "Certificate does not match the name",
		Sub:      "Clients refuse to connect. Get a certificate for the name, or let the server choose the right one.",
	},
	"tls.certificate.validity": {
		Headline: "Certificate is valid for longer than browsers accept",
		Sub:      "Some browsers refuse to connect. Have it issued again with a shorter validity.",
	},
	"tls.chain.self_signed": {
		Headline: "Certificate is self-signed, so clients do not trust it",
		Sub:      "Clients refuse to connect. Get a certificate of a public authority.",
	},
	"tls.chain.incomplete": {
		Headline: "Certificate chain is incomplete: an intermediate is missing",
		Sub:      "Some browsers repair it, and all other clients refuse to connect. Install the whole chain.",
	},
	"tls.chain.untrusted": {
		Headline: "Certificate is not trusted: its issuer is unknown",
		Sub: "Clients refuse to connect, unless they were told to trust the authority. Use a public authority, or install " +
			"the missing intermediate certificates.",
	},
	"tls.chain.expired": {
		Headline: "An intermediate certificate has expired",
		Sub:      "Clients refuse to connect. Install the current chain of the authority.",
	},
	"tls.chain.invalid": {
		Headline: "Certificate chain is not valid",
		Sub:      "Clients refuse to connect. Get a certificate that was issued for this use.",
	},
	"tls.chain.expiring": {
		Headline: "An intermediate certificate expires before the certificate",
		Sub:      "Clients refuse to connect from then on. Install the current chain of the authority.",
	},
	"tls.chain.order": {
		Headline: "Certificates are sent in the wrong order",
		Sub:      "Some clients refuse to connect. Put them in the order of the chain.",
	},
	"tls.key.weak": {
		Headline: "Certificate has a weak key",
		Sub:      "Clients may refuse it, and others may pose as the server. Replace key and certificate.",
	},
	"tls.key.signature": {
		Headline: "Certificate is signed with a broken hash",
		Sub:      "Clients refuse to connect. Have the chain issued again with SHA-256.",
	},
	"tls.version.ssl": {
		Headline: "Server accepts SSLv2 or SSLv3",
		Sub:      "Connections with them can be decrypted. Disable them.",
	},
	"tls.version.obsolete": {
		Headline: "Server accepts the obsolete TLS 1.0 or 1.1",
		Sub:      "Clients of today use newer ones. Disable the old versions.",
	},
	"tls.version.modern": {
		Headline: "Server supports neither TLS 1.2 nor TLS 1.3",
		Sub:      "Browsers refuse to connect. Update the server and enable both.",
	},
	"tls.cipher.null": {
		Headline: "Server accepts connections without encryption",
		Sub:      "What is sent can be read by anybody on the way. Disable the NULL cipher suites.",
	},
	"tls.cipher.anonymous": {
		Headline: "Server accepts anonymous cipher suites",
		Sub:      "Anybody on the way can pose as the server. Disable them.",
	},
	"tls.cipher.export": {
		Headline: "Server accepts ciphers with short keys",
		Sub:      "Connections with them can be decrypted. Disable EXPORT, DES and RC2.",
	},
	"tls.cipher.rc4": {
		Headline: "Server accepts RC4",
		Sub:      "Parts of connections with it can be found out. Disable it.",
	},
	"tls.cipher.small_block": {
		Headline: "Server accepts 3DES or another cipher with 64-bit blocks",
		Sub:      "Long connections with it leak data. Disable it.",
	},
	"tls.cipher.forward_secrecy": {
		Headline: "No cipher suite has forward secrecy",
		Sub:      "Whoever steals the key can decrypt recorded connections. Enable ECDHE.",
	},
	"tls.cipher.aead": {
		Headline: "No cipher suite has authenticated encryption",
		Sub:      "CBC has been attacked again and again. Enable AES-GCM or ChaCha20.",
	},
	"tls.cipher.dh_broken": {
		Headline: "Diffie-Hellman prime is too small",
		Sub:      "Connections with it can be decrypted. Use ECDHE instead.",
	},
	"tls.cipher.dh_small": {
		Headline: "Diffie-Hellman prime has fewer than 2048 bits",
		Sub:      "It is weaker than the rest of the connection. Use ECDHE instead.",
	},
	"tls.feature.renegotiation": {
		Headline: "Server does not support secure renegotiation",
		Sub:      "An attacker may be able to put data before those of a client. Update the TLS library.",
	},
	"tls.feature.compression": {
		Headline: "Server compresses TLS",
		Sub:      "Cookies can be found out from the size of requests. Disable compression.",
	},
	"tls.sct.missing": {
		Headline: "Certificate has too few timestamps for browsers",
		Sub:      "Chrome and Safari refuse to connect. Have it issued again with embedded timestamps.",
	},
	"tls.sct.invalid": {
		Headline: "A timestamp of the certificate is not valid",
		Sub:      "Browsers do not count it and may refuse to connect. Have the certificate issued again.",
	},
	"tls.ocsp.must_staple": {
		Headline: "Stapled OCSP response is missing, though the certificate demands it",
		Sub:      "Some clients refuse to connect. Enable OCSP stapling.",
	},
	"tls.ocsp.invalid": {
		Headline: "Stapled OCSP response is not valid",
		Sub:      "Clients ignore it, and some refuse to connect. Let the server fetch it again.",
	},
	"tls.ocsp.revoked": {
		Headline: "Certificate was revoked",
		Sub:      "Clients that check refuse to connect. Replace key and certificate at once.",
	},
	"tls.ocsp.outdated": {
		Headline: "Stapled OCSP response is outdated",
		Sub:      "Clients ignore it, and some refuse to connect. Let the server fetch it again.",
	},
	"tls.ocsp.status": {
		Headline: "Authority does not know the certificate",
		Sub:      "Its OCSP response has the status unknown. Ask the authority.",
	},
	"tls.caa.syntax": {
		Headline: "Certificate is fine, but a CAA record has a syntax error",
		Sub:      "It authorizes nobody, so that renewal may fail. Correct the record.",
	},
	"tls.caa.critical": {
		Headline: "Certificate is fine, but a CAA record forbids every renewal",
		Sub:      "No authority understands the critical property. Correct the record.",
	},
	"tls.caa.issuer": {
		Headline: "Certificate is fine, but CAA does not allow its issuer",
		Sub:      "The next renewal will fail. Add the authority to the CAA records.",
	},
}
