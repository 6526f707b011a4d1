package letterbox

import (
	"fmt"
	"io"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"github.com/diagkit/diagkit/mailauth/header"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

func addr(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

// A network has some connections, and all have a number of them.
func TestConnections(t *testing.T) {
	p := newPost(t)
	var held []*wire
	bound := p.Budget.LetterConnections
	for range bound.Each {
		held = append(held, p.raw())
	}
	p.raw421()
	p.set("192.0.2.26", 0)
	held = append(held, p.raw())
	p.set("192.0.2.25", 0)
	held[0].ask("QUIT", 221)
	held[0].closed()
	for i := range bound.All - bound.Each {
		p.set(fmt.Sprintf("198.51.%d.1", i), 0)
		held = append(held, p.raw())
	}
	p.set("198.51.100.200", 0)
	p.raw421()
}

// raw421 is refused.
func (p *post) raw421() {
	p.t.Helper()
	w := p.raw()
	w.closed()
}

// The number of concurrent messages is bounded: excess ones are not lost, because senders try again.
func TestBusy(t *testing.T) {
	p := newPost(t)
	var places []func()
	for i := range p.Budget.LetterQueue.All {
		leave, ok := p.Budget.LetterQueue.Take(addr(i << 8))
		require.True(t, ok)
		places = append(places, leave)
	}
	path, to := p.address()
	require.ErrorContains(t, p.send(to, p.letter()), "451")
	for _, leave := range places {
		leave()
	}
	large := p.letter() + strings.Repeat("x\r\n", 1000)
	var messages []*metering.NetworkHold
	for i := 0; p.Budget.Letters.All-p.Budget.Letters.Held() > len(large); i++ {
		others := p.Budget.Letters.Open(addr(i << 8))
		require.True(t, others.Add(min(p.Budget.Letters.Each, p.Budget.Letters.All-p.Budget.Letters.Held()-1000)))
		messages = append(messages, others)
	}
	require.ErrorContains(t, p.send(to, large), "451")
	for _, others := range messages {
		others.Release()
	}
	require.NoError(t, p.send(to, p.letter()))
	p.wait(path)
	require.Zero(t, p.Budget.Letters.Held())
	require.Zero(t, p.Budget.LetterQueue.Held())
}

// One network has its share of the memory for messages, and of the places for their analysis: others are served.
func TestShareOfOneNetwork(t *testing.T) {
	for name, fill := range map[string]func(p *post){
		"places": func(p *post) {
			for i := range 4 {
				_, ok := p.Budget.LetterQueue.Take(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
				require.True(t, ok)
			}
		},
		"memory": func(p *post) {
			each, all := p.Budget.Letters.Each, p.Budget.Letters.All
			require.True(t, p.Budget.Letters.Open(netip.MustParseAddr("192.0.2.1")).Add(each))
			require.True(t, p.Budget.Letters.Open(netip.MustParseAddr("192.0.2.2")).Add(all/4-each))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t)
			fill(p)
			_, to := p.address()
			require.ErrorContains(t, p.send(to, p.letter()), "451") // from 192.0.2.25
			p.set("198.51.100.1", 0)
			require.NoError(t, p.send(to, p.letter()))
		})
	}
}

// Many reports of one network push out those of the same network, and no others.
func TestReportsOfOneNetwork(t *testing.T) {
	p := newPost(t)
	report := func(ip netip.Addr) (token string) {
		token, ok := p.newAddress(ip)
		require.True(t, ok)
		require.True(t, p.startAnalysis(localPart(token), &delivery{ReceivedAt: p.Clock()}))
		p.set("", time.Second)
		p.pending.Done()
		p.storeReport(localPart(token), strings.Repeat("x", maxReportBytes/8))
		return token
	}
	mine := report(netip.MustParseAddr("198.51.100.1"))
	for range 10 {
		report(netip.MustParseAddr("192.0.2.1"))
	}
	_, ok := p.lookUp(mine)
	require.True(t, ok, "the oldest of all is not that of the network with most")
	require.LessOrEqual(t, p.reportBytes, maxReportBytes)
}

// Of too many reports, the oldest are forgotten.
func TestReportsBound(t *testing.T) {
	p := newPost(t)
	var tokens []string
	for i := range 4 {
		token, ok := p.newAddress(addr(i))
		require.True(t, ok)
		tokens = append(tokens, token)
		require.True(t, p.startAnalysis(localPart(token), &delivery{ReceivedAt: p.Clock()}))
		p.set("", time.Second)
		p.pending.Done()
		p.storeReport(localPart(token), strings.Repeat("x", maxReportBytes/3))
	}
	_, ok := p.lookUp(tokens[0])
	require.False(t, ok)
	_, ok = p.lookUp(tokens[1])
	require.True(t, ok)
	require.LessOrEqual(t, p.reportBytes, maxReportBytes)
}

// An oversized message is refused, by its declared or its actual size, by DATA and by BDAT.
func TestSize(t *testing.T) {
	p := newPost(t)
	_, to := p.address()
	w := p.raw()
	w.ask("EHLO x", 250)
	w.ask(fmt.Sprintf("MAIL FROM:<> SIZE=%d", maxMessage+1), 552)
	w.ask("MAIL FROM:<>", 250)
	w.ask("RCPT TO:<"+to+">", 250)
	w.ask("DATA", 354)
	_, err := io.WriteString(w.Conn, strings.Repeat(strings.Repeat("x", 70)+"\r\n", maxMessage/72+1)+".\r\n")
	require.NoError(t, err)
	require.Regexp(t, "^552", w.hear())
	w.ask("MAIL FROM:<>", 250)
	w.ask("RCPT TO:<"+to+">", 250)
	_, err = fmt.Fprintf(w.Conn, "BDAT %d LAST\r\n", maxMessage+1)
	require.NoError(t, err)
	_, err = io.WriteString(w.Conn, strings.Repeat("x", maxReceivedBytes))
	_ = err // the connection ends within it
	require.True(t, p.isWaiting(localOf(to)))
	require.Zero(t, p.Budget.Letters.Held())
}

// A message may have its declared size, and come in chunks.
func TestChunks(t *testing.T) {
	p := newPost(t)
	path, to := p.address()
	w := p.raw()
	w.ask("EHLO x", 250)
	w.ask("MAIL FROM:<alice@example.org>", 250)
	w.ask("RCPT TO:<"+to+">", 250)
	text := p.signed()
	text += strings.Repeat("\n", maxMessage-len(text))
	half := len(text) / 2
	_, err := fmt.Fprintf(w.Conn, "BDAT %d\r\n%s", half, text[:half])
	require.NoError(t, err)
	require.Regexp(t, "^250", w.hear())
	_, err = fmt.Fprintf(w.Conn, "BDAT %d LAST\r\n%s", len(text)-half, text[half:])
	require.NoError(t, err)
	require.Regexp(t, "^250 2.0.0 Message received", w.hear())
	page := pageText(p.wait(path))
	require.Contains(t, page, "spf pass")
	require.Contains(t, page, "CR or LF alone")
}

// Endless commands, lines and messages end.
func TestFloods(t *testing.T) {
	p := newPost(t)
	tests := map[string]string{
		"long line": "EHLO " + strings.Repeat("x", maxLine+1),
		"nonsense":  strings.Repeat("XXXX y\r\n", 100),
		"noise":     strings.Repeat("\x00\xff\r\n", 1000),
		"noop":      strings.Repeat("NOOP\r\n", maxReceivedBytes/6),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			w := p.raw()
			go io.WriteString(w.Conn, text)
			n, _ := io.Copy(io.Discard, w) // until it is closed, or reset since some bytes were unread
			require.Less(t, n, int64(200*maxReplyLines))
		})
	}
}

// Bombs are analyzed as far as the operation reads them, within its time.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	signature := "DKIM-Signature: v=1; a=ed25519-sha256; d=example.org; s=s1; h=from; bh=" + strings.Repeat("A", 43) + "=; b=AA==\r\n"
	nested := "Content-Type: multipart/mixed; boundary=a\r\n\r\n"
	for i := range 1000 {
		nested += fmt.Sprintf("--a%d\r\nContent-Type: multipart/mixed; boundary=a%d\r\n\r\n", i, i+1)
	}
	for name, text := range map[string]string{
		"signatures": strings.Repeat(signature, 1500) + "From: a@example.org\r\n\r\nx\r\n",
		"fields":     strings.Repeat("a:\r\n", 100_000) + "From: a@example.org\r\n\r\nx\r\n",
		"received":   strings.Repeat("Received: from a by b; x\r\n", 8000) + "\r\n",
		"nesting":    "From: a@example.org\r\n" + nested,
		"results":    "Authentication-Results: box.example; " + strings.Repeat("spf=pass;\r\n ", 20_000) + "\r\n\r\n",
		"nothing":    "",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t)
			path, to := p.address()
			require.NoError(t, p.send(to, text))
			page := p.wait(path)
			require.Contains(t, page, "<section")
			require.Less(t, len(page), 512<<10)
		})
	}
}

// What strangers write is text on the page, and the page may load nothing.
func TestMarkup(t *testing.T) {
	p := newPost(t)
	path, to := p.address()
	w := p.raw()
	w.ask("EHLO <script>alert(1)</script>\u202e", 250)
	w.ask(`MAIL FROM:<"<script>alert(2)</script>"@example.org>`, 250)
	w.ask("RCPT TO:<"+to+">", 250)
	w.ask("DATA", 354)
	_, err := io.WriteString(w.Conn, "From: \"<script>alert(3)</script>\" <a@example.org>\r\nSubject: </section><script src=//evil.example/>\u202e\r\n"+
		"List-Unsubscribe: <javascript:alert(4)>\r\n\r\n<img src=//evil.example/x>\r\n.\r\n")
	require.NoError(t, err)
	require.Regexp(t, "^250", w.hear())
	page := p.wait(path)
	require.Contains(t, page, "alert(3)")
	page = strings.Replace(page, `<script src="/letterbox/script.js" defer></script>`, "", 1) // our own
	page = strings.Replace(page, `<img src="/letterbox/icon.svg" alt="" width="24" height="24">`, "", 1)
	require.NotContains(t, page, "<script")
	require.NotContains(t, page, "<img")
	require.NotContains(t, page, `src="`)
	require.NotContains(t, page, " style=")
	require.NotContains(t, page, "\u202e")
	require.NotContains(t, page, `href="javascript`)
}

// Each response has the security headers.
func TestHeaders(t *testing.T) {
	p := newPost(t)
	path, _ := p.address()
	for at, code := range map[string]int{"/letterbox": 200, path: 200, "/letterbox/nothing": 404, "/letterbox/style.css": 200, "/letterbox/": 404} {
		w := p.get("GET", at)
		require.Equal(t, code, w.Code, at)
		require.Equal(t, ui.ScriptPolicy, w.Header().Get("Content-Security-Policy"))
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
		require.Equal(t, "noindex, nofollow", w.Header().Get("X-Robots-Tag"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	}
	require.Equal(t, 403, p.get("POST", "/letterbox", "Sec-Fetch-Site", "cross-site").Code)
	require.Equal(t, 405, p.get("PUT", "/letterbox").Code)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("HEAD", path, nil))
	require.Equal(t, 200, w.Code)
}

// The fields above a message are parsed as they were meant, whatever the client sends.
func FuzzTrace(f *testing.F) {
	for _, helo := range []string{"mail.example.org", "by", "[198.51.100.9]", "a.[198.51.100.9]", "x\r\nFrom: y", "helo=z", "IPv6:::1", "box.example", ""} {
		f.Add(helo, "alice@example.org", "From: a@example.org\r\n\r\nx\r\n", uint32(0xc0000219), true)
	}
	f.Add("x", "\"a b\"@[192.0.2.1]", "Received: from x by y\n\n", uint32(0x7f000001), false)
	w := diagtest.NewWorld(f)
	env := w.Env()
	f.Fuzz(func(t *testing.T, helo, from, text string, ip uint32, secured bool) {
		if checkSender(from) != nil || len(text) > 10_000 {
			return
		}
		d := &delivery{HELO: helo, From: from, ReceivedAt: env.Now(), IP: netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)})}
		if secured {
			d.Version, d.Cipher = "TLSv1.3", "TLS_AES_128_GCM_SHA256"
		}
		trace := d.traceFields("x.box.example", "aaaaaaaaaaaa", "box.example")
		require.LessOrEqual(t, len(trace), maxTrace)
		r, err := header.Analyze(t.Context(), env, header.AnalyzeRequest{
			MessageBase64: append(trace, text...), TrustedAuthservIDs: []string{"x.box.example"}, Live: new(bool),
		})
		require.NoError(t, err)
		hop := r.Hops[len(r.Hops)-1]
		require.Equal(t, d.IP, hop.IP)
		require.Equal(t, "box.example", hop.By)
		require.Equal(t, secured, *hop.TLS)
		require.Equal(t, d.Version, hop.TLSVersion)
		if from == "" {
			require.Empty(t, *r.Message.ReturnPath)
		}
		require.NotEmpty(t, d.Facts())
	})
}
