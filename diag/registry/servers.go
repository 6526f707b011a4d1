package registry

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// ianaWhois is the WHOIS server of the root zone and of all address space. It refers to the others.
const ianaWhois = "whois.iana.org"

// Servers tells which WHOIS server is in charge of a domain. It does not change once made.
type Servers struct{ hosts map[string]string }

// DefaultServers returns the built-in table.
func DefaultServers() *Servers { return builtinServers() }

// ParseServers reads a table that replaces the built-in one: a JSON object of domains, such as "com" or
// "co.za", and host names.
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
		h, err := diag.ParseHost(host)
		if err != nil {
			return nil, fmt.Errorf("reading the WHOIS servers: that of %s: %w", name, err)
		}
		s.hosts[d.String()] = h.Name()
	}
	return s, nil
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
