package nameserver

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const someClient = "0102030405060708"

// withCookie queries a server by datagram, without a question if the name is empty.
func withCookie(t *testing.T, s *Server, name, cookie string) *dns.Msg {
	q := new(dns.Msg).SetQuestion(name, dns.TypeTXT)
	q.SetEdns0(1232, false)
	if name == "" {
		q.Question = nil
	}
	if cookie != "" {
		q.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: cookie}}
	}
	r := &recorder{addr: &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 53}}
	s.ServeDNS(r, onWire(t, q))
	if r.reply == nil {
		return nil
	}
	m := new(dns.Msg)
	require.NoError(t, m.Unpack(r.reply))
	return m
}

func cookieIn(m *dns.Msg) string {
	for _, o := range m.IsEdns0().Option {
		if cookie, ok := o.(*dns.EDNS0_COOKIE); ok {
			return cookie.Cookie
		}
	}
	return ""
}

// A client that returns a cookie of the server owns its address, and gets answers without a rate limit.
func TestCookies(t *testing.T) {
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	s := serve(t, newStore(t, newProfile(0, "v=spf1 -all")), func(c *Config) { c.Rate, c.Clock = 1, func() time.Time { return now } })
	const name = "h0.spf.example.net."

	require.Empty(t, cookieIn(withCookie(t, s, name, "")), "none is sent to those who send none")
	cookie := cookieIn(withCookie(t, s, "h1.spf.example.net.", someClient))
	require.Len(t, cookie, 2*(clientCookie+serverCookie))
	require.True(t, strings.HasPrefix(cookie, someClient))
	for range 50 {
		m := withCookie(t, s, name, cookie)
		require.NotNil(t, m)
		require.Len(t, m.Answer, 1)
		require.Equal(t, cookie, cookieIn(m))
	}
	outcomes := map[string]int{}
	for range 10 {
		if m := withCookie(t, s, name, someClient); m == nil {
			outcomes["dropped"]++
		} else {
			outcomes[dns.RcodeToString[m.Rcode]]++
			require.NotEmpty(t, cookieIn(m))
		}
	}
	assert.Equal(t, map[string]int{"dropped": 5, "BADCOOKIE": 5}, outcomes, "the name without a cookie")

	now = now.Add(40 * time.Minute)
	require.NotEqual(t, cookie, cookieIn(withCookie(t, s, name, cookie)), "an old one is replaced")
	for _, bad := range []string{someClient + "00", someClient + "00112233445566", someClient + strings.Repeat("00", 33), "0102"} {
		m := withCookie(t, s, name, bad)
		require.Equal(t, dns.RcodeFormatError, m.Rcode, bad)
		now = now.Add(2 * time.Second)
	}
}

// A message without a question requests a cookie, or verifies the client's (RFC 7873 section 5.4).
func TestCookieWithoutQuestion(t *testing.T) {
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	s := serve(t, newStore(t, newProfile(0, "v=spf1 -all")), func(c *Config) { c.Rate, c.Clock = 1, func() time.Time { return now } })
	m := withCookie(t, s, "", someClient)
	require.Equal(t, dns.RcodeSuccess, m.Rcode)
	cookie := cookieIn(m)
	require.Len(t, cookie, 2*(clientCookie+serverCookie))
	for _, test := range []struct {
		name, cookie string
		rcode        int
	}{
		{"right", cookie, dns.RcodeSuccess},
		{"of another server", someClient + strings.Repeat("00", serverCookie), dns.RcodeBadCookie},
		{"too short", someClient + "00", dns.RcodeFormatError},
		{"none", "", dns.RcodeFormatError},
		{"asked for again and again", someClient, dns.RcodeSuccess},
	} {
		for range 2 {
			now = now.Add(time.Second)
			m := withCookie(t, s, "", test.cookie)
			require.NotNil(t, m, test.name)
			require.Equal(t, dns.RcodeToString[test.rcode], dns.RcodeToString[m.Rcode], test.name)
			require.Empty(t, m.Question, test.name)
			require.Empty(t, m.Answer, test.name)
			require.False(t, m.Truncated, test.name)
			require.Equal(t, test.cookie != "", cookieIn(m) != "", test.name)
		}
	}
}

func TestCookieOfOthers(t *testing.T) {
	j, now := newJar(), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	here := netip.MustParseAddr("192.0.2.1")
	q := new(dns.Msg).SetQuestion("a.example.", dns.TypeTXT)
	q.SetEdns0(1232, false)
	option := &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: someClient}
	q.IsEdns0().Option = []dns.EDNS0{option}
	reply, known := j.check(q, here, now)
	require.False(t, known)
	option.Cookie = reply.Cookie
	for _, c := range []struct {
		name  string
		jar   *jar
		from  string
		at    time.Time
		known bool
	}{
		{"its own", j, "192.0.2.1", now, true},
		{"mapped", j, "::ffff:192.0.2.1", now, true},
		{"after an hour", j, "192.0.2.1", now.Add(cookieLife), true},
		{"later", j, "192.0.2.1", now.Add(cookieLife + time.Second), false},
		{"from the future", j, "192.0.2.1", now.Add(-cookieAhead - time.Second), false},
		{"of another address", j, "192.0.2.2", now, false},
		{"of another server", newJar(), "192.0.2.1", now, false},
	} {
		_, known := c.jar.check(q, netip.MustParseAddr(c.from), c.at)
		assert.Equal(t, c.known, known, c.name)
	}
	option.Cookie = "0102030405060709" + reply.Cookie[16:]
	_, known = j.check(q, here, now)
	assert.False(t, known, "of another client")
}

// Answers are counted by name; those about names that are made up, together.
func TestCounted(t *testing.T) {
	s := testSnapshot()
	count := func(name string) string {
		counted, _ := s.counted(new(dns.Msg).SetQuestion(name, dns.TypeTXT))
		return counted
	}
	assert.Equal(t, s.apex, count("nowhere1."+s.apex))
	assert.Equal(t, s.apex, count("elsewhere.example."))
	for name := range s.nodes {
		assert.Equal(t, name, count(strings.ToUpper(name)))
	}
}
