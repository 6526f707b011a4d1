package tlscert

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

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

// MustHost is ParseHost for constants; it panics on a bad host.
func MustHost(s string) Host {
	h, err := parseHost(s)
	if err != nil {
		panic(err)
	}
	return h
}
