package header

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/internal/live"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

type analysis struct {
	*evidence
	input  *live.Input
	live   *live.Evidence // nil if the DNS was not queried
	notes  []note         // the topmost first
	claims claims
}

// newAnalysis reads a message. Only a pasted header may have been damaged by copying.
func newAnalysis(text []byte, headerOnly bool, env *diag.Env, trusted []string) *analysis {
	a := &analysis{}
	if headerOnly {
		a.evidence = readPasted(text, env.Now())
		text, _ = message.Repair(text)
	} else {
		a.evidence = readMessage(message.Split(text), env.Now())
	}
	for _, id := range trusted {
		if id = strings.ToLower(strings.Trim(id, ". ")); id != "" {
			a.trusted = append(a.trusted, id)
		}
	}
	a.input = &live.Input{
		Text: text, HeaderOnly: headerOnly, Outside: a.path.FindOutside(a.trusted, a.notedSender()), Envelope: a.envelope(),
		Signers: live.SignerDomains(a.msg),
	}
	for _, from := range a.from {
		if d := live.MailDomain(from.Domain); !d.IsZero() && !slices.Contains(a.input.From, d) {
			a.input.From = append(a.input.From, d)
		}
	}
	a.notes = a.readNotes()
	a.claims = a.readClaims()
	return a
}

// settle reconciles the facts with the outside hop that was found.
func (a *analysis) settle() {
	if a.live != nil {
		a.verified()
	}
	switch {
	case a.live == nil:
	case a.live.Hop != nil:
		a.path.Border = a.live.Hop.Index
	default:
		a.path.Border = -1
	}
}

// A note is a result that a server recorded in Authentication-Results.
type note struct {
	*authField
	result  *authres.Result
	trusted bool // the caller trusts the server, and the server may have written the field
}

const maxNotes = 100

func (a *analysis) readNotes() (list []note) {
	for i := range a.authFields {
		f := &a.authFields[i]
		if f.header == nil {
			continue
		}
		trusted, _ := a.trusts(f.id)
		for j := range f.header.Results[:min(len(f.header.Results), maxNotes-len(list))] {
			list = append(list, note{f, &f.header.Results[j], trusted && !f.foreign})
		}
	}
	return list
}

// notedTrusted returns the topmost DMARC result recorded by a server that the caller trusts; nil if no such server
// recorded one.
func (a *analysis) notedTrusted() *note {
	for i := range a.notes {
		if n := &a.notes[i]; n.trusted && n.result.Method == "dmarc" {
			return n
		}
	}
	return nil
}

// claims are unverified statements below the outside hop. They explain findings and never decide one.
type claims struct {
	forwarders []string // organizational domains of servers that claim to have forwarded the message
	forwarded  bool     // a list or an unidentified server forwarded it
}

// forwardingFields are set by servers and programs that forward a message; those of lists come first.
var forwardingFields = []string{"List-Id", "List-Post", "Resent-From", "X-Forwarded-To", "X-Forwarded-For",
	"X-Forwarded-Encrypted", "X-Resent-For", "X-Loop", "X-MS-Exchange-ForwardingLoop", "X-Original-Sender"}

func (a *analysis) readClaims() (c claims) {
	c.forwarded = slices.ContainsFunc(forwardingFields, func(name string) bool { return a.count(name) > 0 })
	hops := a.path.Hops
	for i := range hops[max(0, len(hops)-route.MaxOwnHops):] {
		h := &hops[len(hops)-1-i]
		by, sender := route.Organizational(h.By), route.Organizational(h.RDNS)
		if sender == "" {
			sender = route.Organizational(h.HELO)
		}
		if _, public := h.Public(); public && by != "" && sender != by && !h.Submitted() {
			c.forwarders = append(c.forwarders, by)
		}
	}
	// Sender rewriting: SRS0=hash=time=domain=local@forwarder.
	if v := a.input.Envelope; v != nil && (hasPrefixFold(*v, "SRS0") || hasPrefixFold(*v, "SRS1")) {
		c.forwarders = append(c.forwarders, route.Organizational((*v)[strings.LastIndexByte(*v, '@')+1:]))
	}
	return c
}

// forwarder returns the organizational domain of the forwarder, if the sending server belongs neither to the author
// nor to the envelope sender and claims to have forwarded the message; otherwise empty.
func (a *analysis) forwarder() string {
	l := a.live
	if l == nil || l.Hop == nil || l.SPFGave(eval.Pass) && l.SPFAligned() {
		return ""
	}
	name := a.server()
	if name == "" {
		name = strings.TrimSuffix(l.Hop.RDNS, ".")
	}
	org := route.Organizational(name)
	if org == "" || org == route.Organizational(l.Author()) || !a.claims.forwarded &&
		!slices.Contains(a.claims.forwarders, org) {
		return ""
	}
	return name
}

// server returns the name of the sending server that the DNS confirms; empty if unconfirmed.
func (a *analysis) server() string {
	if a.live == nil || a.live.PTR == nil || len(a.live.PTR.Confirmed) == 0 {
		return ""
	}
	return a.live.PTR.Confirmed[0]
}

// gateways are mail filters in front of organizations' own servers, by organizational domain. They also send mail, so
// only the receiver knows whose side they are on.
var gateways = kit.Words(`antispamcloud.com antispameurope.com appriver.com barracudanetworks.com cloudfilter.net
	eset.com fireeyecloud.com hornetsecurity.com iphmx.com libraesva.com mailanyone.net mailcontrol.com mailinblack.com
	mailspamprotection.com messagelabs.com mimecast.com mxthunder.com n-able.com ppe-hosted.com pphosted.com retarus.com
	sophos.com spamexperts.com spamtitan.com trendmicro.com trendmicro.eu vadesecure.com zerospam.ca`)

func (a *analysis) gateway() string {
	if name := a.server(); gateways()[route.Organizational(name)] {
		return name
	}
	return ""
}

func (e *evidence) notedSender() netip.Addr {
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
		texts := []string{r.Property("smtp.remote-ip", "policy.iprev")}
		for _, comment := range r.Comments {
			if _, text, ok := strings.Cut(comment, "sender IP is "); ok {
				texts = append(texts, strings.Trim(text, " )."))
			}
		}
		for _, text := range texts {
			if ip, err := netip.ParseAddr(text); err == nil {
				return ip.Unmap()
			}
		}
	}
	return netip.Addr{}
}

// envelope finds the envelope sender: in Return-Path, which the last server sets (RFC 5321 section 4.4), or where the
// receiver recorded it. It is nil if the header does not contain it.
func (e *evidence) envelope() *string {
	if e.returnPath != nil && (e.returnPath.Domain != "" || e.returnPath.IsZero()) {
		return new(e.returnPath.Addr())
	}
	for i := range e.authFields {
		if a := &e.authFields[i]; !a.foreign {
			if from := a.envelope(); from != "" {
				return &from
			}
		}
	}
	return nil
}

// envelope returns the envelope sender that a server recorded, which may be a domain alone (RFC 8601 section 2.7.2).
func (a *authField) envelope() string {
	if a.spf != nil {
		return strings.Trim(a.spf.Get("envelope-from"), "<>")
	}
	for _, r := range a.of("spf") {
		if from := strings.Trim(r.Property("smtp.mailfrom", "smtp.mail"), "<>"); from != "" {
			return from
		}
	}
	return ""
}
