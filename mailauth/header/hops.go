package header

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/message"
)

// maxHops bounds the fields Received that are read, the newest first. Servers take more than a hundred for a loop
// (RFC 5321 section 6.3).
const maxHops = 200

// A hop is a field Received and what follows from its place.
type hop struct {
	received
	field *message.Field
	delay time.Duration // since the last hop before that has a time
	timed bool          // whether delay is known
}

// public is the address of the client if it is one of the public Internet.
func (h *hop) public() (netip.Addr, bool) { return h.ip, h.ip.IsValid() && !isPrivate(h.ip) }

// client names who handed the message over, for a sentence.
func (h *hop) client() string {
	switch {
	case h.from != "" && addrIn(h.from).IsValid() && h.helo != "" && h.helo != h.from:
		return h.helo
	case h.from != "":
		return h.from
	case h.ip.IsValid():
		return h.ip.String()
	}
	return "an unnamed client"
}

// isMicrosoft reports whether Exchange or Microsoft 365 took the message.
func (h *hop) isMicrosoft() bool {
	return strings.HasPrefix(strings.ToLower(h.with), "microsoft smtp server")
}

// server names who took the message, for a sentence.
func (h *hop) server() string {
	if h.by != "" {
		return h.by
	}
	return "an unnamed server"
}

// readHops reads the way of the message, the oldest hop first.
func (e *evidence) readHops() {
	fields := e.msg.All("Received")
	if len(fields) > maxHops {
		e.hopsCut = len(fields) - maxHops
		fields = fields[:maxHops]
	}
	slices.Reverse(fields)
	var last time.Time
	for _, f := range fields {
		h := hop{received: parseReceived(f.Value()), field: f}
		if !h.time.IsZero() {
			if !last.IsZero() {
				h.delay, h.timed = h.time.Sub(last), true
			}
			last = h.time
		}
		e.hops = append(e.hops, h)
	}
	e.border = e.findBorder()
}

// findBorder returns the index of the hop by which the message came in from outside: the newest one whose client has
// a public address and is not of the organization that received. Forwarding within one organization, with addresses
// that are private or not, lies behind it. Without such a hop it is the newest that has a public address, or -1.
func (e *evidence) findBorder() int {
	org := e.receiver()
	fallback := -1
	for i := len(e.hops) - 1; i >= 0; i-- {
		h := &e.hops[i]
		if _, ok := h.public(); !ok {
			continue
		}
		if fallback < 0 {
			fallback = i
		}
		by := operator(h.by)
		if org != "" && by != "" && by != org {
			break // from here on others wrote
		}
		inside := org != "" && (operator(h.rdns) == org || h.rdns == "" && operator(h.helo) == org && by == org)
		if !inside {
			return i
		}
	}
	return fallback
}

// receiver is the organizational domain of the servers that received the message: that of the newest Received with
// a public name. It is empty if a server with an internal name took the message from outside.
func (e *evidence) receiver() string {
	for i := len(e.hops) - 1; i >= 0; i-- {
		h := &e.hops[i]
		if org := operator(h.by); org != "" {
			return org
		}
		if _, ok := h.public(); ok {
			return ""
		}
	}
	return ""
}

// outside returns the hop by which the message came in from outside, or nil.
func (e *evidence) outside() *hop {
	if e.border < 0 {
		return nil
	}
	return &e.hops[e.border]
}

// totalDelay is the time between the first and the last hop that have a time; at least two must.
func (e *evidence) totalDelay() (d time.Duration, known bool) {
	var first, last time.Time
	n := 0
	for i := range e.hops {
		if t := e.hops[i].time; !t.IsZero() {
			if n == 0 {
				first = t
			}
			last = t
			n++
		}
	}
	return last.Sub(first), n > 1
}

// before returns the hop before another one, or nil.
func (e *evidence) before(h *hop) *hop {
	for i := range e.hops {
		if &e.hops[i] == h && i > 0 {
			return &e.hops[i-1]
		}
	}
	return nil
}
