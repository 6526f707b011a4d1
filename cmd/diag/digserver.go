package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/httpapi"
)

// A digServer is one that a question is put to.
type digServer struct {
	typed   string // such as @ns1.example.com
	server  resolver.Server
	host    string // whose addresses are those of the server, to be looked up; empty: it has them
	version int    // of the Internet Protocol; 0: both
}

// systemServers denotes the name servers of the system, at another port.
const systemServers = "system"

// tlsOptions holds the TLS options of a command line.
type tlsOptions struct {
	typed     string // such as +tls; empty: nothing
	transport resolver.Transport
	path      string // of DoH
	name      string // in the certificate
}

// String returns the server in the form of --resolver.
func (s digServer) String() string {
	server := s.server
	if s.host != "" && server.Name == "" {
		server.Name = s.host
	}
	return server.String()
}

// splitServers splits a list. In the form with "://" commas separate the addresses of one server.
func splitServers(text string) []string {
	if strings.Contains(text, "://") {
		return []string{text}
	}
	return strings.Split(text, ",")
}

// parseServers returns the servers that a lookup is sent to. A public resolver that is given by its name is a field
// of the question instead.
func (l *lookup) parseServers() (list []digServer, err error) {
	for _, typed := range l.servers {
		if id := strings.ToLower(typed); slices.Contains(resolve.Default.Values(), id) {
			l.fields["resolver"] = id
			continue
		}
		s, err := l.parseServer(typed)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	switch id := l.fields["resolver"]; {
	case id != "" && len(l.servers) > 1:
		return nil, usagef("@%s cannot be combined with other name servers", id)
	case id != "" && l.port != "":
		return nil, usagef("-p: @%s is queried at its standard port", id)
	case id != "" && l.tls.typed != "":
		l.fields["transport"] = string(l.tls.transport)
	case len(l.servers) == 0 && l.tls.typed != "":
		return nil, usagef("%s: name the server to query, as in @9.9.9.9", l.tls.typed)
	case len(l.servers) == 0 && l.port != "":
		s := digServer{typed: "-p " + l.port, host: systemServers}
		return []digServer{s}, l.setPortAndTLS(&s, l.port)
	}
	return list, nil
}

// parseServer reads a server as dig, host, kdig and doggo take it: an address or a name, with a port behind a colon
// or a number sign, or as --resolver takes it.
func (l *lookup) parseServer(typed string) (digServer, error) {
	s := digServer{typed: "@" + typed}
	scheme, rest, explicit := strings.Cut(typed, "://")
	if explicit {
		server, err := resolver.ParseServer(typed)
		named := strings.EqualFold(scheme, "udp") || strings.EqualFold(scheme, "tcp")
		switch {
		case err == nil:
			if s.server = server; len(server.Addrs) == 0 {
				s.host = server.Name
			}
			return s, l.setPortAndTLS(&s, "")
		case !named:
			return s, usagef("%s: %s", s.typed, strings.TrimPrefix(err.Error(), fmt.Sprintf("name server %.200q: ", typed)))
		}
		s.server.Transport = resolver.Transport(strings.ToLower(scheme))
	} else {
		rest = typed
	}
	host, port := splitPort(rest)
	if ip, err := netip.ParseAddr(host); err == nil {
		s.server.Addrs = []netip.Addr{ip.Unmap()}
	} else if name, err := diag.ParseDomain(host); err == nil {
		s.host = name.String()
	} else {
		return s, usagef("%s: %q is neither the address nor the name of a server", s.typed, host)
	}
	return s, l.setPortAndTLS(&s, port)
}

// splitPort splits off a port, after a colon as in URLs or a number sign as in BIND and Knot.
func splitPort(text string) (host, port string) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.String(), ""
	}
	i := strings.LastIndexAny(text, ":#")
	if i < 0 || i < strings.LastIndexByte(text, ']') {
		i = len(text)
	}
	host, port = text[:i], strings.TrimLeft(text[i:], ":#")
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return host, port
}

// setPortAndTLS applies other options to a server.
func (l *lookup) setPortAndTLS(s *digServer, port string) error {
	s.version, _ = strconv.Atoi(l.fields["ip_version"])
	if port != "" && l.port != "" && port != l.port {
		return usagef("-p %s and %s name two ports", l.port, s.typed)
	}
	if port == "" {
		port = l.port
	}
	if number, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || number == 0) {
		return usagef("%s: %q is not a port", s.typed, port)
	} else if port != "" {
		s.server.Port = uint16(number)
	}
	if l.tls.typed != "" {
		if s.server.Transport != "" && s.server.Transport != l.tls.transport {
			return usagef("%s and %s exclude each other", l.tls.typed, s.typed)
		}
		s.server.Transport, s.server.Path = l.tls.transport, l.tls.path
		if s.server.Name = l.tls.name; s.server.Name == "" {
			s.server.Name = s.host
		}
	}
	encrypted := s.server.Transport == resolver.DoT || s.server.Transport == resolver.DoH
	if encrypted && l.fields["transport"] == string(resolver.TCP) {
		return usagef("+tcp: %s is queried over TLS", s)
	}
	for _, ip := range s.server.Addrs {
		if s.version != 0 && ip.Is4() != (s.version == 4) {
			return usagef("-%d: %s is not an IPv%d address", s.version, ip, s.version)
		}
	}
	if len(s.server.Addrs) > 0 || encrypted {
		if _, err := resolver.ParseServer(s.String()); err != nil {
			return usagef("%s: %w", s.typed, err)
		}
	}
	return nil
}

// resolve returns the server once for each of its addresses. Those of a name are looked up; prohibited addresses are
// left out.
func (s digServer) resolve(ctx context.Context, env *diag.Env) ([]resolver.Server, error) {
	if s.host == systemServers {
		return s.readSystemServers()
	}
	if s.host == "" {
		return []resolver.Server{s.server}, nil
	}
	addrs, err := s.lookupAddresses(ctx, env)
	if err != nil || s.server.Transport == resolver.DoT || s.server.Transport == resolver.DoH {
		s.server.Addrs = addrs
		return []resolver.Server{s.server}, err
	}
	return kit.Map(addrs, func(ip netip.Addr) resolver.Server {
		return resolver.Server{Transport: s.server.Transport, Addrs: []netip.Addr{ip}, Port: s.server.Port}
	}), nil
}

// maxServerAddresses bounds the addresses of a name that are queried in turn.
const maxServerAddresses = 16

// lookupAddresses looks up the addresses of the server, those of IPv4 first: hosts without IPv6 are the more common
// ones.
func (s digServer) lookupAddresses(ctx context.Context, env *diag.Env) ([]netip.Addr, error) {
	found := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} // RFC 6761 section 6.3
	if s.host != "localhost" {
		answer := diag.LookupAddresses(ctx, env, s.host)
		if found = answer.All(); len(found) == 0 {
			return nil, s.addressError(answer)
		}
	}
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	var addrs []netip.Addr
	var blocked error
	for _, ip := range found[:min(len(found), maxServerAddresses)] {
		if s.version != 0 && ip.Is4() != (s.version == 4) {
			continue
		}
		port := max(s.server.Port, 1)
		if err := env.Guard.Check(netip.AddrPortFrom(ip, port), diag.Ports{port}); err != nil && s.host != "localhost" {
			blocked = usagef("%s: %s is not a public address; to query it anyway, give the address itself", s.typed, ip)
			continue
		}
		addrs = append(addrs, ip)
	}
	switch {
	case len(addrs) > 0:
		return addrs, nil
	case blocked != nil:
		return nil, blocked
	}
	return nil, usagef("-%d: %s has no IPv%d address", s.version, s.typed, s.version)
}

// addressError explains why a server has no address.
func (s digServer) addressError(a diag.Addresses) error {
	missing := a.V4.NXDomain() && a.V6.NXDomain()
	return fmt.Errorf("%s: %w", s.typed, &diag.NoAddressError{Host: s.host, Missing: missing, Err: a.Err()})
}

// readSystemServers are the name servers of the system at the port that was given.
func (s digServer) readSystemServers() ([]resolver.Server, error) {
	conf := resolver.Config{Servers: resolver.FallbackServers()}
	if file, err := os.Open("/etc/resolv.conf"); err == nil {
		defer file.Close()
		if conf, err = resolver.ParseConfig(file); err != nil {
			return nil, err
		}
	}
	for i := range conf.Servers {
		conf.Servers[i].Port = s.server.Port
	}
	return conf.Servers, nil
}

// nameAsTyped makes a report and an error name the servers as they were typed, which are the default resolver to the
// operation.
func nameAsTyped(result *httpapi.Result, err error, servers []digServer) error {
	if silent, ok := errors.AsType[*diag.UnavailableError](err); ok && silent.Asked == diag.DefaultResolver {
		typed := kit.Map(servers, func(s digServer) string { return strings.TrimPrefix(s.typed, "@") })
		return fmt.Errorf("no answer from %s: %s", phrase.Series(typed, len(typed)), diag.Reason(silent.Err))
	}
	if err != nil {
		return err
	}
	if r, ok := result.Report.(*resolve.Report); ok && r.Resolver.ID == resolve.Default {
		r.Resolver.Name = "" // implied by its address
		if s := servers[0]; len(servers) == 1 && s.host != systemServers {
			r.Resolver.Name = s.host
		}
	}
	return nil
}

// envWithServers returns the environment that queries the servers of a question, and a function that releases it.
func (a *app) envWithServers(ctx context.Context, servers []digServer) (*diag.Env, func(), error) {
	env, release, err := a.localEnv()
	if err != nil || len(servers) == 0 {
		return env, release, err
	}
	client := &resolver.Client{Dial: env.Dial, Roots: env.Roots, Clock: env.Now}
	releaseAll := func() { client.Close(); release() }
	for _, s := range servers {
		list, err := s.resolve(ctx, env)
		if err != nil {
			releaseAll()
			return nil, nil, err
		}
		client.Servers = append(client.Servers, list...)
	}
	env, err = a.overlayZones(env.WithResolver(client))
	if err != nil {
		releaseAll()
	}
	return env, releaseAll, err
}
