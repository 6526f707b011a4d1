package mtasts

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
)

// Mode is the behavior that a policy requests of senders (RFC 8461 section 5).
type Mode string

// The modes.
const (
	Enforce Mode = "enforce" // deliver over authenticated TLS to the listed hosts, or not at all
	Testing Mode = "testing" // deliver anyway, and report what would have failed
	None    Mode = "none"    // the policy is withdrawn
)

// Values lists the modes.
func (Mode) Values() []string { return kit.Values(Enforce, Testing, None) }

const (
	maxPolicyBytes = 64 << 10               // the size that senders read (RFC 8461 section 3.3)
	maxMaxAge      = 31557600 * time.Second // a year (RFC 8461 section 3.2)
	maxFaults      = 100                    // listed; a text with more is not a policy
	week           = 7 * 24 * time.Hour     // "weeks or greater" (RFC 8461 section 3.2)
	byteOrderMark  = "\ufeff"
)

// A Policy defines how mail for a domain must be delivered (RFC 8461 section 3.2).
type Policy struct {
	Mode       Mode
	MX         []string      // patterns of host names in lower case, in order; "*." matches one label
	MaxAge     time.Duration // how long senders keep it, in whole seconds, at most 31,557,600 (a year)
	Extensions []Extension   // further fields, in order
}

// String returns the text of the policy, as it is served.
func (p Policy) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: %s\nmode: %s\n", version, p.Mode)
	for _, mx := range p.MX {
		fmt.Fprintf(&b, "mx: %s\n", mx)
	}
	fmt.Fprintf(&b, "max_age: %d\n", int64(p.MaxAge/time.Second))
	for _, x := range p.Extensions {
		fmt.Fprintf(&b, "%s: %s\n", x.Name, x.Value)
	}
	return b.String()
}

// match returns the pattern of the policy that covers a mail server, and whether there is one. A wildcard matches
// exactly one label (RFC 8461 section 4.1).
func (p Policy) match(host string) (pattern string, ok bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, mx := range p.MX {
		if matches(mx, host) {
			return mx, true
		}
	}
	return "", false
}

func matches(pattern, host string) bool {
	parent, wildcard := strings.CutPrefix(pattern, "*.")
	if !wildcard {
		return pattern == host
	}
	label, rest, ok := strings.Cut(host, ".")
	return ok && label != "" && rest == parent
}

// ParsePolicy reads the text of a policy. The error is a *[SyntaxError].
func ParsePolicy(text string) (Policy, error) {
	d := scanPolicy(text)
	if faults := d.errors(); len(faults) > 0 {
		return Policy{}, &SyntaxError{"policy", faults}
	}
	return d.policy, nil
}

type fault struct {
	kind kind
	line int // from 1; 0 for a missing field
	text string
}

type kind string

const (
	badSyntax  kind = "syntax"
	badText    kind = "no UTF-8"
	blankLine  kind = "blank line"
	badVersion kind = "bad version"
	noVersion  kind = "no version"
	badMode    kind = "bad mode"
	noMode     kind = "no mode"
	badMaxAge  kind = "bad max_age"
	noMaxAge   kind = "no max_age"
	badMX      kind = "bad mx"
	noMX       kind = "no mx"
	repeated   kind = "repeated" // harmless: the first counts
	unknownKey kind = "unknown"  // harmless: senders ignore it
	misspelt   kind = "misspelt" // the name of a field that is missing
	likeKnown  kind = "like"     // harmless: probably the name of a field that is also present
)

func (k kind) harmless() bool { return k == repeated || k == unknownKey || k == likeKnown }

type document struct {
	policy     Policy
	version    string // as written
	notPolicy  bool   // not a policy at all, such as a page
	faults     []fault
	seen       map[string]bool
	misspelled map[string][]misnamed // by the name of the field
	line       int
}

func (d *document) errors() []string {
	var texts []string
	for _, f := range d.faults {
		if !f.kind.harmless() {
			texts = append(texts, f.text)
		}
	}
	return texts
}

func (d *document) valid() bool { return len(d.errors()) == 0 }

func (d *document) of(k kind) rule.Failures {
	var list rule.Failures
	for _, f := range d.faults {
		if f.kind == k {
			list = append(list, f.failure())
		}
	}
	return list
}

func (f fault) failure() rule.Failure {
	if f.line == 0 {
		return rule.Failure{Detail: f.text}
	}
	line := fmt.Sprintf("line %d", f.line)
	return rule.Failure{Detail: "L" + line[1:] + " of the policy: " + f.text, Target: line}
}

// scanPolicy reads a policy and collects all faults.
//
//	policy = field *WSP *(term field *WSP) [term]
//	field  = name ":" *WSP value
//	term   = LF / CRLF
func scanPolicy(text string) *document {
	d := &document{seen: map[string]bool{}, misspelled: map[string][]misnamed{}, line: 1}
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "<") {
		return foreign("a page in HTML or XML")
	}
	if rest, ok := strings.CutPrefix(text, byteOrderMark); ok {
		text = rest
		d.fault(badSyntax, "the text begins with a byte order mark")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if parts := runTogether(line); parts != nil {
			d.readTogether(parts)
		} else {
			d.scanLine(line)
		}
		d.line++
	}
	if d.line = 0; len(d.seen) == 0 && strings.TrimSpace(text) == "" {
		return foreign("an empty text")
	} else if !slices.ContainsFunc(fields, func(name string) bool { return d.seen[name] || len(d.misspelled[name]) > 0 }) {
		return foreign("a text without any field of a policy")
	}
	d.spelling()
	d.require("version", noVersion)
	d.require("mode", noMode)
	d.require("max_age", noMaxAge)
	if !d.seen["mx"] && len(d.misspelled["mx"])+len(d.misspelled["mode"]) == 0 && d.policy.Mode != None {
		d.fault(noMX, "no line begins with mx:")
	}
	return d
}

var fields = []string{"version", "mode", "mx", "max_age"}

func foreign(what string) *document {
	return &document{notPolicy: true, seen: map[string]bool{},
		faults: []fault{{kind: badSyntax, text: "this is " + what + ", not a policy"}}}
}

func (d *document) require(key string, k kind) {
	if !d.seen[key] && len(d.misspelled[key]) == 0 {
		d.fault(k, "no line begins with %s:", key)
	}
}

func (d *document) fault(k kind, format string, args ...any) {
	same := func(f fault) bool { return f.kind == k }
	if len(d.faults) < maxFaults || !slices.ContainsFunc(d.faults, same) {
		d.faults = append(d.faults, fault{kind: k, line: d.line, text: fmt.Sprintf(format, args...)})
	}
}

func (d *document) scanLine(line string) {
	if !utf8.ValidString(line) {
		d.fault(badText, "the line has bytes that are not UTF-8")
		line = strings.ToValidUTF8(line, "\uFFFD")
	}
	field := strings.TrimRight(line, " \t")
	if field == "" {
		d.fault(blankLine, "the line is blank")
		return
	}
	name, value, ok := strings.Cut(field, ":")
	if !ok {
		d.fault(badSyntax, "%.100q has no colon", field)
		return
	}
	if trimmed := strings.Trim(name, " \t"); trimmed != name {
		d.fault(badSyntax, "there is white space around the name %.100q", trimmed)
		name = trimmed
	}
	if !format.ValidName(name) {
		d.fault(badSyntax, "%.100q cannot be the name of a field", name)
		return
	}
	if name != "mx" && d.seen[name] { // RFC 8461 section 3.2: all entries except for the first
		d.fault(repeated, "%s appears again; senders use the first", name)
		return
	}
	d.seen[name] = true
	d.assign(name, strings.TrimLeft(value, " \t"))
}

func (d *document) assign(name, value string) {
	switch name {
	case "version":
		if d.version = value; value != version {
			d.fault(badVersion, "the version is %.100q, not %s", value, version)
		}
	case "mode":
		if d.policy.Mode = Mode(value); !slices.Contains(Mode("").Values(), value) {
			d.policy.Mode = ""
			d.fault(badMode, "the mode is %.100q, not enforce, testing or none", value)
		}
	case "max_age":
		d.maxAge(value)
	case "mx":
		d.mx(value)
	default:
		if !validText(value) {
			d.fault(badSyntax, "%.100q cannot be the value of %s", value, name)
			return
		}
		d.policy.Extensions = append(d.policy.Extensions, Extension{name, value})
		if known := similarField(name); known != "" {
			d.misspelled[known] = append(d.misspelled[known], misnamed{name, d.line})
			return
		}
		d.fault(unknownKey, "MTA-STS has no field %s", name)
	}
}

func (d *document) maxAge(value string) {
	seconds, err := strconv.ParseUint(value, 10, 64)
	digits := !strings.ContainsFunc(value, func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case err != nil || !digits || len(value) > 10:
		d.fault(badMaxAge, "max_age is %.100q, not a number of seconds", value)
	case seconds > uint64(maxMaxAge/time.Second):
		d.fault(badMaxAge, "max_age is %d seconds, more than %d", seconds, maxMaxAge/time.Second)
	default:
		d.policy.MaxAge = time.Duration(seconds) * time.Second
	}
}

// mx reads ["*."] Domain (RFC 5321 section 4.1.2). Letter case does not matter in names.
func (d *document) mx(value string) {
	if reason := badHost(value); reason != "" {
		d.fault(badMX, "mx is %.100q: %s", value, reason)
		return
	}
	d.policy.MX = append(d.policy.MX, strings.ToLower(value))
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return err == nil
}

func badHost(s string) string {
	host, _ := strings.CutPrefix(s, "*.")
	switch {
	case s == "":
		return "it is empty"
	case strings.HasSuffix(host, "."):
		return "it ends with a dot"
	case len(host) > 253:
		return "it is longer than 253 characters"
	case strings.Contains(host, "*"):
		return "a wildcard may only be the whole first label"
	case isAddress(host):
		return "it is an IP address, not a host name"
	case strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }):
		return "international names must be written as A-labels"
	}
	for label := range strings.SplitSeq(host, ".") {
		switch {
		case label == "" || len(label) > 63:
			return "a label has not 1 to 63 characters"
		case label[0] == '-' || label[len(label)-1] == '-':
			return "a label begins or ends with a hyphen"
		case strings.ContainsFunc(label, func(r rune) bool { return notAlphanumeric(r) && r != '-' }):
			return "it is not a host name"
		}
	}
	return ""
}

// validText reports whether s is a value of an extension: visible characters of UTF-8, with single
// spaces or more between them.
func validText(s string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	return s != "" && strings.Trim(s, " ") == s && !strings.ContainsFunc(s, control)
}

func notAlphanumeric(r rune) bool {
	return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
}

// PolicyURL returns the URL from which senders fetch the policy of a domain (RFC 8461 section 3.3).
func PolicyURL(d diag.Domain) string {
	return "https://mta-sts." + d.String() + "/.well-known/mta-sts.txt"
}

// readTogether reads several fields on one line, which is a single fault.
func (d *document) readTogether(parts []string) {
	d.fault(badSyntax, "%d fields are on the line; each needs its own line", len(parts))
	inside := document{seen: d.seen, misspelled: d.misspelled, policy: d.policy, line: d.line}
	for _, part := range parts {
		inside.scanLine(part)
	}
	d.policy, d.version = inside.policy, cmp.Or(d.version, inside.version)
}

// spelling finds misspelled field names.
func (d *document) spelling() {
	for _, known := range fields {
		for _, m := range d.misspelled[known] {
			if d.line = m.line; d.seen[known] {
				d.fault(likeKnown, "MTA-STS has no field %s%s; senders ignore it", m.name, hint(m.name))
			} else {
				d.fault(misspelt, "MTA-STS has no field %s%s", m.name, hint(m.name))
			}
		}
	}
	d.line = 0
}

// mayEnforce reports whether a text enforces, or may once its faults are corrected.
func (d *document) mayEnforce() bool { return d.policy.Mode != Testing && d.policy.Mode != None }

func (d *document) has(key string, bad kind) bool { return d.seen[key] && d.of(bad) == nil }
