//go:build !race

package textutil

import "time"

// What an answer to a text of the greatest length may take.
const (
	hostileLength = MaxText
	hostileMemory = 64 << 20
	hostileTime   = time.Second
)
