package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/crypto/acme/autocert"
)

// tlsConfig returns the server's certificate configuration, or nil for plain HTTP.
func (f *serveFlags) tlsConfig(log *slog.Logger) (*tls.Config, error) {
	files := f.tlsCert != "" || f.tlsKey != ""
	switch {
	case files && f.acmeDomain != "":
		return nil, usagef("--tls-cert and --acme-domain exclude each other")
	case f.acmeDomain != "":
		manager := autocert.Manager{
			Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(f.acmeDomain), Cache: autocert.DirCache(f.acmeData),
		}
		return manager.TLSConfig(), nil
	case !files:
		return nil, nil
	case f.tlsCert == "" || f.tlsKey == "":
		return nil, usagef("--tls-cert and --tls-key must be set together")
	}
	pair := &keyPair{cert: f.tlsCert, key: f.tlsKey, log: log}
	if _, err := pair.certificate(nil); err != nil {
		return nil, err
	}
	f.pair = pair
	return &tls.Config{GetCertificate: pair.certificate, MinVersion: tls.VersionTLS12}, nil
}

// keyPair is a certificate in files. It is read again when the files change, so that a renewed one is
// served without a restart.
type keyPair struct {
	cert, key string
	log       *slog.Logger // hears of a certificate that cannot be loaded

	mu      sync.Mutex
	current *tls.Certificate
	changed time.Time // of the certificate's file when it was loaded
	checked time.Time
}

// checkEvery bounds how often the file's time is checked.
const checkEvery = 10 * time.Second

// reload rereads the files, whatever their times.
func (p *keyPair) reload() {
	p.mu.Lock()
	p.checked, p.changed = time.Time{}, time.Time{}
	p.mu.Unlock()
	_, _ = p.certificate(nil) // which logs the fault, and keeps the old one
}

func (p *keyPair) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.current != nil && now.Sub(p.checked) < checkEvery {
		return p.current, nil
	}
	p.checked = now
	info, err := os.Stat(p.cert)
	if err == nil && p.current != nil && info.ModTime().Equal(p.changed) {
		return p.current, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(p.cert, p.key)
	}
	switch {
	case err == nil:
		p.current, p.changed = &pair, info.ModTime()
	case p.current == nil:
		return nil, fmt.Errorf("loading the certificate: %w", err)
	default: // a new one is being written, or is no good
		p.log.Warn("loading the certificate; the old one is still served", "file", p.cert, "error", err)
	}
	return p.current, nil
}

// onHangup calls a function for each SIGHUP until the context ends. A panic in it is logged.
func onHangup(ctx context.Context, log *slog.Logger, f func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(signals); close(signals) })
	go func() {
		for range signals {
			if p := diag.Catch(f); p != nil {
				log.Error("panic", "panic", p.Value, "stack", string(p.Stack))
			}
		}
	}()
}

// reload rereads files: the certificate, and the lists of --data but the plans, which the store holds. If a file
// cannot be read, everything stays unchanged.
func (a *app) reload(env *diag.Env, log *slog.Logger) {
	if a.serving.pair != nil {
		a.serving.pair.reload()
	}
	if err := a.checkData(); err != nil {
		log.Error("reloading the lists; the old ones stay in force", "error", err)
		return
	}
	env.ForgetLists()
	log.Info("reloaded certificate and lists; settings need a restart")
}
