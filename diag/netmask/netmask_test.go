package netmask_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/netmask"
)

func ExampleCompute() {
	report, err := netmask.Compute(netmask.Request{IP: "192.0.2.77/26"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.CIDR, report.Netmask, report.Broadcast)
	fmt.Println(report.FirstHost, report.LastHost, report.UsableHostCount)
	fmt.Println(report.ReverseZones)
	// Output:
	// 192.0.2.64/26 255.255.255.192 192.0.2.127
	// 192.0.2.65 192.0.2.126 62
	// [2.0.192.in-addr.arpa]
}

func TestComputeReport(t *testing.T) {
	report, err := netmask.Compute(netmask.Request{IP: "192.0.2.255", Netmask: "0.0.0.255"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestCompute(t *testing.T) {
	cases := []struct {
		name  string
		ip    string
		mask  netmask.Mask
		cidr  string
		hosts string // first to last and their number
	}{
		{"prefix in ip", "192.0.2.1/24", "", "192.0.2.0/24", "192.0.2.1 192.0.2.254 254"},
		{"mask in ip", "192.0.2.1/255.255.255.240", "", "192.0.2.0/28", "192.0.2.1 192.0.2.14 14"},
		{"wildcard in ip", "192.0.2.1/0.0.0.15", "", "192.0.2.0/28", "192.0.2.1 192.0.2.14 14"},
		{"length as text", "192.0.2.1", "30", "192.0.2.0/30", "192.0.2.1 192.0.2.2 2"},
		{"two addresses", "192.0.2.1", "31", "192.0.2.0/31", "192.0.2.0 192.0.2.1 2"},
		{"one address", "192.0.2.1", "32", "192.0.2.1/32", "192.0.2.1 192.0.2.1 1"},
		{"mask of one address", "192.0.2.1", "255.255.255.255", "192.0.2.1/32", "192.0.2.1 192.0.2.1 1"},
		{"everything", "192.0.2.1", "0", "0.0.0.0/0", "0.0.0.1 255.255.255.254 4294967294"},
		{"mask of everything", "192.0.2.1", "0.0.0.0", "0.0.0.0/0", "0.0.0.1 255.255.255.254 4294967294"},
		{"half of everything", "192.0.2.1", "127.255.255.255", "128.0.0.0/1", "128.0.0.1 255.255.255.254 2147483646"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := netmask.Compute(netmask.Request{IP: c.ip, Netmask: c.mask})
			if err != nil {
				t.Fatal(err)
			}
			hosts := fmt.Sprint(r.FirstHost, r.LastHost, r.UsableHostCount)
			if r.CIDR != c.cidr || hosts != c.hosts {
				t.Errorf("got %s: %s; want %s: %s", r.CIDR, hosts, c.cidr, c.hosts)
			}
		})
	}
}

func TestComputeRefuses(t *testing.T) {
	cases := []struct {
		name   string
		ip     string
		mask   netmask.Mask
		field  string
		reason string
	}{
		{"nothing", "", "", "ip", "not an IPv4 address"},
		{"no address and no mask", "192.0.2.300", "", "ip", "not an IPv4 address"},
		{"no mask", "192.0.2.1", "", "netmask", "required"},
		{"two masks", "192.0.2.1/24", "24", "netmask", "must not be given"},
		{"empty mask in ip", "192.0.2.1/", "", "ip", "prefix length"},
		{"too long a prefix", "192.0.2.1/33", "", "ip", "0 to 32"},
		{"prefix of many digits", "192.0.2.1", "99999999999999", "netmask", "0 to 32"},
		{"negative prefix", "192.0.2.1/-1", "", "ip", "0 to 32"},
		{"prefix with a sign", "192.0.2.1/+8", "", "ip", "0 to 32"},
		{"prefix with leading zero", "192.0.2.1/08", "", "ip", "0 to 32"},
		{"two slashes", "192.0.2.1/24/24", "", "ip", "0 to 32"},
		{"address with leading zero", "192.0.2.01/24", "", "ip", "not an IPv4 address"},
		{"too large an octet", "192.0.2.256/24", "", "ip", "not an IPv4 address"},
		{"space", " 192.0.2.1/24", "", "ip", "not an IPv4 address"},
		{"IPv6", "2001:db8::/32", "", "ip", "IPv6"},
		{"mapped IPv4", "::ffff:192.0.2.1/24", "", "ip", "IPv6"},
		{"holes in the mask", "192.0.2.1", "255.0.255.0", "netmask", "not contiguous"},
		{"holes in the wildcard", "192.0.2.1", "0.255.0.255", "netmask", "not contiguous"},
		{"mask of three octets", "192.0.2.1", "255.255.0", "netmask", "neither"},
		{"mask with leading zero", "192.0.2.1", "255.255.255.00", "netmask", "neither"},
		{"long mask", "192.0.2.1", "255.255.255.2555", "netmask", "too long"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := netmask.Compute(netmask.Request{IP: c.ip, Netmask: c.mask})
			input, ok := errors.AsType[*input.Error](err)
			if r != nil || !ok || input.Field != c.field || !strings.Contains(input.Reason, c.reason) {
				t.Errorf("got %v, %v; want %s: %s", r, err, c.field, c.reason)
			}
		})
	}
}

func TestMaskJSON(t *testing.T) {
	cases := []struct{ name, json, want string }{
		{"number", `24`, "24"},
		{"zero", `0`, "0"},
		{"text", `"255.255.255.0"`, "255.255.255.0"},
		{"fraction", `24.5`, ""},
		{"exponent", `1e1`, ""},
		{"negative", `-1`, ""},
		{"list", `[24]`, ""},
		{"object", `{}`, ""},
		{"boolean", `true`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var req netmask.Request
			err := json.Unmarshal([]byte(`{"netmask":`+c.json+`}`), &req)
			if string(req.Netmask) != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v; want %q", req.Netmask, err, c.want)
			}
		})
	}
}

func TestScope(t *testing.T) {
	cases := []struct {
		ip    string
		class netmask.Class
		scope netmask.Scope
	}{
		{"0.0.0.0", netmask.ClassA, netmask.Reserved},
		{"1.1.1.1", netmask.ClassA, netmask.Public},
		{"10.255.255.255", netmask.ClassA, netmask.Private},
		{"11.0.0.0", netmask.ClassA, netmask.Public},
		{"100.63.255.255", netmask.ClassA, netmask.Public},
		{"100.64.0.0", netmask.ClassA, netmask.CGNAT},
		{"127.0.0.1", netmask.ClassA, netmask.Loopback},
		{"128.0.0.0", netmask.ClassB, netmask.Public},
		{"169.254.1.1", netmask.ClassB, netmask.LinkLocal},
		{"172.31.255.255", netmask.ClassB, netmask.Private},
		{"172.32.0.0", netmask.ClassB, netmask.Public},
		{"191.255.255.255", netmask.ClassB, netmask.Public},
		{"192.0.0.8", netmask.ClassC, netmask.Reserved},
		{"192.0.0.9", netmask.ClassC, netmask.Public},
		{"192.0.0.10", netmask.ClassC, netmask.Public},
		{"192.0.2.1", netmask.ClassC, netmask.Documentation},
		{"192.88.99.1", netmask.ClassC, netmask.Reserved},
		{"192.168.0.1", netmask.ClassC, netmask.Private},
		{"198.19.255.255", netmask.ClassC, netmask.Reserved},
		{"198.51.100.1", netmask.ClassC, netmask.Documentation},
		{"203.0.113.1", netmask.ClassC, netmask.Documentation},
		{"223.255.255.255", netmask.ClassC, netmask.Public},
		{"224.0.0.1", netmask.ClassD, netmask.Multicast},
		{"233.252.0.1", netmask.ClassD, netmask.Documentation},
		{"240.0.0.1", netmask.ClassE, netmask.Reserved},
		{"255.255.255.255", netmask.ClassE, netmask.Reserved},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		r, err := netmask.Compute(netmask.Request{IP: c.ip, Netmask: "24"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Class != c.class || r.Scope != c.scope {
			t.Errorf("%s: class %s, %s; want %s, %s", c.ip, r.Class, r.Scope, c.class, c.scope)
		}
		seen[string(c.class)], seen[string(c.scope)] = true, true
	}
	for _, v := range slices.Concat(netmask.Class("").Values(), netmask.Scope("").Values()) {
		if !seen[v] {
			t.Errorf("no case is %s", v)
		}
	}
}

func TestReverseZones(t *testing.T) {
	cases := []struct {
		ip    string
		count int
		first string
		last  string
	}{
		{"192.0.2.1/0", 1, "in-addr.arpa", "in-addr.arpa"},
		{"192.0.2.1/1", 128, "128.in-addr.arpa", "255.in-addr.arpa"},
		{"192.0.2.1/8", 1, "192.in-addr.arpa", "192.in-addr.arpa"},
		{"192.0.2.1/9", 128, "0.192.in-addr.arpa", "127.192.in-addr.arpa"},
		{"172.16.0.1/12", 16, "16.172.in-addr.arpa", "31.172.in-addr.arpa"},
		{"192.0.2.1/16", 1, "0.192.in-addr.arpa", "0.192.in-addr.arpa"},
		{"198.51.100.1/22", 4, "100.51.198.in-addr.arpa", "103.51.198.in-addr.arpa"},
		{"192.0.2.1/24", 1, "2.0.192.in-addr.arpa", "2.0.192.in-addr.arpa"},
		{"192.0.2.1/25", 1, "2.0.192.in-addr.arpa", "2.0.192.in-addr.arpa"},
		{"192.0.2.1/32", 1, "2.0.192.in-addr.arpa", "2.0.192.in-addr.arpa"},
	}
	for _, c := range cases {
		r, err := netmask.Compute(netmask.Request{IP: c.ip})
		if err != nil {
			t.Fatal(err)
		}
		z := r.ReverseZones
		if len(z) != c.count || z[0] != c.first || z[len(z)-1] != c.last {
			t.Errorf("%s: %d zones from %s to %s; want %d from %s to %s",
				c.ip, len(z), z[0], z[len(z)-1], c.count, c.first, c.last)
		}
	}
}

// vector is a case of the conformance data. Null is an address that there is not.
type vector struct {
	Input                               string
	Address, Netmask, Wildcard, Network netip.Addr
	Broadcast                           *netip.Addr
	HostMin                             netip.Addr `json:"host_min"`
	HostMax                             netip.Addr `json:"host_max"`
	Prefix                              int
	Addresses                           uint64
	UsableHosts                         uint64 `json:"usable_hosts"`
	NetmaskHex                          string `json:"netmask_hex"`
}

func (v vector) report(r *netmask.Report) vector {
	return vector{
		v.Input, r.IP, r.Netmask, r.Wildcard, r.Network, r.Broadcast, r.FirstHost, r.LastHost,
		r.PrefixLength, r.AddressCount, r.UsableHostCount, r.Hex.Netmask,
	}
}

func TestConformanceNetmask(t *testing.T) {
	type vectors struct {
		Cases   []vector
		Invalid []string
	}
	var data vectors
	for _, file := range diagtest.Documents[vectors](t, diagtest.Vectors(t, "dns/netmask/ipv4.json")) {
		data.Cases, data.Invalid = append(data.Cases, file.Cases...), append(data.Invalid, file.Invalid...)
	}
	if len(data.Cases) == 0 || len(data.Invalid) == 0 {
		t.Error("no cases")
	}
	passed := 0
	for _, want := range data.Cases {
		r, err := netmask.Compute(request(want.Input))
		if err != nil {
			t.Errorf("%s: %v", want.Input, err)
			continue
		}
		g, _ := json.Marshal(want.report(r))
		w, _ := json.Marshal(want)
		if string(g) != string(w) {
			t.Errorf("got %s\nwant %s", g, w)
			continue
		}
		passed++
	}
	for _, input := range data.Invalid {
		if r, err := netmask.Compute(request(input)); err == nil {
			t.Errorf("%q was taken for %s", input, r.CIDR)
			continue
		}
		passed++
	}
	t.Logf("netmask: %d/%d", passed, len(data.Cases)+len(data.Invalid))
}

func request(input string) netmask.Request {
	ip, mask, _ := strings.Cut(input, " ")
	return netmask.Request{IP: ip, Netmask: netmask.Mask(mask)}
}

func FuzzCompute(f *testing.F) {
	f.Add("192.0.2.1/24", "")
	f.Add("192.0.2.1", "0.0.0.255")
	f.Add("192.0.2.01/08", "255.0.255.0")
	f.Fuzz(func(t *testing.T, ip, mask string) {
		r, err := netmask.Compute(netmask.Request{IP: ip, Netmask: netmask.Mask(mask)})
		if (r == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", r, err)
		}
		if err != nil {
			return
		}
		network := netip.MustParsePrefix(r.CIDR)
		if network != network.Masked() || !network.Contains(r.IP) || !network.Contains(r.FirstHost) ||
			!network.Contains(r.LastHost) || r.FirstHost.Compare(r.LastHost) > 0 || len(r.ReverseZones) > 128 {
			t.Fatalf("%+v", r)
		}
		masks := []netip.Addr{r.Netmask}
		if 0 < r.PrefixLength && r.PrefixLength < 32 { // the wildcards of these two are masks themselves
			masks = append(masks, r.Wildcard)
		}
		for _, m := range masks {
			again, err := netmask.Compute(netmask.Request{IP: r.IP.String(), Netmask: netmask.Mask(m.String())})
			if err != nil || again.CIDR != r.CIDR {
				t.Fatalf("%s with %s: %v, %v", r.IP, m, again, err)
			}
		}
	})
}
