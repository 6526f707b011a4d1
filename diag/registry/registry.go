package registry

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
)

// A DomainRequest is a request for the registration of a domain.
type DomainRequest struct {
	Domain          diag.Domain `json:"domain" doc:"the domain, or a name below it" example:"example.com"`
	FollowRegistrar *bool       `json:"follow_registrar,omitempty" default:"true" doc:"whether to ask the registrar as well"`
	Raw             bool        `json:"raw,omitempty" doc:"whether to report the answers as they came"`
}

// A DomainReport is the registration of a domain, from the registry and the registrar.
type DomainReport struct {
	diag.Text
	Domain           diag.Domain  `json:"domain" doc:"the domain asked about"`
	DomainUnicode    string       `json:"domain_unicode,omitempty" doc:"the same in Unicode, if different"`
	RegisteredDomain string       `json:"registered_domain" doc:"the registrable part of it"`
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
func (*DomainReport) Rules() []rule.Description { return domainRules.Describe() }

// LookupDomain is [Client.LookupDomain] with the tables of the environment, or else the built-in ones.
func LookupDomain(ctx context.Context, env *diag.Env, req DomainRequest) (*DomainReport, error) {
	client, err := clientOf(env)
	if err != nil {
		return nil, err
	}
	return client.LookupDomain(ctx, env, req)
}

// LookupDomain queries the registry of a domain over RDAP, then the registrar that it names. If there is no
// RDAP service, or it does not answer, it uses WHOIS. The error is a *[diag.InputError], the error of the
// context, or wraps [diag.ErrUnavailable] if nothing was learned: the registry did not answer or refused to,
// or its RDAP answer is invalid and there is no WHOIS server.
func (c *Client) LookupDomain(ctx context.Context, env *diag.Env, req DomainRequest) (*DomainReport, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is required")
	}
	e, err := c.fetchDomain(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return e.report(req.Raw, env.Now()), nil
}

// An IPRequest is a request for the registration of an address.
type IPRequest struct {
	IP  diag.IP `json:"ip" doc:"the address, IPv4 or IPv6" example:"192.0.2.1"`
	Raw bool    `json:"raw,omitempty" doc:"whether to report the answers as they came"`
}

// An IPReport is the registration of an address at the responsible registry.
type IPReport struct {
	diag.Text
	IP           diag.IP      `json:"ip" doc:"the address"`
	Version      int          `json:"version" enum:"4 6" doc:"version of the Internet Protocol: 4 or 6"`
	Source       Source       `json:"source" doc:"where the data are from"`
	Registry     Registry     `json:"registry" doc:"regional registry in charge"`
	Purpose      Purpose      `json:"special_purpose,omitzero" doc:"meaning of a special-purpose address"`
	Network      Network      `json:"network" doc:"smallest registered network that has the address"`
	Organization Organization `json:"organization,omitzero" doc:"who holds the network"`
	ASN          ASN          `json:"asn,omitzero" doc:"autonomous system of the network, as registered"`
	Abuse        AbuseDesk    `json:"abuse" doc:"where to report abuse"`
	Contacts     []IPContact  `json:"contacts" maxitems:"100" doc:"who is responsible for what"`
	Referrals    []string     `json:"referrals" doc:"who led to the one with the answer: URLs for RDAP, hosts for WHOIS"`
	Raw          string       `json:"raw,omitempty" doc:"answer as it came; with WHOIS the answers of all servers"`
	Partial      bool         `json:"partial" doc:"whether the registry's answer could not be read"`
	diag.Timing

	Findings []diag.Finding `json:"findings" doc:"what is remarkable, the worst first"`
}

// Rules describes the rules behind the findings.
func (*IPReport) Rules() []rule.Description { return ipRules.Describe() }

// LookupIP is [Client.LookupIP] with the tables of the environment, or else the built-in ones.
func LookupIP(ctx context.Context, env *diag.Env, req IPRequest) (*IPReport, error) {
	client, err := clientOf(env)
	if err != nil {
		return nil, err
	}
	return client.LookupIP(ctx, env, req)
}

// LookupIP queries the responsible regional registry over RDAP, and over WHOIS if there is no RDAP service or
// it does not answer. Special-purpose addresses are answered from a table; globally reachable ones only if
// the registry has no answer. The error is a *[diag.InputError], the error of the context, or wraps
// [diag.ErrUnavailable] if no server answered.
func (c *Client) LookupIP(ctx context.Context, env *diag.Env, req IPRequest) (*IPReport, error) {
	if req.IP.IsZero() {
		return nil, input.Invalid("ip", "is required")
	}
	e, err := c.fetchIP(ctx, env, req.IP)
	if err != nil {
		return nil, err
	}
	return e.report(req.Raw, env.Now()), nil
}

// Source is the source of the data: rdap, whois or none.
type Source string

// The sources.
const (
	FromRDAP  Source = "rdap"
	FromWHOIS Source = "whois"
	FromNone  Source = "none" // no registry was asked, or none had an answer
)

// Values lists the sources.
func (Source) Values() []string { return kit.Values(FromRDAP, FromWHOIS, FromNone) }

// A Registry is one of the regional Internet registries, which assign addresses (RFC 7020 section 3): arin,
// ripe, apnic, lacnic, afrinic or none.
type Registry string

// The regional registries.
const (
	ARIN       Registry = "arin"
	RIPE       Registry = "ripe"
	APNIC      Registry = "apnic"
	LACNIC     Registry = "lacnic"
	AFRINIC    Registry = "afrinic"
	NoRegistry Registry = "none"
)

// Values lists the registries.
func (Registry) Values() []string { return kit.Values(ARIN, RIPE, APNIC, LACNIC, AFRINIC, NoRegistry) }

// A Network is an allocated or assigned block of addresses. Its text fields are empty if unknown.
type Network struct {
	CIDRs        []netip.Prefix `json:"cidrs" doc:"the block as prefixes"`
	StartAddress string         `json:"start_address,omitempty" doc:"first address"`
	EndAddress   string         `json:"end_address,omitempty" doc:"last address"`
	Name         string         `json:"name,omitempty" doc:"name, as the registry has it"`
	Handle       string         `json:"handle,omitempty" doc:"the registry's identifier"`
	Type         string         `json:"type,omitempty" doc:"how it was allocated, as the registry puts it" example:"ALLOCATED PA"`
	ParentHandle string         `json:"parent_handle,omitempty" doc:"identifier of the block of which it is a part"`
	Country      string         `json:"country,omitempty" doc:"country, by code; where the holder is, not the hosts"`
	Status       []string       `json:"status" doc:"states of the registration, in the words of the registry"`
	RegisteredAt time.Time      `json:"registered_at,omitzero" doc:"when it was allocated"`
	UpdatedAt    time.Time      `json:"updated_at,omitzero" doc:"when the registration was last changed"`
}

// An Organization is the holder of a network.
type Organization struct {
	Name    string `json:"name,omitempty" doc:"name"`
	Handle  string `json:"handle,omitempty" doc:"the registry's identifier"`
	Country string `json:"country,omitempty" doc:"country, by code or name"`
}

// An ASN is an autonomous system (RFC 1930).
type ASN struct {
	Number int64  `json:"number" min:"0" max:"4294967295" doc:"number"`
	Name   string `json:"name,omitempty" doc:"name, as the registry has it; empty if not known"`
	Route  string `json:"route,omitempty" doc:"prefix that is announced"`
}

// An AbuseDesk is the contact for reporting abuse of a network.
type AbuseDesk struct {
	Emails []string `json:"emails" doc:"addresses for mail"`
	Phones []string `json:"phones" doc:"telephone numbers"`
}

// An IPContact is a contact of a network.
type IPContact struct {
	Roles        []string `json:"roles" doc:"the parts, in the words of RDAP" example:"technical"`
	Name         string   `json:"name,omitempty" doc:"name"`
	Organization string   `json:"organization,omitempty" doc:"organization"`
	Emails       []string `json:"emails" doc:"addresses for mail"`
	Phones       []string `json:"phones" doc:"telephone numbers"`
	Redacted     bool     `json:"redacted" doc:"whether something was left out on purpose"`
}

// A Purpose is the meaning of a special-purpose address (RFC 6890 section 2.2).
type Purpose struct {
	Name              string `json:"name" doc:"what the addresses are for" example:"Private-Use"`
	RFC               string `json:"rfc" doc:"document that sets them aside" example:"RFC 1918"`
	GloballyReachable bool   `json:"globally_reachable" doc:"whether they are reached from anywhere on the Internet"`
}

// special is the table of addresses with a meaning of their own.
var special = sync.OnceValue(func() map[netip.Prefix]Purpose {
	table := map[netip.Prefix]Purpose{}
	for _, line := range lines(embeddedText("special.txt")) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] == "#" {
			continue
		}
		if p, err := netip.ParsePrefix(words[0]); err == nil {
			table[p] = Purpose{
				Name: strings.Join(words[3:], " "), RFC: "RFC " + strings.TrimPrefix(words[1], "RFC"),
				GloballyReachable: words[2] == "yes",
			}
		}
	}
	return table
})

// PurposeOf returns the smallest special-purpose block that contains the address, and its purpose. The bool
// is false if there is none.
func PurposeOf(ip netip.Addr) (netip.Prefix, Purpose, bool) {
	for bits := ip.BitLen(); bits >= 0; bits-- {
		p, err := ip.Prefix(bits)
		if purpose, ok := special()[p]; ok && err == nil {
			return p, purpose, true
		}
	}
	return netip.Prefix{}, Purpose{}, false
}

// Protocol is the protocol used to query a registry: rdap or whois.
type Protocol string

// The protocols.
const (
	RDAP  Protocol = "rdap"
	WHOIS Protocol = "whois"
)

// Values lists the protocols.
func (Protocol) Values() []string { return kit.Values(RDAP, WHOIS) }

// A Registrar is a company that registers domains for their holders.
type Registrar struct {
	Name       string `json:"name,omitempty" doc:"name"`
	IANAID     string `json:"iana_id,omitempty" doc:"number in the registry of IANA" example:"292"`
	URL        string `json:"url,omitempty" doc:"website"`
	AbuseEmail string `json:"abuse_email,omitempty" doc:"where to report abuse"`
	AbusePhone string `json:"abuse_phone,omitempty" doc:"where to report abuse"`
}

// Dates are the dates of a registration.
type Dates struct {
	CreatedAt          time.Time `json:"created_at,omitzero" doc:"when it began"`
	ExpiresAt          time.Time `json:"expires_at,omitzero" doc:"when it ends, as the registry says"`
	UpdatedAt          time.Time `json:"updated_at,omitzero" doc:"when it was last changed"`
	RegistrarExpiresAt time.Time `json:"registrar_expires_at,omitzero" doc:"when it ends, as the registrar says"`
}

// A Nameserver is a name server to which the registry delegates the domain.
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

// Role is the role of a contact in a registration: registrant, admin, tech, abuse or billing.
type Role string

// The roles.
const (
	Registrant Role = "registrant"
	Admin      Role = "admin"
	Tech       Role = "tech"
	Abuse      Role = "abuse"
	Billing    Role = "billing"
)

// Values lists the roles.
func (Role) Values() []string { return kit.Values(Registrant, Admin, Tech, Abuse, Billing) }

// A Contact is a contact of a registration.
type Contact struct {
	Role         Role   `json:"role" doc:"the part"`
	Name         string `json:"name,omitempty" doc:"name"`
	Organization string `json:"organization,omitempty" doc:"organization"`
	Country      string `json:"country,omitempty" doc:"country, by code or name"`
	Email        string `json:"email,omitempty" doc:"address for mail"`
	Redacted     bool   `json:"redacted" doc:"whether something was left out on purpose"`
}
