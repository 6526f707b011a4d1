package crawl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/page"
)

// The lengths of text, in words.
const (
	thinWords     = 50  // below, there is little to find
	maxErrorWords = 200 // an error page has fewer
	scriptedWords = 20  // what is there before scripts run
)

var errorText = kit.Regexp(`(?i)^\s*(error\s*)?40[34]\b|[-–|:]\s*(error\s*)?404\b|` +
	`\b(page|file|url|document|site|seite|product) (was |could |can)?\s?(not|be not|n't) (be )?found\b|^not found\b|` +
	`\bnicht gefunden\b|\bpage introuvable\b|no encontrada\b|\bpagina non trovata\b|\bniet gevonden\b|` +
	`не найдена|ページが見つかりません|页面不存在`)

func (e *evidence) firstHeadings() []string {
	var list []string
	for _, h := range e.page.Headings {
		if h.Level == 1 && len(list) < 3 {
			list = append(list, h.Text)
		}
	}
	return list
}

func titled(e *evidence) bool { return e.judged() && e.title() != "" }

var titleRules = rule.Rules[*evidence]{{
	Code: "crawl.title.missing", Severity: diag.Warning, Weight: 10, Ref: htmlStandard + "4.2.2",
	Title: "No title", Requirement: "The page has a title",
	Advice: "Add a title element to the head: search results and tabs show it.",
	When:   func(e *evidence) bool { return e.whole() || titled(e) },
	Fails: func(e *evidence) rule.Failures {
		if len(e.page.Titles) > 1 {
			return rule.FailIf(!titled(e), "The first of the %d title elements of %s is empty, and browsers show that one.",
				len(e.page.Titles), e.url)
		}
		return rule.FailIf(!titled(e), "%s has no title element, or an empty one.", e.url)
	},
}, {
	Code: "crawl.description.missing", Severity: diag.Warning, Weight: 5, Ref: htmlStandard + "4.2.5.1",
	Title: "No meta description", Requirement: "The page has a meta description",
	Advice: "Add a meta element with name=description that says in a sentence or two what the page offers.",
	When:   func(e *evidence) bool { return e.whole() || e.judged() && e.meta1("description") != "" },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.meta1("description") == "", "%s has no meta element with name=description, or an empty one.",
			e.url)
	},
}, {
	Code: "crawl.opengraph.incomplete", Severity: diag.Info, Weight: 1,
	Ref:   "The Open Graph protocol, basic metadata",
	Title: "Open Graph lacks a required property", Requirement: "Open Graph has its four required properties",
	Advice: "Add what is missing: og:title, og:type, og:image and og:url are required.",
	When:   func(e *evidence) bool { return e.whole() && len(e.page.OpenGraph()) > 0 },
	Fails: func(e *evidence) rule.Failures {
		have, lacks := e.page.OpenGraph(), []string{}
		for _, name := range []string{"og:title", "og:type", "og:image", "og:url"} {
			if all := have[name]; len(all) == 0 || all[0] == "" {
				lacks = append(lacks, name)
			}
		}
		return rule.FailIf(len(lacks) > 0, "The page has Open Graph metadata without %s.", strings.Join(lacks, ", "))
	},
}}

var headRules = rule.Rules[*evidence]{{
	Code: "crawl.charset.invalid", Severity: diag.Warning, Weight: 3, Ref: "Encoding Standard section 4.2",
	Title: "Text is not in the encoding that is stated", Requirement: "The text is in the encoding that is stated",
	Advice: "State the encoding in which the page is saved, ideally utf-8: readers see replacement characters.",
	When:   (*evidence).judged,
	Fails: func(e *evidence) rule.Failures {
		p := e.page
		if p.UnknownCharset != "" {
			return rule.Fail("%q is not an encoding that browsers know.", phrase.Quote(p.UnknownCharset))
		}
		return rule.FailIf(p.Undecoded && p.CharsetBy != page.ByContent,
			"The encoding is %s, but the page has bytes that are invalid in it.", p.Charset)
	},
}, {
	Code: "crawl.charset.conflict", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"crawl.charset.invalid"}, Ref: htmlStandard + "13.2.3.2",
	Title: "Contradictory character encodings", Requirement: "All declarations state the same encoding",
	Advice: "State the encoding in which the page is saved, ideally utf-8, in Content-Type and in the page.",
	Fails: func(e *evidence) rule.Failures {
		by := "Content-Type says"
		if e.page.CharsetBy == page.ByBOM {
			by = "its byte order mark says"
		}
		return rule.FailIf(e.page.CharsetConflict, "The page says %q, but browsers read it as %s because %s so.",
			phrase.Quote(e.page.DeclaredCharset), e.page.Charset, by)
	},
}, {
	Code: "crawl.charset.undeclared", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"crawl.charset.invalid"}, Ref: htmlStandard + "4.2.5.4",
	Title: "No encoding is stated", Requirement: "The encoding is stated",
	Advice: "Add charset=utf-8 to Content-Type, or a meta element with charset=utf-8 at the start of the head.",
	Fails: func(e *evidence) rule.Failures {
		if e.page.CharsetBy != page.ByContent || e.mediaType == "application/xhtml+xml" { // XML is UTF-8 unless it says else
			return nil
		}
		if e.page.Charset == "utf-8" {
			return rule.Fail("Neither Content-Type nor the page states an encoding; its bytes are UTF-8, " +
				"which browsers do not assume.").Suggesting(`<meta charset="utf-8">`)
		}
		f := rule.Fail("Neither Content-Type nor the page states an encoding, so browsers guess; its bytes suggest %s.",
			e.page.Charset)
		f[0].Advice = "Save the page as UTF-8 and declare it: charset=utf-8 in Content-Type, " +
			"or a meta element at the start of the head."
		return f
	},
}, {
	Code: "crawl.viewport.missing", Severity: diag.Warning, Weight: 3, Ref: "CSS Viewport Module section 4",
	Title: "No viewport for mobile devices", Requirement: "The page sets a viewport for mobile devices",
	Advice: "Add a meta element with name=viewport and content=\"width=device-width, initial-scale=1\", " +
		"once the layout fits.",
	When: func(e *evidence) bool { return e.whole() || e.judged() && e.meta1("viewport") != "" },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.meta1("viewport") == "",
			"%s has no meta element with name=viewport, so phones show it scaled down.", e.url)
	},
}, {
	Code: "crawl.lang.missing", Severity: diag.Info, Weight: 1, Ref: "WCAG 2.2 success criterion 3.1.1",
	Title: "No language is stated", Requirement: "The html element states the language",
	Advice: "Add lang to the html element, such as lang=\"en\": screen readers choose the pronunciation by it.",
	When:   (*evidence).judged,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.page.Lang == "", "The html element of the page has no lang.")
	},
}, {
	Code: "crawl.depth", Severity: diag.Warning, Weight: 2, Category: factorContent, Ref: htmlStandard + "13.2.6",
	Title: "Elements are nested more than 512 deep", Requirement: "Elements are nested at most 512 deep",
	Advice: "Close elements that are left open: parsers flatten or drop what is nested so deeply.",
	When:   (*evidence).judged,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.page.HeadOnly,
			"The elements of the page are nested more than 512 deep, so only its tags were examined.")
	},
}}

var contentRules = rule.Rules[*evidence]{{
	Code: "crawl.frames", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"crawl.body.empty"},
	Ref:   htmlStandard + "16.2",
	Title: "Page is made of frames", Requirement: "The page is not made of frames",
	Advice: "Put the content into the page itself: search engines index the frames, not the page.",
	When:   (*evidence).judged,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.page.Counts.Framesets > 0, "The page has a frameset instead of a body.")
	},
}, {
	Code: "crawl.script", Severity: diag.Warning, Weight: 5, DependsOn: []diag.Code{"crawl.frames"},
	Ref:   googleDoc + "JavaScript SEO basics",
	Title: "Content appears only when scripts run", Requirement: "The content is in the HTML",
	Advice: "Render the content on the server: not every crawler runs scripts, and those that do render it later.",
	When:   (*evidence).whole,
	Fails: func(e *evidence) rule.Failures {
		asksForScript := strings.Contains(strings.ToLower(e.page.Noscript.Text), "javascript")
		empty := e.words < scriptedWords && e.page.Counts.Scripts > 0 && (asksForScript || e.page.Links.All == 0)
		return rule.FailIf(empty && e.page.Counts.Images == 0,
			"The HTML has %s of text and %s; what the scripts add was not seen.",
			phrase.Count(e.words, "word"), phrase.Count(e.page.Counts.Scripts, "script"))
	},
}, {
	Code: "crawl.heading.missing", Severity: diag.Info, Weight: 1, DependsOn: []diag.Code{"crawl.script"},
	Ref:   htmlStandard + "4.3.11",
	Title: "No main heading (h1)", Requirement: "The page has a main heading",
	Advice: "Mark the heading of the page as h1.", When: (*evidence).whole,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.page.Levels[0] == 0, "The page has no h1 element.")
	},
}, {
	Code: "crawl.image.alt", Severity: diag.Warning, Weight: 3, Ref: htmlStandard + "4.8.4.4",
	Title:       "Image without alternative text (alt)",
	Requirement: "Every image has an alternative text, or an empty one for decoration",
	Advice:      "Add alt to each img: a few words for what it shows, or alt=\"\" if it is decoration.",
	When:        func(e *evidence) bool { return e.judged() && e.page.Counts.Images > 0 },
	Partly: func(e *evidence) float64 {
		return 1 - float64(e.page.Counts.MissingAlt)/float64(max(1, e.page.Counts.Images))
	},
	Fails: func(e *evidence) rule.Failures {
		c := e.page.Counts
		i := slices.IndexFunc(e.page.Images, func(i page.Image) bool { return !i.HasAlt })
		first := ""
		if i >= 0 && e.page.Images[i].Raw != "" {
			first = ", the first of them " + phrase.Quote(e.page.Images[i].Raw)
		}
		return rule.FailIf(c.MissingAlt > 0, "%d of %s without alt%s.", c.MissingAlt, phrase.Count(c.Images, "image"), first)
	},
}, {
	Code: "crawl.link.script", Severity: diag.Info, Ref: googleDoc + "Link best practices",
	Title: "Links that crawlers cannot follow", Requirement: "Crawlers can follow the links",
	Advice: "Use links with a URL in href, and let scripts handle the click.", When: (*evidence).judged,
	Fails: func(e *evidence) rule.Failures {
		n := 0
		for _, a := range e.page.Anchors {
			if strings.HasPrefix(a.URL, "javascript:") || a.URL == "" {
				n++
			}
		}
		return rule.FailIf(n > 0, "%d of %s to a script or nowhere.", n, phrase.Count(len(e.page.Anchors), "link")+" lead")
	},
}}

func (e *evidence) of(format string) []page.Structured {
	if !e.judged() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.page.Structured), func(s page.Structured) bool { return s.Format != format })
}

var dataRules = rule.Rules[*evidence]{{
	Code: "crawl.jsonld.invalid", Severity: diag.Warning, Weight: 5, Ref: "RFC 8259 section 2",
	Title: "JSON-LD cannot be read", Requirement: "JSON-LD is valid JSON",
	Advice: "Correct the JSON: search engines skip the whole block.",
	When:   func(e *evidence) bool { return len(e.of("json-ld")) > 0 },
	Fails: func(e *evidence) (all rule.Failures) {
		for i, s := range e.of("json-ld") {
			if s.Valid || !e.whole() && s.Error == "it breaks off before its end" {
				continue
			}
			where := ""
			if s.Line > 0 {
				where = fmt.Sprintf(", at line %d, column %d", s.Line, s.Column)
			}
			if s.Snippet != "" {
				where += fmt.Sprintf(" (%q)", phrase.Quote(s.Snippet))
			}
			all = append(all, rule.Failure{Target: "application/ld+json",
				Detail: fmt.Sprintf("Block %d of JSON-LD cannot be read: %s%s.", i+1, s.Error, where)})
		}
		return all
	},
}, {
	Code: "crawl.jsonld.type", Severity: diag.Info, Weight: 1, DependsOn: []diag.Code{"crawl.jsonld.invalid"},
	Ref:   "JSON-LD 1.1 section 3.5",
	Title: "JSON-LD without a type", Requirement: "JSON-LD has a type",
	Advice: "Add @type, such as Organization or Product.",
	Fails: func(e *evidence) (all rule.Failures) {
		for i, s := range e.of("json-ld") {
			all = append(all, rule.FailIf(len(s.Types) == 0, "Block %d of JSON-LD has no @type.", i+1)...)
		}
		return all
	},
}, {
	Code: "crawl.microdata.type", Severity: diag.Info, Weight: 1, Ref: htmlStandard + "5.2.2",
	Title: "Microdata item without a type", Requirement: "Microdata items have a type",
	Advice: "Add itemtype with the URL of a type, such as https://schema.org/Product.",
	When:   func(e *evidence) bool { return len(e.of("microdata")) > 0 },
	Fails: func(e *evidence) rule.Failures {
		n := 0
		for _, s := range e.of("microdata") {
			if !s.Valid {
				n++
			}
		}
		return rule.FailIf(n > 0, "%d of %s of microdata without itemtype.", n, phrase.Count(len(e.of("microdata")), "item"))
	},
}}

var securityRules = rule.Rules[*evidence]{{
	Code: "crawl.https", Severity: diag.Warning, Weight: 5, Ref: "RFC 9110 section 4.2.2",
	Title: "Page is served without HTTPS", Requirement: "The page is served over HTTPS",
	Advice: "Serve the page over HTTPS, and redirect from HTTP.", When: served,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.url.Scheme() != "https",
			"%s was served over HTTP, where anyone on the network path can read and change it.", e.url)
	},
}, {
	Code: "crawl.mixed.blocked", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"crawl.https"},
	Ref:         "W3C Mixed Content section 4.2",
	Title:       "Browsers block what the page loads over HTTP",
	Requirement: "The page loads no script, style or frame over HTTP",
	Advice:      "Load it over HTTPS, from your own host if the other does not support HTTPS.", When: (*evidence).judged,
	Fails: mixed(true),
}, {
	Code: "crawl.mixed.upgraded", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"crawl.https"},
	Ref:   "W3C Mixed Content section 4.1",
	Title: "Images or media are loaded over HTTP", Requirement: "The page loads images and media over HTTPS",
	Advice: "Use https in these URLs: browsers try HTTPS and show nothing if that fails.", When: (*evidence).judged,
	Fails: mixed(false),
}, {
	Code: "crawl.form.insecure", Severity: diag.Warning, Weight: 2, Ref: "W3C Mixed Content section 7.2",
	Title: "Form is sent over HTTP", Requirement: "Forms are sent over HTTPS",
	Advice: "Use an https URL as the action of the form.",
	When: func(e *evidence) bool {
		return e.judged() && len(e.page.Forms) > 0 && e.url.Scheme() == "https" && !e.upgrades()
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.page.Forms, func(f page.Form) rule.Failures {
			for _, ref := range append([]page.Ref{f.Action}, f.Actions...) {
				if strings.HasPrefix(ref.URL, "http://") && !loopback(ref.URL) {
					return rule.Fail("A form of the page is sent to %s.", phrase.Quote(ref.URL)).About(phrase.Quote(ref.URL))
				}
			}
			return nil
		}).Together("Several forms of the page are sent over HTTP.")
	},
}, {
	Code: "crawl.form.password", Severity: diag.Error, Weight: 3, Ref: "W3C Secure Contexts section 1.1",
	Title: "Password is asked for without HTTPS", Requirement: "Passwords are asked for over HTTPS only",
	Advice: "Serve the page over HTTPS, and redirect from HTTP.",
	When:   func(e *evidence) bool { return e.judged() && e.page.Counts.Passwords > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.url.Scheme() != "https", "%s asks for a password and was served over HTTP.", e.url)
	},
}}

// mixed fails for what is loaded over HTTP, and blocked or not.
func mixed(blocked bool) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		all := rule.FailEach(e.mixed, func(m Mixed) rule.Failures {
			return rule.FailIf(m.Blocked == blocked, "The page loads %s over HTTP (%s element).", phrase.Quote(m.URL),
				m.Element).About(phrase.Quote(m.URL))
		})
		return all.Together("The page loads %d files over HTTP.", len(all))
	}
}
