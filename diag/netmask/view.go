package netmask

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	hosts := r.FirstHost.String()
	if r.FirstHost != r.LastHost {
		hosts += " to " + r.LastHost.String()
	}
	count := diag.Count(int64(r.UsableHostCount), "usable host")
	v := view.Answer(fmt.Sprintf("%s/%d", r.IP, r.PrefixLength), r.CIDR+" has "+count)
	v.Fact("network", r.Network.String())
	v.Fact("hosts", hosts)
	if r.Broadcast != nil {
		v.Fact("broadcast", r.Broadcast.String())
	}
	v.Fact("netmask", fmt.Sprintf("%s, wildcard %s", r.Netmask, r.Wildcard))
	v.Fact("addresses", fmt.Sprint(r.AddressCount))
	v.Fact("kind", fmt.Sprintf("%s, class %s", strings.ReplaceAll(string(r.Scope), "_", "-"), r.Class))
	v.Fact("reverse zone", diag.Series(r.ReverseZones, 3))
	switch {
	case r.IsNetworkAddress:
		v.Fact("address", "names the network, and is no host")
	case r.IsBroadcastAddress:
		v.Fact("address", "is the broadcast address, and no host")
	}
	d := view.Drawing{Kind: view.Table, Title: "Bits", Columns: []string{"", "bits", "hexadecimal", "decimal"}}
	d.Row("address", r.Binary.IP, r.Hex.IP, fmt.Sprint(r.Decimal.IP))
	d.Row("netmask", r.Binary.Netmask, r.Hex.Netmask, "")
	d.Row("network", r.Binary.Network, "", fmt.Sprint(r.Decimal.Network))
	v.Draw(d)
	return v
}
