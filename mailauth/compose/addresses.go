package compose

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// MaxAddresses bounds the sending addresses that are looked at.
const MaxAddresses = 5

// SendingAddresses are those that are known to send mail of a domain, at most [MaxAddresses]: single hosts that its SPF
// record names, and its mail servers if the record names them. What services send is their business. It waits for the
// record alone, not for what that leads to.
func SendingAddresses(ctx context.Context, env *diag.Env, domain diag.Domain) []netip.Addr {
	var text string
	for _, r := range diag.Lookup[*dns.TXT](ctx, env, domain.FQDN()).Records {
		if t := diag.TXT(r); strings.HasPrefix(strings.ToLower(t), "v=spf1") {
			text = t
		}
	}
	record, faults := eval.Parse(text)
	if text == "" || len(faults) > 0 {
		return nil
	}
	var list []netip.Addr
	add := func(addr netip.Addr) {
		addr = addr.Unmap()
		if len(list) < MaxAddresses && env.Public(addr) && !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	servers := false
	for _, t := range record.Terms {
		switch {
		case t.Kind != eval.Mechanism || t.Qualifier != eval.QualifierPass:
		case t.Network.IsValid() && t.Network.IsSingleIP():
			add(t.Network.Addr())
		case t.Name == eval.MX && t.Value == "" && t.Lengths == "":
			servers = true
		}
	}
	if !servers {
		return list
	}
	hosts := reception.LookupHosts(ctx, env, domain.Name(), MaxAddresses)
	for _, h := range hosts.List {
		for _, addr := range h.Addresses.All() {
			add(addr)
		}
	}
	return list
}
