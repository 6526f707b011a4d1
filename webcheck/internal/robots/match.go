package robots

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Decision says whether a crawler may fetch a path, and why.
type Decision struct {
	Allowed bool
	Rule    *Rule  // that decided; nil if none matched
	Agent   string // of the group that was followed, * for that of all; empty if none was
}

// Match decides for a crawler, named by its product token, and a path with its query, as in a request.
func (f *File) Match(agent, path string) Decision {
	if f.All != ByRules {
		return Decision{Allowed: f.All == allAllowed}
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	name := f.agent(Token(agent))
	d := Decision{Allowed: true, Agent: name}
	if p, _, _ := strings.Cut(path, "?"); name == "" || p == "/robots.txt" { // RFC 9309 section 2.2.2
		return d
	}
	path = f.Dialect.normalise(path)
	longest := 0
	for i := range f.Groups {
		if !slices.Contains(f.Groups[i].Agents, name) {
			continue
		}
		for j := range f.Groups[i].Rules {
			r := &f.Groups[i].Rules[j]
			n := r.octets(path)
			if n > longest || n > 0 && n == longest && r.Allow && !d.Allowed {
				longest, d.Rule, d.Allowed = n, r, r.Allow
			}
		}
	}
	return d
}

// octets is the length of the pattern by which a rule matches a path, 0 if it does not: the longest counts.
func (r *Rule) octets(path string) int {
	switch {
	case matches(r.pattern, path):
		return len(r.pattern)
	case r.directory != "" && matches(r.directory, path):
		return len(r.directory)
	}
	return 0
}

// families are the tokens whose groups a crawler follows without one of its own, before that of all (Google
// Search Central, Google crawlers; Bing Webmaster Blog, September 2010).
var families = map[string][]string{
	"googlebot-image": {"googlebot"}, "googlebot-news": {"googlebot"}, "googlebot-video": {"googlebot"},
	"google-inspectiontool": {"googlebot"}, "googleother-image": {"googleother"}, "googleother-video": {"googleother"},
	"bingbot": {"msnbot"},
}

// ignoreAll are crawlers of advertisers on a site, which do not follow the group of all (Google Search Central, Google
// special-case crawlers).
var ignoreAll = map[string]bool{"adsbot-google": true, "adsbot-google-mobile": true, "mediapartners-google": true}

// agent returns the name of the groups that a crawler follows; empty if there are none for it.
func (f *File) agent(token string) string {
	names := append([]string{token}, families[token]...)
	if !ignoreAll[token] {
		names = append(names, "*")
	}
	for _, name := range names {
		if name != "" && f.Names(name) {
			return name
		}
	}
	return ""
}

// Names reports whether there is a group for a product token in lower case, or with * for all.
func (f *File) Names(token string) bool {
	return slices.ContainsFunc(f.Groups, func(g Group) bool { return slices.Contains(g.Agents, token) })
}

// CrawlDelay is how long a crawler is asked to wait between requests: what its own groups say, else those of all. It
// is 0 if nothing is said. Bing follows it, and takes that of all also where it has rules of its own; Google does not.
func (f *File) CrawlDelay(agent string) (longest time.Duration) {
	for _, name := range []string{f.agent(Token(agent)), "*"} {
		for _, g := range f.Groups {
			if slices.Contains(g.Agents, name) {
				longest = max(longest, g.CrawlDelay)
			}
		}
		if longest > 0 {
			break
		}
	}
	return longest
}

// matches reports whether a pattern matches the beginning of a path, or all of it if it ends with $.
func matches(pattern, path string) bool {
	toEnd := strings.HasSuffix(pattern, "$")
	pattern = strings.TrimSuffix(pattern, "$")
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(path, first) {
		return false
	}
	path = path[len(first):]
	for star {
		var piece string
		piece, rest, star = strings.Cut(rest, "*")
		if !star && toEnd {
			return strings.HasSuffix(path, piece)
		}
		i := strings.Index(path, piece)
		if i < 0 {
			return false
		}
		path = path[i+len(piece):]
	}
	return !toEnd || path == ""
}

// normalize brings a path into the form in which paths are compared: bytes beyond ASCII encoded, what
// needs no encoding decoded, hexadecimal digits in capitals (RFC 9309 section 2.2.2). Encoded * and $
// stay as they are, apart from those with a meaning. Google decodes nothing.
func (dialect Dialect) normalise(path string) string {
	const digits = "0123456789ABCDEF"
	if !strings.ContainsFunc(path, func(c rune) bool { return c == '%' || c >= 0x80 || c <= ' ' }) {
		return path
	}
	b := make([]byte, 0, len(path)+8)
	for i := 0; i < len(path); i++ {
		c := path[i]
		encoded := c >= 0x80 || c <= ' ' && dialect == Standard
		if c == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				c, encoded = byte(n), dialect == Google || !unreserved(byte(n))
				i += 2
			}
		}
		if encoded {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// unreserved is RFC 3986 section 2.3.
func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// A Directive is one instruction about a page, such as noindex, and for whom it is.
type Directive struct {
	Agent string // product token in lower case; empty: for all crawlers
	Name  string // in lower case, such as "max-snippet"
	Value string // such as "20"; empty if it has none
}

// String writes the directive as in an X-Robots-Tag field.
func (d Directive) String() string {
	s := d.Name
	if d.Value != "" {
		s += ": " + d.Value
	}
	if d.Agent != "" {
		s = d.Agent + ": " + s
	}
	return s
}

// Known reports whether crawlers know the directive: those of Google, Bing and their like.
func (d Directive) Known() bool {
	return slices.Contains(plain, d.Name) || slices.Contains(valued, d.Name)
}

// The directives that crawlers know.
var (
	plain = []string{"all", "follow", "index", "indexifembedded", "noai", "noarchive", "nocache", "nofollow",
		"noimageai", "noimageindex", "noindex", "none", "noodp", "nopagereadaloud", "nositelinkssearchbox", "nosnippet",
		"notranslate", "noydir"}
	valued = []string{"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"}
)

// maxDirectives bounds what is read of one value.
const maxDirectives = 100

// ParseDirectives reads the value of an X-Robots-Tag field, in which a crawler may be named, or the content
// of a meta element, for which the agent is that of its name: empty for robots.
func ParseDirectives(agent, value string) []Directive {
	list := []Directive{}
	pieces := strings.Split(value, ",")
	for i := 0; i < len(pieces) && len(list) < maxDirectives; i++ {
		piece := strings.Trim(pieces[i], " \t\r\n;")
		name, rest, hasValue := strings.Cut(piece, ":")
		name = strings.ToLower(strings.Trim(name, " \t"))
		for hasValue && !slices.Contains(valued, name) && Token(name) == name && name != "" { // it names a crawler
			agent, piece = name, strings.Trim(rest, " \t")
			name, rest, hasValue = strings.Cut(piece, ":")
			name = strings.ToLower(strings.Trim(name, " \t"))
		}
		if name == "" {
			continue
		}
		d := Directive{agent, clip(name), strings.Trim(rest, " \t")}
		if d.Name == "unavailable_after" { // a date may have a comma
			for _, ok := date(d.Value); !ok && i+1 < len(pieces); _, ok = date(d.Value) {
				if (Directive{Name: strings.ToLower(strings.Trim(pieces[i+1], " \t"))}).Known() {
					break
				}
				i++
				d.Value += "," + pieces[i]
			}
		}
		d.Value = clip(d.Value)
		list = append(list, d)
	}
	return list
}

func clip(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// layouts are the forms in which dates of unavailable_after are written: RFC 822, RFC 850 and ISO 8601.
var layouts = []string{time.RFC3339, time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.DateTime,
	time.DateOnly, "02 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 MST", "02 Jan 2006 15:04:05 -0700",
	"2006-01-02T15:04:05", "2 Jan 2006", "02-Jan-2006 15:04:05 MST", "Monday, 02-Jan-2006 15:04:05 MST",
	"2006-01-02 15:04:05 MST"}

func date(s string) (time.Time, bool) {
	s = strings.Join(strings.Fields(s), " ")
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// An Effect is the combined result of directives for one crawler.
type Effect struct {
	NoIndex, NoFollow bool
	NoSnippet         bool // results show no text of the page: nosnippet, or max-snippet of 0
	IndexEmbedded     bool // a page that embeds this one may be indexed with its content, although NoIndex
	// Until is when the page leaves the index by unavailable_after, in the future; zero if it stays.
	Until   time.Time
	BadDate bool // a date of unavailable_after cannot be read
	// Why holds the directives that forbid indexing or following.
	Why []Directive
}

// Combine returns what directives come to for a crawler, named by its product token; an empty one follows
// those for all only. Where several contradict each other, the one that forbids more counts.
func Combine(list []Directive, agent string, now time.Time) Effect {
	var e Effect
	agent = Token(agent)
	for _, d := range list {
		if d.Agent != "" && d.Agent != agent {
			continue
		}
		before := [2]bool{e.NoIndex, e.NoFollow}
		e.add(d, now)
		if before != [2]bool{e.NoIndex, e.NoFollow} {
			e.Why = append(e.Why, d)
		}
	}
	return e
}

func (e *Effect) add(d Directive, now time.Time) {
	switch d.Name {
	case "none":
		e.NoIndex, e.NoFollow = true, true
	case "noindex":
		e.NoIndex = true
	case "nofollow":
		e.NoFollow = true
	case "nosnippet":
		e.NoSnippet = true
	case "max-snippet":
		e.NoSnippet = e.NoSnippet || d.Value == "0"
	case "indexifembedded":
		e.IndexEmbedded = true
	case "unavailable_after":
		t, ok := date(d.Value)
		if !ok {
			e.BadDate = true
			return
		}
		e.NoIndex = e.NoIndex || !now.Before(t)
		if now.Before(t) && (e.Until.IsZero() || t.Before(e.Until)) {
			e.Until = t
		}
	}
}
