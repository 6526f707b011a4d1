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
		Use: "diff OLD NEW", Short: "Say what changed between two runs that were kept with --json or --jsonl",
		Example: "  diag example.com --json > monday.json\n  diag example.com --json > tuesday.json\n" +
			"  diag diff monday.json tuesday.json",
		Args: takes(2, "diff takes two files"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.common(); err != nil {
				return err
			}
			var runs [2]keptRun
			for i, name := range args {
				var err error
				if runs[i], err = readRun(name); err != nil {
					return err
				}
			}
			if err := comparable(runs[0], runs[1]); err != nil {
				return err
			}
			changes := compare(runs[0], runs[1])
			for _, c := range changes {
				if c.grave >= int(a.threshold) {
					a.code = exitFinding
				}
			}
			return a.writeOut([]byte(a.changesText(changes)))
		},
	}
}

// A kept run is the views of its reports, by target and operation.
type keptRun map[string]*view.View

// readRun reads a file: a report, a whole, or lines with one of them each.
func readRun(name string) (keptRun, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, err
	}
	run := keptRun{}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var one json.RawMessage
		if err := d.Decode(&one); err != nil {
			return nil, usagef("%s: is not what --json or --jsonl has written: %w", name, err)
		}
		if !run.add("", one) {
			return nil, usagef("%s: holds something that no check answers", name)
		}
	}
	return run, nil
}

func (run keptRun) add(target string, data json.RawMessage) bool {
	var form struct {
		Target string          `json:"target"`
		Report json.RawMessage `json:"report"`
		Error  string          `json:"error"`
		Checks []struct {
			Name      string          `json:"name"`
			Operation string          `json:"operation"`
			Report    json.RawMessage `json:"report"`
		} `json:"checks"`
	}
	err := json.Unmarshal(data, &form)
	switch {
	case err == nil && form.Target != "" && form.Report != nil:
		return run.add(form.Target, form.Report)
	case err == nil && form.Target != "" && form.Error != "":
		return true // nothing was learned, which is no change
	case err == nil && form.Target != "" && len(form.Checks) > 0 && form.Checks[0].Operation != "":
		for _, c := range form.Checks {
			if c.Report != nil && !run.add(form.Target+" "+c.Name, c.Report) {
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

// comparable refuses runs that have nothing in common: it would be wrong to report no change.
func comparable(old, now keptRun) error {
	for where := range now {
		if old[where] != nil {
			return nil
		}
	}
	if len(old) == 0 || len(now) == 0 {
		return nil // nothing was learned
	}
	one, other := slices.Sorted(maps.Keys(old))[0], slices.Sorted(maps.Keys(now))[0]
	return usagef("the runs have nothing in common: one is of %s, the other of %s", one, other)
}

// A change is one difference: a line with a sign, the severity of the new state, and its place.
type change struct {
	where, sign, text string
	mark              view.Mark
	grave             int // severity of a new finding, or -1
}

// compare lists what differs. What was examined in one of the runs only, or could not be learned, is no change.
func compare(old, now keptRun) (list []change) {
	for _, where := range slices.Sorted(maps.Keys(now)) {
		before, after := old[where], now[where]
		if before == nil {
			continue
		}
		add := func(sign, text string, mark view.Mark, grave int) {
			list = append(list, change{where, sign, text, mark, grave})
		}
		if before.State != after.State && !after.Partial && !before.Partial {
			add("~", fmt.Sprintf("state: %s → %s", before.State, after.State), view.None, -1)
		}
		if before.Score != nil && after.Score != nil && *before.Score != *after.Score {
			add("~", fmt.Sprintf("score: %d → %d", *before.Score, *after.Score), view.None, -1)
		}
		was, is := found(before), found(after)
		for _, key := range slices.Sorted(maps.Keys(is)) {
			if _, known := was[key]; !known {
				f := is[key]
				add("+", f.Title+": "+f.Detail+" ("+string(f.Code)+")", view.MarkOf(f.Severity), int(f.Severity))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(was)) {
			if _, still := is[key]; !still && !after.Partial {
				add("-", was[key].Title+" ("+string(was[key].Code)+")", view.Good, -1)
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

func found(v *view.View) map[string]diag.Finding {
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
	where, options := "", a.terminalOptions()
	for _, c := range changes {
		if c.where != where {
			where = c.where
			fmt.Fprintln(&b, printable(where))
		}
		b.WriteString(render.Item("  "+c.sign+" ", c.mark, c.text, options))
	}
	return b.String()
}
