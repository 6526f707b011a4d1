package dane

import (
	"context"
	"crypto/x509"
	"errors"
	"net/netip"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/smtp"
)

// peerChain is what a server presented, that of the server first.
type peerChain []*x509.Certificate

// connect fetches the certificates of a host over IPv4 and over IPv6: one address of each kind, for behind several
// addresses of a kind there mostly is one server, and nobody should get more than two connections of us at a time.
func (e *evidence) connect(ctx context.Context, env *diag.Env, h *host) {
	var v4, v6 netip.Addr
	for _, ip := range h.Addresses.All() {
		if kind := map[bool]*netip.Addr{true: &v4, false: &v6}[ip.Unmap().Is4()]; !kind.IsValid() {
			*kind = ip
		}
	}
	for _, ip := range []netip.Addr{v4, v6} {
		if ip.IsValid() {
			h.servers = append(h.servers, server{ip: ip})
		}
	}
	var g diag.Group
	for i := range h.servers {
		g.Go(func() { h.servers[i].handshake(ctx, env, e.port, h.base) })
	}
	g.Wait()
}

// handshake speaks with a server as a sender does, which asks for the TLSA base domain (RFC 7672 section 8.1).
func (s *server) handshake(ctx context.Context, env *diag.Env, port uint16, base string) {
	session, err := smtp.Secure(ctx, env, smtp.Config{Addr: netip.AddrPortFrom(s.ip, port), ServerName: base})
	if err != nil {
		var known bool
		if s.err, known = errors.AsType[*smtp.Error](err); !known {
			s.err = &smtp.Error{Step: smtp.StepConnect, Kind: smtp.Unreachable, Err: err}
		}
	}
	defer session.Close() // there is one after an error too
	if session.State != nil {
		chain := session.State.PeerCertificates
		s.chain = chain[:min(len(chain), pki.MaxChain)]
	}
	if port == portTLS {
		return
	}
	switch {
	case session.State != nil || s.err != nil && (s.err.Step == smtp.StepTLS || s.rejected()):
		s.startTLS = new(true)
	case s.err != nil && s.err.Kind == smtp.NotOffered:
		s.startTLS = new(false)
	}
}

// rejected reports whether STARTTLS was offered, and the command did not succeed.
func (s *server) rejected() bool {
	return s.err != nil && s.err.Step == smtp.StepStartTLS && s.err.Kind != smtp.NotOffered
}
