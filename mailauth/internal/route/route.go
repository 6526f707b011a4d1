// Package route reads the path of a message from its Received fields (RFC 5321 section 4.4): call [Read] with the
// message, and [Path.FindOutside] to find where the receiver's side accepted it from elsewhere.
//
// Each server adds its field above the others, so the newest comes first. Formats differ between servers, and fields
// below the receiver's first server may be forged. The package reports the fields as written, without network access
// or judgement.
package route

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/mailauth/message"
)

// MaxHops bounds the fields Received that are read, the newest first. Servers treat more than a hundred as a loop
// (RFC 5321 section 6.3).
const MaxHops = 200

// A Path is the way of a message.
type Path struct {
	Hops   []Hop // the oldest first
	Cut    int   // fields Received beyond [MaxHops]
	Border int   // index of the hop by which the message came in from outside; -1 without such a hop

	Departure time.Time // when the first server accepted the message; zero if unknown
	last      time.Time // when the last server did
}

// A Hop is a Received field with the values derived from its position.
type Hop struct {
	Received
	Index int // in the path
	Field *message.Field
	Delay time.Duration // since the last hop before that has a time
	Timed bool          // whether Delay is known
}

// Read reads the way of a message.
func Read(m *message.Message) Path {
	var p Path
	fields := m.All("Received")
	p.Cut = max(0, len(fields)-MaxHops)
	fields = fields[:len(fields)-p.Cut]
	slices.Reverse(fields)
	for i, f := range fields {
		h := Hop{Received: parse(f.Value()), Index: i, Field: f}
		if !h.Time.IsZero() {
			if h.Timed = !p.last.IsZero(); h.Timed {
				h.Delay = h.Time.Sub(p.last)
			} else {
				p.Departure = h.Time
			}
			p.last = h.Time
		}
		p.Hops = append(p.Hops, h)
	}
	p.Border = p.findBorder()
	return p
}

// Public is the address of the client if it is one of the public Internet.
func (h *Hop) Public() (netip.Addr, bool) { return h.IP, h.IP.IsValid() && !Private(h.IP) }

// Client names the client that handed the message over, for use in a sentence.
func (h *Hop) Client() string {
	switch {
	case h.From != "" && AddrIn(h.From).IsValid() && h.HELO != "":
		return h.HELO
	case h.From == "" && h.IP.IsValid():
		return h.IP.String()
	}
	return cmp.Or(h.From, "an unnamed client")
}

// Microsoft reports whether Exchange or Microsoft 365 accepted the message.
func (h *Hop) Microsoft() bool { return microsoft(h.With) }

// Server names the server that accepted the message, for use in a sentence.
func (h *Hop) Server() string { return cmp.Or(h.By, "an unnamed server") }

// Crossed reports whether the message crossed the Internet at the hop: the client has a public address, and is not of
// the server's own organization.
func (h *Hop) Crossed() bool {
	_, public := h.Public()
	by := Operator(h.By)
	return public && (by == "" || Operator(cmp.Or(h.RDNS, h.HELO)) != by)
}

// findBorder returns the index of the hop by which the message came in from outside: the newest one whose client has
// a public address and is not of the organization that received. Forwarding within one organization, with private or
// public addresses, follows it. Without such a hop it is the newest that has a public address, or -1.
func (p *Path) findBorder() int {
	org := p.Receiver()
	fallback := -1
	for i := len(p.Hops) - 1; i >= 0; i-- {
		h := &p.Hops[i]
		if _, ok := h.Public(); !ok {
			continue
		}
		if fallback < 0 {
			fallback = i
		}
		by := Operator(h.By)
		if org != "" && by != "" && by != org {
			break // from here on others wrote the fields
		}
		if org == "" || Operator(h.RDNS) != org && (h.RDNS != "" || Operator(h.HELO) != org || by != org) {
			return i
		}
	}
	return fallback
}

// Receiver returns the organizational domain of the servers that received the message: that of the newest Received
// with a public name. It is empty if a server with an internal name accepted the message from outside.
func (p *Path) Receiver() string {
	for i := len(p.Hops) - 1; i >= 0; i-- {
		h := &p.Hops[i]
		if org := Operator(h.By); org != "" {
			return org
		}
		if _, ok := h.Public(); ok {
			return ""
		}
	}
	return ""
}

// BorderHop returns the hop by which the message came in from outside, or nil.
func (p *Path) BorderHop() *Hop {
	if p.Border < 0 {
		return nil
	}
	return &p.Hops[p.Border]
}

// TotalDelay returns the time between the first and the last hop that have a time; at least two must.
func (p *Path) TotalDelay() (d time.Duration, known bool) {
	return p.last.Sub(p.Departure), slices.ContainsFunc(p.Hops, func(h Hop) bool { return h.Timed })
}

// Arrival returns when the receiving side accepted the message; zero if unknown.
func (p *Path) Arrival() time.Time {
	if h := p.BorderHop(); h != nil && !h.Time.IsZero() {
		return h.Time
	}
	return p.last
}
