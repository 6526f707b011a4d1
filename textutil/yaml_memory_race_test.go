//go:build race

package textutil

import "time"

// The race detector makes everything slower and larger by a factor that is not the point here: what is not
// linear would take many minutes and gigabytes.
const (
	hostileLength = MaxText / 2
	hostileMemory = 128 << 20
	hostileTime   = time.Minute
)
