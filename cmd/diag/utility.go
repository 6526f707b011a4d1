package main

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// printUtility prints what a text utility made of its text, as it is, so that it can be piped. What is
// to be said about it goes to standard error. It reports whether the reply was of that kind.
func (a *app) printUtility(name string, r *tree) (bool, error) {
	if !strings.HasPrefix(name, "text/") {
		return false, nil
	}
	out, known := utilityResult(r, a.terminal)
	if !known {
		return false, nil
	}
	for _, f := range r.findings() {
		fmt.Fprintf(a.stderr, "diag: %s: %s\n", f.get("severity").text(), printable(f.get("detail").text()))
	}
	if r.get("valid").text() == "false" {
		a.code = exitFinding
		fmt.Fprintln(a.stderr, "diag:", printable(fault(r.get("error"))))
		return true, nil
	}
	if a.terminal && a.output == "" {
		out = terminalText(out)
	}
	return true, a.writeOut([]byte(out))
}

// utilityResult is the result in the form in which it is of use to the next program.
func utilityResult(r *tree, terminal bool) (string, bool) {
	switch {
	case r.get("result_hex").text() != "":
		data, err := hex.DecodeString(r.get("result_hex").text())
		if err != nil || terminal {
			return r.get("result_hex").text(), true
		}
		return string(data), true
	case r.has("result"):
		return r.get("result").text(), true
	case len(r.get("passwords").items) > 0:
		var b strings.Builder
		for _, p := range r.get("passwords").items {
			b.WriteString(p.text() + "\n")
		}
		return b.String(), true
	case r.get("hashes").object:
		var b strings.Builder
		for i, name := range r.get("hashes").names {
			fmt.Fprintf(&b, "%-12s %s\n", name, r.get("hashes").items[i].text())
		}
		return b.String(), true
	case r.get("valid").text() == "false":
		return "", true
	}
	return "", false
}

// fault is an error of a text in a line: where, and what.
func fault(e *tree) string {
	where := ""
	switch {
	case e.has("line"):
		where = fmt.Sprintf("line %s, column %s: ", e.get("line").text(), e.get("column").text())
	case e.has("offset"):
		where = fmt.Sprintf("offset %s: ", e.get("offset").text())
	case e.has("position"):
		where = fmt.Sprintf("position %s: ", e.get("position").text())
	}
	return where + e.get("message").text()
}

// terminalText is a result safe for a terminal, with its lines, that ends with one.
func terminalText(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j, c := range cells {
			cells[j] = printable(c)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n") + "\n"
}
