package phishing

import (
	"path"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// The lengths from which a URL is reported, in characters. Browsers on phones show some 30.
const (
	longURL     = 90
	veryLongURL = 180
	deepPath    = 5 // segments
)

var (
	mailAddress = kit.Regexp(`[a-z0-9._%+-]{1,64}(?:@|%40)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,5}\.[a-z]{2,24}`)
	otherURL    = kit.Regexp(`(?:https?:/{1,2}|[/=]www\.)([a-z0-9.-]*)`)
	dataURI     = kit.Regexp(`data:(?:text/|image/svg|application/)[a-z0-9.+-]*[;,]`)
)

var urlRules = rule.Rules[*anatomy]{{
	Code: "phishing.url.corrected", Severity: diag.Info, Category: ofURL,
	Title: "URL was corrected before it was read", Requirement: "The URL was given as browsers read it",
	Fails: func(a *anatomy) rule.Failures {
		return rule.FailIf(len(a.corrected) > 0, "The URL was read as %s: %s.", phrase.Quote(a.url.String()),
			strings.Join(a.corrected, "; "))
	},
}, {
	Code: "phishing.url.userinfo", Severity: diag.Error, Weight: 50, Ref: "RFC 3986 section 7.6",
	Title: "User name in front of the host", Requirement: "No user name precedes the host",
	Advice: "Read the host after the last at sign: that is where the link leads.",
	Fails: func(a *anatomy) rule.Failures {
		return rule.FailIf(a.userinfo != "", "%q before the at sign is not part of the host; the link leads to %s.",
			phrase.Quote(a.userinfo), a.url.Host())
	},
}, {
	Code: "phishing.url.obfuscated", Severity: diag.Warning, Weight: 35, Ref: "RFC 3986 section 7.6",
	Title: "URL is obfuscated", Requirement: "The URL is not obfuscated",
	Fails: func(a *anatomy) rule.Failures {
		return rule.FailEach(a.tricks, func(trick string) rule.Failures {
			return rule.Fail("The URL has %s. It leads to %s.", trick, a.url.Host())
		})
	},
}, {
	Code: "phishing.url.port", Severity: diag.Info, Weight: 7, Ref: "RFC 9110 section 4.2",
	Title: "Unusual port", Requirement: "The port is that of the scheme",
	Fails: func(a *anatomy) rule.Failures {
		usual := a.url.Port() == 80 || a.url.Port() == 443
		return rule.FailIf(!usual, "The URL names port %d; public sites use 80 and 443.", a.url.Port())
	},
}, {
	Code: "phishing.url.unencrypted", Severity: diag.Info, Weight: 3, Ref: "RFC 9110 section 4.2.2",
	Title: "URL without encryption", Requirement: "The URL is an https URL",
	Advice: "Enter nothing confidential on a page whose URL begins with http.",
	Fails: func(a *anatomy) rule.Failures {
		return rule.FailIf(a.url.Scheme() == "http",
			"The URL begins with http, so anyone on the network path can read and change the page.")
	},
}, {
	Code: "phishing.url.data_uri", Severity: diag.Error, Weight: 60, Ref: "RFC 2397 section 5",
	Title: "URL carries a whole document", Requirement: "The URL carries no document",
	Advice: "Do not enter anything there: the document comes from the sender of the link, not from a site.",
	Fails: having(func(a *anatomy) string { return dataURI().FindString(plain(a.raw)) },
		"The URL contains a data URI (%s…): a document made by the sender."),
}}

// pathRules are about path and query of sites that no brand owns.
var pathRules = rule.Rules[*anatomy]{{
	Code: "phishing.url.long", Severity: diag.Info, Weight: 1,
	Title: "Long URL", Requirement: "The URL is not long",
	When:  made,
	Fails: many(longURL, length, "The URL has %d characters, and few browsers show more than the first 60."),
}, {
	Code: "phishing.url.very_long", Severity: diag.Info, Weight: 2,
	Title: "Very long URL", Requirement: "The URL is not very long",
	When:  made,
	Fails: many(veryLongURL, length, "The URL has %d characters. Kits for phishing pages lengthen URLs to hide the host."),
}, {
	Code: "phishing.url.deep", Severity: diag.Info, Weight: 1,
	Title: "Page many directories deep", Requirement: "The page is not many directories deep",
	Fails: many(deepPath, func(a *anatomy) int { return len(a.segments) },
		"The path has %d parts. Pages that were put on a broken-into site are often deep."),
}, {
	Code: "phishing.url.program_directory", Severity: diag.Warning, Weight: 23,
	Title:       "Page in a directory of the site's software",
	Requirement: "The page is in no directory of the site's software",
	Advice:      "Tell the owner of the site: it may have been hacked.",
	Fails: func(a *anatomy) rule.Failures {
		if dir := a.programDir(); dir != "" && !openExtensions()[extension(a.file())] {
			return about(dir, "The page lies in the directory %q, where the site's software keeps files that are not pages.",
				phrase.Quote(dir))
		}
		return nil
	},
}, {
	Code: "phishing.url.keyword", Severity: diag.Info, Weight: 15,
	Title:       "Path or query mentions logging in or verifying",
	Requirement: "Neither path nor query mentions logging in or verifying",
	Fails: func(a *anatomy) rule.Failures {
		list := credentials(a.words)
		return rule.FailIf(len(list) > 0, "The path or query has %s, like pages that ask for passwords.", quoted(list))
	},
}, {
	Code: "phishing.url.keywords", Severity: diag.Info, Weight: 9,
	Title: "Several trust words in path or query", Requirement: "Path and query have at most one trust word",
	Fails: func(a *anatomy) rule.Failures {
		list := credentials(a.words)
		return rule.FailIf(len(list) > 1, "The path or query has %s: phishing pages often have several such words.",
			quoted(list))
	},
}, {
	Code: "phishing.url.kit_parameter", Severity: diag.Info, Weight: 15,
	Title:       "Query parameters typical of phishing kits",
	Requirement: "The query has no parameters typical of phishing kits",
	Fails: func(a *anatomy) rule.Failures {
		var list []string
		for _, p := range strings.FieldsFunc(a.query, func(r rune) bool { return r == '&' || r == ';' || r == '?' }) {
			if name, _, _ := strings.Cut(p, "="); kitParams()[name] && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return rule.FailIf(len(list) > 0, "The query has %s, as pages made with phishing kits do.", quoted(list))
	},
}, {
	Code: "phishing.url.mail_address", Severity: diag.Warning, Weight: 22,
	Title: "URL carries a mail address", Requirement: "The URL carries no mail address",
	Advice: "Do not enter a password on a page that knows your address from the link.",
	Fails: having(func(a *anatomy) string { return addressIn(strings.ToLower(a.tail)) },
		"The URL carries an address such as %s, to fill it into a form or to record who clicked."),
}, {
	Code: "phishing.url.embedded_url", Severity: diag.Info, Weight: 15,
	Title: "Another URL in path or query", Requirement: "There is no other URL in path or query",
	When: func(a *anatomy) bool { return foreign(a) && !a.namesDomain() },
	Fails: func(a *anatomy) rule.Failures {
		return rule.FailIf(a.hasOtherURL(),
			"The path or query holds another URL, to which the site may redirect, or which is only there to be read.")
	},
}, {
	Code: "phishing.url.double_slash", Severity: diag.Info, Weight: 15, Ref: "RFC 3986 section 3.3",
	Title: "Empty directory in the path", Requirement: "The path has no empty directory",
	Fails: func(a *anatomy) rule.Failures {
		rest := strings.TrimPrefix(strings.ReplaceAll(a.path, "://", ""), "/")
		return rule.FailIf(strings.Contains(rest, "//"),
			"The path has two slashes in a row, as paths composed by a program do.")
	},
}, {
	Code: "phishing.url.double_extension", Severity: diag.Warning, Weight: 18,
	Title: "File pretends to be of another kind", Requirement: "The file has one extension",
	Fails: func(a *anatomy) rule.Failures {
		parts := strings.Split(a.file(), ".")
		n := len(parts)
		bad := n >= 3 && openExtensions()[parts[n-2]] && lastExtensions()[parts[n-1]]
		return rule.FailIf(bad, "The file %q looks like a %s, but is not.", phrase.Quote(a.file()), parts[max(0, n-2)])
	},
}, {
	Code: "phishing.url.program_page", Severity: diag.Info, Weight: 12,
	Title: "Page of a server program", Requirement: "The page is not named for a program on the server",
	Fails: func(a *anatomy) rule.Failures {
		file := a.file()
		return rule.FailIf(slices.Contains([]string{".php", ".cgi", ".pl"}, path.Ext(file)),
			"The page is the program %q. Nearly all phishing kits are written in PHP; so are many honest sites.",
			phrase.Quote(file))
	},
}, {
	Code: "phishing.url.random", Severity: diag.Info, Weight: 17,
	Title: "Random-looking text in path or query", Requirement: "Path and query have no random-looking text",
	When: made,
	Fails: having(func(a *anatomy) string { return first(a.words, random) },
		"The path or query has %q, which looks generated: a token for one visitor, or a name that no filter knows yet."),
}, {
	Code: "phishing.url.code", Severity: diag.Info, Weight: 13,
	Title: "Path without words", Requirement: "The path has no codes in place of words",
	When: func(a *anatomy) bool { return made(a) && !slices.ContainsFunc(a.words, random) },
	Fails: having(func(a *anatomy) string { return first(words(a.tail), coded) },
		"The path or query has %q, a code that means nothing to a reader."),
}, {
	Code: "phishing.url.repeated", Severity: diag.Info, Weight: 20,
	Title: "Directory in a directory of the same name", Requirement: "No directory lies in one of the same name",
	Fails: func(a *anatomy) rule.Failures {
		for i, s := range a.segments {
			if slices.Contains(a.segments[:i], s) && !isDigit(s[0]) {
				return rule.Fail("The path has the directory %q twice, as when an archive is unpacked on a broken-into site.",
					phrase.Quote(s))
			}
		}
		return nil
	},
}, {
	Code: "phishing.url.digits", Severity: diag.Info, Weight: 4,
	Title: "Many digits in path or query", Requirement: "Path and query have few digits",
	When:  made,
	Fails: many(15, func(a *anatomy) int { return digitsIn(a.path + a.query) }, "The path and query have %d digits."),
}, {
	Code: "phishing.url.home_directory", Severity: diag.Info, Weight: 2,
	Title: "Page in a user's home directory", Requirement: "The page is not in a user's home directory",
	Fails: func(a *anatomy) rule.Failures {
		if !strings.HasPrefix(a.path, "/~") {
			return nil
		}
		return rule.Fail("The path begins with %q: pages of one user, whatever the host is called.",
			phrase.Quote(a.segments[0]))
	},
}, {
	Code: "phishing.url.entity", Severity: diag.Info, Weight: 17,
	Title: "HTML entities in the URL", Requirement: "The URL has no HTML entities",
	Fails: func(a *anatomy) rule.Failures {
		return rule.FailIf(strings.Contains(a.tail, "&amp;"), "The query has &amp; for &: a program copied it from HTML.")
	},
}}

// maxOtherURLs bounds the URLs within one that are examined.
const maxOtherURLs = 10

// hasOtherURL reports whether path or query has the URL of another site. That of the same site only says where to
// go on.
func (a *anatomy) hasOtherURL() bool {
	for _, m := range otherURL().FindAllStringSubmatch(plain(a.tail), maxOtherURLs) {
		host := strings.Trim(m[1], ".-")
		if host != a.place() && !strings.HasSuffix(host, "."+a.place()) && "www."+host != a.url.Host().Name() {
			return true
		}
	}
	return false
}

// leadsOn reports whether path or query has the whole URL of another site, and not just its name.
func (a *anatomy) leadsOn() bool {
	return strings.Contains(strings.TrimPrefix(plain(a.tail), "/"), "://") && a.hasOtherURL()
}

// maxAddressTries bounds the at signs around which a mail address is looked for.
const maxAddressTries = 5

// addressIn returns a mail address in a text, or nothing. Only the text around an at sign is searched, because the
// expression is slow.
func addressIn(s string) string {
	for begin, try := 0, 0; try < maxAddressTries; try++ {
		at := strings.IndexByte(s[begin:], '@')
		if escaped := strings.Index(s[begin:], "%40"); escaped >= 0 && (at < 0 || escaped < at) {
			at = escaped
		}
		if at < 0 {
			return ""
		}
		at += begin
		if found := mailAddress().FindString(s[max(begin, at-64):min(len(s), at+200)]); found != "" {
			return found
		}
		begin = at + 1
	}
	return ""
}

// made reports whether the names in path and query were chosen by the author of the page. A service that keeps
// files for others makes them itself, and one that leads to a URL within adds who followed it.
func made(a *anatomy) bool { return foreign(a) && a.service() == nil && !a.leadsOn() }

// foreign reports whether the host is not that of a known brand, where no others have pages: what follows the
// host is then the brand's own.
func foreign(a *anatomy) bool { return !a.trusted() }

// programDir returns the directory of the site's software in which the page lies, or nothing.
func (a *anatomy) programDir() string {
	if len(a.segments) < 2 {
		return ""
	}
	return first(a.segments[:len(a.segments)-1], func(s string) bool { return programDirs()[s] })
}

// extension returns the part of a file name behind the last dot.
func extension(file string) string { return file[strings.LastIndexByte(file, '.')+1:] }

// file is the last part of the path, if it is not a directory.
func (a *anatomy) file() string {
	if len(a.segments) == 0 || strings.HasSuffix(a.path, "/") {
		return ""
	}
	return a.segments[len(a.segments)-1]
}

// credentials lists the words that speak of passwords, also as parts of longer ones.
func credentials(list []string) []string {
	return pick(list, func(w string) bool {
		return credentialWords()[w] ||
			len(w) < 30 && slices.ContainsFunc(credentialParts, func(p string) bool { return strings.Contains(w, p) })
	})
}

// maxQuoted bounds the words that one detail quotes.
const maxQuoted = 4

// pick lists the first words that are wanted, each once.
func pick(list []string, wanted func(string) bool) (found []string) {
	for _, w := range list {
		if wanted(w) && !slices.Contains(found, w) && len(found) < maxQuoted {
			found = append(found, w)
		}
	}
	return found
}

// quoted lists words for a sentence: "a", "b" and "c".
func quoted(list []string) string {
	return phrase.Series(kit.Map(list, func(w string) string { return `"` + phrase.Quote(w) + `"` }), len(list))
}
