package dmarcbis

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict of a check says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "DMARC record is ready for RFC 9989",
		Sub:      "Receivers of both standards find the record and use it as it was meant. Watch the aggregate reports.",
	},
	"valid": {
		Headline: "DMARC record works under RFC 9989",
		Sub:      "Receivers find the record and use it. The findings say what could be tidied up.",
	},
	"warning": {
		Headline: "DMARC works under RFC 9989, with a caveat",
		Sub:      "Receivers find a record, but not all of them use it as it was meant. Read the first finding.",
	},
	"invalid": {
		Headline: "DMARC does not work under RFC 9989",
		Sub:      "Receivers cannot use what is published. Fix the first finding first.",
	},
	"missing": {
		Headline: "No DMARC record applies to the domain",
		Sub:      "Receivers have no policy for mail from it. Publish a record with p=none and an address for reports.",
	},
	"unknown": {
		Headline: "The tree walk could not be completed",
		Sub:      "Name servers did not answer, so that there is no verdict. Try again in a few minutes.",
	},
	"dmarcbis.record.unknown": {
		Headline: "DMARC record could not be looked up",
		Sub:      "Name servers failed to answer, so that it is not known which policy applies. Check them and try again.",
	},
	"dmarcbis.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "The DNS answers NXDOMAIN. Check the spelling, registration and delegation.",
	},
	"dmarcbis.record.missing.no_mail": {
		Headline: "No DMARC record for a domain that receives no mail",
		Sub:      "Anyone can forge mail from it. If nothing sends from it, publish the p=reject record that is suggested.",
	},
	"dmarcbis.record.missing.suffix": {
		Headline: "No DMARC record on a public suffix",
		Sub:      "That is usual. A record here would apply to every domain below it that has none of its own.",
	},
	"dmarcbis.record.missing.suffix.mail": {
		Headline: "No DMARC record on a public suffix that receives mail",
		Sub:      "Anyone can forge mail from it. A record of its operator declares psd=y, and applies to all domains below it.",
	},
	"dmarcbis.record.alias": {
		Headline: "CNAME at _dmarc leads to no DMARC record",
		Sub:      "For receivers there is no record. Have it published at the target, or replace the alias by a TXT record.",
	},
	"dmarcbis.record.multiple": {
		Headline: "More than one DMARC record at a name, so receivers use none",
		Sub:      "Remove all records but one; until then the policy there has no effect.",
	},
	"dmarcbis.record.stray": {
		Headline: "Receivers do not recognize the DMARC record",
		Sub:      "The text does not begin exactly with v=DMARC1, so that it is ignored. Correct its beginning.",
	},
	"dmarcbis.record.unusable": {
		Headline: "DMARC record is found, but receivers cannot use it",
		Sub:      "For receivers the domain has no DMARC. Correct the record as the first finding says.",
	},
	"dmarcbis.policy.invalid": {
		Headline: "DMARC policy cannot be read, and p=none is assumed",
		Sub:      "Receivers send reports and apply nothing. Correct the policy once the reports are clean.",
	},
	"dmarcbis.policy.absent": {
		Headline: "DMARC record has no p, and p=none is assumed",
		Sub:      "Receivers send reports and apply nothing. Add the policy.",
	},
	"dmarcbis.obsolete.pct": {
		Headline: "pct is obsolete: RFC 9989 applies the policy to all mail",
		Sub:      "Receivers of RFC 7489 still apply it to a share. Replace pct, and choose a policy for all mail.",
	},
	"dmarcbis.legacy.t": {
		Headline: "DMARC policy is only tested (t=y) under RFC 9989",
		Sub:      "Receivers of RFC 7489 do not know t and apply the policy in full. Decide, and remove t=y.",
	},
	"dmarcbis.legacy.organizational": {
		Headline: "Tree walk and public suffix list find different organizations",
		Sub:      "Old and new receivers may align the same mail differently. The explanation says where they part.",
	},
	"dmarcbis.legacy.policy": {
		Headline: "Old and new receivers apply different DMARC records",
		Sub:      "Publish a record at the domain itself, which receivers of both standards look at first.",
	},
	"dmarcbis.legacy.order": {
		Headline: "DMARC works under RFC 9989, but p is not the second tag",
		Sub:      "Receivers that follow RFC 7489 to the letter do not find the policy. Move p behind the version.",
	},
	"dmarcbis.psd.missing": {
		Headline: "The record of a public suffix applies, and lacks psd=y",
		Sub:      "All domains below count as one organization. Its operator should declare psd=y.",
	},
	"dmarcbis.psd.wrong": {
		Headline: "psd=y is declared where no public suffix is known",
		Sub:      "The domains below count as organizations of their own. Remove psd=y if they are not.",
	},
}
