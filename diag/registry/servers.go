package registry

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// ianaWhois is the WHOIS server of the root zone and of all address space. It refers to the others.
const ianaWhois = "whois.iana.org"

// Servers tells which WHOIS server is in charge of a domain. It does not change once made.
type Servers struct{ hosts map[string]string }

// DefaultServers returns the built-in table.
func DefaultServers() *Servers { return builtinServers() }

// ParseServers reads a table that replaces the built-in one: a JSON object of domains, such as "com" or "co.za", and
// host names. A host may end in a port, such as "localhost.example:4343", which the guard must allow.
func ParseServers(data []byte) (*Servers, error) {
	var table map[string]string
	if err := json.Unmarshal(data, &table); err != nil {
		return nil, fmt.Errorf("reading the WHOIS servers: %w", err)
	}
	s := &Servers{hosts: map[string]string{}}
	for name, host := range table {
		d, err := diag.ParseDomain(name)
		if err != nil {
			return nil, fmt.Errorf("reading the WHOIS servers: %w", err)
		}
		if s.hosts[d.String()], err = parseServer(host); err != nil {
			return nil, fmt.Errorf("reading the WHOIS servers: that of %s: %w", name, err)
		}
	}
	return s, nil
}

// parseServer reads a host that may end in a port, as [net.SplitHostPort] has it.
func parseServer(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		h, err := diag.ParseHost(s)
		return h.Name(), err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%q is no port", port)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(ip.String(), port), nil
	}
	h, err := diag.ParseHost(host)
	return net.JoinHostPort(h.Name(), port), err
}

// endpoint returns the host and port of a server.
func endpoint(server string) (host string, port uint16) {
	host, text, err := net.SplitHostPort(server)
	n, err2 := strconv.ParseUint(text, 10, 16)
	if err != nil || err2 != nil {
		return server, whoisPort
	}
	return host, uint16(n)
}

// MarshalJSON implements [json.Marshaler]: it writes what [ParseServers] reads.
func (s *Servers) MarshalJSON() ([]byte, error) { return json.Marshal(s.hosts) }

// forDomain returns the server for a domain in ASCII form. Where none is known, as for top-level domains
// themselves, it is that of IANA, which may know one.
func (s *Servers) forDomain(name string) string {
	if suffix, ok := longest(s.hosts, name); ok && strings.Contains(name, ".") {
		return s.hosts[suffix]
	}
	return ianaWhois
}
