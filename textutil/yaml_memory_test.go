//go:build !race

package textutil

import "time"

// What an answer to a text of the greatest length may take: on an idle machine it is under half a second.
const (
	hostileLength = MaxText
	hostileMemory = 64 << 20
	hostileTime   = 5 * time.Second
)
