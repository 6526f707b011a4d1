package watch

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
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
	domain := c.domain
	_, err := diag.ParseDomain(target)
	host := err == nil && strings.Contains(target, ".")
	switch {
	case who == bySender && target != "":
		return "the provider of " + target
	case who == bySender:
		return "the provider of the mail servers of " + domain
	case who == byMailHost && !host:
		return "the mail servers of " + domain
	case who == byWebHost && !host:
		return "the host " + domain
	case who == byMailHost || who == byWebHost:
		return "the host " + target
	case who == byRegistrar && c.Registrar != "":
		return fmt.Sprintf("the registrar of %s (%s)", domain, c.Registrar)
	case who == byRegistrar:
		return "the registrar of " + domain
	}
	const most = 2
	for _, r := range c.Records {
		if r.Type == "NS" {
			return fmt.Sprintf("the DNS of %s (%s)", domain, strings.Join(r.Values[:min(len(r.Values), most)], ", "))
		}
	}
	return "the DNS of " + domain
}
