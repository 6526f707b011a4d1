package header

import (
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

var identityRules = rule.Rules[*evidence]{{
	Code: "header.from.duplicate", Severity: diag.Error, Weight: 10, DependsOn: []diag.Code{"header.from.missing"},
	Ref: "RFC 5322 section 3.6", Title: "Several From fields", Requirement: "There is only one From field",
	Advice: "Do not trust the message: mail programs differ in which From they display and which one they check.",
	Fails: func(e *evidence) rule.Failures {
		n := e.count("From")
		return rule.FailIf(n > 1, "The From field appears %d times, with %s.", n,
			strings.Join(shown(e.from), " and ")).About("From")
	},
}, {
	Code: "header.from.invalid", Severity: diag.Error, Weight: 10, DependsOn: []diag.Code{"header.from.missing"},
	Ref: "RFC 5322 section 3.6.2", Title: "From has no valid address", Requirement: "From has a valid address",
	Advice: "Have the sending program write a complete address with a domain in From: receivers reject mail without " +
		"one.",
	Fails: func(e *evidence) rule.Failures {
		valid := slices.ContainsFunc(e.from, func(a message.Address) bool { return a.Local != "" && validDomain(a.Domain) })
		return rule.FailIf(!valid, "From is %s, which contains no valid address.",
			quoted(e.text("From", maxRaw))).About("From")
	},
}, {
	Code: "header.from.multiple", Severity: diag.Error, Weight: 10,
	DependsOn: []diag.Code{"header.from.duplicate", "header.from.invalid"},
	Ref:       "RFC 5322 section 3.6.2, RFC 7489 section 6.6.1", Title: "From has more than one address",
	Requirement: "From has only one address",
	Advice: "Send with one author in From. DMARC needs a single domain, and most receivers reject messages with " +
		"several.",
	Fails: func(e *evidence) rule.Failures {
		authors := e.authors()
		sender := ""
		if len(e.sender) == 0 {
			sender = ", without the Sender field that this requires"
		}
		return rule.FailIf(len(authors) > 1, "From has %d addresses, %s%s.", len(authors),
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
	Fails: func(e *evidence) rule.Failures {
		a := e.author()
		if a == nil || viaList(a.Name) {
			return nil
		}
		b, ok := impersonated(a.Name, a.Domain)
		return rule.FailIf(ok,
			"The display name %s uses the name %s, but the domain %s is not known to belong to that company.",
			quoted(a.Name), quoted(b.name), phrase.Quote(a.Domain)).About("From")
	},
}, {
	Code: "header.from.lookalike", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"header.from.invalid"},
	Ref:   "RFC 5890 section 4.4, UTS #39 section 4",
	Title: "Domain in From imitates another domain", Requirement: "The domain in From does not imitate another domain",
	Advice: "Treat the message as forged until the sender has confirmed it through another channel. Lookalike " +
		"domains can pass SPF, DKIM and DMARC.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(domainsOf(e.authors()), func(domain string) rule.Failures {
			why := e.lookalike(domain)
			return rule.FailIf(why != "", "In the domain %s, the label %s.", phrase.Quote(domain), why).About(domain)
		})
	},
}, {
	Code: "header.text.direction", Severity: diag.Warning, Weight: 2, Ref: "UTR #36 section 2.5",
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
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.replyTo, func(a message.Address) rule.Failures {
			bad := isFreemail(a.Domain) && !isFreemail(e.fromDomain)
			return rule.FailIf(bad, "The message is from %s, but replies go to %s.", e.fromDomain,
				phrase.Quote(a.Addr())).About("Reply-To")
		})
	},
}, {
	Code: "header.reply_to.elsewhere", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"header.reply_to.freemail"}, Ref: "RFC 5322 section 3.6.2",
	Title:       "Replies to a deceptive sender go to a third domain",
	Requirement: "Replies do not go to a third domain when the sender deceives",
	Advice: "Do not reply. Ask the person that the message claims to be from at an address that you know: with a " +
		"Reply-To elsewhere, such mail mostly prepares a payment fraud.",
	When: func(e *evidence) bool {
		return e.fromDomain != "" && len(e.replyTo) > 0 && len(e.imitatedDomains()) > 0
	},
	Fails: func(e *evidence) rule.Failures {
		known := append(e.imitatedDomains(), e.fromDomain)
		return rule.FailEach(e.replyTo, func(a message.Address) rule.Failures {
			same := slices.ContainsFunc(known, func(d string) bool { return sameOrAlike(a.Domain, d) })
			return rule.FailIf(!same, "The sender in From deceives, and replies go to a third domain: Reply-To is %s, while "+
				"the message is from %s.", phrase.Quote(a.Addr()), e.fromDomain).About("Reply-To")
		})
	},
}}

// imitatedDomains lists the domains that the author pretends to be of: the one in From that imitates another, or
// those of addresses in the display name.
func (e *evidence) imitatedDomains() []string {
	a := e.author()
	if a == nil {
		return nil
	}
	var list []string
	if e.lookalike(e.fromDomain) != "" {
		list = append(list, e.fromDomain)
	}
	addresses, _ := shownDomains(a.Name)
	for _, d := range addresses {
		if !viaList(a.Name) && !route.SameOrganization(d, a.Domain) {
			list = append(list, d)
		}
	}
	return list
}

// sameOrAlike reports whether two domains are of one organization, or one can be taken for the other.
func sameOrAlike(a, b string) bool {
	first, _, _ := strings.Cut(route.Organizational(a), ".")
	second, _, _ := strings.Cut(route.Organizational(b), ".")
	return route.SameOrganization(a, b) || first != second && imitation.Replace(first) == imitation.Replace(second)
}

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

// shownInName fails for each domain in the display name of the author that is of another organization; which selects
// those in addresses or bare ones.
func shownInName(what string, which func(addresses, hosts []string) []string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		a := e.author()
		if a == nil || viaList(a.Name) {
			return nil
		}
		return rule.FailEach(which(shownDomains(a.Name)), func(domain string) rule.Failures {
			return rule.FailIf(!route.SameOrganization(domain, a.Domain),
				"The display name %s shows %s %s, while the message is from %s.",
				quoted(a.Name), what, phrase.Quote(domain), phrase.Quote(a.Addr())).About("From")
		})
	}
}

// freemail are providers where anyone gets an address immediately.
var freemail = kit.Words(`gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com
	aol.com icloud.com me.com gmx.de gmx.net gmx.com web.de t-online.de freenet.de mail.ru yandex.ru yandex.com
	proton.me protonmail.com tutanota.com tuta.com zoho.com mail.com orange.fr free.fr laposte.net libero.it seznam.cz
	wp.pl qq.com 163.com 126.com`)

// A brand is a name that phishing often displays, with the domains that may use it: those of the name, and some
// others.
type brand struct {
	name    string // words in lower case
	domains string // of other names
}

func (b brand) compactName() string { return strings.ReplaceAll(b.name, " ", "") }

func (b brand) owns(org string) bool {
	return strings.HasPrefix(org, b.compactName()+".") || slices.Contains(strings.Fields(b.domains), org)
}

// brands are the names that are imitated most, by the published reports of providers about phishing.
var brands = []brand{
	{"paypal", ""}, {"amazon", "amazonses.com amazonaws.com"}, {"apple", "icloud.com"}, {"icloud", "apple.com"},
	{"microsoft", "microsoftonline.com office.com office365.com outlook.com"},
	{"office 365", "microsoft.com office.com"}, {"google", "youtube.com gmail.com"},
	{"facebook", "facebookmail.com meta.com"}, {"instagram", "facebookmail.com"}, {"whatsapp", "facebookmail.com"},
	{"linkedin", ""}, {"netflix", ""}, {"spotify", ""}, {"ebay", ""}, {"docusign", ""},
	{"dropbox", "dropboxmail.com"}, {"adobe", "adobesign.com"}, {"dhl", "deutschepost.de"}, {"fedex", ""},
	{"usps", ""}, {"coinbase", ""}, {"binance", ""}, {"chase", ""}, {"wells fargo", ""}, {"bank of america", ""},
	{"american express", "aexp.com"}, {"hsbc", ""}, {"sparkasse", ""}, {"volksbank", "vr.de"},
	{"deutsche bank", "db.com deutsche-bank.de"}, {"commerzbank", ""}, {"telekom", "t-online.de"},
	{"steam", "steampowered.com valvesoftware.com"}, {"github", ""},
}

// impersonated returns the brand that a display name claims to be, if the domain does not belong to it. The name must
// begin with the brand: "PayPal Service", not "News about PayPal".
func impersonated(name, domain string) (brand, bool) {
	words := strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	}), " ") + " "
	org := route.Organizational(domain)
	for _, b := range brands {
		if strings.HasPrefix(words, b.name+" ") && !b.owns(org) {
			return b, true
		}
	}
	return brand{}, false
}

// viaList reports whether a display name is one that mailing lists and groups make: "Alice via Team" <team@…>.
func viaList(name string) bool { return strings.Contains(strings.ToLower(name), " via ") }

const maxName = 1000

// shownDomains returns the domains of addresses in a display name, and of names of hosts in it.
func shownDomains(name string) (addresses, hosts []string) {
	between := func(r rune) bool { return strings.ContainsRune(" \t<>()[]\"',;:|/", r) }
	for _, word := range strings.FieldsFunc(name[:min(len(name), maxName)], between) {
		word = strings.Trim(word, ".-!?")
		at := strings.LastIndexByte(word, '@')
		domain := strings.ToLower(word[at+1:])
		switch {
		case route.Organizational(domain) == "" || !strings.Contains(domain, "."):
		case at > 0:
			addresses = append(addresses, domain)
		case strings.IndexByte(domain, '.') > 1 && knownSuffixes()[domain[strings.LastIndexByte(domain, '.')+1:]]:
			hosts = append(hosts, domain)
		}
	}
	return addresses, hosts
}

// knownSuffixes are last labels of domains that companies have: a word with such an ending is not an abbreviation or
// a file name.
var knownSuffixes = kit.Words(`com net org info biz io app dev shop online bank example eu de at ch fr it es nl be uk us
	ca au jp cn ru pl cz se no dk fi pt br mx in`)

// lookalike says why a domain can be mistaken for another: for that of a brand, of a recipient of the message or of
// replies, or for the domain in the display name; empty if it cannot.
func (e *evidence) lookalike(domain string) string {
	r, err := idn.Convert(idn.Request{Domain: domain})
	if err != nil {
		return ""
	}
	for _, l := range r.Labels {
		switch {
		case l.ConfusableWith != "" && l.ConfusableWith != l.ASCII:
			return quoted(l.Unicode) + " looks like " + quoted(l.ConfusableWith)
		case l.MixedScript:
			return quoted(l.Unicode) + " mixes letters of " + strings.Join(l.Scripts, " and ")
		}
	}
	org := route.Organizational(domain)
	label, _, _ := strings.Cut(org, ".")
	for _, b := range brands {
		if imitation.Replace(label) == b.compactName() && !b.owns(org) {
			return quoted(label) + " looks like " + quoted(b.compactName())
		}
	}
	for _, a := range slices.Concat(e.to, e.replyTo) {
		other := route.Organizational(a.Domain)
		known, _, _ := strings.Cut(other, ".")
		if known != "" && known != label && imitation.Replace(known) == imitation.Replace(label) {
			return quoted(label) + " looks like " + quoted(known) + " in " + other
		}
	}
	if a := e.author(); a != nil {
		solid := strings.ReplaceAll(label, "-", "")
		name := strings.ToLower(strings.Join(strings.FieldsFunc(a.Name, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), ""))
		if name != "" && name != solid && imitation.Replace(name) == imitation.Replace(solid) {
			return quoted(label) + " looks like the name " + quoted(a.Name)
		}
	}
	return ""
}

// imitation undoes substitutions that make plain letters look like others.
var imitation = strings.NewReplacer("0", "o", "1", "l", "3", "e", "5", "s", "rn", "m", "vv", "w")

func isFreemail(domain string) bool { return freemail()[route.Organizational(domain)] }
