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
	byMailHost  = "mail"
	byWebHost   = "web"
	byRegistrar = "registrar"
	bySender    = "sender"
	byDNS       = "dns"
)

// menders maps a fault, by the family of its code and its part, to who can fix it. The others are in the DNS.
var menders = map[string]string{
	"smtp": byMailHost, "dane.server": byMailHost, "dane.certificate": byMailHost, "mtasts.mx": byMailHost,
	"tls": byWebHost, "hsts": byWebHost, "headers": byWebHost, "url": byWebHost, "mtasts.policy": byWebHost,
	"rdap": byRegistrar, "dnsbl": bySender, "reverse": bySender, "check.ptr": bySender,
	"smtp.mx": byDNS, "smtp.domain": byDNS, "hsts.domain": byDNS,
}

// menderOf returns who can fix a fault, and the family of its code.
func menderOf(code diag.Code) (who, family string) {
	family, rest, _ := strings.Cut(string(code), ".")
	part, _, _ := strings.Cut(rest, ".")
	return cmp.Or(menders[family+"."+part], menders[family], byDNS), family
}

// OnHosts reports whether a fault is fixed on a host, and not in the DNS or at the registrar.
func OnHosts(code diag.Code) bool {
	who, _ := menderOf(code)
	return who == byMailHost || who == byWebHost || who == bySender
}

// mendFault describes who can fix a fault.
func (c *comparison) mendFault(f Finding) string {
	who, family := menderOf(f.Code)
	if family == "mtasts" && who == byWebHost {
		f.Target = "mta-sts." + c.domain
	}
	return c.mend(who, f.Target)
}

// mend describes who can fix something, as far as that is known. The target is the host at fault, if it is one.
func (c *comparison) mend(who, target string) string {
	_, err := diag.ParseDomain(target)
	host := err == nil && strings.Contains(target, ".")
	switch who {
	case bySender:
		return "the provider of " + cmp.Or(target, "the mail servers of "+c.domain)
	case byMailHost, byWebHost:
		if host {
			return "the host " + target
		}
		return map[string]string{byMailHost: "the mail servers of ", byWebHost: "the host "}[who] + c.domain
	case byRegistrar:
		return "the registrar of " + c.domain + view.If(c.Registrar != "", " ("+c.Registrar+")")
	}
	servers := ""
	if i := slices.IndexFunc(c.Records, func(r Record) bool { return r.Type == "NS" }); i >= 0 {
		names := c.Records[i].Values
		servers = " (" + strings.Join(names[:min(len(names), 2)], ", ") + ")"
	}
	return "the DNS of " + c.domain + servers
}
