package bimi

import (
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// The forms in which the parts of broken records are written.
var (
	versionLike = kit.Regexp(`(?i)^\s*(?:[^\s;=]+\s+(?:\d+\s+)?(?:IN\s+)?TXT\s+)?` +
		`(?:v(?:ersion)?\s*[=:]*\s*)?bimi[\s_-]*v?\d*(?:[\s,.:]+|$)`)
	tagInside = kit.Regexp(`(?i)[\s,]+(?:[la]\s*[=:]\s*(?:https?:|$)|(?:avp|lps)\s*=)`)
	tagLike   = kit.Regexp(`(?is)^([a-z1][a-z0-9_]*)\s*=\s*(.*)$`)
	colonLike = kit.Regexp(`(?is)^(l|a|avp|lps)\s*:\s*(.*)$`)
	httpsLike = kit.Regexp(`(?i)^(?:https(?::/*|//+))+`)
)

var tagAliases = map[string]string{
	"location": "l", "logo": "l", "svg": "l", "url": "l", "uri": "l", "authority": "a", "evidence": "a", "vmc": "a",
	"cmc": "a", "certificate": "a",
}

// noCertificate lists values of the a tag that mean "no certificate": drafts before 2021 defined the first.
var noCertificate = []string{"self", "none", "null", "-"}

// correct returns the record as it should be written, with every address of what is published. It is empty if one of
// them is unknown, or nothing needs correction.
func (e *evidence) correct() string {
	texts := e.found.Sources(&e.surroundings.Elsewhere)
	if rest := e.otherTexts(); len(rest) > 0 {
		if s := e.join(slices.Concat(texts, rest)); s != "" {
			return s
		}
	}
	return e.join(texts)
}

func (e *evidence) join(texts []string) string {
	d := draft{tags: map[string]string{}}
	for _, text := range texts {
		if !d.add(text) {
			return ""
		}
	}
	exemplary := e.isValid() && clean(e.record) && !blankVersion(e.found.Records[0]) // all receivers read it alike
	if len(texts) == 0 || len(texts) == 1 && exemplary && !d.renamed {
		return ""
	}
	s := d.String()
	r := record.Parse(s)
	if !clean(&r) || len(s) > dnsmsg.MaxTXTString || !d.keepsAll(texts) {
		return ""
	}
	return s
}

func clean(r *record.Record) bool {
	return !slices.ContainsFunc(r.List.Faults, func(f taglist.Fault) bool { return f.Kind != taglist.Unknown })
}

// blankVersion reports whether a record does not begin with v=BIMI1; as all receivers expect, although its syntax
// allows white space there.
func blankVersion(text string) bool {
	return text != "v="+record.Format.Version && !strings.HasPrefix(text, "v="+record.Format.Version+";")
}

func (e *evidence) otherTexts() (list []string) {
	if e.record == nil || e.place == nil {
		return nil
	}
	for _, s := range e.place.Found.Strays {
		if record.Continues(s.Text) {
			list = append(list, s.Text)
		}
	}
	return list
}

var definedTags = []string{"l", "a", "avp", "lps"}

type draft struct {
	tags    map[string]string
	order   []string // of the tags that BIMI does not define
	renamed bool     // a tag had another name
}

// String writes the tags in the order of the draft's examples. Without l the other tags are meaningless.
func (d *draft) String() string {
	s := "v=" + record.Format.Version + ";"
	for _, name := range slices.Concat(definedTags, d.order) {
		if value, ok := d.tags[name]; ok {
			s += " " + name + "=" + value + ";"
		}
	}
	return s
}

// keepsAll reports whether all URIs and prefixes that receivers can use are kept, and the record declines only if it
// did before.
func (d *draft) keepsAll(texts []string) bool {
	after := record.Parse(d.String())
	for _, text := range texts {
		before := record.Parse(text)
		if after.Declined && !before.Declined {
			return false
		}
		if !record.Format.Is(text) { // receivers ignore it entirely
			continue
		}
		lost := func(prefix string) bool { return !slices.Contains(after.Prefixes, prefix) }
		if before.Location.Usable() && before.Location.Text != after.Location.Text ||
			before.Authority.Usable() && before.Authority.Text != after.Authority.Text ||
			before.LocalPartSelectors && !after.LocalPartSelectors || slices.ContainsFunc(before.Prefixes, lost) {
			return false
		}
	}
	return true
}

// add adds the tags of a text, which may be broken, as its author meant them. It reports false if something would be
// lost: a URI that cannot be parsed, a text that is not a tag, a second URI.
func (d *draft) add(text string) bool {
	for _, piece := range taglist.Pieces(text, versionLike(), tagInside()) {
		m := tagLike().FindStringSubmatch(piece)
		if m == nil {
			m = colonLike().FindStringSubmatch(piece)
		}
		if m == nil || !d.assign(intendedTag(m[1], m[2]), m[1], strings.TrimSpace(m[2])) {
			return false
		}
	}
	return true
}

func intendedTag(typed, value string) string {
	name := strings.ToLower(typed)
	if _, known := tagAliases[name]; known {
		return tagAliases[name]
	}
	lookalike := (name == "1" || name == "i") && httpsLike().MatchString(value)
	preference := strings.EqualFold(value, "brand") || strings.EqualFold(value, "personal")
	switch near := phrase.Nearest(name, "avp", "lps"); {
	case slices.Contains(definedTags, name):
		return name
	case lookalike:
		return "l"
	case near == "lps", near == "avp" && preference:
		return near
	case (name == "s" || name == "p") && preference: // avp in older drafts
		return "avp"
	default:
		return typed
	}
}

func (d *draft) assign(name, typed, value string) bool {
	switch name {
	case "l", "a":
		value = strings.Trim(value, "<>, \t")
		if name == "a" && slices.Contains(noCertificate, strings.ToLower(value)) {
			value = ""
		}
		value = httpsLike().ReplaceAllString(value, "https://")
	case "avp":
		if value = strings.ToLower(value); value != string(record.Brand) && value != string(record.Personal) {
			return true // receivers ignore it
		}
	case "lps":
		list := prefixes(value)
		if list == "" && value != "" { // which would mean every local part
			return false
		}
		value = list
	default:
		version := strings.EqualFold(name, "v")
		if version && value != "" && phrase.Nearest(value, record.Format.Version) == "" { // another version
			return false
		}
		if version || value == "" {
			return true
		}
	}
	before, repeated := d.tags[name]
	if repeated && before != value {
		return false
	}
	_, known := tagAliases[strings.ToLower(typed)]
	d.renamed = d.renamed || known || name != typed
	if !slices.Contains(definedTags, name) && !repeated {
		d.order = append(d.order, name)
	}
	u := record.Parse("v=BIMI1; l=" + value).Location
	if (name == "l" || name == "a") && u.Fault == record.Comma {
		value = strings.ReplaceAll(value, ",", "%2C")
	}
	d.tags[name] = value
	return true
}

// prefixes writes the prefixes of lps as local parts are compared: a dot or an underscore as a hyphen (section 4.5 of
// the draft).
func prefixes(value string) string {
	var list []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, strings.NewReplacer(".", "-", "_", "-").Replace(part))
		}
	}
	return strings.Join(list, ",")
}
