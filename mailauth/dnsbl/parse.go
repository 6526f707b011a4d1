package dnsbl

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// listsText is the built-in file of lists. Its form, source and date stand in it.
//
//go:embed data/dnsbl.txt
var listsText string

// File is the name of the file of lists among those that an operator may replace, see [diag.List].
const File = "dnsbl.txt"

// Lists returns the built-in lists. They must not be changed.
func Lists() []*List { return builtIn() }

// BuiltIn returns the built-in file of lists, to be changed and used as [File].
func BuiltIn() []byte { return []byte(listsText) }

var builtIn = sync.OnceValue(func() []*List {
	lists, err := ParseLists([]byte(listsText))
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return lists
})

// Bounds of a file of lists: what can be asked at once, and what a report has room for.
const (
	maxLists     = 200
	maxFile      = 1 << 20
	maxCodes     = 64
	maxID        = 40
	maxName      = 28 // a headline has room for one
	maxText      = 200
	maxRateCount = 1_000_000
)

// What stands in zones and addresses for what is put in.
const (
	keyMark = "{key}"
	ipMark  = "{ip}"
)

// ParseLists reads a file of lists, such as the file [File] that replaces the built-in one: paragraphs, each of
// which begins with the id of a list, followed by lines of a key and a value. The error names the line.
func ParseLists(data []byte) ([]*List, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("more than %d bytes", maxFile)
	}
	p := parser{lists: []*List{}, seen: map[string]bool{}}
	for line := range strings.Lines(string(data) + "\n\n") {
		p.number++
		if err := p.line(strings.TrimRight(line, " \t\r\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.number, err)
		}
	}
	if len(p.lists) == 0 {
		return nil, errors.New("there is no list")
	}
	return p.lists, nil
}

// A parser reads a file of lists line by line.
type parser struct {
	number int
	list   *List
	lists  []*List
	seen   map[string]bool // ids, names and zones, and the keys of the present paragraph
}

// theKey is what an error calls the key of a line.
const theKey = "the key"

func (p *parser) line(line string) error {
	switch {
	case strings.HasPrefix(line, "#"):
		return nil
	case line == "":
		return p.end()
	case p.list == nil:
		if !isID(line) {
			return fmt.Errorf("%.50q is no id: 1 to %d lower-case letters, digits and hyphens", line, maxID)
		}
		p.list = &List{ID: line, Severity: Low}
		return p.once("the id", line)
	}
	key, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	if value == "" || len(value) > maxText || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("the value of %.20q is missing, too long or has control characters", key)
	}
	if key != "code" {
		if err := p.once(theKey, key); err != nil {
			return err
		}
	}
	return p.set(key, value)
}

// once fails if something stands twice.
func (p *parser) once(what, text string) error {
	if p.seen[what+" "+text] {
		return fmt.Errorf("%s %.60q stands twice", what, text)
	}
	p.seen[what+" "+text] = true
	return nil
}

// set takes one line of a paragraph.
func (p *parser) set(key, value string) (err error) {
	l := p.list
	switch key {
	case "name":
		l.Name = value
		if len(value) > maxName {
			return fmt.Errorf("the name has more than %d bytes", maxName)
		}
		return p.once("the name", value)
	case "operator":
		l.Operator = value
	case "zone":
		l.Zone, err = parseZone(value)
		return errors.Join(err, p.once("the zone", l.Zone))
	case "keyed":
		rest, ok := strings.CutPrefix(value, keyMark+".")
		if !ok {
			return fmt.Errorf("the keyed zone does not begin with %s", keyMark)
		}
		rest, err = parseZone(rest)
		l.Keyed = keyMark + "." + rest
		return errors.Join(err, p.once("the zone", l.Keyed))
	case "key":
		l.Key = value
		return check(isID(value), "the name of a key has lower-case letters, digits and hyphens")
	case "category":
		l.Category = Category(value)
		return oneOf(value, l.Category.Values())
	case "severity":
		l.Severity = Severity(value)
		return oneOf(value, l.Severity.Values())
	case "decisive":
		l.Decisive = value == "yes"
		return oneOf(value, []string{"yes", "no"})
	case "expires":
		l.Expires = strings.TrimSuffix(value, ".")
	case "scope":
		l.Network = value == "network"
		return oneOf(value, []string{"address", "network"})
	case "families":
		l.IPv4, l.IPv6 = value != "ipv6", value != "ipv4"
		return oneOf(value, []string{"ipv4", "ipv6", "ipv4 ipv6"})
	case "test":
		l.Untestable = value == "no"
		return oneOf(value, []string{"yes", "no"})
	case "delist":
		l.Delist = value
		return check(strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "http://"), "the address is no URL")
	case "rate":
		l.Rate, err = parseRate(value)
	case "code":
		var c Code
		c, err = parseCode(value)
		l.Codes = append(l.Codes, c)
		return errors.Join(err, check(len(l.Codes) <= maxCodes, "there are too many codes"))
	default:
		return fmt.Errorf("%.20q is no key", key)
	}
	return err
}

// end finishes a paragraph.
func (p *parser) end() error {
	l := p.list
	if l == nil {
		return nil
	}
	for key := range p.seen {
		if strings.HasPrefix(key, theKey) {
			delete(p.seen, key)
		}
	}
	p.list, p.lists = nil, append(p.lists, l)
	return errors.Join(
		check(len(p.lists) <= maxLists, "there are too many lists"),
		check(l.Name != "" && l.Operator != "" && l.Category != "", l.ID+" has no name, operator or category"),
		check(l.IPv4 || l.IPv6, l.ID+" has no families"),
		check(l.Zone != "" || l.Keyed != "", l.ID+" has no zone"),
		check((l.Keyed == "") == (l.Key == ""), l.ID+" has a keyed zone without the name of its key, or the reverse"),
	)
}

func check(ok bool, fault string) error {
	if ok {
		return nil
	}
	return errors.New(fault)
}

func oneOf(value string, values []string) error {
	return check(slices.Contains(values, value), fmt.Sprintf("%.40q is none of: %s", value, strings.Join(values, ", ")))
}

func isID(s string) bool {
	return s != "" && len(s) <= maxID && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// maxZone leaves room for a key and a reversed IPv6 address in front of it, and one for the dots.
const maxZone = 253 - 64 - maxKey - 1

func parseZone(s string) (string, error) {
	d, err := diag.ParseDomain(s)
	if err != nil || len(d.String()) > maxZone {
		return "", fmt.Errorf("%.60q is no zone", s)
	}
	return d.String(), nil
}

// units are the spans of a rate.
var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// parseRate reads a rate such as 10/s.
func parseRate(s string) (Rate, error) {
	count, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > maxRateCount || units[unit] == 0 {
		return Rate{}, fmt.Errorf("%.40q is no rate: a number, a slash and s, m, h or d", s)
	}
	return Rate{n, units[unit]}, nil
}

// parseCode reads a pattern of return codes, their kind and their meaning.
func parseCode(s string) (c Code, err error) {
	text, rest, _ := strings.Cut(s, " ")
	kind, meaning, _ := strings.Cut(rest, " ")
	c = Code{Kind: Category(kind), Meaning: meaning}
	if c.Pattern, err = parsePattern(text); err != nil {
		return c, err
	}
	return c, errors.Join(
		oneOf(kind, append(c.Kind.Values(), string(neutral), string(refused))),
		check(meaning != "", "a code has no meaning"),
	)
}

// parsePattern reads four octets, each a number, a range such as 4-7, or * for any.
func parsePattern(s string) (p pattern, err error) {
	octets := strings.Split(s, ".")
	if len(octets) != 4 || octets[0] != "127" {
		return p, fmt.Errorf("%.40q is no return code: four octets, of which the first is 127", s)
	}
	for i, o := range octets {
		first, last, isRange := strings.Cut(o, "-")
		switch {
		case o == "*":
			first, last = "0", "255"
		case !isRange:
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 8)
		b, errB := strconv.ParseUint(last, 10, 8)
		if errA != nil || errB != nil || a > b {
			return p, fmt.Errorf("%.40q is no return code: the octet %.10q is none", s, o)
		}
		p.first[i], p.last[i] = byte(a), byte(b)
	}
	return p, nil
}
