package letterbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"github.com/diagkit/diagkit/diag/phrase"
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
	Address   string
	ExpiresAt time.Time    // when it is forgotten
	network   netip.Prefix // of the client that requested it, the largest
	State     state

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

// newAddress makes an address for a client, and returns its token; it is false if too many have been made for its
// networks within an hour. Where too many wait, one is forgotten: the oldest of the network that has most.
func (b *Box) newAddress(ip netip.Addr) (token string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	b.sweep(now)
	if !b.Budget.LetterAddresses.Take(ip, now).Allowed {
		return "", false
	}
	if b.waitingCount >= maxWaiting {
		b.evictOldest((*letter).waitingCount)
	}
	token = strings.ToLower(rand.Text())
	local := localPart(token)
	networks := metering.Networks(ip)
	b.letters[local] = &letter{Address: local + "@" + b.Domain.String(), ExpiresAt: now.Add(waitingLifetime),
		State:   waiting,
		network: networks[len(networks)-1]}
	b.waitingCount++
	return token, true
}

// waitingCount is 1 for a letter that waits for a message, and 0 for others.
func (l *letter) waitingCount() int {
	if l.State == waiting {
		return 1
	}
	return 0
}

// reportSize is the size of a letter that is analyzed, or whose analysis failed.
func (l *letter) reportSize() int {
	if l.State == analyzed || l.State == failed {
		return 1 + len(l.Report)
	}
	return 0
}

// evictOldest forgets the oldest letter of the network that has most, of those that have a size. It is false if none
// has.
func (b *Box) evictOldest(size func(*letter) int) bool {
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
		if s.size += n; s.oldest == "" || l.ExpiresAt.Before(b.letters[s.oldest].ExpiresAt) {
			s.oldest = local
		}
		networks[l.network] = s
	}
	for _, s := range networks {
		older := largest.size > 0 && s.size == largest.size &&
			b.letters[s.oldest].ExpiresAt.Before(b.letters[largest.oldest].ExpiresAt)
		if s.size > largest.size || older {
			largest = s
		}
	}
	if largest.oldest == "" {
		return false
	}
	b.deleteLetter(largest.oldest, b.letters[largest.oldest])
	return true
}

// sweep removes expired letters, at most once a minute.
func (b *Box) sweep(now time.Time) {
	if now.Sub(b.sweptAt) < time.Minute {
		return
	}
	b.sweptAt = now
	for local, l := range b.letters {
		if !now.Before(l.ExpiresAt) && l.State != analyzing {
			b.deleteLetter(local, l)
		}
	}
}

func (b *Box) deleteLetter(local string, l *letter) {
	delete(b.letters, local)
	b.reportBytes -= len(l.Report)
	if l.State == waiting {
		b.waitingCount--
	}
}

// lookUp returns the letter of a token as it is now.
func (b *Box) lookUp(token string) (l letter, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.letters[localPart(token)]
	if found == nil || !b.Clock().Before(found.ExpiresAt) {
		return letter{}, false
	}
	return *found, true
}

// waitingLetter is the letter of an address that waits for a message; nil if it does not.
func (b *Box) waitingLetter(local string) *letter {
	if l := b.letters[local]; l != nil && l.State == waiting && b.Clock().Before(l.ExpiresAt) {
		return l
	}
	return nil
}

// isWaiting reports whether an address waits for a message.
func (b *Box) isWaiting(local string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waitingLetter(local) != nil
}

// startAnalysis takes an address for the analysis of a message that has arrived; false if it no longer waits for one.
func (b *Box) startAnalysis(local string, d *delivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.waitingLetter(local)
	if l == nil || b.ctx.Err() != nil {
		return false
	}
	b.pending.Add(1)
	b.waitingCount--
	l.State, l.delivery, l.ExpiresAt = analyzing, d, d.ReceivedAt.Add(reportLifetime)
	return true
}

// storeReport stores the result of the analysis. If there are too many reports, it removes the oldest of the network
// that has most.
func (b *Box) storeReport(local, report string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.letters[local]
	if l.State = analyzed; report == "" {
		l.State = failed
	}
	l.Report = report
	b.reportBytes += len(report)
	for b.reportBytes > maxReportBytes || len(b.letters)-b.waitingCount > maxReports {
		if !b.evictOldest((*letter).reportSize) {
			return
		}
	}
}

// A delivery is what the session knows of a message.
type delivery struct {
	IP           netip.Addr // zero if the listener knows none
	HELO         string     // as sent
	From         string     // of the envelope, without brackets; empty for bounces
	Version      string     // of TLS, such as TLSv1.3; empty for clear text
	Cipher       string
	ReceivedAt   time.Time
	Size         int
	BareLineEnds int // line feeds without a carriage return before them, and the reverse
}

// accept analyzes a message for an address, asynchronously to the session, if there is room for that. It finally
// releases what the message holds.
func (b *Box) accept(local string, d *delivery, text []byte, held *metering.NetworkHold) error {
	dequeue, ok := b.Budget.LetterQueue.Take(d.IP)
	if !ok {
		held.Release()
		return errBusy
	}
	d.Size = len(text)
	d.BareLineEnds = bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) -
		2*bytes.Count(text, []byte("\r\n"))
	if !b.startAnalysis(local, d) {
		dequeue()
		held.Release()
		return errUnknown
	}
	go func() {
		defer b.pending.Done()
		b.analyses <- struct{}{}
		ctx, cancel := context.WithTimeout(b.ctx, maxAnalysisTime)
		var report string // empty if the analysis failed
		if p := diag.Catch(func() { report = b.analyze(ctx, local, d, text) }); p != nil {
			b.Log.Error("panic while a message was analyzed", "panic", p.Value, "stack", string(p.Stack))
		}
		b.storeReport(local, report)
		cancel()
		<-b.analyses
		dequeue()
		held.Release()
	}()
	return nil
}

// analyze is the report on a message as HTML; empty if the analysis failed.
func (b *Box) analyze(ctx context.Context, local string, d *delivery, text []byte) string {
	// A receiver removes results in its own name (RFC 8601 section 5). That would break signatures which cover them,
	// so each message gets a name of its own, which no sender can have known.
	id, domain := strings.ToLower(rand.Text())+"."+b.Domain.String(), b.Domain.String()
	r, err := header.Analyze(ctx, b.Env, header.AnalyzeRequest{
		MessageBase64: append(d.traceFields(id, local, domain), text...), TrustedAuthservIDs: []string{id},
	})
	if err != nil {
		b.Log.Warn("analyzing a message", "error", err)
		return ""
	}
	var page strings.Builder
	o := render.HTMLOptions{Title: "mail/header-analyze", Level: 2, Docs: "/docs/findings/"}
	if err := render.HTML(&page, r.ForSender().View(), o); err != nil {
		b.Log.Error("writing a report", "error", err)
		return ""
	}
	return page.String()
}

// traceFields returns what a receiving server writes above a message: Return-Path, its results about the connection
// (RFC 8601 section 2.7.7 leaves other methods open), and Received (RFC 5321 section 4.4). The address of the client
// comes first in each place, so that nothing that the client said is mistaken for it.
func (d *delivery) traceFields(id, local, domain string) []byte {
	from := "<>"
	if d.From != "" {
		from = (&mail.Address{Address: d.From}).String()
	}
	literal, helo, with, tlsNote := "[unknown]", "", "ESMTP", ""
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
		tlsNote = fmt.Sprintf("\t(using %s with cipher %s)\r\n", d.Version, d.Cipher)
	}
	return fmt.Appendf(nil, "Return-Path: %s\r\nAuthentication-Results: %s;\r\n\tx-tls=%s smtp.remote-ip=%s\r\n"+
		"Received: from %s (%[5]s%s)\r\n\tby %s with %s id %s\r\n%s\tfor <%[9]s@%[7]s>; %[11]s\r\n",
		from, id, result, d.IP, literal, helo, domain, with, local, tlsNote, d.ReceivedAt.UTC().Format(time.RFC1123Z))
}

// Facts returns the facts of the session, for the page: labels and values.
func (d *delivery) Facts() [][2]string {
	if d == nil {
		return nil
	}
	tlsFact := cmp.Or(view.TextIf(d.Version != "", d.Version+", "+d.Cipher), "none: the message was sent in clear text")
	list := [][2]string{
		{"received", d.ReceivedAt.UTC().Format("2006-01-02 15:04:05 UTC")}, {"from address", d.IP.String()},
		{"HELO name", d.HELO},
		{"envelope sender", cmp.Or(d.From, "<> (a bounce)")}, {"TLS", tlsFact}, {"size", phrase.Count(d.Size, "byte")},
	}
	if d.BareLineEnds > 0 { // RFC 5321 section 2.3.8
		list = append(list, [2]string{"line ends", fmt.Sprintf("CR or LF alone, which SMTP forbids: %d", d.BareLineEnds)})
	}
	for i := range list {
		list[i][1] = render.Printable(phrase.Clip(list[i][1], 300))
	}
	return list
}
