package diag

import "github.com/diagkit/diagkit/diag/input"

// The types of what callers hand in are those of package input, which needs no network and no TLS; here they have the
// names that programs use.
type (
	// A Domain is a valid domain name in the sense of a host or mail domain, in canonical form.
	Domain = input.Domain

	// A Name is a valid name of the DNS, which may have labels with underscores and a wildcard.
	Name = input.Name

	// A Selector names a key or record below a domain, as in DKIM (RFC 6376 section 3.1) and BIMI.
	Selector = input.Selector

	// A Host is a domain or an IP address, read as browsers read the host of a URL.
	Host = input.Host

	// An IP is an IP address that decodes from text.
	IP = input.IP

	// A URL is an absolute http or https URL in canonical form.
	URL = input.URL

	// An InputError reports an invalid request: the field, and what is wrong with it.
	InputError = input.Error
)

// ParseDomain accepts a domain name in Unicode or ASCII form, with or without the final dot. See [input.ParseDomain].
func ParseDomain(s string) (Domain, error) { return input.ParseDomain(s) }

// MustDomain is [ParseDomain] for constants; it panics on a bad name.
func MustDomain(s string) Domain { return input.MustDomain(s) }

// ParseName accepts a name of the DNS in Unicode or ASCII form. See [input.ParseName].
func ParseName(s string) (Name, error) { return input.ParseName(s) }

// MustName is [ParseName] for constants; it panics on a bad name.
func MustName(s string) Name { return input.MustName(s) }

// ParseSelector accepts a selector of one or more labels. See [input.ParseSelector].
func ParseSelector(s string) (Selector, error) { return input.ParseSelector(s) }

// MustSelector is [ParseSelector] for constants; it panics on a bad selector.
func MustSelector(s string) Selector { return input.MustSelector(s) }

// ParseHost reads a host as the URL standard does. See [input.ParseHost].
func ParseHost(s string) (Host, error) { return input.ParseHost(s) }

// MustHost is [ParseHost] for constants; it panics on a bad host.
func MustHost(s string) Host { return input.MustHost(s) }

// ParseIP reads an IPv4 or IPv6 address. See [input.ParseIP].
func ParseIP(s string) (IP, error) { return input.ParseIP(s) }

// MustIP is [ParseIP] for constants; it panics on a bad address.
func MustIP(s string) IP { return input.MustIP(s) }

// ParseURL reads a URL as the address field of a browser does. See [input.ParseURL].
func ParseURL(s string) (URL, error) { return input.ParseURL(s) }

// MustURL is [ParseURL] for constants; it panics on a bad URL.
func MustURL(s string) URL { return input.MustURL(s) }
