package mtasts

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
)

// Request names the domain to examine.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain that receives mail" example:"example.com"`
}

// Report holds what a domain publishes, with a verdict.
type Report struct {
	diag.RecordLookup
	diag.Verdict
	Valid       bool       `json:"valid" doc:"whether senders find a record and a policy that they can use"`
	Version     string     `json:"version,omitempty" doc:"version of the record" example:"STSv1"`
	ID          string     `json:"id,omitempty" doc:"id of the record, which changes with the policy"`
	Policy      PolicyFile `json:"policy" doc:"the policy as it was served"`
	TLS         pki.TLS    `json:"tls,omitzero" doc:"TLS of the policy host"`
	MXHosts     []MXHost   `json:"mx_hosts" maxitems:"50" doc:"mail servers, the most preferred first"`
	MXCoverage  Coverage   `json:"mx_coverage" doc:"how many mail servers the policy lists"`
	TLSRPTFound bool       `json:"tls_rpt_found" doc:"whether a TLSRPT record asks for reports"`
	Partial     bool       `json:"partial" doc:"whether something could not be learned"`

	inForce Mode // empty if unknown
}

// InForce returns the mode of the policy that senders follow today: [None] also without a record or a usable policy.
// It is unknown if a server did not answer, and for a report that was read from JSON.
func (r *Report) InForce() (mode Mode, known bool) { return r.inForce, r.inForce != "" }

// A PolicyFile is the policy of a domain as its web server served it.
type PolicyFile struct {
	URL           string      `json:"url" doc:"where senders look for it"`
	Found         bool        `json:"found" doc:"whether the server answered with status 200"`
	StatusCode    int         `json:"status_code,omitempty" doc:"status of the answer"`
	ContentType   string      `json:"content_type,omitempty" doc:"media type of the answer"`
	SizeBytes     *int64      `json:"size_bytes,omitempty" min:"0" doc:"size of the text; more than 65536 is not read"`
	Redirected    bool        `json:"redirected" doc:"whether the server redirects, which senders do not follow"`
	Version       string      `json:"version,omitempty" doc:"version of the policy" example:"STSv1"`
	Mode          Mode        `json:"mode,omitempty" doc:"what senders apply; absent without a valid mode"`
	MX            []string    `json:"mx" doc:"patterns of the mail servers that are allowed"`
	MaxAgeSeconds *int64      `json:"max_age_seconds,omitempty" min:"0" max:"31557600" doc:"how long senders keep it"`
	Raw           string      `json:"raw,omitempty" doc:"the text itself"`
	LineErrors    []LineError `json:"line_errors" doc:"departures from the syntax"`
}

// A LineError is a departure of the policy from its syntax.
type LineError struct {
	Line    int    `json:"line" min:"0" doc:"number of the line, from 1; 0 for a line that is missing"`
	Message string `json:"message" doc:"what is wrong"`
}

// An MXHost is a mail server of the domain.
type MXHost struct {
	reception.MXHost
	MatchedBy string `json:"matched_by,omitempty" doc:"pattern of the policy that lists it"`
	Covered   bool   `json:"covered" doc:"whether the policy lists it"`
}

// Coverage counts mail servers.
type Coverage struct {
	CoveredCount int  `json:"covered_count" min:"0" doc:"mail servers that the policy lists"`
	TotalCount   int  `json:"total_count" min:"0" doc:"mail servers of the domain"`
	Complete     bool `json:"complete" doc:"whether there are any, and the policy lists them all"`
}

// Lookup fetches the record, the policy and the mail servers of a domain, and examines them. The error is a
// *[diag.InputError], that of the context if it ended, or wraps [diag.ErrUnavailable] if every lookup failed.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	e, err := gather(ctx, env, req.Domain)
	if err != nil {
		return nil, err
	}
	return e.report(env.Now()), nil
}

// Rules describes the checks.
func (*Report) Rules() []rule.Description { return rules().Describe() }

func (e *evidence) report(ended time.Time) *Report {
	r := &Report{
		RecordLookup: diag.NewRecordLookup(e.domain.Name(), e.txt, e.found.Records, e.now, ended),
		Verdict:      rules().Judge(e, e.words()), Valid: e.validRecord() && e.validPolicy(), ID: e.record.ID,
		Policy: e.policyFile(), TLS: kit.OrZero(e.page.TLS), MXHosts: []MXHost{}, TLSRPTFound: e.unreported == nil,
		Partial: e.partial(),
	}
	r.inForce = e.inForce()
	r.Valid = r.Valid && (r.State == diag.Valid || r.State == diag.Warned) // CONTRACT 1.7
	if tagRules.HasOne(e) {
		r.Version = version
	}
	for _, h := range e.hosts {
		r.MXHosts = append(r.MXHosts, MXHost{MXHost: h.MXHost(), MatchedBy: h.pattern, Covered: h.covered})
		if h.covered {
			r.MXCoverage.CoveredCount++
		}
	}
	r.MXCoverage.TotalCount = len(e.hosts)
	r.MXCoverage.Complete = len(e.hosts) > 0 && e.mail.Surplus == 0 && r.MXCoverage.CoveredCount == len(e.hosts)
	return r
}

func (e *evidence) partial() bool {
	// Without a record no sender fetches a policy, so its host need not answer.
	idle := func(s rule.Source) bool { return s == fromPolicy && !announced(e) || s == fromMail && mailKnown(e) }
	return len(slices.DeleteFunc(e.Unanswered(), idle)) > 0 || len(e.untested()) > 0
}

func (e *evidence) policyFile() PolicyFile {
	f := PolicyFile{URL: PolicyURL(e.domain), MX: []string{}, LineErrors: []LineError{}}
	head := e.page.Final()
	if head == nil {
		return f
	}
	f.StatusCode = head.StatusCode
	f.ContentType = strings.ToValidUTF8(head.Header.Get("Content-Type"), "\uFFFD")
	f.Redirected = isRedirect(head.StatusCode)
	f.Found = head.StatusCode == http.StatusOK
	if e.policy == nil {
		return f
	}
	f.SizeBytes = new(int64(len(e.page.Body)))
	f.Raw = strings.ToValidUTF8(string(e.page.Body), "\uFFFD")
	f.Version = e.policy.version
	f.Mode = e.policy.policy.Mode
	f.MX = append(f.MX, e.policy.policy.MX...)
	if e.policy.has("max_age", badMaxAge) {
		f.MaxAgeSeconds = new(int64(e.policy.policy.MaxAge / time.Second))
	}
	f.LineErrors = kit.Map(e.policy.faults, func(one fault) LineError { return LineError{one.line, one.text} })
	return f
}
