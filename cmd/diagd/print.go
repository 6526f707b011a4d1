package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"
)

// table is output for people.
type table struct{ w *tabwriter.Writer }

func (t *table) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, c)
	}
	fmt.Fprintln(t.w)
}

// print writes a value as JSON, or for people by a function.
func (a *app) print(value any, human func(*table)) error {
	if a.json {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(value)
	}
	t := &table{tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)}
	human(t)
	return t.w.Flush()
}

func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
