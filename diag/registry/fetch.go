package registry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/suffix"
)

// domainEvidence is the input of the rules and the report.
type domainEvidence struct {
	domain   diag.Domain
	name     string // the registered domain
	isSuffix bool   // which is a public suffix
	now      time.Time

	services  []string
	rdap      rdapAnswer // of the registry
	registrar rdapAnswer // of the registrar, if it was asked
	whois     []whoisAnswer

	outcome  outcome
	protocol Protocol
	facts    facts
}

// fetchDomain asks the registry over RDAP and then the registrar, or, if that leaves the question open,
// over WHOIS. Each question depends on the answer before.
func (c *Client) fetchDomain(ctx context.Context, env *diag.Env, req DomainRequest) (*domainEvidence, error) {
	e := &domainEvidence{domain: req.Domain, now: env.Now(), outcome: unanswered, protocol: RDAP}
	e.name, e.isSuffix = c.registered(req.Domain.String())
	e.services = c.bootstrap().forDomain(e.name)
	follow := req.FollowRegistrar == nil || *req.FollowRegistrar
	var err error
	if e.rdap, err = askRDAP(ctx, env, e.services, "domain/"+e.name, classDomain); err != nil {
		return nil, err
	}
	e.rdap.mustBe(e.name)
	switch {
	case e.rdap.outcome == found:
		if follow {
			err = e.askRegistrar(ctx, env)
		}
	case e.rdap.outcome == absent && c.elsewhere(e.name):
		e.rdap.outcome, e.rdap.reason = unreadable, "it does not know the names below this suffix"
		fallthrough
	case e.rdap.outcome != absent || e.rdap.doubt:
		e.askWhois(ctx, env, c.servers().forDomain(e.name), follow)
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return e, e.parse()
}

// elsewhere reports whether a domain is below a suffix that has a registry of its own, which is known for
// WHOIS, but not for RDAP: then the service of the top-level domain is not the one to know.
func (c *Client) elsewhere(name string) bool {
	hosts, b := c.servers().hosts, c.bootstrap()
	_, parent, _ := strings.Cut(name, ".")
	suffix, _ := longest(hosts, parent)
	top := suffix[strings.LastIndexByte(suffix, '.')+1:]
	return suffix != top && hosts[suffix] != hosts[top] && b.names[suffix] == nil && b.seeds[suffix] == nil
}

// askRegistrar follows the link of the registry to the registrar.
func (e *domainEvidence) askRegistrar(ctx context.Context, env *diag.Env) error {
	url := e.rdap.object.related()
	if url == "" || strings.EqualFold(url, e.rdap.url) {
		return nil
	}
	limited, cancel := diag.Within(ctx, registrarTimeout)
	defer cancel()
	a, err := askURL(limited, env, url, classDomain)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a = rdapAnswer{outcome: unanswered, url: url, reason: "it did not answer in time"}
	}
	a.mustBe(e.name)
	e.registrar = a
	return nil
}

// mustBe makes an answer unreadable that is about another domain.
func (a *rdapAnswer) mustBe(domain string) {
	if o := a.object; o != nil && o.name != "" && o.name != domain {
		a.outcome, a.object, a.reason = unreadable, nil, "its answer is about another domain"
	}
}

// askWhois asks the WHOIS servers one after the other.
func (e *domainEvidence) askWhois(ctx context.Context, env *diag.Env, host string, toRegistrar bool) {
	query := func(host string) string { return domainQuery(host, e.name) }
	e.whois = follow(ctx, env, host, query, func(text string) string {
		r := readRecord(text, e.name)
		if r.toRegistrar && !toRegistrar {
			return ""
		}
		return r.referral
	})
}

// spoke reports whether a WHOIS server answered.
func spoke(answers []whoisAnswer) bool {
	return slices.ContainsFunc(answers, func(a whoisAnswer) bool { return a.text != "" })
}

// parse parses and judges the answers. It returns an error that wraps [diag.ErrUnavailable] if no server answered.
func (e *domainEvidence) parse() error {
	e.outcome = e.rdap.outcome
	if e.rdap.outcome == found {
		e.facts = factsOfObject(e.rdap.object)
		if e.registrar.object != nil {
			e.facts.merge(factsOfObject(e.registrar.object))
		}
		return nil
	}
	for _, a := range e.whois {
		if a.text == "" {
			continue
		}
		r := readRecord(a.text, e.name)
		o := r.judge(a.text)
		switch {
		case e.protocol == WHOIS && e.outcome == found:
			if o == found {
				e.facts.merge(factsOfRecord(r))
			}
		case o.conclusive():
			e.outcome, e.protocol, e.facts = o, WHOIS, factsOfRecord(r)
		case !e.outcome.conclusive() || e.rdap.doubt:
			e.outcome, e.protocol = o, WHOIS
		}
	}
	if e.outcome == absent && e.rdap.doubt && e.protocol == RDAP {
		e.outcome = unanswered // unconfirmed, and any web server might say so
	}
	if e.outcome.conclusive() || e.outcome == unreadable && spoke(e.whois) {
		return nil
	}
	return fmt.Errorf("looking up the registration of %s: %w", e.name, failureOf(e.rdap, e.whois))
}

// ourFailure is why a lookup of a server or our network failed; nil if the failure is not ours.
func ourFailure(rdap rdapAnswer, whois []whoisAnswer) error {
	ours := rdap.ours
	for _, a := range whois {
		failed, _ := errors.AsType[*fetch.Error](a.err)
		ours = failed.Unavailable()
	}
	return ours
}

// failureOf is why nothing was learned: by our fault, or else by that of the servers.
func failureOf(rdap rdapAnswer, whois []whoisAnswer) error {
	if ours := ourFailure(rdap, whois); ours != nil {
		return ours
	}
	return diag.Unavailable(serversOf(rdap, whois), errors.New(excuse(rdap, whois)))
}

func serversOf(rdap rdapAnswer, whois []whoisAnswer) string {
	var list []string
	if u, err := url.Parse(rdap.url); err == nil && u.Host != "" {
		list = append(list, "the RDAP server "+u.Host)
	}
	for _, a := range whois {
		list = append(list, "the WHOIS server "+a.host)
	}
	if len(list) == 0 {
		return "any registry"
	}
	return strings.Join(list, " or ")
}

// A Client asks registries. Its zero value uses the built-in tables. It may be used by several goroutines
// concurrently.
type Client struct {
	Bootstrap    *Bootstrap // RDAP services; nil means the built-in table
	WhoisServers *Servers   // WHOIS servers; nil means the built-in table
}

// The names of the files that replace the built-in tables; see [diag.List].
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

// registered returns the registered part of a domain, one label more than its public suffix. A domain that is itself
// a public suffix is returned as it is, with true.
//
// Below private suffixes, such as github.io, names are not registered with a registry, unless one is known for the
// suffix.
func (c *Client) registered(name string) (domain string, isSuffix bool) {
	suffix, _ := suffix.Registry(name, c.known)
	if suffix == name {
		return name, true
	}
	rest := strings.TrimSuffix(name, "."+suffix)
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix, false
}

func (c *Client) known(suffix string) bool {
	b, s := c.bootstrap(), c.servers()
	return b.names[suffix] != nil || b.seeds[suffix] != nil || s.hosts[suffix] != ""
}
