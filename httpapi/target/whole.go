package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
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
	Reply  []byte // JSON
	Report any    // a pointer as in [httpapi.Result]; nil if there is none
	View   *view.View
	Err    error

	credits int64 // what the answer costs at the API
}

// A Whole is what all checks of a target said.
type Whole struct {
	Target  Target
	Parts   []Part
	Credits int64 // what the answers cost at the API, where only they are charged
	Took    time.Duration
}

// Run runs all checks at once. Progress, which may be nil, is told the names of those still awaited whenever one ends.
func Run(ctx context.Context, t Target, o Options, ask Ask, progress func(waiting []string)) *Whole {
	checks := t.Checks(o)
	w := &Whole{Target: t, Parts: make([]Part, len(checks))}
	began := time.Now()
	var mu sync.Mutex
	waiting := diag.Map(checks, func(c Check) string { return c.Name })
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
	siteless := func(p Part) bool { return p.Name == "hsts" && p.View != nil && p.View.Optional }
	if i := slices.IndexFunc(w.Parts, siteless); i >= 0 {
		w.withoutSite(w.Parts[i])
	}
	return w
}

// withoutSite puts one line in the place of the checks of a web site that a domain does not have, and need not.
func (w *Whole) withoutSite(said Part) {
	w.Parts = slices.DeleteFunc(w.Parts, func(p Part) bool { return p.Group == Web })
	said.Name = "site"
	said.View = &view.View{
		Optional: true, Headline: said.View.Headline, Brief: "no address, no web site (not counted as a fault)",
	}
	w.Parts = append(w.Parts, said)
}

// ErrNothing says that a check has nothing to look at, which is no failure.
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
