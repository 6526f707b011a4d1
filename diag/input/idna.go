package input

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The sizes of names in octets (RFC 1035 section 2.3.4). The 255 octets that a name may have on the
// wire are 253 in text without the final dot.
const (
	maxLabel = 63
	maxName  = 253
)

// maxNameInput bounds the input that is parsed, in bytes: a name of 253 octets has at most four bytes for each of
// them in Unicode, and some more before it is composed.
const maxNameInput = 2048

// profile is IDNA 2008, non-transitional, with the mapping of UTS #46 for what users type. Lengths
// and hyphens are checked by us.
var profile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(false), idna.CheckJoiners(true),
	idna.StrictDomainName(true), idna.Transitional(false), idna.VerifyDNSLength(false))

// repertoire is the profile without the contextual rules; it identifies characters that are not allowed anywhere.
var repertoire = idna.New(idna.MapForLookup(), idna.CheckHyphens(false), idna.CheckJoiners(false),
	idna.StrictDomainName(true), idna.Transitional(false))

// dots separate labels beside the full stop (RFC 3490 section 3.1, UTS #46 section 2.3).
var dots = strings.NewReplacer("\u3002", ".", "\uFF0E", ".", "\uFF61", ".")

// The faults of a name, in words that follow on the name.
var (
	errNameEmpty   = errors.New("it is empty")
	errNameLong    = fmt.Errorf("it is longer than %d octets", maxName)
	errNameUTF8    = errors.New("it is not valid UTF-8")
	errLabelEmpty  = errors.New("it has an empty label")
	errLabelLong   = fmt.Errorf("a label is longer than %d octets", maxLabel)
	errLabelHyphen = errors.New("a label begins or ends with a hyphen")
	errNumeric     = errors.New("it ends in a number, which makes it an IP address")
	errAddress     = errors.New("it is an IP address")
)

// A badByte is a byte that is not allowed in its place.
type badByte byte

func (c badByte) Error() string { return fmt.Sprintf("it must not contain %q", byte(c)) }

// A grammar says what labels may be made of.
type grammar int

const (
	hostLabels grammar = 0 // letters, digits and hyphens (RFC 1123 section 2.1)
	webLabels  grammar = 1 // underscores as well, and the first may be an asterisk
	// Likewise, and a label in ASCII is as it is: hyphens anywhere, and "xn--" before what is no Punycode. The DNS
	// holds any label (RFC 2181 section 11).
	anyLabels grammar = 2
)

// canonicalName brings a name into its one form: A-labels in lower case without the final dot.
func canonicalName(s string, g grammar) (string, error) {
	if len(s) > maxNameInput {
		return "", errNameLong
	}
	if plain := strings.TrimSuffix(s, "."); (g == anyLabels || !hasALabel(plain)) && checkName(plain, g) == nil {
		return plain, nil // which nearly all names are
	}
	if !isASCII(s) {
		if !utf8.ValidString(s) {
			return "", errNameUTF8
		}
		s = dots.Replace(s)
	}
	s = strings.TrimSuffix(s, ".")
	if s == "" {
		return "", errNameEmpty
	}
	if isASCII(s) {
		s = strings.ToLower(s)
	}
	if !isASCII(s) || hasALabel(s) && g != anyLabels {
		var err error
		if s, err = convertLabels(s, g); err != nil {
			return "", err
		}
	}
	return s, checkName(s, g)
}

// checkName checks everything about a name in ASCII form but its A-labels.
func checkName(s string, g grammar) error {
	if len(s) > maxName {
		return errNameLong
	}
	begin, underscore := 0, false
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '.' {
			switch c := s[i]; {
			case 'a' <= c && c <= 'z' || isDigit(c) || c == '-':
			case g != hostLabels && c == '_':
				underscore = true
			case g != hostLabels && c == '*' && i == 0 && len(s) > 1 && s[1] == '.': // RFC 4592 section 2.1.1
			default:
				return badByte(c)
			}
			continue
		}
		switch {
		case i == begin:
			return errLabelEmpty
		case i-begin > maxLabel:
			return errLabelLong
		case g != anyLabels && !underscore && (s[begin] == '-' || s[i-1] == '-'): // RFC 1123 section 2.1
			return errLabelHyphen
		}
		begin, underscore = i+1, false
	}
	return nil
}

// endsInNumber reports whether a name in ASCII form would be read as an IPv4 address: its last label
// is a number, decimal, octal or hexadecimal (url.spec.whatwg.org, "ends-in-a-number checker").
func endsInNumber(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func hasALabel(s string) bool { return strings.HasPrefix(s, "xn--") || strings.Contains(s, ".xn--") }

// convertLabels maps a name to A-labels and checks those that it has. ASCII labels with underscores, and a first
// "*", are outside the scope of IDNA and stay as they are; with the grammar of any labels, so do all ASCII labels.
func convertLabels(s string, g grammar) (string, error) {
	labels := strings.Split(s, ".")
	var places []int
	var names []string
	for i, l := range labels {
		switch {
		case l == "":
			return "", errLabelEmpty
		case isASCII(l) && (g == anyLabels || g == webLabels && (strings.Contains(l, "_") || i == 0 && l == "*")):
			labels[i] = strings.ToLower(l)
		default:
			places, names = append(places, i), append(names, l)
		}
	}
	ascii, err := profile.ToASCII(strings.Join(names, "."))
	if err != nil {
		return "", conversionFault(names, err)
	}
	converted := strings.Split(ascii, ".")
	if len(converted) != len(names) {
		return "", errLabelEmpty
	}
	for i, a := range converted {
		if err := checkALabel(a); err != nil {
			return "", err
		}
		labels[places[i]] = a
	}
	return strings.Join(labels, "."), nil
}

// checkALabel checks what the profile does not: that an A-label is the only spelling of its U-label (RFC 5890 section
// 2.3.2.1), and the positions of its hyphens (RFC 5891 section 4.2.3.1). An ASCII label may have hyphens in the
// third and fourth position: names such as r3---sn-abc.example exist, and IDNA does not apply to them (RFC 5890
// section 2.3.1).
func checkALabel(a string) error {
	if !strings.HasPrefix(a, "xn--") {
		return nil
	}
	u, err := profile.ToUnicode(a)
	if err != nil {
		return fmt.Errorf("%.80q is not valid Punycode", a)
	}
	if again, err := profile.ToASCII(u); err != nil || again != a {
		return fmt.Errorf("%.80q is not how %.80q is written in Punycode", a, u)
	}
	runes := []rune(u)
	if runes[0] == '-' || runes[len(runes)-1] == '-' {
		return errLabelHyphen
	}
	if len(runes) >= 4 && runes[2] == '-' && runes[3] == '-' {
		return fmt.Errorf("%.80q has hyphens in the third and fourth place", u)
	}
	return nil
}

func conversionFault(labels []string, err error) error {
	for _, l := range labels {
		if _, err := profile.ToASCII(l); err == nil {
			continue
		}
		if strings.HasPrefix(strings.ToLower(l), "xn--") {
			return fmt.Errorf("%.80q is not valid Punycode", l)
		}
		for _, c := range l {
			if _, err := repertoire.ToASCII("a" + string(c) + "a"); err != nil {
				return fmt.Errorf("it must not contain %q (%U)", c, c)
			}
		}
		return fmt.Errorf("%.80q has characters that must not be combined", l)
	}
	return fmt.Errorf("it mixes directions of writing (%w)", err)
}

// unseen returns an error that names the first invisible character of a name, or nil. UTS #46 ignores most of them,
// but text that contains one was pasted and has it elsewhere too. Joiners that have passed the rules are part of the
// name.
func unseen(s string) error {
	if isASCII(s) {
		return nil
	}
	if found := findRune(s, stray); found != "" {
		return fmt.Errorf("it has the invisible character %s", found)
	}
	return nil
}

// nameFault turns the fault of a name into an Error.
func nameFault(field, s, kind string, err error) error {
	if _, notIP := netip.ParseAddr(s); notIP == nil {
		err = errAddress
	}
	return Invalid(field, "%.300q is not %s: %v", s, kind, pasted(s, err))
}

// pasted returns an error that suggests the correct input for what people paste in place of a name: a URL, a mail
// address, a name between spaces or with invisible characters. For all else it returns err.
func pasted(s string, err error) error {
	host, kind := strings.TrimSpace(s), "it has spaces around it"
	if fault := unseen(s); fault != nil {
		host, kind = strings.TrimSpace(without(s, stray)), fault.Error()
	}
	if u, fault := url.Parse(host); fault == nil && u.Scheme != "" && u.Host != "" {
		host, kind = u.Hostname(), "it is a URL"
	} else if before, _, ok := strings.Cut(host, "/"); ok {
		host, kind = before, "it has a path"
	}
	if local, after, ok := strings.Cut(host, "@"); ok && local != "" {
		host, kind = after, "it is a mail address"
	}
	if _, fault := canonicalName(host, webLabels); fault != nil && findRune(host, Invisible) != "" {
		kind = "it has the invisible character " + findRune(s, Invisible)
		host = without(host, Invisible)
	}
	if _, fault := canonicalName(host, webLabels); fault != nil || host == s || !strings.Contains(host, ".") {
		return err
	}
	return fmt.Errorf("%s, give %s", kind, host)
}

func ldh(s string) bool {
	for _, c := range []byte(s) {
		if c != '-' && !isDigit(c) && (c|0x20 < 'a' || 'z' < c|0x20) {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
