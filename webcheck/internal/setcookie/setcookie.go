package setcookie

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
)

// The bounds of a cookie (RFC 6265bis sections 5.6 and 5.7).
const (
	MaxPair      = 4096 // bytes of name and value
	MaxAttribute = 1024 // bytes of the value of an attribute
	maxAge       = 400 * 24 * time.Hour
)

// A Cookie is one Set-Cookie field as browsers read it.
type Cookie struct {
	Name, Value string
	Domain      string // in lower case, without a first dot; empty if absent
	Path        string // empty if absent or invalid
	Expires     *time.Time
	MaxAge      *int64 // in seconds
	Secure      bool
	HTTPOnly    bool
	SameSite    string // Strict, Lax or None; empty if absent or unknown
	Partitioned bool

	RawSameSite string    // as written, also if it is not known
	Ignored     []Ignored // attributes without effect, but for those of old or single browsers
}

// An Ignored is an attribute that browsers do not take, and why.
type Ignored struct{ Text, Why string }

// Parse reads the value of a Set-Cookie field (RFC 6265bis section 5.6). It reports false if browsers ignore
// the whole of it: because of a control character, because name and value are empty or too long.
func Parse(line string) (Cookie, bool) {
	var c Cookie
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) {
		return c, false
	}
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		name, value = "", pair
	}
	c.Name, c.Value = trim(name), trim(value)
	if n := len(c.Name) + len(c.Value); n == 0 || n > MaxPair {
		return c, false
	}
	for av := range strings.SplitSeq(attributes, ";") {
		name, value, _ := strings.Cut(av, "=")
		if name, value = trim(name), trim(value); len(value) > MaxAttribute {
			c.ignore(av, fmt.Sprintf("is longer than %d bytes", MaxAttribute))
		} else if name != "" || value != "" {
			c.attribute(av, name, value)
		}
	}
	return c, true
}

// maxIgnored bounds the ignored attributes that are reported.
const maxIgnored = 10

func (c *Cookie) ignore(attribute, why string) {
	if len(c.Ignored) < maxIgnored {
		c.Ignored = append(c.Ignored, Ignored{trim(attribute), why})
	}
}

func trim(s string) string { return strings.Trim(s, " \t") }

// attribute takes one attribute; of several of a name the last counts.
func (c *Cookie) attribute(whole, name, value string) {
	switch strings.ToLower(name) {
	case "expires":
		if t, ok := parseDate(value); ok {
			c.Expires = &t
		} else if value != "" && value != "0" && !strings.EqualFold(value, "session") { // no date, as it was meant
			c.ignore(whole, "is not a date")
		}
	case "max-age":
		if n, ok := parseAge(value); ok {
			c.MaxAge = &n
		} else if value != "" {
			c.ignore(whole, "is not a whole number of seconds")
		}
	case "domain":
		c.Domain = strings.ToLower(strings.TrimPrefix(value, "."))
	case "path":
		c.Path = ""
		if strings.HasPrefix(value, "/") {
			c.Path = value
		} else if value != "" {
			c.ignore(whole, "does not begin with a slash")
		}
	case "secure":
		c.Secure = true
	case "httponly":
		c.HTTPOnly = true
	case "samesite":
		c.RawSameSite = value
		c.SameSite = map[string]string{"strict": "Strict", "lax": "Lax", "none": "None"}[strings.ToLower(value)]
	case "partitioned":
		c.Partitioned = true
	default:
		if meant := meantAttribute(name); meant != "" {
			c.ignore(whole, "is not an attribute; "+meant+" was probably meant")
		}
	}
}

// attributes are those that browsers know, and their letters.
var attributes = [][2]string{{"Expires", "expires"}, {"Max-Age", "maxage"}, {"Domain", "domain"}, {"Path", "path"},
	{"Secure", "secure"}, {"HttpOnly", "httponly"}, {"SameSite", "samesite"}, {"Partitioned", "partitioned"}}

// meantAttribute returns the attribute that was probably meant by a name that browsers do not know; empty if none is
// close.
func meantAttribute(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), ":")
	letters := strings.NewReplacer("-", "", "_", "", " ", "").Replace(name)
	for _, a := range attributes {
		if letters == a[1] || len(a[1]) > 4 && phrase.Distance(letters, a[1]) == 1 ||
			a[1] == "samesite" && (letters == "samesitelax" || letters == "samesitestrict" || letters == "samesitenone") {
			return a[0]
		}
	}
	return ""
}

// parseAge is RFC 6265bis section 5.6.2.
func parseAge(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // too large a number
		n = int64(maxAge / time.Second)
		if digits != s {
			n = -1
		}
	}
	return n, true
}

// String writes the cookie as the value of a Set-Cookie field.
func (c *Cookie) String() string {
	parts := []string{c.Name + "=" + c.Value}
	if c.Name == "" && !strings.Contains(c.Value, "=") {
		parts[0] = c.Value
	}
	if c.Domain != "" {
		parts = append(parts, "Domain="+strings.Repeat(".", len(c.Domain)-len(strings.TrimPrefix(c.Domain, ".")))+c.Domain)
	}
	if c.Path != "" {
		parts = append(parts, "Path="+c.Path)
	}
	if c.MaxAge != nil {
		parts = append(parts, "Max-Age="+strconv.FormatInt(*c.MaxAge, 10))
	}
	if c.Expires != nil {
		parts = append(parts, "Expires="+c.Expires.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	}
	for _, flag := range []struct {
		set  bool
		text string
	}{{c.Secure, "Secure"}, {c.HTTPOnly, "HttpOnly"}, {c.SameSite != "", "SameSite=" + c.SameSite},
		{c.Partitioned, "Partitioned"}} {
		if flag.set {
			parts = append(parts, flag.text)
		}
	}
	return strings.Join(parts, "; ")
}

// Removes reports whether the field removes a cookie rather than to set one.
func (c *Cookie) Removes(now time.Time) bool {
	if c.MaxAge != nil {
		return *c.MaxAge <= 0
	}
	return c.Expires != nil && !c.Expires.After(now)
}

// A Prefix is the promise that the beginning of a cookie's name makes (RFC 6265bis section 4.1.3).
type Prefix string

// The prefixes, which browsers compare without regard to case.
const (
	NoPrefix   Prefix = ""
	secureName Prefix = "__Secure-"
	HostName   Prefix = "__Host-"
	HTTPName   Prefix = "__Http-"
	HostHTTP   Prefix = "__Host-Http-"
)

// Prefix returns the prefix of the cookie's name.
func (c *Cookie) Prefix() Prefix { return PrefixOf(c.Name) }

// PrefixOf returns the prefix with which a text begins.
func PrefixOf(text string) Prefix {
	for _, p := range []Prefix{HostHTTP, HostName, HTTPName, secureName} {
		if len(text) >= len(p) && strings.EqualFold(text[:len(p)], string(p)) {
			return p
		}
	}
	return NoPrefix
}

// BrokenPromises lists what the prefix of the name promises and the attributes do not keep, so that browsers
// refuse the cookie.
func (c *Cookie) BrokenPromises() []string {
	prefix := c.Prefix()
	if prefix == NoPrefix {
		return nil
	}
	var broken []string
	add := func(is bool, what string) {
		if is {
			broken = append(broken, what)
		}
	}
	add(!c.Secure, "it lacks Secure")
	add((prefix == HTTPName || prefix == HostHTTP) && !c.HTTPOnly, "it lacks HttpOnly")
	if prefix == HostName || prefix == HostHTTP {
		add(c.Domain != "", "it has the Domain "+c.Domain)
		add(c.Path != "/", "its Path is not /")
	}
	return broken
}

// parseDate reads a date as browsers read it in cookies: the parts in any order, whatever is between them
// (RFC 6265bis section 5.1.1).
func parseDate(s string) (time.Time, bool) {
	var clock [3]int
	day, month, year := -1, 0, -1
	gotClock := false
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r < 0x80 && isDelimiter(byte(r)) }) {
		if !gotClock {
			if t, ok := clockOf(word); ok {
				clock, gotClock = t, true
				continue
			}
		}
		if n, ok := number(word, 1, 2); ok && day < 0 {
			day = n
			continue
		}
		if m := monthOf(word); m > 0 && month == 0 {
			month = m
			continue
		}
		if n, ok := number(word, 2, 4); ok && year < 0 {
			year = n
		}
	}
	switch {
	case year >= 70 && year <= 99:
		year += 1900
	case year >= 0 && year <= 69:
		year += 2000
	}
	if !gotClock || month == 0 || day < 1 || day > 31 || year < 1601 || clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, clock[0], clock[1], clock[2], 0, time.UTC)
	return t, t.Day() == day
}

func isDelimiter(c byte) bool {
	return c == '\t' || c >= 0x20 && c <= 0x2F || c >= 0x3B && c <= 0x40 || c >= 0x5B && c <= 0x60 ||
		c >= 0x7B && c <= 0x7E
}

// number reads the digits at the beginning of a word, if there are so many and none follows.
func number(word string, least, most int) (int, bool) {
	n, digits := 0, 0
	for digits < len(word) && word[digits] >= '0' && word[digits] <= '9' {
		if digits == most {
			return 0, false
		}
		n = 10*n + int(word[digits]-'0')
		digits++
	}
	return n, digits >= least
}

func clockOf(word string) (t [3]int, ok bool) {
	parts := strings.SplitN(word, ":", 3)
	if len(parts) != 3 {
		return t, false
	}
	for i, p := range parts {
		if t[i], ok = number(p, 1, 2); !ok || i < 2 && strings.Trim(p, "0123456789") != "" {
			return t, false
		}
	}
	return t, true
}

func monthOf(word string) int {
	if len(word) < 3 {
		return 0
	}
	i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(word[:3]))
	if i < 0 || i%3 != 0 {
		return 0
	}
	return i/3 + 1
}
