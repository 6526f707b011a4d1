package compose

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// An Effect is what a fault does to mail.
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

// effects tells the effect of a fault by the longest beginning of its code. A fault of severity error or worse may do
// more than a lesser one of the same part: a syntax error ends SPF for all mail, a long record ends nothing.
var effects = map[string]struct{ broken, weak Effect }{
	"spf.":                  {Acceptance, Acceptance},
	"spf.syntax.":           {Loss, Acceptance}, // permerror (RFC 7208 section 4.6)
	"spf.record.version":    {Acceptance, Acceptance},
	"spf.record.missing":    {Forgery, Forgery}, // before DMARC, which builds on it
	"spf.record.multiple":   {Loss, Acceptance}, // RFC 7208 section 4.5
	"spf.record.split":      {Loss, Acceptance},
	"spf.include.":          {Loss, Acceptance},
	"spf.redirect.":         {Loss, Acceptance},
	"spf.lookups.exceeded":  {Loss, Acceptance}, // RFC 7208 section 4.6.4
	"spf.voids.exceeded":    {Loss, Acceptance},
	"spf.mx.exceeded":       {Loss, Acceptance},
	"spf.senders.none":      {Loss, Acceptance},
	"spf.include.pass":      {Forgery, Forgery},
	"spf.exists.everyone":   {Forgery, Forgery},
	"spf.all.":              {Forgery, Forgery},
	"spf.network.":          {Forgery, Forgery},
	"spf.term.dangling":     {Forgery, Forgery},
	"spf.record.unknown":    {Loss, Loss}, // temperror: mail is deferred
	"dkim.":                 {Acceptance, Acceptance},
	"dkim.key.factor":       {Forgery, Forgery},
	"dkim.key.private":      {Forgery, Forgery},
	"dkim.key.size.refused": {Forgery, Forgery},
	"dmarc.":                {Forgery, Forgery},
	"dmarc.destination.":    {Protection, Extra},
	"dmarc.rua.":            {Forgery, Protection},
	"dmarc.uri.":            {Protection, Extra},
	"bimi.":                 {Extra, Extra},
	"mx.":                   {Loss, Loss},
	"mtasts.":               {Protection, Protection},
	"mtasts.mx.":            {Loss, Protection}, // senders that enforce the policy do not deliver
	"mtasts.tls_rpt.":       {Extra, Extra},
	"dane.":                 {Loss, Protection}, // senders that validate do not deliver (RFC 7672 section 2.2)
	"tlsrpt.":               {Extra, Extra},
	"smtp.":                 {Loss, Protection},
	"smtp.relay.":           {Acceptance, Extra}, // blocklists list an open relay
	"smtp.ptr.":             {Acceptance, Extra},
	"dnssec.":               {Loss, Protection}, // validating resolvers answer SERVFAIL
	"dnsbl.":                {Refusal, Protection},
	"dnsbl.listed.":         {Refusal, Loss},
	"dnsbl.listed.obscure":  {Acceptance, Acceptance},
	"dnsbl.listed.network":  {Acceptance, Acceptance},
	"score.spf.":            {Loss, Loss},
	"check.tls.":            {Loss, Loss},
	"check.ptr.":            {Acceptance, Acceptance},
	"check.dkim.":           {Acceptance, Acceptance},
	"check.dkim.none":       {Forgery, Forgery}, // before DMARC, which builds on it
	"check.":                {Loss, Protection},
}

// EffectOf returns the effect of a fault.
func EffectOf(code diag.Code, severity diag.Severity) Effect {
	for name := string(code); name != ""; {
		if e, ok := effects[name]; ok {
			if severity >= diag.Error {
				return e.broken
			}
			return e.weak
		}
		name = name[:strings.LastIndexByte(name[:len(name)-1], '.')+1]
	}
	return Protection
}
