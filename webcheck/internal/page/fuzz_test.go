package page_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/page"
)

// FuzzRead reads arbitrary pages: whatever comes out is valid UTF-8 and within its bounds, references are
// absolute, and counts are at least what lists hold.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`<base href=/a/><title>T</title><a href=b>x</a><form><input type=password></form>`), "text/html")
	f.Add([]byte("<svg><title>x</title></svg><h1>y<table><form><input></table>"), "text/html; charset=shift_jis")
	f.Add([]byte("<meta http-equiv=refresh content='0;url=x'><noscript><meta http-equiv=refresh content=1></noscript>"), "")
	f.Add([]byte(strings.Repeat("<div>", 600)+"<a href=//x>y"), "")
	f.Add([]byte("<script type=application/ld+json>{\"@type\":[\"A\"],}</script><p style='a:url(x)' srcset>"), "")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		p := page.Read(body, page.Options{URL: diag.MustURL("https://example.com/a?b"), ContentType: contentType})
		texts := []string{p.Text, p.Lang, p.Charset, p.Base, p.Noscript.Text}
		texts = append(texts, p.Titles...)
		for _, h := range p.Headings {
			texts = append(texts, h.Text)
		}
		for _, a := range p.Anchors {
			texts = append(texts, a.Raw, a.Text)
			absolute(t, a.URL)
		}
		for _, r := range p.Resources {
			absolute(t, r.URL)
		}
		for _, s := range texts {
			if !utf8.ValidString(s) || len(s) > page.MaxText {
				t.Errorf("%.100q", s)
			}
		}
		if p.Links.All < len(p.Anchors) || p.Links.All != p.Links.Internal+p.Links.External+p.Links.Other ||
			p.Counts.Images < len(p.Images) || p.Counts.Forms < len(p.Forms) || p.Counts.MissingAlt > p.Counts.Images {
			t.Errorf("%+v %+v", p.Links, p.Counts)
		}
	})
}

func absolute(t *testing.T, url string) {
	t.Helper()
	if scheme, _, ok := strings.Cut(url, ":"); url != "" && (!ok || scheme == "" || strings.ToLower(scheme) != scheme) {
		t.Errorf("%.100q is not absolute", url)
	}
}

// FuzzResolve: what was resolved resolves to itself.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"", "a/../b", "//x:80/%2e", "HTTP:\\\\x\\y?'#`", "https:a", "mailto:a b", "http://[::1]:1/", "http://a@b:c@d/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		once, ok := page.Resolve("https://example.com/a/b?c", ref)
		if !ok {
			return
		}
		again, ok := page.Resolve("https://example.org/", once)
		if len(once) < page.MaxValue && (!ok || again != once) {
			t.Errorf("%q resolves to %q, and that to %q", ref, once, again)
		}
	})
}

func FuzzParseRefresh(f *testing.F) {
	f.Add("0; url='x'")
	f.Fuzz(func(t *testing.T, content string) {
		r, ok := page.ParseRefresh(content, "https://example.com/")
		if r.Delay < 0 || ok && strings.HasPrefix(r.To.URL, "javascript:") || !ok && r.To.URL != "" {
			t.Errorf("%q: %+v", content, r)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	unit := `<div class="card"><h2>Bicycle repair</h2><p>We repair bicycles of all makes in our workshop, usually within two days, ` +
		`and lend you one while you wait.</p><a href="/prices?x=1" rel="nofollow">Prices</a><img src="/a.jpg" alt="Shop"></div>` + "\n"
	body := []byte("<!doctype html><html lang=en><head><title>T</title></head><body>" + strings.Repeat(unit, (1<<20)/len(unit)))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		page.Read(body, page.Options{URL: diag.MustURL("https://example.com/"), ContentType: "text/html; charset=utf-8"})
	}
}
