package letterbox

import (
	"bufio"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/emersion/go-msgauth/dkim"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// zones are the world: a domain with one server, a stranger, and the letter box.
var zones = `
example.org.                TXT "v=spf1 ip4:192.0.2.25 -all"
_dmarc.example.org.         TXT "v=DMARC1; p=reject"
s1._domainkey.example.org.  TXT "v=DKIM1; k=ed25519; p=` +
	base64.StdEncoding.EncodeToString(signingKey.Public().(ed25519.PublicKey)) + `"
mail.example.org.           A   192.0.2.25
mail.example.org.           TXT "v=spf1 a -all"
25.2.0.192.in-addr.arpa.    PTR mail.example.org.
vps.hosting.test.           A   203.0.113.77
77.113.0.203.in-addr.arpa.  PTR vps.hosting.test.
`

const letterText = "From: Alice <alice@example.org>\r\nTo: check@box.example\r\nSubject: Offer\r\nDate: %s\r\n" +
	"Message-ID: <1@mail.example.org>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nHello,\r\n\r\nhere it is.\r\n"

// A post is a letter box at work, whose clients come from the address of choice, and whose clock can be set.
type post struct {
	*Box
	t    *testing.T
	addr string

	mu   sync.Mutex
	now  time.Time
	from string // address of clients
}

// from sets the apparent source of a connection.
type fromConn struct {
	net.Conn
	addr net.Addr
}

func (c fromConn) RemoteAddr() net.Addr { return c.addr }

type fromListener struct {
	net.Listener
	p *post
}

func (l fromListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return fromConn{c, &net.TCPAddr{IP: net.ParseIP(l.p.from), Port: 40000}}, nil
}

func newPost(t *testing.T) *post {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return newPostOn(t, l)
}

// newPostOn is a letter box at work on a listener.
func newPostOn(t *testing.T, l net.Listener) *post {
	t.Helper()
	w := diagtest.NewWorld(t)
	w.Zone(zones)
	env := w.Env()
	p := &post{t: t, now: time.Now().UTC().Truncate(time.Second), from: "192.0.2.25"}
	clock := func() time.Time { p.mu.Lock(); defer p.mu.Unlock(); return p.now }
	env.Clock = clock
	box, err := New(Config{Env: env, Domain: diag.MustDomain("box.example"), Clock: clock})
	require.NoError(t, err)
	p.Box, p.addr = box, l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- box.Serve(fromListener{l, p}) }()
	t.Cleanup(func() {
		box.Close()
		require.NoError(t, <-served)
	})
	return p
}

func (p *post) set(from string, later time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from != "" {
		p.from = from
	}
	p.now = p.now.Add(later)
}

// get requests a page.
func (p *post) get(method, path string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// address makes an address, and returns the path of its page.
func (p *post) address() (path, address string) {
	p.t.Helper()
	w := p.get("POST", "/letterbox")
	require.Equal(p.t, http.StatusSeeOther, w.Code, w.Body)
	path = w.Header().Get("Location")
	page := p.get("GET", path).Body.String()
	return path, regexp.MustCompile(`<code>([a-z2-7]{12}@box\.example)</code>`).FindStringSubmatch(page)[1]
}

// dial opens a session, over TLS if so.
func (p *post) dial(secured bool) *smtp.Client {
	p.t.Helper()
	c, err := net.Dial("tcp", p.addr)
	require.NoError(p.t, err)
	client := smtp.NewClient(c)
	if secured {
		client, err = smtp.NewClientStartTLS(c, &tls.Config{InsecureSkipVerify: true})
		require.NoError(p.t, err)
	}
	p.t.Cleanup(func() { client.Close() })
	require.NoError(p.t, client.Hello("mail.example.org"))
	return client
}

func (p *post) send(to, text string) error {
	p.t.Helper()
	return p.dial(true).SendMail("alice@example.org", []string{to}, strings.NewReader(text))
}

// wait is the page once the analysis is done.
func (p *post) wait(path string) string {
	p.t.Helper()
	p.pending.Wait()
	w := p.get("GET", path)
	require.Equal(p.t, 200, w.Code)
	return w.Body.String()
}

func (p *post) letter() string { return fmt.Sprintf(letterText, p.now.Format(time.RFC1123Z)) }

func (p *post) signed() string {
	var b strings.Builder
	err := dkim.Sign(&b, strings.NewReader(p.letter()), &dkim.SignOptions{Domain: "example.org", Selector: "s1", Signer: signingKey})
	require.NoError(p.t, err)
	return b.String()
}

// pageText returns the text of a page, as a browser shows it.
func pageText(page string) string {
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page[strings.Index(page, "<main"):], " ")
	return strings.Join(strings.Fields(text), " ")
}

// A message of the domain's own server is authentic, and the page shows what the session knows.
func TestGood(t *testing.T) {
	p := newPost(t)
	path, to := p.address()
	assert.Equal(t, "5", p.get("GET", path).Header().Get("Refresh"))
	require.NoError(t, p.send(strings.ToUpper(to), p.signed()))
	page := p.wait(path)
	text := pageText(page)
	for _, want := range []string{
		"from address 192.0.2.25", "HELO name mail.example.org", "envelope sender alice@example.org", "TLS TLSv1.3, TLS_",
		"authentic likely", "sent by 192.0.2.25 mail.example.org", "spf pass for example.org", "dkim pass for example.org",
		"dmarc pass, p=reject at example.org", "Offer",
	} {
		assert.True(t, strings.Contains(text, want), "%s in %s", want, text)
	}
	assert.Empty(t, p.get("GET", path).Header().Get("Refresh"))
	assert.NotContains(t, page, "here it is", "the body is not kept")
	require.NotContains(t, page, " warning<", text)
}

func TestForged(t *testing.T) {
	p := newPost(t)
	p.set("203.0.113.77", 0)
	path, to := p.address()
	require.NoError(t, p.dial(false).SendMail("alice@example.org", []string{to}, strings.NewReader(
		"Authentication-Results: box.example; dmarc=pass smtp.remote-ip=192.0.2.25\r\nReceived-SPF: pass client-ip=192.0.2.25\r\n"+p.letter())))
	text := pageText(p.wait(path))
	for _, want := range []string{
		"authentic unlikely", "sent by 203.0.113.77 vps.hosting.test", "spf ▲ fail", "dkim ℹ not signed", "dmarc ✖ fail, p=reject",
		"TLS none: the message was sent in clear text", "without TLS",
	} {
		assert.True(t, strings.Contains(text, want), "%s in %s", want, text)
	}
}

// Each address is good for one message, of which one may come on a connection.
func TestOnce(t *testing.T) {
	p := newPost(t)
	_, to := p.address()
	_, other := p.address()
	c := p.dial(true)
	require.NoError(t, c.SendMail("", []string{to}, strings.NewReader(p.letter())))
	require.ErrorContains(t, c.Mail("", nil), "421")
	require.ErrorContains(t, p.send(to, p.letter()), "550")
	require.NoError(t, p.send(other, p.letter()))
}

func TestExpiry(t *testing.T) {
	p := newPost(t)
	path, to := p.address()
	used, second := p.address()
	require.NoError(t, p.send(second, p.letter()))
	p.pending.Wait()
	p.set("", waitingLifetime-time.Second)
	require.Equal(t, 200, p.get("GET", path).Code)
	p.set("", time.Second)
	require.Equal(t, 404, p.get("GET", path).Code)
	require.ErrorContains(t, p.send(to, p.letter()), "550")
	p.set("", reportLifetime-waitingLifetime-time.Second)
	require.Equal(t, 200, p.get("GET", used).Code)
	p.set("", time.Second)
	require.Equal(t, 404, p.get("GET", used).Code)
	p.address()
	require.Len(t, p.letters, 1, "what is over is forgotten")
	require.Equal(t, []int{1, 0}, []int{p.waitingCount, p.reportBytes})
	require.Zero(t, p.Budget.Letters.Held())
}

// Nothing is relayed, and nothing but the one address is known.
func TestNoRelay(t *testing.T) {
	p := newPost(t)
	_, to := p.address()
	local, _, _ := strings.Cut(to, "@")
	for _, rcpt := range []string{
		"<joe@example.com>", "<" + local + "@example.com>", "<" + local + "%example.com@box.example>", "<example.com!" + local + "@box.example>",
		"<postmaster@box.example>", "<postmaster>", "<aaaaaaaaaaaa@box.example>", "<" + local + "@box.example.example.com>",
		"<@box.example:joe@example.com>", "<joe@[192.0.2.1]>", `<"joe@example.com"@box.example>`, `<"">`,
	} {
		c := p.raw()
		c.ask("EHLO mail.example.org", 250)
		c.ask("MAIL FROM:<alice@example.org>", 250)
		reply := c.say("RCPT TO:" + rcpt)
		require.Regexp(t, "^(550 5.1.1|501 5.5.2) ", reply, rcpt)
		c.ask("DATA", 502)
		c.ask("QUIT", 221)
		c.closed()
	}
	c := p.raw()
	greeting := c.say("EHLO mail.example.org")
	require.NotContains(t, greeting, "AUTH")
	require.NotContains(t, greeting, "VRFY")
	require.Contains(t, greeting, fmt.Sprintf("SIZE %d", maxMessage))
	require.Equal(t, c.say("VRFY "+local), c.say("VRFY nobody"))
	require.Equal(t, c.say("EXPN "+local), c.say("EXPN nobody"))
	c.ask("AUTH PLAIN AGEAYg==", 523)
	c.ask("MAIL FROM:<>", 250)
	for range maxRefusedRecipients - 1 {
		c.ask("RCPT TO:<joe@box.example>", 550)
	}
	c.ask("RCPT TO:<joe@box.example>", 421)
	c.closed()
}

// Two recipients are one too many.
func TestOneRecipient(t *testing.T) {
	p := newPost(t)
	_, a := p.address()
	_, b := p.address()
	c := p.raw()
	c.ask("EHLO x", 250)
	c.ask("MAIL FROM:<>", 250)
	c.ask("RCPT TO:<"+a+">", 250)
	c.ask("RCPT TO:<"+b+">", 452)
}

// Senders that are not safe in the fields above a message are refused.
func TestSenders(t *testing.T) {
	for from, ok := range map[string]bool{
		"": true, "a@example.org": true, `a b@example.org`: true, "a@[192.0.2.1]": true, "a@_x.example.org": true,
		"a\r@example.org": false, "ä@example.org": false, "a@exa>mple.org": false, "a@b(c": false, "a": false, "@b": false,
		strings.Repeat("a", 300) + "@example.org": false, "a@b\x00": false,
	} {
		require.Equal(t, ok, checkSender(from) == nil, from)
	}
}

// A wire is a session that sends arbitrary bytes.
type wire struct {
	t *testing.T
	net.Conn
	*bufio.Reader
}

func (p *post) raw() *wire {
	p.t.Helper()
	c, err := net.Dial("tcp", p.addr)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { c.Close() })
	require.NoError(p.t, c.SetDeadline(time.Now().Add(2*time.Minute)))
	w := &wire{p.t, c, bufio.NewReader(c)}
	w.hear()
	return w
}

// hear reads one reply.
func (w *wire) hear() string {
	w.t.Helper()
	var all strings.Builder
	for {
		line, err := w.ReadString('\n')
		require.NoError(w.t, err, all.String())
		all.WriteString(line)
		if len(line) < 4 || line[3] != '-' {
			return all.String()
		}
	}
}

func (w *wire) say(line string) string {
	w.t.Helper()
	_, err := io.WriteString(w.Conn, line+"\r\n")
	require.NoError(w.t, err)
	return w.hear()
}

func (w *wire) ask(line string, code int) {
	w.t.Helper()
	require.Regexp(w.t, fmt.Sprintf("^%d[ -]", code), w.say(line), line)
}

func (w *wire) Read(b []byte) (int, error) { return w.Reader.Read(b) }

func (w *wire) closed() {
	w.t.Helper()
	_, err := w.ReadByte()
	require.Error(w.t, err)
}

// to begins a message for an address.
func (w *wire) to(address string) {
	w.t.Helper()
	w.ask("EHLO mail.example.org", 250)
	w.ask("MAIL FROM:<alice@example.org>", 250)
	w.ask("RCPT TO:<"+address+">", 250)
	w.ask("DATA", 354)
}

// What is no end of a message to one server must not be one to another: nothing but CRLF.CRLF ends it.
func TestSmuggling(t *testing.T) {
	for _, end := range []string{"\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n", "\r.\r\n", "\r\n.\r", "\r\n\x00.\r\n"} {
		p := newPost(t)
		path, to := p.address()
		_, second := p.address()
		w := p.raw()
		w.to(to)
		_, err := io.WriteString(w.Conn, p.letter()+"x"+end+"MAIL FROM:<evil@example.com>\r\nRCPT TO:<"+second+">\r\nDATA\r\n"+
			"From: evil@example.com\r\n\r\nx\r\n.\r\n")
		require.NoError(t, err)
		require.Regexp(t, "^250 2.0.0 ", w.hear())
		w.ask("NOOP", 250)
		page := p.wait(path)
		require.Contains(t, page, "alice@example.org")
		require.NotContains(t, page, "evil")
		require.True(t, p.isWaiting(localOf(second)), "%q", end)
	}
}

func localOf(address string) string { local, _, _ := strings.Cut(address, "@"); return local }

// Commands may be pipelined; those sent before TLS are not executed within it.
func TestPipelining(t *testing.T) {
	p := newPost(t)
	path, to := p.address()
	w := p.raw()
	_, err := io.WriteString(w.Conn, "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<"+to+">\r\nDATA\r\n")
	require.NoError(t, err)
	for _, code := range []string{"250", "250", "250", "354"} {
		require.True(t, strings.HasPrefix(w.hear(), code))
	}
	_, err = io.WriteString(w.Conn, p.letter()+".\r\nQUIT\r\n")
	require.NoError(t, err)
	require.Regexp(t, "^250", w.hear())
	require.Regexp(t, "^221", w.hear())
	require.Contains(t, pageText(p.wait(path)), "envelope sender &lt;&gt; (a bounce)")

	w = p.raw()
	w.ask("EHLO x", 250)
	_, err = io.WriteString(w.Conn, "STARTTLS\r\nMAIL FROM:<injected@example.com>\r\n")
	require.NoError(t, err)
	require.Regexp(t, "^220", w.hear())
	secured := tls.Client(w.Conn, &tls.Config{InsecureSkipVerify: true})
	if err := secured.Handshake(); err == nil { // the injected bytes may as well have broken it
		inside := &wire{t, secured, bufio.NewReader(secured)}
		require.Regexp(t, "^250", inside.say("EHLO y"))
		require.Regexp(t, "^502", inside.say("RCPT TO:<"+to+">"))
	}
}

// A client has ten addresses an hour, and a network of IPv6 is one.
func TestTenAnHour(t *testing.T) {
	p := newPost(t)
	perHour := p.Budget.LetterAddresses.Limit
	for range perHour {
		p.address()
	}
	w := p.get("POST", "/letterbox")
	require.Equal(t, 429, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	p.set("", p.Budget.LetterAddresses.Window)
	p.address()
	for i := range perHour + 1 {
		r := httptest.NewRequest("POST", "/letterbox", nil)
		r.RemoteAddr = fmt.Sprintf("[2001:db8::%x]:1", i+1)
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, r)
		require.Equal(t, map[bool]int{true: 303, false: 429}[i < perHour], rec.Code)
	}
}

// A client that makes too many addresses, from any number of networks, loses his own: no other client's.
func TestFull(t *testing.T) {
	p := newPost(t)
	mine, ok := p.newAddress(addr(0))
	require.True(t, ok)
	for site := range 100 { // of a /32
		for n := range 200 {
			ip := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, byte(site), byte(n), 15: 1})
			_, ok := p.newAddress(ip)
			require.Equal(t, n < 8*p.Budget.LetterAddresses.Limit, ok, "a /48 has a bound of its own")
		}
	}
	require.Equal(t, maxWaiting, p.waitingCount)
	_, ok = p.lookUp(mine)
	require.True(t, ok)
	yours, ok := p.newAddress(addr(1 << 8))
	require.True(t, ok)
	_, ok = p.lookUp(yours)
	require.True(t, ok)
	require.Equal(t, maxWaiting, p.waitingCount)
}
