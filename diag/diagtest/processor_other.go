//go:build !unix

package diagtest

import "time"

// ProcessorTime is not known here.
func ProcessorTime() time.Duration { return 0 }
