package phishing

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/idn"
)

// The sizes from which a host is told.
const (
	longHost    = 30 // characters
	manyLabels  = 3  // below the registrable domain, without www
	manyHyphens = 2
	manyDigits  = 3
	manyConsons = 5 // "Schmidt" has four in a row
)

func named(a *anatomy) bool { return !a.domain.IsZero() && foreign(a) }

var hostRules = diag.Rules[*anatomy]{
	{
		Code: "phishing.host.ip_address", Severity: diag.Error, Weight: 35, Category: ofHost,
		Title:       "IP address in place of a domain",
		Requirement: "The host is a domain",
		Ref:         "RFC 3986 section 3.2.2",
		Advice:      "Do not enter passwords on a site without a domain: nobody vouches for who runs it.",
		Fails: func(a *anatomy) diag.Failures {
			return diag.FailIf(a.domain.IsZero(), "The host is the IP address %s. Banks, shops and authorities have domains.",
				a.url.Host())
		},
	},
	{
		Code: "phishing.host.ip_address.disguised", Severity: diag.Error, Weight: 60, Category: ofHost,
		Title:       "IP address in disguise",
		Requirement: "An IP address is written as usual",
		Ref:         "RFC 3986 section 7.4",
		When:        func(a *anatomy) bool { return a.domain.IsZero() },
		Fails: func(a *anatomy) diag.Failures {
			host, _, _ := strings.Cut(a.written, ":")
			_, err := netip.ParseAddr(host)
			odd := err != nil && !strings.HasPrefix(a.written, "[")
			return diag.FailIf(odd, "%q is a spelling of %s that only serves to hide it.", diag.Quote(host), a.url.Host())
		},
	},
	{
		Code: "phishing.host.keyword", Severity: diag.Info, Weight: 18, Category: ofHost,
		Title:       "Host has words such as login or secure",
		Requirement: "The host has no words such as login or secure",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			list := a.hostWords()
			return diag.FailIf(len(list) > 0,
				"The host has %s in its name, to seem trustworthy; banks name their hosts after themselves.", quoted(list))
		},
	},
	{
		Code: "phishing.host.long", Severity: diag.Info, Weight: 5, Category: ofHost,
		Title:       "Long host name",
		Requirement: "The host name is not long",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			n := len(a.domain.String())
			return diag.FailIf(n >= longHost, "The host name has %d characters, more than phones show.", n)
		},
	},
	{
		Code: "phishing.host.subdomains", Severity: diag.Info, Weight: 15, Category: ofHost,
		Title:       "Many subdomains",
		Requirement: "The host has few subdomains",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			n := len(a.below)
			if n > 0 && a.below[0] == "www" {
				n--
			}
			return diag.FailIf(n >= manyLabels,
				"%d labels stand before the registrable domain %s, which is the only part that says whose site it is.", n, a.registered)
		},
	},
	{
		Code: "phishing.host.hyphens", Severity: diag.Info, Weight: 3, Category: ofHost,
		Title:       "Several hyphens in the host",
		Requirement: "The host has at most one hyphen",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			n := strings.Count(strings.ReplaceAll(a.domain.String(), "xn--", ""), "-")
			return diag.FailIf(n >= manyHyphens, "The host has %d hyphens, as names that are put together of other names do.", n)
		},
	},
	{
		Code: "phishing.host.digits", Severity: diag.Info, Weight: 12, Category: ofHost,
		Title:       "Several digits in the host",
		Requirement: "The host has few digits",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			n := digitsIn(a.unicode)
			return diag.FailIf(n >= manyDigits, "The host has %d digits, as names that a program drew do.", n)
		},
	},
	{
		Code: "phishing.host.random", Severity: diag.Info, Weight: 8, Category: ofHost,
		Title:       "Host name without any word in it",
		Requirement: "The host name can be pronounced",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			for _, label := range append(slices.Clone(a.below), a.label()) {
				if !strings.HasPrefix(label, "xn--") && (consonants(label) >= manyConsons || random(label)) {
					return about(label, "%q looks drawn by a program: names that nobody has seen before are on no blocklist.",
						diag.Quote(label))
				}
			}
			return nil
		},
	},
	{
		Code: "phishing.host.tld", Severity: diag.Info, Weight: 13, Category: ofHost,
		Title:       "Top-level domain that is often abused",
		Requirement: "The top-level domain is not known for abuse",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			top := a.labels[len(a.labels)-1]
			if two := strings.Join(a.labels[max(0, len(a.labels)-2):], "."); abusedTLDs[two] {
				top = two
			}
			return diag.FailIf(abusedTLDs[top],
				"Names under .%s cost little or nothing, and many of them serve phishing and spam.", top)
		},
	},
	{
		Code: "phishing.host.free_hosting", Severity: diag.Info, Weight: 21, Category: ofHost,
		Title:       "Page on free hosting",
		Requirement: "The page is not on free hosting",
		When:        func(a *anatomy) bool { return named(a) && a.blogHost() == "" && a.service() == nil },
		Fails: func(a *anatomy) diag.Failures {
			at := a.freeHost()
			return diag.FailIf(at != "", "Anybody can put pages under %s, without saying who they are.", at)
		},
	},
	{
		Code: "phishing.host.blog", Severity: diag.Info, Weight: 8, Category: ofHost,
		Title:       "Page on free hosting for blogs",
		Requirement: "The page is not on free hosting for blogs",
		When: func(a *anatomy) bool {
			return named(a) && (a.blogHost() != "" || a.freeHost() == "") && a.service() == nil
		},
		Fails: func(a *anatomy) diag.Failures {
			at := a.blogHost()
			return diag.FailIf(at != "", "Anybody can put pages under %s. Most are blogs; some are not.", at)
		},
	},
	{
		Code: "phishing.host.dynamic_dns", Severity: diag.Warning, Weight: 21, Category: ofHost,
		Title:       "Host with dynamic DNS",
		Requirement: "The host does not depend on dynamic DNS",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			host := a.domain.String()
			at := under(host, dynamicHosts)
			return diag.FailIf(at != "" && at != host && host != "www."+at,
				"Names under %s are free and lead to any machine, such as one at home.", at)
		},
	},
	{
		Code: "phishing.host.shortener", Severity: diag.Info, Weight: 18, Category: ofHost,
		Title:       "Shortened link",
		Requirement: "The link is not shortened",
		Advice:      "Look at where it leads before you follow it.",
		When:        func(a *anatomy) bool { return named(a) && len(a.segments) > 0 },
		Fails: func(a *anatomy) diag.Failures {
			at := shortener(a.domain.String())
			return diag.FailIf(at != "", "%s forwards to another URL, which cannot be seen in the link.", at)
		},
	},
	{
		Code: "phishing.host.service", Severity: diag.Info, Weight: 18, Category: ofHost,
		Title:       "Page of an unknown person at a known company",
		Requirement: "The page is the company's own",
		Advice:      "Do not enter passwords there: the company's name says nothing about who made the page.",
		Fails: func(a *anatomy) diag.Failures {
			s := a.service()
			if s == nil {
				return nil
			}
			return diag.Fail("It is %s, where anybody can put what they like.", s.what)
		},
	},
	{
		Code: "phishing.host.mixed_scripts", Severity: diag.Error, Weight: 45, Category: ofHost,
		Title:       "Host mixes scripts that look alike",
		Requirement: "The host does not mix scripts",
		Ref:         "UTS #39 section 5.2",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			if a.unicode == a.domain.String() {
				return nil
			}
			r, err := idn.Convert(idn.Request{Domain: a.domain.String()})
			if err != nil {
				return nil
			}
			return diag.FailEach(r.Labels, func(l idn.Label) diag.Failures {
				return diag.FailIf(l.MixedScript, "%q mixes %s, whose letters are easily confused.",
					diag.Quote(l.Unicode), strings.Join(l.Scripts, " and "))
			})
		},
	},
	{
		Code: "phishing.host.punycode", Severity: diag.Info, Weight: 5, Category: ofHost,
		Title:       "Internationalized host name",
		Requirement: "The host name is in plain letters",
		Ref:         "RFC 5890 section 4.4",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			return diag.FailIf(a.unicode != a.domain.String(),
				"The host is shown as %s. Letters of other scripts, or with marks, can look like others.", diag.Quote(a.unicode))
		},
	},
	{
		Code: "phishing.host.inner_suffix", Severity: diag.Warning, Weight: 18, Category: ofHost,
		Title:       "Another domain name is embedded in the host",
		Requirement: "No other domain name is embedded in the host",
		When:        named,
		Fails: func(a *anatomy) diag.Failures {
			for i, label := range a.below {
				first, _, _ := strings.Cut(label, "-")
				odd := label == "www" && i > 0 || label == "https" || label == "http" || i > 0 && innerEnds[first] ||
					i > 0 && innerEnds[label]
				if odd {
					return about(label, "%q stands within the host, as if it ended or began there; the site is %s.",
						diag.Quote(label), a.registered)
				}
			}
			if first, _, ok := strings.Cut(a.label(), "-"); ok && len(a.below) > 0 && innerEnds[first] {
				return about(first, "%q stands within the host, as if it ended there; the site is %s.", first, a.registered)
			}
			return nil
		},
	},
}

// innerEnds are labels that readers take for the end of a host.
var innerEnds = set("com net org gov edu co info")

// hostWords lists words of confidence in the host. A label of one such word below a domain, as in
// login.example.com, is how everybody does it.
func (a *anatomy) hostWords() (found []string) {
	for _, label := range append(slices.Clone(a.below), a.label()) {
		list := words(label)
		if len(list) > 1 || label == a.label() {
			found = append(found, firstIn(list, hostWords)...)
		}
	}
	return found[:min(len(found), maxQuoted)]
}

// freeHost returns the free hosting under which the host lies, or nothing.
func (a *anatomy) freeHost() string {
	host := a.domain.String()
	at := under(host, freeHosts)
	official := strings.Contains("."+a.suffix, ".gov.") || strings.Contains("."+a.suffix, ".edu.")
	if at == "" && !official && a.private() && a.registered != "" && under(host, dynamicHosts) == "" {
		at = a.suffix
	}
	if at == host || host == "www."+at {
		return ""
	}
	return at
}

// blogHost returns the free hosting for blogs under which the host lies, or nothing.
func (a *anatomy) blogHost() string {
	if strings.HasPrefix(a.registered, "blogspot.") && len(a.below) > 0 { // in former times each country had its own
		return a.registered
	}
	if at := a.freeHost(); blogHosts[at] {
		return at
	}
	return ""
}
