package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// waiting is a queue in which jobs with replies of these sizes wait.
func waiting(sizes ...int) *queue {
	q := new(queue)
	q.init()
	for _, size := range sizes {
		q.add(&job{reply: &metering.Reply{Body: make([]byte, size)}})
	}
	return q
}

func TestBatches(t *testing.T) {
	q := waiting(make([]int, maxBatch+1)...)
	require.Equal(t, maxBatch+1, q.waiting)
	require.Len(t, q.take().jobs, maxBatch, "a batch is bounded")
	require.Equal(t, 1, q.waiting)
	require.Len(t, q.take().jobs, 1)
	require.Zero(t, q.waiting)

	q = waiting(maxBatchBytes-1, 1, 1)
	require.Len(t, q.take().jobs, 2, "its replies are bounded too")
	require.Len(t, waiting(2*maxBatchBytes, 1).take().jobs, 1, "a large reply is one batch")

	q.close()
	require.Len(t, q.take().jobs, 1, "what waits is written")
	require.Nil(t, q.take())
	_, err := q.do(t.Context(), new(job))
	require.ErrorIs(t, err, metering.ErrClosed)
}

func TestJoin(t *testing.T) {
	tests := []struct {
		name        string
		jobs, bytes int // of the transaction
		sizes       []int
		want        int // jobs that join
	}{
		{"nobody waits", 1, 0, nil, 0},
		{"all who wait", 1, 0, []int{0, 0, 0}, 3},
		{"as many as there is room for", maxBatch - 3, 0, []int{0, 0, 0}, 3},
		{"one too many", maxBatch - 2, 0, []int{0, 0, 0}, 0},
		{"as much as there is room for", 1, maxBatchBytes - 10, []int{4, 6}, 2},
		{"a byte too many", 1, maxBatchBytes - 9, []int{4, 6}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := waiting(tt.sizes...)
			b := q.join(tt.jobs, tt.bytes)
			if tt.want == 0 {
				require.Nil(t, b)
				require.Equal(t, len(tt.sizes), q.waiting, "they wait for the next transaction")
				return
			}
			require.Len(t, b.jobs, tt.want)
			require.Zero(t, q.waiting)
		})
	}
}

func TestFullQueue(t *testing.T) {
	q := waiting()
	q.waiting = maxQueue
	_, err := q.do(t.Context(), new(job))
	require.ErrorIs(t, err, errQueue)
	require.ErrorIs(t, err, metering.ErrUnavailable)
}
