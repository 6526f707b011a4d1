package page

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// An element is a start tag, or a node of the tree.
type element struct {
	name     string
	atom     atom.Atom
	attrs    []html.Attribute
	foreign  bool // of SVG or MathML
	detached bool // a form that has no content, because a table stood in its way
	capture  *capture
}

func (e *element) attr(name string) (string, bool) {
	for i := range e.attrs {
		if e.attrs[i].Key == name && e.attrs[i].Namespace == "" {
			return clip(strings.Trim(e.attrs[i].Val, whitespace), MaxValue), true
		}
	}
	return "", false
}

func (e *element) value(name string) string {
	v, _ := e.attr(name)
	return v
}

// endMatters reports whether the end of an element means something.
func (e *element) endMatters() bool {
	switch e.atom {
	case atom.Title, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.A, atom.Script, atom.Style,
		atom.Head, atom.Template, atom.Noscript, atom.Svg, atom.Form, atom.Table:
		return true
	}
	return false
}

// A capture collects the text of an element.
type capture struct {
	strings.Builder
	limit int
	code  bool // of a script, a style or noscript
	done  func(c *capture)
}

func (c *capture) add(s string) {
	c.WriteString(clip(s, c.limit-c.Len()))
}

// reader takes what it needs from the elements of a page, in document order.
type reader struct {
	*Page
	host string // of the page

	base      parts  // those of Base
	hasBase   bool   // which has them
	splitBase string // of which Base they are

	head, template, svg, hidden int // how many of them are open
	forms                       []int
	tableForm                   int // index plus 1 of a detached form, 0 without one
	captures                    []*capture
	anchor                      int  // index and 1 of the link that is open
	pending                     bool // white space in the visible text
	words                       strings.Builder
}

// maxCaptures bounds how many texts are collected at once: headings in headings.
const maxCaptures = 8

// capture collects the text of an element up to its end.
func (r *reader) capture(e *element, limit int, done func(c *capture)) {
	if len(r.captures) < maxCaptures {
		code := e.atom == atom.Script || e.atom == atom.Style || e.atom == atom.Noscript // which is not for readers
		e.capture = &capture{limit: limit, code: code, done: done}
		r.captures = append(r.captures, e.capture)
	}
}

// isInvisible reports whether the text of an element is invisible.
func isInvisible(e *element) bool {
	switch e.atom {
	case atom.Script, atom.Style, atom.Template, atom.Title, atom.Noscript, atom.Textarea, atom.Select, atom.Iframe,
		atom.Noembed, atom.Noframes, atom.Datalist, atom.Object, atom.Video, atom.Audio, atom.Canvas:
		return true
	}
	return e.name == "svg" || e.name == "math"
}

func (r *reader) open(e *element, by int) {
	switch {
	case e.name == "svg":
		r.svg += by
		r.Counts.SVGs += max(by, 0)
	case e.foreign:
	case e.atom == atom.Head:
		r.head += by
	case e.atom == atom.Template:
		r.template += by
	}
}

func (r *reader) end(e *element) {
	r.open(e, -1)
	if isInvisible(e) {
		r.hidden--
	} else if r.hidden == 0 && !isInline(e) {
		r.breakLine()
	}
	if i := slices.Index(r.captures, e.capture); e.capture != nil && i >= 0 {
		r.captures = slices.Delete(r.captures, i, i+1)
		e.capture.done(e.capture)
	}
	if e.foreign || r.template > 0 {
		return
	}
	switch e.atom {
	case atom.Form:
		if n := len(r.forms); n > 0 && !e.detached {
			r.forms = r.forms[:n-1]
		}
	case atom.Table:
		r.tableForm = 0
	case atom.A:
		r.anchor = 0
	}
}

func (r *reader) text(s string) {
	n := len(r.captures)
	code := n > 0 && r.captures[n-1].code
	for _, c := range r.captures {
		if c.code == code {
			c.add(s)
		}
	}
	if r.hidden == 0 {
		r.visible(s)
	}
}

// finish ends what was still open, as in a page that was read as tokens.
func (r *reader) finish() {
	for _, c := range slices.Backward(r.captures) {
		c.done(c)
	}
	r.Text = strings.TrimRight(r.words.String(), "\n")
}

// maxInputs bounds the buttons that are kept of a form.
const maxInputs = 50

func (r *reader) startForm(e *element) {
	r.Counts.Forms++
	at := -1
	var f Form
	if action := e.value("action"); action != "" {
		f.Action = r.ref(action)
	}
	if appendBounded(r, &r.Forms, maxForms, 200+f.Action.size(), f) {
		at = len(r.Forms) - 1
	}
	if e.detached {
		r.tableForm = at + 1
		return
	}
	r.forms = append(r.forms, at)
}

func (r *reader) form() *Form {
	at := r.tableForm - 1
	if n := len(r.forms); n > 0 {
		at = r.forms[n-1]
	}
	if at < 0 {
		return nil
	}
	return &r.Forms[at]
}

// input takes an element with which something is entered.
func (r *reader) input(e *element) {
	kind := lower(e.value("type"))
	password := e.atom == atom.Input && kind == "password"
	if password {
		r.Counts.Passwords++
	}
	if e.atom == atom.Input && kind == "image" {
		r.loadsFrom(e, "src", false)
	}
	f := r.form()
	if f == nil {
		return
	}
	if action := e.value("formaction"); action != "" { // where a button sends the form instead
		appendBounded(r, &f.Actions, maxInputs, len(action)+64, r.ref(action))
	}
	f.HasPassword = f.HasPassword || password
}

func (r *reader) breakLine() {
	r.pending = false
	if n := r.words.Len(); n > 0 && n < MaxText && r.words.String()[n-1] != '\n' {
		r.words.WriteByte('\n')
	}
}

// visible takes text that readers see: runs of white space become one space.
func (r *reader) visible(s string) {
	for s != "" {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		if end > 0 {
			r.word(s[:end])
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		r.pending = r.pending || size > 0
		s = s[end+size:]
	}
}

// isInline reports whether an element is inline (html.spec.whatwg.org section 15.3).
func isInline(e *element) bool {
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
