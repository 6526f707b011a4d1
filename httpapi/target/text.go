package target

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/textutil"
)

// Screen returns the view for the command line: its foot names the command that shows everything, in a line of its
// own, unless all of it is shown.
func (w *Whole) Screen(all bool) *view.View {
	v := w.View()
	if !all {
		v.Foot += fmt.Sprintf("\neverything: diag %s --all", w.Target.Text)
	}
	return v
}

// Text writes the view of a whole for a terminal and, if all of it is wanted, the views of its checks below. With
// o.Verbose each has its facts.
func (w *Whole) Text(out io.Writer, v *view.View, all bool, o render.Options) error {
	if err := render.Text(out, v, o); err != nil || !all || o.Quiet {
		return err
	}
	for _, p := range w.Parts {
		if p.View == nil {
			continue
		}
		if _, err := io.WriteString(out, "\n"); err != nil {
			return err
		}
		o.Title, o.Facts = p.Endpoint.Name(), ""
		if o.Verbose {
			o.Facts = Facts(p.Reply)
		}
		if err := render.Text(out, p.View, o); err != nil {
			return err
		}
	}
	return nil
}

// verdictMembers are the parts of a report that a view shows already.
var verdictMembers = []string{"state", "score", "score_band", "verdict_headline", "verdict_sub", "score_factors",
	"score_breakdown", "recommendations", "passed_checks", "findings"}

// Facts returns all members of a JSON report except its verdict, as YAML.
func Facts(reply []byte) string {
	if len(reply) == 0 {
		return ""
	}
	r, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: string(reply)})
	if err != nil || r.Result == nil {
		return string(reply)
	}
	var b strings.Builder
	skip := false
	for line := range strings.Lines(*r.Result) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "-") {
			skip = slices.Contains(verdictMembers, name)
		}
		if !skip {
			b.WriteString(line)
		}
	}
	return b.String()
}
