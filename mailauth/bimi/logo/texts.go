package logo

import "github.com/diagkit/diagkit/diag"

// notShown is the consequence of most faults.
const notShown = "Receivers do not show it. "

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "The BIMI logo can be fetched and follows SVG Tiny PS",
		Sub:      "Receivers can show it, if the domain's DMARC policy is enforced; many also ask for a certificate.",
	},
	"valid": {
		Headline: "The BIMI logo can be fetched and follows SVG Tiny PS",
		Sub:      "Receivers can show it, if the domain's DMARC policy is enforced; many also ask for a certificate.",
	},
	"warning": {
		Headline: "The BIMI logo has a weakness",
		Sub:      "Some receivers do not show it, or not as it was meant. The findings say what to change.",
	},
	"invalid": {
		Headline: "The BIMI logo does not follow SVG Tiny PS",
		Sub:      notShown + "The findings say what to change in the drawing and its export.",
	},
	"missing": {
		Headline: "The domain publishes no BIMI logo",
		Sub:      "Mailboxes show initials or nothing beside its messages. Nothing is broken.",
	},
	"unknown": {
		Headline: "The BIMI logo could not be examined",
		Sub:      "Servers did not answer, so that there is no verdict. Try again in a few minutes.",
	},
	"bimi.logo.record.unknown": {
		Headline: "The BIMI record could not be looked up",
		Sub:      "The name servers did not answer, so the logo is not known. Check them and try again.",
	},
	"bimi.logo.unknown": {
		Headline: "The BIMI logo could not be fetched: no answer",
		Sub:      "The web server was silent or too slow. Check it and try again in a few minutes.",
	},
	"bimi.logo.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "It can have no logo. Check the spelling, the registration and the delegation.",
	},
	"bimi.logo.record.declined": {
		Headline: "The domain declines to have a logo shown",
		Sub:      "The BIMI record says so with an empty l. There is no logo to examine.",
	},
	"bimi.logo.record.multiple": {
		Headline: "More than one BIMI record, so receivers use none",
		Sub:      "Remove all but one. The logo was not examined.",
	},
	"bimi.logo.record.http": {
		Headline: "The BIMI logo has an http address, which receivers do not fetch",
		Sub:      "Serve the logo by https, then change the address in l. The logo was not examined.",
	},
	"bimi.logo.record.address": {
		Headline: "The BIMI record has no usable address of a logo",
		Sub:      "Receivers find no logo. Correct the tag l. The logo was not examined.",
	},
	"bimi.logo.redirect.loop": {
		Headline: "The address of the BIMI logo redirects without an end",
		Sub:      "Receivers cannot fetch the logo. Serve it at the address itself.",
	},
	"bimi.logo.redirect.http": {
		Headline: "The BIMI logo redirects to http, which receivers do not fetch",
		Sub:      "Receivers show no logo. Serve it by https at the address in the record.",
	},
	"bimi.logo.host.missing": {
		Headline: "The host of the BIMI logo has no address",
		Sub:      "Receivers cannot fetch the logo. Correct the host in the address, or give it an address record.",
	},
	"bimi.logo.connection": {
		Headline: "The web server of the BIMI logo cannot be reached",
		Sub:      "Receivers cannot fetch the logo. Let a web server answer at this address.",
	},
	"bimi.logo.tls.handshake": {
		Headline: "The TLS handshake with the web server of the BIMI logo failed",
		Sub:      "Receivers cannot fetch the logo. Configure TLS on the web server.",
	},
	"bimi.logo.certificate.expired": {
		Headline: "The certificate of the BIMI logo's web server has expired",
		Sub:      "Receivers do not fetch the logo. Renew the certificate and automate renewal.",
	},
	"bimi.logo.certificate.untrusted": {
		Headline: "The certificate of the BIMI logo's web server is not trusted",
		Sub:      "Receivers do not fetch the logo. Install a certificate of a public authority with its whole chain.",
	},
	"bimi.logo.certificate.name": {
		Headline: "The certificate does not cover the host of the BIMI logo",
		Sub:      "Receivers do not fetch the logo. Get a certificate that lists the host.",
	},
	"bimi.logo.http": {
		Headline: "The web server of the BIMI logo does not answer in valid HTTP",
		Sub:      "Receivers cannot fetch the logo. Check the web server.",
	},
	"bimi.logo.status": {
		Headline: "The web server does not serve the BIMI logo",
		Sub:      "Receivers show no logo. Upload it to this address, or correct the address in the BIMI record.",
	},
	"bimi.logo.length": {
		Headline: "The BIMI logo is far too large",
		Sub:      notShown + "Draw it with shapes alone and export it again in at most 32 KiB.",
	},
	"bimi.logo.compression": {
		Headline: "The BIMI logo is compressed, and damaged",
		Sub:      notShown + "Upload the file again, or serve it without compression.",
	},
	"bimi.logo.format": {
		Headline: "The BIMI logo is not an SVG image",
		Sub:      notShown + "Export the original drawing as SVG Tiny PS.",
	},
	"bimi.logo.xml": {
		Headline: "The BIMI logo is not well-formed XML",
		Sub:      notShown + "Export it again and upload the file without changing it.",
	},
	"bimi.logo.encoding": {
		Headline: "The BIMI logo has characters that cannot be read",
		Sub:      notShown + "Save the file in UTF-8.",
	},
	"bimi.logo.script": {
		Headline: "The BIMI logo contains a script",
		Sub:      notShown + "Remove it, and find out how it came there.",
	},
	"bimi.logo.event_handler": {
		Headline: "The BIMI logo contains event handlers",
		Sub:      notShown + "Remove all attributes that begin with on.",
	},
	"bimi.logo.external": {
		Headline: "The BIMI logo loads from other addresses",
		Sub:      notShown + "Draw everything into the file itself.",
	},
	"bimi.logo.raster": {
		Headline: "The BIMI logo contains a raster image",
		Sub:      notShown + "Redraw or trace the picture with shapes, then delete the embedded image.",
	},
	"bimi.logo.animation": {
		Headline: "The BIMI logo is animated",
		Sub:      notShown + "Remove the animation and keep one state of the picture.",
	},
	"bimi.logo.size": {
		Headline: "The BIMI logo is larger than 32 KiB",
		Sub:      "Receivers refuse it, also if it is compressed. Simplify the drawing and export it again.",
	},
	"bimi.logo.square": {
		Headline: "The BIMI logo is not square",
		Sub:      "Mailboxes crop or shrink it. Place it on a square artboard and export it again.",
	},
	"bimi.logo.redirect": {
		Headline: "The BIMI logo is behind a redirect",
		Sub:      "Not every receiver follows redirects. Write the last address into the BIMI record.",
	},
	"bimi.logo.content_type": {
		Headline: "The BIMI logo is served with the wrong media type",
		Sub:      "Some receivers refuse it. Let the web server send Content-Type: image/svg+xml.",
	},
}
