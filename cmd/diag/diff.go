package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff OLD NEW", Short: "Compare two runs that were saved with --json or --jsonl",
		Example: "  diag example.com --json > monday.json\n  diag example.com --json > tuesday.json\n" +
			"  diag diff monday.json tuesday.json",
		Args: exactArgs(2, "diff takes two files"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkSharedFlags(); err != nil {
				return err
			}
			var runs [2]savedRun
			for i, name := range args {
				var err error
				if runs[i], err = readRun(name); err != nil {
					return err
				}
			}
			if err := checkComparable(runs[0], runs[1]); err != nil {
				return err
			}
			changes := compareRuns(runs[0], runs[1])
			for _, c := range changes {
				if c.severity >= int(a.threshold) {
					a.code = exitFinding
				}
			}
			return a.writeOut([]byte(a.changesText(changes)))
		},
	}
}

// A kept run is the views of its reports, by target and operation.
type savedRun map[string]*view.View

// readRun reads a file: a report, an overview, or lines with one of them each.
func readRun(name string) (savedRun, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, err
	}
	run := savedRun{}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var entry json.RawMessage
		if err := d.Decode(&entry); err != nil {
			return nil, usagef("%s: not written by --json or --jsonl: %w", name, err)
		}
		if !run.add("", entry) {
			return nil, usagef("%s: contains something that is not a report", name)
		}
	}
	return run, nil
}

func (run savedRun) add(target string, data json.RawMessage) bool {
	var entry struct {
		Target string          `json:"target"`
		Report json.RawMessage `json:"report"`
		Error  string          `json:"error"`
		Checks []struct {
			Name      string          `json:"name"`
			Operation string          `json:"operation"`
			Report    json.RawMessage `json:"report"`
		} `json:"checks"`
	}
	err := json.Unmarshal(data, &entry)
	switch {
	case err == nil && entry.Target != "" && entry.Report != nil:
		return run.add(entry.Target, entry.Report)
	case err == nil && entry.Target != "" && entry.Error != "":
		return true // nothing was learned, which is no change
	case err == nil && entry.Target != "" && len(entry.Checks) > 0 && entry.Checks[0].Operation != "":
		for _, c := range entry.Checks {
			if c.Report != nil && !run.add(entry.Target+" "+c.Name, c.Report) {
				return false
			}
		}
		return true
	}
	ep, report, ok := httpapi.Recognize(data)
	if !ok {
		return false
	}
	v := httpapi.View(report)
	if target == "" {
		target = v.Subject
	}
	run[target+" "+ep.Name()] = v
	return true
}

// checkComparable refuses runs that have nothing in common: it would be wrong to report no change.
func checkComparable(old, now savedRun) error {
	for subject := range now {
		if old[subject] != nil {
			return nil
		}
	}
	if len(old) == 0 || len(now) == 0 {
		return nil // nothing was learned
	}
	first, other := slices.Sorted(maps.Keys(old))[0], slices.Sorted(maps.Keys(now))[0]
	return usagef("the runs have no check in common: one has %s, the other %s", first, other)
}

// A change is one difference: a line with a sign, the severity of the new state, and its place.
type change struct {
	subject, sign, text string
	mark                view.Mark
	severity            int // severity of a new finding, or -1
}

// compareRuns lists what differs. What was examined in one of the runs only, or could not be learned, is no change.
func compareRuns(old, now savedRun) (list []change) {
	for _, subject := range slices.Sorted(maps.Keys(now)) {
		before, after := old[subject], now[subject]
		if before == nil {
			continue
		}
		add := func(sign, text string, mark view.Mark, severity int) {
			list = append(list, change{subject, sign, text, mark, severity})
		}
		if before.State != after.State && !after.Partial && !before.Partial {
			add("~", fmt.Sprintf("state: %s → %s", before.State, after.State), view.None, -1)
		}
		if before.Score != nil && after.Score != nil && *before.Score != *after.Score {
			add("~", fmt.Sprintf("score: %d → %d", *before.Score, *after.Score), view.None, -1)
		}
		oldFindings, newFindings := findingsByKey(before), findingsByKey(after)
		for _, key := range slices.Sorted(maps.Keys(newFindings)) {
			if _, known := oldFindings[key]; !known {
				f := newFindings[key]
				add("+", f.Title+": "+f.Detail+" ("+string(f.Code)+")", view.MarkOf(f.Severity), int(f.Severity))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(oldFindings)) {
			if _, still := newFindings[key]; !still && !after.Partial {
				add("-", oldFindings[key].Title+" ("+string(oldFindings[key].Code)+")", view.Good, -1)
			}
		}
		facts := map[string]string{}
		for _, f := range before.Facts {
			facts[f.Label] = f.Value
		}
		for _, f := range after.Facts {
			if value, known := facts[f.Label]; known && value != f.Value {
				add("~", f.Label+": "+value+" → "+f.Value, view.None, -1)
			}
		}
	}
	return list
}

func findingsByKey(v *view.View) map[string]diag.Finding {
	list := map[string]diag.Finding{}
	for _, f := range slices.Concat(v.Findings, v.Better) {
		list[string(f.Code)+" "+f.Target] = f
	}
	return list
}

func (a *app) changesText(changes []change) string {
	if len(changes) == 0 {
		return "nothing changed\n"
	}
	var b strings.Builder
	subject, options := "", a.terminalOptions()
	for _, c := range changes {
		if c.subject != subject {
			subject = c.subject
			fmt.Fprintln(&b, printable(subject))
		}
		b.WriteString(render.Item("  "+c.sign+" ", c.mark, c.text, options))
	}
	return b.String()
}
