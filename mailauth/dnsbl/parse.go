package dnsbl

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// listsText is the built-in file of lists, which states its source and date.
//
// It has only lists that are in operation. Gone, and therefore not there: SORBS (2024), NiX Spam (January 2025), WPBL,
// LashBack UBL, AHBL, NJABL, ORDB, DSBL, CBL (part of ZEN now), the lists of abuse.ch, inps.de, madavi, VirBL, MAPS.
// Left out as well: parts of lists that are included as a whole, lists of domains, of countries and of unallocated
// space, and lists that sell removal only.
//
//go:embed data/dnsbl.json
var listsText string

// File is the name of the file of lists among those that an operator may replace, see [diag.List].
const File = "dnsbl.json"

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

// Bounds of a file of lists: what can be queried concurrently, and what a report has room for.
const (
	maxLists     = 200
	maxFile      = 1 << 20
	maxCodes     = 64
	maxID        = 40
	maxName      = 28 // a headline has room for one
	maxText      = 200
	maxSource    = 1000
	maxRateCount = 1_000_000
)

// Placeholders in zones and URLs.
const (
	keyMark = "{key}"
	ipMark  = "{ip}"
)

type listsFile struct {
	Source string            `json:"source"`
	Date   string            `json:"date"`
	Lists  []json.RawMessage `json:"lists"`
}

// ParseLists reads a file of lists as JSON, such as the file [File] that replaces the built-in one. It is an object
// of source (where the lists are from), date (when they were reviewed) and lists; the former two may be missing.
// The members of a list:
//
//	id          short, permanent: lower-case letters, digits, hyphens
//	name        for people, at most 28 bytes
//	operator    its operator
//	zone        zone to query; missing if it only answers clients with a key
//	keyed_zone  zone to query with a key, in place of {key}; takes precedence over zone if there is a key
//	key_name    name of the account whose key is in [KeysFile]
//	category    spam, exploit, policy, proxy, bot, reputation, allow
//	severity    how many receivers use it: high (large ones reject on its word), medium, low (default)
//	decisive    true if a listing alone, but for one by policy, makes most large receivers reject mail
//	scope       network if it lists networks for what some of their addresses did; default address
//	families    array of ipv4, ipv6 or both
//	test        false if it has no entry for the test address (RFC 5782 section 5)
//	delist      URL to request removal, with the address in place of {ip}
//	expires     when it removes entries, as the end of a sentence; missing if removal must be requested
//	rate        permitted rate of address checks, such as 10/s, 600/m or 100000/d; beyond that it is left out
//	codes       array of what its return codes mean, each an object of codes, kind and meaning
//
// In codes, an octet may be a range such as 4-7, or * for any. The kind is a category, neutral if they are not a
// listing, refused if they are not an answer. All matching entries give their meaning, the first gives the kind. A
// code without an entry is a listing, but for 127.0.0.1 and 127.255.255.*, by which lists refuse.
//
// Unknown or duplicate members, and lists that share an id, a name or a zone, are errors. The error names the list and
// the faulty member.
func ParseLists(data []byte) ([]*List, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("more than %d bytes", maxFile)
	}
	var file listsFile
	if err := diag.DecodeList(data, &file, true); err != nil {
		return nil, err
	}
	if err := file.check(); err != nil {
		return nil, err
	}
	lists, seen := []*List{}, map[string]bool{}
	for i, text := range file.Lists {
		l := &List{Severity: Low, Scope: OfAddresses, Test: true}
		err := diag.DecodeList(text, l, true)
		if err == nil {
			err = l.normalize()
		}
		if err == nil {
			err = l.checkUnique(seen)
		}
		if err != nil {
			var named struct{ ID string }
			_ = json.Unmarshal(text, &named) // the id of a list at fault, if it has one
			return nil, fmt.Errorf("list %d (%.40q): %w", i+1, named.ID, err)
		}
		lists = append(lists, l)
	}
	return lists, nil
}

func (f *listsFile) check() error {
	if _, err := time.Parse(time.DateOnly, f.Date); f.Date != "" && err != nil {
		return fmt.Errorf("date: %.40q is no date such as 2026-11-22", f.Date)
	}
	return cmp.Or(checkText("source", f.Source, maxSource),
		check(len(f.Lists) > 0 && len(f.Lists) <= maxLists, "lists", "there must be 1 to %d, not %d", maxLists, len(f.Lists)))
}

func (l *List) checkUnique(seen map[string]bool) error {
	for _, m := range [][2]string{{"id", l.ID}, {"name", l.Name}, {"zone", l.Zone}, {"keyed_zone", l.KeyedZone}} {
		key := m[0] + " " + m[1]
		if seen[key] {
			return fmt.Errorf("%s: another list has %.60q", m[0], m[1])
		}
		seen[key] = m[1] != ""
	}
	return nil
}

// normalize writes names and texts in one form, and checks all.
func (l *List) normalize() error {
	l.Expires = strings.TrimRight(l.Expires, ".")
	var faults []error
	if l.Zone != "" {
		zone, err := parseZone("zone", l.Zone)
		l.Zone, faults = zone, append(faults, err)
	}
	if l.KeyedZone != "" {
		rest, ok := strings.CutPrefix(l.KeyedZone, keyMark+".")
		rest, err := parseZone("keyed_zone", rest)
		l.KeyedZone = keyMark + "." + rest
		faults = append(faults, check(ok, "keyed_zone", "does not begin with %s", keyMark+"."), err)
	}
	for _, c := range l.Codes {
		faults = append(faults, c.check())
	}
	return cmp.Or(append(faults, l.check(), l.checkTexts())...)
}

func (l *List) check() error {
	return cmp.Or(
		check(isID(l.ID), "id", "must be 1 to %d lower-case letters, digits and hyphens", maxID),
		check(l.Zone != "" || l.KeyedZone != "", "zone", "must be there if there is no keyed_zone"),
		check((l.KeyedZone == "") == (l.KeyName == ""), "key_name", "must be there if there is a keyed_zone, and only then"),
		check(l.KeyName == "" || isID(l.KeyName), "key_name",
			"must be 1 to %d lower-case letters, digits and hyphens", maxID),
		oneOf("category", l.Category, l.Category.Values()),
		oneOf("severity", l.Severity, l.Severity.Values()),
		oneOf("scope", l.Scope, l.Scope.Values()),
		l.checkFamilies(),
		check(len(l.Codes) <= maxCodes, "codes", "there may be at most %d", maxCodes),
	)
}

func (l *List) checkFamilies() error {
	if len(l.Families) == 0 {
		return errors.New("families: must be there")
	}
	for i, f := range l.Families {
		if err := oneOf("families", f, f.Values()); err != nil {
			return err
		}
		if slices.Contains(l.Families[:i], f) {
			return fmt.Errorf("families: %s appears twice", f)
		}
	}
	return nil
}

func (l *List) checkTexts() error {
	return cmp.Or(
		check(l.Name != "", "name", "must be there"),
		checkText("name", l.Name, maxName),
		check(l.Operator != "", "operator", "must be there"),
		checkText("operator", l.Operator, maxText),
		checkText("expires", l.Expires, maxText),
		checkText("delist", l.Delist, maxText),
		check(l.Delist == "" || strings.HasPrefix(l.Delist, "https://") || strings.HasPrefix(l.Delist, "http://"),
			"delist", "must be a URL that begins with https:// or http://"),
	)
}

func (c *Code) check() error {
	return cmp.Or(check(c.Pattern != Pattern{}, "codes", "must be there"),
		oneOf("kind", c.Kind, append(c.Kind.Values(), string(Neutral), string(CategoryRefused))),
		check(c.Meaning != "", "meaning", "must be there"), checkText("meaning", c.Meaning, maxText))
}

// maxZone leaves room for a key and a reversed IPv6 address in front of it, and one for the dots.
const maxZone = 253 - 64 - maxKey - 1

func parseZone(member, s string) (string, error) {
	d, err := diag.ParseDomain(s)
	if err != nil || len(d.String()) > maxZone {
		return "", fmt.Errorf("%s: %.60q is no zone", member, s)
	}
	return d.String(), nil
}

func check(ok bool, member, fault string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(member+": "+fault, args...)
}

func oneOf[T ~string](member string, value T, values []string) error {
	return check(slices.Contains(values, string(value)), member, "%.40q is not one of: %s",
		value, strings.Join(values, ", "))
}

func checkText(member, text string, most int) error {
	control := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	return check(len(text) <= most && !control, member, "has more than %d bytes or a control character", most)
}

func isID(s string) bool {
	return s != "" && len(s) <= maxID && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
