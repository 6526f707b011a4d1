package registry

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// The built-in tables. What they say is public knowledge; each file names its source and date.
//
//go:embed data
var files embed.FS

// A list is a registry of services (RFC 9224 section 3).
type list struct {
	Description string    `json:"description,omitempty"`
	Publication string    `json:"publication,omitempty"`
	Services    []service `json:"services"`
	Version     string    `json:"version,omitempty"`
}

// A service is in charge of what its entries cover. As JSON it is an array of two arrays.
type service struct{ entries, urls []string }

// MarshalJSON implements [json.Marshaler].
func (s service) MarshalJSON() ([]byte, error) { return json.Marshal([2][]string{s.entries, s.urls}) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *service) UnmarshalJSON(data []byte) error {
	var parts [][]string
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return errors.New("a service is not an array of two arrays")
	}
	s.entries, s.urls = parts[0], parts[1]
	return nil
}

// parseList reads a list in the form of the built-in tables: "source" and "date" with their values, then unindented
// the locations of a service and below it, indented, its entries. A "{}" in a location is replaced by the entry.
func parseList(text string) (list, error) {
	l := list{Version: "1.0"}
	var locations []string
	for i, line := range lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
		case words[0] == "source":
			l.Description = strings.TrimPrefix(line, "source ")
		case words[0] == "date":
			l.Publication = strings.TrimPrefix(line, "date ")
		case line[0] != ' ':
			locations = words
		case locations == nil:
			return list{}, fmt.Errorf("line %d: an entry without a service", i+1)
		default:
			l.add(locations, words)
		}
	}
	return l, nil
}

func (l *list) add(locations, entries []string) {
	if !strings.Contains(strings.Join(locations, " "), "{}") {
		l.Services = append(l.Services, service{entries, locations})
		return
	}
	for _, e := range entries {
		own := slices.Clone(locations)
		for i := range own {
			own[i] = strings.ReplaceAll(own[i], "{}", e)
		}
		l.Services = append(l.Services, service{[]string{e}, own})
	}
}

func lines(text string) []string { return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") }

// embedded reads a built-in table. That it can be read is tested.
func embedded(name string) list {
	l, err := parseList(embeddedText(name))
	if err != nil {
		panic("registry: " + name + ": " + err.Error())
	}
	return l
}

func embeddedText(name string) string {
	text, err := files.ReadFile("data/" + name)
	if err != nil {
		panic("registry: " + err.Error())
	}
	return string(text)
}

var builtinBootstrap = sync.OnceValue(func() *Bootstrap {
	b := &Bootstrap{lists: map[string]list{}}
	for _, kind := range kinds {
		b.lists[kind] = embedded(kind + ".txt")
	}
	if err := b.compile(); err != nil {
		panic("registry: " + err.Error())
	}
	return b
})

var builtinServers = sync.OnceValue(func() *Servers {
	l := embedded("whois.txt")
	s := &Servers{hosts: map[string]string{}}
	for _, v := range l.Services {
		for _, e := range v.entries {
			s.hosts[e] = v.urls[0]
		}
	}
	return s
})

// ianaWhois is the WHOIS server of the root zone and of all address space. It refers to the others.
const ianaWhois = "whois.iana.org"

// Servers maps domains to their WHOIS servers. It is immutable.
type Servers struct{ hosts map[string]string }

// DefaultServers returns the built-in table.
func DefaultServers() *Servers { return builtinServers() }

// ParseServers parses a table that replaces the built-in one: a JSON object that maps domains, such as "com"
// or "co.za", to host names. A host may have a port, as in "localhost.example:4343", which the guard must
// allow.
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

// forDomain returns the server for a domain in ASCII form. If unknown, as for top-level domains themselves, it is
// that of IANA, which may refer to one.
func (s *Servers) forDomain(name string) string {
	if suffix, ok := longest(s.hosts, name); ok && strings.Contains(name, ".") {
		return s.hosts[suffix]
	}
	return ianaWhois
}
