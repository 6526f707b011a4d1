package hostedspf

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// quoted writes a text as character-strings of a master file.
func quoted(text string) string {
	var b strings.Builder
	for i := 0; i == 0 || i < len(text); i += 255 {
		fmt.Fprintf(&b, " %q", text[i:min(i+255, len(text))])
	}
	return b.String()
}

// A maker makes up zones. It keeps the networks that it wrote, near whose edges mistakes show.
type maker struct {
	*rapid.T
	edges []netip.Prefix
}

func (m *maker) chance(percent int) bool { return rapid.IntRange(0, 99).Draw(m.T, "chance") < percent }

func (m *maker) pick(list ...string) string { return rapid.SampledFrom(list).Draw(m.T, "pick") }

// address makes up an address among few, so that networks overlap and touch.
func (m *maker) address() netip.Addr {
	low := byte(rapid.IntRange(0, 15).Draw(m.T, "low"))
	if m.chance(30) {
		a := netip.MustParseAddr("2001:db8::").As16()
		a[15], a[1] = low, byte(rapid.IntRange(1, 2).Draw(m.T, "net"))
		return netip.AddrFrom16(a)
	}
	return netip.AddrFrom4([4]byte{192, 0, byte(rapid.IntRange(2, 3).Draw(m.T, "net")), low * 16})
}

// network makes up a network, of which some are very wide.
func (m *maker) network() netip.Prefix {
	a := m.address()
	bits := a.BitLen() - rapid.IntRange(0, 9).Draw(m.T, "free")
	if m.chance(3) {
		bits = rapid.IntRange(0, 2).Draw(m.T, "wide")
	}
	p := netip.PrefixFrom(a, bits).Masked()
	m.edges = append(m.edges, p)
	return p
}

// far makes up a network that touches few others.
func (m *maker) far() string {
	p := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(rapid.IntRange(0, 255).Draw(m.T, "far"))}), 32)
	m.edges = append(m.edges, p)
	return spf.NetworkTerm(p)
}

// around makes up the prefix lengths behind a name.
func (m *maker) around() string {
	switch rapid.IntRange(0, 5).Draw(m.T, "lengths") {
	case 0:
		return fmt.Sprintf("/%d", rapid.IntRange(22, 32).Draw(m.T, "v4"))
	case 1:
		return fmt.Sprintf("//%d", rapid.IntRange(118, 128).Draw(m.T, "v6"))
	case 2:
		return "/24//120"
	default:
		return ""
	}
}

const hosts, domains = 5, 6

func (m *maker) host() string {
	return fmt.Sprintf("h%d.example", rapid.IntRange(0, hosts).Draw(m.T, "host")) // the last does not exist
}

// below is a domain that does not lead back to the i-th.
func (m *maker) below(i int) string {
	if m.chance(2) {
		return fmt.Sprintf("n%d.example", rapid.IntRange(0, domains).Draw(m.T, "any")) // also one that does not exist
	}
	return fmt.Sprintf("n%d.example", rapid.IntRange(i+1, domains-1).Draw(m.T, "below"))
}

// term makes up a mechanism of the record of the i-th domain.
func (m *maker) term(i int) string {
	deep := i+1 < domains
	switch n := rapid.IntRange(0, 99).Draw(m.T, "kind"); {
	case n < 40 || n < 75 && !deep:
		p := m.network()
		return spf.NetworkTerm(p)
	case n < 50:
		return "a:" + m.host() + m.around()
	case n < 58:
		return "mx:" + m.host() + m.around()
	case n < 62:
		return m.pick("a", "mx", "a:%{d}", "mx:%{d}") + m.around()
	case n < 85 && deep:
		return "include:" + m.below(i)
	case n < 95:
		return m.pick("exists:%{i}.e.example", "exists:%{ir}.%{v}.%{d}", "exists:h0.example", "exists:%{l}.%{o}",
			"exists:gone.example",
			"exists:%{l1r-}.%{d2}", "exists:%{h}", "a:%{l}.example/24", "mx:%{l}.example", "ptr", "ptr:h0.example")
	case n < 96 && deep:
		return "include:%{l}.n.example"
	case n < 98: // modifiers named like mechanisms, which are ignored (RFC 7208 section 6)
		return m.pick("all=1", "include=h0.example", "a=h1.example", "mx=", "ip4=192.0.2.0/24", "ip6=x", "exists=%{i}.x",
			"ptr=%{p}.example", "all=%{p}")
	default:
		return m.pick("include:%{d}", "include:%{l}.example", "include:%{o}", "exists:%{p}.e.example")
	}
}

// record makes up the record of the i-th domain.
func (m *maker) record(i int) string {
	text := "v=spf1"
	for range rapid.IntRange(0, 6).Draw(m.T, "terms") {
		term := m.term(i)
		if sign := m.pick("", "", "", "", "-", "~", "?", "+"); !strings.Contains(term, "=") { // modifiers have no sign
			term = sign + term
		}
		text += " " + term
	}
	if m.chance(15) { // so many that they need several records
		for range rapid.IntRange(1, 40).Draw(m.T, "many") {
			text += " " + m.pick("", "", "", "", "-") + m.far()
		}
	}
	switch n := rapid.IntRange(0, 9).Draw(m.T, "end"); {
	case n < 6:
		text += " " + m.pick("-", "~", "?", "-", "~", "+") + "all"
	case n < 8 && i+1 < domains:
		text += " redirect=" + m.below(i)
	case n < 9 && i+1 < domains:
		text += " redirect=" + m.pick("%{l}.n.example", "%{d}", "%{l}.example")
	}
	if m.chance(10) {
		text += " exp=why.%{d}"
	}
	return text
}

// name writes the i-th domain.
func name(i int) string {
	if i == 0 {
		return domain.String()
	}
	return fmt.Sprintf("n%d.example", i)
}

// zone makes up everything, and returns the record of the first domain.
func (m *maker) zone(w *diagtest.World) string {
	var zone strings.Builder
	var first string
	add := func(name, rdata string) { fmt.Fprintf(&zone, "%s. %s\n", name, rdata) }
	family := map[bool]string{true: "A ", false: "AAAA "}
	place := func(name string) {
		a := m.address()
		m.edges = append(m.edges, netip.PrefixFrom(a, a.BitLen()))
		add(name, family[a.Is4()]+a.String())
	}
	for i := range domains {
		text := m.record(i)
		if i == 0 {
			first = text
		}
		add(name(i), "TXT"+quoted(text))
		place(name(i))
		if m.chance(50) {
			add(name(i), "MX 10 "+m.host()+".")
		}
	}
	for i := range hosts {
		place(fmt.Sprintf("h%d.example", i))
		place(fmt.Sprintf("h%d.example", i))
		add(fmt.Sprintf("h%d.example", i), "MX 10 "+m.host()+".")
	}
	add("user.n.example", "TXT"+quoted(m.record(domains-1)))
	place("user.example")
	for range 3 {
		a := m.address()
		m.edges = append(m.edges, netip.PrefixFrom(a, a.BitLen()))
		add(a.String()+".e.example", "A 127.0.0.2")
		reverse := diag.IP{Addr: a}.Reverse()
		add(strings.TrimSuffix(reverse, "."), "PTR "+m.pick("h0.example.", "h1.example.", "example.com."))
	}
	w.Zone(zone.String())
	return first
}

// clients returns addresses at the edges of networks and some beside them.
func (m *maker) clients() []netip.Addr {
	var list []netip.Addr
	for _, p := range m.edges {
		first := p.Masked().Addr()
		set := spf.SetOf(p)
		last := first
		for _, q := range everyone.Minus(set).Prefixes() { // the first address behind the network
			if q.Addr().BitLen() == first.BitLen() && first.Less(q.Addr()) {
				last = q.Addr().Prev()
				break
			}
		}
		for _, a := range []netip.Addr{first, last, first.Prev(), last.Next()} {
			if a.IsValid() {
				list = append(list, a)
			}
		}
	}
	list = append(list, netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("2001:db9::9"))
	slices.SortFunc(list, netip.Addr.Compare)
	return slices.Compact(list)
}

// check evaluates a record, with the limits of lookups lifted or not.
func check(t require.TestingT, w *diagtest.World, ip netip.Addr, at string, lookups int) *eval.Result {
	r, err := eval.Check(context.Background(), w.Env(), eval.Request{
		IP: ip, Sender: "user@" + domain.String(), HELO: "h1.example", Domain: at, Lookups: lookups, Voids: eval.MaxTerms,
	})
	require.NoError(t, err)
	return r
}

// publish adds flat records to a world, and a domain that includes them.
func publish(w *diagtest.World, records []Record) {
	host := records[0].Name
	for _, r := range records {
		w.Zone(r.Name + ". TXT" + quoted(r.Value))
	}
	w.Zone(`customer.example. TXT "v=spf1 include:` + host + ` -all"`)
}
