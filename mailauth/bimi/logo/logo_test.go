package logo

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
	"github.com/stretchr/testify/require"
)

const (
	address = "https://brand.example.com/logo.svg"
	bimi    = `default._bimi.example.com. TXT "v=BIMI1; l=` + address + `; a="` + "\n"
	good    = `<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">` +
		`<title>Example</title><rect width="64" height="64" fill="#0b5fff"/></svg>`
)

// with returns the good image with an insertion after its title.
func with(elements string) string { return strings.Replace(good, "</title>", "</title>"+elements, 1) }

// edited returns the good image with a replacement.
func edited(old, text string) string { return strings.Replace(good, old, text, 1) }

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// serve returns a web server that serves this as an SVG image.
func serve(body string) http.HandlerFunc { return serveAs("image/svg+xml", 200, body) }

func serveAs(media string, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // else it is guessed
		if media != "" {
			w.Header().Set("Content-Type", media)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func lookup(t testing.TB, zone string, site http.HandlerFunc, request Request) *Report {
	t.Helper()
	w := diagtest.NewWorld(t)
	w.Zone("example.com. SOA ns1.example.com. hostmaster.example.com. 1 7200 900 1209600 300\n" + zone)
	if site != nil {
		w.HTTPS("brand.example.com", site)
	}
	r, err := Lookup(t.Context(), w.Env(), request)
	require.NoError(t, err)
	return r
}

func byURL(u string) Request { return Request{URL: diag.MustURL(u)} }

var byName = Request{Domain: diag.MustDomain("example.com")}

func join(codes []diag.Code) string {
	list := make([]string, len(codes))
	for i, c := range codes {
		list[i] = strings.TrimPrefix(string(c), "bimi.logo.")
	}
	return strings.Join(list, " ")
}

// TestVerdicts judges images, web servers and records; together they make each rule pass and fail.
func TestVerdicts(t *testing.T) {
	tests := []struct{ name, image, want string }{
		{"exemplary", good, "valid 100"},
		{"page", "<!DOCTYPE html><html></html>", "invalid 39 format"},
		{"truncated", good[:150], "invalid 39 xml"},
		{"Latin-1 without saying so", edited("Example", "Soci\xe9t\xe9"), "invalid 39 encoding"},
		{"Latin-1", "<?xml version='1.0' encoding='ISO-8859-1'?>" + edited("Example", "Soci\xe9t\xe9"), "warning 89 charset"},
		{"deep", with(strings.Repeat("<g>", 300)), "invalid 69 complexity"},
		{"undeclared prefix", with(`<use xlink:href="#a"/>`), "invalid 69 namespace"},
		{"prefixed", with(`<s:g xmlns:s="http://www.w3.org/2000/svg"/>`), "warning 89 prefix"},

		{"script", with("<script>x()</script>"), "invalid 39 script"},
		{"event handler", with(`<g onclick="x()"/>`), "invalid 39 event_handler"},
		{"external", with(`<use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="a.svg#a"/>`), "invalid 69 external"},
		{"external color", with(`<g fill="url(http://example.net/#a)"/>`), "invalid 69 external.value"},
		{"DTD", `<!DOCTYPE svg [<!ENTITY a "b">]>` + good, "invalid 69 doctype entity"},
		{"instruction", `<?xml-stylesheet href="a.css"?>` + good, "invalid 69 instruction"},
		{"raster image", with("<image/>"), "invalid 69 raster"},
		{"animation", with("<animate/>"), "invalid 69 animation"},
		{"CSS", with(`<style/><g style="fill:red"/>`), "invalid 69 stylesheet"},
		{"link", with("<a/>"), "invalid 69 link"},
		{"video", with("<video/>"), "invalid 69 foreign"},
		{"HTML", with("<foreignObject/>"), "invalid 69 foreign"},
		{"font", with("<defs><font/></defs>"), "invalid 69 font"},

		{"version", edited("1.2", "1.1"), "invalid 69 version"},
		{"profile", edited("tiny-ps", "tiny"), "invalid 69 base_profile"},
		{"mask", with(`<mask/><g mask="url(#a)"/>`), "invalid 69 effect"},
		{"symbol", with(`<symbol/>`), "invalid 69 element"},
		{"tspan", with(`<text><tspan>a</tspan></text>`), "invalid 69 element lettering background"},
		{"editor", with(`<i:a xmlns:i="i"/>`), "invalid 69 editor_data"},
		{"element", with(`<foo/>`), "invalid 69 element"},
		{"placement", with(`<g><title/></g>`), "invalid 69 placement"},
		{"attribute", with(`<g opacity="1" href="#a" data-name="a"/>`), "invalid 69 attribute attribute attribute"},
		{"value", with(`<g fill-rule="odd"/>`), "invalid 69 value"},
		{"position", edited("viewBox", `x="0px" viewBox`), "invalid 69 attribute"},
		{"text between", with("hello"), "invalid 69 placement"},
		{"malformed", with(`<path d="x"/>`), "warning 89 value.malformed background"},
		{"dangling", with(`<g fill="url(#a)"/>`), "warning 89 reference"},
		{"base", with(`<g xml:base="http://example.net/"/>`), "warning 89 base"},

		{"no title", edited("<title>Example</title>", ""), "invalid 69 title.missing"},
		{"empty title", edited("Example", ""), "invalid 69 title.missing"},
		{"long title", edited("Example", strings.Repeat("a", 65)), "warning 89 title.long"},
		{"placeholder", edited("Example", "bimi-svg-tiny-12-ps"), "warning 89 title.placeholder"},

		{"larger than 32 KiB", good + "<!--" + strings.Repeat(" ", svg.MaxLogo) + "-->", "invalid 69 size"},
		{"no view box", edited(` viewBox="0 0 64 64"`, ""), "warning 89 view_box.missing"},
		{"bad view box", edited("0 0 64 64", "0 0 64"), "warning 89 view_box.invalid"},
		{"not square", edited("0 0 64 64", "0 0 64 32"), "warning 89 square"},
		{"relative", edited("viewBox", `width="100%" viewBox`), "warning 89 dimension"},
		{"blank", edited(`<rect width="64" height="64" fill="#0b5fff"/>`, ""), "warning 89 blank"},
		{"text", strings.Replace(good, "</svg>", "<text>a</text></svg>", 1), "valid 100 lettering"},
		{"transparent", edited("width=\"64\"", "width=\"32\""), "valid 100 background"},

		{"compressed", zipped(t, good), "valid 100"},
		{"damaged", zipped(t, good)[:40], "invalid 39 compression"},
		{"far too large", strings.Repeat(" ", svg.MaxBytes+1), "invalid 69 length"},
		{"bomb", zipped(t, strings.Repeat(" ", 20*svg.MaxBytes)), "invalid 69 length"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := lookup(t, "", serve(tt.image), byURL(address))
			got := fmt.Sprintf("%s %s %s", r.State, diagtest.Score(r.Verdict), join(seen.Add(r.Verdict)))
			require.Equal(t, tt.want, strings.TrimSpace(got), "%+v", r.Findings)
			for _, f := range r.Findings {
				require.NotEmpty(t, f.Advice)
				require.NotEmpty(t, f.Reference)
			}
		})
	}
	seen = append(seen, serverVerdicts(t)...)
	seen = append(seen, recordVerdicts(t)...)
	seen = append(seen, unknownVerdicts(t)...)
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
}

// Each rule about an image has the severity of its kind, and each kind has a rule.
func TestImageRules(t *testing.T) {
	image := map[svg.Kind]bool{}
	kinds := svg.Kind("").Values()
	for _, name := range kinds {
		k := svg.Kind(name)
		e := &evidence{fetched: &Fetched{Document: &svg.Document{
			Counts: map[svg.Kind]int{k: 1}, Faults: []svg.Fault{{Kind: k, Message: "It is so.", Line: 3, Column: 7}},
		}}}
		for _, r := range rules()[len(recordRules)+len(serverRules)+len(answerRules):] {
			if failures := r.Fails(e); len(failures) > 0 {
				require.Equal(t, k.Severity(), r.Severity, r.Code)
				require.Equal(t, "It is so (line 3, column 7).", failures[0].Detail)
				image[k] = true
			}
		}
	}
	require.Len(t, image, len(kinds))
}

// Faults of one cause are reported once, and what is not listed is counted.
func TestDetails(t *testing.T) {
	r := lookup(t, "", serve(with(strings.Repeat("\n<g style=''/>", 80)+"<style/>")), byURL(address))
	require.Len(t, r.Findings, 1)
	require.Equal(t, "The attribute style is not allowed on g (line 2, column 4, and 49 more times). There are 31 other faults of this kind.",
		r.Findings[0].Detail)
	require.Equal(t, "g style", r.Findings[0].Target)
	require.Equal(t, 81, r.FaultsCount)
	require.Len(t, r.Faults, 50)

	r = lookup(t, "", serve(with("<style/>\n<g style='' clip-path=''/><clipPath/>\n<defs style=''/>")), byURL(address))
	require.Len(t, r.Findings, 2)
	require.Contains(t, r.Findings[0].Detail, "The same applies to g style (line 2, column 4), defs style (line 3, column 7).")
	require.Contains(t, r.Findings[1].Detail, "The same applies to clipPath (line 2, column 27).")

	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, "<foo%d/>", i)
	}
	r = lookup(t, "", serve(with(b.String())), byURL(address))
	require.Len(t, r.Findings, maxListed)
	require.Contains(t, r.Findings[maxListed-1].Detail, "There are 12 other faults of this kind.")
}

func TestReport(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(bimi + "example.com. SOA ns1.example.com. hostmaster.example.com. 1 7200 900 1209600 300\n")
	w.HTTPS("brand.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/logo.svg" {
			http.Redirect(w, r, "/new.svg", http.StatusFound)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		serve(zipped(t, good))(w, r)
	}))
	r, err := Lookup(t.Context(), w.Env(), Request{Domain: diag.MustDomain("example.com"), IncludeSVG: true})
	require.NoError(t, err)
	require.Equal(t, "warning 89 redirect", fmt.Sprintf("%s %s %s", r.State, diagtest.Score(r.Verdict), join(diagtest.Codes(r.Verdict))))
	require.Equal(t, "example.com", r.Domain)
	require.Equal(t, address, r.URL)
	require.Equal(t, "https://brand.example.com/new.svg", r.FinalURL)
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(good)), r.SVGBase64)
	require.Equal(t, len(good), *r.SizeBytes)
	require.Equal(t, 1, r.Redirects)
	require.True(t, r.Compressed && r.TinyPSCompliant && r.SizeOK && r.SVG.Square)
	require.Equal(t, SVG{Version: "1.2", BaseProfile: "tiny-ps", Title: "Example", ViewBox: "0 0 64 64", AspectRatio: 1, Square: true, present: true}, r.SVG)

	f, err := Fetch(t.Context(), w.Env(), diag.MustURL(address))
	require.NoError(t, err)
	require.Equal(t, good, string(f.Image))
	require.Equal(t, r.Findings, f.Logo().Findings)
	require.Equal(t, r.SHA256, f.Logo().SHA256)
}

func TestInput(t *testing.T) {
	w := diagtest.NewWorld(t)
	for name, request := range map[string]Request{
		"nothing":               {},
		"both":                  {URL: diag.MustURL(address), Domain: diag.MustDomain("example.com")},
		"http":                  byURL("http://brand.example.com/logo.svg"),
		"selector without need": {URL: diag.MustURL(address), Selector: diag.MustSelector("a")},
	} {
		_, err := Lookup(t.Context(), w.Env(), request)
		var input *diag.InputError
		require.ErrorAs(t, err, &input, name)
	}
}
