package printing

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"
)

// alignedRows is how many rows of a table have their columns aligned with each other: so many are kept until they are
// written.
const alignedRows = 1000

// Each prints a list while it is being read, however long it is: a table that begins with the columns, or a list in
// JSON as [Print] prints it. If the list ends with an error, the items before are printed; nothing, if there are
// none.
func Each[T any](
	w io.Writer, asJSON bool, list iter.Seq2[T, error], columns string, cells func(T) []any,
) error {
	t := &Table{tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)}
	n := 0
	for v, err := range list {
		if err != nil {
			return errors.Join(err, t.Flush())
		}
		if asJSON {
			err = element(t, n, v)
		} else {
			if n == 0 {
				t.Row(columns)
			}
			t.Row(cells(v)...)
		}
		if n++; n%alignedRows == 0 && err == nil {
			err = t.Flush()
		}
		if err != nil {
			return err
		}
	}
	switch {
	case asJSON && n == 0:
		fmt.Fprintln(t, "[]")
	case asJSON:
		fmt.Fprintln(t, "\n]")
	case n == 0:
		t.Row(columns)
	}
	return t.Flush()
}

// element writes an element of a list in JSON, without the end of its last line.
func element(w io.Writer, n int, value any) error {
	mark := "[\n"
	if n > 0 {
		mark = ",\n"
	}
	var text strings.Builder
	err := encode(&text, value, "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s  %s", mark, strings.TrimSuffix(text.String(), "\n"))
	}
	return err
}
