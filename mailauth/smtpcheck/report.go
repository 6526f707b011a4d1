package smtpcheck

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// Report says how mail servers behave, and what to think of it.
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
	StartTLS   StartTLS       `json:"starttls" doc:"how encryption came about"`
	TLS        *pki.TLS       `json:"tls,omitempty" doc:"the encrypted connection; absent if there was none"`
	Auth       Auth           `json:"auth" doc:"authentication that the server offers"`
	Relay      Relay          `json:"relay" doc:"whether the server relays mail for strangers"`
	PTR        PTR            `json:"ptr" doc:"reverse DNS of the address"`
	Transcript []Line         `json:"transcript" doc:"what both sides said"`
	Error      string         `json:"error,omitempty" doc:"why the session ended early"`
	Findings   []diag.Finding `json:"findings" doc:"those of the report that are about this server"`
}

// An Extension is what a server can do beyond the basic protocol.
type Extension struct {
	Name   string   `json:"name" doc:"keyword, in upper case"`
	Params []string `json:"params" doc:"parameters as sent"`
}

// StartTLS tells how encryption came about.
type StartTLS struct {
	Advertised bool   `json:"advertised" doc:"whether EHLO lists STARTTLS"`
	Negotiated bool   `json:"negotiated" doc:"whether TLS came about by STARTTLS"`
	Error      string `json:"error,omitempty" doc:"why it did not, although advertised"`
}

// Auth tells how clients may authenticate (RFC 4954).
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
	RelayInconclusive RelayStatus = "inconclusive" // it did not say, or was not asked
)

// Values lists the outcomes.
func (RelayStatus) Values() []string { return diag.Values(RelayClosed, RelayOpen, RelayInconclusive) }

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

// Direction is who a line of a transcript comes from.
type Direction string

// The directions.
const (
	Client Direction = "client"
	remote Direction = "server"
	TLS    Direction = "tls" // the outcome of a handshake
)

// Values lists the directions.
func (Direction) Values() []string { return diag.Values(Client, remote, TLS) }

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
	TLS        int `json:"tls_count" min:"0" doc:"of these, TLS came about"`
	Trusted    int `json:"trusted_count" min:"0" doc:"of these, the certificate is trusted and for the host"`
	OpenRelays int `json:"open_relay_count" min:"0" doc:"servers that relay mail for strangers"`
}

// Rules describes what is tested.
func (*Report) Rules() []diag.RuleInfo { return rules().Describe() }
