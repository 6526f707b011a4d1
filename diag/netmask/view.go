package netmask

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report.
func (r *Report) View() *view.View {
	count := phrase.Count(int64(r.UsableHostCount), "usable host")
	v := view.Answer(fmt.Sprintf("%s/%d", r.IP, r.PrefixLength), r.CIDR+" has "+count)
	v.Fact("network", r.Network.String())
	v.Fact("hosts", r.FirstHost.String()+view.TextIf(r.FirstHost != r.LastHost, " to "+r.LastHost.String()))
	if r.Broadcast != nil {
		v.Fact("broadcast", r.Broadcast.String())
	}
	v.Fact("netmask", fmt.Sprintf("%s, wildcard %s", r.Netmask, r.Wildcard))
	v.Fact("addresses", fmt.Sprint(r.AddressCount))
	v.Fact("kind", fmt.Sprintf("%s, class %s", strings.ReplaceAll(string(r.Scope), "_", "-"), r.Class))
	v.Fact("reverse zone", phrase.Series(r.ReverseZones, 3))
	v.Fact("address", cmp.Or(view.TextIf(r.IsNetworkAddress, "names the network, and is not a host"),
		view.TextIf(r.IsBroadcastAddress, "is the broadcast address, and not a host")))
	d := v.Rows(view.Table, "Bits", "", "bits", "hexadecimal", "decimal")
	d.Row("address", r.Binary.IP, r.Hex.IP, fmt.Sprint(r.Decimal.IP))
	d.Row("netmask", r.Binary.Netmask, r.Hex.Netmask, "")
	d.Row("network", r.Binary.Network, "", fmt.Sprint(r.Decimal.Network))
	return v
}
