package header

import (
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/mailauth/header/route"
)

// freemail are providers where anybody gets an address at once.
var freemail = diag.Words(`gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com
	aol.com icloud.com me.com gmx.de gmx.net gmx.com web.de t-online.de freenet.de mail.ru yandex.ru yandex.com
	proton.me protonmail.com tutanota.com tuta.com zoho.com mail.com orange.fr free.fr laposte.net libero.it seznam.cz
	wp.pl qq.com 163.com 126.com`)

// A brand is a name that phishing likes to show, and the domains that may: those of the name, and some besides.
type brand struct {
	name    string // words in lower case
	domains string // of other names
}

// solid is the name without blanks, as in domains.
func (b brand) solid() string { return strings.ReplaceAll(b.name, " ", "") }

func (b brand) owns(org string) bool {
	return strings.HasPrefix(org, b.solid()+".") || slices.Contains(strings.Fields(b.domains), org)
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

// impersonated returns the brand that a display name claims to be, if the domain is none of its own. The name must
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
		case knownSuffix(domain):
			hosts = append(hosts, domain)
		}
	}
	return addresses, hosts
}

// knownSuffixes are last labels of domains that companies have.
var knownSuffixes = diag.Words(`com net org info biz io app dev shop online bank example eu de at ch fr it es nl be uk us
	ca au jp cn ru pl cz se no dk fi pt br mx in`)

// knownSuffix reports whether a word with a dot ends like a domain name, and is no abbreviation or file name.
func knownSuffix(domain string) bool {
	return strings.IndexByte(domain, '.') > 1 && knownSuffixes()[domain[strings.LastIndexByte(domain, '.')+1:]]
}

// lookalike says why a domain can be taken for another one: for that of a brand, of those who receive the message or
// answers to it, or for what the display name says; empty if it cannot.
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
		if imitation.Replace(label) == b.solid() && !b.owns(org) {
			return quoted(label) + " looks like " + quoted(b.solid())
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

// imitation undoes what makes plain letters look like others.
var imitation = strings.NewReplacer("0", "o", "1", "l", "3", "e", "5", "s", "rn", "m", "vv", "w")

func isFreemail(domain string) bool { return freemail()[route.Organizational(domain)] }
