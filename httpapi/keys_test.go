package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	day       = 24 * time.Hour
	justBelow = time.Microsecond // as finely as stores keep time
)

// An act is a change of a key at an instant.
type act struct {
	at    time.Duration // from the beginning
	what  string        // "rotate", "revoke" or "try"
	key   int           // 0 is the first key, 1 its successor, …
	grace time.Duration // of rotate
	want  ErrorCode     // of try; empty if it is admitted
}

// What a key is worth changes at the very instant that its times name: at the end of its grace it is revoked, at
// its expiry expired, and revoked beats expired.
func TestKeysOverTime(t *testing.T) {
	try := func(at time.Duration, key int, want ErrorCode) act {
		return act{at: at, what: "try", key: key, want: want}
	}
	for _, tt := range []struct {
		name    string
		expires time.Duration // of the first key, and so of all; 0: never
		acts    []act
	}{
		{"grace", 0, []act{
			{what: "rotate", grace: day},
			try(0, 0, ""), try(0, 1, ""), try(day-justBelow, 0, ""),
			try(day, 0, RevokedAPIKey), try(day, 1, ""), try(40*day, 0, RevokedAPIKey), try(40*day, 1, ""),
		}},
		{"no grace", 0, []act{{what: "rotate"}, try(0, 0, RevokedAPIKey), try(0, 1, "")}},
		{"longest grace", 0, []act{
			{what: "rotate", grace: metering.MaxGrace},
			try(30*day-justBelow, 0, ""), try(30*day, 0, RevokedAPIKey), try(30*day, 1, ""),
		}},
		{"chain", 0, []act{
			{what: "rotate", grace: 3 * day},
			{at: day, what: "rotate", key: 1, grace: day},
			{at: day, what: "rotate", key: 2, grace: 0},
			try(day, 0, ""), try(day, 1, ""), try(day, 2, RevokedAPIKey), try(day, 3, ""),
			try(2*day-justBelow, 1, ""), try(2*day, 1, RevokedAPIKey), try(2*day, 0, ""),
			try(3*day-justBelow, 0, ""), try(3*day, 0, RevokedAPIKey), try(3*day, 3, ""),
		}},
		{"expiry", day, []act{try(day-justBelow, 0, ""), try(day, 0, ExpiredAPIKey), try(2*day, 0, ExpiredAPIKey)}},
		{"expiry during grace", day, []act{
			{what: "rotate", grace: 2 * day},
			try(day-justBelow, 0, ""), try(day-justBelow, 1, ""),
			try(day, 0, ExpiredAPIKey), try(day, 1, ExpiredAPIKey), // the successor has the same expiry
			try(2*day, 0, RevokedAPIKey), try(2*day, 1, ExpiredAPIKey),
		}},
		{"expiry after grace", 2 * day, []act{
			{what: "rotate", grace: day},
			try(day, 0, RevokedAPIKey), try(day, 1, ""), try(2*day, 0, RevokedAPIKey), try(2*day, 1, ExpiredAPIKey),
		}},
		{"revoked during grace", 0, []act{
			{what: "rotate", grace: 2 * day},
			try(day, 0, ""), {at: day, what: "revoke"}, try(day, 0, RevokedAPIKey), try(day, 1, ""),
		}},
		{"successor revoked during grace", 0, []act{
			{what: "rotate", grace: 2 * day},
			{at: day, what: "revoke", key: 1}, try(day, 1, RevokedAPIKey), try(day, 0, ""), try(2*day, 0, RevokedAPIKey),
		}},
		{"revoked, then expired", day, []act{{what: "revoke"}, try(0, 0, RevokedAPIKey), try(day, 0, RevokedAPIKey)}},
	} {
		for name, open := range map[string]opener{"memory": inMemory, "SQLite": inNewFile} {
			t.Run(tt.name+" in "+name, func(t *testing.T) {
				playActs(t, newAPIOn(t, open, "self", nil, row("/x", 1, echo)), tt.expires, tt.acts)
			})
		}
	}
}

func playActs(t *testing.T, a *api, expires time.Duration, acts []act) {
	began := a.clock.Now()
	request := metering.KeyRequest{Account: a.account.ID, Name: "a", Scopes: []metering.Scope{metering.DNSRead}}
	if expires > 0 {
		request.ExpiresAt = new(began.Add(expires))
	}
	key, secret, err := a.admin.CreateKey(t.Context(), request)
	require.NoError(t, err)
	keys, secrets := []metering.Key{key}, []string{secret.Reveal()}
	for _, act := range acts {
		a.clock.Advance(began.Add(act.at).Sub(a.clock.Now()))
		switch act.what {
		case "rotate":
			_, key, secret, err := a.admin.RotateKey(t.Context(), keys[act.key].ID, act.grace)
			require.NoError(t, err)
			keys, secrets = append(keys, key), append(secrets, secret.Reveal())
		case "revoke":
			_, err := a.admin.RevokeKey(t.Context(), keys[act.key].ID, metering.RevokedLeak)
			require.NoError(t, err)
		default:
			r := a.post("/x", `{}`, "Authorization", "Bearer "+secrets[act.key])
			if act.want == "" {
				require.Equal(t, 200, r.Code, "key %d at %s: %s", act.key, act.at, r.Body)
			} else {
				require.Equal(t, act.want, r.problem().Code, "key %d at %s", act.key, act.at)
			}
		}
	}
	a.used()
}

// The allowlist of a key applies to the address that the request comes from, behind any number of trusted proxies; no
// header of the client can replace it.
func TestAllowlist(t *testing.T) {
	const direct, proxy = "", "10.0.0.1:1"
	xff := func(lines ...string) http.Header { return http.Header{"X-Forwarded-For": lines} }
	fwd := func(lines ...string) http.Header { return http.Header{"Forwarded": lines} }
	both := func(xff, fwd string) http.Header { return http.Header{"X-Forwarded-For": {xff}, "Forwarded": {fwd}} }
	spoofed, garbage := slices.Repeat([]string{"192.0.2.7"}, 500), slices.Repeat([]string{"x"}, 500)
	lists := map[string][]netip.Prefix{}
	for name, texts := range map[string]string{
		"network": "192.0.2.0/24", "one": "192.0.2.7/32", "six": "2001:db8:1::/48", "one six": "2001:db8::7/128",
		"mapped": "::ffff:192.0.2.0/120", "all of six": "::/0", "two": "198.51.100.0/25 2001:db8:2::/64", "proxies": "10.0.0.0/8",
	} {
		for text := range strings.FieldsSeq(texts) {
			lists[name] = append(lists[name], netip.MustParsePrefix(text))
		}
	}
	for _, tt := range []struct {
		name, list, peer string
		header           http.Header
		want             bool
	}{
		{"first of the network", "network", "192.0.2.0:1", nil, true},
		{"last of the network", "network", "192.0.2.255:1", nil, true},
		{"beside the network", "network", "192.0.3.0:1", nil, false},
		{"one", "one", "192.0.2.7:1", nil, true},
		{"beside one", "one", "192.0.2.6:1", nil, false},
		{"mapped client", "network", "[::ffff:192.0.2.9]:1", nil, true},
		{"mapped list", "mapped", "192.0.2.9:1", nil, true},
		{"mapped list, mapped client", "mapped", "[::ffff:192.0.2.9]:1", nil, true},
		{"beside the mapped list", "mapped", "192.0.3.9:1", nil, false},
		{"IPv6", "six", "[2001:db8:1:ffff::1]:1", nil, true},
		{"beside IPv6", "six", "[2001:db8:2::1]:1", nil, false},
		{"IPv4 is not in all of IPv6", "all of six", "192.0.2.7:1", nil, false},
		{"mapped IPv4 is not in all of IPv6", "all of six", "[::ffff:192.0.2.7]:1", nil, false},
		{"zone", "one six", "[2001:db8::7%eth0]:1", nil, true},
		{"second of two", "two", "[2001:db8:2::1]:1", nil, true},
		{"first of two", "two", "198.51.100.127:1", nil, true},
		{"neither of two", "two", "198.51.100.128:1", nil, false},
		{"no address", "all of six", "@", nil, false},

		{"spoofed without a proxy", "network", "203.0.113.1:1", xff("192.0.2.7"), false},
		{"spoofed Forwarded without a proxy", "network", "203.0.113.1:1", fwd("for=192.0.2.7"), false},
		{"behind a proxy", "network", proxy, xff("192.0.2.7"), true},
		{"behind three proxies", "network", proxy, xff("192.0.2.7, 10.0.0.3, fd00::2"), true},
		{"behind three proxies, a line each", "network", proxy, xff("192.0.2.7", "10.0.0.3", "fd00::2"), true},
		{"spoofed left-most hop", "network", proxy, xff("192.0.2.7, 203.0.113.1, 10.0.0.3"), false},
		{"spoofed first line", "network", proxy, xff("192.0.2.7", "203.0.113.1"), false},
		{"a proxy that nobody trusts in between", "network", proxy, xff("192.0.2.7, 198.51.100.1, 10.0.0.3"), false},
		{"garbage left of the client", "network", proxy, xff("<script>, 192.0.2.7"), true},
		{"garbage right of the client", "network", proxy, xff("192.0.2.7, <script>"), false},
		{"garbage between proxies", "network", proxy, xff("192.0.2.7, 10.0.0.3, _x, 10.0.0.4"), false},
		{"many spoofed lines", "network", proxy, xff(append(spoofed, "203.0.113.1")...), false},
		{"many garbage lines", "network", proxy, xff(append(garbage, "192.0.2.7")...), true},
		{"as many proxies as are looked at", "network", proxy,
			xff("192.0.2.7", strings.Repeat("10.0.0.2, ", maxHops-1)), true},
		{"more proxies than are looked at", "network", proxy, xff("192.0.2.7", strings.Repeat("10.0.0.2, ", maxHops)), false},
		{"proxies are not the client", "proxies", proxy, xff("203.0.113.1"), false},
		{"a proxy itself", "proxies", proxy, nil, true},
		{"Forwarded", "network", proxy, fwd(`for=192.0.2.7;proto=https`), true},
		{"Forwarded behind two", "six", proxy, fwd(`for="[2001:db8:1::5]:443", for=10.0.0.3`), true},
		{"Forwarded spoofed", "network", proxy, fwd("for=192.0.2.7, for=203.0.113.1"), false},
		{"Forwarded garbage", "network", proxy, fwd(`for=192.0.2.7, for="`), false},
		{"both say the same", "network", proxy, both("192.0.2.7", "for=192.0.2.7"), true},
		{"a spoofed Forwarded beside", "network", proxy, both("203.0.113.1", "for=192.0.2.7"), false},
		{"direct with a list", "one", direct, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, "self", func(c *Config) {
				c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
			}, row("/x", 1, echo))
			_, secret, err := a.admin.CreateKey(t.Context(), metering.KeyRequest{
				Account: a.account.ID, Name: "a", Scopes: []metering.Scope{metering.DNSRead}, IPAllowlist: lists[tt.list],
			})
			require.NoError(t, err)
			header := tt.header.Clone()
			if header == nil {
				header = http.Header{}
			}
			header.Set("Authorization", "Bearer "+secret.Reveal())
			header.Set("Content-Type", jsonMedia)
			r := a.do(attempt{"POST", Prefix + "/x", "{}", header, tt.peer})
			if tt.want {
				assert.Equal(t, 200, r.Code, "%s", r.Body)
				return
			}
			assert.Equal(t, IPNotAllowed, r.problem().Code)
			assert.Zero(t, a.used())
		})
	}
}
