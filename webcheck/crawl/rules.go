package crawl

import (
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/page"
	"github.com/diagkit/diagkit/webcheck/internal/robots"
	"golang.org/x/text/language"
)

// rules is the table of all that is examined, in the order in which a crawler would meet it.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(hostRules(), robotsRules.With(rule.Rule[*evidence]{Category: factorAccess}),
		agentRules.With(rule.Rule[*evidence]{Category: factorAccess, Reads: []rule.Source{fromRobots}}),
		answerRules.With(rule.Rule[*evidence]{Category: factorAccess}),
		indexRules.With(rule.Rule[*evidence]{Category: factorIndexing}),
		engineRules.With(rule.Rule[*evidence]{Category: factorIndexing}),
		canonicalRules.With(rule.Rule[*evidence]{Category: factorIndexing}),
		targetRules.With(rule.Rule[*evidence]{Category: factorIndexing, Reads: []rule.Source{fromPage, fromTarget}}),
		elsewhereRules.With(rule.Rule[*evidence]{Category: factorIndexing, Reads: []rule.Source{fromPage, fromTarget}}),
		hreflangRules.With(rule.Rule[*evidence]{Category: factorIndexing}),
		titleRules.With(rule.Rule[*evidence]{Category: factorMetadata}),
		headRules.With(rule.Rule[*evidence]{Category: factorMetadata}),
		contentRules.With(rule.Rule[*evidence]{Category: factorContent}),
		dataRules.With(rule.Rule[*evidence]{Category: factorData}),
		securityRules.With(rule.Rule[*evidence]{Category: factorSecurity})).Reading(fromPage)
})

// The factors of the score, in the order of a reader.
var (
	factorAccess   = rule.Category{Code: "access", Label: "Access and answer"}
	factorIndexing = rule.Category{Code: "indexing", Label: "Indexing"}
	factorMetadata = rule.Category{Code: "metadata", Label: "Title and metadata"}
	factorContent  = rule.Category{Code: "content", Label: "Content"}
	factorData     = rule.Category{Code: "structured_data", Label: "Structured data"}
	factorSecurity = rule.Category{Code: "security", Label: "HTTPS and mixed content"}
)

// The references that several rules share.
const (
	htmlStandard = "HTML Standard section "
	googleDoc    = "Google Search Central, "
)

// texts are the verdicts in words, where title and advice of the gravest finding do not.
var texts = rule.Texts{
	"excellent": {
		Headline: "Page can be crawled and indexed, and says what it offers",
		Sub:      "Crawlers find what they need. The findings, if any, are for fine-tuning.",
	},
	"valid": {
		Headline: "Page can be crawled and indexed",
		Sub:      "Crawlers can read the page and its metadata. The findings say what could be better.",
	},
	"crawl.type": {
		Headline: "The content type is not HTML, so there is no page to examine",
		Sub:      "Crawlers may index the file as it is. Metadata of web pages does not apply to it.",
	},
	"crawl.canonical.elsewhere": {
		Headline: "Page can be crawled, but names another page as canonical",
		Sub:      "Search engines are asked to index the other page. Name the URL of this page unless that is intended.",
	},
	"crawl.size.truncated": {
		Headline: "Page can be crawled and indexed, as far as it was examined",
		Sub:      "It is longer than what was examined. Raise max_bytes to examine all of it.",
	},
	"crawl.index.nofollow": {
		Headline: "Page can be indexed, but tells crawlers not to follow its links",
		Sub:      "Pages that only it links to may not be found. Remove nofollow unless that is intended.",
	},
}

// served reports whether the page came with success, HTML or not, and not from a wall.
func served(e *evidence) bool { return e.succeeded() && e.wall == "" }

// forbiddenBy lists what forbids a crawler something, for a sentence.
func (e *evidence) forbiddenBy(c crawler, forbids func(robots.Effect) bool) string {
	var places []string
	for _, p := range []struct {
		name string
		list []robots.Directive
	}{{"the X-Robots-Tag field", e.header}, {"a meta element", e.meta}} {
		if effect := robots.Combine(p.list, c.token, e.now); forbids(effect) {
			texts := kit.Map(effect.Why, func(d robots.Directive) string { return phrase.Quote(d.String()) })
			places = append(places, p.name+" ("+strings.Join(texts, ", ")+")")
		}
	}
	return strings.Join(places, " and ")
}

var indexRules = rule.Rules[*evidence]{{
	Code: "crawl.index.hidden", Severity: diag.Warning, Weight: 5, Reads: []rule.Source{fromPage, fromRobots},
	Ref:         googleDoc + "Block indexing with noindex",
	Title:       "robots.txt keeps crawlers from seeing the noindex",
	Requirement: "Crawlers may fetch the page to see its noindex",
	Advice:      "Allow the page in robots.txt so crawlers see the noindex; otherwise links can keep it in the index.",
	When: func(e *evidence) bool {
		return served(e) && slices.ContainsFunc(e.robots, func(r *robot) bool { return r.effect.NoIndex })
	},
	Fails: func(e *evidence) rule.Failures {
		for _, r := range []*robot{e.requested(), e.google(), e.bing()} {
			if r.effect.NoIndex && !r.decision.Allowed {
				return rule.Fail("Indexing is forbidden by %s, but robots.txt keeps %s from fetching the page.",
					e.forbiddenBy(r.crawler, noIndex), r.name)
			}
		}
		return nil
	},
}, {
	Code: "crawl.index.forbidden", Severity: diag.Error, Weight: 10,
	Ref:   googleDoc + "Robots meta tag, data-nosnippet, and X-Robots-Tag",
	Title: "Page forbids indexing (noindex)", Requirement: "The page does not forbid the crawler to index it",
	Advice: "Remove noindex if search engines should list the page.", When: served,
	Fails: func(e *evidence) rule.Failures {
		f := rule.FailIf(e.effect.NoIndex, "Indexing is forbidden by %s.%s", e.forbiddenBy(e.agent, noIndex), e.embedded())
		for i := range f {
			f[i].Warns = !e.google().effect.NoIndex
		}
		return f
	},
}, {
	Code: "crawl.index.nofollow", Severity: diag.Info,
	Ref:   googleDoc + "Robots meta tag, data-nosnippet, and X-Robots-Tag",
	Title: "Page asks not to follow its links (nofollow)", Requirement: "Crawlers may follow the links of the page",
	Advice: "Remove nofollow, and mark single links with rel instead, unless no link should be followed.",
	When:   served,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.effect.NoFollow, "Following links is forbidden by %s.", e.forbiddenBy(e.agent, noFollow))
	},
}, {
	Code: "crawl.index.unknown", Severity: diag.Warning, Weight: 1,
	Ref:   googleDoc + "Robots meta tag, data-nosnippet, and X-Robots-Tag",
	Title: "Robots directive that no crawler knows", Requirement: "Crawlers know all directives",
	Advice: "Correct the spelling: crawlers ignore unknown directives.", When: served,
	Fails: func(e *evidence) rule.Failures {
		if e.effect.BadDate {
			return rule.Fail("The date of unavailable_after is not in a form that crawlers read, such as 2026-12-31T23:59:59Z.")
		}
		return rule.FailEach(slices.Concat(e.header, e.meta), func(d robots.Directive) rule.Failures {
			return rule.FailIf(!d.Known(), "%q is not a directive that crawlers know.", phrase.Quote(d.Name))
		})
	},
}, {
	Code: "crawl.refresh", Severity: diag.Warning, Weight: 2, Ref: htmlStandard + "4.2.5.3",
	Title: "Page redirects with a refresh", Requirement: "The page does not redirect by a refresh",
	Advice: "Redirect with status 301 or 308 instead: crawlers see it immediately, and the back button works.",
	When:   (*evidence).judged,
	Fails: func(e *evidence) rule.Failures {
		r, ok := e.page.Refresh()
		if header := e.final().Header.Get("Refresh"); header != "" {
			r, ok = page.ParseRefresh(header, e.page.Base)
		}
		return rule.FailIf(ok && r.To.URL != "" && r.To.URL != e.url.String(), "After %d seconds browsers go to %s.", r.Delay,
			phrase.Quote(r.To.URL))
	},
}, {
	Code: "crawl.soft404", Severity: diag.Warning, Weight: 5, Ref: googleDoc + "Soft 404 errors",
	Title: "Page says \"not found\" with a success status", Requirement: "Error pages have an error status",
	Advice: "Answer with status 404 or 410 if the page does not exist.", When: (*evidence).judged,
	Fails: func(e *evidence) rule.Failures {
		for _, text := range append([]string{e.title()}, e.firstHeadings()...) {
			if e.words < maxErrorWords && errorText().MatchString(text) {
				return rule.Fail("The page has status %d and says %q.", e.final().StatusCode, phrase.Quote(text))
			}
		}
		return nil
	},
}}

// hreflangRules are about versions of the page in other languages.
var hreflangRules = rule.Rules[*evidence]{{
	Code: "crawl.hreflang.invalid", Severity: diag.Warning, Weight: 1, Ref: "RFC 5646 section 2",
	Title:       "Alternate language has an invalid code or URL",
	Requirement: "Alternate languages have valid codes and URLs",
	Advice: "Use an ISO 639-1 language, optionally with an ISO 3166-1 region (GB, not UK), or x-default, " +
		"and a full URL.",
	When: func(e *evidence) bool { return e.judged() && len(e.page.Hreflangs()) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.page.Hreflangs(), func(l page.LinkTag) rule.Failures {
			switch {
			case !isWeb(l.URL):
				return rule.Fail("The alternate for %q leads to %q, which is not a web page.", phrase.Quote(l.Hreflang),
					phrase.Quote(l.Raw))
			case !isLanguage(l.Hreflang):
				return rule.Fail("%q is not a language code, optionally with a region, and not x-default.",
					phrase.Quote(l.Hreflang))
			}
			return nil
		})
	},
}, {
	Code: "crawl.hreflang.self", Severity: diag.Info, DependsOn: []diag.Code{"crawl.hreflang.invalid"},
	Ref:   googleDoc + "Localized versions of your pages",
	Title: "Alternate languages do not list the page itself", Requirement: "Alternate languages list the page itself",
	Advice: "List all versions on every version, including the page itself: search engines ignore one-way alternates.",
	Fails: func(e *evidence) rule.Failures {
		self := slices.ContainsFunc(e.page.Hreflangs(), func(l page.LinkTag) bool {
			return l.URL == withoutFragment(e.url) || slices.Contains(e.canonicals, l.URL)
		})
		return rule.FailIf(!self, "None of the %d alternates leads to %s.", len(e.page.Hreflangs()), e.url)
	},
}}

// isLanguage reports whether a code is one that search engines know for hreflang: reserved regions such as UK and EU
// are none.
func isLanguage(code string) bool {
	if strings.EqualFold(code, "x-default") {
		return true
	}
	tag, err := language.Raw.Parse(code)
	if err != nil || strings.Contains(code, "_") {
		return false
	}
	region, confidence := tag.Region()
	return confidence != language.Exact || len(region.String()) == 3 ||
		region.IsCountry() && region.Canonicalize() == region
}
