package tlsrpt

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// The forms in which the parts of broken records are written.
var (
	versionLike = diag.Regexp(`(?i)^\s*(?:v(?:ersion)?\s*[=:]*\s*)?tls[\s_-]*rpt[\s_-]*v?1?(?:[\s,.:]+|$|\b)`)
	ruaInside   = diag.Regexp(`(?i)[\s,]+rua\s*=`)
)

// correct returns the record as it should be written, with every destination of what is published. It is empty if one
// of them is not known, or nothing needs correction.
func (e *evidence) correct() string {
	texts := e.found.Sources(&e.elsewhere)
	var d draft
	for _, text := range texts {
		if !d.add(text) {
			return ""
		}
	}
	s := d.String()
	if len(texts) == 0 || len(d.rua) == 0 || e.valid() && same(s, texts[0]) {
		return ""
	}
	if _, err := ParseRecord(s); err != nil || len(s) > diag.MaxTXTString || !d.keeps(texts) {
		return ""
	}
	return s
}

// keeps reports whether no address is lost that can be read as it is.
func (d *draft) keeps(texts []string) bool {
	for _, text := range texts {
		l := format.Parse(text)
		for _, a := range addresses(&l) {
			kept := func(uri string) bool { return strings.EqualFold(uri, a.Text) }
			if a.valid() && !slices.ContainsFunc(d.rua, kept) {
				return false
			}
		}
	}
	return true
}

// same reports whether two records differ in nothing but what senders ignore.
func same(a, b string) bool {
	squeeze := func(s string) string { return strings.TrimSuffix(strings.Join(strings.Fields(s), ""), ";") }
	return squeeze(a) == squeeze(b) && !blankVersion(a) && !blankVersion(b)
}

// blankVersion reports whether white space follows the version, which some senders do not expect.
func blankVersion(record string) bool { return !strings.HasPrefix(record, "v="+format.Version+";") }

type draft struct {
	rua    []string
	others []taglist.Tag
}

func (d *draft) String() string {
	s := "v=" + format.Version + "; rua=" + strings.Join(d.rua, ",")
	for _, t := range d.others {
		s += "; " + t.Name + "=" + t.Value
	}
	return s
}

// add takes what a text says, which may be broken, as its author meant it. It reports false where something would be
// lost: a destination that cannot be read, a text that is no field.
func (d *draft) add(text string) bool {
	last := ""
	for _, piece := range taglist.Pieces(text, versionLike(), ruaInside()) {
		piece = strings.TrimRight(piece, " \t,")
		name, value, ok := strings.Cut(piece, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch meant := taglist.Nearest(name, "rua", "v"); {
		case strings.EqualFold(name, "v") && ok:
			return false // a second version
		case last == "rua" && strings.Contains(piece, "@") && !(ok && format.ValidName(name)):
			name, value = "rua", piece // a semicolon instead of a comma
		case !ok:
			return false
		case meant == "rua" && !strings.EqualFold(name, "ruf"): // which DMARC has
			name = meant
		}
		if last = name; !d.assign(name, value) {
			return false
		}
	}
	return true
}

func (d *draft) assign(name, value string) bool {
	if name != "rua" {
		before := slices.ContainsFunc(d.others, func(t taglist.Tag) bool { return t.Name == name })
		if !before {
			d.others = append(d.others, taglist.Tag{Name: name, Value: value})
		}
		return format.ValidName(name) && value != ""
	}
	list, ok := policy.RestoreURIs(strings.ReplaceAll(value, "\t", " "))
	for _, uri := range list {
		if a := readAddress(uri); !a.valid() {
			return false
		}
	}
	d.rua = policy.UniqueURIs(append(d.rua, list...))
	return ok
}
