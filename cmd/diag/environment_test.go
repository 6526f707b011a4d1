package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain removes the caller's settings for the programs from the environment of their tests.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "DIAG_") || name == "NO_COLOR" {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}
