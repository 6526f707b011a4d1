package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
)

// A PlanFormat is an output format of a plan other than text for a terminal.
type PlanFormat string

// The formats.
const (
	PlanZone     PlanFormat = "zone"     // lines of zone files: each set takes the place of that of its name and type
	PlanNSUpdate PlanFormat = "nsupdate" // commands of nsupdate of BIND
	PlanJSON     PlanFormat = "json"
)

// Values lists them.
func (PlanFormat) Values() []string { return kit.Values(PlanZone, PlanNSUpdate, PlanJSON) }

// Format writes the plan for a program.
func (p *Plan) Format(f PlanFormat) ([]byte, error) {
	var b bytes.Buffer
	if f == PlanJSON {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err := e.Encode(p)
		return b.Bytes(), err
	}
	comment := func(format string, args ...any) {
		fmt.Fprintf(&b, "; %s\n", render.Printable(fmt.Sprintf(format, args...)))
	}
	comment("%s: %s", p.Domain, p.Before.text())
	if f == PlanZone {
		fmt.Fprintf(&b, "$ORIGIN %s.\n", p.Domain)
	}
	for _, s := range p.Steps {
		b.WriteString("\n")
		comment("%d. %s", s.Number, s.heading())
		comment("%s", s.Text)
		s.changes(&b, f)
		if len(s.Changes) == 0 {
			if s.Name != "" {
				comment("at %s", s.Name)
			}
			for line := range strings.Lines(s.Value) { // a value that is not a record, as an MTA-STS policy
				comment("  %s", strings.TrimRight(line, "\r\n"))
			}
		}
		for _, line := range s.remarks() {
			comment("%s: %s", line[0], line[1])
		}
	}
	b.WriteString("\n")
	comment("%s", p.conclusion())
	return b.Bytes(), nil
}

// changes writes those of a step. Changes that must not be published unmodified, or not yet, are in a comment.
func (s *PlanStep) changes(b *bytes.Buffer, f PlanFormat) {
	off := view.TextIf(s.Worse != nil || s.ByHand != "", "; ")
	for _, c := range s.Changes {
		if f == PlanZone {
			for _, line := range c.Removed {
				fmt.Fprintf(b, "; removes %s\n", line)
			}
			for _, line := range c.Lines {
				fmt.Fprintf(b, "%s%s\n", off, line)
			}
			continue
		}
		for _, line := range c.Removed {
			fmt.Fprintf(b, "%supdate delete %s\n", off, line)
		}
		for _, line := range c.Added {
			fmt.Fprintf(b, "%supdate add %s\n", off, line)
		}
	}
	if f == PlanNSUpdate && len(s.Changes) > 0 {
		fmt.Fprintf(b, "%ssend\n", off)
	}
}

func (s *PlanStep) heading() string {
	if s.Title == "" {
		return string(s.Code)
	}
	return s.Title + " (" + string(s.Code) + ")"
}

// remarks returns what to know about a step, each with its label.
func (s *PlanStep) remarks() (list [][2]string) {
	add := func(label, text string) {
		if text != "" {
			list = append(list, [2]string{label, text})
		}
	}
	for _, w := range s.Worse {
		add("MAKES IT WORSE, do not publish it", w)
	}
	if !s.Due.IsZero() {
		add("due", s.Due.UTC().Format(time.DateOnly))
	}
	switch {
	case s.ByHand == "":
	case len(s.Changes) > 0:
		add("effect not computed", s.ByHand)
	default:
		add("by hand", s.ByHand)
	}
	if s.Result != nil {
		add("then", s.Result.text())
	}
	add("check", s.Check)
	if s.Visible > 0 {
		add("wait", "up to "+view.Seconds(s.Visible)+", until resolvers have forgotten what was there")
	}
	return list
}

// text is the outcome in a line.
func (s *Standing) text() string {
	score, state := "", string(s.State)
	if s.Score != nil {
		score = fmt.Sprintf("%d/100", *s.Score)
	}
	if state != "" {
		state = "mail " + state
	}
	return view.Join(view.List(state, score), counts(s.findings), s.Headline)
}

func (p *Plan) conclusion() string {
	switch {
	case len(p.Steps) == 0:
		return "Nothing is to be done."
	case len(p.ByHand) == 0:
		return "After all steps: " + p.Result.text()
	case len(p.ByHand) == len(p.Steps):
		return "No step is a change in the DNS whose effect can be computed: all are done by hand."
	}
	numbers := kit.Map(p.ByHand, func(n int) string { return fmt.Sprint(n) })
	return fmt.Sprintf("After the other steps: %s. Left by hand: %s.",
		strings.TrimSuffix(p.Result.text(), "."), "step"+view.TextIf(len(numbers) > 1, "s")+" "+strings.Join(numbers, ", "))
}

// Text writes the plan for a terminal.
func (p *Plan) Text(w io.Writer, o render.Options) error {
	list := []render.Paragraph{{Lead: "PLAN  ", Text: p.Domain, Strong: true}, {Lead: "  now: ", Text: p.Before.text()}}
	for _, s := range p.Steps {
		lead := fmt.Sprintf("%3d. ", s.Number)
		indent := strings.Repeat(" ", len(lead))
		list = append(list, render.Paragraph{}, render.Paragraph{Lead: lead, Text: s.heading(), Strong: true},
			render.Paragraph{Lead: indent, Text: s.Text})
		for _, c := range s.Changes {
			for _, line := range c.Removed {
				list = append(list, render.Paragraph{Lead: indent + "- ", Text: line, Literal: true})
			}
			for _, line := range c.Added {
				list = append(list, render.Paragraph{Lead: indent + "+ ", Text: line, Literal: true})
			}
		}
		if len(s.Changes) == 0 {
			if s.Name != "" {
				list = append(list, render.Paragraph{Lead: indent + "at ", Text: s.Name, Literal: true})
			}
			for line := range strings.Lines(s.Value) {
				text := strings.TrimRight(line, "\r\n")
				list = append(list, render.Paragraph{Lead: indent + "  ", Text: text, Literal: true})
			}
		}
		for _, r := range s.remarks() {
			list = append(list, render.Paragraph{Lead: indent + r[0] + ": ", Text: r[1], Literal: r[0] == "check"})
		}
	}
	list = append(list, render.Paragraph{}, render.Paragraph{Text: p.conclusion(), Strong: true})
	return render.Paragraphs(w, list, o)
}
