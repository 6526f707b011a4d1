package robots

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The bounds of a robots.txt.
const (
	// MaxBytes is how much of it is read, the least that a crawler must (RFC 9309 section 2.5), and the most that
	// Google does.
	MaxBytes    = 500 << 10
	maxFaults   = 20
	maxSitemaps = 100
	maxAgents   = 5000 // user-agent lines
	// maxGoogleLine is how many bytes of a line Google reads: eight times the longest URL of a browser, less one.
	maxGoogleLine = 8*2083 - 1
)

// A Dialect is how a crawler reads the lines of a robots.txt.
type Dialect int

// The dialects.
const (
	Standard Dialect = iota // as RFC 9309 says
	// Google is the parser of Google's crawlers (github.com/google/robotstxt): it reads frequent misspellings as what
	// was meant, and white space for a missing colon; only the beginning of a field's name counts; to allow
	// index.html is to allow its directory; percent-encoded characters are not decoded.
	Google
)

// A File is a robots.txt.
type File struct {
	Groups    []Group
	Sitemaps  []string
	Faults    []Fault // lines with mistakes, the first few; of [Standard] only
	Truncated bool    // it is longer than [MaxBytes]
	All       Access  // how every path is treated, whatever the groups say
	Dialect   Dialect // in which it was read
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
	Agents     []string // product tokens in lower case; * matches all
	Rules      []Rule
	CrawlDelay time.Duration // between requests, for those crawlers that know it, such as Bing's; 0: none is stated
}

// A Rule allows or disallows paths.
type Rule struct {
	Allow     bool
	Path      string // as written
	Line      int    // from 1
	pattern   string // normalized
	directory string // pattern of the directory that is allowed with its index.html; empty without one
}

// String writes the rule as written in a file.
func (r Rule) String() string {
	if r.Allow {
		return "Allow: " + r.Path
	}
	return "Disallow: " + r.Path
}

// A Fault is a line that is not as it should be.
type Fault struct {
	Line   int    // from 1
	Text   string // what is wrong with it, as a clause
	Google bool   // Google reads it as it was meant; crawlers that follow the standard ignore it
}

// ParseAs reads a robots.txt as the crawlers of a dialect do. Nothing is refused: what is malformed is ignored, as
// crawlers ignore it, and listed in Faults.
func ParseAs(body []byte, d Dialect) *File {
	p := parser{File: &File{Dialect: d}}
	if len(body) > MaxBytes {
		body, p.Truncated = body[:wholeLines(body, MaxBytes)], true
	}
	body = trimBOM(body, d)
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

// trimBOM removes a byte order mark; for Google also the beginning of one.
func trimBOM(body []byte, d Dialect) []byte {
	const mark = "\xEF\xBB\xBF"
	for n := len(mark); n > 0; n-- {
		if bytes.HasPrefix(body, []byte(mark[:n])) {
			return body[n:]
		}
		if d != Google {
			break
		}
	}
	return body
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
	line        int
	agents      int
	ruled       bool // the current group has rules, so that the next user-agent begins another
	googleGroup bool // Google has seen a user-agent line
}

func (p *parser) fault(text string) { p.note(Fault{Line: p.line, Text: text}) }

func (p *parser) note(f Fault) {
	if p.Dialect == Standard && len(p.Faults) < maxFaults {
		p.Faults = append(p.Faults, f)
	}
}

func (p *parser) read(line string) {
	if p.Dialect == Google {
		if field, _, value := googleLine(line); field != "" {
			p.record(field, value)
		}
		return
	}
	text, _, _ := strings.Cut(line, "#")
	text = strings.Trim(text, " \t\x00")
	if text == "" {
		return
	}
	if !utf8.ValidString(text) {
		p.fault("is not UTF-8")
	}
	key, value, ok := strings.Cut(text, ":")
	key, value = strings.Trim(key, " \t"), strings.Trim(value, " \t")
	if field := known(key); ok && field != "" {
		p.record(field, value)
		p.googleGroup = p.googleGroup || field == "user-agent"
		return
	}
	p.unknown(line, key, ok)
}

// unknown notes a line that the standard does not know, and whether Google does.
func (p *parser) unknown(line, key string, colon bool) {
	field, written, _ := googleLine(line)
	const alone = ", and other crawlers ignore it"
	switch probably := mistyped[strings.ToLower(key)]; {
	case field != "" && !colon:
		p.note(Fault{p.line, "has no colon after " + quote(written) + ": Google reads it anyway" + alone, true})
	case field != "":
		p.note(Fault{p.line, "has the field " + quote(key) + ": Google reads it as " + usual[field] + alone, true})
	case !colon:
		p.fault("is not a rule: it has no colon")
	case probably != "":
		p.fault("has the field " + quote(key) + ", probably " + probably + ", which crawlers ignore")
	default:
		p.fault("has the field " + quote(key) + ", which crawlers ignore")
	}
	p.googleGroup = p.googleGroup || field == "user-agent"
}

// usual are the fields that mean something to Google, as they are usually written.
var usual = map[string]string{
	"user-agent": "User-agent", "allow": "Allow", "disallow": "Disallow", "sitemap": "Sitemap",
}

// record takes a line whose field is known.
func (p *parser) record(field, value string) {
	switch field {
	case "user-agent":
		p.userAgent(value)
	case "allow", "disallow":
		p.rule(field == "allow", value)
	case "sitemap":
		if len(p.Sitemaps) < maxSitemaps {
			p.Sitemaps = append(p.Sitemaps, strings.ToValidUTF8(value, "\uFFFD"))
		}
	case "crawl-delay":
		seconds, err := strconv.ParseFloat(value, 64)
		if n := len(p.Groups); n > 0 && err == nil && seconds > 0 && seconds <= maxDelay {
			p.Groups[n-1].CrawlDelay = time.Duration(seconds * float64(time.Second))
		}
	case "noindex":
		p.fault("has the field noindex, which crawlers ignore in robots.txt")
	}
}

// maxDelay is the longest Crawl-delay that is taken seriously, in seconds: a day.
const maxDelay = 24 * 60 * 60

// known returns the field of the standard that a key names, or one that some crawlers know beside it.
func known(key string) string {
	switch key = strings.ToLower(key); key {
	case "user-agent", "allow", "disallow", "sitemap", "noindex", "crawl-delay", "host", "clean-param", "request-rate",
		"visit-time", "content-signal", "content-usage":
		return key
	}
	return ""
}

// googleLine splits a line as Google does. The field is one of those that mean something to it, or empty; the key is
// as written.
func googleLine(line string) (field, key, value string) {
	line, _, _ = strings.Cut(line[:min(len(line), maxGoogleLine)], "\x00")
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, googleSpace)
	key, value, ok := strings.Cut(line, ":")
	if !ok { // exactly two words
		i := strings.IndexAny(line, " \t")
		if i < 0 || strings.ContainsAny(strings.TrimLeft(line[i:], " \t"), " \t") {
			return "", "", ""
		}
		key, value = line[:i], line[i:]
	}
	key, value = strings.Trim(key, googleSpace), strings.Trim(value, googleSpace)
	lower := strings.ToLower(key)
	for _, f := range googleFields {
		if strings.HasPrefix(lower, f.prefix) {
			return f.field, key, value
		}
	}
	return "", key, value
}

// googleSpace is the white space that Google removes.
const googleSpace = " \t\n\v\f\r"

// googleFields are the beginnings of names that Google knows, misspelt ones too.
var googleFields = []struct{ prefix, field string }{
	{"user-agent", "user-agent"}, {"useragent", "user-agent"}, {"user agent", "user-agent"},
	{"allow", "allow"},
	{"disallow", "disallow"}, {"dissallow", "disallow"}, {"dissalow", "disallow"}, {"disalow", "disallow"},
	{"diasllow", "disallow"}, {"disallaw", "disallow"},
	{"sitemap", "sitemap"}, {"site-map", "sitemap"},
}

// mistyped are frequent misspellings that Google does not know either.
var mistyped = map[string]string{
	"user_agent": "User-agent", "user–agent": "User-agent", "agent": "User-agent", "usser-agent": "User-agent",
	"dissalllow": "Disallow", "disllow": "Disallow", "dis-allow": "Disallow", "deny": "Disallow", "alow": "Allow",
	"site map": "Sitemap",
}

func (p *parser) userAgent(value string) {
	if n := len(p.Groups); n == 0 || p.ruled {
		p.Groups = append(p.Groups, Group{})
		p.ruled = false
	}
	token := Token(value)
	switch {
	case value == "*" || len(value) > 1 && value[0] == '*' && strings.IndexByte(googleSpace, value[1]) >= 0:
		token = "*"
	case token == "":
		p.fault("names no crawler: " + quote(value) + " does not begin with a product token")
		token = "\x00" // a group for no crawler
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
	switch {
	case len(p.Groups) > 0:
	case p.googleGroup:
		p.note(Fault{p.line, "has a rule before any User-agent that other crawlers than Google know, which they ignore",
			true})
		return
	default:
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
	r := Rule{Allow: allow, Path: strings.ToValidUTF8(path, "\uFFFD"), Line: p.line}
	r.pattern = p.Dialect.normalise(path)
	if i := strings.LastIndexByte(r.pattern, '/'); allow && p.Dialect == Google && i >= 0 &&
		strings.HasPrefix(r.pattern[i:], "/index.htm") {
		r.directory = r.pattern[:i+1] + "$"
	}
	g := &p.Groups[len(p.Groups)-1]
	g.Rules = append(g.Rules, r)
}

func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return "\"" + strings.ToValidUTF8(s, "\uFFFD") + "\""
}
