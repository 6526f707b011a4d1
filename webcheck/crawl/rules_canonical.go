package crawl

import (
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/language"
)

// canonicalRules are about the URL that a page says is its own, and what that URL leads to.
var canonicalRules = rule.Rules[*evidence]{{
	Code: "crawl.canonical.missing", Severity: diag.Info, Weight: 1, Ref: "RFC 6596 section 3",
	Title: "No canonical URL", Requirement: "The page names its canonical URL",
	Advice: "Add a link element with rel=canonical to the head, with the URL under which to index the page.",
	When:   (*evidence).whole,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.statements) == 0, "%s has no link element with rel=canonical, and no Link field with it.",
			e.url).Suggesting(e.canonicalLine())
	},
}, {
	Code: "crawl.canonical.invalid", Severity: diag.Warning, Weight: 2, Ref: "RFC 6596 section 3",
	Title: "Canonical URL is not valid", Requirement: "The canonical URL is a valid URL of a web page",
	Advice: "Name the full URL of the page, with https.",
	When:   func(e *evidence) bool { return served(e) && len(e.statements) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.statements, func(c canonical) rule.Failures {
			return rule.FailIf(!isWeb(c.URL) || c.Raw == "", "The %s has the URL %q, which is not that of a web page.",
				c.place(), phrase.Quote(c.Raw)).Suggesting(e.canonicalLine())
		})
	},
}, {
	Code: "crawl.canonical.multiple", Severity: diag.Warning, Weight: 2,
	DependsOn: []diag.Code{"crawl.canonical.invalid"}, Ref: googleDoc + "Specify a canonical URL",
	Title: "Several different canonical URLs", Requirement: "The page names one canonical URL",
	Advice: "Keep one of them: search engines ignore them all if they differ.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.canonicals) > 1, "The page names %d canonical URLs: %s.", len(e.canonicals),
			phrase.Quote(strings.Join(kit.Map(e.statements, canonical.text), ", ")))
	},
}, {
	Code: "crawl.canonical.body", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"crawl.canonical.invalid"}, Ref: googleDoc + "Specify a canonical URL",
	Title: "Canonical link outside the head is ignored", Requirement: "The canonical link is in the head",
	Advice: "Move the link element into the head; an element in the head that belongs in the body ends the head early.",
	Fails: func(e *evidence) rule.Failures {
		outside := slices.ContainsFunc(e.statements, func(c canonical) bool { return c.body })
		return rule.FailIf(outside && !e.page.HeadOnly, "A link element with rel=canonical is in the body of the page.")
	},
}, {
	Code: "crawl.canonical.fragment", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"crawl.canonical.invalid"}, Ref: googleDoc + "Specify a canonical URL",
	Title: "Canonical URL has a fragment", Requirement: "The canonical URL has no fragment",
	Advice: "Remove # and what follows it: search engines index pages, not parts of them.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.statements, func(c canonical) rule.Failures {
			return rule.FailIf(strings.Contains(c.URL, "#"), "The %s names %s.", c.place(), phrase.Quote(c.URL))
		})
	},
}, {
	Code: "crawl.canonical.relative", Severity: diag.Info,
	DependsOn: []diag.Code{"crawl.canonical.invalid"}, Ref: googleDoc + "Specify a canonical URL",
	Title: "Canonical URL is relative", Requirement: "The canonical URL is absolute",
	Advice: "Name the full URL, so that a copy of the site on another host does not name itself.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.statements, func(c canonical) rule.Failures {
			u, err := url.Parse(c.Raw)
			return rule.FailIf(err == nil && u.Scheme == "", "The %s has the relative URL %q, which leads to %s.",
				c.place(), phrase.Quote(c.Raw), phrase.Quote(c.URL))
		})
	},
}, {
	Code: "crawl.canonical.http", Severity: diag.Warning, Weight: 2,
	DependsOn: []diag.Code{"crawl.canonical.multiple"}, Ref: googleDoc + "Specify a canonical URL",
	Title: "Canonical URL uses HTTP although the page has HTTPS", Requirement: "The canonical URL uses HTTPS",
	Advice: "Name the URL with https.",
	When:   func(e *evidence) bool { return served(e) && len(e.canonicals) == 1 && e.url.Scheme() == "https" },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(strings.HasPrefix(e.canonicals[0], "http:"), "The page at %s names %s as its canonical URL.",
			e.url, phrase.Quote(e.canonicals[0]))
	},
}}

// targetRules are about the page at the canonical URL, where that is another.
var targetRules = rule.Rules[*evidence]{{
	Code: "crawl.canonical.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 6596 section 3",
	Title: "Canonical URL did not answer", Requirement: "The canonical URL answers",
	Advice: "Try again later: whether the page at the canonical URL can be indexed is not known.",
	When:   func(e *evidence) bool { return e.target != nil },
	Fails: func(e *evidence) rule.Failures {
		why := e.target.silence()
		return rule.FailIf(why != "", "The page at %s names %s as its canonical URL; what is there is not known: %s.",
			e.url, phrase.Quote(e.target.url), why).About(phrase.Quote(e.target.url))
	},
}, {
	Code: "crawl.canonical.disallowed", Severity: diag.Warning, Weight: 5, Ref: "RFC 9309 section 2.2.2",
	Title: "Google may not crawl the canonical URL", Requirement: "Google may crawl the canonical URL",
	Advice: "Name a URL that robots.txt allows, or allow this one: search engines cannot verify it.",
	When:   func(e *evidence) bool { return e.target != nil && e.target.file != nil },
	Fails: func(e *evidence) rule.Failures {
		if t := e.target; t.disallowed() && t.decision.Rule == nil {
			return e.targetFails(true, "whose robots.txt is unavailable (%s): Google assumes that everything is forbidden",
				phrase.Quote(t.file.failure()))
		}
		return e.targetFails(e.target.disallowed(), "which robots.txt forbids Google to fetch")
	},
}, {
	Code: "crawl.canonical.broken", Severity: diag.Warning, Weight: 5, Ref: "RFC 6596 section 3",
	DependsOn: []diag.Code{"crawl.canonical.disallowed"},
	Title:     "Canonical URL leads to no page", Requirement: "The canonical URL leads to a page",
	Advice: "Name a URL that exists, usually that of this page: search engines cannot index the page that is named.",
	When:   targetKnown,
	Fails: func(e *evidence) rule.Failures {
		return e.targetFails(e.target.broken() != "", "which %s", e.target.broken()).Suggesting(e.canonicalLine())
	},
}, {
	Code: "crawl.canonical.redirect", Severity: diag.Warning, Weight: 3, Ref: googleDoc + "Specify a canonical URL",
	DependsOn: []diag.Code{"crawl.canonical.broken"},
	Title:     "Canonical URL redirects", Requirement: "The canonical URL does not redirect",
	Advice: "Name the URL where the redirects end.",
	When:   targetKnown,
	Fails: func(e *evidence) rule.Failures {
		to := e.target.redirect()
		back, _ := e.target.result.URL.Resolve(to)
		if to != "" && withoutFragment(back) == withoutFragment(e.url) {
			return e.targetFails(true, "which redirects back to this page").Suggesting(e.canonicalLine())
		}
		return e.targetFails(to != "", "which redirects to %s", phrase.Quote(to))
	},
}, {
	Code: "crawl.canonical.noindex", Severity: diag.Warning, Weight: 5, Ref: googleDoc + "Block indexing with noindex",
	DependsOn: []diag.Code{"crawl.canonical.redirect"},
	Title:     "Canonical URL forbids indexing (noindex)", Requirement: "The canonical URL may be indexed",
	Advice: "Remove noindex there, or name the URL of this page: otherwise neither may be indexed.",
	When:   targetKnown,
	Fails: func(e *evidence) rule.Failures {
		return e.targetFails(e.target.effect.NoIndex, "which forbids Google to index it")
	},
}, {
	Code: "crawl.canonical.chain", Severity: diag.Warning, Weight: 3, Ref: "RFC 6596 section 3",
	DependsOn:   []diag.Code{"crawl.canonical.redirect"},
	Title:       "Canonical URL names another canonical URL",
	Requirement: "The page at the canonical URL is its own canonical",
	Advice:      "Name the last URL of the chain on all of these pages.",
	When:        targetKnown,
	Fails: func(e *evidence) rule.Failures {
		if isURL(e.target.canonical, e.url) {
			return e.targetFails(true, "which names this page in turn")
		}
		return e.targetFails(e.target.canonical != "", "which names %s in turn", phrase.Quote(e.target.canonical))
	},
}, {
	Code: "crawl.canonical.language", Severity: diag.Warning, Weight: 2, Ref: googleDoc + "Specify a canonical URL",
	DependsOn:   []diag.Code{"crawl.canonical.redirect"},
	Title:       "Canonical URL is in another language",
	Requirement: "The page at the canonical URL is in the same language",
	Advice:      "Name a page in the same language, and list translations as alternates with hreflang.",
	When: func(e *evidence) bool {
		return targetKnown(e) && e.page != nil && primary(e.page.Lang) != "" && primary(e.target.language) != ""
	},
	Fails: func(e *evidence) rule.Failures {
		return e.targetFails(primary(e.page.Lang) != primary(e.target.language), "which is in %q, and this page in %q",
			phrase.Quote(e.target.language), phrase.Quote(e.page.Lang))
	},
}}

// elsewhereRules are about a canonical URL that is another page, with nothing wrong with it.
var elsewhereRules = rule.Rules[*evidence]{{
	Code: "crawl.canonical.elsewhere", Severity: diag.Info, DependsOn: []diag.Code{"crawl.canonical.multiple"},
	Ref:   "RFC 6596 section 3",
	Title: "Canonical URL is another page", Requirement: "The canonical URL is that of the page",
	Advice: "Name the URL of this page, unless the other page should be indexed instead.", When: faultless,
	Fails: func(e *evidence) rule.Failures { return e.indexedAs(true) },
}, {
	Code: "crawl.canonical.foreign", Severity: diag.Warning, Weight: 5,
	DependsOn: []diag.Code{"crawl.canonical.multiple"}, Ref: "RFC 6596 section 3",
	Title: "Canonical URL is on another site", Requirement: "The canonical URL is on the same site",
	Advice: "Name the URL of this page, unless the other site should be indexed instead.", When: faultless,
	Fails: func(e *evidence) rule.Failures { return e.indexedAs(false) },
}}

// targetKnown reports whether the page at the canonical URL was fetched.
func targetKnown(e *evidence) bool { return e.target != nil && e.target.known() }

// targetFails says what is wrong with the page at the canonical URL, if anything is.
func (e *evidence) targetFails(fails bool, clause string, args ...any) rule.Failures {
	args = append([]any{e.url, phrase.Quote(e.target.url)}, args...)
	return rule.FailIf(fails, "The page at %s names %s as its canonical URL, "+clause+".", args...).
		About(phrase.Quote(e.target.url))
}

// faultless reports whether a page at another canonical URL has no fault that a rule of its own states.
func faultless(e *evidence) bool {
	t := e.target
	return served(e) && (t == nil || !t.disallowed() && (!t.known() || t.faultless()))
}

// primary is the language of a tag, without script and region; empty if the tag names none.
func primary(s string) string {
	tag, err := language.All.Parse(s) // which knows old codes and macrolanguages: iw is he, nb is no
	if base, confidence := tag.Base(); err == nil && confidence == language.Exact && tag != language.Und {
		return base.String()
	}
	return ""
}

// place says where a canonical URL is named.
func (c canonical) place() string {
	if c.byField {
		return "Link field with rel=canonical"
	}
	return "link element with rel=canonical"
}

// text returns the URL, and names the Link field if it is from there.
func (c canonical) text() string {
	if c.byField {
		return c.URL + " (Link field)"
	}
	return c.URL
}

// indexedAs fails if the canonical URL is another page, of the same site or not.
func (e *evidence) indexedAs(same bool) rule.Failures {
	url := e.elsewhere()
	if url == "" || same != sameSite(url, e.url) {
		return nil
	}
	then := ", so search engines are asked to index that page instead"
	if e.target != nil && e.target.faultless() {
		then = ", so that page is indexed instead"
	}
	return rule.Fail("The page at %s names %s as its canonical URL%s.", e.url, phrase.Quote(url), then)
}

// sameSite reports whether a URL is of the registrable domain of another.
func sameSite(text string, other diag.URL) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	a, b := strings.ToLower(u.Hostname()), other.Host().Name()
	site, err := publicsuffix.EffectiveTLDPlusOne(b)
	return a == b || err == nil && (a == site || strings.HasSuffix(a, "."+site))
}

// canonicalLine is the link element that names the page itself, or the Link field of what is not HTML.
func (e *evidence) canonicalLine() string {
	if e.page == nil {
		return "Link: <" + withoutFragment(e.url) + `>; rel="canonical"`
	}
	return `<link rel="canonical" href="` + html.EscapeString(withoutFragment(e.url)) + `">`
}

func isWeb(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
