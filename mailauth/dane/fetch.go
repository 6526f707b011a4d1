package dane

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/pki/tlsa"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
	"github.com/miekg/dns"
)

const (
	// timeout bounds every wait, and ends before the caller's deadline, usually 15 seconds (CONTRACT 1.9).
	timeout = 12 * time.Second
	// maxHosts bounds the servers that are examined, the most preferred first. Large providers have up to ten.
	maxHosts = 10
	// maxRecords bounds the TLSA records of a host that are examined. Two are needed, and four are usual during a
	// change.
	maxRecords = 50
	// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
	maxName = 254
)

const (
	portMail       = 25
	portTLS        = 465
	portSubmission = 587
)

type evidence struct {
	domain diag.Domain
	port   uint16
	verify bool // connect to the servers
	now    time.Time
	roots  *x509.CertPool // public authorities; nil means those of the system

	mail        reception.Hosts
	srv         diag.Answer[*dns.SRV]  // for submission
	own         diag.Answer[*dns.TLSA] // at the domain itself
	source      source
	namesDNSSEC diag.DNSSECStatus // of the records that name the hosts
	hosts       []host
	surplus     int // servers beyond maxHosts
}

type source string

// The sources, for a sentence.
const (
	fromMX     source = "MX records"
	fromSRV    source = "SRV records"
	fromDomain source = "address records" // of the domain itself
)

type host struct {
	reception.Host
	base string // the TLSA base domain (RFC 7672 section 2.2.3), without a final dot

	addressStatus, tlsaStatus diag.DNSSECStatus
	// baseStatus is the status that permits the TLSA base domain: that of the addresses, or for a secure alias of an
	// unsigned host that of the alias.
	baseStatus diag.DNSSECStatus

	tlsa    diag.Answer[*dns.TLSA]
	records []Record
	servers []server // for each address that was tried
	fault   fault
}

type server struct {
	ip       netip.Addr
	startTLS *bool // whether STARTTLS is offered; nil if unknown
	err      *smtp.Error
	chain    peerChain
	result   Result // of the records of the host that senders use
}

func (e *evidence) recordName(base string) string {
	return "_" + strconv.Itoa(int(e.port)) + "._tcp" + "." + base
}

// gather takes three round trips: for the hosts, for their addresses and TLSA records, and for concurrent connections
// to all of them. Hosts that are aliases and answers that the resolver did not validate take more.
func (e *evidence) gather(ctx context.Context, env *diag.Env) error {
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	env = env.Cached() // queries sent ahead are sent once
	e.findHosts(bounded, env)
	var g diag.Group
	for i := range e.hosts {
		g.Go(func() { e.examine(bounded, env, &e.hosts[i]) })
	}
	g.Wait()
	e.examineMisplaced(bounded, env)
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.mail.MX.Silent() && len(e.hosts) == 0 {
		return fmt.Errorf("examining DANE of %s: %w", e.domain, diag.Unavailable(diag.DefaultResolver, e.mail.MX.Err()))
	}
	return nil
}

func (e *evidence) findHosts(ctx context.Context, env *diag.Env) {
	var g diag.Group
	g.Go(func() { e.mail = reception.LookupHosts(ctx, env, e.domain.Name(), maxHosts) })
	g.Go(func() { e.prefetchTLSA(ctx, env) })
	g.Go(func() { e.own = e.lookupTLSA(ctx, env, e.domain.String()) })
	if e.port != portMail {
		g.Go(func() { e.srv = diag.Lookup[*dns.SRV](ctx, env, e.domain.Sub(e.service())) })
	}
	g.Wait()
	e.source, e.surplus = fromMX, e.mail.Surplus
	list := e.mail.List
	switch {
	case e.port == portMail && e.mail.Implicit:
		e.source = fromDomain
	case e.port == portMail:
	case len(e.services()) > 0:
		e.source = fromSRV
		list, e.surplus = targets(e.services())
		reception.Resolve(ctx, env, list)
	case e.own.Exists():
		e.source, e.surplus = fromDomain, 0
		list = []reception.Host{{Name: e.domain.String()}}
		reception.Resolve(ctx, env, list)
	}
	e.hosts = kit.Map(list, func(h reception.Host) host { return host{Host: h, base: h.Name} })
	if e.source == fromSRV {
		e.namesDNSSEC = dnssec.Proven(ctx, env, e.srv, dns.TypeSRV)
	} else {
		e.namesDNSSEC = dnssec.Proven(ctx, env, e.mail.MX, dns.TypeMX)
	}
}

// prefetchTLSA queries the TLSA records as soon as the MX records are known, concurrently with the addresses, and
// validates the MX records if the resolver did not.
func (e *evidence) prefetchTLSA(ctx context.Context, env *diag.Env) {
	mail := reception.Reception{MX: diag.Lookup[*dns.MX](ctx, env, e.domain.FQDN())}
	hosts, _ := mail.Named(maxHosts)
	var g diag.Group
	for _, h := range hosts {
		g.Go(func() { e.lookupTLSA(ctx, env, h.Name) })
	}
	g.Go(func() { dnssec.Proven(ctx, env, mail.MX, dns.TypeMX) })
	g.Wait()
}

// lookupTLSA looks up the TLSA records of a base domain. One that is too long for the prefix has none.
func (e *evidence) lookupTLSA(ctx context.Context, env *diag.Env, base string) diag.Answer[*dns.TLSA] {
	name := e.recordName(base) + "."
	if len(name) > maxName {
		return diag.Answer[*dns.TLSA]{Name: name, Rcode: dns.RcodeNameError}
	}
	return diag.Lookup[*dns.TLSA](ctx, env, name)
}

// service is the label of the SRV records for submission (RFC 6186 section 3.1, RFC 8314 section 5.1).
func (e *evidence) service() string {
	if e.port == portTLS {
		return "_submissions._tcp"
	}
	return "_submission._tcp"
}

// services returns the SRV records for the requested port, or that declare that there is no service.
func (e *evidence) services() []*dns.SRV {
	return slices.DeleteFunc(slices.Clone(e.srv.Records), func(r *dns.SRV) bool {
		return r.Port != e.port && r.Target != "."
	})
}

// targets lists the hosts of SRV records. The root says that there is no such service (RFC 2782).
func targets(records []*dns.SRV) (hosts []reception.Host, surplus int) {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b *dns.SRV) int { return int(a.Priority) - int(b.Priority) })
	seen := map[string]bool{"": true}
	for _, r := range records {
		name := strings.TrimSuffix(dns.CanonicalName(r.Target), ".")
		if !seen[name] {
			seen[name] = true
			hosts = append(hosts, reception.Host{Preference: r.Priority, Name: name})
		}
	}
	surplus = max(0, len(hosts)-maxHosts)
	return hosts[:len(hosts)-surplus], surplus
}

func (e *evidence) examine(ctx context.Context, env *diag.Env, h *host) {
	h.tlsa = e.lookupTLSA(ctx, env, h.base)
	var v4, v6 diag.DNSSECStatus
	var g diag.Group
	g.Go(func() { v4 = dnssec.Proven(ctx, env, h.Addresses.V4, dns.TypeA) })
	g.Go(func() { v6 = dnssec.Proven(ctx, env, h.Addresses.V6, dns.TypeAAAA) })
	g.Wait()
	h.addressStatus = weaker(v4, v6)
	h.baseStatus = h.addressStatus
	if aliases := h.Aliases(); len(aliases) > 0 {
		e.followAlias(ctx, env, h, aliases[len(aliases)-1])
	}
	h.tlsaStatus = dnssec.Proven(ctx, env, h.tlsa, dns.TypeTLSA)
	h.records = kit.Map(h.tlsa.Records[:min(len(h.tlsa.Records), maxRecords)], tlsa.RecordOf)
	if e.verify && len(h.records) > 0 {
		e.connect(ctx, env, h)
	}
}

// examineMisplaced connects to the hosts that records at the domain itself may be meant for, once the records of all
// hosts are known.
func (e *evidence) examineMisplaced(ctx context.Context, env *diag.Env) {
	var g diag.Group
	for i := range e.hosts {
		if h := &e.hosts[i]; e.verify && len(h.records) == 0 && e.hasMisplacedRecords(h) {
			g.Go(func() { e.connect(ctx, env, h) })
		}
	}
	g.Wait()
}

// followAlias chooses the TLSA base domain of a host that is an alias: its target if all of the way there is secure and
// has records; else the name itself, for which it is enough that the alias is secure (RFC 7672 sections 2.2.2, 2.2.3).
func (e *evidence) followAlias(ctx context.Context, env *diag.Env, h *host, target string) {
	if h.addressStatus == diag.Secure {
		if expanded := e.lookupTLSA(ctx, env, target); expanded.Exists() || expanded.Err() != nil {
			h.base, h.tlsa = target, expanded
		}
		return
	}
	if h.addressStatus == diag.Insecure {
		alias := diag.Lookup[*dns.CNAME](ctx, env, h.Name+".")
		h.baseStatus = dnssec.Proven(ctx, env, alias, dns.TypeCNAME)
	}
}

func weaker(a, b diag.DNSSECStatus) diag.DNSSECStatus {
	for _, s := range []diag.DNSSECStatus{diag.Bogus, diag.Indeterminate, diag.Insecure} {
		if a == s || b == s {
			return s
		}
	}
	return diag.Secure
}

// peerChain is the chain that a server presented, its own certificate first.
type peerChain []*x509.Certificate

// connect fetches the certificates of a host over IPv4 and over IPv6: one address of each family, since several
// addresses of a family mostly lead to the same server, and a host should get at most two connections at a time.
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

// handshake connects to a server as a sender does, with the TLSA base domain in SNI (RFC 7672 section 8.1).
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

func (s *server) rejected() bool {
	return s.err != nil && s.err.Step == smtp.StepStartTLS && s.err.Kind != smtp.NotOffered
}
