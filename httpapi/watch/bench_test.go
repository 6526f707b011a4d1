package watch_test

import (
	"fmt"
	"testing"

	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/stretchr/testify/require"
)

// The list of an account with 10,000 domains, each of which has run, must be there within 200 ms on PostgreSQL.
func BenchmarkList(b *testing.B) {
	const count = 10_000
	for name, open := range map[string]func(testing.TB, *meteringtest.Clock) metering.Store{
		"memory": func(_ testing.TB, c *meteringtest.Clock) metering.Store {
			return memory.New(memory.Config{Clock: c.Now})
		},
		"postgres": func(b testing.TB, c *meteringtest.Clock) metering.Store { return openPostgres(b, c.Now) },
	} {
		b.Run(fmt.Sprintf("%s-%d", name, count), func(b *testing.B) {
			f := newFleet(b, open, 1)
			f.create(0, count)
			f.advance(0)
			for b.Loop() {
				list, err := f.nodes[0].watches.List(b.Context(), f.accounts[0])
				require.NoError(b, err)
				require.Len(b, list, count)
				require.Equal(b, watch.OK, list[count-1].State)
			}
		})
	}
}
