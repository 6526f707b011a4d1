package pki

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// caaTags are the properties of CAA that are registered (IANA, "Certification Authority Restriction Properties").
var caaTags = []string{"issue", "issuewild", "iodef", "issuemail", "issuevmc", "contactemail", "contactphone", "auth",
	"path", "policy"}

// CAATags returns the registered CAA properties, in lower case (RFC 8659 section 4.1).
func CAATags() []string { return slices.Clone(caaTags) }

var (
	caaDomain    = kit.Regexp(`(?i)\A[a-z0-9](?:-*[a-z0-9])*(?:\.[a-z0-9](?:-*[a-z0-9])*)*\z`)
	caaParameter = kit.Regexp(`(?i)\A[a-z0-9](?:-*[a-z0-9])*[ \t]*=[ \t]*[!-:<-~]*\z`)
)

// A CAAAuthorization is the value of a CAA property that authorizes an authority (RFC 8659 section 4.2).
type CAAAuthorization struct {
	Domain     string // in lower case; empty if no authority is authorized
	Parameters []CAAParameter
}

// A CAAParameter is a further constraint on an authority, such as validationmethods (RFC 8657).
type CAAParameter struct {
	Tag   string // in lower case
	Value string
}

// CAAIssuer returns the domain in the value of a CAA property; see [ParseCAA].
func CAAIssuer(value string) (domain string, err error) {
	a, err := ParseCAA(value)
	return a.Domain, err
}

// ParseCAA parses the value of a CAA property that authorizes an authority: a domain, which may be missing,
// and parameters after a semicolon (RFC 8659 section 4.2). A superfluous semicolon is accepted. A malformed
// value authorizes no authority; the text of the error is a clause that describes the fault.
func ParseCAA(value string) (CAAAuthorization, error) {
	domain, parameters, _ := strings.Cut(value, ";")
	a := CAAAuthorization{Domain: strings.ToLower(strings.Trim(domain, " \t"))}
	var err error
	switch {
	case strings.Contains(a.Domain, "://"):
		err = errors.New("is a URL")
	case strings.HasSuffix(a.Domain, "."):
		err = errors.New("ends with a dot")
	case strings.Contains(a.Domain, "="):
		err = errors.New("has a parameter without a semicolon before it")
	case a.Domain != "" && !caaDomain().MatchString(a.Domain):
		err = errors.New("is not a domain")
	}
	for p := range strings.SplitSeq(parameters, ";") {
		p = strings.Trim(p, " \t")
		tag, text, ok := strings.Cut(p, "=")
		switch {
		case p == "" || err != nil:
		case caaParameter().MatchString(p):
			a.Parameters = append(
				a.Parameters,
				CAAParameter{strings.ToLower(strings.Trim(tag, " \t")), strings.Trim(text, " \t")},
			)
		case !ok:
			err = fmt.Errorf("has the parameter %s without a value", phrase.Quote(p))
		default:
			err = fmt.Errorf("has the parameter %s with a character that none may have", phrase.Quote(p))
		}
	}
	if err != nil {
		return CAAAuthorization{}, err
	}
	return a, nil
}

//go:embed data/issuers.txt
var issuersText string

// issuers holds the names in CAA records of public authorities, by the organization in their certificates.
var issuers = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(issuersText) {
		organization, domains, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.HasPrefix(line, "#") {
			m[normalized(organization)] = strings.Fields(domains)
		}
	}
	return m
})

// normalized spells the name of an organization as others do: authorities write their own with and without points and
// commas.
func normalized(organization string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(",", " ", ".", " ").Replace(strings.ToLower(organization))),
		" ")
}

// IssuerDomains returns the domains by which CAA records authorize a public authority, given by the
// organization in its certificates. It returns none for unknown authorities.
func IssuerDomains(organization string) []string {
	return slices.Clone(issuers()[normalized(organization)])
}

// KnownIssuer reports whether domain is one by which CAA records authorize a known public authority.
func KnownIssuer(domain string) bool {
	for _, domains := range issuers() {
		if slices.Contains(domains, strings.ToLower(domain)) {
			return true
		}
	}
	return false
}
