package resolve

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
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// maxRecords bounds the records that a report lists of each section: a message has room for some thousands, too many
// to read, and the largest sets in real use have about a hundred.
const maxRecords = 500

// A Request asks for the records of one name and type.
type Request struct {
	Name     diag.Name  `json:"qname" maxlen:"1000" doc:"the name, which may have underscores, begin with \"*\" or be the root \".\"" example:"example.com"`
	Type     Type       `json:"qtype" doc:"type of the records: A AAAA CAA CNAME DNSKEY DS HTTPS MX NAPTR NS NSEC NSEC3PARAM PTR RRSIG SOA SRV SSHFP SVCB TLSA TXT in any letter case, or TYPEnnn" example:"MX"`
	Resolver ResolverID `json:"resolver,omitempty" enum:"default google cloudflare quad9 opendns authoritative" default:"default" doc:"who is asked; authoritative: the servers of the name, found by iterating from the root"`
	DNSSEC   bool       `json:"dnssec,omitempty" default:"false" doc:"whether to ask for signatures too, and to report whether the answer is authentic"`
	// Trace adds the delegations from the root servers to the answer. They are queried in addition to the
	// resolver.
	Trace bool `json:"trace,omitempty" default:"false" doc:"whether to show the way from the root servers to the answer"`

	// How the question is put.

	Class            Class              `json:"qclass,omitempty" enum:"IN CH" default:"IN" doc:"class of the records; CH is where servers tell of themselves, as in version.bind TXT"`
	Transport        resolver.Transport `json:"transport,omitempty" enum:"udp tcp dot doh" default:"udp" doc:"how the question is sent; udp: and over TCP if the answer does not fit; dot, doh: to a public resolver"`
	RecursionDesired *bool              `json:"recursion_desired,omitempty" default:"true" doc:"whether the server is to resolve the name (RD); if not, it tells what it has"`
	CheckingDisabled bool               `json:"checking_disabled,omitempty" default:"false" doc:"whether the resolver is not to validate DNSSEC (CD)"`
	NSID             bool               `json:"nsid,omitempty" default:"false" doc:"whether to ask the server for its identifier (NSID)"`
	UDPPayloadSize   int                `json:"udp_payload_size,omitempty" min:"512" max:"4096" doc:"largest reply over UDP that is asked for, in bytes; 1232 unless given"`
	IPVersion        int                `json:"ip_version,omitempty" enum:"4 6" doc:"version of the Internet Protocol over which servers are asked; both unless given"`
	// TimeoutSeconds and Tries override those of the resolver; 0 keeps them, usually two tries of two
	// seconds.
	TimeoutSeconds int `json:"timeout_seconds,omitempty" min:"1" max:"30" doc:"how long each server is waited for"`
	Tries          int `json:"tries,omitempty" min:"1" max:"10" doc:"how often the servers are asked until one answers"`
}

// A ResolverID names a resolver to ask: default, google, cloudflare, quad9, opendns or authoritative.
type ResolverID string

// The resolvers.
const (
	Default    ResolverID = "default" // the resolver of the environment
	Google     ResolverID = "google"
	Cloudflare ResolverID = "cloudflare"
	Quad9      ResolverID = "quad9"
	OpenDNS    ResolverID = "opendns"
	// Authoritative means the authoritative servers of the name, found by iteration from the root.
	Authoritative ResolverID = "authoritative"
)

// Values lists the resolvers.
func (ResolverID) Values() []string {
	return kit.Values(Default, Google, Cloudflare, Quad9, OpenDNS, Authoritative)
}

// A Report is the answer to one question.
type Report struct {
	diag.Text
	Name             diag.Name         `json:"qname" doc:"the name, as A-labels"`
	NameUnicode      string            `json:"qname_unicode,omitempty" doc:"the name in Unicode, if that differs"`
	Type             Type              `json:"qtype" doc:"type of the records"`
	Class            Class             `json:"qclass,omitempty" enum:"IN CH" doc:"class of the records, if that is not IN"`
	Resolver         Resolver          `json:"resolver" doc:"who answered"`
	Rcode            string            `json:"rcode" doc:"reply code"`
	Flags            Flags             `json:"flags" doc:"flags of the reply"`
	Answers          []DNSRecord       `json:"answers" doc:"the records, after the aliases that led to them; at most 500"`
	Authority        []DNSRecord       `json:"authority" doc:"records about the zone; at most 500"`
	Additional       []DNSRecord       `json:"additional" doc:"records that may be of use; at most 500"`
	CNAMEChain       []string          `json:"cname_chain" doc:"aliases that were followed"`
	DNSSEC           diag.DNSSECStatus `json:"dnssec_status,omitempty" doc:"what is known of the authenticity of the answer, if dnssec was asked for"`
	NSID             *string           `json:"nsid,omitempty" doc:"identifier of the server that answered, in hexadecimal digits if it is no text; empty if it gave none; absent unless asked for"`
	TruncatedOverUDP bool              `json:"truncated_over_udp" doc:"whether the answer did not fit into a datagram and was asked for again over TCP"`
	LatencyMS        int64             `json:"latency_ms" min:"0" doc:"time from question to answer"`
	Trace            []Step            `json:"trace" doc:"the way from the root servers to the answer, if trace was asked for; at most 200 steps"`
	CheckedAt        time.Time         `json:"checked_at" doc:"when the question was put"`
	Findings         []diag.Finding    `json:"findings" doc:"what is remarkable about the answer, the worst first"`
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules.Describe() }

// Resolver is the server that answered.
type Resolver struct {
	ID        ResolverID         `json:"id" doc:"its name in requests"`
	Name      string             `json:"name" doc:"its name for people"`
	Address   string             `json:"address,omitempty" doc:"the address that answered; absent if the resolver is not reached over the network, or is the operator's own"`
	Transport resolver.Transport `json:"transport,omitempty" enum:"udp tcp dot doh" doc:"how the answer came; empty if not over the network"`
}

// Flags are the flags of a reply (RFC 1035 section 4.1.1, RFC 4035 section 3).
type Flags struct {
	AA bool `json:"aa" doc:"the server is authoritative for the name"`
	TC bool `json:"tc" doc:"the reply is cut off"`
	RD bool `json:"rd" doc:"recursion was desired"`
	RA bool `json:"ra" doc:"recursion is available"`
	AD bool `json:"ad" doc:"the resolver vouches for the answer with DNSSEC"`
	CD bool `json:"cd" doc:"checking with DNSSEC was disabled"`
}

// evidence holds the observations.
type evidence struct {
	request      Request
	who          Resolver
	reply        *dns.Msg
	unchecked    *dns.Msg // the reply with DNSSEC checking disabled, if the resolver answered SERVFAIL; may be nil
	chain        []*dns.CNAME
	records      []dns.RR       // those asked for, at the end of the chain
	truncated    bool           // over UDP
	walk         *resolver.Walk // nil without a trace
	began, ended time.Time
}

// Lookup sends one query to a resolver, or to the authoritative servers. NXDOMAIN, SERVFAIL and the like are
// answers. The error is a *[diag.InputError], the error of the context, or wraps [diag.ErrUnavailable] if no
// reply came.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	e, err := fetch(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return report(e), nil
}

func fetch(ctx context.Context, env *diag.Env, req Request) (*evidence, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	if req.Trace || req.Resolver != "" && req.Resolver != Default {
		if err := env.Published(req.Name.FQDN()); err != nil {
			return nil, err
		}
	}
	e := &evidence{request: req, began: env.Now()}
	if req.Resolver == Authoritative {
		if err := e.askAuthority(ctx, env); err != nil {
			return nil, err
		}
		e.ended = env.Now()
	} else if err := e.askResolver(ctx, env); err != nil {
		return nil, err
	}
	if req.Class == Chaos { // which has no aliases
		other := func(rr dns.RR) bool { return rr.Header().Rrtype != uint16(req.Type) }
		e.records = slices.DeleteFunc(slices.Clone(e.reply.Answer), other)
	} else {
		e.chain, e.records = dnsmsg.FollowAliases(e.reply, req.Name.FQDN(), uint16(req.Type))
	}
	e.records = dns.Dedup(e.records, nil)
	return e, nil
}

// askResolver asks a resolver, and at the same time walks down from the root if that is asked for.
func (e *evidence) askResolver(ctx context.Context, env *diag.Env) error {
	who, upstream, err := choose(env, &e.request)
	if err != nil {
		return err
	}
	e.who = who
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group diag.Group
	if e.request.Trace {
		group.Go(func() { e.walkDown(ctx, env) })
	}
	var trace resolver.Trace
	group.Go(func() {
		q, ctx := e.request.question(), ctx
		if o := e.request.options(); o != (resolver.Options{}) {
			ctx = resolver.WithOptions(ctx, o)
		}
		e.reply, err = upstream.Exchange(resolver.WithTrace(ctx, &trace), q)
		e.ended = env.Now()
		if err == nil && e.reply.Rcode == dns.RcodeServerFailure && !q.CheckingDisabled && q.RecursionDesired {
			e.unchecked = withoutChecking(ctx, upstream, q)
		}
		switch {
		case errors.Is(err, resolver.ErrNoServer):
			err = input.Invalid("ip_version", "%s has no IPv%d address", spoken(who), e.request.IPVersion)
			cancel()
		case err != nil:
			err = unanswered(ctx, spoken(who), fmt.Errorf("asking for %s %s: %w", e.request.Type, e.request.Name, err))
			cancel()
		}
	})
	group.Wait()
	if err != nil {
		return err
	}
	e.readTrace(&trace)
	if env.HideResolver && who.ID == Default {
		e.who.Address = ""
	}
	return nil
}

// withoutChecking asks again with DNSSEC checking disabled (RFC 4035 section 3.2.2), which distinguishes a zone that
// fails validation from one whose servers fail. It returns nil without a reply.
func withoutChecking(ctx context.Context, upstream diag.Resolver, q *dns.Msg) *dns.Msg {
	ctx, cancel := diag.Within(ctx, uncheckedTimeout)
	defer cancel()
	q = q.Copy()
	q.CheckingDisabled = true
	reply, err := upstream.Exchange(ctx, q)
	if err != nil {
		return nil
	}
	return reply
}

// uncheckedTimeout bounds the second question about a SERVFAIL. Resolvers remember the failure
// (RFC 9520), so it rarely takes long.
const uncheckedTimeout = 4 * time.Second

// unanswered returns the error for a query that the given server did not answer.
func unanswered(ctx context.Context, asked string, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return diag.Unavailable(asked, err)
}

func spoken(r Resolver) string {
	if r.ID == Default {
		return diag.DefaultResolver
	}
	return "the resolver " + r.Name
}

func choose(env *diag.Env, req *Request) (Resolver, diag.Resolver, error) {
	id := req.Resolver
	if id == "" || id == Default {
		return Resolver{ID: Default, Name: "Default resolver"}, env.DNS(), nil
	}
	for _, p := range resolver.Public() {
		if p.ID == string(id) {
			return Resolver{ID: id, Name: p.Name}, req.upstream(env, p), nil
		}
	}
	return Resolver{}, nil, input.Invalid(
		"resolver",
		"%.40q is not one of %s",
		string(id),
		strings.Join(id.Values(), ", "),
	)
}

// readTrace notes which server gave the answer, and how.
func (e *evidence) readTrace(trace *resolver.Trace) {
	for _, step := range trace.Steps() {
		if step.Err != nil {
			continue
		}
		e.truncated = e.truncated || step.Truncated && step.Transport == resolver.UDP
		e.who.Transport = step.Transport
		e.who.Address = ""
		if ip := step.Addr.Addr(); ip != (netip.Addr{}) {
			e.who.Address = ip.Unmap().String()
		}
	}
}

func report(e *evidence) *Report {
	m, verdict := e.reply, rules.Judge(e, texts)
	r := &Report{
		Text: verdict.Text(), Name: e.request.Name, NameUnicode: e.request.Name.UnicodeIfDifferent(),
		Type: e.request.Type, Resolver: e.who,
		Rcode: dnsmsg.RcodeName(m.Rcode),
		Flags: Flags{m.Authoritative, m.Truncated, m.RecursionDesired, m.RecursionAvailable, m.AuthenticatedData,
			m.CheckingDisabled},
		Answers: NewDNSRecords(m.Answer, maxRecords, e.ended), Authority: NewDNSRecords(m.Ns, maxRecords, e.ended),
		Additional: NewDNSRecords(m.Extra, maxRecords, e.ended), TruncatedOverUDP: e.truncated,
		CNAMEChain: kit.Map(e.chain, func(c *dns.CNAME) string { return nameText(c.Target) }),
		LatencyMS:  max(0, e.ended.Sub(e.began).Milliseconds()),
		Trace:      []Step{}, CheckedAt: e.began.UTC().Truncate(time.Second),
		Findings: verdict.Findings,
	}
	if e.request.Class == Chaos {
		r.Class = Chaos
	}
	if e.request.NSID {
		r.NSID = new(identifier(m))
	}
	if e.request.Trace {
		r.Trace = steps(e.walk, e.ended)
	}
	if e.request.DNSSEC {
		r.DNSSEC = diag.MessageDNSSEC(m)
	}
	return r
}
