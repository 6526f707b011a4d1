package markcert

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "Mark certificate is valid",
		Sub:      "Mailboxes that ask for one can show the logo. Whether it was revoked was not examined.",
	},
	"valid": {
		Headline: "Mark certificate is valid",
		Sub:      "Mailboxes that ask for one can show the logo. Whether it was revoked was not examined.",
	},
	"warning": {
		Headline: "Mark certificate is valid, with a weakness",
		Sub:      "Mailboxes can show the logo today. The findings say what to improve.",
	},
	"invalid": {
		Headline: "Mark certificate has a fault", Sub: "Some mailboxes show no logo. Fix the first finding first.",
	},
	"missing": {Headline: "There is no mark certificate", Sub: "Mailboxes that ask for one show no logo."},
	"unknown": {
		Headline: "Mark certificate could not be examined",
		Sub:      "Servers did not answer, so that there is no verdict. Check them and try again.",
	},
	"cert_pem_missing": {
		Headline: "There is no certificate in the text",
		Sub:      "Mailboxes that ask for a certificate show no logo. Publish the PEM file from the authority.",
	},
	"cert_invalid": {
		Headline: "Certificate cannot be read",
		Sub:      "Mailboxes that ask for a certificate show no logo. Copy the file from the authority again.",
	},
	"cert_not_vmc": {
		Headline: "This is not a mark certificate",
		Sub:      "Mailboxes show no logo for it. Publish the certificate that an authority for marks issued to you.",
	},
	"cert_expired": {
		Headline: "Mark certificate expired",
		Sub:      "Mailboxes that ask for a certificate show no logo any more. Renew it and publish it at the same URL.",
	},
	"cert_domain_mismatch": {
		Headline: "Mark certificate is for another domain",
		Sub:      "Mailboxes show no logo for this domain. Have the certificate reissued with the domain in it.",
	},
	"cert_url_invalid": {
		Headline: "URL of the mark certificate cannot be used",
		Sub:      "Receivers fetch certificates by https only, and show no logo. Publish it at an https URL.",
	},
	"cert_fetch_failed": {
		Headline: "Mark certificate cannot be fetched",
		Sub: "Mailboxes that ask for a certificate show no logo. Publish it at the URL, or correct the URL in the " +
			"record.",
	},
	"markcert.pem.private_key": {
		Headline: "Private key in the text of the certificate",
		Sub: "Whoever could read it can use it. Remove it, and have the certificate revoked and reissued with a new " +
			"key.",
	},
	"markcert.pem.form": {
		Headline: "Mark certificate is not encoded as PEM",
		Sub:      "Receivers read PEM only and show no logo. Convert the certificate, and add those of its issuers.",
	},
	"markcert.pem.several": {
		Headline: "More than one mark certificate in the text",
		Sub:      "Receivers may refuse them all. Leave the one that belongs to the record.",
	},
	"markcert.pem.order": {
		Headline: "Mark certificate is valid, its text is out of order",
		Sub:      "Receivers may refuse it as it stands. Put the mark certificate first, then its issuers.",
	},
	"markcert.validity.not_yet": {
		Headline: "Mark certificate is not yet valid",
		Sub:      "Mailboxes show no logo before that day. Leave the former certificate in place until then.",
	},
	"markcert.validity.urgent": {
		Headline: "Mark certificate expires within 14 days",
		Sub:      "Then mailboxes stop showing the logo. Renew it now, for the authority examines owner and mark again.",
	},
	"markcert.signature.weak": {
		Headline: "Mark certificate is signed with a broken algorithm",
		Sub:      "No receiver accepts it, and no logo is shown. Have it reissued.",
	},
	"markcert.chain.incomplete": {
		Headline: "Certificate of the issuer is missing from the text",
		Sub:      "Receivers cannot follow the chain and show no logo. Append the intermediate certificate to the text.",
	},
	"markcert.chain.invalid": {
		Headline: "Chain of the mark certificate is not valid",
		Sub:      "Receivers cannot verify it and show no logo. Publish the issuers that the authority delivered with it.",
	},
	"markcert.chain.untrusted": {
		Headline: "Mark certificate is not from a recognized authority",
		Sub:      "Mailboxes show no logo for it. Order one from an authority whose mark certificates they accept.",
	},
	"markcert.chain.expired": {
		Headline: "Certificate of an issuer is not valid now",
		Sub:      "The mark certificate itself is, yet mailboxes show no logo. Replace the certificate of the issuer.",
	},
	"markcert.chain.distrusted": {
		Headline: "Mark certificate is valid, but not accepted everywhere",
		Sub:      "A mailbox provider no longer accepts its authority. Order the next certificate from another one.",
	},
	"markcert.names.missing": {
		Headline: "Mark certificate names no domain",
		Sub:      "Receivers cannot tell for whom it is and show no logo. Have it reissued with the domain in it.",
	},
	"markcert.logotype.missing": {
		Headline: "Mark certificate holds no logo",
		Sub:      "There is nothing that mailboxes could show. Have it reissued with the logo in it.",
	},
	"markcert.logotype.malformed": {
		Headline: "Logo in the mark certificate cannot be read",
		Sub:      "Mailboxes cannot show it. Have the certificate reissued.",
	},
	"markcert.logo.size": {
		Headline: "Logo in the mark certificate is larger than 32 KiB",
		Sub:      "Mailboxes do not show it. Simplify the logo, then have the certificate reissued.",
	},
	"markcert.log.missing": {
		Headline: "Mark certificate has no proof that it was logged",
		Sub:      "Receivers ask for one at least and may show no logo. Have it reissued with timestamps of a log.",
	},
	"markcert.fetch.trust": {
		Headline: "Web server of the mark certificate is not trusted",
		Sub:      "Receivers do not fetch from it and show no logo. Renew the TLS certificate of the web server.",
	},
	"markcert.fetch.insecure": {
		Headline: "URL of the mark certificate redirects to plain http",
		Sub:      "Receivers fetch by https only and show no logo. Serve the certificate by https without a redirect.",
	},
	"markcert.fetch.unknown": {
		Headline: "Web server of the mark certificate did not answer",
		Sub:      "Nothing is known about the certificate. Check the server and try again.",
	},
	"markcert.domain.nxdomain": {
		Headline: "Domain does not exist",
		Sub:      "Nobody can send mail from it. Check the spelling, registration and delegation.",
	},
	"markcert.record.missing": {
		Headline: "Domain has no BIMI record, hence no mark certificate",
		Sub:      "Mail is not affected; no logo is shown. Publish a record if you want one.",
	},
	"markcert.record.several": {
		Headline: "More than one BIMI record, so receivers use none",
		Sub:      "No logo is shown. Remove all records of the selector but one.",
	},
	"markcert.record.declined": {
		Headline: "Domain declines to take part in BIMI",
		Sub:      "Its record says that no logo is to be shown, so that there is no certificate.",
	},
	"markcert.record.none_named": {
		Headline: "BIMI record names no mark certificate",
		Sub:      "Gmail and Apple Mail show no logo without one; other mailboxes may.",
	},
	"markcert.record.invalid": {
		Headline: "BIMI record that names the certificate is not valid",
		Sub:      "Receivers ignore it and show no logo. Correct the record.",
	},
}
