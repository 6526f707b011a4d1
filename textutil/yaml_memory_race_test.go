//go:build race

package textutil

// hostileMemory is larger under the race detector, which makes maps and lists take more room.
const hostileMemory = 56 << 20
