package headers

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "Security headers protect the visitors of this page well",
		Sub:      "Browsers enforce what the page asks for. Keep the policies in step with what the page loads.",
	},
	"valid": {
		Headline: "Security headers are set up correctly",
		Sub:      "Browsers enforce what the page asks for. The hints say what could be stricter.",
	},
	"warning": {
		Headline: "Security headers leave gaps",
		Sub:      "The page works, and its visitors are protected in part. Fix the first finding first.",
	},
	"invalid": {
		Headline: "Security headers have a fault that puts visitors at risk",
		Sub:      "Fix the first finding first; the suggested header can be sent as it is.",
	},
	"unknown": {
		Headline: "Headers could not be examined: the site did not answer",
		Sub:      "Check that the server runs and is reachable, then try again.",
	},
	"headers.host.missing": {
		Headline: "The host does not exist",
		Sub:      "The DNS answers NXDOMAIN. Check the spelling and the registration of the domain.",
	},
	"headers.host.address": {
		Headline: "The host has no address",
		Sub:      "No browser can reach the page. Publish an A or AAAA record.",
	},
	"headers.fetch.unanswered": {
		Headline: "Headers could not be examined: the site did not answer",
		Sub:      "Check that the server runs and is reachable, then try again.",
	},
	"headers.fetch.blocked": {
		Headline: "The URL leads to an address that is not public",
		Sub:      "It was not followed. Let the host and its redirects lead to public addresses.",
	},
	"headers.fetch.refused": {
		Headline: "The site refuses connections",
		Sub:      "No browser can reach the page. Start the web server, and check the firewall.",
	},
	"headers.fetch.tls": {
		Headline: "The TLS handshake with the site fails",
		Sub:      "No browser can reach the page over HTTPS. Check the certificate and the TLS settings.",
	},
	"headers.fetch.redirects": {
		Headline: "The redirects do not come to an end",
		Sub:      "Browsers give up, so that there is no page to judge. Redirect straight to the final URL.",
	},
	"headers.fetch.protocol": {
		Headline: "The answer of the site is not valid HTTP",
		Sub:      "Browsers may not show the page. Check what runs on the port.",
	},
	"headers.tls.untrusted": {
		Headline: "Browsers do not trust the certificate of the site",
		Sub:      "Visitors see a warning in place of the page. Install a valid certificate first.",
	},
	"headers.https.missing": {
		Headline: "The page is served over plain HTTP",
		Sub:      "Anybody on the way can change the page and its headers. Serve it over HTTPS and redirect HTTP there.",
	},
	"headers.redirect.missing": {
		Headline: "HTTP is not redirected to HTTPS",
		Sub:      "Visitors who type the name without https stay unprotected. Redirect every HTTP request.",
	},
	"headers.redirect.insecure": {
		Headline: "The redirects go through plain HTTP",
		Sub:      "An attacker on the way can change where they lead. Redirect to HTTPS first, and stay there.",
	},
	"headers.hsts.missing": {
		Headline: "The Strict-Transport-Security (HSTS) header is missing",
		Sub:      "Attackers on the network can keep visitors on HTTP. Send the header that the recommendation suggests.",
	},
	"headers.hsts.invalid": {
		Headline: "The Strict-Transport-Security (HSTS) header is invalid",
		Sub:      "Browsers ignore it, so that visitors can be kept on HTTP. Send the suggested header.",
	},
	"headers.hsts.zero": {
		Headline: "Strict-Transport-Security (HSTS) is switched off by max-age=0",
		Sub:      "Browsers forget to use HTTPS. Raise max-age once the whole host answers over HTTPS.",
	},
	"headers.hsts.short": {
		Headline: "Strict-Transport-Security (HSTS) lasts too short a time",
		Sub:      "Visitors who come back later are unprotected. Raise max-age to a year.",
	},
	"headers.csp.missing": {
		Headline: "The Content-Security-Policy header is missing",
		Sub:      "An injected script runs with all rights of the page. Start with the suggested Report-Only policy.",
	},
	"headers.csp.report_only": {
		Headline: "The Content-Security-Policy is not enforced, only reported on",
		Sub:      "Browsers block nothing. Enforce the policy once its reports are clean.",
	},
	"headers.csp.scripts.unrestricted": {
		Headline: "The Content-Security-Policy does not restrict scripts",
		Sub:      "An injected script runs. Add script-src or default-src.",
	},
	"headers.csp.scripts.inline": {
		Headline: "The Content-Security-Policy allows 'unsafe-inline' scripts",
		Sub:      "An injected script runs in spite of the policy. Give inline scripts nonces or hashes.",
	},
	"headers.csp.scripts.broad": {
		Headline: "The Content-Security-Policy allows scripts from anywhere",
		Sub:      "An attacker can serve the script that he injects. List the hosts, or use nonces.",
	},
	"headers.csp.scripts.bypass": {
		Headline: "The Content-Security-Policy can be got round by an allowed host",
		Sub:      "Anybody can have that host serve a script. Allow single files, or use nonces.",
	},
	"headers.csp.scripts.eval": {
		Headline: "The Content-Security-Policy allows 'unsafe-eval'",
		Sub:      "Text that reaches eval runs as code. Replace eval, then remove the keyword.",
	},
	"headers.csp.blocks": {
		Headline: "The Content-Security-Policy blocks what the page itself loads",
		Sub:      "Parts of the page do not work. Add the sources to the policy, or remove the elements.",
	},
	"headers.csp.syntax": {
		Headline: "Browsers ignore a part of the Content-Security-Policy",
		Sub:      "The policy does not say what was meant. Correct the part that the finding names.",
	},
	"headers.csp.repeated": {
		Headline: "A directive stands twice in the Content-Security-Policy",
		Sub:      "Browsers use the first only. Merge the two.",
	},
	"headers.csp.insecure": {
		Headline: "The Content-Security-Policy allows resources over plain HTTP",
		Sub:      "What comes that way can be changed on the way. Write https, or add upgrade-insecure-requests.",
	},
	"headers.csp.ancestors": {
		Headline: "frame-ancestors lets any site embed the page",
		Sub:      "Visitors can be made to click in it unknowingly. List the sites that embed it on purpose.",
	},
	"headers.frame_options.missing": {
		Headline: "Any site may embed the page: no X-Frame-Options header",
		Sub:      "Visitors can be made to click in it unknowingly (clickjacking). Send the suggested header.",
	},
	"headers.frame_options.invalid": {
		Headline: "The X-Frame-Options header has a value that browsers ignore",
		Sub:      "Any site may embed the page. Send the suggested header.",
	},
	"headers.content_type_options.missing": {
		Headline: "The X-Content-Type-Options header is missing",
		Sub:      "Browsers may run an uploaded file as a script. Send X-Content-Type-Options: nosniff.",
	},
	"headers.content_type_options.invalid": {
		Headline: "The X-Content-Type-Options header is not nosniff",
		Sub:      "Browsers ignore it. There is only one value: nosniff.",
	},
	"headers.referrer.invalid": {
		Headline: "The Referrer-Policy header has a value that browsers ignore",
		Sub:      "Browsers do as if it were absent. Send the suggested header.",
	},
	"headers.referrer.leaks": {
		Headline: "The Referrer-Policy tells other sites whole URLs",
		Sub:      "What stands in the page's URL leaks to the sites it links to. Send the suggested header.",
	},
	"headers.permissions.invalid": {
		Headline: "The Permissions-Policy header has a syntax error",
		Sub:      "Browsers ignore all of it. Write each feature as name=(origins), separated by commas.",
	},
	"headers.cookies.prefix": {
		Headline: "Browsers reject a cookie that breaks its __Host- or __Secure- prefix",
		Sub:      "What depends on the cookie, such as a login, does not work. Set its attributes as the finding says.",
	},
	"headers.cookies.samesite.none": {
		Headline: "Browsers reject a cookie with SameSite=None and without Secure",
		Sub:      "What depends on the cookie does not work. Add Secure.",
	},
	"headers.cookies.rejected": {
		Headline: "Browsers reject a cookie of the site",
		Sub:      "What depends on the cookie does not work. The finding says why.",
	},
	"headers.cookies.session.secure": {
		Headline: "A session cookie can be sent over plain HTTP: it lacks Secure",
		Sub:      "Anybody on the way can take over the login. Add Secure, and send Strict-Transport-Security.",
	},
	"headers.cookies.session.httponly": {
		Headline: "Scripts can read a session cookie: it lacks HttpOnly",
		Sub:      "An injected script can steal the login. Add HttpOnly.",
	},
	"headers.cookies.secure": {
		Headline: "A cookie lacks Secure",
		Sub:      "Browsers send it over plain HTTP too. Add Secure to every cookie.",
	},
	"headers.cookies.samesite.invalid": {
		Headline: "A cookie has a SameSite that browsers do not know",
		Sub:      "They take it for absent. Set SameSite to Lax, Strict or None.",
	},
	"headers.cors.reflected": {
		Headline: "CORS lets any site read with the credentials of a visitor",
		Sub:      "Any site can read what a visitor sees when logged in. Allow listed origins only.",
	},
	"headers.cors.star_credentials": {
		Headline: "CORS combines Access-Control-Allow-Origin: * with credentials",
		Sub:      "Browsers refuse that. Remove the credentials, or name the one origin that may read.",
	},
	"headers.cors.null": {
		Headline: "CORS allows the origin null, which any site can take on",
		Sub:      "Take null out of the allowed origins.",
	},
	"headers.cors.invalid": {
		Headline: "Access-Control-Allow-Origin has a value that browsers refuse",
		Sub:      "No other site can read the answer. Send * or the one origin of the request.",
	},
	"headers.misspelled": {
		Headline: "A security header is misspelled and has no effect",
		Sub:      "Browsers ignore names that they do not know. Send the header under its right name.",
	},
	"headers.scripts.insecure": {
		Headline: "The HTTPS page loads a script or style over plain HTTP",
		Sub:      "Browsers block it, so that parts of the page do not work. Write https.",
	},
	"headers.cache.cookies": {
		Headline: "Shared caches may keep an answer that sets cookies",
		Sub:      "One visitor may get the cookie of another. Send Cache-Control: private.",
	},
}
