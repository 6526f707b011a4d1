package hsts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/hsts/policy"
)

// present reports whether there is a header over HTTPS.
func present(e *evidence) bool { return e.header != nil }

func faulty(kind Kind) func(*evidence) rule.Failures {
	return func(e *evidence) (all rule.Failures) {
		for _, f := range e.header.Faults {
			if f.Kind == kind {
				all = append(all, rule.Failure{
					Detail:   fmt.Sprintf("Browsers ignore the header, because %s.", f.Text),
					Location: &diag.Location{Offset: f.Offset, Length: f.Length}, Suggested: e.beginning(),
				})
			}
		}
		return all
	}
}

// ignored makes a rule about a kind of faults for which browsers ignore the header.
func ignored(code diag.Code, weight int, ref, title, requirement, advice string, kind Kind) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Error, Weight: weight, Ref: ref, Title: title, Requirement: requirement, Advice: advice,
		Fails: faulty(kind),
	}
}

// beginning is the value to begin with where no header is in force.
func (e *evidence) beginning() string {
	switch {
	case !e.trusted():
		return ""
	case e.listed():
		return e.listedValue()
	default:
		return firstValue
	}
}

const stageAdvice = "raise it in stages while nothing breaks: 300, 604800 (a week), 2592000 (a month), " +
	"63072000 (two years)."

var headerRules = rule.Rules[*evidence]{
	{
		Code: lineRule, Severity: diag.Error, StateIfFailed: diag.Missing, DependsOn: needsTrust, Ref: "RFC 9112 section 5",
		Title: "HSTS header line is malformed or misspelled", Requirement: "Every line of the HSTS header can be read",
		Advice: "Write the field on one line: the name Strict-Transport-Security, a colon, and the directives, " +
			"separated by semicolons.",
		When:  answered,
		Fails: lostLines,
	},
	{
		Code: "hsts.header.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 20,
		DependsOn: append(slices.Clone(needsTrust), lineRule), Ref: "RFC 6797 section 7.1",
		Title: "No HSTS header over HTTPS", Requirement: "The site sends an HSTS header over HTTPS",
		Advice: "Send Strict-Transport-Security with a short max-age in every HTTPS response, then " + stageAdvice,
		When:   func(e *evidence) bool { return !e.listed() || present(e) },
		Fails: func(e *evidence) rule.Failures {
			only := ""
			if len(fieldsOf(first(e.http))) > 0 {
				only = ", and browsers ignore the one that plain HTTP sends"
			}
			return rule.FailIf(!present(e),
				"The response from https://%s/ (status %d) has no Strict-Transport-Security header%s.",
				e.domain, first(e.https).StatusCode, only).Suggesting(e.beginning())
		},
	},
	{
		Code: "hsts.header.missing_listed", Severity: diag.Warning, Weight: 15,
		DependsOn: append(slices.Clone(needsTrust), lineRule),
		Ref:       "hstspreload.org, \"Continued Requirements\"",
		Title:     "Preloaded domain sends no HSTS header", Requirement: "A preloaded domain sends an HSTS header",
		Advice: "Send Strict-Transport-Security with every HTTPS response: " +
			"clients without the preload list have nothing else.",
		When: func(e *evidence) bool { return e.listed() },
		Fails: func(e *evidence) rule.Failures {
			if e.wholeSuffix() {
				return rule.FailIf(!present(e),
					"All names below %[2]s are on the preload list, so browsers open %[1]s over HTTPS only, "+
						"from the first visit on. It sends no Strict-Transport-Security header for other clients.",
					e.domain, e.entry.Name).Suggesting(e.listedValue())
			}
			return rule.FailIf(!present(e), "%s is covered by the preload list (as %s), "+
				"but sends no Strict-Transport-Security header.",
				e.domain, e.entry.Name).Suggesting(e.listedValue())
		},
	},
	ignored("hsts.header.syntax", 8, "RFC 6797 section 6.1",
		"HSTS header is malformed and is ignored by browsers", "The HSTS header follows the syntax",
		"Write directives separated by semicolons, such as max-age=31536000; includeSubDomains.", policy.BadSyntax),
	ignored("hsts.header.repeated", 3, "RFC 6797 section 6.1",
		"Directive appears twice, so browsers ignore the header", "No directive appears twice",
		"Remove the repeated directive.", policy.Repeated),
	ignored("hsts.max_age.missing", 5, "RFC 6797 section 6.1.1",
		"HSTS header has no max-age and is ignored by browsers", "The HSTS header has a max-age",
		"Add max-age in seconds; start with 300 and "+stageAdvice, policy.NoMaxAge),
	ignored("hsts.max_age.invalid", 5, "RFC 6797 section 6.1.1",
		"max-age is not a number, so browsers ignore the header", "The max-age is a number of seconds",
		"Write max-age as a number of seconds without a unit, such as max-age=31536000.", policy.BadMaxAge),
	ignored("hsts.include_subdomains.value", 3, "RFC 6797 section 6.1.2",
		"includeSubDomains has a value, so browsers ignore the header", "includeSubDomains has no value",
		"Write includeSubDomains alone, without a value.", policy.ValueRejected),
	{
		Code: "hsts.header.multiple", Severity: diag.Warning, Weight: 3, Ref: "RFC 6797 section 8.1",
		Title: "Several HSTS headers: only the first counts", Requirement: "The response has one HSTS header",
		Advice: "Send the header from one place only, either the application or the proxy in front of it. " +
			"hstspreload.org refuses several.",
		When: func(e *evidence) bool { return present(e) && !e.off() }, // else that says it
		Fails: func(e *evidence) rule.Failures {
			if len(e.fields) == 1 {
				return nil
			}
			return rule.Fail("https://%s/ sends %d headers; browsers obey the first, %q, and skip %q.",
				e.domain, len(e.fields),
				phrase.Quote(e.fields[0]), phrase.Quote(strings.Join(e.fields[1:], ", ")))
		},
	},
	{
		Code: "hsts.header.misspelled", Severity: diag.Warning, Weight: 5, Ref: "RFC 6797 section 6.1",
		Title: "Directive of the HSTS header is misspelled", Requirement: "No directive is misspelled",
		Advice: "Correct the spelling, or remove the directive. Before includeSubDomains takes effect, make " +
			"sure that every subdomain speaks HTTPS.",
		Fails: misspelled,
	},
	{
		Code: "hsts.header.quoted", Severity: diag.Info,
		DependsOn: []diag.Code{
			"hsts.header.syntax", "hsts.header.repeated", "hsts.max_age.missing", "hsts.max_age.invalid",
			"hsts.include_subdomains.value",
		},
		Ref:         "RFC 6797 section 6.2",
		Title:       "hstspreload.org cannot read the header, though browsers can",
		Requirement: "The header is written as hstspreload.org reads it",
		Advice:      "Write max-age as plain digits, such as max-age=31536000.",
		Fails: func(e *evidence) rule.Failures {
			_, found := parseStrict(e.header.Text)
			cannot := "quoted values and spaces around the equals sign"
			if slices.Contains(found.Errors, "header.parse.max_age.parse_int_error") {
				cannot = "a max-age of so many digits"
			}
			return rule.FailIf(!found.OK(), "The header is valid, but hstspreload.org does not accept %s.", cannot)
		},
	},
}

// lineRule is the rule about lines that were meant as the header, or a part of it.
const lineRule diag.Code = "hsts.header.line"

// lostLines fails for the lines of the answer that were meant as the header or a part of it, but are not: malformed
// ones, and fields whose name is misspelt. Where browsers know from elsewhere to use HTTPS, that is a warning.
func lostLines(e *evidence) (all rule.Failures) {
	h := first(e.https)
	for _, f := range h.Faults {
		if ofHSTS(f) {
			all = append(all, rule.Fail("%s", f.Sentence())...)
		}
	}
	for _, f := range h.Fields {
		if d := phrase.Distance(strings.ToLower(f.Name), strings.ToLower(FieldName)); d > 0 && d <= maxTypos {
			all = append(all,
				rule.Fail("The header field %q is not %s, so browsers do not know it.", phrase.Quote(f.Name), FieldName)...)
		}
	}
	for i := range all {
		all[i].Warns = present(e) || e.listed()
		if !present(e) {
			all[i].Suggested = e.beginning()
		}
	}
	return all
}

// ofHSTS reports whether a line that is left out was meant as the header or a part of it.
func ofHSTS(f fetch.HeadFault) bool {
	return !f.Read && (meantAsField(f.Line) || meantAsDirective(f.Line))
}

// maxTypos is how many letters of the field's name may be wrong.
const maxTypos = 3

// meantAsField reports whether a line begins with the name of the field, whatever is between its words and after it.
func meantAsField(line string) bool {
	letters := strings.Map(func(c rune) rune {
		if 'a' <= c|0x20 && c|0x20 <= 'z' {
			return c | 0x20
		}
		return -1
	}, line)
	return strings.HasPrefix(letters, "stricttransportsecurity")
}

// meantAsDirective reports whether a line is what follows a semicolon of the header.
func meantAsDirective(line string) bool {
	h := Parse(line)
	return len(h.Directives) > 0 && slices.ContainsFunc([]string{nameMaxAge, nameInclude, namePreload}, h.Directives[0].Is)
}

func misspelled(e *evidence) (all rule.Failures) {
	for _, name := range e.header.Unknown {
		if known := meant(name); known != "" {
			all = append(all, rule.Failure{
				Detail: fmt.Sprintf("Browsers skip the unknown directive %q, which was probably meant as %s.", phrase.Quote(name),
					known),
				Target: shorten(name, maxWord), Location: e.header.Location(name),
			})
		}
	}
	return all
}

// on reports whether a header is in force and does not turn HSTS off.
func on(e *evidence) bool { return e.inForce() && !e.off() }

// durationRules are about what a header that is in force says.
var durationRules = rule.Rules[*evidence]{{
	Code: "hsts.max_age.zero", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 40,
	Ref:   "RFC 6797 section 6.1.1",
	Title: "max-age=0 turns HSTS off", Requirement: "The max-age is above 0",
	Advice: "Keep max-age=0 only to withdraw HSTS. Otherwise start with 300 and " + stageAdvice,
	When:   func(e *evidence) bool { return e.inForce() && !e.listed() },
	Fails: func(e *evidence) rule.Failures {
		if !e.off() {
			return nil
		}
		f := rule.Failures{{
			Detail:   "The header has max-age=0, which makes browsers forget HSTS for the site.",
			Location: e.header.Location(nameMaxAge), Suggested: e.beginning(),
		}}
		if n := len(e.fields); n > 1 {
			f[0].Detail = fmt.Sprintf("The first of %d headers, which is the one that counts, has max-age=0. It makes "+
				"browsers forget HSTS for the site, and they skip %q.", n, phrase.Quote(strings.Join(e.fields[1:], ", ")))
			f[0].Advice = "Remove the header with max-age=0, which a proxy or the application adds in front of the other, " +
				"unless HSTS is to be withdrawn. Then start with 300 and " + stageAdvice
		}
		return f
	},
}, {
	Code: "hsts.max_age.zero_listed", Severity: diag.Warning, Weight: 40,
	Ref:   "hstspreload.org, \"Continued Requirements\"",
	Title: "Preloaded domain sends max-age=0", Requirement: "A preloaded domain has a max-age above 0",
	Advice: "Send the header with a max-age of a year or more: max-age=0 does not take the domain off the list, and " +
		"turns HSTS off in clients without it.",
	When: func(e *evidence) bool { return e.inForce() && e.listed() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.off(), "%s is covered by the preload list (as %s), and its header has max-age=0.", e.domain,
			e.entry.Name).
			Suggesting(e.listedValue())
	},
}, {
	Code: "hsts.max_age.short", Severity: diag.Warning, Weight: 30, When: on,
	Ref:   "RFC 6797 section 11.2",
	Title: "max-age is shorter than 180 days", Requirement: "The max-age is at least 180 days",
	Advice: "Raise max-age in stages while nothing breaks: 300, 604800 (a week), 2592000 (a month), " +
		"63072000 (two years).",
	Partly: func(e *evidence) float64 { return float64(e.age()) / weakBelow },
	Fails: func(e *evidence) rule.Failures {
		if e.age() >= weakBelow {
			return nil
		}
		f := rule.Fail("Browsers forget the header after %s: visitors who return later are not protected. Use at least %s.",
			seconds(e.age()), seconds(weakBelow)).Suggesting(e.longer())
		f[0].Location = e.header.Location(nameMaxAge)
		return f
	},
}, {
	Code: "hsts.max_age.below_year", Severity: diag.Info, Weight: 6, DependsOn: []diag.Code{"hsts.max_age.short"},
	Ref:   "hstspreload.org, \"Submission Requirements\"",
	Title: "max-age is shorter than a year", Requirement: "The max-age is at least a year",
	Advice: "Raise max-age to 63072000 (two years) once everything works: the preload list asks for at least 31536000.",
	Partly: func(e *evidence) float64 { return float64(e.age()) / oneYear },
	Fails: func(e *evidence) rule.Failures {
		if e.age() >= oneYear {
			return nil
		}
		f := rule.Fail("The max-age is %s.", seconds(e.age())).Suggesting(e.longer())
		f[0].Location = e.header.Location(nameMaxAge)
		return f
	},
}, {
	Code: "hsts.include_subdomains.missing", Severity: diag.Info, Weight: 8, Category: factorScope,
	Ref:   "RFC 6797 section 14.4",
	Title: "Subdomains are not covered", Requirement: "The header covers subdomains",
	Advice: "Add includeSubDomains once every subdomain, including internal ones, speaks HTTPS with a valid " +
		"certificate: browsers will use nothing else for any of them. Begin with a short max-age again.",
	When: func(e *evidence) bool { return on(e) && (!e.listed() || !e.entry.IncludeSubdomains) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.header.IncludeSubdomains,
			"The header covers %s alone. Attackers can set cookies for it from any subdomain that is visited over HTTP.",
			e.domain)
	},
}}

// longer is the next stage of a header in force.
func (e *evidence) longer() string {
	if e.ownEntry() {
		return e.listedValue()
	}
	return e.nextStage()
}

// preloadRules are about the preload list. Not to be on it is not a fault.
var preloadRules = rule.Rules[*evidence]{{
	Code: "hsts.preload.premature", Severity: diag.Warning, Weight: 5, Reads: []rule.Source{reach.SourceAnswer},
	Ref:         "hstspreload.org, \"Opting In\"",
	Title:       "preload is set, but the header does not meet the requirements",
	Requirement: "The directive preload appears only in a header that meets the requirements",
	Advice: "Remove preload until max-age is at least 31536000 and includeSubDomains is set: anyone may submit a " +
		"domain that sends it, and a removal takes months.",
	When: func(e *evidence) bool {
		return on(e) && e.header.Preload && !e.ownEntry() && !e.wholeSuffix() && checkLevel(e.domain.String()).OK()
	},
	Fails: func(e *evidence) rule.Failures {
		lacks := []string{}
		if e.age() < oneYear {
			lacks = append(lacks, "a max-age of a year")
		}
		if !e.header.IncludeSubdomains {
			lacks = append(lacks, "includeSubDomains")
		}
		if len(lacks) == 0 {
			return nil
		}
		f := rule.Fail("The header asks for preloading, but lacks %s.", strings.Join(lacks, " and "))
		f[0].Location = e.header.Location(namePreload)
		if e.age() >= weakBelow {
			f.Suggesting(e.withoutPreload())
		}
		return f
	},
}, {
	Code: "hsts.preload.at_risk", Severity: diag.Warning, Weight: 12, DependsOn: needsTrust,
	Ref:         "hstspreload.org, \"Continued Requirements\"",
	Title:       "Preloaded domain no longer meets the requirements",
	Requirement: "A preloaded domain keeps meeting the requirements",
	Advice:      "Meet the requirements again: otherwise the domain may be removed from the list.",
	When:        func(e *evidence) bool { return e.ownEntry() },
	Fails: func(e *evidence) rule.Failures {
		if !e.atRisk() {
			return nil
		}
		detail := "%s is on the preload list and no longer meets its requirements (%s)."
		if e.removal().OK() {
			detail += " Its header lacks preload, so anyone may request the removal."
		}
		return rule.Fail(detail, e.domain, strings.Join(kit.Values(e.kept.Errors...), ", ")).Suggesting(e.restored())
	},
}}

// restored is the header that meets the requirements again, where it is the header that is at fault.
func (e *evidence) restored() string {
	own := func(i Issue) bool {
		return strings.HasPrefix(string(i), "header.") || strings.HasPrefix(string(i), "response.")
	}
	if !slices.ContainsFunc(e.kept.Errors, own) {
		return ""
	}
	return e.listedValue()
}
