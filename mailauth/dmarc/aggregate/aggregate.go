package aggregate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
)

// Request is a request to analyze one report, or several in one file, given in exactly one of XML and Content.
type Request struct {
	XML     string `json:"xml,omitempty" oneof:"content" minlen:"1" maxbytes:"10485760" doc:"the report as XML" example:"<feedback><report_metadata><org_name>receiver.example</org_name><email>dmarc@receiver.example</email><report_id>1</report_id><date_range><begin>1767052800</begin><end>1767139199</end></date_range></report_metadata><policy_published><domain>example.com</domain><p>none</p></policy_published><record><row><source_ip>192.0.2.25</source_ip><count>10</count><policy_evaluated><disposition>none</disposition><dkim>pass</dkim><spf>pass</spf></policy_evaluated></row><identifiers><header_from>example.com</header_from></identifiers><auth_results><dkim><domain>example.com</domain><selector>s1</selector><result>pass</result></dkim><spf><domain>example.com</domain><result>pass</result></spf></auth_results></record></feedback>"`
	Content []byte `json:"content_base64,omitempty" oneof:"content" minlen:"1" maxbytes:"10485760" doc:"the file as it came: XML, gzip, zip, tar, a message or a mailbox with one of them, or several of them one behind the other, with up to 500 reports; its content decides which"`

	Filename string `json:"filename,omitempty" maxlen:"255" doc:"name of the file; it decides nothing"`
	// ResolvePTR controls whether the largest sources are looked up in reverse DNS. Without it the analysis makes no
	// DNS lookups.
	ResolvePTR bool `json:"resolve_ptr,omitempty" default:"false" doc:"whether to look up the names of the largest sources"`
}

const (
	// maxAnalyzed bounds the memory of Analyze in addition to that of Read, in bytes: a tally of each of 200,000
	// sources, the distinct names, and the reply.
	maxAnalyzed = 64 << 20
	// fixedMemory is the memory for any report: buffers, maps and the reply.
	fixedMemory = 3 << 20
	// sentFactor is the number of copies of the file in memory: as sent, decoded, and once more if it is text.
	sentFactor = 5
	// tallyFactor is the bytes of sums per byte of XML, if all records are short.
	tallyFactor = 4
)

// Memory returns the maximum memory of the analysis, in bytes, which depends on how far the file can expand.
func (r *Request) Memory() int64 {
	sent := int64(len(r.XML) + len(r.Content))
	expanded, inner := sent, int64(0)
	text := bytes.TrimLeft(bytes.TrimPrefix(r.Content, []byte("\ufeff")), " \t\r\n")
	if len(text) > 0 && text[0] != '<' { // packed in some way

		expanded = min(maxExpanded, max(minExpanded, maxRatio*sent))
		inner = min(maxMemory, expanded)
	}
	return fixedMemory + sentFactor*sent + inner + min(maxAnalyzed, tallyFactor*expanded)
}

// An Analysis interprets one or more reports for the domain that they are about.
type Analysis struct {
	diag.Verdict
	diag.Timing
	Metadata  ReportMetadata  `json:"metadata" doc:"who reports, and about which time, of several reports the newest; what the report does not say is absent"`
	Policy    PublishedPolicy `json:"policy_published" doc:"the DMARC record as the receiver found it, by the newest report"`
	Namespace string          `json:"namespace,omitempty" maxlen:"253" doc:"XML namespace of the report"`
	Totals    Totals          `json:"totals" doc:"sums over all records that could be used"`

	CompliancePercent *float64 `json:"compliance_percent,omitempty" min:"0" max:"100" doc:"share of messages that passed DMARC, rounded down; absent without messages"`

	Enforcement      Enforcement    `json:"enforcement,omitzero" doc:"whom p=quarantine or p=reject would concern; absent without messages"`
	Services         []ServiceTotal `json:"services" maxitems:"300" doc:"sums by sending service, the largest first"`
	Sources          []Source       `json:"sources" maxitems:"500" doc:"the largest sources, the largest first"`
	SourcesTruncated bool           `json:"sources_truncated" doc:"whether there are more sources than listed; the totals cover all"`

	RecordsCount     int           `json:"records_count" min:"0" doc:"records in the report, with those that could not be used"`
	RecordsTruncated bool          `json:"records_truncated" doc:"whether records are missing: the file is cut off, or has more than 200,000"`
	Reports          []ReportTotal `json:"reports" maxitems:"500" doc:"the reports that are judged together, the oldest first; each once, and those about one domain"`

	Domains []DomainTotal `json:"domains,omitempty" maxitems:"50" doc:"the domains that the reports are about, if there are several, that with the most messages first; each is judged, and the worst decides. policy_published, metadata and namespace are then those of the first, all else is summed"`

	Partial bool `json:"partial" doc:"whether a name that was to be looked up could not be learned"`
}

// ReportMetadata identifies the reporter and the period of a report.
type ReportMetadata struct {
	Organization  string    `json:"organization,omitempty" doc:"the receiver that reports"`
	Email         string    `json:"email,omitempty" doc:"how to reach it"`
	ExtraContact  string    `json:"extra_contact,omitempty" doc:"another way to reach it"`
	ReportID      string    `json:"report_id,omitempty" doc:"its name for the report"`
	BeginAt       time.Time `json:"begin_at,omitzero" doc:"start of the time that the report is about"`
	EndAt         time.Time `json:"end_at,omitzero" doc:"end of that time"`
	Errors        []string  `json:"errors" doc:"what went wrong while the receiver made the report"`
	SchemaVersion string    `json:"schema_version,omitempty" doc:"version of the format"`
	Generator     string    `json:"generator,omitempty" doc:"program that made the report"`
}

// PublishedPolicy is the DMARC record of the domain as the receiver found it.
type PublishedPolicy struct {
	Domain            string `json:"domain,omitempty" doc:"where the record was found"`
	Policy            string `json:"policy,omitempty" doc:"tag p"`
	SubdomainPolicy   string `json:"subdomain_policy,omitempty" doc:"tag sp"`
	NonexistentPolicy string `json:"nonexistent_subdomain_policy,omitempty" doc:"tag np"`
	DKIMAlignment     string `json:"dkim_alignment,omitempty" enum:"relaxed strict" doc:"tag adkim; relaxed if the report does not say"`
	SPFAlignment      string `json:"spf_alignment,omitempty" enum:"relaxed strict" doc:"tag aspf; relaxed if the report does not say"`
	Percentage        *int   `json:"percentage,omitempty" doc:"tag pct, which RFC 9989 removed"`
	Testing           *bool  `json:"testing,omitempty" doc:"tag t"`
	FailureOptions    string `json:"failure_options,omitempty" doc:"tag fo"`
	DiscoveryMethod   string `json:"discovery_method,omitempty" doc:"how the receiver found the record: treewalk or psl"`
}

// Totals are sums of messages over all records.
type Totals struct {
	MessageCount     int64        `json:"message_count" min:"0" doc:"messages: the sum of the counts, not of the records"`
	PassCount        int64        `json:"pass_count" min:"0" doc:"messages that passed DMARC"`
	FailCount        int64        `json:"fail_count" min:"0" doc:"messages that did not"`
	SPFAlignedCount  int64        `json:"spf_aligned_count" min:"0" doc:"messages for which the receiver says that SPF passed and was aligned"`
	DKIMAlignedCount int64        `json:"dkim_aligned_count" min:"0" doc:"likewise DKIM"`
	Dispositions     Dispositions `json:"dispositions" doc:"how the messages were handled"`
	SourceCount      int          `json:"source_count" min:"0" doc:"different addresses"`
}

// Dispositions count messages by what was done with them.
type Dispositions struct {
	None       int64 `json:"none" min:"0" doc:"delivered as if there were no policy"`
	Quarantine int64 `json:"quarantine" min:"0" doc:"put into the spam folder, or the like"`
	Reject     int64 `json:"reject" min:"0" doc:"refused"`
	Pass       int64 `json:"pass,omitempty" min:"0" doc:"passed DMARC, so that no policy was applied (RFC 9990)"`
}

// Enforcement describes the mail that p=quarantine or p=reject would affect: the messages that failed, by the class of
// their source.
type Enforcement struct {
	Ready *bool `json:"ready,omitempty" doc:"whether, as far as the reports show, hardly any mail but forged mail would be lost; absent where they show too little, as of too few days or receivers"`

	Readiness Readiness `json:"readiness,omitzero" doc:"what the reports show of the domain's senders, and what keeps the domain from being ready"`

	BlockingSources    []string `json:"blocking_sources" maxitems:"50" doc:"sources of the messages at risk, the largest first"`
	MessageCountAtRisk int64    `json:"message_count_at_risk" min:"0" doc:"messages that failed and are not proven to be forged: what enforcement might lose"`

	AffectedCount   int64   `json:"affected_count" min:"0" doc:"messages in the name of the domain that failed"`
	AffectedPercent float64 `json:"affected_percent" min:"0" max:"100" doc:"their share of all messages"`
	LegitimateCount int64   `json:"legitimate_count" min:"0" doc:"of these, mail of legitimate sources"`
	UnlistedCount   int64   `json:"unlisted_count" min:"0" doc:"of these, mail that is probably the domain's own, not authenticated"`
	ForwardingCount int64   `json:"forwarding_count" min:"0" doc:"of these, forwarded mail"`
	UnknownCount    int64   `json:"unknown_count" min:"0" doc:"of these, mail of unknown sources"`
	SpoofingCount   int64   `json:"spoofing_count" min:"0" doc:"of these, spoofed mail: what enforcement is for"`
}

// A Category is the kind of a mail service.
type Category = provider.Category

// A ServiceTotal sums up the sources of one sending service.
type ServiceTotal struct {
	Service      string   `json:"service" doc:"the service"`
	Category     Category `json:"category" doc:"what it is for"`
	MessageCount int64    `json:"message_count" min:"0" doc:"messages of it"`
	PassCount    int64    `json:"pass_count" min:"0" doc:"of these, messages that passed DMARC"`
	SourceCount  int      `json:"source_count" min:"0" doc:"addresses of it"`
}

// Analyze reads a report, sums it up by source, classifies the sources, and judges what it means. It makes no DNS
// lookups unless the request says so. The error is a *[diag.InputError], that of the context, or a *[LimitError]; a
// file that is not a report is described by findings.
func Analyze(ctx context.Context, env *diag.Env, req Request) (*Analysis, error) {
	if err := input.ExactlyOne([]string{"xml", "content_base64"}, req.XML != "", len(req.Content) > 0); err != nil {
		return nil, err
	}
	file := req.Content
	if req.XML != "" {
		file = []byte(req.XML)
	}
	u, err := collect(ctx, file, env.Now())
	if err != nil {
		return nil, err
	}
	if req.ResolvePTR {
		for _, e := range u.domains {
			if err := e.lookupNames(ctx, env, max(1, maxResolved/len(u.domains))); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range u.domains {
		e.conclude()
	}
	return u.analysis(env.Now()), nil
}

// Rules describes what is examined.
func (*Analysis) Rules() []rule.Description { return rules().Describe() }

type evidence struct {
	began time.Time

	report    *Report         // all judged reports, merged; nil if the file is not a report
	notReport *notReportError // what it is then
	sums      *collector

	allReports []*Report // all of the file
	alignments map[int]alignment
	newest     int       // its number
	reports    []*Report // that are judged, the oldest first
	unread     []string  // files that could not be opened

	topSources   []*source // of the largest sources, with details
	unnamedCount int       // sources whose reverse name could not be learned
	namesMatter  bool      // one of them might be identified by its name

	digest
}

func (e *evidence) fillAnalysis(a *Analysis) {
	a.Metadata, a.Policy, a.Namespace = e.report.Metadata, policyOf(&e.report.Policy), phrase.Quote(e.report.Namespace)
	a.Metadata.Errors = append([]string{}, a.Metadata.Errors...)
	a.Totals, a.Enforcement, a.Services = e.sums.totals, kit.OrZero(e.enforcement), e.services
	a.Sources = kit.Map(e.topSources, (*source).toSource)
	a.SourcesTruncated = e.sums.tallies.count > len(e.topSources)
	a.RecordsCount, a.RecordsTruncated = e.report.Records, e.report.Truncated || e.report.Excess
	a.Reports = e.reportTotals()
}

func (t *Totals) compliance() *float64 {
	if t.MessageCount == 0 {
		return nil
	}
	return new(percent(t.PassCount, t.MessageCount))
}

func policyOf(p *Policy) PublishedPolicy {
	modes := map[bool]string{false: "relaxed", true: "strict"}
	published := PublishedPolicy{
		Domain: p.Domain, Policy: p.Policy, SubdomainPolicy: p.Subdomain, NonexistentPolicy: p.Nonexistent,
		DKIMAlignment: modes[p.DKIMAlignment == "s"], SPFAlignment: modes[p.SPFAlignment == "s"],
		Percentage: p.Percentage, FailureOptions: p.FailureOptions, DiscoveryMethod: p.DiscoveryMethod,
	}
	if p.Testing != "" {
		published.Testing = new(p.Testing == "y")
	}
	return published
}

// percent is a share, rounded down to hundredths so that only all is 100, and only nothing is 0.
func percent(part, whole int64) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(part), 10_000) // floating point would make 28.99 of 29 in 100
	hundredths, _ := bits.Div64(hi, lo, uint64(whole))
	return float64(max(1, hundredths)) / 100
}

func addressText(ip netip.Addr, text string) string {
	if ip.IsValid() {
		return ip.String()
	}
	return phrase.Quote(text)
}

// Sentence tells a caller which limit the file is over.
func (e *LimitError) Sentence() string {
	texts := map[string]string{
		"expanded size":     "The report is larger than %s bytes once it is unpacked.",
		"compression ratio": "The file unpacks to more than %s times its size.",
		"files":             "The archive or message holds more than %s files.",
		"reports":           "The file holds more than %s reports: split it.",
		"nesting":           "The report is packed into more than %s containers.",
	}
	return fmt.Sprintf(cmp.Or(texts[e.What], "The file has more than %s bytes."), thousands(e.Limit))
}
