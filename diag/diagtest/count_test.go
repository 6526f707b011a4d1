package diagtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFullListDropsItsOlderHalf(t *testing.T) {
	var list []int
	for i := range maxEvents + 1 {
		list = push(list, i)
	}
	assert.Len(t, list, maxEvents/2+1)
	assert.Equal(t, maxEvents, list[len(list)-1])
}
