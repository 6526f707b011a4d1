package logo

import "github.com/diagkit/diagkit/diag"

// notShown is the consequence of most faults.
const notShown = "Receivers do not show it. "

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "The BIMI logo can be fetched and follows SVG Tiny PS",
		Sub:      "Receivers can show it, if the domain's DMARC policy is enforced; many also ask for a certificate.",
	},
	"bimi.logo.record.unknown": {
		Headline: "The BIMI record could not be looked up",
		Sub:      "The name servers did not answer, so the logo is not known. Check them and try again.",
	},
	"bimi.logo.domain.nxdomain": {
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
		Headline: "The BIMI logo is not an SVG image", Sub: notShown + "Export the original drawing as SVG Tiny PS.",
	},
	"bimi.logo.xml": {
		Headline: "The BIMI logo is not well-formed XML",
		Sub:      notShown + "Export it again and upload the file without changing it.",
	},
	"bimi.logo.encoding": {
		Headline: "The BIMI logo has characters that cannot be read", Sub: notShown + "Save the file in UTF-8.",
	},
	"bimi.logo.script": {
		Headline: "The BIMI logo contains a script", Sub: notShown + "Remove it, and find out how it came there.",
	},
	"bimi.logo.event_handler": {
		Headline: "The BIMI logo contains event handlers", Sub: notShown + "Remove all attributes that begin with on.",
	},
	"bimi.logo.external": {
		Headline: "The BIMI logo loads from other addresses", Sub: notShown + "Draw everything into the file itself.",
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
