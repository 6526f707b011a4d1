package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

// maxActions is how many things to do the overview lists.
const maxActions = 3

// joins are checks that run others: in the overview they stand for them, so that nothing is asked or told twice.
var joins = map[string][]string{
	"mail/domain-check": {"spf/lookup", "dmarc/lookup", "dmarcbis/check", "bimi/lookup", "mta-sts/lookup", "tls-rpt/lookup",
		"dane/lookup", "dnssec/check"},
}

// overviewChecks are the checks that need nothing but a domain and give a verdict, but for those that another one runs.
func overviewChecks() []httpapi.Endpoint {
	joined := slices.Concat(slices.Collect(maps.Values(joins))...)
	return slices.DeleteFunc(httpapi.Endpoints(), func(ep httpapi.Endpoint) bool {
		if !ep.Headlined() || ep.Hosted() || slices.Contains(joined, ep.Name()) {
			return true
		}
		needed := []string{}
		for _, p := range ep.Params() {
			if p.Required || p.OneOf != "" {
				needed = append(needed, p.Name)
			}
		}
		return !slices.Equal(needed, []string{"domain"})
	})
}

// part is what one check of the overview said.
type part struct {
	ep     httpapi.Endpoint
	report *tree
	err    error
}

// overview runs every check of a domain at once, and prints one screen: a line for each, then what to do first.
func (a *app) overview(cmd *cobra.Command, word string) error {
	domain, err := a.repaired("domain", word)
	if err != nil {
		return err
	}
	threshold, err := a.common()
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"domain": domain})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), a.timeout)
	defer cancel()
	checks := overviewChecks()
	parts := make([]part, len(checks))
	done := a.showProgress(domain)
	var group diag.Group
	for i, ep := range checks {
		group.Go(func() { parts[i] = a.part(ctx, ep, body) })
	}
	group.Wait()
	done()
	var b bytes.Buffer
	a.printOverview(&b, domain, parts)
	failed := 0
	for _, p := range parts {
		if p.err != nil {
			failed++
		}
		if p.err != nil || p.report.get("partial").text() == "true" {
			a.code = exitPartial
		}
	}
	if slices.ContainsFunc(parts, func(p part) bool { return p.err == nil && p.report.worst() >= threshold }) {
		a.code = exitFinding
	}
	if failed == len(parts) {
		return parts[0].err
	}
	return a.writeOut(b.Bytes())
}

func (a *app) part(ctx context.Context, ep httpapi.Endpoint, body []byte) part {
	result, err := a.ask(ctx, ep, body)
	if err != nil {
		return part{ep: ep, err: err}
	}
	report, err := parseTree(result.Body)
	return part{ep, report, err}
}

func (a *app) printOverview(b *bytes.Buffer, domain string, parts []part) {
	p := &printer{w: b, color: a.colored(), width: a.width()}
	p.line("%s\n", p.paint(bold, domain))
	for _, one := range parts {
		if one.err != nil {
			p.status("unknown", one.ep.Name(), explain(one.err)[0])
			continue
		}
		p.outcome(one.ep.Name(), one.report)
		for _, section := range one.report.sections("") {
			p.outcome("  "+words(section.name), section.report)
		}
	}
	actions := actionsOf(parts)
	if len(actions) > 0 {
		p.heading("Do first")
	}
	for i, t := range actions[:min(len(actions), maxActions)] {
		p.wrap(fmt.Sprintf("  %d. ", i+1), t.detail+" ("+t.check+")")
	}
	if more := len(actions) - maxActions; more > 0 {
		p.line("  %s", p.paint(dim, fmt.Sprintf("… and %d more: run the check by its name", more)))
	}
}

// outcome prints the verdict of a report in one line.
func (p *printer) outcome(name string, r *tree) {
	word := outcome(r)
	if word == string(diag.Missing) && r.worst() <= diag.Info {
		word = "optional"
	}
	p.status(word, name, r.get("verdict_headline").text())
}

func (p *printer) status(word, name, text string) {
	p.line("  %s %-18s %s", p.pad(word, 10), printable(name), head(printable(text), max(20, p.width-33)))
}

// pad is a mark in a column of so many characters.
func (p *printer) pad(word string, width int) string {
	return p.mark(word) + fmt.Sprintf("%*s", max(0, width-len([]rune(marks[word].sign+" "+word))), "")
}

// action is one thing to do, of one of the checks.
type action struct{ detail, check string }

// actionsOf merges what the checks advise against findings above info, the gravest first.
func actionsOf(parts []part) []action {
	bySeverity := map[diag.Severity][]action{}
	told := map[string]bool{}
	for _, one := range parts {
		if one.err != nil {
			continue
		}
		for _, f := range one.report.findings() {
			s, err := parseSeverity(f.get("severity").text())
			advice := f.get("advice").text()
			if err != nil || s == diag.Info || advice == "" || told[advice] {
				continue
			}
			told[advice] = true
			bySeverity[s] = append(bySeverity[s], action{advice, one.ep.Name()})
		}
	}
	return slices.Concat(bySeverity[diag.Critical], bySeverity[diag.Error], bySeverity[diag.Warning])
}
