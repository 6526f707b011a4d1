package lint

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/net/publicsuffix"
)

// names judges the subject alternative names and the common name of a server's certificate.
func names(c *x509.Certificate) []Fault {
	var faults []Fault
	add := func(id, reference, format string, args ...any) {
		faults = append(faults, Fault{id, fmt.Sprintf(format, args...), reference, c})
	}
	switch san := find(c, oidSAN); {
	case san == nil:
		add("san.missing", "BR section 7.1.2.7.12", "There are no subject alternative names")
	case san.Critical && !emptyName(c.RawSubject):
		add("san.critical", "BR section 7.1.2.7.12",
			"The subject alternative names are marked critical although there is a subject")
	case !san.Critical && emptyName(c.RawSubject):
		add("san.noncritical", "RFC 5280 section 4.2.1.6",
			"The subject alternative names are not marked critical although there is no subject")
	}
	for _, name := range c.DNSNames {
		if why := badName(name); why != "" {
			add("san.name", "RFC 5280 section 4.2.1.6", "The name %.300q %s", name, why)
			break // one such name is enough, and there may be thousands
		}
	}
	if i := slices.IndexFunc(c.DNSNames, coversSuffix); i >= 0 {
		add("san.suffix", "BR section 3.2.2.6", "The name %.300q covers all domains under a public suffix", c.DNSNames[i])
	}
	for _, cn := range commonNames(c) {
		if !slices.Contains(c.DNSNames, cn) && !addressAsText(cn, c.IPAddresses) {
			add("cn.foreign", "BR section 7.1.4.3", "The common name %.300q is none of the subject alternative names", cn)
		}
	}
	return faults
}

// badName says why a name may not stand in a certificate as a DNS name; empty if it may.
func badName(name string) string {
	rest := strings.TrimPrefix(name, "*.")
	switch _, err := netip.ParseAddr(name); {
	case err == nil:
		return "is an IP address, and is listed as a DNS name"
	case name == "*":
		return "covers every name there is"
	case strings.Contains(rest, "*"):
		return "has an asterisk that does not stand for the whole first label"
	case len(name) > 253 || !hostName(rest):
		return "is no host name"
	default:
		return ""
	}
}

// hostName reports whether a name has the preferred syntax (RFC 5280 section 4.2.1.6, RFC 1034 section 3.5).
func hostName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		bad := func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
		}
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, bad) || strings.Trim(label, "-") != label {
			return false
		}
	}
	return true
}

// coversSuffix reports whether a wildcard stands directly before a suffix under which anybody may register a
// domain. Those that companies run for their own customers do not count: whoever owns one may have it certified.
func coversSuffix(name string) bool {
	name, wildcard := strings.CutPrefix(strings.ToLower(name), "*.")
	suffix, registry := publicsuffix.PublicSuffix(name)
	return wildcard && suffix == name && (registry || !strings.Contains(name, "."))
}

func commonNames(c *x509.Certificate) []string {
	var list []string
	for _, a := range pki.Attributes(c.RawSubject) {
		if a.Type == commonName {
			list = append(list, a.Value)
		}
	}
	return list
}

const commonName = "2.5.4.3"

// addressAsText reports whether a text is one of the addresses in its canonical form (RFC 5952 section 4).
func addressAsText(text string, list []net.IP) bool {
	return slices.ContainsFunc(list, func(ip net.IP) bool {
		a, ok := netip.AddrFromSlice(ip)
		return ok && a.String() == text
	})
}
