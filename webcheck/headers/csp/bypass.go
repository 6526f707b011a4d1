package csp

import "strings"

// A Bypass is a host from which anybody can have a script of his choice served, so that a policy that allows
// it does not stop injected scripts.
type Bypass struct {
	Host   string // without a star: it stands for all names below it, if it begins with a dot
	Reason string // as an end of "the host …"
}

const (
	callbacks = "answers with the name of a callback that the caller chooses (JSONP)"
	libraries = "serves libraries, such as old AngularJS, by which markup alone runs scripts"
	packages  = "serves any file of any public package"
	tenants   = "serves files of all its customers"
)

// bypasses are known places of that kind; compiled 2026-11 from the providers' own documentation of JSONP endpoints, of
// package mirrors and of shared hosting. The list is short on purpose: each entry would convince the owner of a policy.
var bypasses = []Bypass{
	{"cdn.jsdelivr.net", packages}, {"fastly.jsdelivr.net", packages}, {"unpkg.com", packages}, {"esm.sh", packages},
	{"cdn.skypack.dev", packages}, {"esm.run", packages}, {"raw.githack.com", packages}, {"rawcdn.githack.com", packages},
	{"cdn.statically.io", packages}, {"ga.jspm.io", packages}, {"cdn.rawgit.com", packages},
	{"cdnjs.cloudflare.com", libraries}, {"ajax.googleapis.com", libraries}, {"code.angularjs.org", libraries},
	{"ajax.aspnetcdn.com", libraries}, {"yastatic.net", libraries}, {"cdn.bootcdn.net", libraries},
	{"cdn.bootcss.com", libraries}, {"lib.baomitu.com", libraries}, {"cdn.staticfile.org", libraries},
	{"www.google.com", callbacks}, {"accounts.google.com", callbacks}, {"translate.googleapis.com", callbacks},
	{"maps.googleapis.com", callbacks}, {"www.googleapis.com", callbacks}, {"suggestqueries.google.com", callbacks},
	{"api.twitter.com", callbacks}, {"cdn.syndication.twimg.com", callbacks}, {"graph.facebook.com", callbacks},
	{"api.vk.com", callbacks}, {"api.flickr.com", callbacks}, {"vimeo.com", callbacks}, {"api.map.baidu.com", callbacks},
	{"suggest.taobao.com", callbacks}, {"en.wikipedia.org", callbacks}, {"api.github.com", callbacks},
	{"dev.virtualearth.net", callbacks}, {"api.stackexchange.com", callbacks}, {"itunes.apple.com", callbacks},
	{"s3.amazonaws.com", tenants}, {".s3.amazonaws.com", tenants}, {".cloudfront.net", tenants},
	{"storage.googleapis.com", tenants}, {".appspot.com", tenants}, {".firebaseapp.com", tenants}, {".web.app", tenants},
	{".github.io", tenants}, {".gitlab.io", tenants}, {".herokuapp.com", tenants}, {".netlify.app", tenants},
	{".vercel.app", tenants}, {".pages.dev", tenants}, {".workers.dev", tenants}, {".r2.dev", tenants},
	{".blob.core.windows.net", tenants}, {".azureedge.net", tenants}, {".azurewebsites.net", tenants},
	{".digitaloceanspaces.com", tenants}, {".b-cdn.net", tenants}, {".glitch.me", tenants}, {".repl.co", tenants},
	{"dl.dropboxusercontent.com", tenants}, {"raw.githubusercontent.com", tenants},
}

// BypassOf returns the place of that kind that a source allows, if there is one. A source that names one file,
// or one customer's own host, is none.
func BypassOf(s Source) (Bypass, bool) {
	if s.Host == "" || s.Host == "*" || s.Path != "" && !strings.HasSuffix(s.Path, "/") || len(s.Path) > 1 {
		return Bypass{}, false
	}
	for _, b := range bypasses {
		below, shared := strings.CutPrefix(b.Host, ".")
		suffix, wild := strings.CutPrefix(s.Host, "*.")
		switch {
		case shared && wild && (suffix == below || strings.HasSuffix(below, "."+suffix)),
			!shared && s.Host == b.Host, !shared && wild && strings.HasSuffix(b.Host, "."+suffix):
			return b, true
		}
	}
	return Bypass{}, false
}
