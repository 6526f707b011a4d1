package logo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

// of completes a rule about one kind of fault in the image: it applies if the image was examined to its end, for what
// comes behind the place where reading ended nobody knows, or if there is such a fault before.
func of(k svg.Kind, r diag.Rule[*evidence]) diag.Rule[*evidence] {
	r.Severity = k.Severity()
	if r.Ref == "" {
		r.Ref = refProfile
	}
	r.When = func(e *evidence) bool {
		d := e.document()
		return d != nil && (d.Complete || d.Counts[k] > 0)
	}
	r.Fails = func(e *evidence) diag.Failures { return list(e.document(), k) }
	return r
}

// document is what was learned about the image; nil without one.
func (e *evidence) document() *svg.Document {
	if e.fetched == nil {
		return nil
	}
	return e.fetched.Document
}

// maxListed is how many places of one kind of fault are told; the rest is counted.
const maxListed = 8

// A repeat is a fault with how often it stands in the image: one export option makes the same fault on every shape.
type repeat struct {
	svg.Fault
	more int
}

// list fails with the faults of one kind, those of the same element and attribute as one.
func list(d *svg.Document, k svg.Kind) (all diag.Failures) {
	var repeats []repeat
	for _, f := range d.Of(k) {
		i := slices.IndexFunc(repeats, func(r repeat) bool { return r.Element == f.Element && r.Attribute == f.Attribute })
		if i >= 0 {
			repeats[i].more++
		} else {
			repeats = append(repeats, repeat{f, 0})
		}
	}
	told := 0
	for i, r := range repeats[:min(len(repeats), maxListed)] {
		told += 1 + r.more
		rest := 0
		if i == maxListed-1 || i == len(repeats)-1 {
			rest = d.Counts[k] - told
		}
		all = append(all, diag.Failure{Detail: detail(r, rest), Target: target(r.Fault), Advice: adviceFor(r.Fault)})
	}
	return all
}

// detail writes a fault with its place, how often it is repeated, and how many others are not told.
func detail(r repeat, rest int) string {
	text := strings.TrimSuffix(r.Message, ".")
	if r.Line > 0 {
		text += fmt.Sprintf(" (line %d, column %d", r.Line, r.Column)
		if r.more > 0 {
			text += fmt.Sprintf(", and %s", diag.Count(r.more, "more time"))
		}
		text += ")"
	}
	text += "."
	if rest > 0 {
		text += fmt.Sprintf(" There are %s of this kind.", others(rest))
	}
	return text
}

func others(n int) string {
	if n == 1 {
		return "1 other fault"
	}
	return fmt.Sprintf("%d other faults", n)
}

// target names the element and the attribute of a fault.
func target(f svg.Fault) string {
	if f.Attribute == "" {
		return f.Element
	}
	return f.Element + " " + f.Attribute
}
