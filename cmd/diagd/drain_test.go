package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const drainClients = 32

// A server that is stopped under load answers all accepted requests: every charge has been acknowledged, completely,
// to the last request, and nothing that was acknowledged is missing.
func TestDrainUnderLoad(t *testing.T) {
	for name, version := range map[string]int{"HTTP/1.1": 1, "HTTP/2": 2} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store, args := "--store=sqlite:"+filepath.Join(dir, "diag.db"), []string{"--ip-rate=0"}
			if version == 2 {
				cert, key := writeCertificate(t, dir, 1)
				args = append(args, "--tls-cert", cert, "--tls-key", key)
			}
			s := start(t, append(args, store)...)
			transport := &http.Transport{
				MaxIdleConnsPerHost: drainClients, ForceAttemptHTTP2: version == 2,
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // its own certificate
			}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			var acknowledged atomic.Int64
			var clients sync.WaitGroup
			for i := range drainClients {
				clients.Go(func() {
					for n := 0; ; n++ {
						r, err := buyOnce(t.Context(), client, s, fmt.Sprintf("client %02d %06d", i, n))
						if err != nil {
							return // refused: the server takes no more
						}
						assert.Equal(t, version, r.major)
						assert.Equal(t, http.StatusOK, r.status, r)
						assert.Contains(t, r.body, fmt.Sprintf("CLIENT %02d %06d", i, n), "whole")
						if acknowledged.Add(1) == 500 {
							s.stop()
						}
					}
				})
			}
			clients.Wait()
			require.Equal(t, exitOK, s.wait())
			require.GreaterOrEqual(t, acknowledged.Load(), int64(500))
			assert.Equal(t, acknowledged.Load(), parsed[usageView](t, "usage", store).Charges, "charged and acknowledged")
			assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
			assert.NotContains(t, s.log.String(), "canceled")
		})
	}
}

// A server that is stopped immediately reports that it is not ready, and serves until its balancer may have noticed.
func TestNotReadyBeforeDraining(t *testing.T) {
	over := make(chan time.Time)
	s := startApp(t, &app{drain: drainTime, lameDuck: func() <-chan time.Time { return over }}, "--store=memory:", "--metrics-listen=127.0.0.1:0")
	metrics := s.log.wait(t, `"?serving metrics"? url=(\S+)/metrics`)[1]
	require.Equal(t, http.StatusOK, get(t, metrics+"/readyz").status)
	s.stop()
	s.log.wait(t, "no longer ready")
	assert.Equal(t, http.StatusServiceUnavailable, get(t, metrics+"/readyz").status)
	assert.Equal(t, http.StatusOK, s.post("/text/upper", upper).status)
	assert.NotContains(t, s.log.String(), "draining")
	close(over)
	require.Equal(t, exitOK, s.wait())
}

type versionedReply struct {
	reply
	major int
}

// buyOnce makes one purchase, without retries. An error means that there was no complete reply.
func buyOnce(ctx context.Context, client *http.Client, s *server, text string) (versionedReply, error) {
	body := strings.NewReader(`{"text":"` + text + `"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/public/v1/text/upper", body)
	if err != nil {
		return versionedReply{}, err
	}
	req.GetBody = nil
	req.Header.Set("Authorization", "Bearer "+s.secret)
	req.Header.Set("Content-Type", "application/json")
	var major int
	r, err := do(&http.Client{Transport: noting{client.Transport, &major}}, req)
	return versionedReply{r, major}, err
}

// noting notes the version that a reply came by.
type noting struct {
	http.RoundTripper
	major *int
}

// RoundTrip implements [http.RoundTripper].
func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(r)
	if err == nil {
		*n.major = resp.ProtoMajor
	}
	return resp, err
}
