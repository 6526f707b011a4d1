package watch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// Who can fix something.
const (
	fixedByMailHost  = "mail"
	fixedByWebHost   = "web"
	fixedByRegistrar = "registrar"
	fixedBySender    = "sender"
	fixedByDNS       = "dns"
)

// fixers maps a fault, by the family of its code and its part, to who can fix it. The others are in the DNS.
var fixers = map[string]string{
	"smtp": fixedByMailHost, "dane.server": fixedByMailHost, "dane.certificate": fixedByMailHost, "mtasts.mx": fixedByMailHost,
	"tls": fixedByWebHost, "hsts": fixedByWebHost, "headers": fixedByWebHost, "url": fixedByWebHost, "mtasts.policy": fixedByWebHost,
	"rdap": fixedByRegistrar, "dnsbl": fixedBySender, "reverse": fixedBySender, "check.ptr": fixedBySender,
	"smtp.mx": fixedByDNS, "smtp.domain": fixedByDNS, "hsts.domain": fixedByDNS,
}

// fixerOf returns who can fix a fault, and the family of its code.
func fixerOf(code diag.Code) (who, family string) {
	family, rest, _ := strings.Cut(string(code), ".")
	part, _, _ := strings.Cut(rest, ".")
	return cmp.Or(fixers[family+"."+part], fixers[family], fixedByDNS), family
}

// OnHosts reports whether a fault is fixed on a host, and not in the DNS or at the registrar.
func OnHosts(code diag.Code) bool {
	who, _ := fixerOf(code)
	return who == fixedByMailHost || who == fixedByWebHost || who == fixedBySender
}

// faultFixedBy describes who can fix a fault.
func (c *comparison) faultFixedBy(f Finding) string {
	who, family := fixerOf(f.Code)
	if family == "mtasts" && who == fixedByWebHost {
		f.Target = "mta-sts." + c.domain
	}
	return c.fixedBy(who, f.Target)
}

// fixedBy describes who can fix something, as far as that is known. The target is the host at fault, if it is one.
func (c *comparison) fixedBy(who, target string) string {
	_, err := diag.ParseDomain(target)
	host := err == nil && strings.Contains(target, ".")
	switch who {
	case fixedBySender:
		return "the provider of " + cmp.Or(target, "the mail servers of "+c.domain)
	case fixedByMailHost, fixedByWebHost:
		if host {
			return "the host " + target
		}
		return map[string]string{fixedByMailHost: "the mail servers of ", fixedByWebHost: "the host "}[who] + c.domain
	case fixedByRegistrar:
		return "the registrar of " + c.domain + view.TextIf(c.Registrar != "", " ("+c.Registrar+")")
	}
	servers := ""
	if i := slices.IndexFunc(c.Records, func(r Record) bool { return r.Type == "NS" }); i >= 0 {
		names := c.Records[i].Values
		servers = " (" + strings.Join(names[:min(len(names), 2)], ", ") + ")"
	}
	return "the DNS of " + c.domain + servers
}
