//go:build !unix

package main

import (
	"errors"
	"os"
	"time"
)

// cpuTime is not known here; bench then shows rates alone.
func cpuTime() time.Duration { return 0 }

// setStopped cannot be done here.
func setStopped(*os.Process, bool) error { return errors.ErrUnsupported }
