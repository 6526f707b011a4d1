package smtpcheck

import (
	"cmp"
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// Request asks for the test of the mail servers of a domain, or of one host.
type Request struct {
	Domain diag.Domain `json:"domain,omitempty" oneof:"target" doc:"domain whose mail servers are tested" example:"example.com"`
	Host   Host        `json:"host,omitempty" oneof:"target" doc:"mail server to test, by name or IP address"`
	// Ports are tested on each host. If empty, it is port 25.
	Ports []int `json:"ports,omitempty" default:"[25]" enum:"25 465 587" minitems:"1" maxitems:"3" unique:"true" doc:"ports to test: 25 for mail between servers, 465 and 587 for submission" example:"[25]"`
	// CheckRelay says whether to test for an open relay. Nil means true.
	CheckRelay *bool `json:"check_relay,omitempty" default:"true" doc:"whether to test if the server relays mail for strangers; no message is sent" example:"true"`
	// HELO is the name with which the client introduces itself. If zero, it is that of the environment.
	HELO diag.Domain `json:"helo,omitempty" doc:"name with which the client introduces itself; by default that of this server" example:"client.example.com"`
	// MaxHosts bounds the mail servers of a domain that are tested. 0 means 5.
	MaxHosts int `json:"max_hosts,omitempty" default:"5" min:"1" max:"10" doc:"how many mail servers of the domain are tested, the most preferred first" example:"5"`
}

// The bounds of a request.
const (
	defaultHosts = 5
	maxHosts     = 10
)

// mailPort is where servers take mail of each other (RFC 5321 section 4.5.4.2).
const mailPort = 25

// checked fills in defaults, and returns an InputError for what makes no sense.
func (r Request) checked() (Request, error) {
	if err := diag.ExactlyOne([]string{"domain", "host"}, !r.Domain.IsZero(), !r.Host.IsZero()); err != nil {
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
			return r, diag.Invalid("ports", "must be among 25, 465 and 587, not %d", p)
		}
	}
	if r.Domain.IsZero() && r.MaxHosts != 0 && r.MaxHosts != defaultHosts {
		return r, diag.Invalid("max_hosts", "makes sense beside domain only: one host was given")
	}
	if r.MaxHosts == 0 {
		r.MaxHosts = defaultHosts
	}
	if r.MaxHosts < 1 || r.MaxHosts > maxHosts {
		return r, diag.Invalid("max_hosts", "must be between 1 and %d", maxHosts)
	}
	return r, nil
}

// What a check holds at worst, in bytes; TestMemory measures it. A server may send a certificate of 256 KiB and say
// 32 KiB in a session, all of which is described in the report.
const (
	ownMemory    = 512 << 10
	serverMemory = 640 << 10
)

// Memory is what the request may make a check hold, in bytes.
func (r *Request) Memory() int64 {
	hosts, ports := cmp.Or(r.MaxHosts, defaultHosts), max(1, len(r.Ports))
	if r.Domain.IsZero() {
		hosts = 1
	}
	return ownMemory + serverMemory*int64(min(maxServers, hosts*ports*2*maxAddresses))
}

// A Host is a mail server, by its name or its IP address.
type Host struct{ diag.Host }

// UnmarshalText implements [encoding.TextUnmarshaler]. Unlike in a URL, an IPv6 address needs no brackets.
func (h *Host) UnmarshalText(text []byte) error {
	if ip, err := diag.ParseIP(string(text)); err == nil && ip.Is6() {
		text = []byte("[" + ip.String() + "]")
	}
	return h.Host.UnmarshalText(text)
}

// Schema describes the type for the documentation of the API.
func (Host) Schema() map[string]any {
	return map[string]any{
		"type": "string", "minLength": 1, "maxLength": 254,
		"description": "host name, in ASCII or Unicode, or IP address",
	}
}
