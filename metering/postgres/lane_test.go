package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// TestLane lets callers leave a lane before their group has begun, while it is under way, and after it has ended.
func TestLane(t *testing.T) {
	begun, finish, late := make(chan int), make(chan struct{}), make(chan int, 1)
	l := lanes[int, int]{
		run: func(g *group[int, int]) {
			begun <- len(g.jobs)
			<-finish
			for _, j := range g.jobs {
				j.out = 2 * j.in
			}
		},
		late: func(j *job[int, int]) { late <- j.out },
	}
	type result struct {
		out int
		err error
	}
	do := func(ctx context.Context, in int) <-chan result {
		done := make(chan result, 1)
		go func() {
			out, err := l.do(ctx, "acc_a", in)
			done <- result{out, err}
		}()
		return done
	}
	waiting := func(n int) {
		require.Eventually(t, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.waiting == n
		}, 10*groupTimeout, groupTimeout/5000)
	}
	first, leave := context.WithCancel(t.Context())
	one := do(first, 1)
	require.Equal(t, 1, <-begun)
	second, withdraw := context.WithCancel(t.Context())
	two, three := do(second, 2), do(t.Context(), 3)
	waiting(2)

	withdraw()
	require.Equal(t, result{0, context.Canceled}, <-two, "taken back")
	leave()
	left := <-one
	require.ErrorIs(t, left.err, metering.ErrUnavailable, "nobody knows yet")
	require.ErrorIs(t, left.err, context.Canceled)
	finish <- struct{}{}
	require.Equal(t, 2, <-late)
	require.Equal(t, 1, <-begun, "who came meanwhile, without the one who left")
	finish <- struct{}{}
	require.Equal(t, result{6, nil}, <-three)

	l.close()
	_, err := l.do(t.Context(), "acc_a", 4)
	require.ErrorIs(t, err, metering.ErrClosed)
	require.Empty(t, l.groups)
}
