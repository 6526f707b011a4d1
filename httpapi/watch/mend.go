package watch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// Who can mend something.
const (
	byMailHost  = "mail"
	byWebHost   = "web"
	byRegistrar = "registrar"
	bySender    = "sender"
	byDNS       = "dns"
)

// menders tell it of faults, by the family of the code and its part. The others are in the DNS.
var menders = map[string]string{
	"smtp": byMailHost, "dane.server": byMailHost, "dane.certificate": byMailHost, "mtasts.mx": byMailHost,
	"tls": byWebHost, "hsts": byWebHost, "headers": byWebHost, "url": byWebHost, "mtasts.policy": byWebHost,
	"rdap": byRegistrar, "dnsbl": bySender, "reverse": bySender, "check.ptr": bySender,
	"smtp.mx": byDNS, "smtp.domain": byDNS, "hsts.domain": byDNS,
}

// menderOf says who can mend a fault, and to which family of codes it belongs.
func menderOf(code diag.Code) (who, family string) {
	family, rest, _ := strings.Cut(string(code), ".")
	part, _, _ := strings.Cut(rest, ".")
	return cmp.Or(menders[family+"."+part], menders[family], byDNS), family
}

// OnHosts reports whether a fault is mended on a host, and not in the DNS or at the registrar.
func OnHosts(code diag.Code) bool {
	who, _ := menderOf(code)
	return who == byMailHost || who == byWebHost || who == bySender
}

// mendFault names who can mend a fault.
func (c *comparison) mendFault(f Finding) string {
	who, family := menderOf(f.Code)
	if family == "mtasts" && who == byWebHost {
		f.Target = "mta-sts." + c.domain
	}
	return c.mend(who, f.Target)
}

// mend names somebody, as far as it is known who that is. The target is what is at fault, if it is a host.
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
