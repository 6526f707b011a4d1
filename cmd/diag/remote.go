package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/cobra"
)

// maxReply bounds a server's reply.
const maxReply = 64 << 20

func (a *app) askServer(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
	if err := a.checkKey(); err != nil {
		return nil, err
	}
	client, err := a.newClient()
	if err != nil {
		return nil, err
	}
	req, err := a.newRequest(ctx, ep, body)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("connecting to %s: %s", a.server, connectionError(err))
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return nil, fmt.Errorf("reading the reply of %s: %w", a.server, err)
	}
	if len(data) > maxReply {
		return nil, fmt.Errorf("the reply of %s has more than %d bytes", a.server, maxReply)
	}
	if resp.StatusCode == http.StatusOK {
		return &httpapi.Result{MediaType: resp.Header.Get("Content-Type"), Body: data}, nil
	}
	var p httpapi.Problem
	if json.Unmarshal(data, &p) != nil || p.Code == "" {
		return nil, fmt.Errorf("%s answered %s", a.server, resp.Status)
	}
	switch {
	case p.Code == "INVALID_API_KEY":
		return nil, permanentError{fmt.Errorf("the server rejected the API key: check --key and $DIAG_KEY (%s)", p.RequestID)}
	case p.Code == httpapi.InvalidRequest && len(p.Details.Fields) == 0:
		return nil, usageError{p.Err()}
	case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests && p.Code != httpapi.InvalidRequest:
		return nil, permanentError{p.Err()}
	}
	return nil, p.Err()
}

// checkKey refuses a server without a key.
func (a *app) checkKey() error {
	if a.server != "" && a.key == "" {
		return usagef("the server %s needs an API key: --key or $DIAG_KEY", a.server)
	}
	return nil
}

// connectionError explains why there was no connection to the server, without the prefixes of net/http.
func connectionError(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return "the name " + name.Name + " has no address"
	}
	return diag.Reason(err)
}

// A permanentError is an error that asking again will not end: a key that is not valid, or has no credits.
type permanentError struct{ error }

func (r permanentError) Unwrap() error { return r.error }

// newRequest puts the fields where the API has them: into path, query or body.
func (a *app) newRequest(ctx context.Context, ep httpapi.Endpoint, fields []byte) (*http.Request, error) {
	target, body, err := ep.Target(fields)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, ep.Method, strings.TrimSuffix(a.server, "/")+target, bytes.NewReader(body))
	if err != nil {
		return nil, usagef("--server: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// chooseServer decides where checks run once the flags are known: what works locally only runs here although
// $DIAG_SERVER names a server, and cannot be combined with --server.
func (a *app) chooseServer(cmd *cobra.Command) error {
	a.serverNamed = a.server != "" && cmd.Flags().Changed("server")
	local := a.localOnly()
	switch {
	case a.server == "" || local == "":
	case a.serverNamed:
		return usagef("%s works locally only: omit --server", local)
	default:
		fmt.Fprintf(a.stderr, "diag: note: %s works locally only: $DIAG_SERVER is not used\n", printable(local))
		a.server = ""
	}
	return nil
}

// localOnly returns an option of the command line that has no effect at a server, or "".
func (a *app) localOnly() string {
	w := &a.world
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"--plan", a.selection.plan}, {"--zone", len(a.zone.files) > 0}, {"--ns", len(a.zone.servers) > 0},
		{"--resolver", len(w.Resolvers) > 0}, {"--allow-networks", len(w.AllowNetworks) > 0},
		{"--deny-networks", len(w.DenyNetworks) > 0}, {"--allow-ports", len(w.AllowPorts) > 0},
		{"--root-hints", w.RootHints != ""}, {"--trust-anchor", w.TrustAnchor != ""},
		{"--hello-name", w.HelloName != ""},
	} {
		if option.set {
			return option.name
		}
	}
	return a.line.server()
}

// newClient speaks to the server. It trusts the authorities of --ca-file.
func (a *app) newClient() (*http.Client, error) {
	u, err := url.Parse(a.server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, usagef("the server %q is not a URL such as https://diag.example", a.server)
	}
	roots, err := a.world.Roots()
	if err != nil {
		return nil, usageError{err}
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key is for this server alone
		},
	}, nil
}
