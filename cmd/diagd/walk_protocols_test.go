//go:build !race && linux

package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/emersion/go-smtp"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// For the listeners of other protocols, each address of 127.0.0.0/8 is a peer of its own: 127.0.5.0/24 is the network
// that walks, and 127.0.9.1 is another that must be served.
const elsewhere = "127.0.9.1"

// walkNetworks are those that walk: one address, and addresses of a /24.
var walkNetworks = []struct {
	name  string
	from  func(i int) string
	share int // of the smallest network's
}{
	{"/32", func(int) string { return "127.0.5.1" }, 1},
	{"/24", func(i int) string { return fmt.Sprintf("127.0.5.%d", i%250+1) }, 4},
}

// dialFrom connects from an address.
func (w *walk) dialFrom(from, to string) net.Conn {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	c, err := d.DialContext(w.t.Context(), "tcp", to)
	require.NoError(w.t, err)
	require.NoError(w.t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// open opens more connections than a network may have, and returns those that were taken: where greets reports so.
func (w *walk) open(to string, from func(int) string, greets func(net.Conn) bool) (taken []net.Conn) {
	for i := range diagtest.Share(1000, 5) {
		c := w.dialFrom(from(i), to)
		if greets(c) {
			taken = append(taken, c)
			continue
		}
		c.Close()
	}
	return taken
}

// greetedBySMTP reports whether a mail server sends its greeting.
func greetedBySMTP(c net.Conn) bool {
	line, err := bufio.NewReader(c).ReadString('\n')
	return err == nil && strings.HasPrefix(line, "220 ")
}

// answeredByDNS reports whether a name server answers.
func answeredByDNS(c net.Conn) bool {
	conn := &dns.Conn{Conn: c}
	if conn.WriteMsg(new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeSOA)) != nil {
		return false
	}
	m, err := conn.ReadMsg()
	return err == nil && m.Rcode == dns.RcodeSuccess
}

// beside walks the listeners that speak other protocols than the pages, and keep nothing in the store.
func (w *walk) beside() {
	w.forgetWatches()
	w.settle()
	before := w.kept()
	w.connections()
	w.letterbox()
	w.commands()
	w.questions()
	w.callbacks()
	after := w.kept()
	for name := range after {
		if account, kind := name[0], name[1]; account == "any" || strings.HasPrefix(kind, "watch") {
			delete(before, name) // of runs of watches that had begun
			delete(after, name)
		}
	}
	assert.Equal(w.t, before, after, "what strangers send to other listeners is not kept")
}

// connections checks the bounds of listeners that distinguish the networks of this machine.
func (w *walk) connections() {
	for _, l := range []struct {
		name, at string
		bound    budget.Bound
		greets   func(net.Conn) bool
	}{
		{"letter box", w.letters, budget.Of(budget.LetterConnections), greetedBySMTP},
		{"DNS", w.zone, budget.Of(budget.DNSConnections), answeredByDNS},
	} {
		for _, n := range walkNetworks {
			taken := w.open(l.at, n.from, l.greets)
			assert.EqualValues(w.t, min(l.bound.Network*int64(n.share), max(l.bound.Network, l.bound.All/4)), len(taken),
				"%s: connections of a %s", l.name, n.name)
			others := w.dialFrom(elsewhere, l.at)
			assert.True(w.t, l.greets(others), "%s: others, while a %s has all that it may", l.name, n.name)
			others.Close()
			w.t.Logf("%-60s %-8s %d connections", l.name, n.name, len(taken))
			for _, c := range taken {
				c.Close()
			}
			until(w.t, "connections are given back", func() bool {
				c := w.dialFrom(n.from(0), l.at)
				defer c.Close()
				return l.greets(c)
			})
		}
	}
}

// address requests an address of the letter box.
func (w *walk) address(from string) string {
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.p.url+"/letterbox", nil)
	require.NoError(w.t, err)
	r.Header.Set("X-Forwarded-For", from)
	made, err := do(walkClient, r)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusSeeOther, made.status, made)
	page := get(w.t, w.p.url+made.header.Get("Location"))
	return regexp.MustCompile(`[a-z2-7]{12}@box\.example`).FindString(page.body)
}

// mail sends a message from a peer, and returns the reply of the letter box.
func (w *walk) mail(from, to string, body io.Reader) error {
	c, err := smtp.NewClientStartTLS(w.dialFrom(from, w.letters), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.SendMail("a@example.org", []string{to}, body)
}

// letter returns a message of so many bytes.
func letter(size int) io.Reader {
	line := strings.Repeat("x", 998) + "\r\n"
	body := strings.Repeat(line, size/len(line)+1)
	return io.MultiReader(strings.NewReader("From: a@example.org\r\n\r\n"), strings.NewReader(body))
}

// letterbox takes messages, large ones that stay unfinished and many small ones.
func (w *walk) letterbox() {
	for i, n := range walkNetworks {
		w.pass(time.Hour)
		w.forgetPeak()
		to := w.address(fmt.Sprintf("2001:db8:7:%x::1", i))
		var open []*smtp.Client
		var held int64
		for j := range int(budget.Of(budget.LetterConnections).Network) * n.share {
			c, err := smtp.NewClientStartTLS(w.dialFrom(n.from(j), w.letters), &tls.Config{InsecureSkipVerify: true})
			require.NoError(w.t, err)
			open = append(open, c)
			require.NoError(w.t, c.Mail("a@example.org", nil))
			require.NoError(w.t, c.Rcpt(to, nil))
			data, err := c.Data()
			require.NoError(w.t, err)
			if written, err := io.Copy(data, letter(4<<20)); err == nil { // and does not end
				held += written
			}
		}
		others := w.address("2001:db8:ffff:1::1")
		assert.NoError(w.t, w.mail(elsewhere, others, letter(4<<20)), "others, beside the messages of a %s", n.name)
		for _, c := range open {
			c.Close()
		}
		accepted := 0
		for j := range diagtest.Share(80, 4) {
			w.pass(time.Hour)
			if w.mail(n.from(j), w.address(fmt.Sprintf("2001:db8:7:%x::1", j)), letter(10)) == nil {
				accepted++
			}
		}
		others = w.address("2001:db8:ffff:2::1")
		assert.NoError(w.t, w.mail(elsewhere, others, letter(10)), "others, after the messages of a %s", n.name)
		peak := highWater(w.t, w.p.cmd.Process.Pid)
		assert.Less(w.t, peak, int64(mostMemory))
		w.t.Logf("%-60s %-8s %d MiB sent unfinished, %d small messages accepted, peak %d MiB",
			"letter box, messages", n.name, held>>20, accepted, peak>>20)
	}
}

// commands repeats commands that are valid before a message: only so many lines are answered.
func (w *walk) commands() {
	lines := []string{"AUTH PLAIN", "NONSENSE " + strings.Repeat("x", 1<<20)}
	for _, r := range routes(w.t) {
		if r.listener == "letterbox-listen" {
			lines = append(lines, strings.TrimSpace(r.method+" "+r.path))
		}
	}
	for _, line := range lines {
		c := w.dialFrom("127.0.5.1", w.letters)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range 10_000 {
				if _, err := io.WriteString(c, line+"\r\n"); err != nil {
					return
				}
			}
		}()
		require.NoError(w.t, c.SetDeadline(time.Now().Add(10*time.Second))) // some are silent for a minute and end then
		said, _ := io.Copy(io.Discard, c)
		c.Close()
		<-sent
		assert.Less(w.t, said, int64(64<<10), "%.20s", line)
	}
}

// questions floods the name server, which continues to answer others.
func (w *walk) questions() {
	for _, n := range walkNetworks {
		for i := range diagtest.Share(10_000, 10) {
			d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(n.from(i))}}
			c, err := d.DialContext(w.t.Context(), "udp", w.zone)
			require.NoError(w.t, err)
			conn := dns.Conn{Conn: c}
			require.NoError(w.t, conn.WriteMsg(new(dns.Msg).SetQuestion("spf.example.net.", dns.TypeSOA)))
			_, err = c.Write(tooLong[:1200])
			require.NoError(w.t, err)
			c.Close()
		}
		d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(elsewhere)}}
		until(w.t, "others are answered", func() bool { // datagrams are lost where a queue is full
			c, err := d.DialContext(w.t.Context(), "udp", w.zone)
			require.NoError(w.t, err)
			defer c.Close()
			require.NoError(w.t, c.SetDeadline(time.Now().Add(time.Second)))
			return answeredByDNS(c)
		})
	}
}

// callbacks checks that signed ones are accepted; unsigned ones are limited for each network.
func (w *walk) callbacks() {
	client := func(from string) *http.Client {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		return &http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
	}
	for _, n := range walkNetworks {
		w.pass(time.Hour)
		status := map[int]int{}
		for i := range diagtest.Share(2000, 10) {
			c := client(n.from(i))
			body := paidWord
			if i%100 == 99 {
				body = strings.Repeat(" ", 1<<20)
			}
			r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.paid, strings.NewReader(body))
			require.NoError(w.t, err)
			got, err := do(c, r)
			c.CloseIdleConnections()
			if err == nil { // it is closed while the client still sends
				status[got.status]++
			}
		}
		most := int(budget.Of(budget.Callbacks).Network)
		if n.share > 1 {
			most *= 8
		}
		heard := status[http.StatusUnauthorized] + status[http.StatusRequestEntityTooLarge]
		assert.LessOrEqual(w.t, heard, most, "callbacks of a %s", n.name)
		c := client(elsewhere)
		r := signed(w.t, paidWord, w.now)
		to, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.paid, r.Body)
		require.NoError(w.t, err)
		to.Header = r.Header
		got, err := do(c, to)
		c.CloseIdleConnections()
		require.NoError(w.t, err)
		assert.Equal(w.t, http.StatusNotFound, got.status, "the service that signs is heard: there is no such account")
		w.t.Logf("%-60s %-8s %s", "POST /billing/callback", n.name, statuses(status))
	}
}
