package robots_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/webcheck/internal/robots"
	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		name, file, agent, path string
		allowed                 bool
		rule                    string
	}{
		{"empty", "", "x", "/", true, ""},
		{"longest", "User-agent: *\nDisallow: /p/\nAllow: /p/open\n", "x", "/p/open/1", true, "Allow: /p/open"},
		{"longest, disallow", "User-agent: *\nAllow: /p\nDisallow: /p/shut\n", "x", "/p/shut", false, "Disallow: /p/shut"},
		{"equal", "User-agent: *\nDisallow: /p\nAllow: /p\n", "x", "/p", true, "Allow: /p"},
		{"equal, other order", "User-agent: *\nAllow: /p\nDisallow: /p\n", "x", "/p", true, "Allow: /p"},
		{"own group only", "User-agent: *\nDisallow: /\nUser-agent: FooBot\nDisallow: /x\n", "foobot", "/y", true, ""},
		{"groups merged", "User-agent: a\nDisallow: /1\n\nUser-agent: b\nDisallow: /2\n\nUser-agent: A\nDisallow: /3", "a", "/3", false, "Disallow: /3"},
		{"several agents", "User-agent: a\nUser-agent: b\nDisallow: /1", "a", "/1", false, "Disallow: /1"},
		{"other record between", "User-agent: a\nCrawl-delay: 5\nSitemap: http://x/\nUser-agent: b\nDisallow: /1", "a", "/1", false, "Disallow: /1"},
		{"version", "User-agent: Googlebot/2.1\nDisallow: /", "Googlebot", "/", false, "Disallow: /"},
		{"agent with version asked for", "User-agent: Googlebot\nDisallow: /", "Googlebot/2.1", "/", false, "Disallow: /"},
		{"not a prefix", "User-agent: Googlebot-Image\nDisallow: /", "Googlebot", "/", true, ""},
		{"empty rule", "User-agent: *\nDisallow:\n", "x", "/", true, ""},
		{"empty own group", "User-agent: *\nDisallow: /\n\nUser-agent: x\nDisallow:\n", "x", "/", true, ""},
		{"case of paths", "User-agent: *\nDisallow: /A", "x", "/a", true, ""},
		{"star", "User-agent: *\nDisallow: /*.gif", "x", "/a/b.gif?x", false, "Disallow: /*.gif"},
		{"end", "User-agent: *\nDisallow: /*.gif$", "x", "/a.gif?x", true, ""},
		{"end matches", "User-agent: *\nDisallow: /*.gif$", "x", "/a.gif.gif", false, "Disallow: /*.gif$"},
		{"only the root", "User-agent: *\nDisallow: /$", "x", "/", false, "Disallow: /$"},
		{"not only the root", "User-agent: *\nDisallow: /$", "x", "/a", true, ""},
		{"star in the middle", "User-agent: *\nDisallow: /a*b*c$", "x", "/axbxbxc", false, "Disallow: /a*b*c$"},
		{"star at the end", "User-agent: *\nDisallow: /a*", "x", "/a", false, "Disallow: /a*"},
		{"query", "User-agent: *\nDisallow: /*?", "x", "/a?b", false, "Disallow: /*?"},
		{"encoded rule", "User-agent: *\nDisallow: /%7Ejoe/%e3%81%82", "x", "/~joe/あ", false, "Disallow: /%7Ejoe/%e3%81%82"},
		{"encoded path", "User-agent: *\nDisallow: /ä", "x", "/%c3%a4", false, "Disallow: /ä"},
		{"encoded slash", "User-agent: *\nDisallow: /a%2Fb", "x", "/a/b", true, ""},
		{"encoded star", "User-agent: *\nDisallow: /a%2A", "x", "/a*", true, ""},
		{"robots.txt itself", "User-agent: *\nDisallow: /", "x", "/robots.txt", true, ""},
		{"byte order mark", "\uFEFFUser-agent: *\nDisallow: /", "x", "/", false, "Disallow: /"},
		{"carriage returns", "User-agent: *\rDisallow: /\r", "x", "/", false, "Disallow: /"},
		{"comments and blanks", " user-AGENT : * # all\n\t DISALLOW\t:/ # all", "x", "/", false, "Disallow: /"},
		{"rule before the first group", "Disallow: /\nUser-agent: *\nAllow: /a", "x", "/", true, ""},
		{"no colon", "User-agent *\nDisallow /", "x", "/", true, ""},
		{"no slash", "User-agent: *\nDisallow: a", "x", "/a", true, ""},
		{"mistyped", "User-agent: *\nDisalow: /", "x", "/", true, ""},
		{"agent that is none", "User-agent: *\nAllow: /\nUser-agent: 1x\nDisallow: /", "", "/", true, "Allow: /"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parse([]byte(tt.file)).Match(tt.agent, tt.path)
			require.Equal(t, tt.allowed, d.Allowed)
			rule := ""
			if d.Rule != nil {
				rule = d.Rule.String()
			}
			require.Equal(t, tt.rule, rule)
		})
	}
	require.True(t, robots.AllowAll().Match("x", "/").Allowed)
	require.False(t, robots.DisallowAll().Match("x", "/").Allowed)
}

func TestParseFaults(t *testing.T) {
	f := parse([]byte("<html>\nDisallow: /\nUser-agent: *\nDisallow: a\nNoindex: /\nDissallow: /\nFoo: 1\nSitemap: https://example.com/s.xml\n"))
	var got []string
	for _, fault := range f.Faults {
		got = append(got, fmt.Sprint(fault.Line, " ", fault.Text))
	}
	require.Equal(t, []string{
		"1 is not a rule: it has no colon", "2 has a rule before the first User-agent, which crawlers ignore",
		`4 has the path "a", which matches nothing because it does not begin with /`,
		"5 has the field noindex, which crawlers ignore in robots.txt",
		`6 has the field "Dissallow": Google reads it as Disallow, and other crawlers ignore it`, `7 has the field "Foo", which crawlers ignore`,
	}, got)
	require.Equal(t, []string{"https://example.com/s.xml"}, f.Sitemaps)

	long := parse([]byte("User-agent: *\nDisallow: /1\n" + strings.Repeat("#\n", robots.MaxBytes) + "Disallow: /2"))
	require.True(t, long.Truncated)
	require.False(t, long.Match("x", "/1").Allowed)
	require.True(t, long.Match("x", "/2").Allowed)

	head := "User-agent: *\nDisallow: /x\n#"
	cut := head + strings.Repeat("-", robots.MaxBytes-len(head)-len("\nDisallow: /")) + "\nDisallow: /y/*/z$\n"
	f = parse([]byte(cut))
	require.True(t, f.Match("x", "/").Allowed, "a line that is cut at the limit is no rule")
	require.False(t, f.Match("x", "/x").Allowed)
	whole := strings.Replace(cut, "\nDisallow: /y", "\nDisallow: /\ny", 1)
	require.False(t, parse([]byte(whole)).Match("x", "/").Allowed, "it ends at the limit")
	require.Empty(t, parse([]byte(strings.Repeat("x", robots.MaxBytes+1))).Faults)
}

// Google's parser reads more than the standard has, and in a few things otherwise (github.com/google/robotstxt).
func TestGoogle(t *testing.T) {
	long := "/x/" + strings.Repeat("a", 8*2083-1-len("disallow: /x/"))
	tests := []struct {
		name, file, agent, path string
		standard, google        bool // whether it is allowed
	}{
		{"user agent with a space", "User agent: *\nDisallow: /", "x", "/", true, false},
		{"useragent", "useragent: *\nDisallow: /", "x", "/", true, false},
		{"user-agents", "User-agents: *\nDisallow: /", "x", "/", true, false},
		{"dissallow", "User-agent: *\nDissallow: /", "x", "/", true, false},
		{"dissalow", "User-agent: *\nDISSALOW: /", "x", "/", true, false},
		{"disalow", "User-agent: *\ndisalow: /", "x", "/", true, false},
		{"diasllow", "User-agent: *\nDiasllow: /", "x", "/", true, false},
		{"disallaw", "User-agent: *\nDisallaw: /", "x", "/", true, false},
		{"disallows", "User-agent: *\nDisallows: /", "x", "/", true, false},
		{"disallow with a word behind", "User-agent: *\nDisallow all: /", "x", "/", true, false},
		{"disallowed and allowed", "User-agent: *\nDisallow: /\nAllowed: /a", "x", "/a", false, true},
		{"alow is not known", "User-agent: *\nDisallow: /\nAlow: /a", "x", "/a", false, false},
		{"disllow is not known", "User-agent: *\nDisllow: /", "x", "/", true, true},
		{"no colon", "User-agent *\nDisallow /", "x", "/", true, false},
		{"no colon, a tab", "User-agent\t*\nDisallow \t /", "x", "/", true, false},
		{"no colon, three words", "User-agent: *\nDisallow / all", "x", "/", true, true},
		{"no colon, user agent", "User agent *\nDisallow: /", "x", "/", true, true},
		{"no space and no colon", "User-agent: *\nDisallow/", "x", "/", true, true},
		{"a misspelt agent ends the group", "User-agent: x\nDisallow: /a\nUser agent: y\nDisallow: /b", "x", "/b", false, true},
		{"index.html is its directory", "User-agent: *\nDisallow: /\nAllow: /index.html", "x", "/", false, true},
		{"index.html itself", "User-agent: *\nDisallow: /\nAllow: /a/index.html", "x", "/a/index.html", true, true},
		{"index.htm below", "User-agent: *\nDisallow: /\nAllow: /a/index.htm", "x", "/a/", false, true},
		{"index.html and nothing else", "User-agent: *\nDisallow: /\nAllow: /a/index.html", "x", "/a/b", false, false},
		{"index.html behind a longer rule", "User-agent: *\nDisallow: /a/\nAllow: /a/index.html", "x", "/a/", false, true},
		{"index.html that is forbidden", "User-agent: *\nDisallow: /index.html", "x", "/", true, true},
		{"index.php", "User-agent: *\nDisallow: /\nAllow: /index.php", "x", "/", false, false},
		{"unreserved and encoded", "User-agent: *\nDisallow: /%7Ejoe", "x", "/~joe", false, true},
		{"digits of encoding", "User-agent: *\nDisallow: /%e3%81%82", "x", "/%E3%81%82", false, false},
		{"beyond ASCII", "User-agent: *\nDisallow: /ä", "x", "/%C3%A4", false, false},
		{"encoded length decides", "User-agent: *\nDisallow: /%61b\nAllow: /?b", "x", "/%61b", false, false},
		{"part of a byte order mark", "\xEF\xBBUser-agent: *\nDisallow: /", "x", "/", true, false},
		{"byte order mark", "\xEF\xBB\xBFUser-agent: *\nDisallow: /", "x", "/", false, false},
		{"no byte order mark", "\xEF\xBB\xBEUser-agent: *\nDisallow: /", "x", "/", true, true},
		{"long line", "User-agent: *\ndisallow: " + long + "/qux", "x", long + "/fux", true, false},
		{"star and more", "User-agent: * all\nDisallow: /", "x", "/", false, false},
		{"star without a space", "User-agent: *all\nDisallow: /", "x", "/", true, true},
		{"NUL ends a line", "User-agent: *\nDisallow: /a\x00b", "x", "/ac", true, false},
		{"words behind an agent", "User-agent: *\nDisallow: /\n\nUser-agent: Foo Bar\nDisallow: /b", "foo", "/a", true, true},
		{"one group beside that of all", "User-agent: *\nUser-agent: foo\nDisallow: /", "foo", "/", false, false},
		{"empty rule of its own", "User-agent: *\nDisallow: /\n\nUser-agent: foo\nDisallow:", "foo", "/", true, true},
		{"no rule of its own", "User-agent: *\nDisallow: /\n\nUser-agent: foo\nCrawl-delay: 1", "foo", "/", true, true},
		{"other fields join groups", "User-agent: foo\nUnicorn: 1\nUser-agent: *\nDisallow: /", "foo", "/", false, false},
		{"own group of images", "User-agent: Googlebot-Image\nDisallow: /\n\nUser-agent: Googlebot\nAllow: /", "Googlebot-Image", "/", false, false},
		{"images without a group", "User-agent: *\nAllow: /\n\nUser-agent: Googlebot\nDisallow: /", "Googlebot-Image", "/", false, false},
		{"images are not the search", "User-agent: Googlebot-Image\nDisallow: /", "Googlebot", "/", true, true},
		{"news", "User-agent: Googlebot-News\nDisallow: /", "Googlebot", "/", true, true},
		{"advertising", "User-agent: *\nDisallow: /", "AdsBot-Google", "/", true, true},
		{"advertising by name", "User-agent: AdsBot-Google\nDisallow: /", "AdsBot-Google", "/", false, false},
		{"bingbot after its old name", "User-agent: msnbot\nDisallow: /\n\nUser-agent: *\nAllow: /", "bingbot", "/", false, false},
		{"bingbot by its own", "User-agent: msnbot\nDisallow: /\n\nUser-agent: bingbot\nAllow: /", "bingbot", "/", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.standard, parse([]byte(tt.file)).Match(tt.agent, tt.path).Allowed, "the standard")
			require.Equal(t, tt.google, robots.ParseAs([]byte(tt.file), robots.Google).Match(tt.agent, tt.path).Allowed, "Google")
		})
	}
}

// What a fault says about Google matches its parser.
func TestFaultsOfGoogle(t *testing.T) {
	for _, tt := range []struct{ file, standard, google string }{
		{"User agent: *\nDisallow: /", "", "1 2"},
		{"User-agent *\nDisallow /", "", "1 2"},
		{"useragent: *\ndisalow: /", "", "1 2"},
		{"User-agent: *\nDisallow / all\nDisllow: /", "2 3", ""},
		{"Disallow: /\nUser-agent: *\nSite-map: https://example.com/s.xml", "1", "3"},
	} {
		f := parse([]byte(tt.file))
		lines := map[bool][]string{}
		for _, fault := range f.Faults {
			lines[fault.Google] = append(lines[fault.Google], fmt.Sprint(fault.Line))
		}
		require.Equal(t, tt.standard, strings.Join(lines[false], " "), tt.file)
		require.Equal(t, tt.google, strings.Join(lines[true], " "), tt.file)
		require.Empty(t, robots.ParseAs([]byte(tt.file), robots.Google).Faults)
	}
}

func TestCrawlDelay(t *testing.T) {
	f := parse([]byte("User-agent: *\nCrawl-delay: 10\n\nUser-agent: bingbot\nDisallow: /x\n\nUser-agent: a\n" +
		"Crawl-delay: 2.5\nDisallow:\n\nUser-agent: b\nCrawl-delay: soon\nDisallow:\n\nUser-agent: c\nCrawl-delay: 1e9\n"))
	for agent, want := range map[string]time.Duration{"a": 2500 * time.Millisecond, "b": 10 * time.Second, "c": 10 * time.Second,
		"bingbot": 10 * time.Second, "other": 10 * time.Second} {
		require.Equal(t, want, f.CrawlDelay(agent), agent)
	}
	require.Zero(t, robots.AllowAll().CrawlDelay("a"))
}

func TestDirectives(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		agent, value, asked string
		list                string
		noindex, nofollow   bool
	}{
		{"", "noindex, nofollow", "", "noindex|nofollow", true, true},
		{"", "NONE", "", "none", true, true},
		{"", "all", "", "all", false, false},
		{"", "googlebot: noindex, nofollow", "googlebot", "googlebot: noindex|googlebot: nofollow", true, true},
		{"", "googlebot: noindex", "bingbot", "googlebot: noindex", false, false},
		{"", "googlebot: noindex", "", "googlebot: noindex", false, false},
		{"", "noindex, otherbot: nofollow", "otherbot", "noindex|otherbot: nofollow", true, true},
		{"", "max-snippet:20, max-image-preview: large", "", "max-snippet: 20|max-image-preview: large", false, false},
		{"", "unavailable_after: 25 Jun 2010 15:00:00 PST", "", "unavailable_after: 25 Jun 2010 15:00:00 PST", true, false},
		{"", "unavailable_after: Wed, 25 Nov 2026 15:00:00 GMT, nofollow", "", "unavailable_after: Wed, 25 Nov 2026 15:00:00 GMT|nofollow", false, true},
		{"", "googlebot: unavailable_after: 2020-01-01", "googlebot", "googlebot: unavailable_after: 2020-01-01", true, false},
		{"", "unavailable_after: soon, noindex", "", "unavailable_after: soon|noindex", true, false},
		{"bingbot", "noindex", "bingbot", "bingbot: noindex", true, false},
		{"", "no-index", "", "no-index", false, false},
		{"", ",, ;", "", "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			list := robots.ParseDirectives(tt.agent, tt.value)
			var texts []string
			for _, d := range list {
				texts = append(texts, d.String())
			}
			require.Equal(t, tt.list, strings.Join(texts, "|"))
			e := robots.Combine(list, tt.asked, now)
			require.Equal(t, tt.noindex, e.NoIndex)
			require.Equal(t, tt.nofollow, e.NoFollow)
		})
	}
	require.False(t, robots.Directive{Name: "no-index"}.Known())
	for value, want := range map[string]robots.Effect{
		"nosnippet": {NoSnippet: true}, "max-snippet: 0": {NoSnippet: true}, "max-snippet: -1, noarchive": {},
		"max-snippet:20, max-snippet:0":                                {NoSnippet: true},
		"unavailable_after: 2027-01-01, unavailable_after: 2026-12-01": {Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
	} {
		require.Equal(t, want, robots.Combine(robots.ParseDirectives("", value), "googlebot", now), value)
	}
	e := robots.Combine(robots.ParseDirectives("", "noindex, indexifembedded"), "googlebot", now)
	require.True(t, e.NoIndex && e.IndexEmbedded)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /%41"), "/a/b")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		file := parse(body)
		d := file.Match("x", path)
		for _, d := range []robots.Decision{d, robots.ParseAs(body, robots.Google).Match("x", path)} {
			if d.Rule == nil && !d.Allowed || d.Rule != nil && d.Rule.Allow != d.Allowed {
				t.Errorf("%+v", d)
			}
		}
		// What was read, written again, decides the same.
		var b strings.Builder
		for _, g := range file.Groups {
			for _, a := range g.Agents {
				fmt.Fprintln(&b, "User-agent:", a)
			}
			fmt.Fprintln(&b, "Disallow:")
			for _, r := range g.Rules {
				fmt.Fprintln(&b, r)
			}
		}
		if again := parse([]byte(b.String())).Match("x", path); len(b.String()) < robots.MaxBytes && again.Allowed != d.Allowed {
			t.Errorf("%q: %+v, again %+v", b.String(), d, again)
		}
	})
}

func FuzzDirectives(f *testing.F) {
	f.Add("googlebot: noindex, unavailable_after: Wed, 25 Nov 2026 15:00:00 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		all := robots.ParseDirectives("", value)
		e := robots.Combine(all, "googlebot", time.Time{})
		if (e.NoIndex || e.NoFollow) != (len(e.Why) > 0) {
			t.Errorf("%+v", e)
		}
		if strings.Contains(strings.ToLower(value), "noindex") || len(all) <= len(value)+1 {
			return
		}
		t.Errorf("%d directives from %d bytes", len(all), len(value))
	})
}

// parse reads a file as RFC 9309 has it.
func parse(body []byte) *robots.File { return robots.ParseAs(body, robots.Standard) }
