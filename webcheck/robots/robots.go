package robots

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// The bounds of a robots.txt.
const (
	// MaxBytes is how much of it is read, the least that a crawler must (RFC 9309 section 2.5).
	MaxBytes    = 500 << 10
	maxFaults   = 20
	maxSitemaps = 100
	maxAgents   = 5000 // user-agent lines
)

// A File is a robots.txt.
type File struct {
	Groups    []Group
	Sitemaps  []string
	Faults    []Fault // what crawlers ignore or read differently, the first few
	Truncated bool    // it is longer than [MaxBytes]
	All       Access  // how every path is treated, whatever the groups say
}

// Access is how a file treats all paths alike.
type Access int

const (
	ByRules       Access = iota // the groups say it
	allAllowed                  // there is no file
	AllDisallowed               // it is not known whether there is one
)

// AllowAll is the file of a site that has none (RFC 9309 section 2.3.1.3).
func AllowAll() *File { return &File{All: allAllowed} }

// DisallowAll is the file of a site whose file cannot be reached (RFC 9309 section 2.3.1.4).
func DisallowAll() *File { return &File{All: AllDisallowed} }

// A Group is rules for some crawlers.
type Group struct {
	Agents []string // product tokens in lower case; * stands for all
	Rules  []Rule
}

// A Rule allows or disallows paths.
type Rule struct {
	Allow   bool
	Path    string // as written
	Line    int    // from 1
	pattern string // normalised
}

// String writes the rule as it stands in a file.
func (r Rule) String() string {
	if r.Allow {
		return "Allow: " + r.Path
	}
	return "Disallow: " + r.Path
}

// A Fault is a line that is not as it should be.
type Fault struct {
	Line int // from 1
	Text string
}

// Parse reads a robots.txt. There is none that it cannot read: what is wrong is ignored, as crawlers do, and noted.
func Parse(body []byte) *File {
	p := parser{File: &File{}}
	if len(body) > MaxBytes {
		body, p.Truncated = body[:wholeLines(body, MaxBytes)], true
	}
	body = bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))
	for len(body) > 0 {
		p.line++
		end := bytes.IndexAny(body, "\r\n")
		if end < 0 {
			p.read(string(body))
			break
		}
		p.read(string(body[:end]))
		if body[end] == '\r' && end+1 < len(body) && body[end+1] == '\n' {
			end++
		}
		body = body[end+1:]
	}
	return p.File
}

// wholeLines is the length of the lines that end within a limit: what is left of a line that is cut would be another
// rule.
func wholeLines(body []byte, limit int) int {
	if body[limit] == '\n' || body[limit] == '\r' {
		return limit
	}
	return bytes.LastIndexAny(body[:limit], "\r\n") + 1
}

type parser struct {
	*File
	line   int
	agents int
	ruled  bool // the current group has rules, so that the next user-agent begins another
}

func (p *parser) fault(text string) {
	if len(p.Faults) < maxFaults {
		p.Faults = append(p.Faults, Fault{p.line, text})
	}
}

func (p *parser) read(line string) {
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, " \t\x00")
	if line == "" {
		return
	}
	if !utf8.ValidString(line) {
		p.fault("is not UTF-8")
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok { // Google reads white space as the colon that is missing
		if key, value, ok = strings.Cut(line, " "); ok && known(key) != "" {
			p.fault("has no colon after " + quote(key))
		} else {
			p.fault("is no field: it has no colon")
			return
		}
	}
	key, value = strings.Trim(key, " \t"), strings.Trim(value, " \t")
	switch field := known(key); field {
	case "user-agent":
		p.userAgent(value)
	case "allow", "disallow":
		p.rule(field == "allow", value)
	case "sitemap":
		if len(p.Sitemaps) < maxSitemaps {
			p.Sitemaps = append(p.Sitemaps, strings.ToValidUTF8(value, "\uFFFD"))
		}
	case "other":
	case "noindex":
		p.fault("has the field noindex, which crawlers ignore in robots.txt")
	default:
		if meant := mistyped[strings.ToLower(key)]; meant != "" {
			p.fault("has the field " + quote(key) + ", probably " + meant + ", which most crawlers ignore")
			return
		}
		p.fault("has the field " + quote(key) + ", which crawlers ignore")
	}
}

// known returns the field that a key names; other is for those that some crawlers know.
func known(key string) string {
	switch key = strings.ToLower(key); key {
	case "user-agent", "allow", "disallow", "sitemap", "noindex":
		return key
	case "crawl-delay", "host", "clean-param", "request-rate", "visit-time", "content-signal", "content-usage":
		return "other"
	}
	return ""
}

// mistyped are frequent misspellings.
var mistyped = map[string]string{
	"useragent": "User-agent", "user agent": "User-agent", "user_agent": "User-agent", "user-agents": "User-agent",
	"disalow": "Disallow", "dissallow": "Disallow", "dissalow": "Disallow", "disallaw": "Disallow",
	"diasllow": "Disallow", "disallows": "Disallow", "alow": "Allow", "allows": "Allow", "site-map": "Sitemap",
	"sitemaps": "Sitemap",
}

func (p *parser) userAgent(value string) {
	if n := len(p.Groups); n == 0 || p.ruled {
		p.Groups = append(p.Groups, Group{})
		p.ruled = false
	}
	token := Token(value)
	switch {
	case value == "*" || strings.HasPrefix(value, "* "):
		token = "*"
	case token == "":
		p.fault("names no crawler: " + quote(value) + " does not begin with a product token")
		token = "\x00" // a group that is for nobody
	}
	if p.agents++; p.agents > maxAgents {
		return
	}
	g := &p.Groups[len(p.Groups)-1]
	g.Agents = append(g.Agents, token)
}

// Token returns the product token that a name begins with, in lower case (RFC 9309 section 2.2.1).
func Token(name string) string {
	end := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	})
	if end >= 0 {
		name = name[:end]
	}
	return strings.ToLower(name)
}

func (p *parser) rule(allow bool, path string) {
	if len(p.Groups) == 0 {
		p.fault("has a rule before the first User-agent, which crawlers ignore")
		return
	}
	p.ruled = true
	if path == "" { // RFC 9309 section 2.2.2: it matches nothing
		return
	}
	if path[0] != '/' && path[0] != '*' && path[0] != '$' {
		p.fault("has the path " + quote(path) + ", which matches nothing because it does not begin with /")
	}
	g := &p.Groups[len(p.Groups)-1]
	g.Rules = append(g.Rules, Rule{allow, strings.ToValidUTF8(path, "\uFFFD"), p.line, normalise(path)})
}

func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return "\"" + strings.ToValidUTF8(s, "\uFFFD") + "\""
}
