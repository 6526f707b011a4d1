package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// visible takes text that readers see: runs of white space become one space.
func (r *reader) visible(s string) {
	for s != "" {
		end, size := space(s)
		if end > 0 {
			r.word(s[:end])
		}
		r.pending = r.pending || size > 0
		s = s[end+size:]
	}
}

// space returns where the first white space of a text is, and its length in bytes: the text's and 0 if there is none.
func space(s string) (at, size int) {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c == ' ' || '\t' <= c && c <= '\r' {
				return i, 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			return i, n
		}
		i += n
	}
	return len(s), 0
}

func (r *reader) word(s string) {
	n := r.words.Len()
	if r.pending && n > 0 && r.words.String()[n-1] != '\n' {
		r.TextBytes++
		if n < MaxText {
			r.words.WriteByte(' ')
		}
	}
	r.pending = false
	r.TextBytes += len(s)
	if room := MaxText - r.words.Len(); len(s) > room {
		r.TextCut = true
		s = clip(s, max(room, 0))
	}
	if !r.TextCut || s != "" {
		r.words.WriteString(s)
	}
}

func (r *reader) breakLine() {
	r.pending = false
	if n := r.words.Len(); n > 0 && n < MaxText && r.words.String()[n-1] != '\n' {
		r.words.WriteByte('\n')
	}
}

// inline reports whether an element stands within a line (html.spec.whatwg.org section 15.3).
func inline(e *element) bool {
	switch e.atom {
	case atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data, atom.Del,
		atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Map, atom.Mark, atom.Meter,
		atom.Nobr, atom.Progress, atom.Q, atom.Rp, atom.Rt, atom.Ruby, atom.S, atom.Samp, atom.Small, atom.Span,
		atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr, atom.Picture,
		atom.Source, atom.Script, atom.Style, atom.Link, atom.Meta, atom.Template, atom.Noscript:
		return true
	}
	return e.foreign || e.atom == 0 // custom elements are inline unless a style says otherwise
}

// whitespace is that of HTML (infra.spec.whatwg.org, "ASCII whitespace").
const whitespace = " \t\n\f\r"

// collapse makes one space of each run of white space, and none at the ends.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip cuts a text to a number of bytes, between characters. What it returns holds no longer text in memory.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

func hasPrefix(s, prefix string) bool { return strings.HasPrefix(s, prefix) && len(s) > len(prefix) }

// tokens splits a set of space-separated tokens, in lower case, at most a few.
func tokens(s string) []string {
	const most = 20
	list := strings.FieldsFunc(clip(lower(s), MaxValue), func(r rune) bool { return strings.ContainsRune(whitespace, r) })
	return list[:min(len(list), most)]
}

// lower is ASCII lower case, by which HTML compares.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}

// essence is a media type without its parameters, in lower case (mimesniff.spec.whatwg.org).
func essence(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return lower(strings.Trim(mediaType, whitespace))
}
