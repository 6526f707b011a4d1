package letterbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/mail"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/mailauth/header"
	"github.com/diagkit/diagkit/metering"
)

// A letter is an address and the result of its message.
type letter struct {
	Address string
	Until   time.Time    // when it is forgotten
	network netip.Prefix // of the client that requested it, the largest
	State   state

	*delivery        // once it has arrived
	Report    string // HTML, once it is analyzed
}

// state returns the progress of a letter.
type state string

// The states of a letter.
const (
	waiting   state = "waiting" // for a message
	analyzing state = "analyzing"
	analyzed  state = "analyzed"
	failed    state = "failed" // the analysis did
)

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// localPart returns the part of an address before the @. It does not reveal the token, which shows the report.
func localPart(token string) string {
	sum := sha256.Sum256([]byte(token))
	return lowerBase32.EncodeToString(sum[:])[:12] // 60 bits, and easy to type
}

// create makes an address for a client, and returns its token; it is false if too many have been made for its networks
// within an hour. Where too many wait, one is forgotten: the oldest of the
// network that has most.
func (b *Box) create(ip netip.Addr) (token string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	b.sweep(now)
	if !b.Budget.LetterAddresses.Take(ip, now).Allowed {
		return "", false
	}
	if b.waiting >= maxWaiting {
		b.makeRoom((*letter).waits)
	}
	token = strings.ToLower(rand.Text())
	local := localPart(token)
	networks := metering.Networks(ip)
	b.letters[local] = &letter{Address: local + "@" + b.Domain.String(), Until: now.Add(waitTime), State: waiting,
		network: networks[len(networks)-1]}
	b.waiting++
	return token, true
}

// waits is 1 for a letter that waits for a message.
func (l *letter) waits() int {
	if l.State == waiting {
		return 1
	}
	return 0
}

// kept is the size of a letter that is analyzed, or whose analysis failed.
func (l *letter) kept() int {
	if l.State == analyzed || l.State == failed {
		return 1 + len(l.Report)
	}
	return 0
}

// makeRoom forgets the oldest letter of the network that has most, of those that have a size. It is false if none has.
func (b *Box) makeRoom(size func(*letter) int) bool {
	type share struct {
		size   int
		oldest string // local part
	}
	networks, largest := map[netip.Prefix]share{}, share{}
	for local, l := range b.letters {
		n := size(l)
		if n == 0 {
			continue
		}
		s := networks[l.network]
		if s.size += n; s.oldest == "" || l.Until.Before(b.letters[s.oldest].Until) {
			s.oldest = local
		}
		networks[l.network] = s
	}
	for _, s := range networks {
		older := largest.size > 0 && s.size == largest.size &&
			b.letters[s.oldest].Until.Before(b.letters[largest.oldest].Until)
		if s.size > largest.size || older {
			largest = s
		}
	}
	if largest.oldest == "" {
		return false
	}
	b.forget(largest.oldest, b.letters[largest.oldest])
	return true
}

// sweep removes expired letters, at most once a minute.
func (b *Box) sweep(now time.Time) {
	if now.Sub(b.swept) < time.Minute {
		return
	}
	b.swept = now
	for local, l := range b.letters {
		if !now.Before(l.Until) && l.State != analyzing {
			b.forget(local, l)
		}
	}
}

func (b *Box) forget(local string, l *letter) {
	delete(b.letters, local)
	b.reports -= len(l.Report)
	if l.State == waiting {
		b.waiting--
	}
}

// open returns the letter of a token as it is now.
func (b *Box) open(token string) (l letter, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.letters[localPart(token)]
	if found == nil || !b.Clock().Before(found.Until) {
		return letter{}, false
	}
	return *found, true
}

// expected is the letter of an address that waits for a message; nil if it does not.
func (b *Box) expected(local string) *letter {
	if l := b.letters[local]; l != nil && l.State == waiting && b.Clock().Before(l.Until) {
		return l
	}
	return nil
}

// expects reports whether an address waits for a message.
func (b *Box) expects(local string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.expected(local) != nil
}

// claim takes an address for the analysis of a message that has arrived; false if it no longer waits for one.
func (b *Box) claim(local string, d *delivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.expected(local)
	if l == nil || b.ctx.Err() != nil {
		return false
	}
	b.working.Add(1)
	b.waiting--
	l.State, l.delivery, l.Until = analyzing, d, d.At.Add(reportTime)
	return true
}

// keep stores the result of the analysis. If there are too many reports, it removes the oldest of the network that
// has most.
func (b *Box) keep(local, report string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.letters[local]
	if l.State = analyzed; report == "" {
		l.State = failed
	}
	l.Report = report
	b.reports += len(report)
	for b.reports > maxReportBytes || len(b.letters)-b.waiting > maxReports {
		if !b.makeRoom((*letter).kept) {
			return
		}
	}
}

// A delivery is what the session knows of a message.
type delivery struct {
	IP      netip.Addr // zero if the listener knows none
	HELO    string     // as sent
	From    string     // of the envelope, without brackets; empty for bounces
	Version string     // of TLS, such as TLSv1.3; empty for clear text
	Cipher  string
	At      time.Time
	Size    int
	Bare    int // line feeds without a carriage return before them, and the reverse
}

// take analyzes a message for an address, asynchronously to the session, if there is room for that. It finally
// releases what the message holds.
func (b *Box) take(local string, d *delivery, text []byte, held *metering.NetworkHold) error {
	leave, ok := b.Budget.LetterQueue.Take(d.IP)
	if !ok {
		held.Release()
		return errBusy
	}
	d.Size = len(text)
	d.Bare = bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) - 2*bytes.Count(text, []byte("\r\n"))
	if !b.claim(local, d) {
		leave()
		held.Release()
		return errUnknown
	}
	go func() {
		defer b.working.Done()
		b.running <- struct{}{}
		ctx, cancel := context.WithTimeout(b.ctx, analysisTime)
		var report string // empty if the analysis failed
		if p := diag.Catch(func() { report = b.report(ctx, local, d, text) }); p != nil {
			b.Log.Error("panic while a message was analyzed", "panic", p.Value, "stack", string(p.Stack))
		}
		b.keep(local, report)
		cancel()
		<-b.running
		leave()
		held.Release()
	}()
	return nil
}

// report is the report on a message as HTML; empty if the analysis failed.
func (b *Box) report(ctx context.Context, local string, d *delivery, text []byte) string {
	// A receiver removes results in its own name (RFC 8601 section 5). That would break signatures which cover them,
	// so each message gets a name of its own, which no sender can have known.
	id, domain := strings.ToLower(rand.Text())+"."+b.Domain.String(), b.Domain.String()
	r, err := header.Analyze(ctx, b.Env, header.AnalyzeRequest{
		MessageBase64: append(d.trace(id, local, domain), text...), TrustedAuthservIDs: []string{id},
	})
	if err != nil {
		b.Log.Warn("analyzing a message", "error", err)
		return ""
	}
	var page strings.Builder
	o := render.HTMLOptions{Title: "mail/header-analyze", Level: 2, Docs: "/docs/mail/header-analyze"}
	if err := render.HTML(&page, r.ForSender().View(), o); err != nil {
		b.Log.Error("writing a report", "error", err)
		return ""
	}
	return page.String()
}

// trace returns what a receiving server writes above a message: Return-Path, its results about the connection (RFC
// 8601 section 2.7.7 leaves other methods open), and Received (RFC 5321 section 4.4). The address of the client comes
// first in each place, so that nothing that the client said is mistaken for it.
func (d *delivery) trace(id, local, domain string) []byte {
	from := "<>"
	if d.From != "" {
		from = (&mail.Address{Address: d.From}).String()
	}
	literal, helo, with, secured := "[unknown]", "", "ESMTP", ""
	switch {
	case d.IP.Is4():
		literal = "[" + d.IP.String() + "]"
	case d.IP.Is6():
		literal = "[IPv6:" + d.IP.String() + "]"
	}
	if senderDomain.MatchString(d.HELO) {
		helo = " helo=" + d.HELO
	}
	result := "none"
	if d.Version != "" {
		result, with = "pass", "ESMTPS"
		secured = fmt.Sprintf("\t(using %s with cipher %s)\r\n", d.Version, d.Cipher)
	}
	return fmt.Appendf(nil, "Return-Path: %s\r\nAuthentication-Results: %s;\r\n\tx-tls=%s smtp.remote-ip=%s\r\n"+
		"Received: from %s (%[5]s%s)\r\n\tby %s with %s id %s\r\n%s\tfor <%[9]s@%[7]s>; %[11]s\r\n",
		from, id, result, d.IP, literal, helo, domain, with, local, secured, d.At.UTC().Format(time.RFC1123Z))
}

// Facts returns the facts of the session, for the page: labels and values.
func (d *delivery) Facts() [][2]string {
	if d == nil {
		return nil
	}
	secured := cmp.Or(view.If(d.Version != "", d.Version+", "+d.Cipher), "no: the message was sent in clear text")
	list := [][2]string{
		{"received", d.At.UTC().Format("2006-01-02 15:04:05 UTC")}, {"from address", d.IP.String()}, {"HELO name", d.HELO},
		{"envelope sender", cmp.Or(d.From, "<> (a bounce)")}, {"TLS", secured}, {"size", diag.Count(d.Size, "byte")},
	}
	if d.Bare > 0 { // RFC 5321 section 2.3.8
		list = append(list, [2]string{"line ends", fmt.Sprintf("CR or LF alone, which SMTP forbids: %d", d.Bare)})
	}
	for i := range list {
		list[i][1] = render.Printable(diag.Clip(list[i][1], 300))
	}
	return list
}
