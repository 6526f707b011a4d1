package page_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/stretchr/testify/require"
)

// vector is the result of another implementation for a page.
type vector struct {
	Title, Lang, Description, Robots, Viewport, Generator *string
	Canonical                                             []*string
	Base                                                  *string
	OpenGraph                                             map[string][]string `json:"open_graph"`
	Twitter, Article                                      map[string][]string
	Hreflang                                              [][]string
	Feeds, Icons                                          []string
	JSONLDTypes                                           []string `json:"json_ld_types"`
	JSONLDInvalid                                         int      `json:"json_ld_invalid"`
	H1                                                    []string
	Headings                                              []int
	Images                                                int
	ImagesMissingAlt                                      int `json:"images_missing_alt"`
	Links                                                 int
	LinksInternal                                         int `json:"links_internal"`
	LinksExternal                                         int `json:"links_external"`
	LinksOther                                            int `json:"links_other"`
	LinksNofollow                                         int `json:"links_nofollow"`
	Forms                                                 int
	PasswordInputs                                        int `json:"password_inputs"`
	ScriptsExternal                                       int `json:"scripts_external"`
	Iframes                                               int
	MetaRefresh                                           *string `json:"meta_refresh"`
}

// TestConformancePages reads pages as another parser does, which builds the tree of browsers as well.
func TestConformancePages(t *testing.T) {
	type sample struct {
		File, URL string
		Expected  vector
		folder    string
	}
	var cases []sample
	for _, index := range diagtest.Vectors(t, "web/html/index.json") {
		for _, c := range diagtest.Cases[sample](t, []string{index}) {
			c.folder = filepath.Dir(index)
			cases = append(cases, c)
		}
	}
	equal := 0
	for _, c := range cases {
		if c.File == "synthetic-template-content.html" { // the other parser counts inert content of templates
			c.Expected.H1, c.Expected.Headings[0], c.Expected.Links, c.Expected.LinksInternal = []string{"shown"}, 1, 0, 0
		}
		ok := t.Run(c.File, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(c.folder, c.File))
			require.NoError(t, err)
			url, err := diag.ParseURL(c.URL)
			require.NoError(t, err)
			p := page.Read(body, page.Options{URL: url, ContentType: "text/html; charset=utf-8"})
			require.Equal(t, c.Expected, vectorOf(p))
			require.False(t, p.HeadOnly)
			require.False(t, p.Cut)
		})
		if ok {
			equal++
		}
	}
	t.Logf("pages: %d/%d equal", equal, len(cases))
}

func vectorOf(p *page.Page) vector {
	v := vector{OpenGraph: p.OpenGraph(), Twitter: p.Twitter(), Article: p.Properties("article:"),
		Canonical: []*string{}, Hreflang: [][]string{}, Feeds: urls(p.Feeds()), Icons: urls(p.Icons()),
		JSONLDTypes: []string{}, JSONLDInvalid: p.Counts.JSONLDInvalid, H1: []string{}, Headings: p.Levels[:],
		Images: p.Counts.Images, ImagesMissingAlt: p.Counts.MissingAlt, Links: p.Links.All,
		LinksInternal: p.Links.Internal, LinksExternal: p.Links.External, LinksOther: p.Links.Other,
		LinksNofollow: p.Links.NoFollow, Forms: p.Counts.Forms, PasswordInputs: p.Counts.Passwords,
		ScriptsExternal: p.Counts.ExternalScripts, Iframes: p.Counts.Frames,
	}
	v.Title = optional(p.Title())
	v.Description = optional(p.Meta("description"))
	v.Robots = optional(p.Meta("robots"))
	v.Viewport = optional(p.Meta("viewport"))
	v.Generator = optional(p.Meta("generator"))
	v.Lang = optional(p.Lang, p.HasLang)
	v.Base = optional(p.BaseTag.URL, p.BaseTag.URL != "")
	for _, c := range p.Canonicals() {
		v.Canonical = append(v.Canonical, optional(c.URL, c.URL != ""))
	}
	for _, l := range p.Hreflangs() {
		v.Hreflang = append(v.Hreflang, []string{l.Hreflang, l.URL})
	}
	for _, s := range p.Structured {
		if s.Format == "json-ld" {
			v.JSONLDTypes = append(v.JSONLDTypes, s.Types...)
		}
	}
	for _, h := range p.Headings {
		if h.Level == 1 {
			v.H1 = append(v.H1, h.Text)
		}
	}
	if all := p.HTTPEquiv("refresh"); len(all) > 0 {
		v.MetaRefresh = &all[0]
	}
	return v
}

func optional(s string, ok bool) *string {
	if !ok {
		return nil
	}
	return &s
}

func urls(refs []page.Ref) []string {
	list := []string{}
	for _, r := range refs {
		list = append(list, r.URL)
	}
	return slices.Clip(list)
}
