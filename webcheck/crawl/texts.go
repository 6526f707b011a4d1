package crawl

import "github.com/diagkit/diagkit/diag"

// texts are what the verdict says in words.
var texts = diag.Texts{
	"excellent": {
		Headline: "Page can be crawled and indexed, and says what it offers",
		Sub:      "Crawlers find what they need. The findings, if any, are for fine tuning.",
	},
	"valid": {
		Headline: "Page can be crawled and indexed",
		Sub:      "Crawlers find the page and what it says of itself. The findings say what could be better.",
	},
	"warning": {
		Headline: "Page can be crawled, but has weaknesses",
		Sub:      "Search engines can show the page. The findings say what to improve.",
	},
	"invalid": {
		Headline: "Page cannot be indexed or does not work as it should",
		Sub:      "Fix the first finding first: search engines and visitors both meet it.",
	},
	"unknown": {
		Headline: "Page could not be examined",
		Sub:      "What it holds is not known, so that there is no verdict. Try again in a few minutes.",
	},
	"crawl.host.missing": {
		Headline: "The host of the page does not exist in the DNS",
		Sub:      "Nobody reaches the page. Check the spelling, or publish an address for the host.",
	},
	"crawl.host.unreachable": {
		Headline: "The web server does not accept connections",
		Sub:      "Nobody reaches the page. Check the web server and the firewall in front of it.",
	},
	"crawl.host.tls": {
		Headline: "The web server fails the TLS handshake",
		Sub:      "Neither browsers nor crawlers reach the page. Check the TLS configuration and the certificate.",
	},
	"crawl.host.blocked": {
		Headline: "The URL leads where nothing may be fetched",
		Sub:      "The address is private or reserved, or the port is unusual; crawlers do not go there either.",
	},
	"crawl.host.protocol": {
		Headline: "The server does not answer with HTTP",
		Sub:      "Browsers and crawlers cannot read what it sends. Check what listens on the port.",
	},
	"crawl.robots.unreachable": {
		Headline: "robots.txt is unavailable, so crawlers stay away from the site",
		Sub:      "They must assume that everything is forbidden. Serve robots.txt, or answer 404 if there is none.",
	},
	"crawl.robots.disallowed": {
		Headline: "robots.txt forbids crawling the page",
		Sub:      "Crawlers do not fetch it and know nothing of its content. Allow it if it is to be found.",
	},
	"crawl.robots.html": {
		Headline: "Page can be crawled, but robots.txt is an HTML page",
		Sub:      "Crawlers find no rules in it. Serve it as text, or answer 404 if there is none.",
	},
	"crawl.redirect.broken": {
		Headline: "The redirects lead to no page",
		Sub:      "Neither visitors nor crawlers get to the content. Correct the redirects.",
	},
	"crawl.wall": {
		Headline: "A bot protection answered instead of the page",
		Sub:      "What the page holds is not known. Let the crawlers that you want pass.",
	},
	"crawl.status.missing": {
		Headline: "Page not found (404 or 410), so it is not indexed",
		Sub:      "Search engines drop the page. Restore it, or redirect its URL to the content.",
	},
	"crawl.status.denied": {
		Headline: "The server denies access to the page",
		Sub:      "Crawlers do not see the content. Let them fetch it, unless it is meant for few only.",
	},
	"crawl.status.server": {
		Headline: "The server answers with an error instead of the page",
		Sub:      "Search engines come back less often, then drop the page. Look into the log of the server.",
	},
	"crawl.status.other": {
		Headline: "The status of the answer is not that of a page",
		Sub:      "Search engines do not index it. Serve the page with status 200.",
	},
	"crawl.body.encoding": {
		Headline: "The page cannot be read: its compression is broken",
		Sub:      "Browsers show an error. Send Content-Encoding only for what is compressed in that way.",
	},
	"crawl.body.broken": {
		Headline: "The page breaks off before its end",
		Sub:      "Crawlers discard what is incomplete. Check the server and the proxies in front of it.",
	},
	"crawl.body.unknown": {
		Headline: "The page did not come in time",
		Sub:      "What it holds is not known. Try again, and check how long the server takes.",
	},
	"crawl.type": {
		Headline: "The content type is not HTML, so there is no page to examine",
		Sub:      "Crawlers may index the file as it is. Metadata of web pages does not apply to it.",
	},
	"crawl.body.empty": {
		Headline: "The page is empty",
		Sub:      "There is nothing to index. Serve the content, or status 404 if there is none.",
	},
	"crawl.size.limit": {
		Headline: "Page is longer than the crawler reads",
		Sub:      "What stands beyond the limit is not indexed. Move scripts and styles out of the HTML.",
	},
	"crawl.index.hidden": {
		Headline: "Crawlers cannot see the noindex: robots.txt keeps them out",
		Sub:      "The page can stay in the index by its links. Allow it in robots.txt until it is gone.",
	},
	"crawl.index.forbidden": {
		Headline: "Page forbids indexing (noindex)",
		Sub:      "Search engines do not show it. Remove noindex if the page is to be found.",
	},
	"crawl.refresh": {
		Headline: "Page redirects by a refresh instead of a status",
		Sub:      "Search engines may index either page. Redirect with status 301 or 308.",
	},
	"crawl.soft404": {
		Headline: "Page says that it was not found, but with status 200",
		Sub:      "Search engines treat it as an error, or index the error. Answer with status 404.",
	},
	"crawl.canonical.invalid": {
		Headline: "The canonical URL of the page is not valid",
		Sub:      "Search engines ignore it and choose one themselves. Name the whole URL.",
	},
	"crawl.canonical.multiple": {
		Headline: "The page names several different canonical URLs",
		Sub:      "Search engines ignore them all. Keep one.",
	},
	"crawl.hreflang.invalid": {
		Headline: "An alternate language of the page has an invalid code or URL",
		Sub:      "Search engines ignore it. Correct the code or the URL.",
	},
	"crawl.title.missing": {
		Headline: "Page has no title",
		Sub:      "Search engines make one up from headings and links. Add a title element.",
	},
	"crawl.description.missing": {
		Headline: "Page has no meta description",
		Sub:      "Search engines show a piece of the text instead. Add one or two sentences.",
	},
	"crawl.charset.invalid": {
		Headline: "The text of the page is not in the encoding that is stated",
		Sub:      "Readers see replacement characters. State the encoding in which the page is saved.",
	},
	"crawl.viewport.missing": {
		Headline: "Page sets no viewport for mobile devices",
		Sub:      "Phones show it as on a desk, in small letters. Add a viewport once the layout fits.",
	},
	"crawl.depth": {
		Headline: "Elements of the page are nested too deep for parsers",
		Sub:      "Content may be dropped. Close elements that are left open.",
	},
	"crawl.frames": {
		Headline: "Page is made of frames",
		Sub:      "Search engines index the frames, not the page. Put the content into the page itself.",
	},
	"crawl.script": {
		Headline: "Content of the page appears only when scripts run",
		Sub:      "Crawlers that run none see an empty page. Render the content on the server.",
	},
	"crawl.image.alt": {
		Headline: "Page can be crawled, but images lack alternative text",
		Sub:      "Screen readers and image search do not know what they show. Add alt to each image.",
	},
	"crawl.jsonld.invalid": {
		Headline: "Structured data (JSON-LD) of the page cannot be read",
		Sub:      "Search engines skip the block. Correct the JSON.",
	},
	"crawl.certificate": {
		Headline: "The certificate of the host is not trusted",
		Sub:      "Browsers warn visitors away. Install a certificate of a public authority for the host.",
	},
	"crawl.https": {
		Headline: "Page is served without HTTPS",
		Sub:      "Browsers mark it as not secure. Serve it over HTTPS, and redirect from HTTP.",
	},
	"crawl.mixed.blocked": {
		Headline: "Browsers block scripts, styles or frames that the page loads over HTTP",
		Sub:      "Parts of the page do not work. Load them over HTTPS.",
	},
	"crawl.mixed.upgraded": {
		Headline: "Page of HTTPS loads images or media over HTTP",
		Sub:      "Browsers try HTTPS and show nothing if that fails. Use https in these URLs.",
	},
	"crawl.form.insecure": {
		Headline: "A form of the page is sent over HTTP",
		Sub:      "Browsers warn before it is sent. Let its action be a URL with https.",
	},
	"crawl.form.password": {
		Headline: "Page asks for a password without HTTPS",
		Sub:      "Anybody on the way can read the password. Serve the page over HTTPS.",
	},
}
