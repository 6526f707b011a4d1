package policy

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// A Draft is a record in the making: tags in order.
type Draft []Setting

// A Setting is a tag and its value.
type Setting struct{ Tag, Value string }

// NewDraft begins a record with its version and p.
func NewDraft(p Policy) Draft { return Draft{{"v", Format.Version}, {"p", string(p)}} }

// DraftOf begins with the tags of a list, of each name the first.
func DraftOf(l *taglist.List) Draft {
	var d Draft
	for _, t := range l.Tags {
		if !t.Repeated {
			d = append(d, Setting{t.Name, t.Value})
		}
	}
	return d
}

func (d Draft) index(name string) int {
	return slices.IndexFunc(d, func(s Setting) bool { return strings.EqualFold(s.Tag, name) })
}

// Get returns the value of a tag.
func (d Draft) Get(name string) (value string, ok bool) {
	if i := d.index(name); i >= 0 {
		return d[i].Value, true
	}
	return "", false
}

// Set gives a tag a value, in its place if it has one, else at the end.
func (d *Draft) Set(name, value string) {
	if i := d.index(name); i >= 0 {
		(*d)[i].Value = value
		return
	}
	*d = append(*d, Setting{name, value})
}

// SetFirst gives a tag a value and puts it at a position, such as p behind the version.
func (d *Draft) SetFirst(position int, name, value string) {
	d.Remove(name)
	*d = slices.Insert(*d, min(position, len(*d)), Setting{name, value})
}

// Remove takes a tag out, if it is there.
func (d *Draft) Remove(name string) {
	if i := d.index(name); i >= 0 {
		*d = slices.Delete(*d, i, i+1)
	}
}

// String prints the record.
func (d Draft) String() string {
	return strings.Join(diag.Map(d, func(s Setting) string { return s.Tag + "=" + s.Value }), "; ")
}
