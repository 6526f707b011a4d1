package aggregate

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/miekg/dns"
)

const (
	// maxDetails bounds each list of a source: a service has a few domains, an attacker thousands.
	maxDetails = 8
	// maxDomain is the longest name in the DNS, in characters; what is longer is cut.
	maxDomain = 253
)

// A Basis is the evidence that identified a service.
type Basis = provider.Basis

// A Source is the mail from one address.
type Source struct {
	SourceIP   netip.Addr `json:"source_ip,omitzero" doc:"the address; absent where the report holds none"`
	SourceText string     `json:"source_text,omitempty" doc:"what is given instead of an address"`
	Domain     string     `json:"domain,omitempty" doc:"the domain that it sends for, where the reports are about several"`

	PTR          string   `json:"ptr,omitempty" doc:"its name in reverse DNS, if that was looked up"`
	PTRConfirmed *bool    `json:"ptr_confirmed,omitempty" doc:"whether that name leads back to the address; only then it says whose it is"`
	Service      string   `json:"service,omitempty" doc:"the sending service that it belongs to"`
	ServiceBasis Basis    `json:"service_basis,omitempty" doc:"what the service is known by"`
	Category     Category `json:"service_category,omitempty" doc:"what the service is for"`

	MessageCount int64 `json:"message_count" min:"0" doc:"messages"`
	PassCount    int64 `json:"pass_count" min:"0" doc:"messages that passed DMARC"`

	Classification Class  `json:"classification" doc:"what the source is"`
	Reason         Reason `json:"classification_reason" doc:"the rule that decided it"`
	Explanation    string `json:"explanation" doc:"that rule in a sentence"`

	SPFAlignedCount  int64        `json:"spf_aligned_count" min:"0" doc:"messages for which the receiver says that SPF passed and was aligned"`
	DKIMAlignedCount int64        `json:"dkim_aligned_count" min:"0" doc:"likewise DKIM"`
	Dispositions     Dispositions `json:"dispositions" doc:"how the messages were handled"`

	OverrideReasons []OverrideCount `json:"override_reasons" maxitems:"8" doc:"why the receiver did otherwise than the policy asks"`
	HeaderFrom      []string        `json:"header_from" maxitems:"8" doc:"domains of the From field, the most frequent first"`
	EnvelopeFrom    []string        `json:"envelope_from" maxitems:"8" doc:"domains of the return path, the most frequent first"`
	DKIM            []DKIMCount     `json:"dkim" maxitems:"8" doc:"results of DKIM before alignment, the most frequent first"`
	SPF             []SPFCount      `json:"spf" maxitems:"8" doc:"results of SPF before alignment, the most frequent first"`
}

// An OverrideCount counts messages for which a receiver deviated from the policy.
type OverrideCount struct {
	Type    string `json:"type" doc:"the kind of reason"`
	Count   int64  `json:"count" min:"0" doc:"messages"`
	Comment string `json:"comment,omitempty" doc:"what the receiver says about it"`
}

// A DKIMCount counts messages with one result of DKIM.
type DKIMCount struct {
	Domain   string `json:"domain" doc:"domain of the signature"`
	Selector string `json:"selector,omitempty" doc:"selector of the signature"`
	Result   string `json:"result" doc:"result of the verification"`
	Count    int64  `json:"count" min:"0" doc:"messages"`
}

// An SPFCount counts messages with one result of SPF.
type SPFCount struct {
	Domain string `json:"domain" doc:"domain that was checked"`
	Scope  string `json:"scope,omitempty" doc:"mfrom, the return path, or helo"`
	Result string `json:"result" doc:"result of the check"`
	Count  int64  `json:"count" min:"0" doc:"messages"`
}

type source struct {
	index int32
	*tally

	class  Class
	reason Reason

	names     []string // in reverse DNS
	confirmed bool     // one of the names is forward-confirmed, and comes first

	byReport     map[int]int64 // messages
	dispositions Dispositions
	overrides    counts[Override]
	headerFrom   counts[string]
	envelope     counts[string]
	dkimAuth     counts[DKIMAuth]
	spfAuth      counts[SPFAuth]
}

func (s *source) add(r *Record) {
	n := r.Count
	if s.byReport == nil {
		s.byReport = map[int]int64{}
	}
	s.byReport[r.Report] += n
	s.dispositions.add(r.Disposition, n)
	for _, o := range r.Overrides {
		s.overrides.addLimited(maxDetails, Override{o.Type, phrase.Quote(o.Comment)}, n)
	}
	s.headerFrom.addLimited(maxDetails, clipDomain(r.HeaderFrom), n)
	s.envelope.addLimited(maxDetails, clipDomain(r.EnvelopeFrom), n)
	for _, d := range r.DKIMAuth {
		s.dkimAuth.addLimited(maxDetails, DKIMAuth{Domain: clipDomain(d.Domain), Selector: clipDomain(d.Selector),
			Result: Result(clipDomain(string(d.Result)))}, n)
	}
	for _, a := range r.SPFAuth {
		s.spfAuth.addLimited(maxDetails, SPFAuth{Domain: clipDomain(a.Domain), Scope: Scope(clipDomain(string(a.Scope))),
			Result: Result(clipDomain(string(a.Result)))}, n)
	}
}

func clipDomain(name string) string {
	if len(name) <= maxDomain {
		return name
	}
	return phrase.Quote(name)
}

func (s *source) toSource() Source {
	w := Source{
		MessageCount: s.messages, PassCount: s.pass, SPFAlignedCount: s.spf, DKIMAlignedCount: s.dkim,
		Classification: s.class, Reason: s.reason, Explanation: explanations[s.reason], Dispositions: s.dispositions,
		HeaderFrom: s.headerFrom.names(), EnvelopeFrom: s.envelope.names(),
	}
	if s.ip.IsValid() {
		w.SourceIP = s.ip
	} else {
		w.SourceText = s.name()
	}
	if len(s.names) > 0 {
		w.PTR, w.PTRConfirmed = s.names[0], &s.confirmed
	}
	if s.service != nil {
		w.Service, w.ServiceBasis, w.Category = s.service.Name, s.basis(), s.service.Category
	}
	w.OverrideReasons = kit.Map(s.overrides.sorted(), func(o count[Override]) OverrideCount {
		return OverrideCount{clipDomain(string(o.key.Type)), o.n, o.key.Comment}
	})
	w.DKIM = kit.Map(s.dkimAuth.sorted(), func(d count[DKIMAuth]) DKIMCount {
		return DKIMCount{d.key.Domain, d.key.Selector, string(d.key.Result), d.n}
	})
	w.SPF = kit.Map(s.spfAuth.sorted(), func(d count[SPFAuth]) SPFCount {
		return SPFCount{d.key.Domain, string(d.key.Scope), string(d.key.Result), d.n}
	})
	return w
}

const (
	// maxResolved bounds the sources that are looked up, the largest first: nine tenths of the mail come from fewer.
	maxResolved = 50
	// maxPTR bounds the names of one address that are followed. Mail servers have one.
	maxPTR = 3
	// resolveTimeout bounds the wait for names. They add to a result that is valid without them.
	resolveTimeout = 8 * time.Second
)

func (e *evidence) lookupNames(ctx context.Context, env *diag.Env, most int) error {
	limited, cancel := diag.Within(ctx, resolveTimeout)
	defer cancel()
	list := e.topSources[:min(len(e.topSources), most)]
	unknown := make([]bool, len(list))
	var g diag.Group
	for i, s := range list {
		if s.ip.IsValid() {
			g.Go(func() { unknown[i] = !s.lookupNames(limited, env) })
		}
	}
	g.Wait()
	for i, s := range list {
		if unknown[i] {
			e.unnamedCount++
			e.namesMatter = e.namesMatter || s.traits&traitSPF == 0 // the name might have identified it
		}
		if s.confirmed && strings.HasSuffix("."+s.names[0], "."+e.sums.alignment.organization) {
			s.traits |= traitOwnName
		}
		if s.service == nil && s.confirmed {
			s.setService(provider.Identify(provider.Traces{PTR: s.names[:1]}))
		}
	}
	return ctx.Err()
}

// lookupNames looks up the names of a source. A name counts only if it is forward-confirmed, since the owner of an
// address may give it any name (RFC 8601 section 2.7.3). It reports whether the servers answered.
func (s *source) lookupNames(ctx context.Context, env *diag.Env) bool {
	ptr := diag.Lookup[*dns.PTR](ctx, env, diag.IP{Addr: s.ip}.Reverse())
	if ptr.Err() != nil {
		return false
	}
	for _, r := range ptr.Records[:min(len(ptr.Records), maxPTR)] {
		s.names = append(s.names, strings.TrimSuffix(dns.CanonicalName(r.Ptr), "."))
	}
	leads := make([]bool, len(s.names))
	silent := make([]bool, len(s.names))
	var g diag.Group
	for i, name := range s.names {
		g.Go(func() {
			a := diag.LookupAddresses(ctx, env, name+".")
			leads[i] = slices.Contains(a.All(), s.ip)
			silent[i] = !leads[i] && a.Err() != nil
		})
	}
	g.Wait()
	if i := slices.Index(leads, true); i >= 0 {
		s.names[0], s.names[i] = s.names[i], s.names[0]
		s.confirmed = true
		return true
	}
	return !slices.Contains(silent, true)
}
