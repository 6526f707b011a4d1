package header

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/message"
)

// claims are what a message says of itself below the outside hop. Nobody vouches for it, so it explains findings,
// and never decides one.
type claims struct {
	// forwarders are the organizational domains of servers that say that they took the message from elsewhere.
	forwarders []string
	// forwarded says that a field tells of forwarding without naming a server: Resent-From, X-Forwarded-To and such.
	forwarded bool

	list bool // it came through a mailing list
}

// forwards reports whether the servers of an organization may have passed the message on.
func (c *claims) forwards(org string) bool {
	return c.forwarded || c.list || slices.Contains(c.forwarders, org)
}

// forwardingFields are set by servers and programs that pass a message on.
var forwardingFields = []string{"Resent-From", "X-Forwarded-To", "X-Forwarded-For", "X-Forwarded-Encrypted",
	"X-Resent-For", "X-Loop", "X-MS-Exchange-ForwardingLoop", "X-Original-Sender"}

// claims reads what a message says of itself.
func (e *evidence) claims(in *liveInput) claims {
	c := claims{list: e.msg.First("List-Id") != nil || e.msg.First("List-Post") != nil}
	c.forwarded = slices.ContainsFunc(forwardingFields, func(name string) bool { return e.msg.First(name) != nil })
	for i := range in.relays[:min(len(in.relays), maxOwnHops)] {
		r := &in.relays[i]
		by, sender := organizational(r.by), organizational(r.from)
		if sender == "" {
			sender = organizational(r.helo)
		}
		if by != "" && sender != by && r.ip.IsValid() && !isPrivate(r.ip) && !r.authUser {
			c.forwarders = append(c.forwarders, by)
		}
	}
	// Sender rewriting: SRS0=hash=time=domain=local@forwarder.
	if v := in.envelope; v != nil && (hasPrefixFold(v.address, "SRS0") || hasPrefixFold(v.address, "SRS1")) {
		c.forwarders = append(c.forwarders, organizational(v.address[strings.LastIndexByte(v.address, '@')+1:]))
	}
	return c
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// recorded is a result that a server noted.
type recorded struct {
	authServID string
	trusted    bool // the caller trusts the server, and it can have written the field
	above      bool // the field stands where the receiver's side wrote
	position   int  // of the field
	method     string
	result     string
	domain     string
	selector   string
}

// maxRecorded bounds the results that are compared, of the topmost fields.
const maxRecorded = 100

// recorded lists the results in Authentication-Results fields, the topmost first.
func (e *evidence) recorded() (list []recorded) {
	for i := range e.authFields {
		a := &e.authFields[i]
		if a.header == nil {
			continue
		}
		trusted, _ := e.trusts(a.id)
		for j := range a.header.Results {
			r := &a.header.Results[j]
			if len(list) == maxRecorded {
				return list
			}
			list = append(list, recorded{a.header.AuthservID, trusted && !a.foreign, !a.foreign, a.position, r.Method,
				r.Value, r.Domain(), r.Property("header.s")})
		}
	}
	return list
}

// senderHint is the address that the receiver noted as that of the sender; invalid if it noted none.
func (e *evidence) senderHint() netip.Addr {
	for i := range e.authFields {
		a := &e.authFields[i]
		switch {
		case a.foreign:
		case a.spf != nil:
			if ip, ok := a.spf.ClientIP(); ok {
				return ip.Unmap()
			}
		default:
			if ip := notedAddress(a.header); ip.IsValid() {
				return ip
			}
		}
	}
	return netip.Addr{}
}

// notedAddress finds the address of the sender among the results: smtp.remote-ip and policy.iprev of iprev (RFC 8601
// section 2.7.3), and the comment of Microsoft 365.
func notedAddress(h *authres.Header) netip.Addr {
	for i := range h.Results {
		r := &h.Results[i]
		if ip, err := netip.ParseAddr(r.Property("smtp.remote-ip", "policy.iprev")); err == nil {
			return ip.Unmap()
		}
		for _, comment := range r.Comments {
			if _, text, ok := strings.Cut(comment, "sender IP is "); ok {
				if ip, err := netip.ParseAddr(strings.Trim(text, " ).")); err == nil {
					return ip.Unmap()
				}
			}
		}
	}
	return netip.Addr{}
}

// fromDomains lists the domains of the addresses in all From fields, each once.
func fromDomains(from []message.Address) (domains []diag.Name) {
	for _, a := range from {
		if d := mailDomain(a.Domain); !d.IsZero() && !slices.Contains(domains, d) {
			domains = append(domains, d)
		}
	}
	return domains
}

// envelope finds the envelope sender: in Return-Path, which the last server sets (RFC 5321 section 4.4), or where the
// receiver noted it. It is nil if the header does not tell.
func (e *evidence) envelope() *envelope {
	if e.returnPath != nil && (e.returnPath.Domain != "" || e.returnPath.IsZero()) {
		return &envelope{e.returnPath.Addr()}
	}
	for i := range e.authFields {
		a := &e.authFields[i]
		if a.foreign {
			continue
		}
		if from := notedEnvelope(a); from != "" {
			return &envelope{from}
		}
	}
	return nil
}

// notedEnvelope reads the envelope sender that a server noted, which may be a domain alone (RFC 8601 section 2.7.2).
func notedEnvelope(a *authField) string {
	if a.spf != nil {
		return strings.Trim(a.spf.Get("envelope-from"), "<>")
	}
	for i := range a.header.Results {
		if r := &a.header.Results[i]; r.Method == "spf" {
			if from := strings.Trim(r.Property("smtp.mailfrom", "smtp.mail"), "<>"); from != "" {
				return from
			}
		}
	}
	return ""
}
