package tlscert

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// BenchmarkAddresses is a whole check of a host with one address, and of one with eight that are alike, with the servers
// in the same process: at once, and with 20 ms to each connection and answer of the DNS.
func BenchmarkAddresses(b *testing.B) {
	for i := range 4 {
		n, far := []int{1, 8}[i%2], i >= 2
		b.Run(fmt.Sprintf("addresses=%d/far=%t", n, far), func(b *testing.B) {
			a := newAuthorities(b)
			w := diagtest.NewWorld(b)
			w.SetTime(start)
			var zone strings.Builder
			for i := range n {
				fmt.Fprintf(&zone, "example.com. A 192.0.2.%d\n", i+10)
			}
			w.Zone(zone.String())
			openLists(w)
			if far {
				w.Latency(20 * time.Millisecond)
			}
			setup{w, a, b}.serve(nil)
			w.Env().Roots = x509.NewCertPool()
			w.Env().Roots.AddCert(a.root.cert)
			connections, began := 0, diagtest.ProcessorTime()
			for b.Loop() {
				r, err := Check(b.Context(), w.Env(), Request{Host: MustHost(host)})
				require.NoError(b, err)
				require.False(b, r.Partial, "%+v %+v", r.Examined, r.Findings)
				connections = len(w.Connections())
			}
			b.ReportMetric(float64((diagtest.ProcessorTime()-began).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
			b.ReportMetric(float64(connections)/float64(b.N), "connections/op")
		})
	}
}
