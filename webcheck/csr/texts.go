package csr

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "Signing request is compliant",
		Sub:      "Public authorities can issue a certificate for it. Send it as it is.",
	},
	"warning": {
		Headline: "Signing request is usable, with a weakness",
		Sub:      "Most authorities take it as it is. The findings say what to improve.",
	},
	"invalid": {
		Headline: "Signing request has a fault",
		Sub:      "Public authorities refuse it. Fix the first finding first.",
	},
	"csr.private_key.present": {
		Headline: "Private key in the text",
		Sub:      "Whoever could read it can use it. Generate a new key, and paste the signing request alone.",
	},
	"csr.type.other": {
		Headline: "This is not a certificate signing request",
		Sub:      "There is nothing to examine. Paste the file that begins with BEGIN CERTIFICATE REQUEST.",
	},
	"csr.pem.missing": {
		Headline: "There is no signing request in the text that can be read",
		Sub:      "Neither a PEM block nor Base64 was found. Paste the whole file, with its lines BEGIN and END.",
	},
	"csr.pem.malformed": {
		Headline: "PEM text of the request cannot be decoded",
		Sub:      "The text is damaged, so that nothing of it can be read. Copy the file again, whole and unchanged.",
	},
	"csr.der.malformed": {
		Headline: "Signing request cannot be read",
		Sub:      "The text can be decoded, and is no whole request. Copy the file again, whole and unchanged.",
	},
	"csr.der.trailing": {
		Headline: "Data follow the signing request",
		Sub:      "Strict authorities refuse it. Copy the file again.",
	},
	"csr.part.malformed": {
		Headline: "A part of the signing request cannot be read",
		Sub:      "Authorities refuse it. Make a new request with the same key.",
	},
	"csr.signature.invalid": {
		Headline: "Signature of the request does not verify",
		Sub:      "No authority takes it: it was changed after signing, or signed with another key. Make a new request.",
	},
	"csr.signature.weak": {
		Headline: "Signature of the request uses a weak hash",
		Sub:      "Authorities refuse it. Sign a new request with SHA-256; the key can stay.",
	},
	"csr.key.algorithm": {
		Headline: "Key type of the request is not accepted",
		Sub:      "Public authorities certify keys of RSA and ECDSA only. Generate a new key.",
	},
	"csr.key.identifier": {
		Headline: "RSA key of the request is labeled in a way that is not allowed",
		Sub:      "Authorities must use rsaEncryption for RSA keys. Make a new request with a common RSA key.",
	},
	"csr.key.malformed": {
		Headline: "Public key of the request makes no sense",
		Sub:      "No authority takes it, and no client could use it. Generate a new key.",
	},
	"csr.key.rsa.size": {
		Headline: "RSA key of the request is too small",
		Sub:      "Authorities refuse keys below 2048 bits. Generate a new key.",
	},
	"csr.key.rsa.multiple": {
		Headline: "RSA key of the request has an odd size",
		Sub:      "Authorities refuse a modulus whose bits 8 does not divide. Generate a new key.",
	},
	"csr.key.rsa.exponent.invalid": {
		Headline: "RSA key of the request has an invalid exponent",
		Sub:      "Such a key protects nothing. Generate a new key.",
	},
	"csr.key.rsa.exponent.unusual": {
		Headline: "RSA key of the request has an unusual exponent",
		Sub:      "Many authorities accept 65537 only. Generate a new key.",
	},
	"csr.key.curve.forbidden": {
		Headline: "Elliptic curve of the key is not accepted",
		Sub:      "Public authorities certify keys on P-256, P-384 and P-521 only. Generate a new key.",
	},
	"csr.key.curve.explicit": {
		Headline: "Key gives its elliptic curve by parameters",
		Sub:      "Authorities and browsers accept named curves only. Generate a new key.",
	},
	"csr.key.curve.compressed": {
		Headline: "Key of the request is a compressed point",
		Sub:      "Let's Encrypt and others cannot read it. Generate a new key.",
	},
	"csr.key.debian": {
		Headline: "Key was made by the broken OpenSSL of Debian",
		Sub:      "Anybody can compute the private key. Generate a new key, and replace this one everywhere.",
	},
	"csr.key.blocklist": {
		Headline: "Private key of this request is public",
		Sub:      "Anybody can use it, and authorities refuse it. Generate a new key, and replace this one everywhere.",
	},
	"csr.key.roca": {
		Headline: "Key has the flaw ROCA",
		Sub:      "The private key can be computed from the public one. Generate a new key with other software.",
	},
	"csr.key.fermat": {
		Headline: "RSA key can be factored by Fermat's method",
		Sub:      "Anybody can compute the private key. Generate a new key with other software.",
	},
	"csr.key.small_factor": {
		Headline: "RSA modulus has a small factor",
		Sub:      "Anybody can compute the private key. Generate a new key with other software.",
	},
	"csr.key.shared_prime": {
		Headline: "RSA modulus shares a prime with another key",
		Sub:      "Anybody who has both can compute both private keys. Generate a new key with better randomness.",
	},
	"csr.key.small_secret": {
		Headline: "Private exponent follows from the public one",
		Sub:      "Anybody can compute the private key. Generate a new key with the exponent 65537.",
	},
	"csr.key.pattern": {
		Headline: "RSA modulus is not random",
		Sub:      "Keys with a pattern may be easy to factor. Generate a new key with other software.",
	},
	"csr.names.none": {
		Headline: "Signing request names no host",
		Sub:      "There is nothing to certify. Make a new request with a subjectAltName.",
	},
	"csr.names.san_missing": {
		Headline: "Signing request has no subjectAltName (SAN)",
		Sub:      "Many authorities add the common name by themselves, others refuse. Make a new request with the names.",
	},
	"csr.names.invalid": {
		Headline: "A name of the request is no host name",
		Sub:      "Authorities refuse it. Correct the name and make a new request with the same key.",
	},
	"csr.names.idn": {
		Headline: "An internationalized name of the request is not valid",
		Sub:      "Authorities refuse it. Convert the name from Unicode again.",
	},
	"csr.names.ip_as_dns": {
		Headline: "An IP address of the request is given as a host name",
		Sub:      "Authorities refuse it. Give it the type IP in a new request.",
	},
	"csr.names.wildcard": {
		Headline: "A wildcard of the request is not valid",
		Sub:      "The asterisk must be the whole of the first label, as in *.example.com.",
	},
	"csr.names.wildcard_suffix": {
		Headline: "A wildcard of the request covers a whole public suffix",
		Sub:      "Nobody owns all names below it, so that authorities refuse it. Ask for names in your own domain.",
	},
	"csr.names.public_suffix": {
		Headline: "A name of the request is a public suffix",
		Sub:      "Nobody can prove to own it, so that authorities refuse it. Ask for names in your own domain.",
	},
	"csr.names.internal": {
		Headline: "A name of the request is internal",
		Sub:      "Public authorities certify names of the public DNS only. Use a registered domain or your own authority.",
	},
	"csr.names.reverse": {
		Headline: "A name of the request is one of the reverse DNS",
		Sub:      "Authorities do not certify such names. Ask for the host name or for the address.",
	},
	"csr.names.reserved_ip": {
		Headline: "An IP address of the request is reserved",
		Sub:      "Public authorities certify public addresses only. Use a host name or an authority of your own.",
	},
	"csr.names.email": {
		Headline: "Signing request asks for a mail address",
		Sub:      "Certificates for servers cannot have one, and authorities refuse it. Leave it out.",
	},
	"csr.names.uri": {
		Headline: "Signing request asks for a URI",
		Sub:      "Certificates for servers cannot have one, and authorities refuse it. Leave it out.",
	},
	"csr.names.other": {
		Headline: "Signing request asks for a name of a type that is not allowed",
		Sub:      "Certificates for servers have host names and IP addresses only. Leave it out.",
	},
	"csr.names.duplicate": {
		Headline: "A name of the request is a duplicate",
		Sub:      "Most authorities drop the second one. Name each host once.",
	},
	"csr.cn.ip": {
		Headline: "Common name of the request is an IP address",
		Sub:      "Many authorities refuse that. Put the address among the names, or leave it out.",
	},
	"csr.cn.not_in_san": {
		Headline: "Common name of the request is not among its names",
		Sub:      "Some authorities add it, others refuse. Add it to the subjectAltName, or leave it out.",
	},
	"csr.subject.country": {
		Headline: "Country of the request is not a valid code",
		Sub:      "Authorities refuse it or leave the country out. Write the code of ISO 3166-1.",
	},
	"csr.subject.default": {
		Headline: "Subject of the request has default values",
		Sub:      "They say nothing about you. Leave them out, or write your own.",
	},
	"csr.subject.unit": {
		Headline: "Subject of the request has an organizational unit",
		Sub:      "Authorities leave it out since September 2022. Leave it out as well.",
	},
	"csr.constraints.ca": {
		Headline: "Signing request is for a certificate of an authority",
		Sub:      "No public authority signs another one on request. Make a request for a server.",
	},
	"csr.usage.signing": {
		Headline: "Signing request asks for the key usage of an authority",
		Sub:      "No public authority grants it to a server. Leave the key usage out.",
	},
	"csr.purpose.server": {
		Headline: "Signing request is not for a server",
		Sub:      "Its purposes lack serverAuth, without which browsers refuse a certificate. Leave the purposes out.",
	},
}
