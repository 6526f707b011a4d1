package redirect

import "github.com/diagkit/diagkit/diag"

// texts are the verdicts in words.
var texts = diag.Texts{
	string(diag.Valid): {
		Headline: "URL leads to a working page",
		Sub:      "Nothing on the way keeps visitors from it.",
	},
	string(diag.Warned): {
		Headline: "URL leads to its end, with something to improve",
		Sub:      "Visitors arrive. The findings say what to improve on the way.",
	},
	string(diag.Bad): {
		Headline: "URL does not lead where it should",
		Sub:      "Visitors do not get what they asked for, or not safely. The findings say where it goes wrong.",
	},
	string(diag.Unknown): {
		Headline: "Where the URL leads is not known",
		Sub:      "A server on the way did not answer. Try again later.",
	},
	"url.unknown": {
		Headline: "A server on the way did not answer",
		Sub:      "Where the URL leads could not be learned. Check the servers, then try again.",
	},
	"url.port.blocked": {
		Headline: "The port of the URL is not checked",
		Sub:      "Nothing was sent there. Pages on ports 80, 443, 8080 and 8443 can be checked.",
	},
	"url.host.nxdomain": {
		Headline: "The host of the URL does not exist",
		Sub:      "Visitors see an error of their browser. Check the spelling, the registration and the DNS records.",
	},
	"url.host.address": {
		Headline: "The host of the URL has no address",
		Sub:      "Visitors see an error of their browser. Give the host an A or AAAA record.",
	},
	"url.host.blocked": {
		Headline: "The host of the URL has no public address",
		Sub:      "It cannot be reached from the Internet and was not contacted. Give it a public address.",
	},
	"url.redirect.blocked": {
		Headline: "The URL redirects to an address that is not public",
		Sub:      "The redirect was not followed. Redirect to a host that visitors can reach.",
	},
	"url.connection": {
		Headline: "The server of the URL refuses connections",
		Sub:      "Visitors see an error of their browser. Start the web server, and open the firewall for it.",
	},
	"url.tls.handshake": {
		Headline: "The TLS handshake with the server of the URL failed",
		Sub:      "Visitors see an error of their browser. Configure a certificate and TLS 1.2 or 1.3.",
	},
	"url.certificate.expired": {
		Headline: "The certificate on the way has expired",
		Sub:      "Browsers warn visitors off. Renew the certificate and automate renewal.",
	},
	"url.certificate.untrusted": {
		Headline: "The certificate on the way is not trusted",
		Sub:      "Browsers warn visitors off. Install a certificate of a public authority with its whole chain.",
	},
	"url.certificate.name": {
		Headline: "The certificate on the way is for another host",
		Sub:      "Browsers warn visitors off. Get a certificate that lists the host.",
	},
	"url.protocol": {
		Headline: "The server of the URL does not answer in valid HTTP",
		Sub:      "Visitors see an error of their browser. Check what listens on this port.",
	},
	"url.body": {
		Headline: "The document at the end did not arrive as a whole",
		Sub:      "Visitors see a part of it. Read the log of the web server.",
	},
	"url.redirect.loop": {
		Headline: "The redirects form a loop that never ends",
		Sub:      "Browsers give up and show an error. Remove one of the redirects of the loop.",
	},
	"url.redirect.loop.cookie": {
		Headline: "The redirects form a loop for clients without cookies",
		Sub:      "Browsers may get further, but crawlers and link previews do not. Serve the page without waiting for a cookie.",
	},
	"url.redirect.limit": {
		Headline: "Too many redirects: the limit was reached",
		Sub:      "Where the URL leads in the end is not known. Redirect to the final URL at once.",
	},
	"url.redirect.stopped": {
		Headline: "URL redirects further than was to be followed",
		Sub:      "Ask with a greater max_redirects to see where it leads in the end.",
	},
	"url.redirect.chain": {
		Headline: "URL leads to its end over more than 3 redirects",
		Sub:      "Each costs visitors time. Redirect to the final URL at once.",
	},
	"url.refresh.delay": {
		Headline: "URL leads to its end, but a page on the way waits",
		Sub:      "Readers lose a page that leaves by itself. Redirect at once, by a status of the server.",
	},
	"url.refresh": {
		Headline: "URL leads on through a document, not a redirect of the server",
		Sub:      "Browsers follow it, many other clients do not. Let the server redirect with status 301 or 308.",
	},
	"url.script": {
		Headline: "URL leads to a page that may redirect by a script",
		Sub:      "Scripts are not run here, nor by crawlers and link previews. Let the server redirect instead.",
	},
	"url.cross_domain": {
		Headline: "URL leads to a working page on another domain",
		Sub:      "Check that you know the domain to which it leads.",
	},
	"url.location.missing": {
		Headline: "The redirect leads nowhere: it has no Location",
		Sub:      "Browsers show an empty page. Send a Location header, or another status.",
	},
	"url.location.malformed": {
		Headline: "The target of the redirect is malformed",
		Sub:      "Browsers fail, or differ on where it leads. Send a valid URL in Location.",
	},
	"url.location.credentials": {
		Headline: "The redirect has a user name or password in its target",
		Sub:      "It was not followed. Remove them from the URL, and change the password.",
	},
	"url.location.unsafe": {
		Headline: "The redirect leads where browsers refuse to go",
		Sub:      "Visitors see an error. Redirect to an https URL.",
	},
	"url.location.scheme": {
		Headline: "The redirect leads out of the web",
		Sub:      "Visitors without the right app see an error. Offer them a page.",
	},
	"url.location.multiple": {
		Headline: "The redirect has several Location headers",
		Sub:      "Clients differ on which of them they follow. Send one.",
	},
	"url.redirect.downgrade": {
		Headline: "The URL is redirected from https to http",
		Sub:      "What is sent over http can be read and changed on the way. Redirect to https only.",
	},
	"url.final.http": {
		Headline: "The URL leads to a page without encryption (http)",
		Sub:      "What is sent over http can be read and changed on the way. Serve the site over https.",
	},
	"url.method": {
		Headline: "The server does not support HEAD requests",
		Sub:      "What visitors get is not known from this. Check with GET.",
	},
	"url.status": {
		Headline: "The URL leads to an error page",
		Sub:      "Visitors do not find what they look for. Correct the link or the redirect, or restore the page.",
	},
	"url.status.refused": {
		Headline: "The server at the end turns the request away",
		Sub:      "It may turn away programs, or visitors that have not signed in. Check the URL in a browser.",
	},
	"url.status.unusual": {
		Headline: "The URL ends with a status that shows no page",
		Sub:      "Browsers have nothing to show. Answer with status 200, or redirect.",
	},
	"url.host.lookalike": {
		Headline: "A host name on the way looks like another one",
		Sub:      "Such names are used to deceive. Do not enter passwords there unless you know the site.",
	},
	"url.redirect.open": {
		Headline: "A query parameter decides where the URL redirects to",
		Sub:      "If any target is allowed, phishing can borrow the name of the site. Allow known targets only.",
	},
	"url.certificate.expiring": {
		Headline: "URL leads to a working page, but a certificate expires soon",
		Sub:      "Once it has expired, browsers warn visitors off. Renew it and automate renewal.",
	},
	"url.tls.version": {
		Headline: "A server on the way uses an obsolete TLS version",
		Sub:      "Browsers refuse it. Enable TLS 1.2 and 1.3.",
	},
}
