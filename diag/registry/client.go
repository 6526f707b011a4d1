package registry

import (
	"time"

	"github.com/diagkit/diagkit/diag"
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
