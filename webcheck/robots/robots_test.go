package robots_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/webcheck/robots"
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
		{"no colon", "User-agent *\nDisallow /", "x", "/", false, "Disallow: /"},
		{"no slash", "User-agent: *\nDisallow: a", "x", "/a", true, ""},
		{"mistyped", "User-agent: *\nDisalow: /", "x", "/", true, ""},
		{"agent that is none", "User-agent: *\nAllow: /\nUser-agent: 1x\nDisallow: /", "", "/", true, "Allow: /"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := robots.Parse([]byte(tt.file)).Match(tt.agent, tt.path)
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
	f := robots.Parse([]byte("<html>\nDisallow: /\nUser-agent: *\nDisallow: a\nNoindex: /\nDissallow: /\nFoo: 1\nSitemap: https://example.com/s.xml\n"))
	var got []string
	for _, fault := range f.Faults {
		got = append(got, fmt.Sprint(fault.Line, " ", fault.Text))
	}
	require.Equal(t, []string{
		"1 is no field: it has no colon", "2 has a rule before the first User-agent, which crawlers ignore",
		`4 has the path "a", which matches nothing because it does not begin with /`,
		"5 has the field noindex, which crawlers ignore in robots.txt",
		`6 has the field "Dissallow", probably Disallow, which most crawlers ignore`, `7 has the field "Foo", which crawlers ignore`,
	}, got)
	require.Equal(t, []string{"https://example.com/s.xml"}, f.Sitemaps)

	long := robots.Parse([]byte("User-agent: *\nDisallow: /1\n" + strings.Repeat("#\n", robots.MaxBytes) + "Disallow: /2"))
	require.True(t, long.Truncated)
	require.False(t, long.Match("x", "/1").Allowed)
	require.True(t, long.Match("x", "/2").Allowed)

	head := "User-agent: *\nDisallow: /x\n#"
	cut := head + strings.Repeat("-", robots.MaxBytes-len(head)-len("\nDisallow: /")) + "\nDisallow: /y/*/z$\n"
	f = robots.Parse([]byte(cut))
	require.True(t, f.Match("x", "/").Allowed, "a line that is cut at the limit is no rule")
	require.False(t, f.Match("x", "/x").Allowed)
	whole := strings.Replace(cut, "\nDisallow: /y", "\nDisallow: /\ny", 1)
	require.False(t, robots.Parse([]byte(whole)).Match("x", "/").Allowed, "it ends at the limit")
	require.Empty(t, robots.Parse([]byte(strings.Repeat("x", robots.MaxBytes+1))).Faults)
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
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /%41"), "/a/b")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		file := robots.Parse(body)
		d := file.Match("x", path)
		if d.Rule == nil && !d.Allowed || d.Rule != nil && d.Rule.Allow != d.Allowed {
			t.Errorf("%+v", d)
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
		if again := robots.Parse([]byte(b.String())).Match("x", path); len(b.String()) < robots.MaxBytes && again.Allowed != d.Allowed {
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
