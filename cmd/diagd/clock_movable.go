//go:build movableclock

package main

import (
	"os"
	"strings"
	"time"
)

// wallClock is the clock of this machine, moved by the duration in the file that DIAGD_CLOCK names, which is read each
// time. Without the variable, and as long as the file holds no duration, it is not moved. The command
// cmd/diagd/internal/bench plays clocks that jump by it.
func wallClock() func() time.Time {
	path := os.Getenv("DIAGD_CLOCK")
	if path == "" {
		return nil
	}
	return func() time.Time {
		text, _ := os.ReadFile(path)
		jump, _ := time.ParseDuration(strings.TrimSpace(string(text)))
		return time.Now().Round(0).Add(jump)
	}
}
