package registry

import (
	"context"

	"github.com/diagkit/diagkit/diag"
)

// A DomainRequest asks who holds a domain.
type DomainRequest struct {
	Domain          diag.Domain `json:"domain" doc:"the domain, or a name below it" example:"example.com"`
	FollowRegistrar *bool       `json:"follow_registrar,omitempty" default:"true" doc:"whether to ask the registrar as well"`
	Raw             bool        `json:"raw,omitempty" doc:"whether to report the answers as they came"`
}

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

// An IPRequest asks who holds an address.
type IPRequest struct {
	IP  diag.IP `json:"ip" doc:"the address, IPv4 or IPv6" example:"192.0.2.1"`
	Raw bool    `json:"raw,omitempty" doc:"whether to report the answers as they came"`
}

// An IPReport is what the registry in charge says of an address.
type IPReport struct {
	diag.Text
	IP           diag.IP      `json:"ip" doc:"the address"`
	Version      int          `json:"version" enum:"4 6" doc:"version of the Internet Protocol: 4 or 6"`
	Source       Source       `json:"source" doc:"where the data are from"`
	Registry     Registry     `json:"registry" doc:"regional registry in charge"`
	Purpose      Purpose      `json:"special_purpose,omitzero" doc:"meaning of an address that nobody registers"`
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
func (*IPReport) Rules() []diag.RuleInfo { return ipRules.Describe() }

// LookupIP asks the registry in charge of an address, with the tables of the environment, see clientOf
// and [Client.LookupIP].
func LookupIP(ctx context.Context, env *diag.Env, req IPRequest) (*IPReport, error) {
	client, err := clientOf(env)
	if err != nil {
		return nil, err
	}
	return client.LookupIP(ctx, env, req)
}

// LookupIP asks the regional registry in charge of an address over RDAP, and over WHOIS if there is no
// RDAP or it has no answer. Addresses that nobody registers are answered from a table. The error is a
// *[diag.InputError], the context's, or wraps [diag.ErrUnavailable] if no server said anything.
func (c *Client) LookupIP(ctx context.Context, env *diag.Env, req IPRequest) (*IPReport, error) {
	if req.IP.IsZero() {
		return nil, diag.Invalid("ip", "is required")
	}
	e, err := c.fetchIP(ctx, env, req.IP)
	if err != nil {
		return nil, err
	}
	return e.report(req.Raw, env.Now()), nil
}
