package dnssec

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

const maxRecords = 500

// A Request asks whether the answer for a name and type is secure.
type Request struct {
	Domain diag.Name `json:"domain" maxlen:"1000" doc:"the name, which may have underscores, begin with \"*\" or be the root \".\"" example:"example.com"`
	// Type is the type queried. 0 means SOA.
	Type resolve.Type `json:"qtype,omitempty" default:"SOA" doc:"type of the records: A AAAA CAA CNAME DNSKEY DS HTTPS MX NAPTR NS NSEC NSEC3PARAM PTR RRSIG SOA SRV SSHFP SVCB TLSA TXT in any letter case, or TYPEnnn" example:"SOA"`
}

// A Report shows the chain of trust from the trust anchor to the answer.
type Report struct {
	diag.Text
	Domain       diag.Name         `json:"domain" doc:"the name, as A-labels"`
	Type         resolve.Type      `json:"qtype" doc:"type of the records"`
	Status       diag.DNSSECStatus `json:"status" doc:"secure: proven; insecure: proven not to be signed; bogus: signed, and not as it should be; indeterminate: the servers did not say, or there is no trust anchor"`
	Signed       bool              `json:"signed" doc:"whether there are signatures or keys at all, proven or not"`
	TrustAnchor  TrustAnchor       `json:"trust_anchor" doc:"where the chain begins"`
	Chain        []Zone            `json:"chain" doc:"the zones from the trust anchor down, then those to which aliases led"`
	Answer       Answer            `json:"answer" doc:"the answer itself"`
	Algorithms   []Algorithm       `json:"algorithms" doc:"algorithms of the keys, DS records and signatures of the chain"`
	FirstFailure ChainFault        `json:"first_failure,omitzero" doc:"the first link that does not hold; absent if the answer is secure or insecure"`
	diag.Timing
	Findings        []diag.Finding        `json:"findings" doc:"what is wrong or remarkable, the worst first"`
	Recommendations []diag.Recommendation `json:"recommendations" doc:"what to do, the most urgent first"`
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules.Describe() }

// Judgement returns the report as a verdict, for a larger check that includes this one. It has no score: a
// zone is secure, not signed, or broken.
func (r *Report) Judgement() diag.Verdict {
	v := diag.Verdict{
		State: diag.Valid, Band: diag.Undetermined, Headline: r.Headline, Sub: r.Sub, Factors: []diag.Factor{},
		Breakdown: diag.Breakdown{Categories: map[string]diag.CategoryScore{}}, Passed: []diag.Check{},
		Findings: r.Findings, Recommendations: r.Recommendations,
	}
	worst := diag.Info
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	switch {
	case r.Status == diag.Indeterminate:
		v.State = diag.Unknown
	case r.Status == diag.Bogus || worst >= diag.Error:
		v.State = diag.Bad
	case worst == diag.Warning:
		v.State = diag.Warned
	case r.Status == diag.Insecure:
		v.State = diag.Missing
	}
	return v
}

// A TrustAnchor is where a chain of trust begins.
type TrustAnchor struct {
	Zone    string   `json:"zone" doc:"the zone, \".\" for the root; empty if there is no trust anchor for the name"`
	KeyTags []uint16 `json:"key_tags" doc:"tags of the keys that are trusted without proof"`
}

// An Answer is the answer for the name and type.
type Answer struct {
	Rcode      string   `json:"rcode,omitempty" doc:"reply code, if a reply came"`
	Records    []string `json:"records" doc:"the records as in a zone file, aliases first; at most 500"`
	RRSIGValid bool     `json:"rrsig_valid" doc:"whether the signatures over the records, or over the proof that there are none, are right"`
}

// An Algorithm is a signing algorithm used in the chain.
type Algorithm struct {
	Number         uint8          `json:"number" doc:"number in the registry of IANA"`
	Name           string         `json:"name" doc:"its name there" example:"ECDSAP256SHA256"`
	Recommendation Recommendation `json:"recommendation" doc:"whether zones should be signed with it (RFC 9904)"`
}

// Check validates the answer for a name and type, and describes every link of the chain. The error is a
// *[diag.InputError], the error of the context, or wraps [diag.ErrUnavailable] if no query was answered.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is required")
	}
	qtype, err := resolve.ParseType(cmp.Or(req.Type, resolve.Type(dns.TypeSOA)).String())
	if err != nil {
		return nil, err
	}
	began := env.Now()
	v := Validator{Env: env, fullReport: true}
	if req.Type == 0 {
		v.extraHosts = hostsOf(req.Domain.FQDN())
	}
	result, err := v.examine(ctx, req.Domain.FQDN(), uint16(qtype))
	if err != nil {
		return nil, err
	}
	if result.Work.Replies == 0 {
		return nil, diag.Unavailable(diag.DefaultResolver, result.Failure)
	}
	r := report(result)
	r.Domain, r.Type = req.Domain, qtype
	r.Timing = diag.NewTiming(began, env.Now())
	return r, nil
}

const (
	// firstShare is the part of the time that the resolver gets, in tenths; the authoritative servers have the rest.
	firstShare = 6
	// maxWalk bounds the messages to servers for one question. Four are usual.
	maxWalk = 32
)

// examine validates the resolver's answers. A failure there need not be the fault of the domain: the resolver may
// strip DNSSEC, have stale records in its cache, or answer SERVFAIL because it validates itself. So the
// authoritative servers are queried before a fault is reported.
func (v *Validator) examine(ctx context.Context, fqdn string, qtype uint16) (*Result, error) {
	n, _ := parseName(fqdn) // of a [diag.Name]
	r, err := v.validate(ctx, v.Env.DNS(), diag.TimeLeft(ctx, timeout)*firstShare/10, n, qtype)
	if err != nil || !r.doubtful() {
		return r, err
	}
	servers := v.Env.Iterator()
	servers.MaxQueries = maxWalk
	own, err := v.validate(ctx, servers, timeout, n, qtype)
	if err != nil || own.Status == diag.Indeterminate {
		return r, err
	}
	if own.Status != diag.Bogus {
		own.Resolver = r.Failure
	}
	return own, nil
}

// hostsOf lists the names that visitors of a domain ask for: its SOA record may be in order and they see
// nothing of the site all the same.
func hostsOf(fqdn string) []name {
	var list []name
	for _, host := range []string{fqdn, "www." + strings.TrimPrefix(fqdn, ".")} {
		if n, ok := parseName(host); ok {
			list = append(list, n)
		}
	}
	return list
}

// doubtful reports whether the servers of the zone may have something better to say than the resolver.
func (r *Result) doubtful() bool {
	bogus := func(r *Result) bool { return r.Status == diag.Bogus }
	return bogus(r) || slices.ContainsFunc(r.extraResults, bogus) ||
		r.Status == diag.Indeterminate && r.Failure.Code != codeAnchorNone && r.Failure.Code != codeAnswerUnsignable
}

func report(result *Result) *Report {
	verdict := rules.Judge(result, texts)
	r := &Report{
		Text: headline(result, verdict), Status: result.Status, Signed: result.Signed,
		TrustAnchor: TrustAnchor{KeyTags: []uint16{}}, Chain: slices.Concat([]Zone{}, result.Chain),
		Answer:     Answer{Records: recordTexts(result), RRSIGValid: result.Status == diag.Secure},
		Algorithms: algorithmsOf(result.Chain), Findings: verdict.Findings, Recommendations: verdict.Recommendations,
	}
	if result.Rcode >= 0 {
		r.Answer.Rcode = dnsmsg.RcodeName(result.Rcode)
	}
	if anchor, ok := parseName(result.Anchor); ok && result.Anchor != "" {
		r.TrustAnchor.Zone = anchor.String()
	}
	for _, k := range result.AnchorKeys {
		r.TrustAnchor.KeyTags = append(r.TrustAnchor.KeyTags, k.KeyTag)
	}
	if result.Status == diag.Bogus || result.Status == diag.Indeterminate {
		r.FirstFailure = kit.OrZero(result.Failure)
	}
	return r
}

// recordTexts returns the records of the answer as in a zone file.
func recordTexts(result *Result) []string {
	records := resolve.NewDNSRecords(result.Records, maxRecords, result.Now)
	return kit.Map(records, func(r resolve.DNSRecord) string {
		return fmt.Sprintf("%s %d %s %s %s", dns.Fqdn(r.Name), r.TTL, r.Class, r.Type, r.Data)
	})
}

func algorithmsOf(chain []Zone) []Algorithm {
	used := map[uint8]bool{}
	for _, z := range chain {
		for _, ds := range z.DS {
			used[ds.Algorithm] = true
		}
		for _, k := range z.Keys {
			used[k.Algorithm] = true
		}
		for _, s := range z.Signatures {
			used[s.Algorithm] = true
		}
	}
	return kit.Map(slices.Sorted(maps.Keys(used)), func(number uint8) Algorithm {
		return Algorithm{number, resolve.AlgorithmName(number), Recommend(number)}
	})
}
