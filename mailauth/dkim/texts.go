package dkim

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// textsOffline are those of a record that need not be published.
var textsOffline = func() diag.Texts {
	t := maps.Clone(texts)
	valid := diag.Text{Headline: "DKIM record is valid",
		Sub: "Verifiers can use the key once the record is published at its selector."}
	t["excellent"], t["valid"] = valid, valid
	return t
}()

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "DKIM key is published correctly",
		Sub:      "Verifiers find the key and can use it. The header of a message shows whether your mail is signed with it.",
	},
	"valid": {
		Headline: "DKIM key is published correctly",
		Sub:      "Verifiers find the key and can use it. The header of a message shows whether your mail is signed with it.",
	},
	"warning": {
		Headline: "DKIM key works but has a weakness",
		Sub:      "Verifiers use the key. The findings say what to improve.",
	},
	"invalid": {
		Headline: "DKIM key is broken: verifiers do not use it",
		Sub:      "Mail signed with it counts as unsigned. Fix the first finding first.",
	},
	"missing": {
		Headline: "No DKIM key at this selector",
		Sub:      "Mail signed with it counts as unsigned. Publish the key, or check the selector.",
	},
	"unknown": {
		Headline: "DKIM key could not be looked up",
		Sub:      "The name servers did not answer. Check them and try again.",
	},
	"dkim.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "It can have no DKIM keys. Check the spelling, registration and delegation.",
	},
	"dkim.record.unknown": {
		Headline: "DKIM key could not be looked up",
		Sub:      "The name servers failed or did not answer, so whether there is a key is unknown. Check them and try again.",
	},
	"dkim.record.alias.dangling": {
		Headline: "CNAME of the DKIM selector leads to no key",
		Sub:      "Mail signed with it counts as unsigned. The key must be published where the CNAME leads.",
	},
	"dkim.record.misplaced": {
		Headline: "No DKIM key at this selector: it is published at the wrong name",
		Sub:      "Verifiers do not find it there. Move the record to the name of the selector.",
	},
	"dkim.record.split": {
		Headline: "DKIM key is spread over several TXT records and cannot be used",
		Sub:      "Verifiers do not combine records. Publish the suggested record as one.",
	},
	"dkim.record.multiple": {
		Headline: "More than one DKIM key at this selector",
		Sub:      "Which one verifiers use is not defined, so signatures may fail. Keep the one that signs.",
	},
	"dkim.record.order": {
		Headline: "Strings of the DKIM record are out of order",
		Sub:      "Verifiers read no key from it. Publish the suggested record.",
	},
	"dkim.record.version": {
		Headline: "DKIM record does not begin with v=DKIM1 and is discarded",
		Sub:      "Mail signed with the key counts as unsigned. Put v=DKIM1 first, exactly so.",
	},
	"dkim.record.syntax": {
		Headline: "DKIM record has a syntax error",
		Sub:      "Strict verifiers ignore the record. Correct what the finding names.",
	},
	"dkim.record.repeated": {
		Headline: "DKIM record has a tag twice and is not valid",
		Sub:      "Strict verifiers ignore the record. Remove the second one.",
	},
	"dkim.record.joined": {
		Headline: "DKIM record lacks a semicolon between two of its strings",
		Sub:      "Verifiers join strings and read one tag instead of two. Publish the suggested record.",
	},
	"dkim.record.string.long": {
		Headline: "DKIM record has a string of more than 255 bytes",
		Sub:      "It cannot be published like this. Split it into strings of at most 255 bytes.",
	},
	"dkim.key.exponent.small": {
		Headline: "DKIM key works, but its RSA exponent is small",
		Sub:      "Flawed verifiers may accept forged signatures. Use the exponent 65537 for the next key.",
	},
	"dkim.record.granularity": {
		Headline: "DKIM key works, but an obsolete tag g= limits it",
		Sub:      "Present verifiers ignore the tag; old ones refuse the key. Remove it.",
	},
	"dkim.record.other": {
		Headline: "DKIM key is not the only TXT record at this selector",
		Sub:      "Some verifiers join all of them and then read no key. Remove the other record.",
	},
	"dkim.key.missing": {
		Headline: "DKIM record has no public key (p=)",
		Sub:      "Verifiers ignore the record. Add the tag p with the key.",
	},
	"dkim.key.revoked": {
		Headline: "DKIM key has been revoked (p= is empty)",
		Sub:      "Signatures made with it fail. Leave it if nothing signs with it; else sign with a new key.",
	},
	"dkim.key.type.unknown": {
		Headline: "DKIM record has an unknown key type (k=) and is ignored",
		Sub:      "Mail signed with the key counts as unsigned. Write k=rsa or k=ed25519.",
	},
	"dkim.key.type.mismatch": {
		Headline: "DKIM key is not of the type that k= says",
		Sub:      "No signature verifies with it. Name the type of the key that is published.",
	},
	"dkim.key.private": {
		Headline: "Private DKIM key is published in the DNS record",
		Sub:      "Whoever has read it can sign as the domain. Remove it and generate a new key.",
	},
	"dkim.key.base64": {
		Headline: "DKIM public key is not valid base64",
		Sub:      "Verifiers cannot read the key. Put only the base64 text of the key behind p=.",
	},
	"dkim.key.truncated": {
		Headline: "DKIM public key is cut off",
		Sub:      "No signature verifies. Publish the whole key, in several strings of one TXT record.",
	},
	"dkim.key.unreadable": {
		Headline: "DKIM public key cannot be read",
		Sub:      "No signature verifies. Copy the key again from the system that signs.",
	},
	"dkim.key.ed25519.wrapped": {
		Headline: "DKIM Ed25519 key is not in its raw form of 32 bytes",
		Sub:      "Verifiers refuse it. Publish the suggested record, which holds the same key.",
	},
	"dkim.key.rsa.bare": {
		Headline: "DKIM key is in a form that several verifiers cannot read",
		Sub:      "Others use it. Publish the suggested record, which holds the same key.",
	},
	"dkim.key.factor": {
		Headline: "DKIM key is weak: anybody can compute the private key",
		Sub:      "Whoever does can sign as the domain. Replace the key at once.",
	},
	"dkim.key.exponent.invalid": {
		Headline: "DKIM key is not valid: its exponent cannot be that of an RSA key",
		Sub:      "Verifiers refuse it. Generate a new key.",
	},
	"dkim.key.size.refused": {
		Headline: "DKIM key is too short: RSA with fewer than 1024 bits",
		Sub:      "Verifiers must refuse it, and it can be broken. Replace it with a key of 2048 bits.",
	},
	"dkim.key.size.short": {
		Headline: "DKIM key works, but RSA with fewer than 2048 bits is weak",
		Sub:      "Replace it with a key of 2048 bits at a new selector.",
	},
	"dkim.key.size.long": {
		Headline: "DKIM key is longer than verifiers must support (4096 bits)",
		Sub:      "Some verifiers do not use it. Replace it with a key of 2048 bits at a new selector.",
	},
	"dkim.hash.refused": {
		Headline: "DKIM record (h=) excludes sha256, so no signature is accepted",
		Sub:      "Verifiers must not accept sha1. Remove the tag h.",
	},
	"dkim.service.refused": {
		Headline: "DKIM key is not for mail: its service type (s=) excludes it",
		Sub:      "Verifiers of mail do not use it. Remove the tag s.",
	},
	"dkim.flag.testing": {
		Headline: "DKIM key is in testing mode (t=y)",
		Sub:      "Verifiers treat the mail as if it were not signed. Remove the flag once signatures verify.",
	},
}
