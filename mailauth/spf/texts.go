package spf

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "SPF is set up without a fault",
		Sub:      "Receivers can tell who may send mail for the domain. Look at it again when a service is added.",
	},
	"valid": {
		Headline: "SPF is set up and works",
		Sub:      "Receivers can tell who may send mail for the domain. The findings say what could be tidied up.",
	},
	"warning": {
		Headline: "SPF works, and could be better",
		Sub:      "Receivers can evaluate the record. The findings say what weakens it or may break it.",
	},
	"invalid": {
		Headline: "SPF is broken",
		Sub:      "Receivers cannot rely on the record as it is. Mend the first finding first.",
	},
	"missing": {
		Headline: "There is no SPF record",
		Sub:      "Receivers cannot tell who may send mail for the domain. Publish a record that lists its senders.",
	},
	"unknown": {
		Headline: "SPF could not be examined in full",
		Sub:      "Name servers did not answer, so that nothing can be said for certain. Try again in a few minutes.",
	},
	"spf.record.unknown": {
		Headline: "The name servers did not say whether there is an SPF record",
		Sub:      "Receivers put mail off while that lasts. Check the name servers of the domain, and try again.",
	},
	"spf.domain.missing": {
		Headline: "The domain does not exist, so it has no SPF record",
		Sub:      "Nobody can send mail from it that is accepted. Check the spelling and the delegation.",
	},
	"spf.tree.unknown": {
		Headline: "SPF is published, but not all of it could be looked up",
		Sub:      "A name server did not answer for a part of it; receivers put mail off then. Try again in a few minutes.",
	},
	"spf.record.version": {
		Headline: "The SPF record does not begin with v=spf1 and is discarded",
		Sub:      "For receivers there is no SPF record. Publish the one that the recommendation suggests.",
	},
	"spf.record.multiple": {
		Headline: "There are several SPF records, so receivers use none",
		Sub:      "Every evaluation ends in permerror. Merge them into one record.",
	},
	"spf.all.pass": {
		Headline: "The SPF record lets everybody send for the domain",
		Sub:      "It ends with +all, which takes all protection away. Replace it by -all.",
	},
	"spf.include.pass": {
		Headline: "An included SPF record lets everybody send for the domain",
		Sub:      "It ends with +all, and passes for every host. Remove the include at once.",
	},
	"spf.network.everyone": {
		Headline: "The networks of the SPF record are the whole Internet",
		Sub:      "Everybody may send for the domain. Narrow them to the hosts that send.",
	},
	"spf.exists.everyone": {
		Headline: "An exists in the SPF record lets everybody pass",
		Sub:      "Its name exists whoever sends. Put a macro into it, or use another mechanism.",
	},
	"spf.lookups.exceeded": {
		Headline: "SPF needs too many DNS look-ups, and ends in permerror",
		Sub:      "Receivers stop at the eleventh. Remove includes that are not needed, or put networks in their place.",
	},
	"spf.mx.exceeded": {
		Headline: "SPF leads to too many mail exchangers, and ends in permerror",
		Sub:      "Receivers accept ten behind one mx. List the addresses instead.",
	},
	"spf.voids.exceeded": {
		Headline: "SPF asks for too many names that do not exist",
		Sub:      "Receivers accept two, and end in permerror. Remove the terms that lead nowhere.",
	},
	"spf.include.loop": {
		Headline: "SPF includes itself, and ends in permerror",
		Sub:      "Receivers go round until they give up. Remove the include that leads back.",
	},
	"spf.redirect.loop": {
		Headline: "SPF redirects to itself, and ends in permerror",
		Sub:      "Receivers go round until they give up. Let redirect lead to a record that ends with all.",
	},
	"spf.include.missing": {
		Headline: "SPF includes a domain that has no SPF record",
		Sub:      "Receivers that come to it end in permerror. Remove the include, or correct its domain.",
	},
	"spf.redirect.missing": {
		Headline: "SPF redirects to a domain that has no SPF record",
		Sub:      "Receivers end in permerror. Correct the domain, or list the hosts in the record itself.",
	},
	"spf.include.multiple": {
		Headline: "SPF leads to a domain that has several SPF records",
		Sub:      "Receivers that come to it end in permerror. Remove the term until those are merged.",
	},
	"spf.include.syntax": {
		Headline: "SPF leads to a record with an error in its syntax",
		Sub:      "Receivers that come to it end in permerror. Remove the term until that is mended.",
	},
	"spf.all.missing": {
		Headline: "The SPF record does not say what to think of other hosts",
		Sub:      "For them the result is neutral, as without a record. End it with -all or ~all.",
	},
	"spf.all.neutral": {
		Headline: "The SPF record ends with ?all, and so rules nobody out",
		Sub:      "For other hosts the result is neutral, as without a record. End it with -all or ~all.",
	},
	"spf.lookups.near": {
		Headline: "SPF works, but is close to the limit of 10 DNS look-ups",
		Sub:      "One more in any of the records ends in permerror. Remove what is not needed.",
	},
	"spf.ptr": {
		Headline: "SPF works, but uses ptr, which should not be used",
		Sub:      "It is slow, and some receivers do not evaluate it. Replace it by addresses.",
	},
	"spf.record.location": {
		Headline: "The SPF record is published at the wrong name",
		Sub:      "Receivers look at the domain itself only. Publish it there.",
	},
	"spf.syntax.length":           brokenText,
	"spf.syntax.character":        brokenText,
	"spf.syntax.qualifier":        brokenText,
	"spf.syntax.mechanism":        brokenText,
	"spf.syntax.modifier":         brokenText,
	"spf.syntax.modifier.colon":   brokenText,
	"spf.syntax.glued":            brokenText,
	"spf.syntax.value.missing":    brokenText,
	"spf.syntax.value.unexpected": brokenText,
	"spf.syntax.ip4":              brokenText,
	"spf.syntax.ip6":              brokenText,
	"spf.syntax.family":           brokenText,
	"spf.syntax.network_macro":    brokenText,
	"spf.syntax.prefix":           brokenText,
	"spf.syntax.domain":           brokenText,
	"spf.syntax.macro":            brokenText,
	"spf.syntax.repeated":         brokenText,
}

// brokenText speaks for every error in the syntax: receivers do not care which it is.
var brokenText = diag.Text{
	Headline: "The SPF record has an error in its syntax, and is not evaluated",
	Sub:      "Receivers end in permerror, whoever sends. Correct what the findings point to.",
}
