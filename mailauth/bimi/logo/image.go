package logo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

// of completes a rule about one kind of fault in the image: it applies if the image was examined to its end, for what
// comes behind the place where reading ended nobody knows, or if there is such a fault before.
func of(k svg.Kind, r rule) rule {
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

func (e *evidence) document() *svg.Document {
	if e.fetched == nil {
		return nil
	}
	return e.fetched.Document
}

// maxListed is how many findings one kind of fault makes, and how many places a finding names; the rest is counted.
const maxListed = 8

// A repeat is a fault with how often it stands in the image: one export option makes the same fault on every shape.
type repeat struct {
	svg.Fault
	more int
}

// list fails with the faults of one kind. Those of the same element and attribute are one, and what has one remedy is
// told in one finding.
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
	var groups [][]repeat
	for _, r := range repeats {
		i := slices.IndexFunc(groups, func(g []repeat) bool { return remedy(g[0].Fault) == remedy(r.Fault) })
		if i >= 0 {
			groups[i] = append(groups[i], r)
		} else {
			groups = append(groups, []repeat{r})
		}
	}
	groups = groups[:min(len(groups), maxListed)]
	rest := d.Counts[k]
	for i, g := range groups {
		for _, r := range g[:min(len(g), maxListed)] {
			rest -= 1 + r.more
		}
		text := detail(g)
		if i == len(groups)-1 && rest > 0 {
			text += fmt.Sprintf(" There are %s of this kind.", others(rest))
		}
		all = append(all, diag.Failure{Detail: text, Target: target(g[0].Fault), Advice: adviceFor(g[0].Fault)})
	}
	return all
}

// remedy is the same for faults that one change removes.
func remedy(f svg.Fault) string {
	switch f.Kind {
	case svg.Script, svg.EventHandler, svg.Stylesheet, svg.EditorData, svg.Animation, svg.RasterImage, svg.Font, svg.Lettering:
		return ""
	}
	return cmp.Or(adviceFor(f), target(f))
}

// detail writes the first of some faults with its place, and where else there are such.
func detail(g []repeat) string {
	text := strings.TrimSuffix(g[0].Message, ".") + place(g[0]) + "."
	var also []string
	for _, r := range g[1:min(len(g), maxListed)] {
		also = append(also, target(r.Fault)+place(r))
	}
	if len(also) > 0 {
		text += " The same applies to " + strings.Join(also, ", ") + "."
	}
	return text
}

func place(r repeat) string {
	switch {
	case r.Line == 0:
		return ""
	case r.more > 0:
		return fmt.Sprintf(" (line %d, column %d, and %s)", r.Line, r.Column, diag.Count(r.more, "more time"))
	}
	return fmt.Sprintf(" (line %d, column %d)", r.Line, r.Column)
}

func others(n int) string {
	if n == 1 {
		return "1 other fault"
	}
	return fmt.Sprintf("%d other faults", n)
}

func target(f svg.Fault) string {
	if f.Attribute == "" {
		return f.Element
	}
	return f.Element + " " + f.Attribute
}
