package zonecheck

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// A Request asks for the audit of one domain.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain whose name servers are examined" example:"example.com"`
}

// A Report describes how a domain is delegated and served, with a verdict.
type Report struct {
	Domain        diag.Domain `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string      `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	diag.Verdict
	Parent      Parent       `json:"parent" doc:"the parent zone, and what it says"`
	Zone        Zone         `json:"zone" doc:"what the zone says of itself"`
	Delegation  Delegation   `json:"delegation" doc:"how the two agree"`
	Nameservers []Nameserver `json:"nameservers" maxitems:"20" doc:"name servers, by name"`
	Answers     []Answer     `json:"answers" maxitems:"150" doc:"what each server answers for each type at the apex; for DS, those of the parent zone"`
	SOA         SOA          `json:"soa,omitzero" doc:"the SOA record, the newest if servers differ; absent if unknown"`
	Diversity   Diversity    `json:"diversity" doc:"how the name servers are spread"`
	Checks      []RuleResult `json:"checks" doc:"every rule that applied, with its result; then facts worth knowing"`
	Summary     Summary      `json:"summary" doc:"the results, counted"`
	Partial     bool         `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// Check audits a domain, which takes at most 6 s. The error is that of the context if it ended, or wraps
// [diag.ErrUnavailable] if the resolver of the environment did not answer at all. If that resolver answers
// for a zone that is not published yet, as package overlay does, the zone cannot be audited, and the error
// also wraps [diag.ErrUndelegated].
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	s, err := survey.Ask(ctx, env, req.Domain)
	if err != nil {
		return nil, err
	}
	return newEvidence(s).report(env.Now()), nil
}

// CheckUndelegated audits a domain as if its parent zone delegated it as d says, with the servers and DS
// records of d. Use it before a domain is delegated, or before it moves to other servers. The guard of the
// environment applies to their addresses.
func CheckUndelegated(ctx context.Context, env *diag.Env, req Request, d diag.Delegation) (*Report, error) {
	if len(d.Servers) == 0 {
		return nil, input.Invalid("ns", "is missing")
	}
	d.Zone = req.Domain.FQDN()
	return Check(ctx, env.WithResolver(overlay.New(env.DNS(), overlay.Delegated(env, d))), req)
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report(ended time.Time) *Report {
	r := &Report{
		Domain: e.Domain, DomainUnicode: e.Domain.UnicodeIfDifferent(), Verdict: rules().Judge(e, texts),
		Parent: e.parentReport(), Zone: Zone{Nameservers: bareNames(e.own), TTL: e.ownTTL},
		Delegation: e.delegationReport(), Nameservers: []Nameserver{}, Answers: e.answersReport(), SOA: e.soaReport(),
		Diversity: e.diversity(),
		Partial:   len(e.Unanswered()) > 0, Timing: diag.NewTiming(e.Began, ended),
	}
	for _, s := range e.Servers {
		n := Nameserver{Name: survey.BareName(s.Name), Addresses: []Address{}}
		for _, ad := range e.Addresses {
			if slices.Contains(s.IPs, ad.IP) {
				n.Addresses = append(n.Addresses, e.addressReport(ad))
			}
		}
		r.Nameservers = append(r.Nameservers, n)
	}
	r.Checks = append(results(r.Verdict), e.facts()...)
	r.Summary = summarize(r.Checks)
	return r
}

// Parent is the parent zone.
type Parent struct {
	Zone        string             `json:"zone" doc:"its name, a dot for the root, empty if it is not known"`
	Servers     []string           `json:"servers" doc:"its name servers"`
	Nameservers []ParentNameserver `json:"nameservers" doc:"the name servers that it names for the domain"`
}

// A ParentNameserver is a name server of the domain in the parent zone's delegation.
type ParentNameserver struct {
	Name string       `json:"name" doc:"name of the server"`
	Glue []netip.Addr `json:"glue" doc:"addresses beside the delegation"`
}

// Zone has the zone's own data.
type Zone struct {
	Nameservers []string `json:"nameservers" doc:"the name servers in its NS records"`
	TTL         *uint32  `json:"ttl,omitempty" min:"0" doc:"time to live of these, in seconds; absent if unknown"`
}

// Delegation compares the name servers that the parent zone names with those that the zone names.
type Delegation struct {
	Consistent      bool     `json:"consistent" doc:"whether both are known and the same"`
	MissingAtParent []string `json:"missing_at_parent" doc:"name servers that only the zone names"`
	MissingInZone   []string `json:"missing_in_zone" doc:"name servers that only the parent zone names"`
	Lame            []string `json:"lame" doc:"name servers that answer without serving the zone"`
}

// A Nameserver is a name server of the domain, named by the parent zone or the zone itself.
type Nameserver struct {
	Name      string    `json:"name" doc:"name of the server"`
	Addresses []Address `json:"addresses" maxitems:"26" doc:"its addresses, IPv4 first"`
}

// An Address is one address of a name server, and how the server behaves there.
type Address struct {
	Address            netip.Addr `json:"address" doc:"the address"`
	IPVersion          int        `json:"ip_version" min:"4" max:"6" doc:"4 or 6"`
	Reachable          bool       `json:"reachable" doc:"whether it answers at all"`
	UDP                bool       `json:"udp" doc:"whether it answers over UDP"`
	TCP                bool       `json:"tcp" doc:"whether it answers over TCP"`
	Authoritative      bool       `json:"authoritative" doc:"whether it serves the zone"`
	RecursionAvailable bool       `json:"recursion_available" doc:"whether it resolves names of others for anyone"`
	AXFROpen           bool       `json:"axfr_open" doc:"whether it hands out the whole zone to anyone"`
	EDNS               bool       `json:"edns" doc:"whether it understands EDNS"`
	SOASerial          *uint32    `json:"soa_serial,omitempty" doc:"serial number of its copy of the zone"`
	NSID               string     `json:"nsid,omitempty" doc:"its identifier (RFC 5001), as text or in hexadecimal"`
	LatencyMS          *int64     `json:"latency_ms,omitempty" min:"0" doc:"time of its fastest answer"`
	Error              string     `json:"error,omitempty" doc:"why it does not serve the zone"`
}

// An Answer is the outcome of the query for one type at one server. Queries that were not sent have none.
type Answer struct {
	Type    string     `json:"type" doc:"the type that was asked for at the apex"`
	Server  string     `json:"server" doc:"name of the server; several if they share the address"`
	Address netip.Addr `json:"address" doc:"its address"`
	Answer  string     `json:"answer" doc:"the response code, NODATA (NOERROR without such a record), silent, truncated (and not sent over TCP), or malformed" example:"NOERROR"`
}

// SOA is the SOA record of the zone.
type SOA struct {
	MName      string   `json:"mname" doc:"name of the primary server"`
	RName      string   `json:"rname" doc:"mailbox of who is responsible, as a domain name"`
	Serial     uint32   `json:"serial" doc:"version of the zone"`
	Refresh    uint32   `json:"refresh" doc:"seconds after which secondaries ask for a new version"`
	Retry      uint32   `json:"retry" doc:"seconds after which they ask again if that fails"`
	Expire     uint32   `json:"expire" doc:"seconds after which they give up the zone"`
	Minimum    uint32   `json:"minimum" doc:"seconds for which resolvers remember what does not exist"`
	TTL        uint32   `json:"ttl" doc:"time to live of the record, in seconds"`
	Consistent bool     `json:"consistent" doc:"whether all servers have the same record"`
	Serials    []uint32 `json:"serials" doc:"all serial numbers that servers have, the newest first"`
}

// Diversity describes how the name servers are distributed over networks.
type Diversity struct {
	ASNsCount     *int  `json:"asns_count,omitempty" min:"0" doc:"networks that announce them; absent if not known"`
	PrefixesCount int   `json:"prefixes_count" min:"0" doc:"different /24 of IPv4 and /48 of IPv6"`
	IPVersions    []int `json:"ip_versions" doc:"versions of IP that they have addresses of"`
}

// Status is the result of a rule: pass, warning, fail or info.
type Status string

// The statuses. What the servers did not answer is a warning.
const (
	Passed   Status = "pass"
	Warned   Status = "warning"
	Failed   Status = "fail"
	Informed Status = "info"
)

// Values lists the statuses.
func (Status) Values() []string { return kit.Values(Passed, Warned, Failed, Informed) }

// A RuleResult is a rule that applied, and its outcome.
type RuleResult struct {
	Code     diag.Code `json:"code" doc:"permanent name of the rule"`
	Category Category  `json:"category" doc:"what it is about"`
	Status   Status    `json:"status" doc:"the result"`
	Message  string    `json:"message" doc:"the requirement if it is fulfilled, else what was seen instead"`
	Action   string    `json:"action,omitempty" doc:"what to do"`
}

// Summary counts the results.
type Summary struct {
	PassCount    int `json:"pass_count" min:"0" doc:"rules that are fulfilled"`
	WarningCount int `json:"warning_count" min:"0" doc:"rules whose result is a warning"`
	FailCount    int `json:"fail_count" min:"0" doc:"rules that are violated"`
	InfoCount    int `json:"info_count" min:"0" doc:"rules that tell something worth knowing"`
}

// A fact is worth knowing but not a finding: it requires no action.
type fact struct {
	code     diag.Code
	category rule.Category
	tell     func(*evidence) rule.Failures
}

var zoneFacts = []fact{
	{"zone.ns.version", categorySecurity, atAddresses(func(_ *evidence, ad *survey.Address) string {
		version := versionOf(ad.Replies[survey.ProbeChaos])
		return view.TextIf(version != "", fmt.Sprintf("answers version.bind with %.100q", version))
	})},
	{"zone.ns.nsid", categorySecurity, atServing(func(_ *evidence, ad *survey.Address) string {
		id := nsidOf(ad.Replies[survey.ProbeIdentity])
		return view.TextIf(id != "", fmt.Sprintf("has the NSID %.100q", id))
	})},
	{"zone.ns.subnet", categoryNameserver, atServing(func(_ *evidence, ad *survey.Address) string {
		subnet, ok := option[*dns.EDNS0_SUBNET](ad.Replies[survey.ProbeSubnet])
		if !ok || subnet.SourceScope == 0 {
			return ""
		}
		return fmt.Sprintf("answered for clients of one /%d network (EDNS Client Subnet)", subnet.SourceScope)
	})},
	{"zone.delegation.functional", categoryDelegation, func(e *evidence) rule.Failures {
		return eachChain(func(c survey.Chain) string {
			return view.TextIf(!served(e) && named(e) && len(c.Addrs) > 0,
				"still has an address in the resolver, although no name server serves the zone")
		})(e)
	}},
	{"zone.soa.mname.differs", categorySOA,
		soaDiffers("The MNAME", func(s *dns.SOA) string { return survey.BareName(s.Ns) })},
	{"zone.soa.rname.differs", categorySOA,
		soaDiffers("The RNAME", func(s *dns.SOA) string { return survey.BareName(s.Mbox) })},
	{"zone.soa.timers.differ", categorySOA, soaDiffers("The timer set", func(s *dns.SOA) string {
		return fmt.Sprintf("refresh %d, retry %d, expire %d, minimum %d", s.Refresh, s.Retry, s.Expire, s.Minttl)
	})},
	{"zone.soa.mname.unlisted", categorySOA, func(e *evidence) rule.Failures {
		if !hasSOA(e) || len(e.own) == 0 {
			return nil
		}
		mname := dns.CanonicalName(e.soa().Ns)
		return rule.FailIf(!slices.Contains(e.own, mname), "The primary server %s has no NS record in the zone.",
			survey.BareName(mname))
	}},
	{"zone.mx.missing", categoryMail, func(e *evidence) rule.Failures {
		return rule.FailIf(answeredByAtLeast(1, survey.ProbeMX)(e) && !hasMX(e), "%s has no MX record.", e.Domain)
	}},
	{"zone.mx.null", categoryMail, func(e *evidence) rule.Failures {
		null := len(e.mx()) == 1 && nullMX(e.mx()[0])
		return rule.FailIf(null, "The null MX of %s says that it receives no mail.", e.Domain)
	}},
	{"zone.spf.missing", categoryMail, func(e *evidence) rule.Failures {
		return rule.FailIf(answeredByAtLeast(1, survey.ProbeTXT)(e) && e.spfRecords() == 0, "%s has no SPF record.", e.Domain)
	}},
	{"zone.dnssec.cds.present", categorySecurity, func(e *evidence) rule.Failures {
		return rule.FailIf(hasChildDS(e), "%s has %s and %s.", e.Domain, phrase.Count(len(e.sec.cds), "CDS record"),
			phrase.Count(len(e.sec.cdnskey), "CDNSKEY record"))
	}},
	{"zone.dnssec.nsec3.salt", categorySecurity, func(e *evidence) rule.Failures {
		return rule.FailIf(hashed(e) && e.sec.param.SaltLength > 0, "NSEC3 of %s has a salt.", e.Domain)
	}},
	{"zone.dnssec.nsec3.optout", categorySecurity, func(e *evidence) rule.Failures {
		return rule.FailIf(hashed(e) && e.sec.optOut, "NSEC3 records of %s have the opt-out flag.", e.Domain)
	}},
}

func (e *evidence) facts() (list []RuleResult) {
	for _, f := range zoneFacts {
		for _, one := range f.tell(e).Joined() {
			list = append(
				list,
				RuleResult{Code: f.code, Category: Category(f.category.Code), Status: Informed, Message: one.Detail},
			)
		}
	}
	return list
}
