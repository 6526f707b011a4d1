// Package worldflags defines the flags, shared by diag and diagd, that choose the outside world of the checks: call
// [Flags.Add], and [Flags.Env] once they are parsed.
package worldflags

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/spf13/pflag"
)

// Flags are the values of the flags.
type Flags struct {
	Resolvers     []string
	AllowNetworks []string
	DenyNetworks  []string
	AllowPorts    []uint
	CAFile        string
	RootHints     string
	TrustAnchor   string
	HelloName     string
}

// Add defines the flags.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.Resolvers, "resolver", nil,
		"name servers to query: udp://, tcp://, tls:// or https:// addresses (default: the system's)")
	fs.StringSliceVar(&f.AllowNetworks, "allow-networks", nil,
		"networks that checks may reach in addition to public addresses, such as 10.1.0.0/16")
	fs.StringSliceVar(&f.DenyNetworks, "deny-networks", nil,
		"public networks that checks may not reach, such as the operator's own")
	fs.UintSliceVar(&f.AllowPorts, "allow-ports", nil,
		"ports that checks may reach in addition to those of their protocol")
	fs.Lookup("allow-ports").DefValue = "" // help would show []
	fs.StringVar(&f.CAFile, "ca-file", "", "PEM file of certificate authorities to trust instead of the system's")
	fs.StringVar(&f.RootHints, "root-hints", "", "file with the root name servers to use instead, such as named.root")
	fs.StringVar(&f.HelloName, "hello-name", "",
		"host name of this machine in the DNS, used to greet mail servers (default: its address)")
	fs.StringVar(&f.TrustAnchor, "trust-anchor", "", "file with the DS or DNSKEY records to validate DNSSEC from")
}

// maxAge bounds the age of a cached answer that a check gets: a user who has just fixed a record and checks again
// must see it.
const maxAge = 30 * time.Second

// Env makes the world that the flags describe, and a function that releases it.
func (f *Flags) Env() (*diag.Env, func(), error) {
	client := &resolver.Client{}
	env := &diag.Env{Resolver: &resolver.Cache{Upstream: client, MaxTTL: maxAge, MaxNegativeTTL: maxAge}}
	var faults [8]error
	client.Servers, faults[0] = parseEach("resolver", f.Resolvers, func(text string) (resolver.Server, error) {
		return resolver.ParseServer(strings.TrimSpace(text))
	})
	env.Guard.AllowNetworks, faults[1] = Networks("allow-networks", f.AllowNetworks)
	env.Guard.DenyNetworks, faults[2] = Networks("deny-networks", f.DenyNetworks)
	env.Guard.AllowPorts, faults[3] = parseEach("allow-ports", f.AllowPorts, parsePort)
	env.Roots, faults[4] = f.Roots()
	env.RootServers, faults[5] = readFile("root-hints", f.RootHints, resolver.ParseHints)
	env.TrustAnchors, faults[6] = readFile("trust-anchor", f.TrustAnchor, dnssec.ParseAnchors)
	if f.HelloName != "" {
		name, err := diag.ParseDomain(f.HelloName)
		if err != nil {
			faults[7] = fmt.Errorf("--hello-name: %w", err)
		}
		env.HelloName = name.String()
	}
	if err := errors.Join(faults[:]...); err != nil {
		return nil, nil, err
	}
	client.Roots = env.Roots
	return env, func() { client.Close() }, nil
}

// parseEach parses the values of a flag.
func parseEach[T, R any](flag string, values []T, parse func(T) (R, error)) (list []R, err error) {
	for _, value := range values {
		parsed, err := parse(value)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		list = append(list, parsed)
	}
	return list, nil
}

// Networks reads the networks that a flag lists, and addresses as networks of themselves alone.
func Networks(flag string, texts []string) ([]netip.Prefix, error) {
	return parseEach(flag, texts, parseNetwork)
}

func parsePort(port uint) (uint16, error) {
	if port < 1 || port > 65535 {
		return 0, fmt.Errorf("%d is not a port", port)
	}
	return uint16(port), nil
}

// readFile parses the file that a flag names. It returns nil without one.
func readFile[T any](flag, path string, parse func(string) ([]T, error)) ([]T, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	list, err := parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("--%s: %s: %w", flag, path, err)
	}
	return list, nil
}

// Roots reads the authorities of --ca-file. It returns nil, which means those of the system, without.
func (f *Flags) Roots() (*x509.CertPool, error) {
	if f.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(f.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca-file: %s contains no certificate", f.CAFile)
	}
	return roots, nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text) // of a list such as "10.0.0.0/8, 10.1.0.0/16"
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is not a network such as 10.1.0.0/16", text)
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}
