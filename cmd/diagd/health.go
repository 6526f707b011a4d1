package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

// healthServer is the second listener: for the operator, not for the public.
type healthServer struct {
	ready  atomic.Bool
	server *http.Server
}

// serveHealth starts the second listener, if --metrics-listen asks for it.
// More writes what there is to say besides that the server is ready.
func (a *app) serveHealth(
	ctx context.Context, metrics http.Handler, more func(io.Writer), log *slog.Logger,
) (*healthServer, error) {
	h := &healthServer{}
	if a.serving.metricsListen == "" {
		return h, nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.ready.Load() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ready\n")
		more(w)
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", a.serving.metricsListen)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	go h.server.Serve(l)
	log.Info("serving metrics", "url", "http://"+l.Addr().String()+"/metrics")
	return h, nil
}

func (h *healthServer) close() {
	if h.server != nil {
		h.server.Close()
	}
}

// healthCommand asks a running server whether it answers, for images that hold nothing but diagd.
func (a *app) healthCommand() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use: "health", Short: "Exit with 0 if a server answers", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodHead, url+httpapi.Prefix+"/openapi.json", nil)
			if err != nil {
				return usageError{err}
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("the server answered %s", resp.Status)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "url", "http://127.0.0.1:8080", "address of the server")
	return cmd
}
