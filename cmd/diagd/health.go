package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

// healthServer is the second listener: for the operator, not for the public.
type healthServer struct {
	http.Server
	ready atomic.Bool
}

// newHealth makes the health server. Store reports whether the store can write, and more writes what to report in
// addition to readiness.
func newHealth(metrics http.Handler, store func() error, writeDetails func(io.Writer), log *slog.Logger) *healthServer {
	mux := &httpapi.Mux{}
	h := &healthServer{Server: http.Server{
		Handler:           httpapi.Front{API: mux, Log: log}, // a profile takes as long as requested
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: newErrorLog(log), DisableGeneralOptionsHandler: true,
	}}
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.ready.Load() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		if err := store(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ready\n")
		writeDetails(w)
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return h
}

// listen serves it, if --metrics-listen is set.
func (h *healthServer) listen(ctx context.Context, address string, log *slog.Logger) error {
	if address == "" {
		return nil
	}
	l, err := listen(ctx, "--metrics-listen", address)
	if err != nil {
		return err
	}
	go h.Serve(&httpapi.Listener{Listener: l})
	log.Info("serving metrics", "url", "http://"+l.Addr().String()+"/metrics")
	return nil
}

// healthCommand checks whether a running server answers, for images that contain only diagd. It finds the server by
// the same settings.
func (a *app) healthCommand() *cobra.Command {
	var url string
	cmd := newCommand("health", "Exit with 0 if the server with the same settings responds", "",
		func(ctx context.Context, _ []string) error {
			ctx, cancel := context.WithTimeout(ctx, healthTime)
			defer cancel()
			if url != "" {
				return requestHealth(ctx, strings.TrimSuffix(url, "/")+openapiPath, "")
			}
			return a.health(ctx)
		})
	cmd.Flags().StringVar(&url, "url", "",
		"address of the server, such as http://127.0.0.1:8080 (default: from the settings)")
	a.serving.addListeners(cmd.Flags())
	return cmd
}

const (
	// healthTime is shorter than the timeout of the image's HEALTHCHECK.
	healthTime  = 3 * time.Second
	openapiPath = httpapi.Prefix + "/openapi.json"
)

// health checks that the public listener answers and, if there is one, the operator's reports that the server is
// ready.
func (a *app) health(ctx context.Context) error {
	scheme := "http://"
	if a.serving.tlsCert != "" || a.serving.acmeDomain != "" {
		scheme = "https://"
	}
	host, err := loopbackAddress("listen", a.serving.listen)
	if err != nil {
		return err
	}
	if err := requestHealth(ctx, scheme+host+openapiPath, a.serving.acmeDomain); err != nil {
		return err
	}
	if a.serving.metricsListen == "" {
		return nil
	}
	if host, err = loopbackAddress("metrics-listen", a.serving.metricsListen); err != nil {
		return err
	}
	return requestHealth(ctx, "http://"+host+"/readyz", "")
}

// loopbackAddress returns the address at which this machine reaches a listener of its own.
func loopbackAddress(flag, listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usagef("--%s: %w", flag, err)
	}
	if port == "0" {
		return "", usagef("--%s: only the server knows the port of %s; name the address with --url", flag, listen)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if err == nil && ip.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}

// requestHealth requests a page. The certificate is not verified: it names the public host, not this address, and the
// request contains no secrets.
func requestHealth(ctx context.Context, url, serverName string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return usageError{err}
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: serverName}}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 { // 429 is an answer too
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}
