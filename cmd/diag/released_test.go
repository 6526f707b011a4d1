package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/cmd/internal/released"
)

// Scripts rely on the commands, flags, exit codes and variables of diag.
func TestReleasedDiag(t *testing.T) {
	a := &app{}
	root := a.command()
	a.addChecks(root, []string{"man"}) // with their flags
	lines := released.Commands(t, root)
	for name, check := range shortNames {
		lines = append(lines, "short name "+name+" = "+check)
	}
	for code, name := range map[int]string{
		exitOK: "fine", exitFinding: "a finding", exitUsage: "usage", exitIncomplete: "incomplete", exitPartial: "partial",
	} {
		lines = append(lines, fmt.Sprintf("exit code of %s = %d", name, code))
	}
	released.Check(t, released.List{Name: "diag", Lines: append(lines, variables(t)...),
		Remedy: released.CommandsRemedy + " An exit code keeps its meaning."})
}

// variables are those that set flags.
func variables(t *testing.T) (lines []string) {
	name := func(f *pflag.Flag) string { return "DIAG_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) }
	flags := (&app{}).command().PersistentFlags()
	flags.VisitAll(func(f *pflag.Flag) { t.Setenv(name(f), "from the environment") })
	(&app{}).command().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Value.String() == "from the environment" {
			lines = append(lines, "variable "+name(f)+" = --"+f.Name)
		}
	})
	return lines
}

// Spreadsheets rely on the order of columns.
func TestReleasedColumnsOfDiag(t *testing.T) {
	released.Check(t, released.List{Name: "diag-csv", Lines: []string{"--csv = " + strings.Join(csvColumns, ",")},
		Widened: released.Appended, Remedy: "A column keeps its place: add new ones at the end."})
}

// Alerts and boards rely on the metrics of diag exporter.
func TestReleasedMetricsOfDiag(t *testing.T) {
	source, err := os.ReadFile("../../httpapi/target/exporter/exporter.go")
	require.NoError(t, err)
	var lines []string
	for _, m := range regexp.MustCompile(`\{"(diag_\w+)", "(\w+)", `).FindAllStringSubmatch(string(source), -1) {
		lines = append(lines, m[1]+" = "+m[2])
	}
	require.NotEmpty(t, lines)
	released.Check(t, released.List{Name: "diag-metrics", Lines: lines,
		Remedy: "A metric keeps its name and type: serve a new one beside it."})
}
