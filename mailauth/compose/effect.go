package compose

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// An effect is what a fault does to mail. It decides what comes first of faults that are equally grave.
type effect int

// The effects, the gravest first.
const (
	refusal    effect = iota // receivers refuse all mail of the sender, whatever its records say
	loss                     // mail does not arrive, now
	forgery                  // others can send mail in the name of the domain
	acceptance               // large receivers refuse or downgrade mail of the domain
	protection               // mail arrives, and something that would protect it is missing
	extra                    // nice to have
)

// effects tells the effect of a fault by the longest beginning of its code.
var effects = map[string]effect{
	"spf.":                  acceptance,
	"spf.syntax.":           loss,    // permerror (RFC 7208 section 4.6)
	"spf.record.missing":    forgery, // before DMARC, which builds on it
	"spf.record.multiple":   loss,    // RFC 7208 section 4.5
	"spf.record.split":      loss,
	"spf.record.unknown":    loss, // temperror: mail is deferred
	"spf.include.":          loss,
	"spf.include.pass":      forgery,
	"spf.redirect.":         loss,
	"spf.lookups.":          loss, // RFC 7208 section 4.6.4
	"spf.voids.":            loss,
	"spf.mx.exceeded":       loss,
	"spf.senders.none":      loss,
	"spf.exists.everyone":   forgery,
	"spf.all.":              forgery,
	"spf.network.":          forgery,
	"spf.term.dangling":     forgery,
	"dkim.":                 acceptance,
	"dkim.key.factor":       forgery,
	"dkim.key.private":      forgery,
	"dkim.key.size.refused": forgery,
	"dmarc.":                forgery,
	"dmarc.destination.":    protection,
	"dmarc.rua.":            protection,
	"dmarc.uri.":            protection,
	"bimi.":                 extra,
	"mx.":                   loss,
	"mtasts.":               protection,
	"mtasts.mx.":            loss, // senders that enforce the policy do not deliver
	"mtasts.tls_rpt.":       extra,
	"dane.":                 loss, // senders that validate do not deliver (RFC 7672 section 2.2)
	"tlsrpt.":               extra,
	"smtp.":                 loss,
	"smtp.relay.":           acceptance, // blocklists list an open relay
	"smtp.ptr.":             acceptance,
	"dnssec.":               loss, // validating resolvers answer SERVFAIL
	"dnsbl.":                protection,
	"dnsbl.listed.":         refusal,
	"dnsbl.listed.obscure":  acceptance,
	"dnsbl.listed.network":  acceptance,
	"score.spf.":            loss,
	"check.":                loss,
	"check.ptr.":            acceptance,
	"check.dkim.":           acceptance,
	"check.dkim.none":       forgery, // before DMARC, which builds on it
}

// effectOf returns the effect of a fault. What loses mail once it is broken only endangers it before.
func effectOf(code diag.Code, severity diag.Severity) effect {
	for name := string(code); name != ""; name = name[:strings.LastIndexByte(name[:len(name)-1], '.')+1] {
		switch e, ok := effects[name]; {
		case ok && severity < diag.Error && e == refusal:
			return loss
		case ok && severity < diag.Error && e == loss:
			return protection
		case ok:
			return e
		}
	}
	return protection
}
