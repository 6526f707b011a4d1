package headers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/csp"
)

const fieldCSP = "Content-Security-Policy"

// first returns the first of a list, or nothing.
func first[T any](list []T) (one T) {
	if len(list) > 0 {
		one = list[0]
	}
	return one
}

var policyRules = rule.Rules[*evidence]{{
	Code: "headers.csp.report_only", Severity: diag.Warning, Category: factorPolicy, Ref: "CSP Level 3 section 3.2",
	Title:       "Content-Security-Policy is report-only and blocks nothing",
	Requirement: "A reported Content-Security-Policy is enforced too",
	Advice:      "Once the reports show no resource that the page needs, send the policy as Content-Security-Policy.",
	When:        (*evidence).isPage,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.reportOnly) > 0 && len(e.enforced) == 0,
			"The page has Content-Security-Policy-Report-Only and no enforced policy: browsers report and block nothing.").
			About(fieldCSP)
	},
}, {
	Code: "headers.csp.missing", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: slices.Concat(fetched, []diag.Code{"headers.csp.report_only"}), Ref: "CSP Level 3 section 3.1",
	Title: "No Content-Security-Policy", Requirement: "A Content-Security-Policy is enforced",
	Advice: "Send a Content-Security-Policy. Start with Content-Security-Policy-Report-Only listing what the page " +
		"loads, give inline scripts nonces or hashes, and enforce it once the reports are clean.",
	When: (*evidence).isPage,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.enforced) == 0, "No Content-Security-Policy is enforced: an injected script runs.").
			About(fieldCSP).Suggesting(e.newPolicy())
	},
}, {
	Code: "headers.csp.meta", Severity: diag.Info, DependsOn: []diag.Code{"headers.csp.missing"},
	Ref:         "CSP Level 3 section 3.3",
	Title:       "Content-Security-Policy is set in a meta element only",
	Requirement: "The Content-Security-Policy is sent as a header",
	Advice: "Send the policy as a header: a meta element cannot restrict frame-ancestors or report, " +
		"and what precedes it is not covered.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.has(fieldCSP),
			"The policy is that of a meta element; the response has no Content-Security-Policy field.").About(fieldCSP)
	},
}, {
	Code: "headers.csp.scripts.unrestricted", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 6.1.11",
	Title:       "Content-Security-Policy does not restrict scripts",
	Requirement: "The Content-Security-Policy restricts scripts",
	Advice: "Add script-src, or default-src for all kinds of resources; try it in " +
		"Content-Security-Policy-Report-Only first.",
	Fails: func(e *evidence) rule.Failures {
		a := &e.runs.InlineScript
		return rule.FailIf(a.Runs && a.By == "",
			"The policy has neither script-src nor default-src, so any injected script runs.").About("script-src")
	},
}, {
	Code: "headers.csp.scripts.inline", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.scripts.unrestricted"}, Ref: "CSP Level 3 section 6.7.3.2",
	Title: "'unsafe-inline' lets injected scripts run", Requirement: "Inline scripts need a nonce or a hash",
	Advice: "Give each inline script a nonce that is new for each response, or list its hash, and move event handlers " +
		"into scripts; browsers then ignore 'unsafe-inline'.",
	Fails: func(e *evidence) rule.Failures {
		a := &e.runs.InlineScript
		return rule.FailIf(a.Runs,
			"%s allows 'unsafe-inline' without a nonce or a hash: an injected script runs as the page's own.", e.by(a)).
			About(a.By)
	},
}, {
	Code: "headers.csp.scripts.handlers", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.scripts.inline"}, Ref: "CSP Level 3 section 6.8.2",
	Title: "Injected event handlers run", Requirement: "Injected event handlers do not run",
	Advice: "Set script-src-attr 'none', or leave event handlers to script-src, and attach the page's own handlers in " +
		"script files; where one must stay in an attribute, list its hash with 'unsafe-hashes'.",
	Fails: func(e *evidence) rule.Failures {
		a := &e.runs.EventHandler
		if a.Runs && a.By == "" {
			return rule.Fail("The policy restricts script elements by script-src-elem alone: without script-src-attr, " +
				"script-src and default-src nothing governs event handlers, and an injected onerror runs.").About("script-src-attr")
		}
		return rule.FailIf(a.Runs,
			"%s allows 'unsafe-inline' for event handlers: an injected onerror runs, "+
				"although injected script elements do not.", e.by(a)).About(a.By)
	},
}, {
	Code: "headers.csp.scripts.broad", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.scripts.unrestricted"}, Ref: "CSP Level 3 section 6.7.2.7",
	Title: "Scripts may come from anywhere", Requirement: "Scripts come from named places only",
	Advice: "List the hosts that serve scripts, or use nonces with 'strict-dynamic'.",
	Fails: func(e *evidence) rule.Failures {
		a := &e.runs.ForeignScript
		found := fromAnyone(a)
		return rule.FailIf(len(found) > 0, "%s allows %s, from which anyone can serve a script.", e.by(a),
			phrase.Quote(strings.Join(found, " "))).
			About(a.By)
	},
}, {
	Code: "headers.csp.scripts.bypass", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.scripts.broad"}, Ref: "CSP Level 3 section 8.4",
	Title: "Allowed host serves arbitrary scripts", Requirement: "No allowed host serves arbitrary scripts",
	Advice: "Replace the host with the full path of the file, or with a nonce and 'strict-dynamic'; " +
		"or serve the file yourself.",
	Fails: func(e *evidence) rule.Failures {
		a := &e.runs.ForeignScript
		found := bypasses(a)
		return rule.FailEach(found, func(source string) rule.Failures {
			b, _ := bypassOf(source)
			return rule.Fail("%s allows %s: %s %s.", e.by(a), source, strings.TrimPrefix(b.Host, "."), b.Reason).About(source)
		}).Together("%s allows %d hosts that serve arbitrary scripts, the first of them %s.", e.by(a), len(found),
			first(found))
	},
}, {
	Code: "headers.csp.scripts.eval", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.scripts.unrestricted"}, Ref: "CSP Level 3 section 4.4.1",
	Title: "Policy lets text run as code", Requirement: "Text does not run as code",
	Advice: "Replace eval and its like, then remove 'unsafe-eval'; WebAssembly needs 'wasm-unsafe-eval' only.",
	Fails: func(e *evidence) rule.Failures {
		a := &e.runs.Eval
		if a.Runs && a.By == "" {
			f := rule.Fail("The policy has neither script-src nor default-src, and script-src-elem does not govern eval: " +
				"text that reaches it runs as code.").About("script-src")
			f[0].Advice = "Add script-src with the sources of script-src-elem."
			return f
		}
		return rule.FailIf(a.Runs, "%s allows 'unsafe-eval': text that reaches eval or a template library runs as code.",
			e.by(a)).About(a.By)
	},
}, {
	Code: "headers.csp.scripts.dynamic", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.scripts.unrestricted"}, Ref: "CSP Level 3 section 8.2",
	Title:       "'strict-dynamic' without a nonce or hash blocks all scripts",
	Requirement: "'strict-dynamic' is used with a nonce or a hash",
	Advice: "Give the page's scripts a nonce that is new for each response and list it in script-src, or remove " +
		"'strict-dynamic': beside it hosts and 'self' do not count.",
	Fails: func(e *evidence) rule.Failures {
		d := e.deadlocked()
		if d == nil {
			return nil
		}
		return rule.Fail("%s has 'strict-dynamic' and neither a nonce nor a hash: no script of the page runs.", d.Name).
			About(d.Name)
	},
}, {
	Code: "headers.csp.insecure", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 6.7.2.9",
	Title: "Policy allows resources over plain HTTP", Requirement: "The policy allows resources over HTTPS only",
	Advice: "Write https instead of http, or add upgrade-insecure-requests.", When: (*evidence).secure,
	Fails: func(e *evidence) rule.Failures {
		found := e.insecureSources()
		return rule.FailIf(len(found) > 0, "The policy of this HTTPS page allows %s.",
			phrase.Quote(strings.Join(found, " "))).About(fieldCSP)
	},
}, {
	Code: "headers.csp.blocks", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing", "headers.csp.scripts.dynamic"}, Ref: "CSP Level 3 section 4.1.2",
	Title: "Policy blocks what the page itself loads", Requirement: "The policy allows what the page loads",
	Advice: "Add the source to the directive, or remove the element: browsers do not load it.",
	When:   func(e *evidence) bool { return e.document != nil },
	Fails: func(e *evidence) rule.Failures {
		found := e.blocked()
		return rule.FailEach(found, func(b block) rule.Failures {
			return rule.Fail("The page has %s, which %s of its policy blocks.", phrase.Quote(b.what), b.directive).
				About(b.directive)
		}).Together("The policy blocks %d parts of the page, the first of them %s by %s.", len(found),
			phrase.Quote(first(found).what),
			first(found).directive)
	},
}, {
	Code: "headers.csp.objects", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 6.1.9",
	Title: "object-src is not restricted", Requirement: "object-src is restricted",
	Advice: "Add object-src 'none' unless the page embeds plug-ins.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.runs.Plugin.Runs, "The policy lets object and embed elements load from anywhere.").
			About("object-src")
	},
}, {
	Code: "headers.csp.base", Severity: diag.Info, DependsOn: []diag.Code{"headers.csp.missing"},
	Ref:   "CSP Level 3 section 6.3.1",
	Title: "base-uri is not restricted", Requirement: "base-uri is restricted",
	Advice: "Add base-uri 'none', or 'self' if the page has a base element: default-src does not cover it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.runs.Base.Runs,
			"An injected base element can redirect the page's relative URLs to another site.").About("base-uri")
	},
}, {
	Code: "headers.csp.nonce", Severity: diag.Warning, Category: factorPolicy, Reads: []rule.Source{fromForeign},
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 8.1",
	Title: "Nonce is the same in two responses", Requirement: "No nonce was seen twice",
	Advice: "Make a new random nonce for each response, and let no cache keep the page; " +
		"a nonce that is known vouches for injected scripts.",
	Fails: func(e *evidence) rule.Failures {
		n := e.reusedNonce()
		return rule.FailIf(n != "", "The server sent the nonce %s twice, for two requests.", phrase.Quote(n)).About(fieldCSP)
	},
}, {
	Code: "headers.csp.nonce.short", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.nonce"}, Ref: "CSP Level 3 section 7.1",
	Title: "Nonce is shorter than 128 bits", Requirement: "Nonces have at least 128 bits",
	Advice: "Use at least 16 random bytes for each nonce, in base64.",
	Fails: func(e *evidence) rule.Failures {
		n := e.shortNonce()
		return rule.FailIf(n != "", "The nonce %s has %d characters, and 128 bits take 22: an attacker can guess it.",
			phrase.Quote(n), len(n)).
			About(fieldCSP)
	},
}}

var policyDetailRules = rule.Rules[*evidence]{commaRule, {
	Code: "headers.csp.syntax", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 2.3",
	Title: "Browsers ignore a part of the policy", Requirement: "Browsers know every part of the policy",
	Advice: "Correct this part of the policy: browsers skip what they do not know and apply the rest.",
	Fails: func(e *evidence) rule.Failures {
		return syntaxFaults(e).Suggesting(e.correctedPolicy())
	},
}, {
	Code: "headers.csp.deprecated", Severity: diag.Info, DependsOn: []diag.Code{"headers.csp.missing"},
	Ref:   "CSP Level 3 section 6",
	Title: "Directive is deprecated and does nothing", Requirement: "No directive is deprecated",
	Advice: "Remove the directive.",
	Fails:  inPolicies(csp.DeprecatedDirective),
}, {
	Code: "headers.csp.long", Severity: diag.Info, DependsOn: []diag.Code{"headers.csp.missing"},
	Ref:   "CSP Level 3 section 2.2.2",
	Title: "Policy is too long to be examined in full", Requirement: "The whole policy is examined",
	Advice: "Merge what is alike, and use nonces or hashes instead of long lists of hosts.",
	Fails:  inPolicies(csp.TooLong),
}, {
	Code: "headers.csp.repeated", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 2.2.1",
	Title: "Directive appears twice in a policy", Requirement: "No directive appears twice in a policy",
	Advice: "Merge the sources into one directive: browsers use the first and skip the others.",
	Fails:  inPolicies(csp.DuplicateDirective),
}, {
	Code: "headers.csp.meta.directive", Severity: diag.Warning, DependsOn: []diag.Code{"headers.csp.missing"},
	Ref:   "CSP Level 3 section 3.3",
	Title: "Directive has no effect in a meta element", Requirement: "Directives are set where they have an effect",
	Advice: "Send the directive in the Content-Security-Policy header field.",
	Fails:  inPolicies(csp.MetaDirective),
}}

var syntaxFaults = inPolicies(csp.MissingQuotes, csp.MissingSemicolon, csp.InvalidSource, csp.UnknownDirective,
	csp.NoneWithOthers, csp.MissingValue, csp.WildcardPath, csp.InvalidValue)

// inPolicies makes the test of a rule about faults of some kinds.
func inPolicies(kinds ...csp.Kind) func(*evidence) rule.Failures {
	return func(e *evidence) (all rule.Failures) {
		for i := range e.enforced {
			for _, f := range e.enforced[i].Faults {
				for _, kind := range kinds {
					if f.Kind == kind && !e.behindComma(&f) {
						all = append(all, rule.Failure{
							Detail: describe(f), Target: phrase.Quote(f.Directive), Location: where(e, &e.enforced[i], f),
						})
					}
				}
			}
		}
		return all
	}
}

// where is the place of a fault in the header field, if there is one field with the policy in it.
func where(e *evidence, p *csp.Policy, f csp.Fault) *diag.Location {
	if p.Meta || len(e.values(fieldCSP)) != 1 {
		return nil
	}
	return &diag.Location{Offset: f.Offset, Length: f.Length}
}

// faultTexts are the faults in sentences.
var faultTexts = map[csp.Kind]string{
	csp.DuplicateDirective: "The directive {directive} appears twice; browsers use the first.",
	csp.UnknownDirective:   "Browsers do not know the directive {directive}.",
	csp.MetaDirective:      "The directive {directive} is in a meta element, where browsers ignore it.",
	csp.MissingSemicolon:   "{value} is listed among the sources of {directive}; a semicolon is missing before it.",
	csp.MissingQuotes:      "{value} in {directive} is read as a host: it must be written {meant}.",
	csp.NoneWithOthers:     "'none' in {directive} has no effect beside other sources.",
	csp.MissingValue:       "The directive {directive} has no value.",
	csp.InvalidSource:      "{value} in {directive} is not a source that browsers know.",
	csp.TooLong: fmt.Sprintf("There are more than %d policies, %d directives in one or %d sources in a directive; "+
		"the rest was not examined.", csp.MaxPolicies, csp.MaxDirectives, csp.MaxSources),
}

// outdated describes the directives that were removed from the specification.
var outdated = map[string]string{
	"block-all-mixed-content": "is no longer needed: browsers upgrade or block mixed content by themselves",
	"plugin-types": "was taken out of browsers together with plug-ins; object-src restricts what is left " +
		"of them",
	"prefetch-src":    "was given up: default-src governs what is prefetched",
	"navigate-to":     "was given up before browsers knew it",
	"referrer":        "was replaced by the field Referrer-Policy",
	"reflected-xss":   "switched a filter that browsers have taken out",
	"require-sri-for": "was given up before browsers knew it",
	"policy-uri":      "was known to early versions of Firefox only",
	"disown-opener":   "was replaced by the field Cross-Origin-Opener-Policy",
}

// describe puts a fault into a sentence.
func describe(f csp.Fault) string {
	text := faultTexts[f.Kind]
	if slices.Contains([]csp.Kind{csp.UnknownDirective, csp.InvalidValue, csp.InvalidSource}, f.Kind) && f.Correct != "" {
		text = strings.TrimSuffix(text, ".") + "; {meant} was probably meant."
	}
	return strings.NewReplacer("{directive}", phrase.Quote(f.Directive), "{value}", phrase.Quote(f.Value),
		"{meant}", phrase.Quote(f.Correct), "{outdated}", outdated[f.Directive]).Replace(text)
}
