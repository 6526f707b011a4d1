package phishing

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// read reports whether there is a page that is not a known brand's own.
func read(e *evidence) bool { return e.page != nil && !e.last().trusted() }

func (e *evidence) asksPassword() bool {
	return e.page != nil && (e.page.Counts.Passwords > 0 || e.survey.asks[aPassword])
}

// asksSecret reports whether a page that is not a known brand's own asks for anything that others can misuse.
func asksSecret(e *evidence) bool { return read(e) && len(e.asks()) > 0 }

func (e *evidence) passwordForms() []Form {
	return slices.DeleteFunc(e.forms(), func(f Form) bool { return !f.HasPassword })
}

var contentRules = rule.Rules[*evidence]{{
	Code: "phishing.page.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Category: ofContent,
	Title: "Page could not be examined", Requirement: "The page could be examined",
	When: func(e *evidence) bool { return e.visited },
	Fails: func(e *evidence) rule.Failures {
		switch {
		case e.served():
			return nil
		case e.site.Err != nil:
			return rule.Fail("The page at %s could not be fetched: %s.", e.reached(),
				strings.TrimSuffix(e.site.Err.Message, "."))
		}
		h := e.site.Final()
		return rule.Fail("The server answered %d %s for %s, so the page that visitors see was not examined.",
			h.StatusCode, phrase.Quote(h.StatusText), e.reached())
	},
}, {
	Code: "phishing.page.brand_login", Severity: diag.Error, Weight: 65,
	Title:       "Page poses as a brand and asks for a password",
	Requirement: "No page poses as another brand and asks for a password",
	Advice:      leave, When: func(e *evidence) bool { return read(e) && e.asksPassword() },
	Fails: (*evidence).impersonation,
}, {
	Code: "phishing.page.brand_secret", Severity: diag.Error, Weight: 65,
	Title:       "Page poses as a brand and asks for card data, codes or numbers",
	Requirement: "No page poses as another brand and asks for card data, codes or numbers",
	Advice:      leave, When: func(e *evidence) bool { return read(e) && !e.asksPassword() && len(e.asks()) > 0 },
	Fails: (*evidence).impersonation,
}, {
	Code: "phishing.page.brand_mixed", Severity: diag.Info, Weight: 12,
	Title:       "Login page has the name of a brand that is not its owner",
	Requirement: "A login page has no name but that of its owner",
	Advice:      "Ask the company whose name you know whether the site is theirs.",
	When:        func(e *evidence) bool { return read(e) && e.survey.typed > 0 },
	Fails: func(e *evidence) rule.Failures {
		g := &e.identity
		if asks := len(e.asks()) > 0; asks && !g.mixed() || !asks && !(g.impersonates() && g.littleText) ||
			e.toTheBrand(g.brand) {
			return nil
		}
		return about(g.brand.Name,
			"The page has %q, which names %s, but %s is not theirs, and it does not say clearly whose it is.",
			phrase.Quote(g.text), g.brand.Name, e.last().place())
	},
}, {
	Code: "phishing.page.brand_title", Severity: diag.Info, Weight: 5,
	Title: "Page names a brand that is not its owner", Requirement: "The title of the page names no other brand",
	When: read,
	Fails: func(e *evidence) rule.Failures {
		if e.identity.title == nil || e.identity.impersonates() && len(e.asks()) > 0 {
			return nil
		}
		return about(e.identity.title.Name,
			"The page calls itself %q; so do reports on %s, sites that work with it, and copies.",
			phrase.Quote(e.title()), e.identity.title.Name)
	},
}, {
	Code: "phishing.page.nameless", Severity: diag.Info, Weight: 5,
	Title:       "Login page does not say whose it is",
	Requirement: "A login page says whose it is",
	Advice:      "Sign in from the site of the company itself, not by this link.",
	When:        asksSecret,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.nameless(), "The page asks for %s, and neither title nor heading nor logo gives a name.",
			e.askedFor())
	},
}, {
	Code: "phishing.page.unmatched_name", Severity: diag.Info, Weight: 5,
	Title:       "Page asks for bank or identity data under a name that its host lacks",
	Requirement: "The name of a page that asks for bank or identity data appears in its host",
	Advice:      "Compare the host with the domain of the company before you enter anything.",
	When:        asksSecret,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.unmatched(), "The page asks for %s, and nothing of its name appears in the host %s.",
			e.askedFor(), e.last().url.Host())
	},
}, {
	Code: "phishing.page.recovery_phrase", Severity: diag.Error, Weight: 60,
	Title: "Page asks for the recovery phrase of a wallet", Requirement: "The page asks for no recovery phrase",
	Advice: "Do not enter it: anyone with the phrase controls the wallet. Only the wallet itself needs it.",
	When:   read,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.asksPhrase(), "The page has fields for the recovery phrase or the private key of a wallet.")
	},
}, {
	Code: "phishing.page.pasted_command", Severity: diag.Error, Weight: 75,
	Title:       "Page has visitors run a command that they do not see",
	Requirement: "The page has visitors run no command that they do not see",
	Advice:      "Do not paste anything: disconnect the computer and have it examined if you already did.",
	When:        read,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.asksToPaste(),
			"The page tells visitors to paste something where commands run, and does not show what.")
	},
}, {
	Code: "phishing.page.password.foreign", Severity: diag.Warning, Weight: 35,
	Title: "Password is sent to another site", Requirement: "No password is sent to another site",
	Advice: "Do not enter a password there unless you know why it goes to the other site.",
	When:   func(e *evidence) bool { return read(e) && e.asksPassword() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.passwordForms(), func(f Form) rule.Failures {
			if f.ActionHost == "" || !e.foreign(f.ActionHost) || e.targets.Owner(f.ActionHost) != nil {
				return nil
			}
			return about(f.ActionHost, "A form that asks for a password sends it to %s, which is another site than %s.",
				f.ActionHost, e.last().place())
		})
	},
}, {
	Code: "phishing.page.password.nowhere", Severity: diag.Warning, Weight: 20,
	Title: "Password form submits by other means than HTTP", Requirement: "Passwords are sent over HTTP",
	Advice: "Do not enter a password there: nobody can tell where it goes.",
	When:   func(e *evidence) bool { return read(e) && e.asksPassword() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.passwordForms(), func(f Form) rule.Failures {
			return rule.FailIf(f.ActionHost == "",
				"A form that asks for a password sends it by mail, to a script or to an unknown place.")
		})
	},
}, {
	Code: "phishing.page.password.insecure", Severity: diag.Warning, Weight: 35, Ref: "RFC 9110 section 17.1",
	Title: "Password is sent without encryption", Requirement: "Passwords are sent with encryption",
	Advice: "Do not enter a password there: anyone on the network path can read it.",
	When:   func(e *evidence) bool { return e.page != nil && e.asksPassword() },
	Fails: func(e *evidence) rule.Failures {
		if e.site.URL.Scheme() == "http" {
			return rule.Fail("The page asks for a password and was served over http.")
		}
		return rule.FailEach(e.passwordForms(), func(f Form) rule.Failures {
			return rule.FailIf(f.Insecure, "A form that asks for a password sends it over http to %s.", f.ActionHost)
		})
	},
}, {
	Code: "phishing.page.icon", Severity: diag.Warning, Weight: 35,
	Title:       "Icon of the page is taken from a brand's site",
	Requirement: "The icon of the page is not taken from a brand's site",
	When:        read,
	Fails: func(e *evidence) rule.Failures {
		for _, icon := range e.page.Icons() {
			u, err := diag.ParseURL(icon.URL)
			if err != nil {
				continue
			}
			host := u.Host().Name()
			if owner := e.targets.Owner(host); owner != nil && owner != e.last().owner && e.foreign(host) &&
				!widely()[owner.Name] {
				return about(host,
					"The icon of the page is loaded from %s, which belongs to %s, so the page looks like theirs.", host,
					owner.Name)
			}
		}
		return nil
	},
}, {
	Code: "phishing.page.obfuscated", Severity: diag.Warning, Weight: 30,
	Title: "Page obfuscates its code", Requirement: "The page does not obfuscate its code",
	When: read,
	Fails: func(e *evidence) rule.Failures {
		found := obfuscated().Find(e.body)
		return rule.FailIf(found != nil, "The page builds itself from an encoded text, with %q.", phrase.Quote(string(found)))
	},
}, {
	Code: "phishing.page.exfiltration", Severity: diag.Error, Weight: 50,
	Title: "Page sends data to a chat or form service", Requirement: "The page sends to no chat or form service",
	Advice: "Do not enter anything there: what is typed goes to a third party.",
	When:   asksSecret,
	Fails: func(e *evidence) rule.Failures {
		found := exfiltrates().Find(e.body)
		return rule.FailIf(found != nil,
			"The page asks for %s and has the address %q, where kits send what was typed.", e.askedFor(),
			phrase.Quote(string(found)))
	},
}, {
	Code: "phishing.page.hidden_frame", Severity: diag.Warning, Weight: 15,
	Title: "Hidden frame with another site", Requirement: "The page has no hidden frame of another site",
	When: read,
	Fails: func(e *evidence) rule.Failures {
		for _, host := range e.hiddenFrames {
			if owner := e.targets.Owner(host); e.foreign(host) && (owner == nil || !widely()[owner.Name]) {
				return about(host, "The page loads %s in an invisible frame.", host)
			}
		}
		return nil
	},
}, {
	Code: "phishing.page.frame", Severity: diag.Warning, Weight: 25,
	Title:       "Page is nothing but a frame of another site",
	Requirement: "The page is more than a frame of another site",
	When:        read,
	Fails: func(e *evidence) rule.Failures {
		if e.framed == nil {
			return nil
		}
		host := e.framed.url.Host()
		return about(host.Name(), "The page has almost no text of its own and shows %s in a frame.", host)
	},
}, {
	Code: "phishing.page.links", Severity: diag.Warning, Weight: 12,
	Title:       "Login page whose links lead to other sites",
	Requirement: "The links of a login page lead to its own site",
	When:        func(e *evidence) bool { return read(e) && e.asksPassword() && e.page.Links.All >= 5 },
	Fails: func(e *evidence) rule.Failures {
		l := e.page.Links
		return rule.FailIf(l.Internal*5 < l.All, "Of %d links only %d stay on the site, as in copies of another one.",
			l.All, l.Internal)
	},
}, {
	Code: "phishing.redirect.document", Severity: diag.Info, Weight: 10,
	Title: "Document forwards to another site", Requirement: "No document forwards to another site",
	When: func(e *evidence) bool { return e.answered() },
	Fails: func(e *evidence) rule.Failures {
		if e.end == nil {
			return nil
		}
		for _, h := range e.site.Hops {
			if h.RedirectType == fetch.MetaRefresh || h.RedirectType == fetch.HeaderRefresh {
				return rule.Fail("A document at %s forwards the reader, which filters that follow only HTTP redirects do not see.",
					phrase.Quote(h.URL))
			}
		}
		return nil
	},
}, {
	Code: "phishing.redirect.sites", Severity: diag.Info, Weight: 12,
	Title: "Redirects through several sites", Requirement: "Redirects do not lead through several sites",
	When: func(e *evidence) bool { return e.answered() },
	Fails: func(e *evidence) rule.Failures {
		n := e.sitesPassed()
		return rule.FailIf(n > 2, "The URL leads through %d sites to %s.", n, e.last().place())
	},
}}

// widely are brands whose icons, fonts and frames are embedded in pages of all kinds.
var widely = kit.Words("Google YouTube Facebook WordPress GitHub Cloudflare Shopify X Amazon Microsoft " +
	"Tumblr Atlassian Salesforce LinkedIn")

// impersonation is the failure of a page that speaks in the name of a brand.
func (e *evidence) impersonation() rule.Failures {
	g := &e.identity
	if !g.impersonates() || e.toTheBrand(g.brand) {
		return nil
	}
	return about(g.brand.Name, "The page calls itself %q and asks for %s, but %s is not the site of %s; that is %s.",
		phrase.Quote(g.text), e.askedFor(), e.last().place(), g.brand.Name, g.brand.Main())
}

// askedFor says in words what the page asks for.
func (e *evidence) askedFor() string { return phrase.Series(e.asks(), len(inWords)) }

// nameless reports whether the page does not identify its owner, on a host that does not say so either: that of a
// company's own mail does.
func (e *evidence) nameless() bool {
	if !e.identity.nameless || e.mailHost() {
		return false
	}
	name := e.hostName()
	return len(name) <= minHostWord || !strings.Contains(letters(e.page.Text), name)
}

// minWordFields is how many fields for a word each are those of a recovery phrase, if the page speaks of one.
const minWordFields = 3

// asksPhrase reports whether a field is for the recovery phrase of a wallet, or the page speaks of one and has a field
// for many words, or many for one.
func (e *evidence) asksPhrase() bool {
	if e.survey.asks[aPhrase] {
		return true
	}
	return len(e.page.Text) <= maxNotice && (e.survey.area || e.survey.texts >= minWordFields) &&
		calls(hintKey(e.page.Text), string(aPhrase))
}

func (e *evidence) title() string {
	t, _ := e.page.Title()
	return t
}

// reached is where the fetch ended.
func (e *evidence) reached() string {
	if e.site != nil {
		return phrase.Quote(e.site.URL.String())
	}
	return phrase.Quote(e.url.String())
}

// sitesPassed counts the registrable domains of the chain.
func (e *evidence) sitesPassed() int {
	seen := map[string]bool{}
	for _, h := range e.site.Hops {
		if a, err := dissect(h.URL, e.targets); err == nil {
			seen[a.place()] = true
		}
	}
	return len(seen)
}
