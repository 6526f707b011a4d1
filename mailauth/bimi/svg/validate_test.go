package svg

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

const (
	open64 = `<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">`
	titled = open64 + `<title>Example</title>`
	filled = `<rect width="64" height="64" fill="#0b5fff"/>`
	good   = titled + filled + "</svg>"
)

// with returns the good image with more shapes, on a line of their own.
func with(elements string) string { return titled + filled + "\n" + elements + "</svg>" }

// root returns the good image with other attributes of the root.
func root(old, attrs string) string { return strings.Replace(good, old, attrs, 1) }

func xlinked(elements string) string {
	return strings.Replace(with(elements), "<svg ", `<svg xmlns:xlink="http://www.w3.org/1999/xlink" `, 1)
}

// faultsOf writes faults as "kind line:column element attribute".
func faultsOf(d *Document) string {
	var list []string
	for _, f := range d.Faults {
		s := string(f.Kind)
		if f.Line > 0 {
			s += fmt.Sprintf(" %d:%d", f.Line, f.Column)
		}
		list = append(list, strings.Join(strings.Fields(s+" "+f.Element+" "+f.Attribute), " "))
	}
	return strings.Join(list, ", ")
}

func TestValidate(t *testing.T) {
	tests := []struct{ name, image, want string }{
		{"exemplary", good, ""},
		{"with an XML declaration", `<?xml version="1.0" encoding="utf-8" standalone='no' ?>` + "\n" + good + "\n<!-- end -->\n", ""},
		{"byte order mark", markUTF8 + good, ""},
		{"description", with("<desc>A blue &amp; white <![CDATA[<square>]]></desc><metadata/>"), ""},
		{"gradient", with(`<defs><linearGradient id="g"><stop offset="0"/></linearGradient></defs><path fill="url(#g) red" d="M0,0h9"/>`), ""},
		{"use", xlinked(`<defs><circle id="c" r="1"/></defs><use xlink:href="#c" x="1"/>`), ""},
		{"white space around a word", strings.Replace(good, `"1.2"`, `" 1.2 "`, 1), ""},

		{"empty", "", "syntax"},
		{"white space", " \n ", "syntax"},
		{"only a comment", "<!-- x -->", "syntax"},
		{"text", "hello", "not_svg 1:1"},
		{"JSON", `{"a":1}`, "not_svg"},
		{"PNG", "\x89PNG\r\n\x1a\n", "not_svg"},
		{"page", "\n<!doctype HTML><html></html>", "not_svg"},
		{"other root", "<html></html>", "not_svg"},
		{"other namespace", root("/svg\"", "/svgx\""), "not_svg 1:1 svg xmlns"},
		{"no namespace", root(` xmlns="http://www.w3.org/2000/svg"`, ""), "not_svg 1:1 svg xmlns"},
		{"too long", strings.Repeat(" ", MaxBytes+1), "limit"},
		{"truncated", titled + filled, "syntax 1:164 svg"},
		{"text behind", good + "\nx", "syntax 2:1"},
		{"second root", good + "<svg/>", "syntax 1:170 svg"},
		{"reference behind", good + "&#32;", "syntax 1:170"},
		{"declaration not at the beginning", "\n<?xml version='1.0'?>" + good, "syntax 2:1"},
		{"declaration without a version", "<?xml encoding='utf-8'?>" + good, "syntax 1:1"},
		{"declaration of version 1.1", "<?xml version='1.1'?>" + good, "syntax 1:1"},
		{"wrong end tag", with("<g></h>"), "syntax 2:4 h"},
		{"space in an end tag", with("<g></g >"), ""},
		{"attribute twice", with(`<g class="a" class="b"/>`), "syntax 2:14"},
		{"attribute twice among many", with("<g " + many(40) + ` a7=""/>`), "syntax 2:275"},
		{"no space between attributes", with(`<g class="a"id="b"/>`), "syntax 2:13"},
		{"no quotes", with(`<g class=a/>`), "syntax 2:4"},
		{"less-than in a value", with(`<g class="<"/>`), "syntax 2:11"},
		{"less-than in text", with(`<desc>a < b</desc>`), "syntax 2:9"},
		{"ampersand in text", with(`<desc>a & b</desc>`), "syntax 2:9"},
		{"character that does not exist", with(`<desc>&#xFFFF;</desc>`), "syntax 2:7"},
		{"two hyphens in a comment", with(`<!-- a -- b -->`), "syntax 2:8"},
		{"comment without an end", with(`<!-- a`), "syntax 2:1"},
		{"CDATA without an end", with(`<desc><![CDATA[a</desc>`), "syntax 2:7"},
		{"end of CDATA in text", with(`<desc>]]></desc>`), "syntax 2:7"},
		{"DOCTYPE without an end", "<!DOCTYPE svg [" + good, "syntax 1:1"},
		{"DOCTYPE inside", with("<!DOCTYPE svg>"), "syntax 2:1"},

		{"ISO 8859-1", "<?xml version='1.0' encoding='ISO-8859-1'?>" + strings.Replace(good, "Example", "Soci\xe9t\xe9", 1), "charset"},
		{"windows-1252", "<?xml version='1.0' encoding='windows-1252'?>" + strings.Replace(good, "Example", "\x80", 1), "charset"},
		{"misspelled UTF-8", "<?xml version='1.0' encoding='utf8'?>" + good, "charset"},
		{"label that stands for nothing", "<?xml version='1.0' encoding='iso-2022-kr'?>" + good, "encoding"},
		{"not UTF-8", strings.Replace(good, "Example", "\n Soci\xe9t\xe9", 1), "encoding 2:6"},
		{"control character", strings.Replace(good, "Example", "\x07", 1), "encoding 1:104"},
		{"unknown encoding", "<?xml version='1.0' encoding='EBCDIC'?>" + good, "encoding"},
		{"mark and another encoding", markUTF8 + "<?xml version='1.0' encoding='iso-8859-1'?>" + good, "encoding"},
		{"not US-ASCII", "<?xml version='1.0' encoding='us-ascii'?>" + strings.Replace(good, "Example", "é", 1), "encoding"},
		{"UTF-16", utf16of(good), "charset"},
		{"UTF-16 with its order declared", utf16of("<?xml version='1.0' encoding='UTF-16LE'?>" + good), "charset"},
		{"UTF-16 declared, UTF-8 found", "<?xml version='1.0' encoding='UTF-16'?>" + good, "encoding"},
		{"UTF-16 of odd length", utf16of(good) + "a", "encoding"},

		{"DOCTYPE", "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://w3.org/>.dtd\">\n" + good, "doctype 1:1"},
		{"billion laughs", `<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` + with("<desc>&b;&b;</desc>"), "doctype 1:1, entity 1:16, entity 2:7, entity 2:10"},
		{"undeclared entity", with("<desc>a&nbsp;b</desc>"), "entity 2:8"},
		{"DOCTYPE in a comment", with("<!-- <!doctype svg> -->"), "doctype 2:6"},
		{"script in a comment", with("<!-- <SCRIPT> -->"), "script 2:6"},
		{"style sheet", `<?xml-stylesheet href="x.css"?>` + good, "processing_instruction 1:1"},

		{"script", with("<g><script>x()</script></g>"), "script 2:4 script"},
		{"script of HTML", with(`<foreignObject><script xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>`), "foreign_content 2:1 foreignObject, script 2:16 script"},
		{"event handler", with(`<g onclick="x()"/>`), "event_handler 2:4 g onclick"},
		{"event handler on what is not of the profile", with(`<filter ONLOAD="x()"/>`), "effect 2:1 filter, event_handler 2:9 filter ONLOAD"},
		{"script in a link", xlinked(`<a xlink:href="javascript:x()"><circle r="1"/></a>`), "link 2:1 a, script 2:4 a xlink:href"},
		{"raster image", xlinked("<image\n xlink:href=\"data:image/png;base64,AAAA\"/>"), "raster_image 2:1 image"},
		{"raster image of another document", xlinked(`<image xlink:href="a.png"/>`), "raster_image 2:1 image, external_reference 2:8 image xlink:href"},
		{"fill with a pattern", with(`<pattern id="a"/><g fill="url(#a)"/>`), "element 2:1 pattern"},
		{"entity for the namespace", `<!DOCTYPE svg [<!ENTITY s "x">]>` + strings.Replace(good, "http://www.w3.org/2000/svg", "&s;", 1), "doctype 1:1, entity 1:16, entity 1:45"},
		{"use of another document", xlinked(`<use xlink:href="x.svg#a"/>`), "external_reference 2:6 use xlink:href"},
		{"use without xlink", with(`<use href="#a"/>`), "attribute 2:6 use href"},
		{"use without a declaration", with(`<use xlink:href="#a"/>`), "namespace 2:6 use xlink:href"},
		{"paint of another document", with(`<g fill="URL( 'https://example.com/#a' )"/>`), "external_value 2:4 g fill"},
		{"second paint of another document", with(`<g fill="url(#a) url(x#a)"/>`), "malformed 2:4 g fill, external_value 2:4 g fill, dangling 2:4 g fill"},
		{"base that leads away", with(`<g xml:base="http://example.com/"><path fill="url(#a)"/></g>`), "base 2:4 g xml:base, external_value 2:41 path fill"},
		{"animation", with(`<circle r="1"><animate attributeName="r"/></circle>`), "animation 2:15 animate"},
		{"style element", with(`<style>.a{}</style>`), "stylesheet 2:1 style"},
		{"style attribute", with(`<g style="fill:red"/>`), "stylesheet 2:4 g style"},
		{"audio", with(`<audio/>`), "foreign_content 2:1 audio"},
		{"HTML", with(`<p xmlns="http://www.w3.org/1999/xhtml"><b>x</b></p>`), "foreign_content 2:1 p"},
		{"font", with(`<defs><font><glyph/></font></defs>`), "font 2:7 font"},
		{"filter with what is in it", with(`<filter><feBlend/><feFlood/></filter>`), "effect 2:1 filter"},
		{"filter attribute", with(`<g filter="url(#a)"/>`), "effect 2:4 g filter"},
		{"symbol with shapes", with(`<symbol><g><path d="M0 0"/></g></symbol>`), "element 2:1 symbol"},
		{"tspan", with(`<text>a<tspan>b</tspan></text>`), "lettering 2:1 text, element 2:8 tspan"},
		{"editor", strings.Replace(with(`<i:b/><g i:c=""/>`), "<svg", `<svg xmlns:i="urn:i"`, 1), "editor_data 2:1 i:b, editor_data 2:10 g i:c"},
		{"undeclared prefix", with(`<a:b/><g a:b=""/>`), "namespace 2:1 a:b, namespace 2:10 g a:b"},
		{"no namespace inside", with(`<g xmlns=""/>`), "editor_data 2:1 g"},
		{"bad declarations", with(`<g xmlns:a="" xmlns:xml="x" xmlns:b="http://www.w3.org/XML/1998/namespace"/>`), "namespace 2:4 g xmlns:a, namespace 2:15 g xmlns:xml, namespace 2:29 g xmlns:b"},
		{"prefix", `<s:svg xmlns:s="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps"` + "\n" + `viewBox="0 0 9 9"><s:title>a</s:title><s:rect width="9" height="9"/></s:svg>`,
			"prefix 1:1 s:svg, prefix 2:19 s:title, prefix 2:39 s:rect"},
		{"unknown element", with(`<foo><bar/></foo>`), "element 2:1 foo"},
		{"nested svg", with(`<svg/>`), "placement 2:1 svg"},
		{"title in a group", with(`<g><title>a</title></g>`), "placement 2:4 title"},
		{"shape in a shape", with(`<rect><circle r="1"/></rect>`), "placement 2:7 circle"},
		{"text in a group", with(`<g>hello</g>`), "placement 2:4 g"},
		{"unknown attribute", with(`<g opacity="1"/>`), "attribute 2:4 g opacity"},
		{"value", with("<g fill-rule=\"odd\"/>"), "value 2:4 g fill-rule"},
		{"id that begins with a digit", with(`<g id="1a"/>`), "value 2:4 g id"},
		{"both identifiers", with(`<g id="a" xml:id="b"/>`), "attribute 2:1 g xml:id"},
		{"too deep", with(strings.Repeat("<g>", 300)), "limit 2:766 g"},
		{"too many attributes", with("<g" + many(maxAttrs+1) + "/>"), "limit 2:1"},
		{"too many namespaces", with(strings.Repeat(`<g xmlns:a="a">`, 70)), "limit 2:949 g xmlns:a"},

		{"version", root(`"1.2"`, `"1.1"`), "version 1:41 svg version"},
		{"no version", root(`version="1.2"`, ""), "version 1:1 svg version"},
		{"profile", root("tiny-ps", "tiny"), "base_profile 1:55 svg baseProfile"},
		{"no profile", root(`baseProfile="tiny-ps"`, ""), "base_profile 1:1 svg baseProfile"},
		{"position", root("viewBox", `x="0px" y="0" viewBox`), "attribute 1:77 svg x, attribute 1:85 svg y"},
		{"no title", open64 + filled + "</svg>", "title_missing title"},
		{"late title", open64 + filled + "<title>a</title></svg>", "placement 1:142 title"},
		{"two titles", with("<title>a</title>"), "placement 2:1 title"},
		{"empty title", strings.Replace(good, "Example", " \n ", 1), "title_missing title"},
		{"long title", strings.Replace(good, "Example", strings.Repeat("é", 65), 1), "title_long title"},
		{"placeholder", strings.Replace(good, "Example", "Untitled", 1), "title_placeholder title"},
		{"larger than 32 KiB", with("<!--" + strings.Repeat(" ", MaxLogo) + "-->"), "size"},

		{"no view box", root(` viewBox="0 0 64 64"`, ""), "view_box_missing 1:1 svg viewBox"},
		{"bad view box", root("64 64\"", "64\""), "view_box_invalid 1:77 svg viewBox"},
		{"empty view box", root("64 64\"", "0 64\""), "view_box_invalid 1:77 svg viewBox"},
		{"commas in the view box", root("0 0 64 64", " -0,0,64 , 6.4e1 "), ""},
		{"not square", root("64 64\"", "64 32\""), "not_square 1:1 svg"},
		{"not square by size", root("viewBox", `width="3cm" height="20" viewBox`), "not_square 1:1 svg"},
		{"same size in two units", root("viewBox", `width="1in" height="96" viewBox`), ""},
		{"relative size", root("viewBox", `width="100%" height="1em" viewBox`), "dimension 1:77 svg width, dimension 1:90 svg height"},
		{"size that is none", root("viewBox", `width="auto" height="0" viewBox`), "dimension 1:77 svg width, dimension 1:90 svg height"},

		{"transparent", titled + `<circle cx="32" cy="32" r="20"/></svg>`, "background"},
		{"filled with none", titled + `<g fill="none">` + `<rect width="64" height="64"/></g></svg>`, "background"},
		{"filled by percentages", titled + `<rect width="100%" height="100%"/></svg>`, ""},
		{"filled by a path", titled + `<path d="M64 0v64H0V0z"/></svg>`, ""},
		{"small path", titled + `<path d="m1 1 20 0,0,20-20,0z"/></svg>`, "background"},
		{"filled by a path that is moved", titled + `<g transform="scale(9)"><path d="M0 0h9"/></g></svg>`, ""},
		{"blank", titled + `<defs><path d="M0 0"/></defs></svg>`, "blank"},
		{"text", with(`<text x="1 2" editable="none">a</text>`), "lettering 2:1 text"},
		{"dangling", xlinked(`<use xlink:href="#a"/><g fill="url(#b)"/>`), "dangling 2:6 use xlink:href, dangling 2:26 g fill"},
		{"malformed values", with(`<path d="L0 0" fill="#12" transform="turn(3)" stroke-width="a"/>`), "malformed 2:7 path d, malformed 2:16 path fill, malformed 2:27 path transform, malformed 2:47 path stroke-width"},
		{"three kinds of line ends", "<!--\r\n\r\n-->" + with("\r<g a=''/>"), "attribute 5:4 g a"},
		{"columns are characters", with(`<desc>éé</desc><g a=''/>`), "attribute 2:19 g a"},
	}
	seen := map[Kind]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Validate([]byte(tt.image))
			got := faultsOf(d)
			for k := range d.Counts {
				seen[k] = true
			}
			require.Equal(t, tt.want, got)
			fatal := d.Counts[Syntax]+d.Counts[Encoding]+d.Counts[NotSVG]+d.Counts[Limit] > 0
			require.Equal(t, !fatal, d.Complete)
		})
	}
	for _, k := range Kind("").Values() {
		require.True(t, seen[Kind(k)], "no test makes a fault of the kind %s", k)
	}
}

// many writes attributes with names of their own.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` a%d=""`, i)
	}
	return b.String()
}

func utf16of(s string) string {
	b := []byte(markUTF16LE)
	for _, c := range s {
		b = append(b, byte(c), byte(c>>8))
	}
	return string(b)
}

func TestDocument(t *testing.T) {
	d := Validate([]byte(root("viewBox", `width="96" height="96" viewBox`)))
	require.Equal(t, Document{
		Version: "1.2", BaseProfile: "tiny-ps", Title: "Example", HasTitle: true, ViewBox: "0 0 64 64", Width: "96", Height: "96",
		Box: Box{0, 0, 64, 64}, Size: d.Size, Complete: true, Faults: []Fault{}, Counts: map[Kind]int{},
	}, *d)
	require.True(t, d.Square() && d.Compliant() && len(d.Counts) == 0)

	d = Validate([]byte(with(`<g fill="url(http://example.com/#a)" onclick=""/><script/>`)))
	require.Equal(t, []string{"event_handler", "external_reference", "script"}, d.Forbidden())

	d = Validate([]byte(with(`<g fill="url(http://example.com/#a)"/>`)))
	require.True(t, d.Compliant() && d.Faults[0].Severity() == diag.Error, "the schema takes it, receivers should not")

	d = Validate([]byte(with(strings.Repeat("<foo/>", 3*maxPerKind))))
	require.Len(t, d.Faults, maxPerKind)
	require.Equal(t, 3*maxPerKind, d.Counts[Element])
}

// All kinds are described once.
func TestKinds(t *testing.T) {
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(Kind("").Values()))), len(traits))
	require.Equal(t, diag.Critical, Script.Severity())
	require.Equal(t, "raster_image", RasterImage.forbidden())
}

func TestDecode(t *testing.T) {
	zip := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.String()
	}
	whole := zip(good)
	bomb := zip(strings.Repeat("\x00", 50*MaxBytes))
	tests := []struct {
		name, file, want, err string
		compressed            bool
	}{
		{"plain", good, good, "", false},
		{"compressed", whole, good, "", true},
		{"empty", "", "", "", false},
		{"as long as may be", zip(strings.Repeat("a", MaxBytes)), strings.Repeat("a", MaxBytes), "", true},
		{"too long", strings.Repeat("a", MaxBytes+1), "", "more than 1048576 bytes", false},
		{"bomb", bomb, "", "more than 1048576 bytes", true},
		{"cut off", whole[:len(whole)-9], "", "ends too early", true},
		{"header alone", whole[:2], "", "ends too early", true},
		{"wrong sum", whole[:len(whole)-8] + "????" + whole[len(whole)-4:], "", "checksum", true},
		{"damaged", whole[:12] + "\xff\xff\xff\xff" + whole[16:], "", "damaged", true},
		{"something behind", whole + "more", "", "4 bytes follow", true},
		{"a second member", whole + whole, "", "bytes follow", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			image, compressed, err := Decode([]byte(tt.file))
			require.Equal(t, tt.compressed, compressed)
			require.Equal(t, tt.want, string(image))
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.err)
			}
		})
	}
}
