package aggregate

import (
	"strings"
)

// A Kind says what is odd about a report.
type Kind string

// The kinds of faults. Of those that lose something, what could be read before and after is kept.
const (
	// Records or values are lost.
	truncated   Kind = "truncated"    // the file ends before the report does
	badCount    Kind = "bad_count"    // the record is left out: its count is missing, negative or no number
	badAddress  Kind = "bad_address"  // the record is kept without an address: source_ip is none
	badValue    Kind = "bad_value"    // the value is none of those defined, or of another type
	tooLong     Kind = "too_long"     // the text is cut to MaxText bytes
	tooMany     Kind = "too_many"     // more of an element than is kept
	missing     Kind = "missing"      // a required element is absent or empty
	repeated    Kind = "repeated"     // an element that may be there once; the first counts
	malformed   Kind = "malformed"    // not well-formed XML: tags that do not match, an unescaped & or <
	badEntity   Kind = "bad_entity"   // an entity that XML does not define; never expanded
	badEncoding Kind = "bad_encoding" // bytes that are not in the encoding that is declared, or in UTF-8 without one
	badChar     Kind = "bad_char"     // a control character that XML forbids
	Damaged     Kind = "damaged"      // the archive around the XML is broken: a check sum, or its end is missing
	// Nothing is lost.
	doctype   Kind = "doctype"   // a document type declaration; skipped
	oddValue  Kind = "odd_value" // a value in another form than defined, and clear: "Pass", "3.0", a date in words
	empty     Kind = "empty"     // an element that must not be empty, and can be ignored: a reason without type
	unknown   Kind = "unknown"   // an element that no version of the format has; skipped
	misplaced Kind = "misplaced" // an element that belongs elsewhere; read all the same
	oldName   Kind = "old_name"  // a name of a draft
)

const (
	// maxFaults bounds the Faults of a report: each has a kind and element of its own.
	maxFaults = 100
	// maxValue bounds the value that a Place shows, in bytes.
	maxValue = 60
)

const maxPlaces = 5

// A Fault is something odd that a report has, once or many times.
type Fault struct {
	Kind    Kind
	Element string  // the element concerned, below its section: "row/count", "auth_results/dkim/result"; may be empty
	Count   int     // how often it was met
	Places  []Place // the first MaxPlaces of them
}

// A Place is where a Fault is.
type Place struct {
	Record int    // number of the record, from 1; 0 outside of records
	Line   int    // of the XML, from 1
	Offset int64  // in the XML, in bytes
	Value  string // what stands there, shortened; may be empty
}

type faultKey struct {
	kind    Kind
	element string
}

// fault counts a fault, and keeps the first places of it.
func (b *builder) fault(kind Kind, element string, value []byte) {
	key := faultKey{kind, element}
	i, ok := b.faults[key]
	if !ok && len(b.faults) >= maxFaults {
		key.element = "" // one for all further elements
		i, ok = b.faults[key]
	}
	if !ok {
		i = len(b.report.Faults)
		b.faults[key] = i
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

func shorten(value []byte) string {
	s, more := string(value), ""
	if len(value) > maxValue {
		s, more = string(value[:maxValue]), "…"
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ") + more
}
