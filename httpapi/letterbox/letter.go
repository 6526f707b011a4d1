package letterbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"net/netip"
	"strings"
	"time"
)

// A letter is an address and what came of it.
type letter struct {
	Address string
	Until   time.Time // when it is forgotten
	State   state

	*delivery        // once it has arrived
	Report    string // HTML, once it is analyzed
}

// state says how far a letter is.
type state string

// The states of a letter.
const (
	waiting   state = "waiting" // for a message
	analyzing state = "analyzing"
	analyzed  state = "analyzed"
	failed    state = "failed" // the analysis did
)

// Why no address is made.
var (
	errTooMany = errors.New("ten addresses have been made for this client within an hour")
	errFull    = errors.New("the letter box is full")
)

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// localPart is the part of an address before the @. It does not tell the token, which shows the report.
func localPart(token string) string {
	sum := sha256.Sum256([]byte(token))
	return lowerBase32.EncodeToString(sum[:])[:12] // 60 bits, and easy to type
}

// client is whom an address belongs to: an IPv4 address, or an IPv6 network of a customer.
func client(ip netip.Addr) netip.Prefix {
	bits := 32
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // zero for the zero address, which all share that cannot be told apart
	return p
}

// create makes an address for a client, and returns its token.
func (b *Box) create(ip netip.Addr) (token string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	b.sweep(now)
	c := client(ip)
	made := b.clients[c]
	for len(made) > 0 && now.Sub(made[0]) >= window {
		made = made[1:]
	}
	switch {
	case len(made) >= perHour:
		return "", errTooMany
	case b.waiting >= maxWaiting, made == nil && len(b.clients) >= maxClients:
		return "", errFull
	}
	b.clients[c] = append(made, now)
	token = strings.ToLower(rand.Text())
	local := localPart(token)
	b.letters[local] = &letter{Address: local + "@" + b.Domain.String(), Until: now.Add(waitTime), State: waiting}
	b.waiting++
	return token, nil
}

// sweep forgets what is over, at most once a minute.
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
	for c, made := range b.clients {
		if now.Sub(made[len(made)-1]) >= window {
			delete(b.clients, c)
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

// claim takes an address for the analysis of a message that has arrived; false if it waits for none any more.
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

// keep stores what came of the analysis, and forgets the oldest reports where there are too many.
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
		oldest := ""
		for other, o := range b.letters {
			if (o.State == analyzed || o.State == failed) && (oldest == "" || o.Until.Before(b.letters[oldest].Until)) {
				oldest = other
			}
		}
		if oldest == "" {
			return
		}
		b.forget(oldest, b.letters[oldest])
	}
}
