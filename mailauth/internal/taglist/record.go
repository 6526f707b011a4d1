package taglist

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// Found classifies the TXT records at a name for a protocol.
type Found struct {
	Records []string // those of the protocol
	Strays  []Stray  // those that readers ignore, although probably meant as records
	List    List     // the record, if there is exactly one
	Strings []string // its character-strings
	Line    bool     // the text was a line of a zone file
}

// A Stray is a text that was probably meant as a record.
type Stray struct {
	Text string
	Why  string // the reason why readers ignore it: a clause
}

// Find selects the records of the protocol from an answer.
func (f Format) Find(answer []*dns.TXT) Found {
	var found Found
	for _, r := range answer {
		f.add(&found, dnsmsg.TXTStrings(r))
	}
	return found
}

// Read reads one text to be published, as it is or in zone file syntax.
func (f Format) Read(text string) Found {
	parts, line := Pasted(text)
	found := Found{Line: line}
	f.add(&found, parts)
	if len(found.Records)+len(found.Strays) == 0 {
		why := "it does not begin with v=" + f.Version
		if kind := OtherKind(strings.Join(parts, "")); kind != "" {
			why = "it is " + kind
		}
		found.Strays = []Stray{{strings.Join(parts, ""), why}}
	}
	return found
}

// Pasted returns the character-strings of a text to be published, as it is or in zone file syntax; line reports that
// it is a zone file line with a name. A single quoted string keeps its quotes: a form would publish them.
func Pasted(text string) (parts []string, line bool) {
	parts, line = dnsmsg.PastedTXT(text)
	if bare := strings.TrimSpace(text); !line && len(parts) == 1 && strings.HasPrefix(bare, `"`) {
		return []string{bare}, false
	}
	return parts, line
}

// OtherKind returns which kind of mail authentication record a text is, for use in a sentence; empty if it is not
// one. An unreadable line of a zone file is not one.
func OtherKind(text string) string {
	begins := strings.ToLower(strings.TrimLeft(text, "\" \t"))
	for _, k := range otherKinds {
		if strings.HasPrefix(begins, k.version) {
			return k.name
		}
	}
	return ""
}

var otherKinds = []struct{ version, name string }{
	{"v=spf1", "an SPF record"}, {"v=dmarc1", "a DMARC record"}, {"v=dkim1", "a DKIM record"},
	{"v=bimi1", "a BIMI record"},
	{"v=stsv1", "an MTA-STS record"}, {"v=tlsrptv1", "a TLSRPT record"},
}

func (f Format) add(found *Found, parts []string) {
	text := strings.Join(parts, "")
	if f.Is(text) {
		if found.Records = append(found.Records, text); len(found.Records) == 1 {
			found.List, found.Strings = f.Parse(text), parts
		} else {
			found.List, found.Strings = List{}, nil
		}
	} else if why := f.Resembles(text); why != "" {
		found.Strays = append(found.Strays, Stray{text, why})
	}
}

// Is reports whether readers accept a text as a record: it begins with the version (RFC 7489 section 6.6.3, RFC 8460
// section 3, RFC 8461 section 3.1), or has the mark of the format and no version.
func (f Format) Is(text string) bool {
	first, _, more := strings.Cut(text, ";")
	switch {
	case f.Mark != "":
		l := f.Parse(text)
		_, marked := l.Tag(f.Mark)
		_, versioned := l.Tag("v")
		return f.begins(first) || marked && !versioned
	default:
		return f.begins(first) && (more || !f.Fields)
	}
}

func (f Format) begins(first string) bool {
	if f.Mark != "" {
		first = strings.TrimLeft(first, f.white())
	}
	name, value, _ := strings.Cut(strings.TrimRight(first, f.white()), "=")
	if !f.Fields {
		name, value = strings.TrimRight(name, f.white()), strings.TrimLeft(value, f.white())
	}
	return f.same(name, "v") && value == f.Version
}

// maxHead is how much of a text is examined to find its intended kind.
const maxHead = 64

// Resembles returns why readers ignore a text that was probably meant as a record; empty if it is a record, or was
// probably not meant as one.
func (f Format) Resembles(text string) (why string) {
	version := strings.ToLower(f.Version)
	family := strings.TrimSuffix(strings.TrimRight(version, "0123456789"), "v")
	squeezed := strings.Join(strings.Fields(strings.ToLower(text)), "")
	plain := strings.Map(func(r rune) rune { // the text without punctuation, quotation marks and the like
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, squeezed[:min(len(squeezed), maxHead)])
	later := strings.Contains(squeezed, ";v="+version)
	meant := strings.HasPrefix(plain, "v"+family) || strings.HasPrefix(plain, "version"+family) ||
		strings.HasPrefix(squeezed, version+";") || squeezed == version || later
	switch foreign := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }); {
	case !meant || f.Is(text):
		return ""
	case later && !strings.HasPrefix(plain, "v"+version):
		return "v=" + f.Version + " is not its first " + f.noun()
	case f.Is(strings.TrimSpace(text)):
		return "white space precedes it"
	case strings.IndexAny(text, "\"'\\") == 0:
		return "it has quotation marks in it"
	case strings.Contains(text[:min(len(text), maxHead)], `\`):
		return "it has a backslash in it"
	case foreign >= 0 && foreign < maxHead:
		return "it has the character " + character(text[foreign:]) + " in it"
	case strings.HasPrefix(plain, version):
		return "v= is missing before " + f.Version
	case strings.HasPrefix(squeezed, "v="+version) && !strings.HasPrefix(text, "v="+f.Version):
		return "its beginning is not written exactly v=" + f.Version
	case f.lacksSemicolon(text):
		return "no semicolon follows its version"
	default:
		return "its version is not " + f.Version
	}
}

// lacksSemicolon reports whether a text begins with the version, and continues without a semicolon.
func (f Format) lacksSemicolon(text string) bool {
	rest, ok := strings.CutPrefix(text, "v="+f.Version)
	return ok && (f.Fields || rest != "" && strings.Contains(" \t,:", rest[:1]))
}

// Entities decodes the HTML entities of the characters between tags, in which control panels and web pages show
// records.
var Entities = strings.NewReplacer("&#59;", ";", "&semi;", ";", "&#61;", "=", "&equals;",
	"=", "&#43;", "+", "&plus;", "+",
	"&amp;", "&", "&quot;", `"`, "&#34;", `"`, "&nbsp;", " ", "&#160;", " ")

// long finds character-strings that cannot be published (RFC 1035 section 3.3).
func (found *Found) long() rule.Failures {
	for i, s := range found.Strings {
		if len(s) > dnsmsg.MaxTXTString {
			return rule.Fail("String %d of %d has %d bytes; a string has at most %d.", i+1, len(found.Strings), len(s),
				dnsmsg.MaxTXTString)
		}
	}
	return nil
}

// joints finds places where a string begins with a tag, and the one before it does not end with a semicolon: strings
// are joined without a separator (RFC 6376 section 3.6.2.2). A full string was split by a program, at any place, and
// a name without an equals sign continues in the next string.
func (found *Found) joints() rule.Failures {
	var list rule.Failures
	f, text, offset := found.List.format, found.List.Text, 0
	for i, s := range found.Strings {
		before := strings.TrimRight(text[:offset], f.white())
		at := offset + len(s) - len(strings.TrimLeft(s, f.white()))
		last := before[strings.LastIndex(before, ";")+1:]
		complete := i > 0 && len(found.Strings[i-1]) < dnsmsg.MaxTXTString && strings.Contains(last, "=")
		if name, ok := f.startsTag(text[at:]); ok && complete {
			list = append(list, rule.Failure{
				Detail:   fmt.Sprintf("String %d begins with %s=, and no semicolon precedes it.", i+1, name),
				Location: &diag.Location{Offset: at, Length: len(name)}, Target: name,
			})
		}
		offset += len(s)
	}
	return list
}

// Separated returns the text of the record with a semicolon wherever one is missing between two of its strings.
func (found *Found) Separated() string {
	var b strings.Builder
	text, done := found.List.Text, 0
	for _, joint := range found.joints() {
		b.WriteString(text[done:joint.Location.Offset] + "; ")
		done = joint.Location.Offset
	}
	return b.String() + text[done:]
}

// A ParsedTag is a tag in a report.
type ParsedTag struct {
	Tag         string `json:"tag" doc:"name of the tag"`
	Value       string `json:"value" doc:"its value, or what holds without it"`
	Explicit    bool   `json:"explicit" doc:"whether the record has the tag"`
	Valid       bool   `json:"valid" doc:"whether it is valid"`
	Default     string `json:"default_value,omitempty" doc:"what holds without the tag"`
	Description string `json:"description" doc:"what the tag says"`
}

// maxParsed bounds the tags that a report lists: no format has more than 20, and a record of 64 KiB may have thousands.
const maxParsed = 100

// Parsed lists the tags of the record in order, at most 100 of them, then missing ones that have a default. A tag is
// not valid if it contains a fault that is not harmless.
func (l *List) Parsed() []ParsedTag {
	list := []ParsedTag{}
	for _, t := range l.Tags[:min(len(l.Tags), maxParsed)] {
		d, known := l.format.definition(t.Name)
		if !known {
			d.Description = "Not defined by " + l.format.Protocol + ", and ignored"
		}
		within := func(f Fault) bool {
			return !f.Harmless && f.Offset >= t.Offset && f.Offset <= t.Offset+t.Length &&
				f.Offset+f.Length <= t.Offset+t.Length
		}
		list = append(list, ParsedTag{
			Tag: strings.ToValidUTF8(t.Name, "\uFFFD"), Value: strings.ToValidUTF8(t.Value, "\uFFFD"), Explicit: true,
			Valid: !slices.ContainsFunc(l.Faults, within), Default: d.Default, Description: d.Description,
		})
	}
	for _, d := range l.format.Tags {
		if _, ok := l.Tag(d.Name); !ok && d.Default != "" {
			list = append(list, ParsedTag{d.Name, d.Default, false, true, d.Default, d.Description})
		}
	}
	return list
}

// Pieces splits the text of a broken record into its tags, whatever the separators: it removes the version, which
// version matches, and splits where tag matches the beginning of another tag. Quotation marks and invisible
// characters are removed.
func Pieces(text string, version, tag *regexp.Regexp) (list []string) {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"`\\“”„‟‘’‚‛«»", r) || unicode.Is(unicode.Cf, r) ||
			unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(Entities.Replace(text), ""))
	for segment := range strings.SplitSeq(text, ";") {
		if at := version.FindStringIndex(segment); at != nil {
			segment = segment[at[1]:]
		}
		from := 0
		for _, at := range tag.FindAllStringIndex(segment, -1) {
			list, from = append(list, segment[from:at[0]]), at[0]
		}
		list = append(list, segment[from:])
	}
	for i := range list {
		list[i] = strings.TrimRight(strings.TrimLeft(list[i], " \t,"), " \t")
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
