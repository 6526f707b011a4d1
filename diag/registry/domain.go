package registry

import (
	"context"
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A DomainRequest asks who holds a domain.
type DomainRequest struct {
	Domain diag.Domain `json:"domain" doc:"the domain, or a name below it" example:"example.com"`
	// FollowRegistrar says whether the registrar's own server is asked as well. Nil means true.
	FollowRegistrar *bool `json:"follow_registrar,omitempty" default:"true" doc:"whether to ask the registrar as well"`
	Raw             bool  `json:"raw,omitempty" doc:"whether to report the answers as they came"`
}

// Protocol is how a registry was asked.
type Protocol string

// The protocols.
const (
	rdap  Protocol = "rdap"
	WHOIS Protocol = "whois"
)

// Values lists the protocols.
func (Protocol) Values() []string { return diag.Values(rdap, WHOIS) }

// A DomainReport is what the registry, and the registrar, say of a domain.
type DomainReport struct {
	diag.Text
	Domain           diag.Domain  `json:"domain" doc:"the domain asked about"`
	DomainUnicode    string       `json:"domain_unicode,omitempty" doc:"the same in Unicode, if different"`
	RegisteredDomain string       `json:"registered_domain" doc:"the part of it that somebody registers"`
	Registered       *bool        `json:"registered,omitempty" doc:"whether the domain is registered; absent if the registry gave no answer that can be read"`
	Protocol         Protocol     `json:"protocol" doc:"protocol of the answer"`
	Servers          []string     `json:"servers" doc:"who answered: URLs for RDAP, hosts for WHOIS, the registry first"`
	Handle           string       `json:"handle,omitempty" doc:"the registry's identifier of the registration"`
	Registrar        Registrar    `json:"registrar" doc:"who sold the domain"`
	Dates            Dates        `json:"dates" doc:"when the registration began, and when it ends"`
	AgeDays          *int         `json:"age_days,omitempty" min:"0" doc:"whole days since the registration began"`
	DaysUntilExpiry  *int         `json:"days_until_expiry,omitempty" doc:"whole days until it ends; 0 on the last day and the first after it, then negative"`
	Statuses         []Status     `json:"statuses" doc:"states of the registration"`
	Nameservers      []Nameserver `json:"nameservers" doc:"name servers as the registry has them"`
	DNSSEC           DNSSEC       `json:"dnssec" doc:"DNSSEC as the registry has it"`
	Contacts         []Contact    `json:"contacts" doc:"who is responsible for what"`
	Raw              string       `json:"raw,omitempty" doc:"answer of the registry as it came; of WHOIS all answers"`
	Partial          bool         `json:"partial" doc:"whether the registry's answer could not be read, or the registrar did not answer"`
	diag.Timing

	Findings []diag.Finding `json:"findings" doc:"what is remarkable, the worst first"`
}

// Rules describes the rules behind the findings.
func (*DomainReport) Rules() []diag.RuleInfo { return domainRules.Describe() }

// A Registrar is who sells registrations in domains.
type Registrar struct {
	Name       string `json:"name,omitempty" doc:"name"`
	IANAID     string `json:"iana_id,omitempty" doc:"number in the registry of IANA" example:"292"`
	URL        string `json:"url,omitempty" doc:"web site"`
	AbuseEmail string `json:"abuse_email,omitempty" doc:"where to report abuse"`
	AbusePhone string `json:"abuse_phone,omitempty" doc:"where to report abuse"`
}

// Dates are those of a registration.
type Dates struct {
	CreatedAt          *time.Time `json:"created_at,omitempty" doc:"when it began"`
	ExpiresAt          *time.Time `json:"expires_at,omitempty" doc:"when it ends, as the registry says"`
	UpdatedAt          *time.Time `json:"updated_at,omitempty" doc:"when it was last changed"`
	RegistrarExpiresAt *time.Time `json:"registrar_expires_at,omitempty" doc:"when it ends, as the registrar says"`
}

// A Nameserver is one that the registry has delegated the domain to.
type Nameserver struct {
	Name      string       `json:"name" doc:"host name"`
	Addresses []netip.Addr `json:"addresses" doc:"addresses that the registry knows"`
}

// DNSSEC is the secure delegation of a domain (RFC 9083 section 5.3).
type DNSSEC struct {
	Signed *bool `json:"signed,omitempty" doc:"whether the delegation is signed; absent if the registry does not say"`
	DS     []DS  `json:"ds" doc:"digests of the keys"`
}

// A DS is a digest of a key (RFC 4034 section 5).
type DS struct {
	KeyTag     int    `json:"key_tag" doc:"key tag"`
	Algorithm  int    `json:"algorithm" doc:"number of the algorithm"`
	DigestType int    `json:"digest_type" doc:"number of the digest's algorithm"`
	Digest     string `json:"digest" doc:"digest in hexadecimal"`
}

// Role is the part that somebody has in a registration.
type Role string

// The roles.
const (
	registrant Role = "registrant"
	admin      Role = "admin"
	tech       Role = "tech"
	abuse      Role = "abuse"
	billing    Role = "billing"
)

// Values lists the roles.
func (Role) Values() []string { return diag.Values(registrant, admin, tech, abuse, billing) }

// A Contact is somebody with a part in a registration.
type Contact struct {
	Role         Role   `json:"role" doc:"the part"`
	Name         string `json:"name,omitempty" doc:"name"`
	Organization string `json:"organization,omitempty" doc:"organization"`
	Country      string `json:"country,omitempty" doc:"country, by code or name"`
	Email        string `json:"email,omitempty" doc:"address for mail"`
	Redacted     bool   `json:"redacted" doc:"whether something was left out on purpose"`
}

// LookupDomain asks the registry in charge of a domain, and the registrar, with the tables of the
// environment, see clientOf and [Client.LookupDomain].
func LookupDomain(ctx context.Context, env *diag.Env, req DomainRequest) (*DomainReport, error) {
	client, err := clientOf(env)
	if err != nil {
		return nil, err
	}
	return client.LookupDomain(ctx, env, req)
}

// LookupDomain asks the registry in charge of a domain over RDAP, then the registrar that it names; if
// there is no RDAP, or it has no answer, over WHOIS. The error is a *[diag.InputError], the context's,
// or wraps [diag.ErrUnavailable] if nothing was learned: the registry was silent, refused to answer, or its
// RDAP answer made no sense and there is no WHOIS.
func (c *Client) LookupDomain(ctx context.Context, env *diag.Env, req DomainRequest) (*DomainReport, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is required")
	}
	e, err := c.fetchDomain(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return e.report(req.Raw, env.Now()), nil
}
