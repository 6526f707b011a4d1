package decode

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words, where title and advice of the gravest finding do not say it better.
var texts = diag.Texts{
	"valid": {Headline: "QR code read", Sub: "No fault was found in what was read of the image."},
	"qr.code.damaged": {
		Headline: "QR code read, but hardly",
		Sub:      "Other readers may fail. Print the code anew, or take a sharper picture.",
	},
	"qr.append.incomplete": {
		Headline: "QR code read; it is a part of a longer text",
		Sub:      "The text is spread over several codes. Send an image that shows all of them.",
	},
	"qr.url.http": {
		Headline: "QR code leads to a page without encryption",
		Sub:      "What is sent can be read and changed on the way. Make the code anew with https.",
	},
	"qr.url.lookalike": {
		Headline: "QR code leads to a host that can be taken for another",
		Sub:      "Examine the URL with phishing/check before you open it.",
	},
}
