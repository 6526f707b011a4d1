package registry

import (
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// Protocol is how a registry was asked.
type Protocol string

// The protocols.
const (
	rdap  Protocol = "rdap"
	WHOIS Protocol = "whois"
)

// Values lists the protocols.
func (Protocol) Values() []string { return diag.Values(rdap, WHOIS) }

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
	CreatedAt          time.Time `json:"created_at,omitzero" doc:"when it began"`
	ExpiresAt          time.Time `json:"expires_at,omitzero" doc:"when it ends, as the registry says"`
	UpdatedAt          time.Time `json:"updated_at,omitzero" doc:"when it was last changed"`
	RegistrarExpiresAt time.Time `json:"registrar_expires_at,omitzero" doc:"when it ends, as the registrar says"`
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
