//go:build race

package textutil

import "time"

// The race detector makes everything slower and larger by a factor that is not the point here, and nothing here
// runs at once: a part of the length is enough to see what is not linear.
const (
	hostileLength = MaxText / 16
	hostileMemory = 128 << 20
	hostileTime   = time.Minute
)
