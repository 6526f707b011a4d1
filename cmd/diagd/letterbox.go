package main

import (
	"context"
	"crypto/tls"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/letterbox"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/spf13/pflag"
)

type letterboxFlags struct{ listen, domain string }

func (f *letterboxFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.listen, "letterbox-listen", "",
		"address to receive messages on for the public letter box at /letterbox, such as :25 (default: off)")
	fs.StringVar(&f.domain, "letterbox-domain", "", "domain of the letter box, whose MX record points to this server")
}

// parse returns the domain of the letter box; zero without one.
func (f *letterboxFlags) parse() (diag.Domain, error) {
	if f.listen == "" && f.domain == "" {
		return diag.Domain{}, nil
	}
	if f.listen == "" || f.domain == "" {
		return diag.Domain{}, usagef("--letterbox-listen and --letterbox-domain must be set together")
	}
	d, err := diag.ParseDomain(f.domain)
	if err != nil {
		return diag.Domain{}, usagef("--letterbox-domain: %w", err)
	}
	return d, nil
}

// serveLetterbox starts the letter box, if configured, and mounts its pages.
func (a *app) serveLetterbox(
	ctx context.Context, s checkedFlags, env *diag.Env, bounds *budget.Budget, parts map[string]http.Handler,
) (stop func(), err error) {
	if s.letterbox.IsZero() {
		return func() {}, nil
	}
	box, err := letterbox.New(letterbox.Config{
		Env: env, Domain: s.letterbox, TLS: a.mailTLS(s.security), TrustedProxies: s.proxies, Clock: a.clock, Log: s.log,
		Budget: bounds,
	})
	if err != nil {
		return nil, err
	}
	l, err := listen(ctx, "--letterbox-listen", a.serving.letterbox.listen)
	if err != nil {
		return nil, err
	}
	parts["letterbox"] = box
	go func() {
		if err := box.Serve(l); err != nil {
			s.log.Error("the letter box stopped", "error", err)
		}
	}()
	s.log.Info("receiving messages for the letter box", "address", l.Addr().String(), "domain", s.letterbox.String())
	return func() { box.Close() }, nil
}

// mailTLS is the certificate of the server for mail. Who delivers names the MX host, or nothing; ACME has got a
// certificate for one name.
func (a *app) mailTLS(security *tls.Config) *tls.Config {
	if security == nil || a.serving.acmeDomain == "" {
		return security
	}
	return &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		named := *hello
		named.ServerName, named.SupportedProtos = a.serving.acmeDomain, nil
		return security.GetCertificate(&named)
	}}
}
