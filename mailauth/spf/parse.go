package spf

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of what is read.
const (
	// MaxRecordLength is how much of a record is read, in bytes. Records that reach receivers reliably
	// are shorter than 512 (RFC 7208 section 3.4), and CONTRACT 3.3.1 takes no more than this.
	MaxRecordLength = 8192
	// maxFaults bounds the errors that are collected: nobody mends a record by the thousandth.
	maxFaults = 500
)

// A SyntaxKind says which part of the syntax was not kept to.
type SyntaxKind string

// The kinds of errors.
const (
	badVersion      SyntaxKind = "version"       // it does not begin with v=spf1
	badLength       SyntaxKind = "length"        // it is too long to be read
	badCharacter    SyntaxKind = "character"     // a character that no record may hold
	badQualifier    SyntaxKind = "qualifier"     // signs that stand alone, twice, or before a modifier
	badMechanism    SyntaxKind = "mechanism"     // there is no such mechanism
	badModifier     SyntaxKind = "modifier"      // that cannot be the name of a modifier
	colonModifier   SyntaxKind = "colon"         // a modifier is written with a colon
	gluedTerms      SyntaxKind = "glued"         // no blank before all
	valueMissing    SyntaxKind = "value missing" // the mechanism or modifier needs a value
	valueUnexpected SyntaxKind = "value"         // the mechanism has no value, or no length of prefix
	badIP4          SyntaxKind = "ip4"           // not an IPv4 address
	badIP6          SyntaxKind = "ip6"           // not an IPv6 address
	wrongFamily     SyntaxKind = "family"        // IPv6 in ip4, or IPv4 in ip6
	macroInNetwork  SyntaxKind = "network macro" // ip4 and ip6 have no macros
	badPrefix       SyntaxKind = "prefix"        // the length of a prefix
	badDomain       SyntaxKind = "domain"        // not the name of a domain
	badMacro        SyntaxKind = "macro"         // a macro
	repeatedTerm    SyntaxKind = "repeated"      // redirect or exp stands twice
)

// A SyntaxError is a departure from the syntax of RFC 7208 section 12. One of them, anywhere, makes
// receivers end in permerror (section 4.6).
type SyntaxError struct {
	Kind   SyntaxKind
	Offset int    // in the text, in bytes
	Length int    // in bytes
	Text   string // what is wrong
	// Suggested is what could stand in the place of the whole term; empty if there is no telling.
	Suggested string

	term, end int // where the term begins and ends
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parsing the SPF record at byte %d: %s", e.Offset, e.Text)
}

// Parse reads the text of a record, and reports all errors in it, in order: there are none if and only
// if the record is valid. The record has all terms, also those that are not valid.
func Parse(text string) (*Record, []SyntaxError) {
	p := parser{record: &Record{}}
	rest := text
	if len(text) > MaxRecordLength {
		p.fault(badLength, MaxRecordLength, len(text)-MaxRecordLength, "",
			"the record has %d bytes; no more than %d are read", len(text), MaxRecordLength)
		rest = text[:MaxRecordLength]
		rest = rest[:max(strings.LastIndexByte(rest, ' '), len(version))] // up to the last whole term
	}
	begin := len(version)
	if !isRecord(text) {
		begin = p.badVersion(rest)
	}
	p.record.Terms = make([]Term, 0, 1+strings.Count(rest[begin:], " "))
	for i := begin; i < len(rest); {
		if rest[i] == ' ' {
			i++
			continue
		}
		end := i + 1
		for end < len(rest) && rest[end] != ' ' {
			end++
		}
		p.term(rest[i:end], i)
		i = end
	}
	return p.record, p.faults
}

// isRecord reports whether a text is a record: it begins with v=spf1 in any letter case, and a blank
// or nothing follows (RFC 7208 section 4.5).
func isRecord(text string) bool {
	n := len(version)
	return len(text) >= n && strings.EqualFold(text[:n], version) && (len(text) == n || text[n] == ' ')
}

// resembles reports whether a text was probably meant as a record, although receivers discard it.
func resembles(text string) bool {
	squeezed := strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n\"'\\\ufeff\u200b\u00a0\u201c\u201d", r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), 64)], "")))
	for _, start := range []string{"v=spf", "v:spf", "spf1", "v=fsp", "vspf1", "v=sfp", "spf=v1", "spf=1", "v.spf",
		"v==spf", "v-spf1", "v=psf", "v=sp1", "version=spf"} {
		if strings.HasPrefix(squeezed, start) {
			return !isRecord(text)
		}
	}
	return false
}

type parser struct {
	record *Record
	faults []SyntaxError
	seen   map[Name]bool // modifiers that may stand once
	raw    string        // the term at hand
	offset int           // of that
}

// fault notes an error at an offset of the record.
func (p *parser) fault(k SyntaxKind, offset, length int, suggested, format string, args ...any) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, SyntaxError{
			Kind: k, Offset: offset, Length: length, Text: fmt.Sprintf(format, args...), Suggested: suggested,
			term: p.offset, end: p.offset + len(p.raw),
		})
	}
}

// here notes an error in the term at hand, at an offset of the term.
func (p *parser) here(k SyntaxKind, offset, length int, suggested, format string, args ...any) bool {
	p.fault(k, p.offset+offset, length, suggested, format, args...)
	return false
}

// badVersion notes that the text is no record, and returns where its terms begin all the same.
func (p *parser) badVersion(text string) int {
	end := strings.IndexByte(strings.TrimLeft(text, " "), ' ')
	if end >= 0 {
		end += len(text) - len(strings.TrimLeft(text, " "))
	}
	if end < 0 || !resembles(text) {
		end = len(text)
	}
	p.raw = text[:end]
	p.fault(badVersion, 0, end, "", "the text does not begin with v=spf1 and a blank")
	return end
}

// term reads one term.
func (p *parser) term(raw string, offset int) {
	p.raw, p.offset = raw, offset
	p.record.Terms = append(p.record.Terms, Term{Raw: raw, Offset: offset})
	t := &p.record.Terms[len(p.record.Terms)-1]
	for i := range len(raw) {
		if raw[i] < 0x21 || raw[i] > 0x7e {
			r, n := utf8.DecodeRuneInString(raw[i:])
			p.here(badCharacter, i, n, "", "the character %s must not stand in a record", quoteRune(r, raw[i]))
			return
		}
	}
	rest := raw
	if strings.IndexByte("+-~?", raw[0]) >= 0 {
		t.Qualifier, rest = Qualifier(raw[:1]), raw[1:]
	}
	end := strings.IndexAny(rest, ":/=")
	if end < 0 {
		end = len(rest)
	}
	name, value := rest[:end], rest[end:]
	if strings.HasPrefix(value, "=") {
		t.Valid = p.modifier(t, name, value[1:])
		return
	}
	t.Valid = p.mechanism(t, name, value)
}

// quoteRune names a character that is not ASCII or cannot be seen, or a byte that is none.
func quoteRune(r rune, first byte) string {
	switch {
	case r == utf8.RuneError:
		return fmt.Sprintf("0x%X", first)
	case unicode.IsGraphic(r) && r != '\u00a0':
		return fmt.Sprintf("%q (%U)", string(r), r)
	default:
		return fmt.Sprintf("%U", r)
	}
}

// modifier reads name=value.
func (p *parser) modifier(t *Term, name, value string) bool {
	at := len(t.Raw) - len(value)
	if t.Qualifier != "" {
		return p.here(badQualifier, 0, 1, t.Raw[1:], "the modifier %.60q has a sign before it", name)
	}
	if !validModifier(name) {
		return p.here(badModifier, 0, len(name), "", "%.60q cannot be the name of a modifier", name)
	}
	t.Kind, t.Value = Modifier, value
	switch lower := strings.ToLower(name); lower {
	case string(Redirect), string(Exp):
		t.Name = Name(lower)
	default:
		t.Unknown = lower
		_, offset, length, fault := parseMacros(value, false)
		if fault != "" {
			return p.here(badMacro, at+offset, length, "", "%s", fault)
		}
		return true
	}
	valid := !p.glued(t) && p.domainSpec(t, at)
	if p.seen[t.Name] { // RFC 7208 section 6: at most once
		return p.here(repeatedTerm, 0, len(t.Raw), "", "%s= appears again", t.Name)
	}
	if p.seen == nil {
		p.seen = map[Name]bool{}
	}
	p.seen[t.Name] = true
	return valid
}

// validModifier reports whether s is ALPHA *( ALPHA / DIGIT / "-" / "_" / "." ).
func validModifier(s string) bool {
	for i := range len(s) {
		if !isAlpha(s[i]) && (i == 0 || !isDigit(s[i]) && strings.IndexByte("-_.", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}
