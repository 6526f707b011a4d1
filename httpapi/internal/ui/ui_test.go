package ui

import (
	"flag"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	update = flag.Bool("update", false, "write testdata/components.html")
	listen = flag.String("listen", "", "serve the page of all components at this address, for a browser")
)

// The bounds of what a browser loads, in bytes.
const (
	maxPage   = 60 << 10
	maxStyle  = 40 << 10
	maxScript = 8 << 10
)

// components is the data of a page that has all components, with faults next to fields.
type components struct {
	Layout
	Form    *Form
	Choices []Choice
	Series  []int64
	Chart   BarChart
	Pager   pager
	Cursor  struct{ Newest, Older string }
	Samples []struct{ Title, Text string }
	View    template.HTML
}

type pager struct{ RowCount, Page, Pages, First, Last, PreviousPage, NextPage int }

func (pager) URL(int) string { return "#page" }

// handler serves the page, and what it loads.
func handler(t *testing.T) http.Handler {
	var report strings.Builder
	v := view.Answer("example.com", "DMARC policy is none: forged mail is delivered")
	v.Sub = "Receivers deliver mail that fails DMARC."
	v.Facts = []view.Fact{{Label: "policy", Value: "none", Mark: view.Warning}, {Label: "score", Value: "72 of 100"}}
	v.Findings = []diag.Finding{{Code: "dmarc.policy.none", Severity: diag.Warning, Title: "DMARC policy is none",
		Detail: "The record has p=none.", Advice: "Set p=quarantine once reports are clean."}}
	require.NoError(t, render.HTML(&report, v, render.HTMLOptions{Level: 2, ID: "result-"}))
	templates := Templates(nil, os.DirFS("testdata"), "page.html")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		data := &components{
			Layout: Layout{Title: "Components", Kind: "wide", Home: "/", Style: "/style.css", Icon: "/icon.svg",
				Script: "/script.js"},
			Form: &Form{Values: url.Values{"name": {"<Website>"}, "every": {"24"}, "kind": {"email"}, "checks": {"mail"}},
				Known: []string{"name", "kind", "sure"}, Faults: map[string]string{"name": "is in use", "kind": "is not known",
					"sure": "confirm that you know what cannot be undone"}},
			Choices: []Choice{{Value: 1, Title: "every hour"}, {Value: 24, Title: "every day"}},
			Chart: BarChart{Label: "30 requests on 16 November", Series: []Series{{"charged", ""}, {"refused", "warning"},
				{"failed", "error"}}, Bars: []Bar{{"10:00", "10:00", []int64{12, 2, 0}}, {"11:00", "", []int64{0, 0, 0}},
				{"12:00", "12:00", []int64{9, 0, 1}}, {"13:00 <b>", "", []int64{5, 1, 0}}}},
			Series: []int64{0, 3, 5, 0, 1, 9, 2, 7}, View: template.HTML(report.String()),
			Pager: pager{RowCount: 240, Page: 2, Pages: 3, First: 101, Last: 200, PreviousPage: 1, NextPage: 3},
		}
		data.Samples = []struct{ Title, Text string }{{"curl", `curl "$DIAG_SERVER/"`}, {"Python", "import os"}}
		data.Cursor.Newest, data.Cursor.Older = "#newest", "#older"
		page, err := Render(templates, "page.html", data)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Security-Policy", ScriptPolicy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	})
	for path, file := range map[string]struct {
		media    string
		contents []byte
	}{
		"/style.css": {"text/css", Style()}, "/script.js": {"text/javascript", Script()}, "/icon.svg": {"image/svg+xml", Icon()},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", file.media)
			w.Write(file.contents)
		})
	}
	return mux
}

// TestComponents holds the page of all components to what it was, and to the rules of all pages.
func TestComponents(t *testing.T) {
	h := handler(t)
	if *listen != "" {
		require.NoError(t, http.ListenAndServe(*listen, h))
	}
	get := func(path string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
		return w.Body.String()
	}
	page := get("/")
	const golden = "testdata/components.html"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(page), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), page, "run go test -update, and read the difference")

	assert.NotContains(t, page, "ZgotmplZ", "a template writes what is unsafe where it stands")
	assert.Less(t, len(page), maxPage)
	assert.Less(t, len(get("/style.css")), maxStyle)
	assert.Less(t, len(get("/script.js")), maxScript)
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	require.NoError(t, err)
	assert.Zero(t, doc.Find("[style], style, script:not([src])").Length(), "the policy forbids styles and scripts in a page")
	ids := map[string]int{}
	for _, one := range doc.Find("[id]").EachIter() {
		ids[one.AttrOr("id", "")]++
	}
	for id, n := range ids {
		assert.Equal(t, 1, n, "the id %s", id)
	}
	for _, one := range doc.Find("[aria-describedby], label[for]").EachIter() {
		for id := range strings.FieldsSeq(one.AttrOr("aria-describedby", one.AttrOr("for", ""))) {
			assert.Equal(t, 1, ids[id], "nothing has the id %s", id)
		}
	}
	assert.Equal(t, 3, doc.Find("[aria-invalid=true], fieldset .fault").Length())
	for _, button := range doc.Find("[data-copy]").EachIter() {
		_, hidden := button.Attr("hidden")
		assert.True(t, hidden, "without a script nothing is copied")
	}
}

// TestEveryComponent fails for a component that the page does not have.
func TestEveryComponent(t *testing.T) {
	source, err := files.ReadFile("templates/components.html")
	require.NoError(t, err)
	page, err := os.ReadFile("testdata/page.html")
	require.NoError(t, err)
	both := string(source) + string(page)
	for _, define := range regexp.MustCompile(`{{define "([^"]*)"}}`).FindAllStringSubmatch(string(source), -1) {
		assert.True(t, strings.Contains(both, `template "`+define[1]+`"`), "the page does not have %s", define[1])
	}
}

// TestTokens fails for a colour that is not a token: it would be the same in light and in dark.
func TestTokens(t *testing.T) {
	literal := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(`)
	_, rules, found := strings.Cut(string(Style()), "/* Signs of a state")
	require.True(t, found)
	assert.Empty(t, literal.FindAllString(rules, -1))
	for _, token := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(string(Style()), -1) {
		assert.Contains(t, string(Style()), token[1]+":", "nothing sets the token %s", token[1])
	}
}
