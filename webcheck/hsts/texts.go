package hsts

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// texts are what the verdict says in words, where a rule does not say it as well.
var texts = diag.Texts{
	"valid": {Headline: "HSTS is in force", Sub: "Browsers that have visited the site return over HTTPS only."},
	"hsts.include_subdomains.missing": {
		Headline: "HSTS is in force for this host, without its subdomains",
		Sub:      "Add includeSubDomains once every subdomain speaks HTTPS.",
	},
}

// praise is what the verdict says of a header without a fault, by its grade and status.
var praise = map[Grade]diag.Text{
	gradePreloadReady: {
		Headline: "HSTS is in force, and the domain is ready for the preload list",
		Sub:      "It can be submitted at hstspreload.org. Do so only if all subdomains keep HTTPS for good.",
	},
	gradePreloaded: {
		Headline: "HSTS is in force, and the domain is preloaded",
		Sub:      "Browsers use HTTPS from the first visit on. Keep the header as it is.",
	},
}

// pendingText is what it says of a domain that was submitted.
var pendingText = diag.Text{
	Headline: "HSTS is in force, and preloading is pending",
	Sub:      "Browsers will ship it in a future version. Keep the header as it is.",
}

// texts returns what the verdict says of this evidence.
func (e *evidence) texts() diag.Texts {
	text, ok := praise[e.grade()]
	if e.entry != nil && e.entry.Pending && e.eligible() {
		text, ok = pendingText, true
	}
	if !ok {
		return texts
	}
	t := maps.Clone(texts)
	t[string(diag.Valid)] = text
	return t
}
