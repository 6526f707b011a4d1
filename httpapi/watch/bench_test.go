package watch_test

import (
	"bytes"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/stretchr/testify/require"
)

// The list of an account with 10,000 domains, each of which has run, must be there within 200 ms on PostgreSQL. Each
// of them has changes, and expiries.
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
			size := f.fill()
			before := cpu(b)
			for b.Loop() {
				list, err := f.nodes[0].watches.List(b.Context(), f.accounts[0])
				require.NoError(b, err)
				require.Len(b, list, count)
				require.Equal(b, watch.OK, list[count-1].State)
			}
			b.ReportMetric(float64(cpu(b)-before)/1e6/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(size), "bytes/body")
		})
	}
}

// fill adds to each watch a reportable state, and returns the size of a body.
func (f *fleet) fill() (size int) {
	f.Helper()
	var list []metering.Record
	for r, err := range f.store.Records(f.Context(), metering.RecordFilter{Kind: "watch"}) {
		require.NoError(f, err)
		r.Body = append(bytes.TrimSuffix(r.Body, []byte("}")), `,"score":71,"worst":"tls.certificate.expired",`+
			`"changed_at":"2026-01-12T08:00:00Z","change":"worse: Certificate has expired and 2 more",`+
			`"expires_at":"2026-03-09T08:00:00Z","expiring":"certificate"}`...)
		list = append(list, r)
	}
	for some := range slices.Chunk(list, metering.MaxRecordsPut) {
		require.NoError(f, f.store.PutRecords(f.Context(), some...))
	}
	return len(list[0].Body)
}

// cpu returns the CPU time of this program.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
