package propagation

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// The time of a check (CONTRACT 1.9). All queries are concurrent, so it takes as long as the slowest, never the sum.
const (
	timeout         = 10 * time.Second
	resolverTimeout = 4 * time.Second
)

// A Request asks how far the records of one name and type have propagated.
type Request struct {
	Name diag.Name    `json:"qname" maxlen:"1000" doc:"the name, which may have underscores, begin with \"*\" or be the root \".\"" example:"example.com"`
	Type resolve.Type `json:"qtype,omitempty" default:"A" doc:"type of the records: A AAAA CAA CNAME DNSKEY DS HTTPS MX NAPTR NS NSEC NSEC3PARAM PTR RRSIG SOA SRV SSHFP SVCB TLSA TXT in any letter case, or TYPEnnn"`
	// Resolvers are the ids of the resolvers to ask. Empty means all.
	Resolvers []string `json:"resolvers,omitempty" minitems:"1" maxitems:"50" unique:"true" maxlen:"40" doc:"ids of the resolvers to ask; all if missing" example:"[\"google\",\"quad9\"]"`
	Expected  []string `json:"expected,omitempty" maxitems:"20" maxlen:"4096" doc:"data of the records that there should be, as in a zone file; of TXT records also without quotation marks; if missing, what the authoritative servers say counts" example:"[\"192.0.2.1\"]"`
}

// A Report shows how far a change has propagated.
type Report struct {
	diag.Text
	Name          diag.Name     `json:"qname" doc:"the name, as A-labels"`
	Type          resolve.Type  `json:"qtype" doc:"type of the records"`
	Authoritative Authoritative `json:"authoritative" doc:"what the servers of the zone say"`
	Expected      []string      `json:"expected" doc:"the data that were expected, in their normal form"`
	Resolvers     []Resolver    `json:"resolvers" doc:"what each resolver says"`
	ValueGroups   []ValueGroup  `json:"value_groups" doc:"resolvers that say the same, the largest group first; those without records have no values"`
	Summary       Summary       `json:"summary" doc:"how far the records have got"`
	Partial       bool          `json:"partial" doc:"whether something could not be learned: a resolver or an authoritative server did not reply"`
	diag.Timing
	Findings []diag.Finding `json:"findings" doc:"what prevents it, the worst first"`
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules.Describe() }

// Authoritative has the answers of the authoritative servers.
type Authoritative struct {
	Found      bool     `json:"found" doc:"whether servers that are responsible answered"`
	Values     []string `json:"values" doc:"data of the records, sorted; where servers disagree, of the newest version of the zone"`
	TTL        *uint32  `json:"ttl,omitempty" doc:"for how many seconds resolvers may keep the answer"`
	Servers    []Server `json:"servers" doc:"what each says, one for each address"`
	Consistent bool     `json:"consistent" doc:"whether all that answered say the same"`
}

// A Server is an authoritative server at one address.
type Server struct {
	Name    string   `json:"name" doc:"its name"`
	Address string   `json:"address" doc:"its address; empty if none is known"`
	Rcode   string   `json:"rcode,omitempty" doc:"reply code, if a reply came"`
	Serial  *uint32  `json:"serial,omitempty" doc:"serial number of its version of the zone"`
	Values  []string `json:"values" doc:"data of the records, sorted"`
	Error   string   `json:"error,omitempty" doc:"why it does not count"`
}

// Status is the result of comparing the answer of a resolver: match, mismatch, nxdomain, nodata, servfail,
// refused, timeout or error.
type Status string

// The statuses. The reference is the values that the request expects, or else the authoritative answer, or else, if
// no such server answered, the answer of most resolvers.
const (
	Match    Status = "match"    // as it should be; also that there is no such name or record
	Mismatch Status = "mismatch" // other records
	NXDomain Status = "nxdomain" // there is no such name, although there should be
	NoData   Status = "nodata"   // there are no such records, although there should be
	ServFail Status = "servfail" // the resolver could not find out
	Refused  Status = "refused"  // the resolver does not want to answer
	TimedOut Status = "timeout"  // no reply came in time
	Failed   Status = "error"    // no reply came, or none that makes sense
)

// Values lists the statuses.
func (Status) Values() []string {
	return kit.Values(Match, Mismatch, NXDomain, NoData, ServFail, Refused, TimedOut, Failed)
}

// A Resolver is the answer of one resolver.
type Resolver struct {
	ID        string             `json:"id" doc:"its id in requests"`
	Name      string             `json:"name" doc:"its name for people"`
	Operator  string             `json:"operator" doc:"who runs it"`
	Address   string             `json:"address" doc:"the address that was asked last"`
	Country   string             `json:"country" doc:"where the operator is seated (ISO 3166-1); resolvers themselves are in many places"`
	Transport resolver.Transport `json:"transport" enum:"udp tcp dot doh" doc:"how it was asked"`
	Rcode     string             `json:"rcode,omitempty" doc:"reply code, if a reply came"`
	Values    []string           `json:"values" doc:"data of the records, sorted"`
	TTL       *uint32            `json:"ttl,omitempty" doc:"seconds until its copy runs out, if it says what it holds"`
	AD        bool               `json:"ad" doc:"whether it vouches for the answer with DNSSEC"`
	LatencyMS int64              `json:"latency_ms" min:"0" doc:"time from question to answer, or how long it was waited for"`
	Status    Status             `json:"status" doc:"how the answer compares with what it should be"`
	Error     string             `json:"error,omitempty" doc:"why there is no answer, or what the resolver adds to it, such as that it filters"`
}

// A ValueGroup is a group of resolvers that returned the same records.
type ValueGroup struct {
	Values      []string `json:"values" doc:"data of the records, sorted; empty: there are none"`
	ResolverIDs []string `json:"resolver_ids" doc:"who says so"`
	Count       int      `json:"count" min:"1" doc:"how many"`
}

// Progress summarizes how far a change has propagated: complete, partial, none or inconclusive.
type Progress string

// How far the records have got.
const (
	Complete     Progress = "complete"     // all resolvers that answer are right
	Partly       Progress = "partial"      // some are
	Nowhere      Progress = "none"         // none has the reference
	Inconclusive Progress = "inconclusive" // too few answer, or there is no reference
)

// Values lists the values.
func (Progress) Values() []string { return kit.Values(Complete, Partly, Nowhere, Inconclusive) }

// A Summary counts resolvers.
type Summary struct {
	ResolverCount      int      `json:"resolver_count" min:"0" doc:"how many were asked"`
	AnsweredCount      int      `json:"answered_count" min:"0" doc:"how many gave an answer: neither failed, refused or silent ones, nor those that filter the name"`
	MatchCount         int      `json:"match_count" min:"0" doc:"how many say what they should"`
	PropagationPercent int      `json:"propagation_percent" min:"0" max:"100" doc:"how many of those that answered say what they should, in percent, rounded down"`
	Status             Progress `json:"status" doc:"how far the records have got; inconclusive: fewer than half of the resolvers answered, or nobody knows what is right"`
}

// A Checker asks given resolvers. Its zero value asks those of [Vantages].
type Checker struct {
	// Vantages are the resolvers to ask. If empty, those of the function [Vantages].
	Vantages []Vantage
}

// File is the name of the file that replaces the list of resolvers; see [diag.List].
const File = "vantages.json"

// Check is [Checker.Check] with the resolvers of the file [File] in env.Data, or those of [Vantages].
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	vantages, err := diag.List(env, File, Vantages, ParseVantages)
	if err != nil {
		return nil, err
	}
	return Checker{vantages}.Check(ctx, env, req)
}

// Check queries the resolvers and all authoritative servers concurrently, and compares the answers. The error
// is a *[diag.InputError], the error of the context, or wraps [diag.ErrUnavailable] if no server answered.
func (c Checker) Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	e, err := c.prepare(req)
	if err != nil {
		return nil, err
	}
	if err := env.Published(req.Name.FQDN()); err != nil {
		return nil, err
	}
	if err := e.fetch(ctx, env); err != nil {
		return nil, err
	}
	e.compare()
	return e.report(), nil
}

func (c Checker) prepare(req Request) (*evidence, error) {
	if req.Name.IsZero() {
		return nil, input.Invalid("qname", "is required")
	}
	if req.Type == 0 {
		req.Type = resolve.Type(dns.TypeA)
	}
	if _, err := resolve.ParseType(req.Type.String()); err != nil {
		return nil, err
	}
	e := &evidence{name: req.Name, qtype: req.Type}
	var err error
	if e.expected, err = expectedValues(req.Type, req.Expected); err != nil {
		return nil, err
	}
	vantages := c.Vantages
	if len(vantages) == 0 {
		vantages = Vantages()
	}
	e.probes, err = choose(vantages, req.Resolvers)
	return e, err
}

// maxChosen bounds the resolvers that a request may name (CONTRACT 3.1).
const maxChosen = 50

func choose(vantages []Vantage, ids []string) ([]*probe, error) {
	names := kit.Map(vantages, func(v Vantage) string { return v.ID })
	if len(ids) == 0 {
		ids = names
	} else if len(ids) > maxChosen {
		return nil, input.Invalid("resolvers", "there may be at most %d", maxChosen)
	}
	var probes []*probe
	for i, id := range ids {
		at := slices.Index(names, id)
		if at < 0 {
			return nil, input.Invalid(fmt.Sprintf("resolvers[%d]", i), "%.40q is not one of %s", id, strings.Join(names, ", "))
		}
		if slices.Contains(ids[:i], id) {
			return nil, input.Invalid(fmt.Sprintf("resolvers[%d]", i), "%q appears twice", id)
		}
		probes = append(probes, &probe{vantage: vantages[at], transport: vantages[at].Transport})
	}
	return probes, nil
}

// text returns an address for a report: empty if it is invalid.
func text(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.Unmap().String()
}

// evidence holds the observations; only fetch and compare fill it.
type evidence struct {
	name     diag.Name
	qtype    resolve.Type
	expected []string

	probes       []*probe
	authority    authority
	began, ended time.Time

	reference  observation // what is right
	known      bool        // by the request or the authoritative servers, not by the majority
	truth      observation // what the authoritative servers say
	versions   int         // how many different things they say
	serials    int         // how many versions of the zone they have
	notServing []*authServer
	silent     []*authServer

	notFollowed bool // an alias led to what could not be learned
}

type probe struct {
	vantage   Vantage
	reply     *dns.Msg
	err       error
	addr      netip.Addr
	transport resolver.Transport
	latency   time.Duration

	observation observation
	status      Status
	filtered    string // what it says about filtering the name, if it does
}

// fetch queries all servers concurrently.
func (e *evidence) fetch(ctx context.Context, env *diag.Env) error {
	e.began = env.Now()
	limited, cancel := diag.Within(ctx, timeout)
	defer cancel()
	var group diag.Group
	group.Go(func() { e.authority.ask(limited, env, e) })
	for _, s := range e.probes {
		group.Go(func() { s.look(limited, env, e) })
	}
	group.Wait()
	e.ended = env.Now()
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.ContainsFunc(e.authority.servers, func(s *authServer) bool { return s.err == nil }) ||
		slices.ContainsFunc(e.probes, func(s *probe) bool { return s.reply != nil }) {
		return nil
	}
	return diag.Unavailable(
		fmt.Sprintf("any of %d resolvers or the authoritative name servers", len(e.probes)),
		errors.New("none replied"),
	)
}

func (s *probe) look(ctx context.Context, env *diag.Env, e *evidence) {
	servers, err := s.vantage.servers()
	if err != nil {
		s.err = err
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resolverTimeout)
	defer cancel()
	var trace resolver.Trace
	began := env.Now()
	s.reply, s.err = env.Upstream(upstreamID(servers), servers...).Exchange(resolver.WithTrace(ctx, &trace),
		dnsmsg.Question(e.name.FQDN(), uint16(e.qtype), false))
	s.latency = env.Now().Sub(began)
	if errors.Is(s.err, context.DeadlineExceeded) {
		s.err = resolver.ErrTimeout
	}
	if len(servers) > 0 && len(servers[0].Addrs) > 0 {
		s.addr = servers[0].Addrs[0]
	}
	for _, step := range trace.Steps() {
		if ip := step.Addr.Addr(); ip.IsValid() {
			s.addr, s.transport = ip, step.Transport
		}
	}
	if s.reply != nil && s.reply.Truncated {
		s.reply, s.err = nil, errors.New("the reply was cut off, over TCP too")
	}
}

// upstreamID names a set of servers by what it is made of, since lists of vantages may be replaced.
func upstreamID(servers []resolver.Server) string {
	return "propagation " + strings.Join(kit.Map(servers, resolver.Server.String), " ")
}
