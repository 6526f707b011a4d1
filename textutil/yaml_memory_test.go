//go:build !race

package textutil

// hostileMemory is for texts that are half as long as allowed.
const hostileMemory = 40 << 20
