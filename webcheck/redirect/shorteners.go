package redirect

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// shorteners are the domains of services that make short URLs, and their names. It was compiled by hand
// from the services' own sites, as known in November 2026; the list of publicsuffix.org knows nothing of
// them, and no authority does.
var shorteners = map[string]string{
	"bit.ly": "Bitly", "bitly.com": "Bitly", "j.mp": "Bitly", "bl.ink": "BL.INK", "tinyurl.com": "TinyURL",
	"tiny.cc": "Tiny.cc", "t.co": "X", "x.co": "GoDaddy", "goo.gl": "Google", "g.co": "Google",
	"youtu.be": "YouTube", "fb.me": "Facebook", "m.me": "Facebook", "ig.me": "Instagram", "wa.me": "WhatsApp",
	"lnkd.in": "LinkedIn", "pin.it": "Pinterest", "redd.it": "Reddit", "vm.tiktok.com": "TikTok",
	"vt.tiktok.com": "TikTok", "amzn.to": "Amazon", "amzn.eu": "Amazon", "a.co": "Amazon",
	"aka.ms": "Microsoft", "1drv.ms": "Microsoft", "apple.co": "Apple", "spoti.fi": "Spotify",
	"ebay.us": "eBay", "flip.it": "Flipboard", "db.tt": "Dropbox", "adobe.ly": "Adobe", "ow.ly": "Hootsuite",
	"ht.ly": "Hootsuite", "buff.ly": "Buffer", "dlvr.it": "dlvr.it", "ift.tt": "IFTTT",
	"trib.al": "SocialFlow", "is.gd": "is.gd", "v.gd": "is.gd", "rebrand.ly": "Rebrandly",
	"rb.gy": "Rebrandly", "short.io": "Short.io", "shorturl.at": "ShortURL", "shorturl.com": "ShortURL",
	"cutt.ly": "Cuttly", "t.ly": "T.LY", "s.id": "s.id", "qr.ae": "Quora", "hubs.ly": "HubSpot",
	"hubs.la": "HubSpot", "mailchi.mp": "Mailchimp", "eepurl.com": "Mailchimp", "conta.cc": "Constant Contact",
	"wp.me": "WordPress.com", "tr.im": "tr.im", "clck.ru": "Yandex", "vk.cc": "VK", "u.to": "uCoz",
	"goo.su": "goo.su", "adf.ly": "AdFly", "bc.vc": "bc.vc", "ouo.io": "ouo.io", "shorte.st": "Shorte.st",
	"sh.st": "Shorte.st", "snip.ly": "Sniply", "snipr.com": "Snipr", "soo.gd": "soo.gd", "surl.li": "surl.li",
	"urlz.fr": "urlz.fr", "lc.chat": "LiveChat", "mcaf.ee": "McAfee", "po.st": "Po.st", "su.pr": "StumbleUpon",
	"cli.gs": "Cligs", "shrtco.de": "shrtco.de", "gg.gg": "gg.gg", "tny.im": "tny.im", "dub.sh": "Dub",
	"dub.co": "Dub", "lnk.bio": "Lnk.Bio", "qrco.de": "QR Code Generator", "qr1.be": "QR1",
	"me-qr.com": "ME-QR", "page.link": "Firebase", "app.link": "Branch", "onelink.me": "AppsFlyer",
	"smart.link": "smart.link", "grabify.link": "Grabify", "iplogger.org": "IPLogger",
	"nyti.ms": "The New York Times", "wapo.st": "The Washington Post", "bbc.in": "BBC", "reut.rs": "Reuters",
	"cnn.it": "CNN", "econ.st": "The Economist", "on.ft.com": "Financial Times", "spr.ly": "Sprinklr",
	"zpr.io": "Zapier", "t2m.io": "T2M", "kutt.it": "Kutt", "kutt.to": "Kutt", "yourls.org": "YOURLS",
	"urlr.me": "URLR", "n9.cl": "n9.cl", "acortar.link": "Acortar",
}

// shortener returns the name of the URL shortener that a domain belongs to, or nothing.
func shortener(d diag.Domain) string {
	for name := d.String(); name != ""; {
		if s, ok := shorteners[name]; ok {
			return s
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return ""
}
