package observatory

import (
	"slices"
	"strings"
)

// policies are the Content-Security-Policy of a page, those of its header and those of its meta elements.
type policies struct {
	all      directives // nil if one of them cannot be read
	repeated bool
	err      error
	effect   int // how many directives have an effect where they stand
}

// notInMeta are directives that a meta element cannot give.
var notInMeta = []string{"frame-ancestors", "report-uri", "sandbox"}

func (s *scan) readPolicies() (p policies) {
	var header, meta []string
	if value, ok := s.Page.header("Content-Security-Policy"); ok {
		header = splitPolicies(value)
	}
	for _, content := range s.page.policies {
		meta = append(meta, splitPolicies(content)...)
	}
	p.all, p.repeated, p.err = parsePolicies(slices.Concat(header, meta))
	if p.err != nil {
		return p
	}
	inHeader, _, _ := parsePolicies(header)
	p.effect = len(inHeader)
	inMeta, repeated, _ := parsePolicies(meta)
	for name := range inMeta {
		if !slices.Contains(notInMeta, name) {
			p.effect++
		}
	}
	if repeated { // counted as a directive, even if it is one that has no effect there
		p.effect++
	}
	return p
}

func splitPolicies(value string) []string {
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = trim(list[i])
	}
	return list
}

var broad = []string{"ftp:", "http:", "https:", "*", "http://*", "http://*.*", "https://*", "https://*.*"}

// unsafe are sources that let in whatever is injected.
var unsafe = append([]string{"'unsafe-inline'", "data:"}, broad...)

func has(sources, list []string) bool {
	return slices.ContainsFunc(sources, func(s string) bool { return slices.Contains(list, s) })
}

// vouched reports whether scripts can show a nonce or hash.
func vouched(sources []string) bool {
	return slices.ContainsFunc(sources, func(s string) bool {
		return strings.HasPrefix(s, "'sha256-") || strings.HasPrefix(s, "'sha384-") ||
			strings.HasPrefix(s, "'sha512-") || strings.HasPrefix(s, "'nonce-")
	})
}

func insecure(sources []string) bool {
	return slices.ContainsFunc(sources, func(s string) bool {
		return strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "ftp:")
	})
}

func (s *scan) contentSecurityPolicy() string {
	p := s.policies
	if p.err != nil {
		return "csp-header-invalid"
	}
	if p.effect == 0 {
		if value, _ := s.Page.header("Content-Security-Policy-Report-Only"); value != "" {
			return "csp-not-implemented-but-reporting-enabled"
		}
		return "csp-not-implemented"
	}
	result := rate(p.all, s.Secure)
	if p.repeated && outcomes()[result].pass {
		return "csp-implemented-but-duplicate-directives"
	}
	return result
}

// or returns the name of the first directive that a policy has.
func (d directives) or(names ...string) string {
	for _, name := range names {
		if d[name] != nil {
			return name
		}
	}
	return ""
}

// rate rates a policy. Sources that others make void are taken out of the policy first.
func rate(all directives, secure bool) string {
	d := directives{"": {"*"}} // what holds where there is no directive
	for name, sources := range all {
		d[name] = slices.Clone(sources)
	}
	script, style, object := d.or("script-src", "default-src"), d.or("style-src", "default-src"), d.or("object-src", "default-src")
	for _, name := range []string{script, style} {
		if vouched(d[name]) {
			d[name] = slices.DeleteFunc(d[name], func(s string) bool { return s == "'unsafe-inline'" })
		}
	}
	if slices.Contains(d[script], "'strict-dynamic'") {
		if !vouched(d[script]) {
			return "csp-header-invalid"
		}
		d[script] = slices.DeleteFunc(d[script], func(s string) bool {
			return s == "'self'" || s == "'unsafe-inline'" || slices.ContainsFunc(broad, func(b string) bool { return strings.HasPrefix(s, b) })
		})
	}
	var active, passive []string
	for name := range all {
		if name != "img-src" && name != "media-src" && name != "script-src" {
			active = append(active, d[name]...)
		}
	}
	active = append(active, d[script]...)
	for _, name := range []string{"img-src", "media-src"} {
		if name = d.or(name, "default-src"); name != "" {
			passive = append(passive, d[name]...)
		}
	}
	switch {
	case has(d[script], unsafe) || has(d[object], broad):
		return "csp-implemented-with-unsafe-inline"
	case secure && insecure(active):
		return "csp-implemented-with-insecure-scheme"
	case slices.Contains(d[script], "'unsafe-eval'") || slices.Contains(d[style], "'unsafe-eval'"):
		return "csp-implemented-with-unsafe-eval"
	case secure && insecure(passive):
		return "csp-implemented-with-insecure-scheme-in-passive-content-only"
	case has(d[style], unsafe):
		return "csp-implemented-with-unsafe-inline-in-style-src-only"
	case slices.Equal(d["default-src"], []string{"'none'"}):
		return "csp-implemented-with-no-unsafe-default-src-none"
	default:
		return "csp-implemented-with-no-unsafe"
	}
}
