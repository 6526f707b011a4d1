// Package printing prints the results of commands: as tables for people, as JSON for programs.
package printing

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// A Table aligns the cells of its rows in columns. What is written to it directly is a row as it is.
type Table struct{ *tabwriter.Writer }

// Row writes a row.
func (t *Table) Row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t, "\t")
		}
		fmt.Fprint(t, c)
	}
	fmt.Fprintln(t)
}

// Print writes a value as JSON, or for people by a function.
func Print(w io.Writer, asJSON bool, value any, human func(*Table)) error {
	if asJSON {
		return encode(w, value, "")
	}
	t := &Table{tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)}
	human(t)
	return t.Flush()
}

// encode writes a value as JSON, each line but the first behind a prefix.
func encode(w io.Writer, value any, prefix string) error {
	e := json.NewEncoder(w)
	e.SetIndent(prefix, "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
