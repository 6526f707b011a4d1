package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A dnsRecorder is a name server on this machine that records the queries it gets.
type dnsRecorder struct {
	port string

	mu   sync.Mutex
	seen []string
}

func (w *dnsRecorder) ServeDNS(conn dns.ResponseWriter, q *dns.Msg) {
	question, opt := q.Question[0], q.IsEdns0()
	said := fmt.Sprint(question.Name, " ", dns.Class(question.Qclass), " ", dns.Type(question.Qtype), " ",
		conn.LocalAddr().Network())
	if !q.RecursionDesired {
		said += " -rd"
	}
	if q.CheckingDisabled {
		said += " +cd"
	}
	if opt.Do() {
		said += " +do"
	}
	if opt.UDPSize() != 1232 {
		said += fmt.Sprint(" ", opt.UDPSize())
	}
	m := new(dns.Msg).SetReply(q).SetEdns0(1232, opt.Do())
	m.RecursionAvailable = true
	if len(opt.Option) == 1 {
		said += " +nsid"
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_NSID{Code: dns.EDNS0NSID, Nsid: "6e7331"}}
	}
	w.mu.Lock()
	w.seen = append(w.seen, said)
	w.mu.Unlock()
	header := dns.RR_Header{Name: question.Name, Rrtype: question.Qtype, Class: question.Qclass, Ttl: 60}
	switch question.Qtype {
	case dns.TypeA:
		m.Answer = []dns.RR{&dns.A{Hdr: header, A: net.IPv4(192, 0, 2, 99)}}
	case dns.TypeMX:
		m.Rcode = dns.RcodeNameError
	case dns.TypeTXT:
		m.Answer = []dns.RR{&dns.TXT{Hdr: header, Txt: []string{"here"}}}
	}
	conn.WriteMsg(m)
}

func (w *dnsRecorder) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.seen, "; ")
}

func newDNSRecorder(t *testing.T) *dnsRecorder {
	var tcp net.Listener
	var udp net.PacketConn
	for range 20 { // another program may have the port for one of the two
		var err error
		tcp, err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		if udp, err = net.ListenPacket("udp", tcp.Addr().String()); err == nil {
			break
		}
		tcp.Close()
	}
	require.NotNil(t, udp, "no port is free for both")
	w := &dnsRecorder{}
	_, w.port, _ = net.SplitHostPort(tcp.Addr().String())
	for _, server := range []*dns.Server{{Listener: tcp, Handler: w}, {PacketConn: udp, Handler: w}} {
		started, ended := make(chan struct{}), make(chan error, 1)
		server.NotifyStartedFunc = func() { close(started) }
		go func() { ended <- server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { server.Shutdown(); <-ended })
	}
	return w
}

// The server gets the query that the command line describes.
func TestDigQueries(t *testing.T) {
	for _, tt := range []struct {
		args string
		seen string
		code int
	}{
		{"dig @127.0.0.1 -p PORT a.example", "a.example. IN A udp", exitOK},
		{"dig @127.0.0.1#PORT a.example", "a.example. IN A udp", exitOK},
		{"dig @localhost:PORT -4 a.example", "a.example. IN A udp", exitOK},
		{"dig @127.0.0.1 -p PORT +tcp a.example", "a.example. IN A tcp", exitOK},
		{"dig @tcp://127.0.0.1:PORT a.example", "a.example. IN A tcp", exitOK},
		{"dig @127.0.0.1 -p PORT +norec a.example", "a.example. IN A udp -rd", exitOK},
		{"dig @127.0.0.1 -p PORT +cd +dnssec a.example", "a.example. IN A udp +cd +do", exitOK},
		{"dig @127.0.0.1 -p PORT +nsid +bufsize=4096 a.example", "a.example. IN A udp 4096 +nsid", exitOK},
		{"dig @127.0.0.1 -p PORT CH TXT version.bind", "version.bind. CH TXT udp", exitOK},
		{"dig @127.0.0.1 -p PORT", ". IN NS udp", exitOK},
		{"dig @127.0.0.1 -p PORT a.example b.example TXT", "a.example. IN A udp; b.example. IN TXT udp", exitOK},
		{"dig @127.0.0.1 -p PORT a.example A TXT MX",
			"a.example. IN A udp; a.example. IN TXT udp; a.example. IN MX udp", exitOK},
		{"dig @127.0.0.1 -p PORT a.example A MX --fail-on warning", "a.example. IN A udp; a.example. IN MX udp", exitFinding},
		{"dig @127.0.0.1 -p PORT https://a.example/path b.example", "a.example. IN A udp; b.example. IN A udp", exitOK},
		{"dig @127.0.0.1 -p PORT a.example b..example", "", exitUsage},
		{"dig @127.0.0.1 -p PORT -x 192.0.2.1 +tcp", "1.2.0.192.in-addr.arpa. IN PTR tcp", exitOK},
		{"dig @127.0.0.1 -p PORT -x 192.0.2.1", "1.2.0.192.in-addr.arpa. IN PTR udp", exitOK},
		{"host -p PORT -t TXT a.example 127.0.0.1", "a.example. IN TXT udp", exitOK},
		{"host -p PORT -r -T a.example 127.0.0.1",
			"a.example. IN A tcp -rd; a.example. IN AAAA tcp -rd; a.example. IN MX tcp -rd", exitOK},
		{"nslookup -port=PORT a.example 127.0.0.1", "a.example. IN A udp; a.example. IN AAAA udp", exitOK},
		{"nslookup -port=PORT -type=txt a.example 127.0.0.1", "a.example. IN TXT udp", exitOK},
		{"nslookup -port=PORT 192.0.2.1 127.0.0.1", "1.2.0.192.in-addr.arpa. IN PTR udp", exitOK},
		{"MX a.example @127.0.0.1:PORT", "a.example. IN MX udp", exitOK},
		{"resolve a.example MX --resolver 127.0.0.1:PORT --nsid", "a.example. IN MX udp +nsid", exitOK},
		{"dig @127.0.0.1:PORT --resolver 127.0.0.1:PORT a.example", "", exitUsage},
		{"dig @127.0.0.1:PORT a.example MX --qtype TXT", "", exitUsage},
		{"dig @127.0.0.1:PORT a.example A TXT --html", "", exitUsage},
		{"dig @127.0.0.1:PORT a.example --server https://diag.example --key k", "", exitUsage},
		{"dig @google +nsid +trace CH TXT version.bind", "", exitUsage},
		{"dig @192.0.2.53:PORT +tls +tcp a.example", "", exitUsage},
	} {
		w := newDNSRecorder(t)
		s := newSession(nil)
		code := s.run(t.Context(), strings.Fields(strings.ReplaceAll(tt.args, "PORT", w.port)))
		assert.Equal(t, tt.code, code, "%s: %s%s", tt.args, &s.out, &s.err)
		assert.Equal(t, tt.seen, w.all(), "%s: %s", tt.args, &s.err)
	}
}

// A name server on the command line, or in a line of a list, is queried from here whichever server the environment names.
func TestQueryBesideServer(t *testing.T) {
	for _, tt := range []struct {
		args, input string
		code        int
		note        string
	}{
		{"dig @127.0.0.1:PORT a.example", "", exitOK, "@127.0.0.1:PORT works locally only"},
		{"dig a.example @127.0.0.1 -p PORT", "", exitOK, "@127.0.0.1 works locally only"},
		{"dig -f -", "a.example @127.0.0.1:PORT\n", exitOK, ""},
	} {
		t.Setenv("DIAG_SERVER", "http://127.0.0.1:1")
		t.Setenv("DIAG_KEY", "svc_test_x")
		w := newDNSRecorder(t)
		here, there := newSession(nil), newSession(nil)
		withPort := func(text string) string { return strings.ReplaceAll(text, "PORT", w.port) }
		here.stdin, there.stdin = strings.NewReader(withPort(tt.input)), strings.NewReader(withPort(tt.input))
		assert.Equal(t, tt.code, here.run(t.Context(), strings.Fields(withPort(tt.args))), "%s", &here.err)
		assert.Equal(t, "a.example. IN A udp", w.all())
		assert.Contains(t, here.err.String(), withPort(tt.note))
		args := append(strings.Fields(withPort(tt.args)), "--server", "http://127.0.0.1:1")
		assert.NotEqual(t, exitOK, there.run(t.Context(), args), "%s", &there.out)
		assert.Equal(t, "a.example. IN A udp", w.all(), "the server is asked, and fails")
	}
}

// Several answers come in their order, in each format as one after the other.
func TestSeveralAnswers(t *testing.T) {
	w := newDNSRecorder(t)
	run := func(args string) *session {
		s := newSession(nil)
		args = "dig @127.0.0.1 -p " + w.port + " a.example A TXT " + args
		require.Equal(t, exitOK, s.run(t.Context(), strings.Fields(args)), "%s", &s.err)
		return s
	}
	assert.Equal(t, "192.0.2.99\n\"here\"\n", run("+short").out.String())
	text := run("").out.String()
	assert.True(t, strings.HasPrefix(text, "✔ a.example A  resolve\n"), text)
	assert.Contains(t, text, "\n\n✔ a.example TXT  resolve\n")
	for _, format := range []string{"--json", "--jsonl"} {
		lines := strings.Split(strings.TrimSuffix(run(format).out.String(), "\n"), "\n")
		require.Len(t, lines, 2, format)
		for i, kind := range []string{"A", "TXT"} {
			var report struct {
				Type string `json:"qtype"`
			}
			require.NoError(t, json.Unmarshal([]byte(lines[i]), &report), lines[i])
			assert.Equal(t, kind, report.Type)
		}
	}
	assert.Equal(t, 2, strings.Count(run("--junit").out.String(), "<testsuite "))
	assert.Contains(t, run("--md").out.String(), "\n\n## ")
	file := filepath.Join(t.TempDir(), "out")
	assert.Empty(t, run("--short -o "+file).out.String())
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "192.0.2.99\n\"here\"\n", string(kept))
	assert.Contains(t, run("+nsid").out.String(), "ns1")
}

// One answer that is missing is named; the others are printed.
func TestUnansweredQuestion(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
	}{
		{"dig example.com silent.example", exitPartial}, {"dig silent.example A AAAA", exitIncomplete},
		{"dig nothing.example.com silent.example --fail-on warning", exitFinding},
	} {
		s := newSession(testWorld(t))
		assert.Equal(t, tt.code, s.run(t.Context(), strings.Fields(tt.args)), tt.args)
		assert.Contains(t, s.err.String(), "diag: silent.example A: ")
		assert.Equal(t, tt.code != exitIncomplete, s.out.Len() > 0, tt.args)
	}
}

// A name server that is given by its name is looked up, and queried at its addresses; one that is not public is not.
func TestServerByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(`
			example.com.     A     192.0.2.80
			ns1.example.com. A     192.0.2.53
			ns1.example.com. AAAA  2001:db8::53
			in.example.com.  A     10.0.0.53
			no.example.com.  TXT   "no address"`)
		world.Resolver("192.0.2.53", "example.com. A 192.0.2.44")
		world.Resolver("2001:db8::53", "example.com. A 192.0.2.66")
		for _, tt := range []struct {
			args string
			code int
			want string
		}{
			{"dig @ns1.example.com example.com +short", exitOK, "192.0.2.44\n"},
			{"dig @ns1.example.com example.com", exitOK, "ns1.example.com 192.0.2.53 over UDP"},
			{"dig @192.0.2.53 example.com", exitOK, "server  192.0.2.53 over UDP"},
			{"dig @ns1.example.com -6 example.com +short", exitOK, "192.0.2.66\n"},
			{"dig @ns1.example.com +tcp example.com", exitOK, "192.0.2.53 over TCP"},
			{"host -t A example.com ns1.example.com", exitOK, "192.0.2.44"},
			{"dig @in.example.com example.com", exitUsage,
				"diag: @in.example.com: 10.0.0.53 is not a public address; to query it anyway, give the address itself\n"},
			{"dig @10.0.0.53 example.com", exitIncomplete, "diag: no answer from 10.0.0.53: connection refused\n"},
			{"dig @gone.example.com example.com", exitIncomplete, "diag: @gone.example.com: gone.example.com does not exist\n"},
			{"dig @no.example.com example.com", exitIncomplete, "diag: @no.example.com: no.example.com has no address\n"},
			{"dig @in.example.com -6 example.com", exitUsage, "diag: -6: @in.example.com has no IPv6 address\n"},
		} {
			s := newSession(world)
			assert.Equal(t, tt.code, s.run(t.Context(), strings.Fields(tt.args)), "%s: %s", tt.args, &s.err)
			assert.Contains(t, s.out.String()+s.err.String(), tt.want, tt.args)
		}
	})
}

// Each line of a file is read like the words behind the name of the program.
func TestDigBatch(t *testing.T) {
	w := newDNSRecorder(t)
	list := filepath.Join(t.TempDir(), "names")
	text := "a.example\nb.example TXT +norec\n192.0.2.1\nc.example A AAAA\nd..example\n@127.0.0.1#" + w.port +
		" e.example MX\n"
	require.NoError(t, os.WriteFile(list, []byte(text), 0o600))
	s := newSession(nil)
	s.run(t.Context(), strings.Fields("dig @127.0.0.1 -p "+w.port+" +tcp --jsonl --parallel 1 -f "+list))
	assert.Equal(t, "a.example. IN A tcp; b.example. IN TXT tcp -rd; 1.2.0.192.in-addr.arpa. IN PTR tcp; "+
		"e.example. IN MX tcp", w.all())
	lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	require.Len(t, lines, 6)
	assert.Contains(t, lines[0], `"target":"a.example","operation":"resolve"`)
	assert.Contains(t, lines[3], `"error":"a line of -f must ask one question, not 2"`)
	assert.Contains(t, lines[4], `"error":"qname: \"d..example\" is not a name in the DNS`)
}

// A public resolver is chosen for all lines of a file.
func TestBatchAtResolver(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone("a.example. A 192.0.2.1\nb.example. A 192.0.2.2")
	list := filepath.Join(t.TempDir(), "names")
	require.NoError(t, os.WriteFile(list, []byte("a.example\nb.example\n"), 0o600))
	for _, args := range []string{
		"resolve -f LIST --resolver google", "dig @google -f LIST", "dig -f LIST --resolver google",
	} {
		s, args := newSession(world), strings.ReplaceAll(args, "LIST", list)+" --jsonl"
		require.Equal(t, exitOK, s.run(t.Context(), strings.Fields(args)), "%s", &s.err)
		assert.Equal(t, 2, strings.Count(s.out.String(), `"id":"google"`), "%s: %s", args, &s.out)
	}
}
