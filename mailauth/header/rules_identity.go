package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/header/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

var identityRules = diag.Rules[*evidence]{{
	Code: "header.from.duplicate", Severity: diag.Error, Weight: 10, DependsOn: []diag.Code{"header.from.missing"},
	Ref: "RFC 5322 section 3.6", Title: "Several From fields", Requirement: "There is only one From field",
	Advice: "Do not trust the message: mail programs differ in which From they display and which one they check.",
	Fails: func(e *evidence) diag.Failures {
		n := e.count("From")
		return diag.FailIf(n > 1, "The From field appears %d times, with %s.", n,
			strings.Join(shown(e.from), " and ")).About("From")
	},
}, {
	Code: "header.from.invalid", Severity: diag.Error, Weight: 10, DependsOn: []diag.Code{"header.from.missing"},
	Ref: "RFC 5322 section 3.6.2", Title: "From has no valid address", Requirement: "From has a valid address",
	Advice: "Have the sending program write a complete address with a domain in From: receivers reject mail without " +
		"one.",
	Fails: func(e *evidence) diag.Failures {
		valid := slices.ContainsFunc(e.from, func(a message.Address) bool { return a.Local != "" && validDomain(a.Domain) })
		return diag.FailIf(!valid, "From is %s, which contains no valid address.", quoted(e.text("From", maxRaw))).About("From")
	},
}, {
	Code: "header.from.multiple", Severity: diag.Error, Weight: 10,
	DependsOn: []diag.Code{"header.from.duplicate", "header.from.invalid"},
	Ref:       "RFC 5322 section 3.6.2; RFC 7489 section 6.6.1", Title: "From has more than one address",
	Requirement: "From has only one address",
	Advice: "Send with one author in From. DMARC needs a single domain, and most receivers reject messages with " +
		"several.",
	Fails: func(e *evidence) diag.Failures {
		authors := e.authors()
		sender := ""
		if len(e.sender) == 0 {
			sender = ", without the Sender field that this requires"
		}
		return diag.FailIf(len(authors) > 1, "From has %d addresses, %s%s.", len(authors),
			strings.Join(shown(authors), " and "), sender).About("From")
	},
}, {
	Code: "header.from.display_address", Severity: diag.Warning, Weight: 5,
	DependsOn: []diag.Code{"header.from.multiple"}, Ref: "RFC 7489 section 12.4",
	Title:       "Display name shows another address than the real one",
	Requirement: "The display name shows no other address",
	Advice: "Judge the message by the real address. Many mail programs show only the display name, and DMARC does " +
		"not protect it.",
	When:  named,
	Fails: shownInName("an address of", func(addresses, _ []string) []string { return addresses }),
}, {
	Code: "header.from.display_domain", Severity: diag.Warning, Weight: 2,
	DependsOn: []diag.Code{"header.from.display_address"}, Ref: "RFC 7489 section 12.4",
	Title: "Display name shows another domain than the real one", Requirement: "The display name shows no other domain",
	Advice: "Judge the message by the real address. Many mail programs show only the display name, and DMARC does " +
		"not protect it.",
	When:  named,
	Fails: shownInName("the domain", func(_, hosts []string) []string { return hosts }),
}, {
	Code: "header.from.brand", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"header.from.display_domain"},
	Ref: "RFC 7489 section 12.4", Title: "Display name uses the name of a well-known company",
	Requirement: "The display name does not use the name of another company",
	Advice:      "Check whether this domain sends on behalf of the company. Such display names are common in phishing.",
	When:        named,
	Fails: func(e *evidence) diag.Failures {
		a := e.author()
		if a == nil || viaList(a.Name) {
			return nil
		}
		b, ok := impersonated(a.Name, a.Domain)
		return diag.FailIf(ok, "The display name %s uses the name %s, but the domain %s is not known to belong to that company.",
			quoted(a.Name), quoted(b.name), diag.Quote(a.Domain)).About("From")
	},
}, {
	Code: "header.from.lookalike", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"header.from.invalid"},
	Ref:   "RFC 5890 section 4.4; Unicode Technical Standard 39 section 4",
	Title: "Domain in From imitates another domain", Requirement: "The domain in From does not imitate another domain",
	Advice: "Treat the message as forged until the sender has confirmed it through another channel. Lookalike " +
		"domains can pass SPF, DKIM and DMARC.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(domainsOf(e.authors()), func(domain string) diag.Failures {
			why := e.lookalike(domain)
			return diag.FailIf(why != "", "In the domain %s, the label %s.", diag.Quote(domain), why).About(domain)
		})
	},
}, {
	Code: "header.text.direction", Severity: diag.Warning, Weight: 2, Ref: "Unicode Technical Report 36 section 2.5",
	Title:       "Invisible or direction-changing characters in a name or the subject",
	Requirement: "Names and subject have no invisible or direction-changing characters",
	Advice:      "Read the raw text: what is displayed differs from what was written.",
	When:        func(e *evidence) bool { return len(e.fieldsWhere(readByPeople)) > 0 },
	Fails: inFields(func(f *message.Field) bool { return readByPeople(f) && hasDirection(f.Text()) },
		"There are invisible or direction-changing characters in %s."),
}, {
	Code: "header.reply_to.freemail", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"header.from.invalid"},
	Ref: "RFC 5322 section 3.6.2", Title: "Replies go to a free mail address",
	Requirement: "Replies do not go to an unrelated free mail address",
	Advice: "Do not reply before the sender has confirmed the address through another channel: this is typical of " +
		"invoice fraud.",
	When: func(e *evidence) bool { return e.fromDomain != "" && len(e.replyTo) > 0 },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.replyTo, func(a message.Address) diag.Failures {
			bad := isFreemail(a.Domain) && !isFreemail(e.fromDomain)
			return diag.FailIf(bad, "The message is from %s, but replies go to %s.", e.fromDomain,
				diag.Quote(a.Addr())).About("Reply-To")
		})
	},
}}

// readByPeople reports whether mail programs show a field.
func readByPeople(f *message.Field) bool {
	return f.Is("From") || f.Is("Subject") || f.Is("Reply-To") || f.Is("Sender")
}

// named reports whether From shows a name beside the address.
func named(e *evidence) bool {
	a := e.author()
	return a != nil && a.Name != ""
}

// validDomain reports whether a domain is one that mail can come from: a name with a dot, or an address literal.
func validDomain(domain string) bool {
	if strings.HasPrefix(domain, "[") {
		return route.AddrIn(domain).IsValid()
	}
	_, err := diag.ParseDomain(domain)
	return err == nil && strings.Contains(domain, ".")
}

// shownInName fails for each domain in the display name of the author that is of another organization; which picks
// those in addresses or those that stand alone.
func shownInName(what string, which func(addresses, hosts []string) []string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		a := e.author()
		if a == nil || viaList(a.Name) {
			return nil
		}
		return diag.FailEach(which(shownDomains(a.Name)), func(domain string) diag.Failures {
			return diag.FailIf(!route.SameOrganization(domain, a.Domain),
				"The display name %s shows %s %s, while the message is from %s.",
				quoted(a.Name), what, diag.Quote(domain), diag.Quote(a.Addr())).About("From")
		})
	}
}
