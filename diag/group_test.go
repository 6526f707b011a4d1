package diag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroupCarriesPanic(t *testing.T) {
	var g Group
	ran := false
	g.Go(func() { panic("hostile answer") })
	g.Go(func() { ran = true })

	defer func() {
		p, ok := recover().(*GoPanic)
		require.True(t, ok)
		require.Equal(t, "hostile answer", p.Value)
		require.Contains(t, p.Error(), "TestGroupCarriesPanic")
		require.True(t, ran, "the other functions run to their end")
	}()
	g.Wait()
}
