//go:build !race

package page_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/stretchr/testify/require"
)

// numbered repeats a text with a number in it.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostile are pages that are made to cost much. Each is a beginning, and what is repeated up to the length.
var hostile = []struct{ name, begin, unit string }{
	{"text", "", "lorem ipsum "},
	{"elements", "", "<p>"},
	{"links", "", "<a href=x>y</a>"},
	{"open links", "", "<a href=x>"},
	{"long references", "", "<a href=" + strings.Repeat("x", 1000) + ">y</a>"},
	{"attributes", "<p ", "a "},
	{"numbered attributes", "<p " + numbered("a%d ", 200_000), "b "},
	{"deep", strings.Repeat("<div>", 500), "<p>x"},
	{"too deep", strings.Repeat("<div>", 600), "<p>x"},
	{"too deep links", strings.Repeat("<div>", 600), "<a href=x>y</a>"},
	{"formatting", numbered("<b id=%d>", 400), "<p>x"},
	{"formatting with attributes", numbered("<b id=%d a b c d e f g h i j k l m n o p q r s t u v w x y z>", 100), "<p>x"},
	{"formatting told apart in quotes", numbered("<b id='>%d'>", 400), "<p>x"},
	{"formatting adopted within SVG", "<svg><desc>" + numbered("<b id=%d>", 8), "<b><p/></b>"},
	{"unclosed links", "", "<a href=x a b c d e f><p>x"},
	{"formatting in cells", "<table><tr>", "<td><b><i><u>x"},
	{"formatting hidden in CDATA", "<svg><![CDATA[>" + numbered("<b id=%d>", 400) + "]]></svg>", "<p>x"},
	{"formatting hidden in a style", "<svg><style>" + numbered("<b id=%d>", 400) + "</style></svg>", "<p>x"},
	{"formatting hidden in a comment", "<svg><title><!--</title>" + numbered("<b id=%d>", 400), "<p>x"},
	{"ended in a marker", "<p>" + numbered("<b id=%d>", 400) + "<marquee>" + strings.Repeat("</b>", 400) + "</marquee>", "<p>x"},
	{"ended in a cell", "<p>" + numbered("<b id=%d>", 400) + "<span><table><td></span>" + strings.Repeat("</b>", 400) + "</table>", "<p>x"},
	{"ended in a select", "<p>" + numbered("<b id=%d>", 400) + "<span><select></span>" + strings.Repeat("</b>", 400) + "</select>", "<p>x"},
	{"ended across blocks", strings.Repeat(numbered("<b id=%d>", 3)+strings.Repeat("<div>", 12)+strings.Repeat("</b>", 3), 30), "<p>x"},
	{"ended in an attribute", "<p>" + numbered("<b id=%d>", 400) + strings.Repeat("<i a='</b>'></i>", 400), "<p>x"},
	{"adoption", "", "<b><p></b>"},
	{"adoption of links", "", "<a><p></a>x"},
	{"tables", "", "<table>x"},
	{"headings", "", "<h1>"},
	{"images", "", "<img srcset='a, b, c, d, e, f'>"},
	{"JSON-LD", "", `<script type=application/ld+json>{"@type":"A"}</script>`},
	{"long JSON-LD", "<script type=application/ld+json>", `[`},
	{"style", "<style>", "url(x)"},
	{"metas", "", "<meta name=a content=b>"},
	{"end tags", strings.Repeat("<div>", 500), "</x>"},
	{"comments", "", "<!---->"},
	{"entities", "", "&nbsp;"},
	{"frames", "", "<iframe src=x></iframe>"},
	{"microdata", "", "<i itemscope itemtype=x></i>"},
	{"noscript", "", "<noscript><p></noscript>"},
	{"nested templates", "", "<template>"},
	{"selects", "", "<select><option>x</select>"},
	{"captures", strings.Repeat("<h1>", 100), "xxxxxxx<br>"},
}

// A page takes no more memory and time than allotted, whatever its content.
func TestHostilePages(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	const length = 1 << 20
	for _, tt := range hostile {
		if !diagtest.Sampled(tt.name, 6) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.begin + strings.Repeat(tt.unit, max(0, length-len(tt.begin))/len(tt.unit)))
			var p *page.Page
			var took time.Duration
			held := diagtest.LiveBytes(int64(page.Memory(length)), func() {
				began := time.Now()
				p = page.Read(body, page.Options{})
				took = time.Since(began)
			})
			t.Logf("%4d ms, %3d MiB, cut %v, tree %v", took.Milliseconds(), held>>20, p.Cut, !p.HeadOnly)
			require.Less(t, held, int64(page.Memory(length)))
		})
	}
}

// Ordinary pages are read to their end, long ones and careless ones too.
func TestLongPagesAreWhole(t *testing.T) {
	for name, unit := range map[string]string{
		"cards":       `<div class="card big"><h2>A</h2><p>We repair bicycles, usually within two days.</p><a href="/b?x=1" rel="nofollow">C</a><img src="/d.jpg" alt="E"></div>`,
		"formatting":  `<p><b>Repair</b> of <i class="x">bicycles</i> and <strong><em>all</em></strong> other <font color="red" size="2">vehicles</font>.</p>`,
		"misnested":   `<b><i>Repair</b></i> of <font size="2"><p>bicycles</font> and all other vehicles that we know of</p>`,
		"lists":       `<ul><li><a href="/a"><span>A</span></a><li><a href="/b"><span>B</span></a></ul>`,
		"tables":      `<table><tr><td><b>Bicycle</b><td>Two days<tr><td>C<td><a href="/d">D</a></table>`,
		"wrong links": `<a href="/a"><div>Bicycles <a href="/b">Repair</a></div>of all the makes that we know, usually within two days</a>`,
	} {
		p := page.Read([]byte(strings.Repeat(unit, (1<<20)/len(unit))), page.Options{})
		require.False(t, p.Cut, name)
		require.False(t, p.HeadOnly, name)
	}
}

// Formatting elements that the parser would open again in each paragraph do not end a page, however they are left open.
func TestFormattingIsReadWhole(t *testing.T) {
	many := numbered("<b id=%d>", 400)
	for _, begin := range []string{
		"<p>" + many + "<span><table><td></span>" + strings.Repeat("</b>", 400) + "</table>",
		"<p>" + many + "<span><select></span>" + strings.Repeat("</b>", 400) + "</select>",
		numbered("<b id='>%d'>", 400),
	} {
		p := page.Read([]byte(begin+strings.Repeat("<p>x", 5000)+"<a href=/end>End</a>"), page.Options{})
		require.False(t, p.Cut, begin[len(begin)-20:])
		require.Equal(t, "End", p.Anchors[0].Text)
	}
}
