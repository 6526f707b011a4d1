package compose

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// An Effect is what a fault does to mail. It decides what comes first of faults that are equally grave.
type Effect int

// The effects, the gravest first.
const (
	Refusal    Effect = iota // receivers refuse all mail of the sender, whatever its records say
	Loss                     // mail does not arrive, now
	Forgery                  // others can send mail in the name of the domain
	Acceptance               // large receivers refuse or downgrade mail of the domain
	Protection               // mail arrives, and something that would protect it is missing
	Extra                    // nice to have
)

// effects tells the effect of a fault by the longest beginning of its code.
var effects = map[string]Effect{
	"spf.":                  Acceptance,
	"spf.syntax.":           Loss,    // permerror (RFC 7208 section 4.6)
	"spf.record.missing":    Forgery, // before DMARC, which builds on it
	"spf.record.multiple":   Loss,    // RFC 7208 section 4.5
	"spf.record.split":      Loss,
	"spf.record.unknown":    Loss, // temperror: mail is deferred
	"spf.include.":          Loss,
	"spf.include.pass":      Forgery,
	"spf.redirect.":         Loss,
	"spf.lookups.":          Loss, // RFC 7208 section 4.6.4
	"spf.voids.":            Loss,
	"spf.mx.exceeded":       Loss,
	"spf.senders.none":      Loss,
	"spf.exists.everyone":   Forgery,
	"spf.all.":              Forgery,
	"spf.network.":          Forgery,
	"spf.term.dangling":     Forgery,
	"dkim.":                 Acceptance,
	"dkim.key.factor":       Forgery,
	"dkim.key.private":      Forgery,
	"dkim.key.size.refused": Forgery,
	"dmarc.":                Forgery,
	"dmarc.destination.":    Protection,
	"dmarc.rua.":            Protection,
	"dmarc.uri.":            Protection,
	"bimi.":                 Extra,
	"mx.":                   Loss,
	"mtasts.":               Protection,
	"mtasts.mx.":            Loss, // senders that enforce the policy do not deliver
	"mtasts.tls_rpt.":       Extra,
	"dane.":                 Loss, // senders that validate do not deliver (RFC 7672 section 2.2)
	"tlsrpt.":               Extra,
	"smtp.":                 Loss,
	"smtp.relay.":           Acceptance, // blocklists list an open relay
	"smtp.ptr.":             Acceptance,
	"dnssec.":               Loss, // validating resolvers answer SERVFAIL
	"dnsbl.":                Protection,
	"dnsbl.listed.":         Refusal,
	"dnsbl.listed.obscure":  Acceptance,
	"dnsbl.listed.network":  Acceptance,
	"score.spf.":            Loss,
	"check.":                Loss,
	"check.ptr.":            Acceptance,
	"check.dkim.":           Acceptance,
	"check.dkim.none":       Forgery, // before DMARC, which builds on it
}

// EffectOf returns the effect of a fault. What loses mail once it is broken only endangers it before.
func EffectOf(code diag.Code, severity diag.Severity) Effect {
	for name := string(code); name != ""; name = name[:strings.LastIndexByte(name[:len(name)-1], '.')+1] {
		switch e, ok := effects[name]; {
		case ok && severity < diag.Error && e == Refusal:
			return Loss
		case ok && severity < diag.Error && e == Loss:
			return Protection
		case ok:
			return e
		}
	}
	return Protection
}
