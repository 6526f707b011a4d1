package target

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// The groups of checks, in the order of a reader.
const (
	Mail = "mail"
	DNS  = "dns"
	Web  = "web"
)

// Options say which checks are wanted.
type Options struct {
	Only   []string // groups; all if empty
	NoSMTP bool     // connect to no mail server, as where port 25 is closed
}

// A Check is an endpoint to run, and how it is called in the whole.
type Check struct {
	Group, Name string
	Endpoint    httpapi.Endpoint
	Body        []byte // the request

	// lead runs first and tells the addresses that Endpoint is then asked about.
	lead *httpapi.Endpoint
}

// Checks lists what applies to the target.
func (t Target) Checks(o Options) []Check {
	var list []Check
	add := func(group, name, endpoint string, fields map[string]any) {
		c := Check{Group: group, Name: name, Endpoint: endpointOf(endpoint), Body: bodyOf(fields)}
		if t.Kind == Domain && name == "reputation" {
			c.lead = new(endpointOf("spf/lookup"))
		}
		if len(o.Only) == 0 || slices.Contains(o.Only, group) {
			list = append(list, c)
		}
	}
	subject := func(field string) map[string]any { return map[string]any{field: t.Text} }
	switch t.Kind {
	case Domain:
		add(Mail, "mail", "mail/domain-check",
			map[string]any{"domain": t.Text, "include_smtp": !o.NoSMTP, "detail": "full"})
		add(Mail, "reputation", "blacklist/ip", subject("domain"))
		add(DNS, "servers", "domain/dns-check", subject("domain"))
		add(DNS, "registration", "rdap/lookup", subject("domain"))
		add(Web, "tls", "certificates/ssl/check", map[string]any{"host": t.Text})
		add(Web, "hsts", "http/hsts-check", subject("domain"))
		add(Web, "headers", "http/headers-check", map[string]any{"url": "https://" + t.Text + "/"})
		add(Web, "redirects", "url/check", map[string]any{"url": "http://" + t.Text + "/"})
	case Address:
		add(DNS, "name", "ip/nslookup", subject("ip"))
		add(DNS, "holder", "ip/whois", subject("ip"))
		add(Mail, "reputation", "blacklist/ip", subject("ip"))
	case URL:
		add(Web, "redirects", "url/check", subject("url"))
		add(Web, "headers", "http/headers-check", subject("url"))
		if u, err := url.Parse(t.Text); err == nil && u.Scheme == "https" {
			add(Web, "tls", "certificates/ssl/check", map[string]any{"host": u.Host})
		}
	default:
		add("", t.check, t.check, t.fields)
	}
	return list
}

func endpointOf(name string) httpapi.Endpoint {
	list := httpapi.Endpoints() // which has them all: a test
	return list[slices.IndexFunc(list, func(ep httpapi.Endpoint) bool { return ep.Name() == name })]
}

func bodyOf(fields map[string]any) []byte {
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings and booleans
	}
	return body
}

// maxSenders bounds the addresses that are looked for on block lists.
const maxSenders = 2

// senders are the single IPv4 and IPv6 addresses that a domain itself sends from, as its SPF record names them.
func senders(r *spf.LookupReport) (list []string) {
	add := func(addr string) {
		if len(list) < maxSenders && !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	for _, t := range r.Terms {
		prefix, whole := t.PrefixV4, 32
		if t.Mechanism == eval.IP6 {
			prefix, whole = t.PrefixV6, 128
		}
		single := prefix == nil || *prefix == whole
		if (t.Mechanism == eval.IP4 || t.Mechanism == eval.IP6) && t.Qualifier == eval.QualifierPass && single {
			add(t.Value)
		}
	}
	if r.Tree == nil {
		return list
	}
	for _, h := range r.Tree.Hosts {
		for _, addr := range h.Addresses {
			add(addr.String())
		}
	}
	return list
}
