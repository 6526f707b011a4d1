package propagation

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
)

// A Vantage is a public resolver, from which one part of the world sees the DNS.
type Vantage struct {
	ID       string `json:"id"`       // short, permanent: lower-case letters, digits, hyphens
	Name     string `json:"name"`     // for people
	Operator string `json:"operator"` // who runs it
	Country  string `json:"country"`  // where the operator is seated, by ISO 3166-1 alpha-2; may be empty
	// Transport is how it is asked: udp, with TCP for what does not fit; tcp, dot or doh.
	Transport resolver.Transport `json:"transport"`
	// Addresses are tried in this order, each an IP address or IP:port. Over dot and doh they may be
	// missing if TLSName is there, which then is looked up; and all have the same port.
	Addresses []string `json:"addresses"`
	// TLSName must stand in the certificate for dot and doh. If empty, the address must.
	TLSName string `json:"tls_name,omitempty"`
	// Path is the path of the doh resource. Empty means /dns-query.
	Path string `json:"path,omitempty"`
}

// Bounds of a list of vantages: what a check can ask at once without being a nuisance, and what a
// table on paper has room for.
const (
	maxVantages      = 200
	maxVantagesBytes = 1 << 20
	maxVantageText   = 100
	maxVantageAddrs  = 8
)

// ParseVantages reads a list of vantages as JSON, such as the file vantages.json that replaces the
// built-in list. The error names the vantage that is at fault. Every list that [json.Marshal] writes of
// valid vantages is read again as it was.
func ParseVantages(data []byte) ([]Vantage, error) {
	if len(data) > maxVantagesBytes {
		return nil, fmt.Errorf("vantages: more than %d bytes", maxVantagesBytes)
	}
	var list []Vantage
	if err := diag.DecodeList(data, &list, true); err != nil {
		return nil, fmt.Errorf("vantages: %w", err)
	}
	if len(list) == 0 || len(list) > maxVantages {
		return nil, fmt.Errorf("vantages: there must be 1 to %d, not %d", maxVantages, len(list))
	}
	seen := map[string]bool{}
	for i, v := range list {
		err := v.check()
		if err == nil && seen[v.ID] {
			err = errors.New("the id stands twice")
		}
		if err != nil {
			return nil, fmt.Errorf("vantages: number %d (%.40q): %w", i+1, v.ID, err)
		}
		seen[v.ID] = true
	}
	return list, nil
}

func (v Vantage) check() error {
	switch {
	case v.ID == "" || len(v.ID) > 40 || strings.Trim(v.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return errors.New("the id must be 1 to 40 lower-case letters, digits and hyphens")
	case v.Name == "" || len(v.Name) > maxVantageText || len(v.Operator) > maxVantageText:
		return fmt.Errorf("the name and the operator must have at most %d bytes, and the name must be there", maxVantageText)
	case v.Country != "" && (len(v.Country) != 2 || strings.Trim(v.Country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != ""):
		return errors.New("the country must be two capital letters (ISO 3166-1 alpha-2)")
	}
	_, err := v.servers()
	return err
}

// servers returns where to ask: a server for each address over UDP and TCP, one in all over TLS and HTTPS.
func (v Vantage) servers() ([]resolver.Server, error) {
	if len(v.Addresses) > maxVantageAddrs {
		return nil, fmt.Errorf("there may be at most %d addresses", maxVantageAddrs)
	}
	plain := v.Transport == resolver.UDP || v.Transport == resolver.TCP
	if plain && (len(v.Addresses) == 0 || v.TLSName != "" || v.Path != "") {
		return nil, fmt.Errorf("over %s there must be addresses, and no tls_name or path", v.Transport)
	}
	one := resolver.Server{Transport: v.Transport, Name: v.TLSName, Path: v.Path}
	var list []resolver.Server
	for i, text := range v.Addresses {
		addr, err := parseAddr(text)
		if err != nil {
			return nil, err
		}
		if plain {
			list = append(list, resolver.Server{
				Transport: v.Transport, Addrs: []netip.Addr{addr.Addr()}, Port: addr.Port(),
			})
			continue
		}
		if i > 0 && one.Port != addr.Port() {
			return nil, fmt.Errorf("over %s all addresses must have the same port", v.Transport)
		}
		one.Addrs, one.Port = append(one.Addrs, addr.Addr()), addr.Port()
	}
	if !plain {
		list = []resolver.Server{one}
	}
	for i, server := range list {
		checked, err := resolver.ParseServer(server.String()) // knows all the rules
		if err != nil || v.Transport == "" {
			return nil, fmt.Errorf("the transport, an address, the tls_name or the path is none: %w", err)
		}
		list[i] = checked
	}
	return list, nil
}

// parseAddr reads an IP address with or without a port, which is 0 then.
func parseAddr(text string) (netip.AddrPort, error) {
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
		return netip.AddrPortFrom(ip.Unmap(), 0), nil
	}
	addr, err := netip.ParseAddrPort(text)
	if err != nil || addr.Port() == 0 || addr.Addr().Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%.60q is neither an IP address nor one with a port", text)
	}
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()), nil
}
