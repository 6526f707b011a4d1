package nameserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// testSecret is the secret of testKey in base64.
const testSecret = "c2VjcmV0IG9mIDE2IGJ5dGVzIG9yIG1vcmU="

func testKey() *Key {
	key, err := ParseKey("key.example:" + testSecret)
	if err != nil {
		panic(err)
	}
	return &key
}

// fetch fetches the zone as a secondary does.
func fetch(s *Server, q *dns.Msg, secrets map[string]string) (records []string, messages int, err error) {
	tr := &dns.Transfer{TsigSecret: secrets}
	envelopes, err := tr.In(q, s.Addr())
	if err != nil {
		return nil, 0, err
	}
	for e := range envelopes {
		if e.Error != nil {
			err = e.Error
			continue
		}
		messages++
		records = append(records, brief(e.RR)...)
	}
	return records, messages, err
}

func axfr(key *Key) *dns.Msg {
	q := new(dns.Msg).SetAxfr("spf.example.net.")
	key.sign(q)
	return q
}

func TestTransfer(t *testing.T) {
	profiles := []hostedspf.Profile{}
	for n := range 400 {
		profiles = append(profiles, newProfile(n, fmt.Sprintf("v=spf1 %s -all", strings.Repeat("ip4:192.0.2.1 ", 10))))
	}
	store := newStore(t, profiles...)
	s := serve(t, store, func(c *Config) { c.Key = testKey() })
	records, messages, err := fetch(s, axfr(testKey()), testKey().secrets())
	require.NoError(t, err)
	require.Greater(t, messages, 2, "the zone takes several messages")
	require.Contains(t, records[0], "SOA")
	require.Equal(t, records[0], records[len(records)-1])
	list := slices.Clone(records[:len(records)-1])
	slices.Sort(list)
	require.Len(t, slices.Compact(list), 400+5, "SOA, NS and addresses")

	ixfr := func(serial uint32) *dns.Msg {
		q := new(dns.Msg).SetIxfr("spf.example.net.", serial, "ns1.spf.example.net.", "hostmaster.example.net.")
		testKey().sign(q)
		return q
	}
	all, _, err := fetch(s, ixfr(1), testKey().secrets())
	require.NoError(t, err)
	require.Len(t, all, len(records))
	tcp := &dns.Client{Net: "tcp", TsigSecret: testKey().secrets()}
	m, _, err := tcp.ExchangeContext(t.Context(), ixfr(s.current.Load().soa.Serial), s.Addr())
	require.NoError(t, err)
	require.Equal(t, records[:1], brief(m.Answer)[:1])
	require.Len(t, m.Answer, 1, "nothing has changed since")
	udp := &dns.Client{TsigSecret: testKey().secrets()}
	m, _, err = udp.ExchangeContext(t.Context(), ixfr(1), s.Addr())
	require.NoError(t, err)
	require.Len(t, m.Answer, 1, "RFC 1995 section 2")

	// Signed questions get signed answers.
	q := new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT)
	testKey().sign(q)
	m, _, err = udp.ExchangeContext(t.Context(), q, s.Addr())
	require.NoError(t, err)
	require.NotNil(t, m.IsTsig())
	require.Len(t, m.Answer, 1)
}

// Who is no secondary does not get the zone.
func TestTransferRefused(t *testing.T) {
	other := &Key{Name: testKey().Name, Algorithm: "hmac-sha256", Secret: []byte("another secret of some length")}
	stranger := &Key{Name: diag.MustName("stranger.example"), Algorithm: "hmac-sha256", Secret: testKey().Secret}
	strong := &Key{Name: testKey().Name, Algorithm: "hmac-sha512", Secret: testKey().Secret}
	late := axfr(nil)
	late.SetTsig("key.example.", dns.HmacSHA256, fudge, time.Now().Add(-time.Hour).Unix())
	for _, test := range []struct {
		name   string
		key    *Key // of the server
		from   string
		q      *dns.Msg
		signed *Key
		rcode  int
		tsig   int
	}{
		{"nobody is allowed to", nil, "", axfr(nil), nil, dns.RcodeRefused, 0},
		{"another address", nil, "192.0.2.1:53", axfr(nil), nil, dns.RcodeRefused, 0},
		{"the address of a secondary", nil, "127.0.0.1:53", axfr(nil), nil, dns.RcodeSuccess, 0},
		{"the address without the key", testKey(), "127.0.0.1:53", axfr(nil), nil, dns.RcodeRefused, 0},
		{"the key", testKey(), "", axfr(testKey()), testKey(), dns.RcodeSuccess, 0},
		{"a server without a key", nil, "127.0.0.1:53", axfr(testKey()), testKey(), dns.RcodeNotAuth, dns.RcodeBadKey},
		{"another secret", testKey(), "", axfr(other), other, dns.RcodeNotAuth, dns.RcodeBadSig},
		{"another key", testKey(), "", axfr(stranger), stranger, dns.RcodeNotAuth, dns.RcodeBadKey},
		{"another algorithm", testKey(), "", axfr(strong), strong, dns.RcodeNotAuth, dns.RcodeBadKey},
		{"an old message", testKey(), "", late, testKey(), dns.RcodeNotAuth, dns.RcodeBadTime},
		{"another zone", testKey(), "", new(dns.Msg).SetAxfr("a.spf.example.net."), nil, dns.RcodeRefused, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, newStore(t), func(c *Config) {
				c.Key = test.key
				if test.from != "" {
					c.Secondaries, c.notifyWait = []netip.AddrPort{netip.MustParseAddrPort(test.from)}, time.Millisecond
				}
			})
			conn, err := net.Dial("tcp", s.Addr())
			require.NoError(t, err)
			defer conn.Close()
			c := &dns.Conn{Conn: conn, TsigSecret: test.signed.secrets()}
			require.NoError(t, c.WriteMsg(test.q.Copy()))
			raw, err := c.ReadMsgHeader(nil)
			require.NoError(t, err)
			m := new(dns.Msg)
			require.NoError(t, m.Unpack(raw))
			assert.Equal(t, dns.RcodeToString[test.rcode], dns.RcodeToString[m.Rcode])
			if test.tsig != 0 {
				require.NotNil(t, m.IsTsig())
				assert.EqualValues(t, test.tsig, m.IsTsig().Error)
			}
			assert.Equal(t, test.rcode == dns.RcodeSuccess, len(m.Answer) > 0)
		})
	}
}

// Concurrent transfers are bounded, and transfers by datagram are refused.
func TestTransferLimits(t *testing.T) {
	s := serve(t, newStore(t), func(c *Config) { c.Key = testKey() })
	for range maxTransfers {
		s.transfers <- struct{}{}
	}
	_, _, err := fetch(s, axfr(testKey()), testKey().secrets())
	require.ErrorContains(t, err, "bad xfr rcode: 2")
	<-s.transfers
	_, _, err = fetch(s, axfr(testKey()), testKey().secrets())
	require.NoError(t, err)
	udp := &dns.Client{TsigSecret: testKey().secrets()}
	m, _, err := udp.ExchangeContext(t.Context(), axfr(testKey()), s.Addr())
	require.NoError(t, err)
	require.Equal(t, dns.RcodeRefused, m.Rcode, "RFC 5936 section 4.2")
}

// secondary starts a name server that receives notifications and does not answer the first one.
func secondary(t *testing.T) (addr netip.AddrPort, told <-chan *dns.Msg) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	messages := make(chan *dns.Msg, 16)
	var tries sync.Map
	server := &dns.Server{
		PacketConn: conn, TsigSecret: testKey().secrets(),
		MsgAcceptFunc: func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			if q.IsTsig() == nil || w.TsigStatus() != nil {
				return
			}
			if _, again := tries.LoadOrStore("first", true); !again {
				return
			}
			messages <- q
			m := new(dns.Msg).SetReply(q)
			testKey().sign(m)
			_ = w.WriteMsg(m)
		}),
	}
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = server.ActivateAndServe() })
	t.Cleanup(func() { _ = server.ShutdownContext(context.Background()); conn.Close(); tasks.Wait() })
	return conn.LocalAddr().(*net.UDPAddr).AddrPort(), messages
}

// Secondaries are notified of the version at the start and of each change, until they answer.
func TestNotify(t *testing.T) {
	addr, told := secondary(t)
	store := newStore(t, newProfile(1, "v=spf1 -all"))
	s := serve(t, store, func(c *Config) {
		c.Key, c.Secondaries, c.notifyWait = testKey(), []netip.AddrPort{addr}, 20*time.Millisecond
	})
	m := <-told
	require.Equal(t, dns.OpcodeNotify, m.Opcode)
	require.Equal(t, "spf.example.net.", m.Question[0].Name)
	require.Equal(t, dns.TypeSOA, m.Question[0].Qtype)
	first := m.Answer[0].(*dns.SOA).Serial
	require.NoError(t, store.Create(t.Context(), newProfile(2, "v=spf1 -all")))
	require.NoError(t, s.Refresh(t.Context()))
	require.Greater(t, (<-told).Answer[0].(*dns.SOA).Serial, first)
	require.NoError(t, s.Refresh(t.Context()))
	require.Empty(t, told, "nothing has changed")
}

// The serial rises with each change and over a restart, and does not change while the served records are unchanged.
func TestSerial(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	store := newStore(t, newProfile(1, "v=spf1 -all"))
	start := func() *Server {
		s, err := New(t.Context(), Config{Zone: testZone(), Store: store, Clock: func() time.Time { return now }})
		require.NoError(t, err)
		return s
	}
	s := start()
	serial := func() uint32 {
		require.NoError(t, s.Refresh(t.Context()))
		return s.current.Load().soa.Serial
	}
	require.EqualValues(t, now.Unix(), serial())
	_, err := store.Update(t.Context(), newProfile(1).ID, func(p *hostedspf.Profile) error { p.Name = "new"; return nil })
	require.NoError(t, err)
	require.EqualValues(t, now.Unix(), serial(), "the records are the same")
	require.NoError(t, store.Create(t.Context(), newProfile(2, "v=spf1 -all")))
	require.EqualValues(t, now.Unix()+1, serial(), "in the same second")
	now = now.Add(time.Minute)
	last := serial()
	store = newStore(t, newProfile(3, "v=spf1 -all")) // another, whose versions begin anew
	s = start()
	require.Greater(t, serial(), last)
}

// Where there are secondaries, the record that names new parts is served after the parts, also by a server that is
// started in between.
func TestPartsGoAhead(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts=", restarts), func(t *testing.T) { testPartsGoAhead(t, restarts) })
	}
}

func testPartsGoAhead(t *testing.T, restarts bool) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	store := newStore(t, newProfile(1))
	start := func() *Server {
		s, err := New(t.Context(), Config{
			Zone: testZone(), Store: store, Clock: func() time.Time { return now },
			Secondaries: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.9:53")},
		})
		require.NoError(t, err)
		return s
	}
	s := start()
	ask := func(name string) string {
		if restarts {
			s = start()
		}
		require.NoError(t, s.Refresh(t.Context()))
		m := s.current.Load().answer(new(dns.Msg).SetQuestion(name, dns.TypeTXT), true)
		if len(m.Answer) == 0 {
			return ""
		}
		return dnsmsg.TXT(m.Answer[0].(*dns.TXT))
	}
	const head = "h1.spf.example.net."
	publish := func(n string) {
		_, err := store.Update(t.Context(), newProfile(1).ID, func(p *hostedspf.Profile) error {
			o := hostedspf.Outcome{Resolution: hostedspf.Resolution{ResolvedAt: now}, Published: &hostedspf.Publication{
				Records: newProfile(1, "v=spf1 include:_1.h1.spf.example.net "+n, "v=spf1 ip4:192.0.2."+n).Records, RecordHash: n,
			}}
			o.Published.Records[1].Name = "_" + n + ".h1.spf.example.net"
			o.Apply(p)
			return nil
		})
		require.NoError(t, err)
	}
	serves := func(n string) { t.Helper(); require.Equal(t, "v=spf1 include:_1.h1.spf.example.net "+n, ask(head)) }
	publish("1")
	serves("1")
	now = now.Add(time.Hour)
	publish("2")
	serves("1")
	require.Equal(t, "v=spf1 ip4:192.0.2.1", ask("_1."+head))
	require.Equal(t, "v=spf1 ip4:192.0.2.2", ask("_2."+head))
	now = now.Add(settle / 2)
	publish("3")
	serves("1")
	now = now.Add(settle / 2)
	serves("2")
	now = now.Add(settle/2 - 1)
	serves("2")
	now = now.Add(1)
	serves("3")
	publish("2")
	publish("3")
	serves("3")
	publish("4")
	serves("3")
	now = now.Add(settle / 2)
	serves("3")
	now = now.Add(settle / 2)
	serves("4")
	now = now.Add(2 * hostedspf.Retention)
	publish("5")
	serves("4")
	now = now.Add(settle / 2)
	serves("4")
	now = now.Add(settle / 2)
	serves("5")
}

// What changed while the store could not be read is new when it can be read again.
func TestPartsGoAheadAfterAnOutage(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	store := newStore(t, newProfile(1))
	publish := func(value string) {
		_, err := store.Update(t.Context(), newProfile(1).ID, func(p *hostedspf.Profile) error {
			hostedspf.Outcome{Resolution: hostedspf.Resolution{ResolvedAt: now}, Published: &hostedspf.Publication{
				Records: newProfile(1, value).Records, RecordHash: value,
			}}.Apply(p)
			return nil
		})
		require.NoError(t, err)
	}
	publish("old")
	s, err := New(t.Context(), Config{
		Zone: testZone(), Store: store, Clock: func() time.Time { return now },
		Secondaries: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.9:53")},
	})
	require.NoError(t, err)
	serves := func(value string) {
		t.Helper()
		require.NoError(t, s.Refresh(t.Context()))
		m := s.current.Load().answer(new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT), true)
		require.Equal(t, value, dnsmsg.TXT(m.Answer[0].(*dns.TXT)))
	}
	serves("old")
	now = now.Add(time.Minute)
	publish("new")
	store.fail(errors.New("disk full"))
	now = now.Add(time.Hour)
	require.Error(t, s.Refresh(t.Context()))
	store.fail(nil)
	serves("old")
	now = now.Add(settle / 2)
	serves("old")
	now = now.Add(settle/2 - time.Second)
	serves("old")
	now = now.Add(time.Second)
	serves("new")
	now = now.Add(time.Hour)
	serves("new")
}

func TestParseKey(t *testing.T) {
	for _, test := range []struct{ text, want, err string }{
		{"key.example:" + testSecret, "key.example hmac-sha256", ""},
		{"HMAC-SHA512:Key.Example.:" + testSecret, "key.example hmac-sha512", ""},
		{"hmac-md5:key.example:" + testSecret, "", "is not one of"},
		{"hmac-sha1:key.example:" + testSecret, "", "is not one of"},
		{"key.example", "", "ALGORITHM:NAME:SECRET"},
		{":" + testSecret, "", "is not a name"},
		{"key.example:secret", "", "is not base64"},
		{"key.example:" + base64.StdEncoding.EncodeToString(make([]byte, 15)), "", "of 16 bytes"},
	} {
		key, err := ParseKey(test.text)
		if test.err != "" {
			assert.ErrorContains(t, err, test.err, test.text)
			assert.NotContains(t, err.Error(), "secret\"")
			continue
		}
		if assert.NoError(t, err, test.text) {
			assert.Equal(t, test.want, key.Name.String()+" "+key.Algorithm)
		}
	}
}
