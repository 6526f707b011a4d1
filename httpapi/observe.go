package httpapi

import (
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/metering"
)

// An Observation is the outcome of one request. Its texts up to Deprecated come from bounded sets, as labels of metrics
// must. None has a value of the request.
type Observation struct {
	Endpoint string // the row's ID, "openapi", "pages", the name given to RequireKey, or "unknown" where no row matched
	Code     string // "OK", or the error code
	Status   int    // of HTTP
	Plan     string // of the caller, empty before it is known
	Credits  int64  // charged
	Replay   bool   // a kept reply was sent again
	// Deprecated is what the caller should stop using: the scope, "operation" for the row itself, or empty.
	Deprecated string

	At       time.Time     // when the last byte was written, by Config.Clock, in UTC
	Duration time.Duration // from the first byte read until then

	RequestID string
	Account   metering.AccountID // of the caller, empty before it is known
	Key       metering.KeyID     // likewise
	IP        netip.Addr         // of the client; zero for requests of parts of this program

	// Field and Message are of a failure, such as "ports[2]" and "must be from 1 to 65535": the field of the first fault
	// in the request, which may be empty, and the reply's message, in which an ellipsis takes the place of values. They
	// have at most 64 and 200 bytes.
	Field, Message string
}

// The bounds of [Observation.Field] and [Observation.Message], in bytes, without an ellipsis.
const (
	maxObservedField   = 61
	maxObservedMessage = 197
)

// observe sets what is observed of a failure.
func (o *Observation) observe(p *Problem) {
	o.Code, o.Message = string(p.Code), p.Message
	if faults := p.Details.Fields; len(faults) > 0 {
		if fieldPattern().MatchString(faults[0].Field) {
			o.Field = phrase.Clip(strings.Clone(faults[0].Field), maxObservedField)
		}
		o.Message = faults[0].Message
		if n := len(faults) - 1; n > 0 {
			o.Message += " (and " + decimal(int64(n)) + " more)"
		}
		o.Message = withoutValues(o.Message)
	} else if p.Code == InternalError {
		o.Message = withoutValues(o.Message) // which may name a server of the domain
	}
	o.Message = phrase.Clip(o.Message, maxObservedMessage)
}

// fieldPattern is that of fields of our schemas; others are names that the caller made up, or keys of a map.
var fieldPattern = kit.Regexp(`^[A-Za-z][A-Za-z0-9_-]*(\.[a-z_]+|\[[0-9]+\])*$`)

var (
	quotedValue = kit.Regexp(`"(?:[^"\\]|\\.)*("|$)`)
	// bareValue is a URL and all behind it, which may be more of it, or a word that may be a name, an address or a
	// time, or is too long for a word of ours.
	bareValue = kit.Regexp(`\S*://.*|\S*[^\s.:,;/@_-][.:/@_=\\][^\s.:,;]\S*|\S{25,}|\S*[^\x00-\x7f…–]\S*`)
)

// withoutValues returns a message about a fault with an ellipsis for what may be a value of the request: what is
// quoted, and words such as names, addresses and URLs.
func withoutValues(message string) string {
	message = quotedValue().ReplaceAllString(message, "…")
	return bareValue().ReplaceAllString(message, "…")
}
