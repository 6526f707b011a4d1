package header

import (
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/mailauth/message"
)

// freemail are providers where anybody gets an address at once.
var freemail = []string{
	"gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com", "yahoo.com", "ymail.com", "aol.com", "icloud.com", "me.com",
	"gmx.de", "gmx.net", "gmx.com", "web.de", "t-online.de", "freenet.de", "mail.ru", "yandex.ru", "yandex.com", "proton.me", "protonmail.com",
	"tutanota.com", "tuta.com", "zoho.com", "mail.com", "orange.fr", "free.fr", "laposte.net", "libero.it", "seznam.cz", "wp.pl", "qq.com", "163.com", "126.com",
}

// A brand is a name that phishing likes to show, and the domains that may.
type brand struct {
	name    string // words in lower case
	domains []string
}

// brands are the names that are imitated most, by the published reports of providers about phishing.
var brands = []brand{
	{"paypal", []string{"paypal.com", "paypal.de", "paypal.co.uk", "paypal.fr"}},
	{"amazon", []string{"amazon.com", "amazon.de", "amazon.co.uk", "amazon.fr", "amazon.es", "amazon.it", "amazon.ca",
		"amazon.co.jp", "amazonses.com", "amazonaws.com"}},
	{"apple", []string{"apple.com", "icloud.com"}},
	{"icloud", []string{"apple.com", "icloud.com"}},
	{"microsoft", []string{"microsoft.com", "microsoftonline.com", "office.com", "office365.com", "outlook.com"}},
	{"office 365", []string{"microsoft.com", "office.com", "office365.com"}},
	{"google", []string{"google.com", "youtube.com", "gmail.com"}},
	{"facebook", []string{"facebook.com", "facebookmail.com", "meta.com"}},
	{"instagram", []string{"instagram.com", "facebookmail.com"}},
	{"whatsapp", []string{"whatsapp.com", "facebookmail.com"}},
	{"linkedin", []string{"linkedin.com"}},
	{"netflix", []string{"netflix.com"}},
	{"spotify", []string{"spotify.com"}},
	{"ebay", []string{"ebay.com", "ebay.de", "ebay.co.uk"}},
	{"docusign", []string{"docusign.com", "docusign.net"}},
	{"dropbox", []string{"dropbox.com", "dropboxmail.com"}},
	{"adobe", []string{"adobe.com", "adobesign.com"}},
	{"dhl", []string{"dhl.com", "dhl.de", "deutschepost.de"}},
	{"fedex", []string{"fedex.com"}},
	{"usps", []string{"usps.com", "usps.gov"}},
	{"coinbase", []string{"coinbase.com"}},
	{"binance", []string{"binance.com"}},
	{"chase", []string{"chase.com"}},
	{"wells fargo", []string{"wellsfargo.com"}},
	{"bank of america", []string{"bankofamerica.com"}},
	{"american express", []string{"americanexpress.com", "aexp.com"}},
	{"hsbc", []string{"hsbc.com", "hsbc.co.uk"}},
	{"sparkasse", []string{"sparkasse.de"}},
	{"volksbank", []string{"vr.de"}},
	{"deutsche bank", []string{"db.com", "deutsche-bank.de"}},
	{"commerzbank", []string{"commerzbank.de", "commerzbank.com"}},
	{"telekom", []string{"telekom.de", "telekom.com", "t-online.de"}},
	{"steam", []string{"steampowered.com", "valvesoftware.com"}},
	{"github", []string{"github.com"}},
}

// impersonated returns the brand that a display name claims to be, if the domain is none of its own. The name must
// begin with the brand: "PayPal Service", not "News about PayPal".
func impersonated(name, domain string) (brand, bool) {
	words := strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	}), " ") + " "
	org := organizational(domain)
	for _, b := range brands {
		own := slices.Contains(b.domains, org) || strings.HasPrefix(org, strings.ReplaceAll(b.name, " ", "")+".")
		if strings.HasPrefix(words, b.name+" ") && !own {
			return b, true
		}
	}
	return brand{}, false
}

// viaList reports whether a display name is one that mailing lists and groups make: "Alice via Team" <team@…>.
func viaList(name string) bool { return strings.Contains(strings.ToLower(name), " via ") }

// maxName bounds the display name that is searched, in bytes.
const maxName = 1000

// shownDomains returns the domains of addresses in a display name, and of names of hosts in it.
func shownDomains(name string) (addresses, hosts []string) {
	if len(name) > maxName {
		name = name[:maxName]
	}
	for _, word := range strings.FieldsFunc(name, func(r rune) bool {
		return strings.ContainsRune(" \t<>()[]\"',;:|/", r)
	}) {
		word = strings.Trim(word, ".-!?")
		at := strings.LastIndexByte(word, '@')
		domain := strings.ToLower(word[at+1:])
		switch {
		case organizational(domain) == "" || !strings.Contains(domain, "."):
		case at > 0:
			addresses = append(addresses, domain)
		case knownSuffix(domain):
			hosts = append(hosts, domain)
		}
	}
	return addresses, hosts
}

// knownSuffix reports whether a word with a dot ends like a domain name, and is no abbreviation or file name: the last
// label is one of those that companies have, or of a country.
func knownSuffix(domain string) bool {
	last := domain[strings.LastIndexByte(domain, '.')+1:]
	first, _, _ := strings.Cut(domain, ".")
	return len(first) > 1 && slices.Contains([]string{"com", "net", "org", "info", "biz", "io", "app", "dev", "shop",
		"online", "bank", "example", "eu", "de", "at", "ch", "fr", "it", "es", "nl", "be", "uk", "us", "ca", "au", "jp",
		"cn", "ru", "pl", "cz", "se", "no", "dk", "fi", "pt", "br", "mx", "in"}, last)
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
	org := organizational(domain)
	label, _, _ := strings.Cut(org, ".")
	for _, b := range brands {
		name := strings.ReplaceAll(b.name, " ", "")
		if label != name && imitation.Replace(label) == name && !slices.Contains(b.domains, org) {
			return quoted(label) + " looks like " + quoted(name)
		}
	}
	for _, a := range slices.Concat(e.to, e.replyTo) {
		other := organizational(a.Domain)
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

// isFreemail reports whether anybody gets an address of this domain.
func isFreemail(domain string) bool { return slices.Contains(freemail, organizational(domain)) }

// authors are the addresses of From, each once.
func (e *evidence) authors() []message.Address {
	var list []message.Address
	seen := map[string]bool{}
	for _, a := range e.from {
		if key := strings.ToLower(a.Addr()); !seen[key] {
			seen[key] = true
			list = append(list, a)
		}
	}
	return list
}

// author is the only author, or nil.
func (e *evidence) author() *message.Address {
	if list := e.authors(); len(list) == 1 {
		return &list[0]
	}
	return nil
}
