package domaincheck

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/mx"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/miekg/dns"
)

// maxSenders bounds the addresses whose reverse DNS is looked up.
const maxSenders = 5

// senders are addresses that are known to send mail: single hosts that the SPF record names, and the mail servers if it
// names them. What services send is their business. It waits for the record alone, not for what that leads to.
func (c *check) senders(ctx context.Context, env *diag.Env) []netip.Addr {
	var text string
	for _, r := range diag.Lookup[*dns.TXT](ctx, env, c.Domain.FQDN()).Records {
		if t := diag.TXT(r); strings.HasPrefix(strings.ToLower(t), "v=spf1") {
			text = t
		}
	}
	record, faults := spf.Parse(text)
	if text == "" || len(faults) > 0 {
		return nil
	}
	var list []netip.Addr
	add := func(addr netip.Addr) {
		addr = addr.Unmap()
		if len(list) < maxSenders && env.Public(addr) && !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	servers := false
	for _, t := range record.Terms {
		switch {
		case t.Kind != spf.Mechanism || t.Qualifier != spf.QualifierPass:
		case t.Network.IsValid() && t.Network.IsSingleIP():
			add(t.Network.Addr())
		case t.Name == spf.MX && t.Value == "" && t.PrefixV4 == nil && t.PrefixV6 == nil:
			servers = true
		}
	}
	if !servers {
		return list
	}
	hosts := reception.LookupHosts(ctx, env, c.Domain.Name(), maxSenders)
	for _, h := range hosts.List {
		for _, addr := range h.Addresses.All() {
			add(addr)
		}
	}
	return list
}

// withhold keeps back a policy of MTA-STS that names a mail server whose MX record has to be changed first: one without an
// address, or an alias.
func (c *check) withhold(value string) bool {
	if c.mx.Result == nil || !strings.Contains(strings.ToLower(value), "stsv1") {
		return false
	}
	return slices.ContainsFunc(c.mx.Result.Hosts, func(h mx.Host) bool {
		return (!h.Resolves || len(h.CNAMEChain) > 0) && strings.Contains(value, h.Host)
	})
}
