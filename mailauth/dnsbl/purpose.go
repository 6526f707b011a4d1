package dnsbl

import (
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag/registry"
)

// A purpose is what an address is set aside for; zero for ordinary ones.
type purpose struct {
	text    string // such as "Private-Use (RFC 1918)"
	example bool   // it stands for an ordinary one in documents (RFC 5737, RFC 3849, RFC 9637)
	hidden  bool   // no receiver on the Internet sees mail come from it
}

func purposeOf(ip netip.Addr) purpose {
	_, found, ok := registry.PurposeOf(ip)
	if !ok {
		return purpose{}
	}
	p := purpose{text: found.Name + " (" + found.RFC + ")", example: strings.HasPrefix(found.Name, "Documentation")}
	p.hidden = !p.example && !found.GloballyReachable
	return p
}
