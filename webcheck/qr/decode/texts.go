package decode

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "QR code read",
		Sub:      "Every code in the image was read without a warning.",
	},
	"warning": {
		Headline: "QR code read, with a weakness",
		Sub:      "The code can be read. The findings say what to improve, or to beware of.",
	},
	"invalid": {
		Headline: "QR code read, and it is not to be trusted",
		Sub:      "Do not open what the code holds. The findings say why.",
	},
	"missing": {
		Headline: "No QR code found in the image",
		Sub:      "Crop the image to the code, with a light margin around it, and make sure that it is sharp.",
	},
	"qr.image.unreadable": {
		Headline: "Image cannot be read",
		Sub:      "The file is broken or of an unknown kind. Send a PNG, JPEG, GIF, WebP or BMP file.",
	},
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
	"qr.otp.secret": {
		Headline: "QR code holds the secret of a second factor",
		Sub:      "Whoever sees the image can copy it. Treat the image as a password.",
	},
}
