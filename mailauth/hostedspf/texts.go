package hostedspf

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "The SPF record is flat and published",
		Sub:      "The published records authorise the same hosts with fewer look-ups. Nothing needs to be done.",
	},
	"warning": {
		Headline: "The SPF record is flat, and could be better",
		Sub:      "The records are up to date. The findings say what may need attention.",
	},
	"invalid": {
		Headline: "The SPF record needs attention",
		Sub:      "Mend the first finding first. Where it could not be flattened, the last good records stay published.",
	},
	"unknown": {
		Headline: "The SPF record could not be resolved in full",
		Sub:      "Name servers did not answer. The last good records stay published, and it is tried again soon.",
	},
	"spf.hosted.source.broken": {
		Headline: "The SPF record leads to one that is broken, and was not resolved",
		Sub:      "The last good records stay published. Remove the term that leads there, or have the record mended.",
	},
	"spf.hosted.source.own": {
		Headline: "The SPF source record includes what is made of it",
		Sub:      "The last good records stay published. Make the profile anew from the original record.",
	},
	"spf.hosted.source.large": {
		Headline: "The SPF record leads to more than can be looked up",
		Sub:      "The last good records stay published. Remove terms that are not needed.",
	},
	"spf.hosted.stays.relative": {
		Headline: "The SPF record has a term that cannot be moved",
		Sub:      "The last good records stay published. Leave that term in the domain's own record.",
	},
	"spf.hosted.lookups.exceeded": {
		Headline: "The flat SPF records do not fit into 9 look-ups",
		Sub:      "The last good records stay published. Remove services that are no longer used.",
	},
	"spf.hosted.lookups.near": {
		Headline: "The SPF record is flat, but nearly full",
		Sub:      "One or two services more, and it no longer fits. Remove what is not needed.",
	},
	"spf.hosted.all.pass": {
		Headline: "The SPF record lets everybody send for the domain",
		Sub:      "It ends with +all, which takes all protection away. Replace it by -all.",
	},
	"spf.hosted.domain.unused": {
		Headline: "The SPF records are ready, but the domain does not use them",
		Sub:      "Publish the suggested record, which hands over to the include host.",
	},
}
