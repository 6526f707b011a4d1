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
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// An Ask runs an endpoint: here, or at a server. The result has a report or, where it came over the network, its JSON.
type Ask func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error)

// Local runs checks in this process. All checks of one Local share their DNS lookups.
func Local(env *diag.Env) Ask {
	env = env.Cached()
	return func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
		return ep.Run(ctx, env, body)
	}
}

// A Part is the result of one check, or why it has none.
type Part struct {
	Check
	Reply  []byte // JSON
	Report any    // a pointer as in [httpapi.Result]; nil without one
	View   *view.View
	Err    error

	credits int64 // the price of the answer at the API
}

// A Whole is the result of all checks of a target.
type Whole struct {
	Target  Target
	Parts   []Part
	Credits int64 // the price of the answers at the API, if charged
	Took    time.Duration
}

// Run runs all checks concurrently. Progress, which may be nil, is called with the names of the pending checks
// whenever one ends.
func Run(ctx context.Context, t Target, o Options, ask Ask, progress func(waiting []string)) *Whole {
	return RunChecks(ctx, t, t.Checks(o), ask, progress)
}

// RunChecks is [Run] for some checks of a target.
func RunChecks(ctx context.Context, t Target, checks []Check, ask Ask, progress func(waiting []string)) *Whole {
	w := &Whole{Target: t, Parts: make([]Part, len(checks))}
	began := time.Now()
	var mu sync.Mutex
	waiting := kit.Map(checks, func(c Check) string { return c.Name })
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
	w.Took = time.Since(began)
	for _, p := range w.Parts {
		w.Credits += p.credits
	}
	without := func(p Part) bool { return p.Name == "hsts" && p.View != nil && p.View.Optional }
	if i := slices.IndexFunc(w.Parts, without); i >= 0 {
		w.withoutSite(w.Parts[i])
	}
	return w
}

// withoutSite puts one line in the place of the checks of a website that a domain does not have, and need not.
func (w *Whole) withoutSite(said Part) {
	w.Parts = slices.DeleteFunc(w.Parts, func(p Part) bool { return p.Group == Web })
	said.Name = siteless
	said.View = &view.View{
		Optional: true, Headline: said.View.Headline, Brief: "no address, no website (not counted as a fault)",
	}
	w.Parts = append(w.Parts, said)
}

// siteless names the line in the place of the checks of a website that is not there.
const siteless = "site"

// ErrNothing means that a check has nothing to examine, which is not a failure.
var ErrNothing = errors.New("no sending address is known")

// run runs a check, with the one that leads to it. Of several addresses it returns the worst, which is partial if
// another is not known.
func (c Check) run(ctx context.Context, ask Ask) Part {
	if c.lead == nil {
		return c.ask(ctx, ask)
	}
	lead := Check{Group: c.Group, Name: c.Name, Endpoint: *c.lead, Body: c.Body}.ask(ctx, ask)
	if lead.Err != nil {
		return Part{Check: c, Err: lead.Err}
	}
	addresses := senders(lead.Report.(*spf.LookupReport))
	parts := make([]Part, len(addresses))
	var group diag.Group
	for i, addr := range addresses {
		group.Go(func() {
			one := c
			one.Body = bodyOf(map[string]any{"ip": addr})
			parts[i] = one.ask(ctx, ask)
		})
	}
	group.Wait()
	worst, credits, partial := Part{Check: c, Err: ErrNothing}, lead.credits, false
	for _, p := range parts {
		credits += p.credits
		partial = partial || p.View == nil || p.View.Partial
		if worst.View == nil || p.View != nil && grave(p.View) > grave(worst.View) {
			worst = p
		}
	}
	if worst.credits = credits; worst.View != nil {
		worst.View.Partial = partial
	}
	return worst
}

func (c Check) ask(ctx context.Context, ask Ask) Part {
	result, err := ask(ctx, c.Endpoint, c.Body)
	if err != nil {
		return Part{Check: c, Err: err}
	}
	p := Part{Check: c, Reply: result.Body, Report: result.Report, credits: c.Endpoint.Credits}
	if p.Report == nil {
		p.Report, p.Err = c.Endpoint.Decode(result.Body)
	}
	if p.Err == nil {
		p.View = httpapi.View(p.Report)
	}
	return p
}

// Err returns why nothing could be learned, or nil if something was.
func (w *Whole) Err() error {
	if slices.ContainsFunc(w.Parts, func(p Part) bool { return p.View != nil }) || len(w.Parts) == 0 {
		return nil
	}
	return w.Parts[0].Err
}

// JSON returns the replies of all checks, in one object.
func (w *Whole) JSON() ([]byte, error) {
	type check struct {
		Name      string          `json:"name"`
		Operation string          `json:"operation"`
		Report    json.RawMessage `json:"report,omitempty"`
		Error     string          `json:"error,omitempty"`
	}
	whole := struct {
		Target string        `json:"target"`
		Kind   Kind          `json:"kind"`
		Name   *nameuse.Name `json:"name,omitempty"`
		Steps  []view.Step   `json:"steps,omitempty"`
		Checks []check       `json:"checks"`
	}{w.Target.Text, w.Target.Kind, w.name(), w.View().Steps, nil}
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

type row struct {
	group, name string
	mark        view.Mark
	brief       string
	findings    []diag.Finding
	facts       []view.Fact
	absent      bool // there is nothing to report
	idle        bool // there was nothing to examine, so nothing is known
	checks      int  // that share the line, if several do
}

// rows returns the parts, those of the check of mail each for itself: groups in the order of a reader, and in each
// the worst first. Parts with the same text share a line.
func (w *Whole) rows() []row { return merged(w.parts()) }

// parts returns the rows of [Whole.rows], each part for itself.
func (w *Whole) parts() []row {
	var list, later []row
	for _, p := range w.Parts {
		whole, ok := p.Report.(*domaincheck.Report)
		switch {
		case errors.Is(p.Err, ErrNothing):
			list = append(list, row{group: p.Group, name: p.Name, mark: view.Optional, brief: p.Err.Error(), idle: true})
		case p.Err != nil:
			list = append(list, row{group: p.Group, name: p.Name, mark: view.Unknown, brief: "not known: " + why(p.Err)})
		case ok:
			mail, signed := mailRows(whole)
			list, later = append(list, mail...), append(later, signed)
		default:
			list = append(list, rowOf(p.Group, p.Name, p.View))
		}
	}
	list = append(list, later...)
	sharedCauses(list)
	w.unneeded(list)
	groups := []string{Mail, DNS, Web}
	slices.SortStableFunc(list, func(a, b row) int {
		return cmp.Or(slices.Index(groups, a.group)-slices.Index(groups, b.group),
			slices.Index(worstFirst, a.mark)-slices.Index(worstFirst, b.mark))
	})
	return list
}

var worstFirst = []view.Mark{
	view.Critical, view.Error, view.Warning, view.Unknown, view.Info, view.None, view.Good, view.Optional,
}

func merged(list []row) []row {
	var lines []row
	for _, r := range list {
		alike := func(o row) bool { return o.group == r.group && o.mark == r.mark && o.brief == r.brief }
		if i := slices.IndexFunc(lines, alike); i >= 0 {
			lines[i].checks++
			if lines[i].name += ", " + r.name; lines[i].checks > mostNamed {
				lines[i].name = fmt.Sprintf("%d checks", lines[i].checks)
			}
			continue
		}
		r.checks = 1
		lines = append(lines, r)
	}
	return lines
}

// mostNamed is how many checks a line names.
const mostNamed = 4

// sharedCauses gives rows that fail, or have no result, for one reason the same words, so that the reason is shown
// once.
func sharedCauses(list []row) {
	gone, lost, bogus := false, false, false
	for _, r := range list {
		gone = gone || r.has("zone.parent.nxdomain") || r.has("check.domain.nxdomain")
		lost = lost || r.has("mx.hosts.unreachable")
		bogus = bogus || r.name == "dnssec" && r.mark == view.Critical
	}
	for i := range list {
		r := &list[i]
		switch {
		case gone && r.name == "servers":
			r.brief = "the domain does not exist"
		case gone && (r.absent && r.name != "registration" || r.only(".nxdomain") || r.name == "reputation"):
			r.mark, r.idle, r.brief = view.Optional, true, "nothing to examine, since the domain does not exist"
		case r.only(".nxdomain"):
			r.brief = "the host does not exist"
		case lost && (r.name == "smtp" || r.name == "dane" && r.mark != view.Good):
			r.mark, r.idle, r.brief = view.Optional, true, "nothing to examine before mx is fixed"
		case r.only(".unknown", ".unanswered", ".unavailable", ".timeout"), bogus && r.mark == view.Unknown:
			if r.mark, r.brief = view.Unknown, "not known: no usable answer"; bogus {
				r.brief = "not known: DNSSEC validation fails"
			}
		case r.absent && r.name == "bimi":
			r.brief = "not set up; optional, and the last to set up"
		case r.absent && r.group == Mail && r.mark != view.Optional:
			r.brief = "not set up"
		}
	}
}

// unneeded marks what a name without mail need not have and an alias cannot, and what protects mail on its way to a
// name without any sign that it receives mail.
func (w *Whole) unneeded(list []row) {
	n := w.name()
	if n == nil {
		return
	}
	for i := range list {
		r := &list[i]
		missing := r.group == Mail && (r.absent || r.name == "dkim" && r.mark == view.Unknown)
		switch {
		case !missing:
		case n.Kind == nameuse.Alias:
			r.mark, r.brief = view.Optional, "not needed: the name is an alias of "+n.AliasOf
		case n.WithoutMail():
			r.mark, r.brief = view.Optional, "not needed: the name has no mail of its own"
		case n.Receives.Answer != nameuse.Yes && w.implicitMX() && slices.Contains(inbound, r.name):
			r.mark, r.brief = view.Optional, "not needed unless the name receives mail"
		}
	}
}

// inbound are the checks of what protects mail on its way to a domain.
var inbound = []string{"mta-sts", "tls-rpt", "dane"}

func (w *Whole) implicitMX() bool {
	return slices.ContainsFunc(w.Parts, func(p Part) bool {
		r, ok := p.Report.(*domaincheck.Report)
		return ok && r.Pillars.Receiving.MX != nil && r.Pillars.Receiving.MX.Result != nil &&
			r.Pillars.Receiving.MX.Result.ImplicitMX
	})
}

func (r row) has(code diag.Code) bool {
	return slices.ContainsFunc(r.findings, func(f diag.Finding) bool { return f.Code == code })
}

// only reports whether all that was found is of one kind, by how its codes end.
func (r row) only(suffixes ...string) bool {
	return len(r.findings) > 0 && !slices.ContainsFunc(r.findings, func(f diag.Finding) bool {
		return !slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(string(f.Code), s) })
	})
}

// why returns in a few words why a check has no result.
func why(err error) string {
	silent, ok := errors.AsType[*diag.UnavailableError](err)
	switch {
	case ok && errors.Is(err, context.DeadlineExceeded):
		return "no answer from " + silent.Asked + " in time"
	case ok:
		return "no usable answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}

// mailRows are the parts of the check of mail, and its part about DNSSEC.
func mailRows(r *domaincheck.Report) (list []row, signed row) {
	s, in := r.Pillars.Sending, r.Pillars.Receiving
	if in.MX != nil {
		list = append(list, partRow("mx", in.MX.Part))
	}
	list = append(list, partRow("spf", s.SPF))
	for _, k := range s.DKIM {
		r := partRow("dkim", &k.Part)
		if k.Selector != "" && !strings.Contains(r.brief, k.Selector) {
			r.brief = k.Selector + ": " + r.brief
		}
		list = append(list, r)
	}
	list = append(list, partRow("dmarc", s.DMARC))
	if in.SMTP.State != "" {
		list = append(list, partRow("smtp", &in.SMTP))
	}
	list = append(list, partRow("mta-sts", in.MTASTS), partRow("tls-rpt", in.TLSRPT), partRow("dane", in.DANE),
		partRow("bimi", s.BIMI))
	signed = partRow("dnssec", r.Pillars.Integrity.DNSSEC)
	signed.group = DNS
	return list, signed
}

// partRow shows a part by its report, or without one by its summary.
func partRow[R any](name string, p *compose.Part[R]) row {
	switch {
	case p == nil:
		return row{group: Mail, name: name, mark: view.Unknown, brief: "not known: it was not examined"}
	case p.Result != nil:
		return rowOf(Mail, name, httpapi.View(p.Result))
	}
	s := &p.Summary
	v := &view.View{State: s.State, Headline: s.Headline, Brief: s.Headline}
	v.Judged(s.Findings)
	r := rowOf(Mail, name, v)
	if s.Unneeded() {
		r.mark, r.absent = s.Mark(), true
	}
	return r
}

func rowOf(group, name string, v *view.View) row {
	return row{group: group, name: name, mark: v.Mark(), brief: cmp.Or(v.Brief, v.Headline), findings: v.Findings,
		facts: v.Facts, absent: v.State == diag.Missing || v.Optional}
}
