package smtpcheck

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

// Request names the domain whose mail servers are tested, or one host.
type Request struct {
	Domain diag.Domain `json:"domain,omitempty" oneof:"target" doc:"domain whose mail servers are tested" example:"example.com"`
	Host   Host        `json:"host,omitempty" oneof:"target" doc:"mail server to test, by name or IP address"`
	// Ports are the ports tested on each host. Empty means port 25.
	Ports []int `json:"ports,omitempty" default:"[25]" enum:"25 465 587" minitems:"1" maxitems:"3" unique:"true" doc:"ports to test: 25 for mail between servers, 465 and 587 for submission" example:"[25]"`
	// CheckRelay enables the test for an open relay. Nil means true.
	CheckRelay *bool `json:"check_relay,omitempty" default:"true" doc:"whether to test if the server relays mail for strangers; no message is sent" example:"true"`
	// HELO is the name with which the client introduces itself. If zero, it is that of the environment.
	HELO diag.Domain `json:"helo,omitempty" doc:"name with which the client introduces itself; by default that of this server" example:"client.example.com"`
	// MaxHosts bounds the mail servers of a domain that are tested. 0 means 5.
	MaxHosts int `json:"max_hosts,omitempty" default:"5" min:"1" max:"10" doc:"how many mail servers of the domain are tested, the most preferred first" example:"5"`
}

const (
	defaultHosts = 5
	maxHosts     = 10
)

// mailPort is the port on which servers accept mail from each other (RFC 5321 section 4.5.4.2).
const mailPort = 25

func (r Request) checked() (Request, error) {
	if err := input.ExactlyOne([]string{"domain", "host"}, !r.Domain.IsZero(), !r.Host.IsZero()); err != nil {
		return r, err
	}
	if len(r.Ports) == 0 {
		r.Ports = []int{mailPort}
	}
	r.Ports = slices.Clone(r.Ports)
	slices.Sort(r.Ports)
	r.Ports = slices.Compact(r.Ports)
	for _, p := range r.Ports {
		if !slices.Contains(diag.SMTPPorts, uint16(p)) || p > 1<<16-1 {
			return r, input.Invalid("ports", "must be among 25, 465 and 587, not %d", p)
		}
	}
	if r.Domain.IsZero() && r.MaxHosts != 0 && r.MaxHosts != defaultHosts {
		return r, input.Invalid("max_hosts", "makes sense beside domain only: one host was given")
	}
	if r.MaxHosts == 0 {
		r.MaxHosts = defaultHosts
	}
	if r.MaxHosts < 1 || r.MaxHosts > maxHosts {
		return r, input.Invalid("max_hosts", "must be between 1 and %d", maxHosts)
	}
	return r, nil
}

// The most memory that a check holds, in bytes; TestMemory measures it. A server may send a certificate of 256 KiB
// and 32 KiB of replies in a session, all of which is described in the report.
const (
	ownMemory    = 512 << 10
	serverMemory = 640 << 10
)

// Memory returns the most memory that a check of the request may hold, in bytes.
func (r *Request) Memory() int64 {
	hosts, ports := cmp.Or(r.MaxHosts, defaultHosts), max(1, len(r.Ports))
	if r.Domain.IsZero() {
		hosts = 1
	}
	return ownMemory + serverMemory*int64(min(maxServers, hosts*ports*2*maxAddresses))
}

// A Host is a mail server, by its name or its IP address.
type Host struct{ diag.Host }

// ParseHost reads "mx1.example.com", also in Unicode, "192.0.2.25" and "2001:db8::25": unlike in a URL, an IPv6 address
// needs no brackets. The error is a *[diag.InputError] of the field "host".
func ParseHost(s string) (Host, error) {
	if ip, err := diag.ParseIP(s); err == nil && ip.Is6() {
		s = "[" + ip.String() + "]"
	}
	var h diag.Host
	err := h.UnmarshalText([]byte(s))
	return Host{h}, err
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Host) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHost(string(text))
	return err
}

// Schema describes the type for the documentation of the API.
func (Host) Schema() map[string]any {
	return map[string]any{
		"type": "string", "minLength": 1, "maxLength": 254,
		"description": "host name, in ASCII or Unicode, or IP address",
	}
}

// Report describes the behavior of mail servers, with a verdict.
type Report struct {
	Domain        string `json:"domain,omitempty" doc:"domain that was asked about"`
	DomainUnicode string `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	diag.Verdict
	MXFound    bool     `json:"mx_found" doc:"whether the domain has MX records"`
	NullMX     bool     `json:"null_mx" doc:"whether the domain says that it receives no mail (RFC 7505)"`
	ImplicitMX bool     `json:"implicit_mx" doc:"whether mail goes to the domain's own address for want of MX records"`
	Servers    []Server `json:"servers" doc:"what was tested: by preference, host, port, and IPv4 before IPv6"`
	Summary    Summary  `json:"summary" doc:"the servers in numbers"`
	Partial    bool     `json:"partial" doc:"whether something could not be learned"`
	diag.Timing

	service Service
}

// A Server is one address and port of a host.
type Server struct {
	Host       string         `json:"host" doc:"name of the host, or its address"`
	Preference *uint16        `json:"preference,omitempty" doc:"preference of the MX record; the lowest is tried first"`
	Address    string         `json:"address" doc:"IP address that was connected to"`
	IPVersion  int            `json:"ip_version" enum:"4 6" doc:"version of the Internet Protocol"`
	Port       int            `json:"port" enum:"25 465 587" doc:"TCP port"`
	Reachable  bool           `json:"reachable" doc:"whether a mail server answered"`
	ConnectMS  *int64         `json:"connect_ms,omitempty" min:"0" doc:"time until the connection stood"`
	Banner     string         `json:"banner,omitempty" doc:"first reply of the server"`
	BannerMS   *int64         `json:"banner_ms,omitempty" min:"0" doc:"time from the connection to the banner"`
	ESMTP      bool           `json:"esmtp" doc:"whether the server knows EHLO"`
	EHLOOK     bool           `json:"ehlo_ok" doc:"whether the server accepted EHLO"`
	Extensions []Extension    `json:"extensions" doc:"what EHLO listed, before TLS where TLS comes second"`
	SizeLimit  *int64         `json:"size_limit_bytes,omitempty" min:"0" doc:"largest message accepted; absent if the server does not say"`
	StartTLS   StartTLS       `json:"starttls" doc:"how encryption was established"`
	TLS        pki.TLS        `json:"tls,omitzero" doc:"the encrypted connection; absent if there was none"`
	Auth       Auth           `json:"auth" doc:"authentication that the server offers"`
	Relay      Relay          `json:"relay" doc:"whether the server relays mail for strangers"`
	PTR        PTR            `json:"ptr" doc:"reverse DNS of the address"`
	Transcript []Line         `json:"transcript" doc:"what both sides said"`
	Error      string         `json:"error,omitempty" doc:"why the session ended early"`
	Findings   []diag.Finding `json:"findings" doc:"those of the report that are about this server"`
}

// An Extension is a capability of a server beyond the basic protocol.
type Extension struct {
	Name   string   `json:"name" doc:"keyword, in upper case"`
	Params []string `json:"params" doc:"parameters as sent"`
}

// StartTLS describes how encryption was started.
type StartTLS struct {
	Advertised bool   `json:"advertised" doc:"whether EHLO lists STARTTLS"`
	Negotiated bool   `json:"negotiated" doc:"whether TLS was established by STARTTLS"`
	Error      string `json:"error,omitempty" doc:"why it did not, although advertised"`
}

// Auth describes how clients may authenticate (RFC 4954).
type Auth struct {
	BeforeTLS          bool     `json:"advertised_before_tls" doc:"whether AUTH is offered before encryption"`
	AfterTLS           bool     `json:"advertised_after_tls" doc:"whether AUTH is offered after encryption"`
	Mechanisms         []string `json:"mechanisms" doc:"all mechanisms offered, in the order in which they were first seen"`
	PlaintextBeforeTLS bool     `json:"plaintext_before_tls" doc:"whether a mechanism that reveals the password is offered before encryption"`
}

// RelayStatus is the outcome of the relay test.
type RelayStatus string

// The outcomes.
const (
	RelayClosed       RelayStatus = "closed"       // the server refuses
	RelayOpen         RelayStatus = "open"         // it accepts
	RelayInconclusive RelayStatus = "inconclusive" // the server gave no clear answer, or was not tested
)

// Values lists the outcomes.
func (RelayStatus) Values() []string { return kit.Values(RelayClosed, RelayOpen, RelayInconclusive) }

// Relay is the outcome of the relay test: mail from one foreign domain to another.
type Relay struct {
	Tested bool        `json:"tested" doc:"whether the test was made"`
	Status RelayStatus `json:"status" doc:"closed: the server refuses; inconclusive: it did not say, or was not asked"`
	Reply  string      `json:"reply,omitempty" doc:"reply that decided"`
}

// PTR is the reverse DNS of the address of a server.
type PTR struct {
	Hostnames        []string `json:"hostnames" doc:"host names of the address, at most 20"`
	ForwardConfirmed bool     `json:"forward_confirmed" doc:"whether one of them has the address"`
	MatchesBanner    bool     `json:"matches_banner" doc:"whether the banner has one of them"`
}

// Direction is the source of a line of a transcript: client, server or tls.
type Direction string

// The directions.
const (
	Client Direction = "client"
	Remote Direction = "server"
	TLS    Direction = "tls" // the outcome of a handshake
)

// Values lists the directions.
func (Direction) Values() []string { return kit.Values(Client, Remote, TLS) }

// A Line is one line of a transcript.
type Line struct {
	AtMS      int64     `json:"at_ms" min:"0" doc:"time since the session began"`
	Direction Direction `json:"direction" doc:"who says it; tls: outcome of a handshake"`
	Line      string    `json:"line" doc:"the line without its end, cut after 512 bytes"`
}

// Summary counts servers.
type Summary struct {
	Servers    int `json:"server_count" min:"0" doc:"addresses and ports tested"`
	Reachable  int `json:"reachable_count" min:"0" doc:"of these, a mail server answered"`
	TLS        int `json:"tls_count" min:"0" doc:"of these, TLS was established"`
	Trusted    int `json:"trusted_count" min:"0" doc:"of these, the certificate is trusted and for the host"`
	OpenRelays int `json:"open_relay_count" min:"0" doc:"servers that relay mail for strangers"`
}

// Rules describes the checks.
func (*Report) Rules() []rule.Description { return rules().Describe() }

// Check tests the mail servers of a domain, or one host. Servers that do not answer are a result. The error is a
// *[diag.InputError], that of the context if it ended, or wraps [diag.ErrUnavailable] if the DNS did not answer at
// all.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	req, err := req.checked()
	if err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	e.digest()
	return e.report(env.Now()), nil
}

func (e *evidence) report(ended time.Time) *Report {
	_, known := e.mail.Receives()
	r := &Report{
		Verdict: rules().Judge(e, texts), MXFound: e.mail.MX.Exists(), NullMX: e.mail.NullMX(),
		ImplicitMX: e.mail.Implicit && known, Servers: []Server{}, Partial: e.partial(),
		Timing: diag.NewTiming(e.began, ended), service: e.service(),
	}
	if e.byDomain() {
		r.Domain, r.DomainUnicode = e.req.Domain.String(), e.req.Domain.UnicodeIfDifferent()
	}
	for _, s := range e.servers {
		one := s.report()
		one.Findings = e.about(s, r.Findings)
		r.Servers = append(r.Servers, one)
		r.Summary.add(s)
	}
	return r
}

func (sum *Summary) add(s *server) {
	for count, is := range map[*int]bool{
		&sum.Servers: true, &sum.Reachable: s.answered(), &sum.TLS: s.tls != nil,
		&sum.Trusted:    s.tls != nil && s.tls.Trusted && (s.tls.HostnameMatch || s.byAddress()),
		&sum.OpenRelays: s.relay.status == RelayOpen,
	} {
		if is {
			*count++
		}
	}
}

func (s *server) report() Server {
	ip := s.addr.Addr()
	r := Server{
		Host: s.host, Preference: s.preference, Address: ip.String(), IPVersion: diag.IP{Addr: ip}.Version(),
		Port: int(s.addr.Port()), Reachable: s.answered(), Extensions: []Extension{}, Transcript: []Line{},
		Findings: []diag.Finding{},
		StartTLS: StartTLS{Advertised: s.offersTLS(), Negotiated: s.tls != nil && !s.implicitTLS()}, TLS: kit.OrZero(s.tls),
		Auth: Auth{
			BeforeTLS: len(s.plainMechanisms()) > 0, AfterTLS: len(s.tlsMechanisms()) > 0,
			Mechanisms:         append([]string{}, view.Unique(slices.Concat(s.plainMechanisms(), s.tlsMechanisms()))...),
			PlaintextBeforeTLS: len(plaintextMechanisms(s.plainMechanisms())) > 0,
		},
		Relay: Relay{Tested: s.relay.tested, Status: s.relay.status, Reply: s.relay.reply},
		PTR: PTR{
			Hostnames: s.ptr.hosts, ForwardConfirmed: s.ptr.confirmed,
			MatchesBanner: s.bannerName() != "" && slices.Contains(s.ptr.hosts, s.bannerName()),
		},
	}
	if hello := s.hello(); hello.Reply.Code != 0 {
		r.ESMTP, r.EHLOOK = hello.Extended && hello.Reply.OK(), hello.Extended && hello.Reply.OK()
		r.Extensions = kit.Map(hello.Extensions, func(x smtp.Extension) Extension { return Extension{x.Name, x.Params} })
		if n, ok := s.size(); ok {
			r.SizeLimit = &n
		}
	}
	if s.tlsFault != nil && s.offersTLS() {
		r.StartTLS.Error = s.tlsFault.Error()
	}
	for _, err := range []*smtp.Error{s.err, s.tlsFault, s.ehloErr} {
		if err != nil && r.Error == "" && err.Kind != smtp.NotOffered {
			r.Error = err.Error()
		}
	}
	if s.session != nil {
		s.converse(&r)
	} else if r.Error == "" {
		r.Error = "there was no time left to test it"
	}
	return r
}

func (s *server) converse(r *Server) {
	ms := func(d time.Duration) *int64 { return new(d.Milliseconds()) }
	if s.session.Connected > 0 || s.session.Banner.Code != 0 {
		r.ConnectMS = ms(s.session.Connected)
	}
	if s.answered() {
		r.Banner, r.BannerMS = s.session.Banner.String(), ms(s.session.Greeted)
	}
	r.Transcript = kit.Map(s.session.Transcript, func(l smtp.Line) Line {
		return Line{l.At.Milliseconds(), Direction(l.From), l.Text}
	})
}
