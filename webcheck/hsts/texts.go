package hsts

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

// texts are what the verdict says in words.
var texts = diag.Texts{
	"valid": {
		Headline: "HSTS is in force",
		Sub:      "Browsers that have visited the site come back over HTTPS only.",
	},
	"warning": {
		Headline: "HSTS is in force but has a weakness",
		Sub:      "Browsers obey the header. The findings say what would make it protect better.",
	},
	"invalid": {
		Headline: "HSTS does not protect the site",
		Sub:      "Browsers ignore it, or are led past it. Fix the first finding first.",
	},
	"missing": {
		Headline: "HSTS is missing: no Strict-Transport-Security header",
		Sub:      "Attackers can keep visitors on plain HTTP. Send the header with a short max-age, then raise it in stages.",
	},
	"unknown": {
		Headline: "HSTS could not be examined: the site did not answer",
		Sub:      "Nothing is known about its header. Check that port 443 answers and run the check again.",
	},
	"hsts.domain.unknown": {
		Headline: "HSTS could not be examined: the DNS lookup failed",
		Sub:      "The name servers did not answer. Check them and try again.",
	},
	"hsts.domain.missing": {
		Headline: "Domain does not exist",
		Sub:      "There is no site to protect. Check the spelling, registration and delegation.",
	},
	"hsts.domain.address": {
		Headline: "Domain has no address, and so no web site",
		Sub:      "There is no site to protect. Give the domain an address, or check another host.",
	},
	"hsts.https.unreachable": {
		Headline: "Site cannot be reached over HTTPS, which HSTS needs",
		Sub:      "Nothing usable answers on port 443. Set up HTTPS first, and HSTS after it.",
	},
	"hsts.https.locked_out": {
		Headline: "Preloaded domain cannot be opened: HTTPS does not work",
		Sub:      "Browsers use nothing but HTTPS for it. Restore HTTPS with a valid certificate at once.",
	},
	"hsts.certificate.untrusted": {
		Headline: "Certificate is not trusted, so browsers ignore HSTS",
		Sub:      "Visitors see a warning, and the header has no effect. Install a valid certificate.",
	},
	"hsts.certificate.expiring": {
		Headline: "Certificate of the HSTS site expires soon",
		Sub:      "Once it has expired, HSTS keeps visitors from clicking through the warning. Renew it.",
	},
	"hsts.tls.obsolete": {
		Headline: "HSTS is in force over obsolete TLS settings",
		Sub:      "Browsers are about to drop them. Enable TLS 1.3 and modern cipher suites.",
	},
	"hsts.header.http_only": {
		Headline: "HSTS header is sent over plain HTTP only, where it is ignored",
		Sub:      "Browsers obey it over HTTPS alone. Send it from the HTTPS site, with a short max-age at first.",
	},
	"hsts.header.missing_listed": {
		Headline: "Domain is preloaded, but sends no HSTS header",
		Sub:      "Browsers with the preload list use HTTPS all the same; other clients do not. Send the header.",
	},
	"hsts.header.syntax": {
		Headline: "HSTS header is malformed, and browsers ignore it",
		Sub:      "The site is as unprotected as without it. Correct the header.",
	},
	"hsts.header.repeated": {
		Headline: "HSTS header repeats a directive, and browsers ignore it",
		Sub:      "The site is as unprotected as without the header. Remove the repetition.",
	},
	"hsts.max_age.missing": {
		Headline: "HSTS header has no max-age, and browsers ignore it",
		Sub:      "The site is as unprotected as without the header. Add a max-age.",
	},
	"hsts.max_age.invalid": {
		Headline: "HSTS header has an invalid max-age, and browsers ignore it",
		Sub:      "The site is as unprotected as without the header. Write max-age as a number of seconds.",
	},
	"hsts.include_subdomains.value": {
		Headline: "HSTS header gives includeSubDomains a value, and is ignored",
		Sub:      "The site is as unprotected as without the header. Write the directive alone.",
	},
	"hsts.header.multiple": {
		Headline: "Several HSTS headers are sent, and only the first counts",
		Sub:      "hstspreload.org refuses several. Send the header from one place only.",
	},
	"hsts.header.misspelled": {
		Headline: "HSTS header has a misspelled directive, which browsers skip",
		Sub:      "The rest of the header is in force. Correct the spelling once every subdomain speaks HTTPS.",
	},
	"hsts.max_age.zero": {
		Headline: "max-age=0 switches HSTS off",
		Sub:      "Browsers forget that the site wants HTTPS. Set a short max-age and raise it in stages.",
	},
	"hsts.max_age.short": {
		Headline: "HSTS is in force, but its max-age is short",
		Sub:      "Who comes back after that is not protected. Raise max-age in stages up to two years.",
	},
	"hsts.include_subdomains.missing": {
		Headline: "HSTS is in force for this host, without its subdomains",
		Sub:      "Add includeSubDomains once every subdomain speaks HTTPS.",
	},
	"hsts.redirect.missing": {
		Headline: "Plain HTTP does not redirect to HTTPS",
		Sub:      "A first visit over HTTP stays unencrypted, and HSTS never begins. Redirect to HTTPS.",
	},
	"hsts.redirect.insecure": {
		Headline: "Plain HTTP redirects to plain HTTP first",
		Sub:      "A first visit stays open to attackers for longer. Redirect to HTTPS on the same host first.",
	},
	"hsts.redirect.host": {
		Headline: "Plain HTTP redirects to another host first",
		Sub:      "Browsers never see the HSTS header of this host. Redirect to HTTPS on the same host first.",
	},
	"hsts.redirect.header": {
		Headline: "Redirect from HTTP leads to a page without a valid HSTS header",
		Sub:      "Visitors who come over HTTP do not learn of HSTS. Send the header from every HTTPS answer.",
	},
	"hsts.redirect.downgrade": {
		Headline: "HTTPS redirects back to plain HTTP",
		Sub:      "Visitors lose encryption, or end in a circle once HSTS is in force. Let every redirect lead to HTTPS.",
	},
	"hsts.redirect.many": {
		Headline: "Too many redirects before the page",
		Sub:      "hstspreload.org follows three. Shorten the chain.",
	},
	"hsts.redirect.broken": {
		Headline: "Redirect leads to a page that cannot be fetched",
		Sub:      "Visitors end at an error. Let the redirect lead to a page that answers over HTTPS.",
	},
	"hsts.www.cut_off": {
		Headline: "includeSubDomains cuts off www, which lacks valid HTTPS",
		Sub:      "Browsers that know the header cannot open www. Serve it over HTTPS with a valid certificate.",
	},
	"hsts.www.https": {
		Headline: "HSTS site has a www without valid HTTPS",
		Sub:      "Many people type www by habit. Serve it over HTTPS before includeSubDomains is added.",
	},
	"hsts.preload.premature": {
		Headline: "HSTS header asks for preloading too early",
		Sub:      "hstspreload.org would refuse it. Remove preload until the other requirements are met on purpose.",
	},
	"hsts.preload.at_risk": {
		Headline: "Preloaded domain no longer meets the requirements",
		Sub:      "It may be taken off the list. Meet the requirements again, or request the removal.",
	},
}

// praise is what the verdict says of a header without a fault, by its grade and status.
var praise = map[Grade]diag.Text{
	GradePreloadReady: {
		Headline: "HSTS is in force, and the domain is ready for the preload list",
		Sub:      "It can be submitted at hstspreload.org. Do so only if all subdomains keep HTTPS for good.",
	},
	GradePreloaded: {
		Headline: "HSTS is in force, and the domain is preloaded",
		Sub:      "Browsers use HTTPS from the first visit on. Keep the header as it is.",
	},
}

// pendingText is what it says of a domain that was submitted.
var pendingText = diag.Text{
	Headline: "HSTS is in force, and preloading is pending",
	Sub:      "The domain comes with a next version of the browsers. Keep the header as it is.",
}

// texts returns what the verdict says of this evidence.
func (e *evidence) texts() diag.Texts {
	text, ok := praise[e.grade()]
	if e.entry != nil && e.entry.Pending && e.issues.OK() {
		text, ok = pendingText, true
	}
	if !ok {
		return texts
	}
	t := maps.Clone(texts)
	t[string(diag.Valid)] = text
	return t
}
