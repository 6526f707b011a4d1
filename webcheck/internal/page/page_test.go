package page_test

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/stretchr/testify/require"
)

const base = "https://example.com/shop/page?q=1"

func read(t *testing.T, text string) *page.Page {
	t.Helper()
	return page.Read([]byte(text), page.Options{URL: diag.MustURL(base), ContentType: "text/html"})
}

func TestResolve(t *testing.T) {
	tests := []struct{ ref, want string }{
		{"", "https://example.com/shop/page?q=1"},
		{"#top", "https://example.com/shop/page?q=1#top"},
		{"?x=2", "https://example.com/shop/page?x=2"},
		{"other", "https://example.com/shop/other"},
		{"../up", "https://example.com/up"},
		{"../../../up/.", "https://example.com/up/"},
		{"./%2e%2E/a", "https://example.com/a"},
		{"/root", "https://example.com/root"},
		{`\root`, "https://example.com/root"},
		{"//cdn.example.net/x", "https://cdn.example.net/x"},
		{`\\cdn.example.net\x`, "https://cdn.example.net/x"},
		{"///cdn.example.net", "https://cdn.example.net/"},
		{"http:x", "http://x/"},
		{"https:x", "https://example.com/shop/x"},
		{"HTTP://EXAMPLE.org:80/A", "http://example.org/A"},
		{"https://example.org:8443", "https://example.org:8443/"},
		{"https://bücher.example/ä?ö='#ü", "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%27#%C3%BC"},
		{" \n/a b\tc ", "https://example.com/a%20bc"},
		{"mailto:a@example.com", "mailto:a@example.com"},
		{"JavaScript:void(0)", "javascript:void(0)"},
		{"tel:+1 2", "tel:+1 2"},
		{"https://under_score.example/", "https://under_score.example/"},
		{"https://user:pw@example.org/", "https://user:pw@example.org/"},
		{"https://[2001:db8::1]:443/", "https://[2001:db8::1]/"},
		{"https://2130706433/", "https://127.0.0.1/"},
		{"http://[bad", ""},
		{"http://a b/", ""},
		{"http://example.com:99999/", ""},
		{"http://", ""},
	}
	for _, tt := range tests {
		got, ok := page.Resolve(base, tt.ref)
		require.Equal(t, tt.want, got, tt.ref)
		require.Equal(t, tt.want != "", ok, tt.ref)
	}
	_, ok := page.Resolve("", "relative")
	require.False(t, ok)
}

func TestParseRefresh(t *testing.T) {
	tests := []struct {
		content string
		delay   int
		to      string
		ok      bool
	}{
		{"5", 5, "", true},
		{" 5 ", 5, "", true},
		{"0;url=/a", 0, "https://example.com/a", true},
		{"0; URL='/a'", 0, "https://example.com/a", true},
		{`0, url = "/a"x`, 0, "https://example.com/a", true},
		{"0 /a", 0, "https://example.com/a", true},
		{"0;/a", 0, "https://example.com/a", true},
		{"1.5;url=/a", 1, "https://example.com/a", true},
		{".5;url=/a", 0, "https://example.com/a", true},
		{"0;url=", 0, "", true},
		{"0;urn=/a", 0, "https://example.com/shop/urn=/a", true},
		{"99999999999999999999;url=/a", 1 << 30, "https://example.com/a", true},
		{"0;url=javascript:alert(1)", 0, "", false},
		{"0;url=http://[bad", 0, "", false},
		{"x", 0, "", false},
		{"5x", 0, "", false},
		{"-1;url=/a", 0, "", false},
		{"", 0, "", false},
	}
	for _, tt := range tests {
		r, ok := page.ParseRefresh(tt.content, base)
		require.Equal(t, tt.ok, ok, tt.content)
		require.Equal(t, tt.delay, r.Delay, tt.content)
		require.Equal(t, tt.to, r.To.URL, tt.content)
	}
}

func TestRefresh(t *testing.T) {
	p := read(t, `<template><meta http-equiv=refresh content="0;url=/t"></template><meta http-equiv=REFRESH content=x>
		<meta http-equiv=Refresh content="3;url=/a"><meta http-equiv=refresh content="0;url=/b">
		<noscript><p>Turn scripts on<meta http-equiv=refresh content="0;url=/n"></noscript>`)
	r, ok := p.Refresh()
	require.True(t, ok)
	require.Equal(t, "https://example.com/a", r.To.URL)
	require.Equal(t, 3, r.Delay)
	require.Equal(t, "https://example.com/n", p.Noscript.Refresh.To.URL)
	require.Equal(t, "Turn scripts on", p.Noscript.Text)
}

func TestDecode(t *testing.T) {
	late := strings.Repeat(" ", 2000)
	tests := []struct {
		name, body, contentType string
		text, charset           string
		by                      page.CharsetSource
	}{
		{"byte order mark", "\xEF\xBB\xBFä", "text/html; charset=iso-8859-1", "ä", "utf-8", page.ByBOM},
		{"UTF-16", "\xFF\xFEa\x00\xe4\x00", "", "aä", "utf-16le", page.ByBOM},
		{"header", "\xe4", "text/html; charset=ISO-8859-1", "ä", "windows-1252", page.ByHeader},
		{"quoted", "\xe4", `text/html;charset="latin1"`, "ä", "windows-1252", page.ByHeader},
		{"unknown in the header", "<meta charset=latin1>\xe4", "text/html;charset=none", "<meta charset=latin1>ä", "windows-1252", page.ByMeta},
		{"meta", "<meta charset=shift_jis>\x82\xa0", "text/html", "<meta charset=shift_jis>あ", "shift_jis", page.ByMeta},
		{"pragma", "<meta content='text/html; charset=koi8-r' http-equiv=content-type>\xc1", "", "<meta content='text/html; charset=koi8-r' http-equiv=content-type>а", "koi8-r", page.ByMeta},
		{"late", late + "<meta charset=latin1>\xe4", "", late + "<meta charset=latin1>ä", "windows-1252", page.ByMeta},
		{"in a comment", "<!--<meta charset=latin1>-->ä", "", "<!--<meta charset=latin1>-->ä", "utf-8", page.ByContent},
		{"UTF-16 in a meta element", "<meta charset=utf-16>ä", "", "<meta charset=utf-16>ä", "utf-8", page.ByMeta},
		{"content", "ä", "", "ä", "utf-8", page.ByContent},
		{"other content", "\xe4a", "", "äa", "windows-1252", page.ByContent},
		{"torn", "ä\xc3", "", "ä\uFFFD", "utf-8", page.ByContent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := page.Decode([]byte(tt.body), tt.contentType)
			require.Equal(t, tt.text, string(d.Text))
			require.Equal(t, tt.charset, d.Charset)
			require.Equal(t, tt.by, d.By)
		})
	}
	require.True(t, page.Decode([]byte("<meta charset=utf-8>"), "text/html; charset=latin1").Conflict)
	require.False(t, page.Decode([]byte("<meta charset=utf8>"), "text/html; charset=UTF-8").Conflict)
	require.Equal(t, "none", page.Decode(nil, "text/html;charset=none").Unknown)
	require.True(t, page.Decode([]byte("a\xe4a"), "text/html; charset=utf-8").Undecoded)
}

func TestReadForms(t *testing.T) {
	p := read(t, `<form action="/login" method=POST><input type=Password name=PW><input name=user><button formaction=https://evil.example/></button>`+
		`</form><table><form action=http://example.net/><tr><td><input type=password></table><input type=password>`)
	require.Equal(t, 3, p.Counts.Passwords)
	require.Len(t, p.Forms, 2)
	require.Equal(t, page.Form{Action: page.Ref{Raw: "/login", URL: "https://example.com/login"},
		Actions: []page.Ref{{Raw: "https://evil.example/", URL: "https://evil.example/"}}, HasPassword: true}, p.Forms[0])
	require.True(t, p.Forms[1].HasPassword)
}

// White space that is not ASCII is text.
func TestCollapse(t *testing.T) {
	for in, want := range map[string]string{
		"a b": "a b", " \t\r\n\f a\n\t b ": "a b", "a\u00a0b": "a\u00a0b", "\u00a0a ": "\u00a0a", "a\u2003 b": "a\u2003 b",
		"a\vb": "a\vb", "": "", " \u00a0\u2003 ": "",
	} {
		require.Equal(t, want, page.Collapse(in), "%q", in)
	}
	p := read(t, "<title> a&nbsp;b\n c</title><meta name=description content='  A  page '><h1>One&nbsp; <b>two</b></h1><a href=x>&nbsp;</a>")
	title, _ := p.Title()
	require.Equal(t, "a\u00a0b c", title)
	require.Equal(t, "One\u00a0 two", p.Headings[0].Text)
	require.Empty(t, p.Anchors[0].Text)
	p = read(t, "<title>&nbsp;</title>")
	_, ok := p.Title()
	require.False(t, ok, "there is nothing to read")
}

func TestReadText(t *testing.T) {
	p := read(t, `<title>T</title><h1>One  <b>two</b></h1><p>three<br>four<script>no</script><style>no</style><div>fi<i>ve</i></div>
		<ul><li>six<li>seven</ul><svg><title>no</title></svg><template>no</template><noscript>no</noscript>&amp; eight`)
	require.Equal(t, "One two\nthree\nfour\nfive\nsix\nseven\n& eight", p.Text)
	require.Equal(t, len(strings.ReplaceAll(p.Text, "\n", "")), p.TextBytes)
}

func TestReadLoads(t *testing.T) {
	p := read(t, `<link rel=stylesheet href=http://a.example/s.css><script src=http://a.example/s.js integrity=sha256-x crossorigin></script>
		<script type=text/template src=http://a.example/t></script><img src=http://a.example/i srcset="http://a.example/1 1x, http://a.example/2,3 2x">
		<style>@import "http://a.example/import"; @import url(http://a.example/url); a { background: URL( 'http://a.example/u' ) }</style>
		<p style="background:url(http://a.example/p)"><iframe src=http://a.example/f></iframe><video poster=http://a.example/v></video>
		<svg><image href=http://a.example/svg /></svg><object data=http://a.example/o></object><template><img src=http://a.example/no></template>`)
	var got []string
	for _, l := range p.Resources {
		mark := ""
		if l.Blockable {
			mark = "!"
		}
		got = append(got, l.Element+" "+strings.TrimPrefix(l.URL, "http://a.example/")+mark)
	}
	require.Equal(t, []string{"link s.css!", "script s.js!", "img i", "img 1!", "img 2,3!", "style import!", "style url!", "style u", "p p", "iframe f!",
		"video v", "image svg", "object o!"}, got)
	require.Equal(t, 2, p.Counts.ExternalScripts)
}

// The content of a template is neither shown nor loaded, whatever a script may do with it.
func TestReadTemplate(t *testing.T) {
	for _, nest := range []string{"", strings.Repeat("<div>", 600)} { // without a tree, too
		p := read(t, `<form><template><h2>No</h2><a href=/x onclick=f()>no</a><img src=x><form action=/y><input type=password></form>`+
			`<script src=/z></script><svg></svg></template><input name=in></form><h1>Yes</h1>`+nest)
		require.Equal(t, []page.Heading{{Level: 1, Text: "Yes"}}, p.Headings)
		require.Empty(t, p.Anchors)
		require.Empty(t, p.Resources)
		require.Zero(t, p.Counts.Images+p.Counts.Passwords+p.Counts.Scripts)
		require.Len(t, p.Forms, 1)
		require.False(t, p.Forms[0].HasPassword)
	}
}

func TestReadDeep(t *testing.T) {
	p := read(t, "<head><base href=/b/><title>Deep</title><meta name=description content=d><link rel=canonical href=c></head>"+
		strings.Repeat("<div>", 1000)+"<h1>Head</h1><a href=x>link</a>")
	require.True(t, p.HeadOnly)
	title, _ := p.Title()
	require.Equal(t, "Deep", title)
	require.Equal(t, "https://example.com/b/c", p.Canonicals()[0].URL)
	require.Equal(t, []page.Heading{{Level: 1, Text: "Head"}}, p.Headings)
	require.Equal(t, 1, p.Links.Internal)
	require.Equal(t, "link", p.Anchors[0].Text)
}
