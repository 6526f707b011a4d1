package render_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
)

var update = flag.Bool("update", false, "write the golden files")

// writers are the four ways to show a view, by the ending of their files.
var writers = map[string]func(io.Writer, *view.View) error{
	"txt": func(w io.Writer, v *view.View) error {
		return render.Text(w, v, render.Options{Title: "spf/lookup", Verbose: true})
	},
	"md":  func(w io.Writer, v *view.View) error { return render.Markdown(w, v, "spf/lookup") },
	"svg": func(w io.Writer, v *view.View) error { return render.SVG(w, v.Drawing, "") },
	"html": func(w io.Writer, v *view.View) error {
		return render.Page(w, v, render.HTMLOptions{Title: "spf/lookup", Docs: "https://docs.example/findings/"})
	},
}

// written is a view as one of the writers writes it.
func written(t testing.TB, kind string, v *view.View) string {
	var b strings.Builder
	require.NoError(t, writers[kind](&b, v))
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, v := range views() {
		for kind := range writers {
			t.Run(name+"."+kind, func(t *testing.T) {
				text := written(t, kind, v)
				harmless(t, kind, text)
				file := filepath.Join("testdata", name+"."+kind)
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Equal(t, string(want), text)
			})
		}
	}
}

// harmless fails if a text could harm its reader.
func harmless(t testing.TB, kind, text string) {
	require.True(t, utf8.ValidString(text))
	at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && render.Unsafe(r) })
	require.Negative(t, at, kind)
	switch kind {
	case "svg":
		harmlessSVG(t, text)
	case "html":
		harmlessHTML(t, text)
	}
}

func harmlessSVG(t testing.TB, text string) {
	elements := []string{"svg", "title", "desc", "style", "rect", "text", "path", "circle"}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		require.True(t, slices.Contains(elements, e.Name.Local), e.Name.Local)
		for _, a := range e.Attr {
			require.True(t, slices.Contains(attributes, a.Name.Local), a.Name.Local)
		}
	}
}

// attributes are all that the template writes.
var attributes = strings.Fields(`lang charset http-equiv content name id class role aria-label aria-labelledby aria-hidden scope href
	viewBox preserveAspectRatio width height xmlns font-family font-size x y rx cx cy r d`)

var links = regexp.MustCompile(`^(#|https://docs\.example/findings/)[a-z0-9._-]*$`)

func harmlessHTML(t testing.TB, text string) {
	elements := strings.Fields(`html head meta title style body main section header h1 h2 h3 span small p dl div dt dd a table caption thead tr td th
		tbody i svg rect ol li pre code article mark details summary ul`)
	root, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	ids := map[string]bool{}
	for n := range root.Descendants() {
		require.False(t, n.Type == html.CommentNode)
		if n.Type != html.ElementNode {
			continue
		}
		require.True(t, slices.Contains(elements, n.Data), n.Data)
		for _, a := range n.Attr {
			require.True(t, slices.Contains(attributes, a.Key), a.Key)
			if a.Key == "href" {
				require.Regexp(t, links, a.Val)
			}
			if a.Key == "id" {
				require.False(t, ids[a.Val], "id %q twice", a.Val)
				ids[a.Val] = true
			}
		}
	}
}

// Text that a tracker turns into a link, a mention or an image occurs in code only.
func TestMarkdownOfStrangers(t *testing.T) {
	text := written(t, "md", hostile(evil))
	fence := regexp.MustCompile("(?ms)^ *(`{3,})[a-z]*\n.*?^ *(`{3,})$")
	span := regexp.MustCompile("(`+)[^\n]*?[^`]`+")
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		assert.Equal(t, m[1], m[2], "a fence closes early")
	}
	text = span.ReplaceAllString(fence.ReplaceAllString(text, ""), "CODE")
	for _, s := range []string{"<", "[", "]", "@", "://", "www.", "#12", "GH-7", "deadbeef1", "/close", "~~~", "&"} {
		assert.NotContains(t, text, s)
	}
}

func TestMarkdownProse(t *testing.T) {
	for in, want := range map[string]string{
		"More than 10 DNS lookups.":               "More than 10 DNS lookups.",
		"23 days (2026-12-18)":                    "23 days (2026-12-18)",
		"TLS 1.2, 1.3; 9,812 messages, 97 % – ok": "TLS 1.2, 1.3; 9,812 messages, 97 % – ok",
		"gone.example.com: no address":            "`gone.example.com`: no address",
		"(see mail.example.com.)":                 "(see `mail.example.com`.)",
		"v=DMARC1; p=none; pct=5":                 "`v=DMARC1; p=none; pct=5`",
		"1. not a list":                           `1\. not a list`,
		"the domain's key and/or name":            "the domain's key and/or name",
		"a `tick` and ``two``":                    "a `` `tick` `` and ``` ``two`` ```",
		"@all #1 GH-1 0123abcd /close":            "`@all #1 GH-1 0123abcd /close`",
		"":                                        "",
	} {
		v := view.Answer("x", in)
		v.Sub = in
		if got := strings.Split(written(t, "md", v), "\n"); in != "" && assert.Greater(t, len(got), 4) {
			assert.Equal(t, want, got[4])
		}
	}
}

// The policy of a page lets its own style apply, and nothing else.
func TestPagePolicy(t *testing.T) {
	text := written(t, "html", tree())
	_, style, _ := strings.Cut(text, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	hash := sha256.Sum256([]byte(style))
	root, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	policy := ""
	for n := range root.Descendants() {
		if n.Data == "meta" && slices.Contains(n.Attr, html.Attribute{Key: "http-equiv", Val: "Content-Security-Policy"}) {
			policy = n.Attr[1].Val
		}
	}
	assert.Equal(t, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'; base-uri 'none'; form-action 'none'", policy)
}

func TestHTMLLevelAndID(t *testing.T) {
	var b strings.Builder
	require.NoError(t, render.HTML(&b, tree(), render.HTMLOptions{Level: 2, ID: "spf-"}))
	for _, s := range []string{`<h2 id="spf-subject">`, "</h2>", "<h3>Findings</h3>", "<h4>", `id="spf-spf.lookups.exceeded"`, `href="#spf-spf.lookups.exceeded"`} {
		assert.Contains(t, b.String(), s)
	}
	assert.NotContains(t, b.String(), "h1")
	assert.NotContains(t, b.String(), "docs")
}

// Any drawing is bounded.
func TestManyRows(t *testing.T) {
	v := view.Answer("x", "y")
	v.Drawing = &view.Drawing{Kind: view.Tree, Title: "z"}
	for i := range 20_000 {
		v.Drawing.Node(i*1000, view.None, "", strings.Repeat("w", 9))
	}
	for kind := range writers {
		text := written(t, kind, v)
		assert.Contains(t, text, "18000 rows more", kind)
		assert.Less(t, len(text), 2_000_000, kind)
	}
}

func FuzzRender(f *testing.F) {
	f.Add(evil, "spf.a", int64(3), 1)
	f.Add("", "", int64(-1<<63), -1)
	f.Add("`", "critical", int64(1<<63-1), 1<<40)
	for kind := range int64(6) {
		f.Add(evil, evil, kind, int(kind))
	}
	f.Fuzz(func(t *testing.T, s, more string, amount int64, depth int) {
		kinds := []view.Kind{view.Tree, view.Chain, view.Table, view.Bars, view.Sections, view.Kind(more)}
		v := hostile(s)
		v.Drawing.Kind = kinds[uint64(amount)%6]
		v.Drawing.Rows = append(v.Drawing.Rows, view.Row{Cells: []string{more}, Depth: depth, Mark: view.Good, Amount: amount},
			view.Row{Cells: []string{s, more}, Depth: depth / 2, Mark: view.Mark(more), Amount: amount / 2, Note: more})
		v.Findings[0].Location.Offset = int(amount)
		for kind := range writers {
			harmless(t, kind, written(t, kind, v))
		}
	})
}

// The last lines are wrapped as all others are, and counts stay apart where blanks fall together.
func TestLastLines(t *testing.T) {
	v := &view.View{Subject: "example.com", Headline: "A headline.", Counts: "1 critical  2 errors",
		Foot: "14 of 14 checks answered in 0.4 s, most of them at once\neverything: diag a-longer-name.example.com --all"}
	for range 10 {
		v.Steps = append(v.Steps, view.Step{Text: "Publish the record.", Type: "TXT", Name: "example.com.", Value: "v"})
	}
	v.Passed = []diag.Check{{Code: "spf.record.single", Label: "There is one SPF record"}}
	var text, md strings.Builder
	require.NoError(t, render.Markdown(&md, v, ""))
	require.NoError(t, render.Text(&text, v, render.Options{Width: 40}))
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "everything:") {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 40, line)
		}
	}
	assert.Contains(t, text.String(), "at once\neverything: diag a-longer-name.example.com --all\n", "a command is not broken")
	assert.Contains(t, md.String(), "at once · everything: diag")
	text.Reset()
	require.NoError(t, render.Text(&text, v, render.Options{Verbose: true}))
	assert.Contains(t, text.String(), "\n  9. Publish the record.\n     example.com. IN TXT")
	assert.Contains(t, text.String(), "\n  10. Publish the record.\n      example.com. IN TXT", "in line with its text")
	assert.Contains(t, md.String(), "\n1 critical, 2 errors\n")
}

// What strangers publish is no formula to a spreadsheet, and stays on its line.
func TestCSVCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "=1+1": "'=1+1", "@x": "'@x", "+1": "'+1", "-1": "'-1", " \t=cmd\r\n|x": "'=cmd |x",
		"a=b": "a=b", "\xff": "\uFFFD",
	} {
		assert.Equal(t, want, render.CSVCell(text))
	}
}
