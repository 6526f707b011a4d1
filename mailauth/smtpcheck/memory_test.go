//go:build !race

package smtpcheck

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The memory of a check stays within the estimate of the request, with servers that send as much as allowed and long
// certificates.
func TestMemory(t *testing.T) {
	w := diagtest.NewWorld(t)
	names := make([]string, 3000)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d.example.com", strings.Repeat("x", 50), i)
	}
	cert := w.Certificate(diagtest.CertSpec{Names: names})
	hello := strings.Repeat("250-"+strings.Repeat("X ", 140)+"\n", 45) + "250 STARTTLS"
	for i := range 10 {
		host := fmt.Sprintf("mx%d.example.com", i)
		w.Zone(fmt.Sprintf("example.com. MX %d %s.\n%s. A 192.0.2.%d\n%s. A 192.0.2.1%02d\n", i, host, host, i+1, host, i))
		w.SMTP(diagtest.SMTP{
			Host: host, Replies: map[string]string{"EHLO": hello, "RCPT": "550 no"},
			TLS: &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now},
		})
	}
	req := ofDomain
	req.MaxHosts = 10
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Check(t.Context(), w.Env(), req)
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	require.Len(t, r.Servers, 20)
	require.Equal(t, "TLS 1.3", r.Servers[0].TLS.Version)
	require.LessOrEqual(t, held, req.Memory())
	t.Logf("%d KiB for a server, of them %d of JSON", held>>10/20, len(text)>>10/20)
	runtime.KeepAlive(r)
	runtime.KeepAlive(text)
}
