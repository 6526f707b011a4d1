package phishing

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// texts are what the verdict says in words: by the code of the heaviest signal, or by outcome. {brand} is the
// brand that is imitated, {domain} its domain. To the sub is added what was examined and what was not.
var texts = map[string]diag.Text{
	"malicious": {
		Headline: "URL has the marks of a phishing site",
		Sub:      "Do not open it, and report it to the company that it impersonates.",
	},
	"suspicious": {
		Headline: "URL has several signs of phishing",
		Sub:      "Enter nothing there unless you know the site by other means.",
	},
	"clean": {
		Headline: "No phishing signal found", Sub: "That is no proof: new phishing sites show none for some hours.",
	},
	"clean.weak": {
		Headline: "Only weak phishing signals found",
		Sub:      "Legitimate sites can have such signals too; look at them before you enter a password.",
	},
	"clean.owner": {
		Headline: "Host belongs to {brand}; no phishing signal found", Sub: "The domain is one of the brand's own.",
	},
	"inconclusive": {
		Headline: "Page could not be examined: the site gave no usable answer",
		Sub:      "The URL alone gives no cause for alarm; try again later.",
	},
	"inconclusive.url": {
		Headline: "No phishing signal in the URL; the page was not tested",
		Sub:      "Nothing is known about the site itself: neither it nor any source was asked.",
	},
	"inconclusive.url.weak": {
		Headline: "Only weak phishing signals in the URL; the page was not tested",
		Sub:      "Legitimate sites can have such signals too; the page may have others.",
	},
	"inconclusive.url.owner": {
		Headline: "Host belongs to {brand}; the page was not tested",
		Sub:      "The domain is one of the brand's own, and the URL has no phishing signal.",
	},
	"inconclusive.dns": {
		Headline: "Page could not be examined: the host has no address",
		Sub:      "The site was taken down or has never existed; the URL alone gives no cause for alarm.",
	},
	"inconclusive.blocked": {
		Headline: "Page could not be examined: its address is not public",
		Sub:      "It leads to a private address or a port that is not allowed; the URL alone gives no cause for alarm.",
	},
	"inconclusive.sources": {
		Headline: "No verdict: not every reputation source answered",
		Sub:      "The URL and its page give no cause for alarm; try again later.",
	},
	"inconclusive.registration": {
		Headline: "No verdict: the age of the domain could not be learned",
		Sub:      "If it is new, what was found is suspicious; try again later.",
	},
	"inconclusive.status": {
		Headline: "Page could not be examined: the server answered {status}",
		Sub:      "It may have been removed, or be hidden from bots; the URL alone gives no cause for alarm.",
	},
	"inconclusive.redirects": {
		Headline: "Page could not be examined: its redirects lead nowhere",
		Sub:      "They form a loop or leave the web; the URL alone gives no cause for alarm.",
	},
	"inconclusive.redirects.cookie": {
		Headline: "Page could not be examined: its redirects need a cookie",
		Sub:      "Browsers may get further; the URL alone gives no cause for alarm.",
	},
	"phishing.lookalike.homoglyph": {
		Headline: "Host looks like {brand} but is not", Sub: "The domain of {brand} is {domain}; enter nothing here.",
	},
	"phishing.lookalike.typo": {
		Headline: "Host is a misspelling of {brand}", Sub: "The domain of {brand} is {domain}; enter nothing here.",
	},
	"phishing.lookalike.combo": {
		Headline: "Host uses the name of {brand} but is not theirs",
		Sub:      "The domain of {brand} is {domain}; anyone can register such a combination. Enter nothing there.",
	},
	"phishing.lookalike.subdomain": {
		Headline: "Host shows {brand} under a domain that is not theirs",
		Sub:      "The domain of {brand} is {domain}; the name before another domain proves nothing. Enter nothing there.",
	},
	"phishing.page.brand_login": {
		Headline: "Page in the name of {brand} asks for a password",
		Sub:      "The domain of {brand} is {domain}; change your password if you entered it here.",
	},
	"phishing.page.password.foreign": {
		Headline: "Page sends the password to another site", Sub: "Change your password if you entered it there.",
	},
	"phishing.page.exfiltration": {
		Headline: "Page sends what is typed to a chat or form service",
		Sub:      "Change your password if you entered it there.",
	},
	"phishing.page.icon": {
		Headline: "Page takes its icon from a brand that it does not belong to",
		Sub:      "Compare the host with the domain of the brand before you enter anything.",
	},
	"phishing.source.match": {
		Headline: "URL is listed as dangerous",
		Sub:      "Do not open it. If the site is yours, clean it and ask the source to look again.",
	},
	"phishing.host.ip_address": {
		Headline: "URL leads to an IP address instead of a domain",
		Sub:      "Nobody vouches for who runs the machine; enter nothing there.",
	},
	"phishing.host.ip_address.disguised": {
		Headline: "URL hides an IP address", Sub: "There is no legitimate reason for such a spelling; enter nothing there.",
	},
	"phishing.url.userinfo": {
		Headline: "URL hides its real host behind a user name",
		Sub:      "What stands before the at sign is not the site; enter nothing there.",
	},
	"phishing.url.data_uri": {
		Headline: "URL contains a document made by whoever sent it",
		Sub:      "What it shows comes from whoever made the link; enter nothing there.",
	},
	"phishing.host.mixed_scripts": {
		Headline: "Host mixes letters of several scripts",
		Sub:      "It is made to be mistaken for another name; enter nothing there.",
	},
	"phishing.registration.new": {
		Headline: "Domain is a few days old and has other signs of phishing",
		Sub:      "Most phishing sites are that new; wait, or ask the company by other means.",
	},
	"phishing.url.program_directory": {
		Headline: "Page is in a directory of the site's software",
		Sub:      "The site may have been hacked; enter nothing there, and tell the owner of the site.",
	},
	"phishing.host.free_hosting": {
		Headline: "Page on free hosting has signs of phishing",
		Sub:      "Anyone can put pages there anonymously; enter nothing unless you know whose page it is.",
	},
}

// text picks the words of the verdict.
func (e *evidence) text(r *Report) diag.Text {
	key := string(r.Verdict)
	switch r.Verdict {
	case Suspicious, Malicious:
		for _, s := range r.Signals {
			if _, ok := texts[string(s.Code)]; ok {
				key = string(s.Code)
				break
			}
		}
	case inconclusive:
		if key += e.obstacle(); !e.asked {
			key += ".url" + e.cleanness(r)
		}
	case clean:
		key += e.cleanness(r)
	}
	brand, domain := e.brandIn(r, key)
	fill := strings.NewReplacer("{brand}", brand, "{domain}", domain, "{status}", e.status())
	return diag.Text{Headline: fill.Replace(texts[key].Headline), Sub: fill.Replace(texts[key].Sub) + " " + e.examined()}
}

// obstacle says why the page could not be examined.
func (e *evidence) obstacle() string {
	switch {
	case e.served() && slices.Contains(e.Unanswered(), sourceReputation):
		return ".sources"
	case e.served():
		return ".registration"
	case e.answered() && e.site.Final().StatusCode >= http.StatusBadRequest:
		return ".status"
	case e.site == nil || e.site.Err == nil || e.site.Err.Unanswered:
		return ""
	case e.site.Err.Code == fetch.DNS:
		return ".dns"
	case e.site.Err.Code == fetch.Blocked && e.site.Err.Step == fetch.Connecting:
		return ".blocked"
	case slices.Contains([]fetch.Reason{fetch.TooManyRedirects, fetch.Loop, fetch.Blocked}, e.site.Err.Code):
		if _, cookies := e.site.Looped(); len(cookies) > 0 {
			return ".redirects.cookie"
		}
		return ".redirects"
	}
	return ""
}

// cleanness says what little was found, and where.
func (e *evidence) cleanness(r *Report) string {
	switch {
	case len(r.Signals) > 0:
		return ".weak"
	case e.last().trusted() && e.trusted():
		return ".owner"
	}
	return ""
}

// status is that of the last answer, in digits.
func (e *evidence) status() string {
	if !e.answered() {
		return ""
	}
	return strconv.Itoa(e.site.Final().StatusCode)
}

// maxBrand bounds a brand's name in a headline, in characters.
const maxBrand = 22

// brandIn returns the brand of a text, and its domain.
func (e *evidence) brandIn(r *Report, key string) (name, domain string) {
	target := e.owner
	if m := e.imitation(); m != nil && strings.HasPrefix(key, "phishing.lookalike") {
		target = m.Target
	} else if key == "phishing.page.brand_login" {
		target = e.titleBrand
	}
	if target == nil {
		return "", ""
	}
	name = target.Name
	if runes := []rune(name); len(runes) > maxBrand {
		name = string(runes[:maxBrand-1]) + "…"
	}
	return name, target.Main()
}

// examined says what was examined and what was not.
func (e *evidence) examined() string {
	if !e.asked {
		return "Only the URL was examined."
	}
	parts := []struct {
		what string
		done bool
	}{
		{"page", e.page != nil && e.served()},
		{"certificate", certified(e)},
		{"registration", known(e, true)},
		{"reputation", e.heard() > 0},
	}
	done, not := []string{"URL"}, []string{}
	for _, p := range parts {
		if p.done {
			done = append(done, p.what)
		} else {
			not = append(not, p.what)
		}
	}
	s := "Examined: " + strings.Join(done, ", ")
	if len(not) > 0 {
		s += "; not examined: " + strings.Join(not, ", ")
	}
	return s + "."
}
