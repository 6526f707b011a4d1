package aggregate

import (
	"bytes"
	"slices"
	"strings"
)

// maxDepth bounds the nesting of elements that are distinguished; a report has six levels.
const maxDepth = 64

// A builder builds a report from the tags and texts of a scanner.
type builder struct {
	report   *Report
	number   int // of the report in the file, from 0
	capacity *capacity
	each     func(*Record) error
	err      error // why to stop
	scan     *scanner

	stack        []frame
	skippedDepth int // elements open below maxDepth
	tag          tag // that of the innermost element, while it is opened
	text         []byte
	overrun      bool // text is cut
	cut          bool // the XML ends inside a tag, comment or similar

	policy       *Policy // that of the report, once it is read
	rec          Record
	inRecord     bool
	counted      bool // rec has a count
	countInvalid bool // which is not a number

	root         string // name of the first element
	ended        bool   // the end tag of feedback was met
	trailingData bool   // data other than XML follows: an archive, or XML in another encoding
	has          struct{ feedback, metadata, policy, record bool }
	faults       map[faultKey]int // index in report.Faults
	names        map[string]string
	idn          map[string]string // names beyond ASCII, in their DNS form
}

// capacity is the remaining capacity for all reports of a file.
type capacity struct{ records, faults, errors, extensions int }

type frame struct {
	name    string
	section *section // of the element, or of that around it if the element is a wrapper
	leaf    *leaf
	wrapper bool // unknown; what is in it counts as if it were not there
}

// beginsReport reports whether a tag begins a report after this one, which may be truncated.
func (b *builder) beginsReport(t tag) bool {
	begun := b.has.metadata || b.has.policy || b.has.record
	switch name := strings.ToLower(string(t.name)); name {
	case feedback.name:
		return b.ended || begun
	case metadata.name: // a report without a root
		return b.ended || b.has.metadata && b.has.record && len(b.stack) == 0
	}
	return false
}

// enclosing are the elements that are open around the reports of a file.
func (b *builder) enclosing() []frame {
	n := 0
	for n < len(b.stack) && b.stack[n].wrapper && b.stack[n].section == top {
		n++
	}
	return slices.Clone(b.stack[:n])
}

func (b *builder) startTag(t tag) {
	if b.skippedDepth > 0 || len(b.stack) == maxDepth {
		if !t.empty {
			b.skippedDepth++
		}
		return
	}
	f := b.resolve(t)
	if b.tag = t; f.section != nil && f.section.open != nil && !f.wrapper && !f.section.open(b) {
		f.section = opaque
	}
	b.stack = append(b.stack, f)
	if t.empty {
		b.close()
	}
}

func (b *builder) resolve(t tag) frame {
	name := b.intern(t.name)
	if len(b.stack) == 0 {
		return b.resolveRoot(t, name)
	}
	if b.innermost().leaf != nil {
		if _, ok := b.lookup(b.parent(), name); !ok {
			b.fault(FaultUnknown, b.pathOf(name), nil)
			return frame{name: name, leaf: b.innermost().leaf, wrapper: true} // such as <b>: its text counts
		}
		b.fault(FaultMalformed, b.path(), t.name)
		for b.innermost().leaf != nil {
			b.close() // its end tag is missing
		}
	}
	in := b.innermost()
	if in.section == opaque {
		return frame{name: name, section: opaque}
	}
	c, ok := b.lookup(in, name)
	if !ok {
		b.fault(FaultUnknown, b.pathOf(name), nil)
		if in.section == top || in.section == feedback {
			return frame{name: name, section: in.section, wrapper: true} // there may be records in it
		}
		return frame{name: name, section: opaque}
	}
	if c.fault != "" {
		b.fault(c.fault, b.pathOf(name), nil)
	}
	if c.section != nil && outermost[c.section.name].section != nil {
		b.closeSections()
	}
	return frame{name: name, section: c.section, leaf: c.leaf}
}

func (b *builder) resolveRoot(t tag, name string) frame {
	if b.root == "" {
		b.root = name
		if len(t.prefix) > 0 {
			b.report.Namespace = attribute(t.attributes, "xmlns:"+string(t.prefix))
		} else {
			b.report.Namespace = attribute(t.attributes, "xmlns")
		}
	}
	switch c, known := outermost[name]; {
	case b.ended && known: // its end tag is too early
		b.fault(FaultMalformed, b.pathOf(name), nil)
		return frame{name: name, section: c.section}
	case b.ended:
		b.fault(FaultMalformed, b.pathOf(name), nil)
	case strings.EqualFold(name, feedback.name):
		return frame{name: name, section: feedback}
	case known:
		return frame{name: name, section: c.section} // there is no root
	}
	return frame{name: name, section: top, wrapper: true}
}

// lookup returns the meaning of a name below an element: as defined there, or if it has a single meaning anywhere,
// regardless of case.
func (b *builder) lookup(in *frame, name string) (child, bool) {
	if c, ok := in.section.children[name]; ok && (c.section != nil || !in.wrapper) {
		return c, true
	}
	if c, ok := outermost[name]; ok {
		return c, true
	}
	anywhere := outsideRecord
	if b.inRecord {
		anywhere = inRecord
	}
	if c, ok := anywhere[name]; ok && (c.section != nil || !in.wrapper) {
		return c.withFault(FaultMisplaced), true
	}
	if folded := strings.ToLower(name); folded != name {
		c, ok := b.lookup(in, folded)
		return c.withFault(FaultOldName), ok
	}
	return child{}, false
}

// closeSections ends what a section of the report cannot be in.
func (b *builder) closeSections() {
	for len(b.stack) > 0 && b.innermost().section != feedback && b.innermost().section != top {
		b.fault(FaultMalformed, b.path(), nil)
		b.close()
	}
}

func (b *builder) innermost() *frame { return &b.stack[len(b.stack)-1] }

func (b *builder) parent() *frame {
	i := len(b.stack) - 1
	for b.stack[i].leaf != nil {
		i--
	}
	return &b.stack[i]
}

// endTag closes the innermost element of a name, and those in it, whose end tags are missing.
func (b *builder) endTag(name []byte) {
	if b.skippedDepth > 0 {
		b.skippedDepth--
		return
	}
	i := len(b.stack) - 1
	for i >= 0 && b.stack[i].name != string(name) {
		i--
	}
	if i < 0 {
		b.fault(FaultMalformed, b.path(), name)
		return
	}
	for len(b.stack) > i+1 {
		b.fault(FaultMalformed, b.path(), name)
		b.close()
	}
	b.close()
}

func (b *builder) close() {
	f := *b.innermost()
	switch {
	case f.wrapper:
	case f.leaf != nil:
		f.leaf.read(b, f.leaf, b.value(f.leaf.path))
		b.text, b.overrun = b.text[:0], false
	case f.section.closed != nil:
		f.section.closed(b)
	}
	b.stack = b.stack[:len(b.stack)-1]
}

func (b *builder) chars(piece []byte, entities bool) {
	if b.skippedDepth > 0 {
		return
	}
	if len(b.stack) == 0 || b.innermost().leaf == nil {
		if len(b.stack) > 0 && (b.innermost().section == opaque || b.innermost().section == top) {
			return
		}
		if len(b.stack) == 0 {
			piece = bytes.ReplaceAll(piece, []byte("\ufeff"), nil)
		}
		if text := bytes.TrimLeft(piece, " \t\r\n"); b.ended && len(b.stack) == 0 && isOtherFormat(text) {
			b.trailingData = true
		}
		for i, c := range piece {
			if c > ' ' {
				b.fault(FaultMalformed, b.path(), piece[i:])
				return
			}
		}
		return
	}
	if room := maxText - len(b.text); len(piece) > room {
		b.overrun = true
		piece = piece[:room]
	}
	if entities && bytes.IndexByte(piece, '&') >= 0 {
		b.unescape(piece)
		return
	}
	b.text = append(b.text, piece...)
}

// path names the innermost element as Faults do.
func (b *builder) path() string {
	if len(b.stack) == 0 {
		return ""
	}
	if f := b.innermost(); f.leaf != nil {
		return f.leaf.path
	} else {
		return f.section.name
	}
}

func (b *builder) pathOf(name string) string {
	name = shorten([]byte(name))
	if in := b.path(); in != "" {
		return in + "/" + name
	}
	return name
}

// These are called where sections begin and end.

func (b *builder) openFeedback() bool { b.has.feedback = true; return true }
func (b *builder) closeFeedback()     { b.ended = true }
func (b *builder) openMetadata() bool { b.has.metadata = true; return true }
func (b *builder) openPolicy() bool   { b.has.policy = true; return true }
func (b *builder) closePolicy()       { b.policy = &b.report.Policy }

func (b *builder) openRecord() bool {
	if b.capacity.records == 0 {
		b.report.Excess = true
		b.fault(FaultTooMany, "record", nil)
		return false
	}
	b.capacity.records--
	line, _ := b.scan.place()
	b.rec = Record{
		Report: b.number, Number: b.report.Records + 1, Line: line, Policy: b.policy, Overrides: b.rec.Overrides[:0],
		DKIMAuth: b.rec.DKIMAuth[:0], SPFAuth: b.rec.SPFAuth[:0], Extensions: b.rec.Extensions[:0],
	}
	b.inRecord, b.counted, b.countInvalid = true, false, false
	return true
}

func (b *builder) closeRecord() {
	defer func() { b.inRecord = false }()
	r := &b.rec
	b.report.Records++
	b.has.record = b.has.record || r.SourceText != "" || b.counted // other XML has elements of that name too
	b.require("row/source_ip", r.SourceText)
	b.require("policy_evaluated/disposition", string(r.Disposition))
	b.require("policy_evaluated/dkim", string(r.DKIM))
	b.require("policy_evaluated/spf", string(r.SPF))
	b.require("identifiers/header_from", r.HeaderFrom)
	if !b.counted {
		b.fault(FaultBadCount, "row/count", nil)
	}
	if b.counted && !b.countInvalid {
		b.report.Read++
		b.report.Messages += r.Count
		b.err = b.each(r)
	}
}

func (b *builder) require(path, value string) {
	if value == "" {
		b.fault(FaultMissing, path, nil)
	}
}

func (b *builder) openReason() bool {
	return appendEmpty(b, &b.rec.Overrides, "policy_evaluated/reason")
}

func (b *builder) closeReason() {
	switch o := *last(b.rec.Overrides); {
	case o == Override{}:
		b.fault(FaultEmpty, "policy_evaluated/reason", nil)
		removeLast(&b.rec.Overrides)
	case o.Type == "":
		b.fault(FaultMissing, "policy_evaluated/reason/type", []byte(o.Comment))
	}
}

func (b *builder) openDKIM() bool { return appendEmpty(b, &b.rec.DKIMAuth, "auth_results/dkim") }

func (b *builder) closeDKIM() {
	d := *last(b.rec.DKIMAuth)
	if (d == DKIMAuth{}) {
		b.fault(FaultEmpty, "auth_results/dkim", nil)
		removeLast(&b.rec.DKIMAuth)
		return
	}
	b.require("auth_results/dkim/domain", d.Domain)
	b.require("auth_results/dkim/result", string(d.Result))
}

func (b *builder) openSPF() bool { return appendEmpty(b, &b.rec.SPFAuth, "auth_results/spf") }

func (b *builder) closeSPF() {
	s := *last(b.rec.SPFAuth)
	if (s == SPFAuth{}) {
		b.fault(FaultEmpty, "auth_results/spf", nil)
		removeLast(&b.rec.SPFAuth)
		return
	}
	b.require("auth_results/spf/domain", s.Domain)
	b.require("auth_results/spf/result", string(s.Result))
}

func (b *builder) openExtension() bool {
	list := &b.report.Extensions
	switch {
	case b.inRecord:
		list = &b.rec.Extensions
	case b.capacity.extensions == 0:
		b.fault(FaultTooMany, "extensions/extension", nil)
		return false
	default:
		b.capacity.extensions--
	}
	if appendEmpty(b, list, "extensions/extension") {
		*last(*list) = Extension{b.internText(attribute(b.tag.attributes, "name")),
			b.internText(attribute(b.tag.attributes, "definition"))}
	}
	return false
}

func appendEmpty[T any](b *builder, list *[]T, path string) bool {
	if len(*list) == maxAuth {
		b.fault(FaultTooMany, path, nil)
		return false
	}
	*list = append(*list, *new(T))
	return true
}

func last[T any](list []T) *T { return &list[len(list)-1] }

func removeLast[T any](list *[]T) { *list = (*list)[:len(*list)-1] }

func (b *builder) fault(kind Kind, element string, value []byte) {
	key := faultKey{kind, element}
	i, ok := b.faults[key]
	if !ok && (len(b.faults) >= maxFaults || b.capacity.faults == 0) {
		key.element = "" // one for all further elements
		i, ok = b.faults[key]
	}
	if !ok {
		i = len(b.report.Faults)
		b.faults[key] = i
		if key.element != "" {
			b.capacity.faults--
		}
		b.report.Faults = append(b.report.Faults, Fault{Kind: kind, Element: key.element})
	}
	f := &b.report.Faults[i]
	if f.Count++; f.Count > maxPlaces {
		return
	}
	p := Place{Value: shorten(value)}
	p.Line, p.Offset = b.scan.place()
	if b.inRecord {
		p.Record = b.rec.Number
	}
	f.Places = append(f.Places, p)
}
