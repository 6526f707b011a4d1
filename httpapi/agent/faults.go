package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// words tell an agent what went wrong with an operation, or with several, and what to do. What may quote a stranger is
// marked as in replies.
func (c *call) words(err error, ep *httpapi.Endpoint) string {
	if own, ok := errors.AsType[argumentError](err); ok {
		return own.Error()
	}
	if problem, ok := errors.AsType[*httpapi.Problem](err); ok {
		return c.refused(problem)
	}
	if wrong, ok := errors.AsType[*httpapi.ViolationsError](err); ok {
		return c.violations(wrong.Violations, ep)
	}
	what, asked := "It could not be done: what was asked gave no usable answer.", err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		what, asked = "Nothing could be measured in time.", ""
	}
	if silent, ok := errors.AsType[*diag.UnavailableError](err); ok {
		asked = "asked: " + silent.Asked
	}
	return what + " Nothing was charged. Try again in a minute, or ask another operation." +
		view.If(asked != "", "\n"+enclosed(render.Printable(asked)))
}

// violations tell which fields of an operation are wrong. To run_operation they are members of arguments, and two have
// other names in resolve.
func (c *call) violations(list []httpapi.Violation, ep *httpapi.Endpoint) string {
	lines, general := []string{}, c.tool.Name == "run_operation"
	for _, v := range list[:min(len(list), maxTold)] {
		field := view.If(general && v.Field != "", "arguments.") + v.Field
		field = cmp.Or(map[string]string{"qname": "name", "qtype": "type"}[field], field)
		lines = append(lines, shown(strings.TrimPrefix(field+": "+v.Message, ": ")))
	}
	if general && ep != nil {
		lines = append(lines, fmt.Sprintf("An example of arguments for %s: %s\ndescribe_operation tells all of them.",
			ep.Name(), diag.Clip(string(ep.Example()), maxValue)))
	}
	return strings.Join(append(lines, "Nothing was charged."), "\n")
}

// refused says why the server refuses, what to do, and when to come back.
func (c *call) refused(p *httpapi.Problem) string {
	d := p.Details
	switch {
	case d.RetryAfter != nil:
		return fmt.Sprintf("Too many requests. Wait %s, and call again.", diag.Count(max(1, *d.RetryAfter), "second"))
	case d.Required != "":
		return fmt.Sprintf("The key lacks the scope %s (it has: %s). Ask its owner for one with it; "+
			"other tools may work.", d.Required, strings.Join(d.Granted, ", "))
	case d.Reason == string(metering.QuotaSuspended):
		return "The account is suspended, and nothing can be charged. Its owner must settle that with the operator."
	case d.Limit != nil:
		now := time.Now
		if c.clock != nil {
			now = c.clock
		}
		need := view.If(d.Requested != nil, " This needs "+view.Number(d.Requested, ": a narrower tool may fit."))
		return fmt.Sprintf("The credits of the month do not suffice: %d of %d are used.%s They are renewed on %s "+
			"(UTC); the owner of the account can get more before.",
			*d.Current, *d.Limit, need, metering.PeriodOf(now()).End().Format("2 January 2006"))
	}
	return fmt.Sprintf("The server answered: %s (%s)", render.Printable(p.Message), p.RequestID)
}
