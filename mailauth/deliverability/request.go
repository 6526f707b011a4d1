package deliverability

import (
	"net/mail"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/compose"
)

// A Request asks for the score of a domain, given by its name or by an address in it.
type Request struct {
	Domain        diag.Domain     `json:"domain,omitempty" oneof:"subject" doc:"domain in the From field of mail" example:"example.com"`
	Email         string          `json:"email,omitempty" oneof:"subject" minlen:"3" maxlen:"320" doc:"address in the From field of mail"`
	IP            diag.IP         `json:"ip,omitempty" doc:"address of the host that sends the mail; without it the mail servers of the domain are taken"`
	DKIMSelectors []diag.Selector `json:"dkim_selectors,omitempty" maxitems:"20" unique:"true" doc:"selectors with which mail is signed, each of which must exist; without any, 40 common ones are tried"`
	Detail        compose.Detail  `json:"detail,omitempty" default:"summary" doc:"full adds the report of each component"`
}

// The longest parts of an address, in bytes (RFC 5321 section 4.5.3.1).
const (
	maxAddress   = 320
	maxLocalPart = 64
)

// subject is the domain that a request is about.
func (r *Request) subject() (diag.Domain, error) {
	switch {
	case r.Email != "" && !r.Domain.IsZero():
		return diag.Domain{}, diag.Invalid("email", "cannot stand beside domain; give one of them")
	case r.Email != "":
		return domainOf(r.Email)
	case r.Domain.IsZero():
		return diag.Domain{}, diag.Invalid("domain", "is missing; give a domain, or an address in email")
	default:
		return r.Domain, nil
	}
}

// domainOf is the domain of an address, which must be one.
func domainOf(email string) (diag.Domain, error) {
	none := diag.Domain{}
	at := strings.LastIndexByte(email, '@')
	switch {
	case at < 0:
		return none, diag.Invalid("email", "%.320q is not an address: it has no @. For a domain use the field domain", email)
	case len(email) > maxAddress:
		return none, diag.Invalid("email", "is longer than %d bytes", maxAddress)
	case strings.TrimSpace(email) != email:
		return none, diag.Invalid("email", "%q has white space around the address", email)
	case at == 0:
		return none, diag.Invalid("email", "%q has nothing before the @. For a domain use the field domain: %q", email, email[1:])
	case at > maxLocalPart:
		return none, diag.Invalid("email", "has %d bytes before the @; there may be %d", at, maxLocalPart)
	}
	if strings.ContainsAny(email, "<>") {
		if parsed, err := mail.ParseAddress(email); err == nil {
			return none, diag.Invalid("email", "must be the address alone: %q", parsed.Address)
		}
	}
	d, err := diag.ParseDomain(email[at+1:])
	if err != nil {
		return none, diag.Invalid("email", "%q has no domain name behind the @", email)
	}
	if _, err := mail.ParseAddress(email[:at] + "@" + d.String()); err != nil { // RFC 5322 section 3.4.1
		return none, diag.Invalid("email", "%q is not an address: %q cannot stand before the @", email, email[:at])
	}
	return d, nil
}
