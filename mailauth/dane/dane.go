package dane

import (
	"context"
	"crypto/x509"
	"encoding/hex"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
)

// Request is a request to examine one domain.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain that receives mail" example:"example.com"`
	Port   uint16      `json:"port,omitempty" default:"25" enum:"25 465 587" doc:"25: the mail servers of the MX records. 465 and 587, for submission: the hosts of the SRV records _submissions._tcp and _submission._tcp (RFC 6186, RFC 8314); without any the domain itself if it has TLSA records for the port, else the mail servers"`
	Verify *bool       `json:"verify_certificate,omitempty" default:"true" doc:"connect to the servers and compare their certificates"`
}

// Report states whether DANE protects the mail of a domain.
type Report struct {
	Domain   diag.Domain       `json:"domain" doc:"the domain, as A-labels"`
	Unicode  string            `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	MXDNSSEC diag.DNSSECStatus `json:"mx_dnssec_status" doc:"whether DNSSEC proves which hosts they are: the MX records, or for submission the SRV records that were used instead"`
	Hosts    []Host            `json:"hosts" maxitems:"10" doc:"servers, the most preferred first"`
	Summary  Summary           `json:"summary" doc:"how many servers are protected"`
	diag.Verdict
	Partial bool `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// A Host is a server of the domain.
type Host struct {
	reception.MXHost
	RecordName      string            `json:"record_name" doc:"where its TLSA records are, or senders look for them"`
	DNSSEC          diag.DNSSECStatus `json:"dnssec_status" doc:"whether DNSSEC proves the TLSA records, or that there are none"`
	AddressesDNSSEC diag.DNSSECStatus `json:"addresses_dnssec_status" doc:"whether DNSSEC proves the addresses: else senders do not ask for TLSA records"`
	TLSA            []TLSA            `json:"tlsa" maxitems:"50" doc:"its TLSA records"`
	Certificate     pki.Certificate   `json:"certificate,omitzero" doc:"certificate that it presents, or the first that no record matches"`
	StartTLS        *bool             `json:"starttls,omitempty" doc:"whether it offers STARTTLS; absent if that is not known, and on port 465"`
	Status          Status            `json:"status" doc:"pass: DANE applies and a record matches; fail: it applies and none does; missing: no TLSA records; insecure: DNSSEC does not prove what it must, so that DANE does not apply; unverified: not known"`
	Error           string            `json:"error,omitempty" doc:"why the server is not protected, or why that is not known"`
}

// A TLSA is one TLSA record.
type TLSA struct {
	Usage         Usage    `json:"usage" doc:"certificate usage"`
	UsageName     string   `json:"usage_name" doc:"its name (RFC 7218)" example:"DANE-EE"`
	Selector      Selector `json:"selector" doc:"part of the certificate"`
	SelectorName  string   `json:"selector_name" doc:"its name" example:"SPKI"`
	Matching      Matching `json:"matching_type" doc:"how the part is compared"`
	MatchingName  string   `json:"matching_name" doc:"its name" example:"SHA2-256"`
	Data          string   `json:"data" doc:"certificate association data in hexadecimal digits"`
	Valid         bool     `json:"valid" doc:"whether its numbers are defined and its data have the form that they demand"`
	UsableForSMTP bool     `json:"usable_for_smtp" doc:"whether senders of mail use it: it is valid, and its usage is DANE-TA or DANE-EE"`
	Matches       *bool    `json:"matches_certificate" doc:"whether it has the data of a certificate that its usage names, names and dates apart; null if no certificate was seen"`
}

// Status is the outcome for one server: pass, fail, missing, insecure or unverified.
type Status string

// The statuses.
const (
	Pass       Status = "pass"
	Failed     Status = "fail"
	Missing    Status = "missing"
	Insecure   Status = "insecure"
	Unverified Status = "unverified"
)

// Values lists the statuses.
func (Status) Values() []string { return kit.Values(Pass, Failed, Missing, Insecure, Unverified) }

// Summary counts servers.
type Summary struct {
	HostCount      int  `json:"host_count" min:"0" doc:"servers of the domain"`
	ProtectedCount int  `json:"protected_count" min:"0" doc:"those that DANE protects"`
	Complete       bool `json:"complete" doc:"whether there are any, and DANE protects them all"`
}

// Lookup finds the mail servers of a domain and their TLSA records, connects to them and examines whether DANE
// protects the mail. The error is a *[diag.InputError], that of the context if it ended, or wraps
// [diag.ErrUnavailable] if nothing could be determined.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	e := &evidence{domain: req.Domain, port: req.Port, now: env.Now(), roots: publicRoots(env),
		verify: req.Verify == nil || *req.Verify}
	if e.port == 0 {
		e.port = portMail
	}
	if e.port != portMail && e.port != portTLS && e.port != portSubmission {
		return nil, input.Invalid("port", "must be 25, 465 or 587")
	}
	if err := e.gather(ctx, env); err != nil {
		return nil, err
	}
	e.digest()
	return e.report(env), nil
}

// Rules describes what is examined.
func (*Report) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report(env *diag.Env) *Report {
	r := &Report{
		Domain: e.domain, Unicode: e.domain.UnicodeIfDifferent(), MXDNSSEC: e.namesDNSSEC, Hosts: []Host{},
		Summary: Summary{HostCount: len(e.hosts) + e.surplus}, Verdict: rules().Judge(e, texts), Partial: e.partial(),
		Timing: diag.NewTiming(e.now, env.Now()),
	}
	for i := range e.hosts {
		h := e.hosts[i].report(e)
		if h.Status == Pass {
			r.Summary.ProtectedCount++
		}
		r.Hosts = append(r.Hosts, h)
	}
	r.Summary.Complete = r.Summary.HostCount > 0 && r.Summary.ProtectedCount == r.Summary.HostCount
	return r
}

func (h *host) report(e *evidence) Host {
	r := Host{
		MXHost: h.MXHost(), RecordName: e.recordName(h.base), DNSSEC: h.tlsaStatus, AddressesDNSSEC: h.addressStatus,
		TLSA: []TLSA{}, Status: e.status(h),
	}
	if r.Status != Pass && r.Status != Missing {
		r.Error = e.reason(h)
	}
	s := h.server()
	if s != nil {
		r.StartTLS = s.startTLS
	}
	if s != nil && len(s.chain) > 0 {
		r.Certificate = pki.Describe(s.chain[0], e.now)
	}
	for i, one := range h.records {
		t := TLSA{one.Usage, one.Usage.String(), one.Selector, one.Selector.String(), one.Matching,
			one.Matching.String(), hex.EncodeToString(one.Data), one.Fault() == "", one.UsableForSMTP(), nil}
		if s != nil && len(s.chain) > 0 {
			t.Matches = new(s.result.Matches[i].Found)
		}
		r.TLSA = append(r.TLSA, t)
	}
	return r
}

func publicRoots(env *diag.Env) *x509.CertPool {
	if env == nil {
		return nil
	}
	return env.Roots
}
