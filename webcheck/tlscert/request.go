package tlscert

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// Request asks for the examination of a server.
type Request struct {
	// Host may end in a port, such as "example.com:8443".
	Host Host `json:"host" doc:"server, by name or IP address; may end in a port" example:"example.com"`
	// Port is the port of TLS. 0 means that of Host, or else 443.
	Port int `json:"port,omitempty" default:"443" enum:"443 465 563 636 853 990 993 995 8443" doc:"port that speaks TLS from the start" example:"443"`
	// ServerName is the name that the certificate is to cover. If zero, it is the host.
	ServerName diag.Domain `json:"server_name,omitempty" doc:"name to ask for and to expect in the certificate; by default the host"`
	// CheckVersions says whether all versions and cipher suites are tried. Nil means true.
	CheckVersions *bool `json:"check_versions,omitempty" default:"true" doc:"whether to find out all protocol versions and cipher suites, over a few dozen connections" example:"true"`
}

// httpsPort is where web servers speak TLS (RFC 9110 section 4.2.2).
const httpsPort = 443

// ports are those on which TLS begins with the first byte, by their protocol: HTTPS, SMTP, NNTP, LDAP, DNS, FTP, IMAP,
// POP3 and HTTPS again (CONTRACT 3.4).
var ports = diag.Ports{443, 465, 563, 636, 853, 990, 993, 995, 8443}

// checked fills in defaults, and returns an InputError for what makes no sense.
func (r Request) checked() (Request, error) {
	if r.Host.IsZero() {
		return r, diag.Invalid("host", "is missing")
	}
	if r.Port != 0 && r.Host.Port != 0 && r.Port != int(r.Host.Port) {
		return r, diag.Invalid("port", "is %d, and host names port %d", r.Port, r.Host.Port)
	}
	field := "port"
	if r.Port == 0 && r.Host.Port != 0 {
		r.Port, field = int(r.Host.Port), "host"
	}
	if r.Port == 0 {
		r.Port = httpsPort
	}
	if r.Port < 0 || r.Port > 1<<16-1 || !slices.Contains(ports, uint16(r.Port)) {
		return r, diag.Invalid(field, "the port must be one of 443, 465, 563, 636, 853, 990, 993, 995 and 8443, not %d",
			r.Port)
	}
	if r.CheckVersions == nil {
		r.CheckVersions = new(true)
	}
	return r, nil
}

// A Host is a server, by its name or its IP address, and perhaps its port.
type Host struct {
	diag.Host
	Port uint16 // 0 if none was given
}

// parseHost reads "example.com", "example.com:8443", "192.0.2.1:443", "2001:db8::1" and "[2001:db8::1]:443".
func parseHost(s string) (Host, error) {
	if rest, ok := strings.CutPrefix(s, "https://"); ok {
		rest, _, _ = strings.Cut(rest, "/")
		return Host{}, diag.Invalid("host", "is a URL; write its host alone: %.100q", rest)
	}
	if ip, err := netip.ParseAddr(s); err == nil && ip.Is6() {
		h, err := diag.ParseHost("[" + s + "]")
		return Host{Host: h}, err
	}
	var port uint16
	if name, number, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 {
			return Host{}, diag.Invalid("host", "%.100q ends in no port", s)
		}
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		s, port = name, uint16(n)
	}
	h, err := diag.ParseHost(s)
	return Host{h, port}, err
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Host) UnmarshalText(text []byte) (err error) {
	*h, err = parseHost(string(text))
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (h Host) MarshalText() ([]byte, error) {
	if h.Port == 0 {
		return h.Host.MarshalText()
	}
	return []byte(h.String() + ":" + strconv.Itoa(int(h.Port))), nil
}

// Schema describes the type for the documentation of the API.
func (Host) Schema() map[string]any {
	return map[string]any{
		"type": "string", "minLength": 1, "maxLength": 260,
		"description": "host name, in ASCII or Unicode, or IP address; may end in a port",
	}
}

// protocols are the application protocols to offer on a port (RFC 7301): those of the web, and of DNS over TLS.
func protocols(port int) []string {
	switch port {
	case 443, 8443:
		return []string{"h2", "http/1.1"}
	case 853:
		return []string{"dot"}
	default:
		return nil
	}
}

// MustHost is ParseHost for constants; it panics on a bad host.
func MustHost(s string) Host {
	h, err := parseHost(s)
	if err != nil {
		panic(err)
	}
	return h
}
