package diagtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFullListDropsItsOlderHalf(t *testing.T) {
	var j journal[int]
	for i := range maxEvents + 1 {
		j.add(i)
	}
	list := j.all()
	assert.Len(t, list, maxEvents/2+1)
	assert.Equal(t, maxEvents, list[len(list)-1])
}
