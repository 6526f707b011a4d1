package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/cmd/internal/released"
)

// Scripts and configurations rely on the commands, flags, settings, variables and exit codes of diagd.
func TestReleasedDiagd(t *testing.T) {
	lines := released.Commands(t, (&app{}).command())
	settingFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden || f.Deprecated != "" {
			lines = append(lines, "setting "+f.Name, "variable "+envName(f.Name)+" = --"+f.Name)
		}
	})
	for code, name := range map[int]string{
		exitOK: "fine", exitFailed: "failed", exitUsage: "usage", exitFaults: "faults",
	} {
		lines = append(lines, fmt.Sprintf("exit code of %s = %d", name, code))
	}
	for i, line := range lines { // the default author is who runs the test
		lines[i] = strings.Replace(line, fmt.Sprintf("--by = string, default %q", userName()), "--by = string", 1)
	}
	released.Check(t, released.List{Name: "diagd", Lines: lines,
		Remedy: released.CommandsRemedy + " A setting keeps its name, an exit code its meaning."})
}

// Alerts and boards rely on the metrics of a server and their labels.
func TestReleasedMetricsOfDiagd(t *testing.T) {
	names, labels := served(t)
	var lines []string
	for name := range names {
		lines = append(lines, "metric "+name)
	}
	for label := range labels {
		lines = append(lines, "label "+label)
	}
	require.NotEmpty(t, lines)
	released.Check(t, released.List{Name: "diagd-metrics", Lines: lines,
		Remedy: "A metric keeps its name and labels: serve a new one beside it."})
}
