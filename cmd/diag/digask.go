package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
)

// A digRequest is a question as the operation takes it.
type digRequest struct {
	subject string // the name and the type
	ep      httpapi.Endpoint
	body    []byte
	servers []digServer
}

// multiAnswer is the output of more than one question.
type multiAnswer struct {
	suites  []junitSuite // of --junit
	file    bytes.Buffer // of --output
	started bool
}

// prepare makes the request of a question; flags may set what it leaves open.
func (a *app) prepare(q question, values map[string]*[]string) (r digRequest, err error) {
	r.servers = q.servers
	r.ep, _ = httpapi.Endpoints().ByName(q.operation)
	own := map[string]*[]string{}
	for _, p := range r.ep.Params() {
		own[p.Name] = new([]string)
		if given := values[p.Name]; given != nil {
			*own[p.Name] = slices.Clone(*given)
		}
		value, ok := q.fields[p.Name]
		if flag := *own[p.Name]; ok && len(flag) > 0 && !strings.EqualFold(flag[0], value) {
			return r, usagef("--%s %s and %s exclude each other", flagName(p.Name), flag[0], value)
		}
		if ok {
			*own[p.Name] = []string{value}
		}
	}
	if kind := own["qtype"]; kind != nil && len(*kind) == 0 && len(*own["qname"]) > 0 {
		*kind = []string{"A"} // what dig queries, too
	}
	r.body, err = a.completeBody(r.ep, own, nil)
	return r, err
}

// setSubjects sets the subjects of requests. All must be valid before the first is sent.
func setSubjects(requests []digRequest) error {
	for i := range requests {
		r := &requests[i]
		var read struct {
			IP   diag.IP      `json:"ip"`
			Name diag.Name    `json:"qname"`
			Type resolve.Type `json:"qtype"`
		}
		if err := json.Unmarshal(r.body, &read); err != nil {
			return err
		}
		if r.subject = read.Name.String() + " " + read.Type.String(); read.Name.IsZero() {
			r.subject = read.IP.String()
		}
	}
	return nil
}

// answerQuestions answers the questions of a command line, one after the other.
func (a *app) answerQuestions(ctx context.Context, values map[string]*[]string) error {
	var requests []digRequest
	for _, q := range a.line.questions {
		r, err := a.prepare(q, values)
		if err != nil {
			return err
		}
		requests = append(requests, r)
	}
	if len(requests) > 1 {
		if err := setSubjects(requests); err != nil {
			return err
		}
	}
	return a.answerRequests(ctx, requests)
}

// answerRequests prints the answers to requests, one after the other.
func (a *app) answerRequests(ctx context.Context, requests []digRequest) error {
	if len(requests) == 1 {
		return a.checkAt(ctx, requests[0].ep, requests[0].body, requests[0].servers)
	}
	if a.formats.html || a.formats.svg || a.zone.annotate != "" {
		return usagef("--html, --svg and --annotate are for one question, not %d", len(requests))
	}
	a.multi = new(multiAnswer)
	codes, failed := []int{}, 0
	for _, r := range requests {
		err := a.checkAt(ctx, r.ep, r.body, r.servers)
		switch {
		case err != nil && (isUsageError(err) || ctx.Err() != nil):
			return err
		case err != nil:
			failed++
			a.reportUnanswered(r, err)
		default:
			codes = append(codes, a.code)
		}
	}
	a.code = worstExitCode(codes, failed)
	return a.finishMulti()
}

// worstExitCode is the exit code of several answers, of which some are not known.
func worstExitCode(codes []int, unknown int) int {
	switch {
	case slices.Contains(codes, exitFinding):
		return exitFinding
	case len(codes) == 0:
		return exitIncomplete
	case unknown > 0 || slices.Contains(codes, exitPartial):
		return exitPartial
	}
	return exitOK
}

// reportUnanswered reports which of several questions has no answer, and why.
func (a *app) reportUnanswered(r digRequest, err error) {
	if a.formats.junit {
		a.multi.suites = append(a.multi.suites, newJUnitSuite(r.subject, nil, err, a.threshold))
	}
	for _, line := range errorLines(err) {
		fmt.Fprintln(a.stderr, "diag:", printable(r.subject+": "+line))
	}
}

// finishMulti writes the end of a list of answers.
func (a *app) finishMulti() error {
	s := a.multi
	a.multi = nil
	if a.formats.junit {
		text, err := junitReport(s.suites...)
		return errors.Join(err, a.writeOut(text))
	}
	if a.output != "" {
		return a.writeOut(s.file.Bytes())
	}
	return nil
}

// eachLine resolves the one question in a line of a file, in the form of the program's arguments.
func (a *app) eachLine(values map[string]*[]string, ask target.Ask) func(context.Context, string) (outcome, error) {
	p := *a.line.program
	p.types, p.asksRoot = nil, false
	return func(ctx context.Context, text string) (outcome, error) {
		line, err := p.parse(a.line.global, strings.Fields(text), func(string) bool { return false })
		switch {
		case err != nil:
			return outcome{}, err
		case len(line.flags) > 0:
			return outcome{}, usagef("%s is for the command line, not for a line of -f", line.flags[0])
		case len(line.questions) != 1:
			return outcome{}, usagef("a line of -f must ask one question, not %d", len(line.questions))
		}
		r, err := a.prepare(line.questions[0], values)
		if err != nil {
			return outcome{}, err
		}
		var result *httpapi.Result
		if len(r.servers) > 0 {
			result, err = a.askAt(ctx, r.ep, r.body, r.servers)
		} else {
			result, err = ask(ctx, r.ep, r.body)
		}
		if err != nil {
			return outcome{}, err
		}
		return newOutcome(r.ep, result)
	}
}
