//go:build !unix

package main

import (
	"errors"
	"os"
	"time"
)

// cpuTime is not known here; bench then shows rates alone.
func cpuTime() time.Duration { return 0 }

// freeze cannot be done here.
func freeze(*os.Process, bool) error { return errors.ErrUnsupported }
