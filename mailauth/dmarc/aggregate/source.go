package aggregate

import (
	"net/netip"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/provider"
)

const (
	// maxDetails bounds each list of a source: a service has a few domains, an attacker thousands.
	maxDetails = 8
	// maxDomain is the longest name in the DNS, in characters; what is longer is cut.
	maxDomain = 253
)

// A Source is the mail that came from one address.
type Source struct {
	SourceIP   netip.Addr `json:"source_ip,omitzero" doc:"the address; absent where the report holds none"`
	SourceText string     `json:"source_text,omitempty" doc:"what stands in place of an address"`

	PTR          string            `json:"ptr,omitempty" doc:"its name in reverse DNS, if that was looked up"`
	PTRConfirmed *bool             `json:"ptr_confirmed,omitempty" doc:"whether that name leads back to the address; only then it says whose it is"`
	Service      string            `json:"service,omitempty" doc:"the sending service that it belongs to"`
	ServiceBasis provider.Basis    `json:"service_basis,omitempty" doc:"what the service is known by"`
	Category     provider.Category `json:"service_category,omitempty" doc:"what the service is for"`

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

// An OverrideCount counts messages that a receiver treated otherwise than the policy asks.
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
	at int32
	*tally

	class  Class
	reason Reason

	names     []string // in reverse DNS
	confirmed bool     // one of the names leads back to the address, and stands first

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
		s.overrides.addUpTo(maxDetails, Override{o.Type, diag.Quote(o.Comment)}, n)
	}
	s.headerFrom.addUpTo(maxDetails, cut(r.HeaderFrom), n)
	s.envelope.addUpTo(maxDetails, cut(r.EnvelopeFrom), n)
	for _, d := range r.DKIMAuth {
		s.dkimAuth.addUpTo(maxDetails, DKIMAuth{Domain: cut(d.Domain), Selector: cut(d.Selector), Result: Result(cut(string(d.Result)))}, n)
	}
	for _, a := range r.SPFAuth {
		s.spfAuth.addUpTo(maxDetails, SPFAuth{Domain: cut(a.Domain), Scope: Scope(cut(string(a.Scope))), Result: Result(cut(string(a.Result)))}, n)
	}
}

func cut(name string) string {
	if len(name) <= maxDomain {
		return name
	}
	return diag.Quote(name)
}

func (s *source) written() Source {
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
	w.OverrideReasons = diag.Map(s.overrides.sorted(), func(o count[Override]) OverrideCount {
		return OverrideCount{cut(string(o.what.Type)), o.n, o.what.Comment}
	})
	w.DKIM = diag.Map(s.dkimAuth.sorted(), func(d count[DKIMAuth]) DKIMCount {
		return DKIMCount{d.what.Domain, d.what.Selector, string(d.what.Result), d.n}
	})
	w.SPF = diag.Map(s.spfAuth.sorted(), func(d count[SPFAuth]) SPFCount {
		return SPFCount{d.what.Domain, string(d.what.Scope), string(d.what.Result), d.n}
	})
	return w
}
