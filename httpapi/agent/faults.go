package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// An operationError is that of an operation, whose fields it may be about.
type operationError struct {
	ep httpapi.Endpoint
	error
}

func (e *operationError) Unwrap() error { return e.error }

// words tell an agent what went wrong, and what to do. Errors that may quote a stranger are marked like replies.
func (c *call) words(err error) string {
	if own, ok := errors.AsType[argumentError](err); ok {
		return own.Error()
	}
	if problem, ok := refusal(err); ok {
		return c.refused(problem)
	}
	if wrong, ok := errors.AsType[*httpapi.ViolationsError](err); ok {
		return c.violations(err, wrong)
	}
	silent, known := errors.AsType[*diag.UnavailableError](err)
	late := errors.Is(err, context.DeadlineExceeded)
	const again = "Nothing was charged. Try again in a minute, or ask another operation."
	switch {
	case known && late:
		return "One that was asked did not answer in time. " + again + "\n" + enclosed("asked: "+render.Printable(silent.Asked))
	case known:
		return "One that was asked gave no usable answer. " + again + "\n" + enclosed("asked: "+render.Printable(silent.Asked))
	case late:
		return "Nothing could be measured in time. " + again
	case errors.Is(err, context.Canceled):
		return "The call was cancelled. What had not been answered is not charged."
	}
	return "It could not be done. " + again + "\n" + enclosed(render.Printable(err.Error()))
}

// reason is what is wrong with an argument that is no target.
func reason(err error) string {
	if wrong, ok := errors.AsType[*diag.InputError](err); ok {
		return shownReason(wrong.Reason)
	}
	return shownReason(err.Error())
}

func shownReason(text string) string {
	const most = 300 // bytes
	return render.Printable(diag.Clip(text, most))
}

// violations tell which fields of an operation are wrong. On the way to run_operation they are members of arguments.
func (c *call) violations(err error, wrong *httpapi.ViolationsError) string {
	lines := []string{}
	for _, v := range wrong.Violations[:min(len(wrong.Violations), maxTold)] {
		field := map[string]string{"qname": "name", "qtype": "type"}[v.Field]
		switch {
		case c.tool.name == "run_operation" && v.Field != "":
			field = "arguments." + v.Field
		case field == "":
			field = v.Field
		}
		lines = append(lines, shownReason(strings.TrimPrefix(field+": "+v.Message, ": ")))
	}
	if failed, ok := errors.AsType[*operationError](err); ok && c.tool.name == "run_operation" {
		lines = append(lines, fmt.Sprintf("An example of arguments for %s: %s", failed.ep.Name(), diag.Clip(string(failed.ep.Example()), 1000)))
		lines = append(lines, "describe_operation tells all of them.")
	}
	return strings.Join(append(lines, "Nothing was charged."), "\n")
}

// refusal is the problem that an error tells of, if the server refuses.
func refusal(err error) (*httpapi.Problem, bool) { return errors.AsType[*httpapi.Problem](err) }

// refused says why the server refuses, what to do, and when to come back.
func (c *call) refused(p *httpapi.Problem) string {
	d := p.Details
	switch {
	case d.RetryAfter != nil:
		return fmt.Sprintf("Too many requests. Wait %s, and call again.", diag.Count(max(1, *d.RetryAfter), "second"))
	case d.Required != "":
		return fmt.Sprintf("The key lacks the scope %s (it has: %s). Ask its owner for a key that has it; other tools may work.",
			d.Required, strings.Join(d.Granted, ", "))
	case d.Reason == string(metering.QuotaSuspended):
		return "The account is suspended, and nothing can be charged. Its owner must settle that with the operator."
	case d.Limit != nil:
		now := time.Now
		if c.clock != nil {
			now = c.clock
		}
		renewed := metering.PeriodOf(now()).End().Format("2 January 2006")
		need := ""
		if d.Requested != nil {
			need = fmt.Sprintf(" This call needs %d: a narrower tool may fit.", *d.Requested)
		}
		return fmt.Sprintf("The credits of the month do not suffice: %d of %d are used.%s They are renewed on %s (UTC); "+
			"the owner of the account can get more before.", *d.Current, *d.Limit, need, renewed)
	}
	return fmt.Sprintf("The server answered: %s (%s)", render.Printable(p.Message), p.RequestID)
}
