//go:build dnstools

// What BIND's dig and delv and NLnet's unbound-host and ldns make of the server. Run it with
//
//	go test -tags dnstools -run Tools ./mailauth/hostedspf/nameserver
//
// where the Debian packages bind9-dnsutils, bind9-utils, ldnsutils and unbound-host are installed.

package nameserver

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

func TestAgainstTools(t *testing.T) {
	s := serve(t, newStore(t, newProfile(1, "v=spf1 include:_1.h1.spf.example.net -all", long)), nil)
	at := netip.MustParseAddrPort(s.Addr())
	t.Run("dig", func(t *testing.T) { againstDig(t, at) })
	t.Run("unbound-host", func(t *testing.T) { againstUnbound(t, at) })
}

func againstDig(t *testing.T, at netip.AddrPort) {
	const flagsAA = "flags: qr aa;"
	for _, test := range []struct {
		args string
		want []string // all of which are in the output, with runs of spaces as one
		not  string   // which does not
	}{
		{"h1.spf.example.net TXT",
			[]string{flagsAA, "status: NOERROR", `"v=spf1 include:_1.h1.spf.example.net -all"`}, "SOA"},
		{"H1.sPf.example.net TXT", []string{flagsAA, `H1.sPf.example.net. 300 IN TXT "v=spf1`}, "SOA"},
		{"_1.h1.spf.example.net TXT", []string{flagsAA, "EDNS: version: 0", "udp: 1232"}, "Truncated"},
		{"_1.h1.spf.example.net TXT +noedns", []string{"Truncated, retrying in TCP mode", "(TCP)", flagsAA}, "OPT PSEUDO"},
		{"_1.h1.spf.example.net TXT +bufsize=512 +ignore", []string{"flags: qr aa tc;", "ANSWER: 0", "OPT PSEUDO"}, "(TCP)"},
		{"h1.spf.example.net TXT +dnssec", []string{"flags: do;", flagsAA}, " ad;"},
		{"h1.spf.example.net TXT +rec", []string{"flags: qr aa rd;", "recursion requested but not available"}, " ra;"},
		{"h1.spf.example.net A",
			[]string{flagsAA, "status: NOERROR", "ANSWER: 0", "300 IN SOA ns1.spf.example.net."}, "TXT\""},
		{"none.spf.example.net TXT", []string{flagsAA, "status: NXDOMAIN", "300 IN SOA"}, "TXT\""},
		{"spf.example.net SOA", []string{flagsAA, "3600 IN SOA ns1.spf.example.net. hostmaster.example.net."}, ""},
		{"spf.example.net NS", []string{flagsAA, "IN NS ns1.spf", "IN A 192.0.2.53", "IN AAAA 2001:db8::53"}, ""},
		{"spf.example.net DNSKEY", []string{flagsAA, "ANSWER: 0", "IN SOA"}, ""},
		{"h1.spf.example.net ANY +notcp", []string{flagsAA, `IN HINFO "RFC8482" ""`}, "v=spf1"},
		{"example.com TXT", []string{"status: REFUSED", "flags: qr;"}, "SOA"},
		{"spf.example.net AXFR", []string{"Transfer failed."}, "v=spf1"},
		{"spf.example.net IXFR=1", []string{"Transfer failed."}, "v=spf1"},
		{"CH TXT version.bind", []string{"status: REFUSED"}, "SOA"},
		{"h1.spf.example.net TXT +edns=1 +noednsnegotiation", []string{"status: BADVERS", "EDNS: version: 0"}, "v=spf1"},
		{"h1.spf.example.net TXT +ednsflags=0x4321 +ednsopt=65001:abcd +nsid +subnet=192.0.2.0/24 +cookie +padding=64",
			[]string{flagsAA, "status: NOERROR", `"v=spf1`}, "CLIENT-SUBNET"},
		{"h1.spf.example.net TXT +tcp +keepalive", []string{"(TCP)", "KEEPALIVE: 10.0 secs", `"v=spf1`}, ""},
		{"h1.spf.example.net TXT +opcode=NOTIFY", []string{"opcode: NOTIFY", "status: NOTIMP"}, "SOA"},
		{"h1.spf.example.net TXT +opcode=UPDATE", []string{"opcode: UPDATE", "status: NOTIMP"}, "SOA"},
		{"h1.spf.example.net TXT +header-only +nocookie", []string{"status: FORMERR", "QUERY: 0"}, "SOA"},
		{"h1.spf.example.net TXT +header-only +cookie=0102030405060708",
			[]string{"status: NOERROR", "QUERY: 0", "COOKIE: 0102030405060708"}, "SOA"},
	} {
		args := append([]string{"@" + at.Addr().String(), "-p", strconv.Itoa(int(at.Port())), "+norec", "+tries=1"},
			strings.Fields(test.args)...)
		out, err := exec.CommandContext(t.Context(), "dig", args...).CombinedOutput()
		require.NoError(t, err, "dig %s: %s", test.args, out)
		text := strings.Join(strings.Fields(string(out)), " ")
		for _, want := range test.want {
			assert.Contains(t, text, want, "dig %s", test.args)
		}
		if test.not != "" {
			_, answer, _ := strings.Cut(text, "Got answer")
			assert.NotContains(t, answer, test.not, "dig %s", test.args)
		}
		for _, odd := range []string{"WARNING: Message", "malformed", "mismatch", "Warning: query response", "extra input"} {
			assert.NotContains(t, text, odd, "dig %s", test.args)
		}
	}
}

// againstUnbound resolves through a resolver that sends fewest labels (RFC 9156) and random letter case.
func againstUnbound(t *testing.T, at netip.AddrPort) {
	conf := filepath.Join(t.TempDir(), "unbound.conf")
	require.NoError(t, os.WriteFile(conf, []byte(`
server:
	do-not-query-localhost: no
	use-caps-for-id: yes
	qname-minimisation: yes
	qname-minimisation-strict: yes
	harden-below-nxdomain: yes
	domain-insecure: "."
stub-zone:
	name: "spf.example.net"
	stub-addr: 127.0.0.1@`+strconv.Itoa(int(at.Port()))+"\n"), 0o600))
	for _, test := range []struct{ name, qtype, want string }{
		{"h1.spf.example.net", "TXT", `h1.spf.example.net has TXT record "v=spf1 include:_1.h1.spf.example.net -all"`},
		{"_1.h1.spf.example.net", "TXT", `_1.h1.spf.example.net has TXT record "v=spf1 ip4:192.0.2.1 `},
		{"h1.spf.example.net", "A", "h1.spf.example.net has no address"},
		{"none.spf.example.net", "TXT", "Host none.spf.example.net not found: 3(NXDOMAIN)."},
		{"spf.example.net", "NS", "spf.example.net has NS record ns1.spf.example.net."},
	} {
		cmd := exec.CommandContext(t.Context(), "unbound-host", "-v", "-C", conf, "-t", test.qtype, test.name)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), test.want)
	}
}

// A zone that is signed is validated by BIND's delv and by Unbound, from a key of dnssec-keygen on; and the
// transferred zone passes dnssec-verify and ldns-verify-zone.
func TestSignedAgainstTools(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %s: %s", name, args, out)
		return string(out)
	}
	base := strings.TrimSpace(run("dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", "-f", "KSK", "spf.example.net"))
	key, err := ReadSigningKey(filepath.Join(dir, base))
	require.NoError(t, err)
	ds := strings.Fields(run("dnssec-dsfromkey", "-2", base))
	require.Equal(t, ds[3:], strings.Fields(key.DS())[4:])

	p := newProfile(1, "v=spf1 include:_1.h1.spf.example.net -all", long)
	store := newStore(t, p, newProfile(2, "v=spf1 -all"))
	secondaries := serve(t, store, func(c *Config) { c.Signing, c.Key = []SigningKey{key}, testKey() })
	p.Parts = []hostedspf.Part{{Name: "_s.h1.spf.example.net", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}
	s := serve(t, newStore(t, p), func(c *Config) { c.Signing = []SigningKey{key} })
	at := netip.MustParseAddrPort(s.Addr())
	port := strconv.Itoa(int(at.Port()))

	anchors := fmt.Sprintf("trust-anchors { \"spf.example.net.\" static-key 257 3 13 %q; };\n", key.public.PublicKey)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "anchors"), []byte(anchors), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "unbound.conf"), []byte(`
server:
	do-not-query-localhost: no
	harden-below-nxdomain: yes
	qname-minimisation-strict: yes
	trust-anchor: "`+key.DS()+`"
stub-zone:
	name: "spf.example.net"
	stub-addr: 127.0.0.1@`+port+"\n"), 0o600))
	for _, test := range []struct{ name, qtype, delv string }{
		{"spf.example.net", "SOA", "; fully validated"},
		{"spf.example.net", "DNSKEY", "; fully validated"},
		{"h1.spf.example.net", "TXT", "; fully validated"},
		{"_1.h1.spf.example.net", "TXT", "; fully validated"},
		{"192.0.2.9._s.h1.spf.example.net", "A", "; fully validated"},
		{"198.51.100.9._s.h1.spf.example.net", "A", "; negative response, fully validated"},
		{"h1.spf.example.net", "A", "; negative response, fully validated"},
		{"none.spf.example.net", "TXT", "; negative response, fully validated"},
	} {
		out := run("delv", "@127.0.0.1", "-p", port, "-a", "anchors", "+root=spf.example.net", test.name, test.qtype)
		assert.Contains(t, out, test.delv, test.name)
		out = run("unbound-host", "-v", "-C", "unbound.conf", "-t", test.qtype, test.name)
		assert.Contains(t, out, "(secure)", test.name)
	}

	dig := run("dig", "@127.0.0.1", "-p", strconv.Itoa(int(netip.MustParseAddrPort(secondaries.Addr()).Port())), "+nocmd", "+nocomments",
		"+noquestion", "+nostats", "-y", "hmac-sha256:key.example:"+testSecret, "spf.example.net", "AXFR")
	var zone []string
	for line := range strings.Lines(dig) {
		if !strings.Contains(line, "\tTSIG\t") && !(strings.Contains(line, "\tSOA\t") && len(zone) > 0) {
			zone = append(zone, line)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zone"), []byte(strings.Join(zone, "")), 0o600))
	assert.Contains(t, run("dnssec-verify", "-z", "-o", "spf.example.net", "zone"), "Zone fully signed")
	assert.Contains(t, run("ldns-verify-zone", "-k", base+".key", "zone"), "Zone is verified and complete")
}
