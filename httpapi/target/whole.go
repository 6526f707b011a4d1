package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// An Ask runs an endpoint: here, or at a server. The result has a report or, where it came over the network, its JSON.
type Ask func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error)

// Local asks in this process. All checks of one Local share their questions to the DNS.
func Local(env *diag.Env) Ask {
	env = env.Cached()
	return func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
		return ep.Run(ctx, env, body)
	}
}

// A Part is what one check said, or why it said nothing.
type Part struct {
	Check
	Reply []byte // JSON
	View  *view.View
	Err   error

	report any
}

// Report is what the check returned, a pointer as in [httpapi.Result]; nil if it said nothing.
func (p Part) Report() any { return p.report }

// A Whole is what all checks of a target said.
type Whole struct {
	Target  Target
	Parts   []Part
	Credits int64
}

// Run runs all checks at once. Progress, which may be nil, is told the names of those still awaited whenever one ends.
func Run(ctx context.Context, t Target, o Options, ask Ask, progress func(waiting []string)) *Whole {
	checks := t.Checks(o)
	w := &Whole{Target: t, Parts: make([]Part, len(checks)), Credits: Credits(checks)}
	var mu sync.Mutex
	var waiting []string
	for _, c := range checks {
		waiting = append(waiting, c.Name)
	}
	tell := func(ended string) {
		mu.Lock()
		defer mu.Unlock()
		waiting = slices.DeleteFunc(waiting, func(name string) bool { return name == ended })
		if progress != nil {
			progress(slices.Clone(waiting))
		}
	}
	tell("")
	var group diag.Group
	for i, c := range checks {
		group.Go(func() {
			w.Parts[i] = c.run(ctx, ask)
			tell(c.Name)
		})
	}
	group.Wait()
	if i := slices.IndexFunc(w.Parts, func(p Part) bool { return p.Name == "hsts" && p.View != nil && p.View.Optional }); i >= 0 {
		w.withoutSite(w.Parts[i])
	}
	return w
}

// withoutSite puts one line in the place of the checks of a web site that a domain does not have, and need not.
func (w *Whole) withoutSite(said Part) {
	w.Parts = slices.DeleteFunc(w.Parts, func(p Part) bool { return p.Group == Web })
	said.Name, said.View = "site", &view.View{Optional: true, Headline: said.View.Headline, Brief: "no address, no web site (not counted as a fault)"}
	w.Parts = append(w.Parts, said)
}

// ErrNothing says that a check has nothing to look at, which is no failure.
var ErrNothing = errors.New("no sending address is known")

// run runs a check, with the one that leads to it.
func (c Check) run(ctx context.Context, ask Ask) Part {
	if c.lead == nil {
		return c.ask(ctx, ask)
	}
	lead := Check{Group: c.Group, Name: c.Name, Endpoint: *c.lead, Body: c.Body}.ask(ctx, ask)
	if lead.Err != nil {
		return Part{Check: c, Err: lead.Err}
	}
	worst := Part{Check: c, Err: ErrNothing}
	for _, addr := range senders(lead.report.(*spf.LookupReport)) {
		c.Body = bodyOf(map[string]any{"ip": addr})
		if p := c.ask(ctx, ask); worst.View == nil || p.View != nil && grave(p.View) > grave(worst.View) {
			worst = p
		}
	}
	return worst
}

// ask runs the endpoint, and reads its report.
func (c Check) ask(ctx context.Context, ask Ask) Part {
	p := Part{Check: c}
	result, err := ask(ctx, c.Endpoint, c.Body)
	if err != nil {
		p.Err = err
		return p
	}
	if p.Reply, p.report = result.Body, result.Report; p.report == nil {
		if p.report, p.Err = c.Endpoint.Decode(result.Body); p.Err != nil {
			return p
		}
	}
	p.View = httpapi.View(p.report)
	return p
}

// A row is one line of the whole.
type row struct {
	group, name string
	view        *view.View // nil: not known
	why         string
}

// rows are the parts in the order of a reader, those of the check of mail each for itself.
func (w *Whole) rows() (list []row) {
	var later []row
	for _, p := range w.Parts {
		whole, ok := p.report.(*domaincheck.Report)
		switch {
		case p.Err != nil:
			list = append(list, row{p.Group, p.Name, nil, why(p.Err)})
		case !ok:
			list = append(list, row{p.Group, p.Name, p.View, ""})
		default:
			mail, signed := mailRows(whole)
			list, later = append(list, mail...), append(later, signed)
		}
	}
	list = append(list, later...)
	order := []string{Mail, DNS, Web}
	slices.SortStableFunc(list, func(a, b row) int { return slices.Index(order, a.group) - slices.Index(order, b.group) })
	return list
}

// why says in a few words why a check said nothing.
func why(err error) string {
	silent, ok := errors.AsType[*diag.UnavailableError](err)
	switch {
	case ok && errors.Is(err, context.DeadlineExceeded):
		return "no answer from " + silent.Asked + " in time"
	case ok:
		return "no usable answer from " + silent.Asked
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}

// mailRows are the parts of the check of mail, and its part about DNSSEC.
func mailRows(r *domaincheck.Report) (list []row, signed row) {
	s, in := r.Pillars.Sending, r.Pillars.Receiving
	if in.MX != nil {
		list = append(list, rowOf("mx", in.MX.Part))
	}
	list = append(list, rowOf("spf", s.SPF))
	for _, k := range s.DKIM {
		list = append(list, dkimRow(k))
	}
	list = append(list, rowOf("dmarc", s.DMARC))
	if in.SMTP != nil {
		list = append(list, rowOf("smtp", in.SMTP))
	}
	list = append(list, rowOf("mta-sts", in.MTASTS), rowOf("tls-rpt", in.TLSRPT), rowOf("dane", in.DANE), rowOf("bimi", s.BIMI))
	signed = rowOf("dnssec", r.Pillars.Integrity.DNSSEC)
	signed.group = DNS
	return list, signed
}

// rowOf shows a part by its report, or where there is none by its summary.
func rowOf[R any](name string, p *compose.Part[R]) row {
	switch {
	case p == nil:
		return row{Mail, name, nil, "it was not examined"}
	case p.Result != nil:
		v := httpapi.View(p.Result)
		return row{Mail, name, v, ""}
	}
	return row{Mail, name, summaryView(&p.Summary), ""}
}

func summaryView(s *compose.Summary) *view.View {
	v := &view.View{State: s.State, Headline: s.Headline, Brief: s.Headline}
	v.Judged(s.Findings)
	return v
}

func dkimRow(p *compose.DKIMPart) row {
	r := rowOf("dkim", &p.Part)
	if p.Selector != "" && r.view != nil {
		r.view.Brief = p.Selector + ": " + cmp.Or(r.view.Brief, r.view.Headline)
	}
	return r
}

// grave is the severity of the gravest finding of a view.
func grave(v *view.View) diag.Severity {
	worst := diag.Info
	for _, f := range v.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// View joins the parts: a line for each, what to do first, and all findings.
func (w *Whole) View() *view.View {
	rows := w.rows()
	v := &view.View{Subject: w.Target.Text}
	seen := map[string]bool{}
	for _, p := range w.Parts {
		if p.View == nil {
			v.Partial = v.Partial || !errors.Is(p.Err, ErrNothing)
			continue
		}
		v.Partial = v.Partial || p.View.Partial
		for _, f := range p.View.Findings {
			if key := string(f.Code) + f.Target; !seen[key] {
				seen[key] = true
				v.Findings = append(v.Findings, f)
			}
		}
		v.Steps = append(v.Steps, p.View.Steps...)
	}
	gravest := func(a, b diag.Severity) int { return int(b) - int(a) }
	slices.SortStableFunc(v.Findings, func(a, b diag.Finding) int { return gravest(a.Severity, b.Severity) })
	slices.SortStableFunc(v.Steps, func(a, b view.Step) int { return gravest(a.Severity, b.Severity) })
	v.Steps = distinct(v.Steps)
	v.Headline, v.Sub = w.headline()
	v.Brief = v.Headline
	v.Counts = counts(v.Findings)
	d := view.Drawing{Kind: view.Sections}
	known := 0
	for i := 0; i < len(rows); i++ {
		r := rows[i]
		if r.view == nil {
			d.Marked(view.Unknown, "", strings.ToUpper(r.group), r.name, "not known: "+r.why)
			continue
		}
		known++
		names, brief := r.name, cmp.Or(r.view.Brief, r.view.Headline)
		for r.absent() && i+1 < len(rows) && rows[i+1].group == r.group && rows[i+1].absent() && rows[i+1].view.Mark() == r.view.Mark() {
			i++
			known++
			names, brief = names+", "+rows[i].name, "not set up"
		}
		d.Marked(r.view.Mark(), "", strings.ToUpper(r.group), names, brief)
	}
	v.Draw(d)
	v.Foot = fmt.Sprintf("%d of %s", known, diag.Count(len(rows), "check"))
	return v
}

// absent reports whether there is nothing to speak of.
func (r row) absent() bool { return r.view != nil && (r.view.State == diag.Missing || r.view.Optional) }

// headline is that of the gravest part; that of the check of mail, which weighs its parts, first.
func (w *Whole) headline() (headline, sub string) {
	var best *view.View
	for _, p := range w.Parts {
		if p.View != nil && (best == nil || grave(p.View) > grave(best)) {
			best = p.View
		}
	}
	if best == nil {
		return "Nothing could be learned", ""
	}
	return best.Headline, best.Sub
}

// counts says how many findings there are of each severity.
func counts(findings []diag.Finding) string {
	n := map[diag.Severity]int{}
	for _, f := range findings {
		n[f.Severity]++
	}
	var parts []string
	for _, s := range []diag.Severity{diag.Critical, diag.Error, diag.Warning} {
		switch {
		case n[s] == 0:
		case s == diag.Critical:
			parts = append(parts, fmt.Sprintf("%d critical", n[s]))
		default:
			parts = append(parts, diag.Count(n[s], s.String()))
		}
	}
	return strings.Join(parts, "  ")
}

// distinct leaves out steps that say or publish the same as one before them.
func distinct(steps []view.Step) []view.Step {
	told := map[string]bool{}
	return slices.DeleteFunc(steps, func(s view.Step) bool {
		keys := []string{s.Text, string(s.Code)}
		if s.Value != "" {
			keys = append(keys, s.Name+s.Type+s.Value)
		}
		again := slices.ContainsFunc(keys, func(k string) bool { return told[k] })
		for _, k := range keys {
			told[k] = true
		}
		return again
	})
}

// Err is why nothing could be learned, or nil if something was.
func (w *Whole) Err() error {
	if slices.ContainsFunc(w.Parts, func(p Part) bool { return p.View != nil }) || len(w.Parts) == 0 {
		return nil
	}
	return w.Parts[0].Err
}

// JSON is what each check answered, in one object.
func (w *Whole) JSON() ([]byte, error) {
	type check struct {
		Name      string          `json:"name"`
		Operation string          `json:"operation"`
		Report    json.RawMessage `json:"report,omitempty"`
		Error     string          `json:"error,omitempty"`
	}
	whole := struct {
		Target string  `json:"target"`
		Kind   Kind    `json:"kind"`
		Checks []check `json:"checks"`
	}{w.Target.Text, w.Target.Kind, nil}
	for _, p := range w.Parts {
		c := check{Name: p.Name, Operation: p.Endpoint.Name(), Report: p.Reply}
		if p.Err != nil {
			c.Error = p.Err.Error()
		}
		whole.Checks = append(whole.Checks, c)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(whole)
	return b.Bytes(), err
}
