package registry

import (
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/net/publicsuffix"
)

// A Client asks registries. Its zero value uses the built-in tables. It may be used by several goroutines at once.
type Client struct {
	Bootstrap    *Bootstrap // RDAP services; nil means the built-in table
	WhoisServers *Servers   // WHOIS servers; nil means the built-in table
}

// The names of the tables among the lists that an operator may replace, see [diag.List].
const (
	BootstrapFile = "rdap-bootstrap.json"
	ServersFile   = "whois-servers.json"
)

// clientOf returns a client with the tables of an environment: its own, or the built-in ones.
func clientOf(env *diag.Env) (*Client, error) {
	bootstrap, err := diag.List(env, BootstrapFile, DefaultBootstrap, ParseBootstrap)
	if err != nil {
		return nil, err
	}
	servers, err := diag.List(env, ServersFile, DefaultServers, ParseServers)
	if err != nil {
		return nil, err
	}
	return &Client{bootstrap, servers}, nil
}

func (c *Client) bootstrap() *Bootstrap {
	if c.Bootstrap != nil {
		return c.Bootstrap
	}
	return DefaultBootstrap()
}

func (c *Client) servers() *Servers {
	if c.WhoisServers != nil {
		return c.WhoisServers
	}
	return DefaultServers()
}

// The most that each step waits, so that what a slow server leaves is enough for the next: a lookup
// has 15 seconds in all (CONTRACT 1.9).
const (
	rdapTimeout      = 6 * time.Second
	registrarTimeout = 4 * time.Second
	whoisTimeout     = 5 * time.Second
)

// registered returns the part of a domain that somebody has registered, one label more than the public
// suffix under which it is. A domain that is itself a public suffix is returned as it is, with true.
//
// Below suffixes that a company has made its own, such as github.io, nobody registers anything with a
// registry, unless a registry is known for the suffix.
func (c *Client) registered(name string) (domain string, isSuffix bool) {
	suffix := c.suffix(name)
	if suffix == name {
		return name, true
	}
	rest := strings.TrimSuffix(name, "."+suffix)
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix, false
}

// suffix returns the suffix under which names are registered, the name itself at most.
func (c *Client) suffix(name string) string {
	suffix, _ := publicsuffix.PublicSuffix(name)
	for strings.Contains(suffix, ".") {
		// Whether a suffix is official is told reliably of itself only, not of names below it.
		if _, official := publicsuffix.PublicSuffix(suffix); official || c.known(suffix) {
			return suffix
		}
		_, parent, _ := strings.Cut(suffix, ".")
		suffix, _ = publicsuffix.PublicSuffix(parent)
	}
	return suffix
}

// known reports whether a registry is known for a suffix of several labels.
func (c *Client) known(suffix string) bool {
	b, s := c.bootstrap(), c.servers()
	return b.names[suffix] != nil || b.seeds[suffix] != nil || s.hosts[suffix] != ""
}
