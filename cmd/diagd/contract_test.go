package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The contract (httpapi/CONTRACT.md 8.1 and 8.2) has each flag and each command, and no other.
func TestContractOfDiagd(t *testing.T) {
	text, err := os.ReadFile("../../httpapi/CONTRACT.md")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(text), "\n### 8.1 ")
	about, _, _ := strings.Cut(after, "\n### 8.3 ")

	root := (&app{}).command()
	var flags, commands []string
	for _, set := range []*pflag.FlagSet{root.Flags(), root.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden {
				flags = append(flags, f.Name)
			}
		})
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|").FindAllStringSubmatch(about, -1) {
		told = append(told, m[1])
	}
	assert.ElementsMatch(t, flags, told)

	for _, c := range root.Commands() {
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				commands = append(commands, c.Name()+" "+sub.Name())
			}
		}
		if !c.HasSubCommands() {
			commands = append(commands, c.Name())
		}
	}
	told = nil
	for _, m := range regexp.MustCompile("`diagd ([a-z]+)(?: ([a-z|]+))?`").FindAllStringSubmatch(about, -1) {
		for sub := range strings.SplitSeq(m[2], "|") {
			told = append(told, strings.TrimSpace(m[1]+" "+sub))
		}
	}
	slices.Sort(told)
	for _, c := range slices.Compact(told) {
		found, _, err := root.Find(strings.Fields(c))
		assert.NoError(t, err, c)
		assert.Equal(t, "diagd "+c, found.CommandPath())
	}
	for _, c := range commands {
		assert.Contains(t, told, c, "a command that the contract does not know")
	}
}
