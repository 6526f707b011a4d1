package registry

import (
	"net/netip"
	"strings"
	"sync"
)

// A Purpose is the meaning of an address that nobody has registered (RFC 6890 section 2.2).
type Purpose struct {
	Name              string `json:"name" doc:"what the addresses are for" example:"Private-Use"`
	RFC               string `json:"rfc" doc:"document that sets them aside" example:"RFC 1918"`
	GloballyReachable bool   `json:"globally_reachable" doc:"whether they are reached from anywhere on the Internet"`
}

// special is the table of addresses with a meaning of their own.
var special = sync.OnceValue(func() map[netip.Prefix]Purpose {
	table := map[netip.Prefix]Purpose{}
	for _, line := range lines(embeddedText("special.txt")) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] == "#" {
			continue
		}
		if p, err := netip.ParsePrefix(words[0]); err == nil {
			table[p] = Purpose{
				Name: strings.Join(words[3:], " "), RFC: "RFC " + strings.TrimPrefix(words[1], "RFC"),
				GloballyReachable: words[2] == "yes",
			}
		}
	}
	return table
})

// PurposeOf returns the smallest block of the table that has the address, and its purpose.
func PurposeOf(ip netip.Addr) (netip.Prefix, Purpose, bool) {
	for bits := ip.BitLen(); bits >= 0; bits-- {
		p, err := ip.Prefix(bits)
		if purpose, ok := special()[p]; ok && err == nil {
			return p, purpose, true
		}
	}
	return netip.Prefix{}, Purpose{}, false
}
