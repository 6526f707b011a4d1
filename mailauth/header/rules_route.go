package header

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/route"
)

const (
	// maxAhead is how far Date may lie after the time of arrival: clocks of devices are wrong by minutes.
	maxAhead = 15 * time.Minute
	// maxBehind is how far Date may lie before it: the first server accepts a message minutes after it was written,
	// and a clock or a time zone that is wrong is wrong by an hour or more.
	maxBehind = 90 * time.Minute
	// longDelay is a delay that users complain about.
	longDelay = time.Hour
	// maxSkew is the clock error that is tolerated without a finding (RFC 6376 section 3.5 asks verifiers to allow
	// for it).
	maxSkew = 5 * time.Minute
	// maxLoop is the number of hops beyond which servers assume a mail loop (RFC 5321 section 6.3).
	maxLoop = 100
)

var routeRules = rule.Rules[*evidence]{{
	Code: "header.received.missing", Severity: diag.Info, Ref: "RFC 5321 section 4.4",
	Title:       "No Received field: the path of the message is unknown",
	Requirement: "Received fields show the path of the message",
	Advice: "Copy the header from the recipient's mailbox. A copy in the sender's Sent folder has " +
		"no Received fields.",
	Fails: failsIf("", func(e *evidence) bool { return len(e.path.Hops) == 0 },
		"The header has no Received field, which every server on the path adds."),
}, {
	Code: "header.received.loop", Severity: diag.Error, Weight: 5, DependsOn: []diag.Code{"header.received.missing"},
	Ref: "RFC 5321 section 6.3", Title: "More than 100 hops: the message was in a loop",
	Requirement: "The message was not in a mail loop",
	Advice:      "Find the servers that appear again and again, and correct the forwarding or routing between them.",
	Fails: func(e *evidence) rule.Failures {
		n := len(e.path.Hops) + e.path.Cut
		return rule.FailIf(n > maxLoop, "The header has %d Received fields.", n)
	},
}, {
	Code: "header.date.invalid", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"header.date.missing"},
	Ref: "RFC 5322 section 3.3", Title: "Date field cannot be parsed", Requirement: "The Date field can be parsed",
	Advice: "Have the sending program write the date like this: Sun, 1 Nov 2026 09:00:04 +0000.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.dateErr != nil, "Date is %s: %v.", quoted(e.msg.Value("Date")), e.dateErr).About("Date")
	},
}, {
	Code: "header.date.future", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"header.date.invalid"},
	Ref: "RFC 5322 section 3.6.1", Title: "Date is in the future",
	Requirement: "The Date is not later than the arrival",
	Advice: "Correct the clock of the sending device. Spammers also use future dates to stay at the " +
		"top of the inbox.",
	Fails: func(e *evidence) rule.Failures {
		t, arrived := e.date.Time, e.path.Departure
		switch {
		case !arrived.IsZero() && t.After(arrived.Add(maxAhead)):
			return rule.Fail("Date is %s, which is %s after the first server received the message at %s.", clock(t),
				phrase.Duration(t.Sub(arrived)), clock(arrived)).About("Date")
		case t.After(e.now.Add(maxAhead)):
			return rule.Fail("Date is %s, which is %s ahead of the clock.", clock(t),
				phrase.Duration(t.Sub(e.now))).About("Date")
		}
		return nil
	},
}, {
	Code: "header.date.past", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"header.date.future"},
	Ref: "RFC 5322 section 3.6.1", Title: "Date is hours or days before the message was sent",
	Requirement: "The Date is close to the time of sending",
	Advice: "Correct the clock or the time zone of the sending device, unless an old message was sent again or " +
		"waited in the outbox.",
	When: func(e *evidence) bool { return !e.path.Departure.IsZero() },
	Fails: func(e *evidence) rule.Failures {
		t, arrived := e.date.Time, e.path.Departure
		return rule.FailIf(!arrived.IsZero() && t.Before(arrived.Add(-maxBehind)),
			"Date is %s, which is %s before the first server received the message at %s.",
			clock(t), phrase.Duration(arrived.Sub(t)), clock(arrived)).About("Date")
	},
}, {
	Code: "header.hop.time.backwards", Severity: diag.Warning, Weight: 2,
	DependsOn: []diag.Code{"header.received.missing"}, Ref: "RFC 5321 section 4.4",
	Title: "Time runs backwards between two servers", Requirement: "Times increase from server to server",
	Advice: "Correct the clock of the server that is wrong. If the older field is not from a server that you know, " +
		"it may be forged.",
	When: anyHop(func(h *route.Hop) bool { return h.Timed }),
	Fails: eachHop(func(e *evidence, h *route.Hop) (string, bool) {
		return fmt.Sprintf("%s received the message %s before the server that handed it over: one of their clocks is wrong.",
			phrase.Quote(h.Server()), phrase.Duration(-h.Delay)), h.Timed && h.Delay <= -maxSkew
	}),
}, {
	Code: "header.hop.delay.long", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"header.received.missing"},
	Ref: "RFC 5321 section 4.5.4.1", Title: "Delivery was delayed for an hour or more",
	Requirement: "No hop took an hour or more",
	Advice: "Check the log of the server that handed the message over for the reason; the id of the hop identifies " +
		"the message.",
	When: anyHop(func(h *route.Hop) bool { return h.Timed }),
	Fails: eachHop(func(e *evidence, h *route.Hop) (string, bool) {
		return delayText(&e.path, h), h.Timed && h.Delay >= longDelay
	}),
}, {
	Code: "header.hop.tls.missing", Severity: diag.Warning, Weight: 4,
	DependsOn: []diag.Code{"header.received.missing"}, Ref: "RFC 3207, RFC 3848 section 2",
	Title:       "Message crossed the Internet without TLS",
	Requirement: "The message was encrypted with TLS wherever it crossed the Internet",
	Advice:      "Enable STARTTLS on both servers. With MTA-STS or DANE the receiving domain can require it.",
	When:        anyHop(func(h *route.Hop) bool { return h.TLS != nil && h.Crossed() }),
	Fails: eachHop(func(e *evidence, h *route.Hop) (string, bool) {
		return fmt.Sprintf("%s received the message from %s (%s) with %s, unencrypted: it could be read in transit.",
				phrase.Quote(h.Server()), phrase.Quote(h.Client()), h.IP, phrase.Quote(h.With)),
			h.TLS != nil && !*h.TLS && h.Crossed()
	}),
}, {
	Code: "header.hop.tls.version", Severity: diag.Warning, Weight: 2, Fact: reach.OldTLS,
	DependsOn: []diag.Code{"header.received.missing"}, Ref: "RFC 8996 sections 4 and 5",
	Title: "Hop used an outdated TLS version", Requirement: "No hop used an outdated TLS version",
	Advice: "Enable TLS 1.2 and 1.3 on both servers.",
	When:   anyHop(func(h *route.Hop) bool { return h.TLSVersion != "" && h.Crossed() }),
	Fails: eachHop(func(e *evidence, h *route.Hop) (string, bool) {
		return fmt.Sprintf("%s received the message from %s with %s.", phrase.Quote(h.Server()), phrase.Quote(h.Client()),
			h.TLSVersion), h.WeakTLS() && h.Crossed()
	}),
}, {
	Code: "header.hop.helo.receiver", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"header.received.missing"}, Ref: "RFC 5321 section 4.1.4",
	Title:       "Client used the receiving server's own name in HELO",
	Requirement: "No client used the receiving server's own name in HELO",
	Advice:      "Reject outside clients that use your own server names in HELO. Legitimate mail does not do that.",
	When:        func(e *evidence) bool { h := e.path.BorderHop(); return h != nil && h.HELO != "" },
	Fails: func(e *evidence) rule.Failures {
		h := e.path.BorderHop()
		forged := route.Operator(h.HELO) != "" && strings.EqualFold(h.HELO, h.By)
		return rule.FailIf(forged, "The client at %s introduced itself as %s, which is the name of the server that "+
			"received the message.", h.IP, phrase.Quote(h.HELO))
	},
}, {
	Code: "header.hop.address.impossible", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"header.received.missing"}, Ref: "RFC 5321 section 4.1.3",
	Title:       "Received field contains an impossible IP address",
	Requirement: "No Received field contains an impossible IP address",
	Advice:      "Treat that field and all fields below it as forged by the sender.",
	Fails: eachHop(func(e *evidence, h *route.Hop) (string, bool) {
		bad := impossibleAddress(h.Field.Value())
		return fmt.Sprintf("The Received field in line %d contains the address [%s].", h.Field.Line,
			phrase.Quote(bad)), bad != ""
	}),
}}

// eachHop makes a rule about each hop, the newest first, from a function that describes the fault of one.
func eachHop(wrong func(*evidence, *route.Hop) (string, bool)) func(*evidence) rule.Failures {
	return func(e *evidence) (all rule.Failures) {
		for i := range slices.Backward(e.path.Hops) {
			h := &e.path.Hops[i]
			text, is := wrong(e, h)
			all = append(all, rule.FailIf(is, "%s", text).About(clip(h.Server()))...)
		}
		return all
	}
}

func anyHop(is func(*route.Hop) bool) func(*evidence) bool {
	return func(e *evidence) bool {
		return slices.ContainsFunc(e.path.Hops, func(h route.Hop) bool { return is(&h) })
	}
}

func delayText(p *route.Path, h *route.Hop) string {
	text := fmt.Sprintf("The message waited %s before %s received it", phrase.Duration(h.Delay), phrase.Quote(h.Server()))
	if h.Index > 0 && p.Hops[h.Index-1].By != "" {
		text += " from " + phrase.Quote(p.Hops[h.Index-1].By)
	}
	if total, known := p.TotalDelay(); known && len(p.Hops) > 2 {
		text += "; the whole delivery took " + phrase.Duration(total)
	}
	text += "."
	if h.Index == p.Border {
		text += " This is where the receiving side took it from outside: typical causes are greylisting, a full queue at " +
			"the sender, or a server that was down."
	}
	return text
}

// impossibleAddress returns a text in brackets that looks like an IPv4 address but has a number above 255.
func impossibleAddress(value string) string {
	for rest := value; ; {
		_, behind, ok := strings.Cut(rest, "[")
		if !ok {
			return ""
		}
		inner, _, closed := strings.Cut(behind[:min(len(behind), len("255.255.255.2555]"))], "]")
		rest = behind
		if !closed || strings.Count(inner, ".") != 3 || strings.Trim(inner, "0123456789.") != "" {
			continue
		}
		if !route.AddrIn(inner).IsValid() {
			return inner
		}
	}
}
