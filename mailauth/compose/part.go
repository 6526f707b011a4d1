package compose

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

// A Kind is the subject of a part.
type Kind struct {
	Code  string // as findings of the composite name the part: "spf"
	Label string // in a sentence: "SPF"
}

// The kinds of parts.
var (
	SPF        = Kind{"spf", "SPF"}
	DKIM       = Kind{"dkim", "DKIM"}
	DMARC      = Kind{"dmarc", "DMARC"}
	BIMI       = Kind{"bimi", "BIMI"}
	MX         = Kind{"mx", "MX"}
	MTASTS     = Kind{"mta_sts", "MTA-STS"}
	DANE       = Kind{"dane", "DANE"}
	TLSRPT     = Kind{"tls_rpt", "TLS-RPT"}
	SMTP       = Kind{"smtp", "SMTP"}
	DNSSEC     = Kind{"dnssec", "DNSSEC"}
	Reputation = Kind{"reputation", "Reputation"}
)

// A Summary is what a composite reports about a part.
type Summary struct {
	State    diag.State     `json:"state" doc:"the outcome in a word; unknown: the servers did not say"`
	Score    *int           `json:"score,omitempty" min:"0" max:"100" doc:"score of the part; absent where nothing can be scored"`
	Band     diag.Band      `json:"score_band" doc:"the score in a word; unknown: there is none"`
	Headline string         `json:"verdict_headline" maxlen:"70" doc:"the outcome in a plain sentence"`
	Sub      string         `json:"verdict_sub" doc:"the consequence and the next step"`
	Record   string         `json:"record,omitempty" doc:"the record, if the part is about one and there is exactly one"`
	Findings []diag.Finding `json:"findings" doc:"what the part has found, the worst first"`
	// Err is why there is no result: an error of the part, or a *[diag.GoPanic].
	Err error `json:"-"`

	kind    Kind
	target  string // how findings of the composite name the part; empty: by the code of the kind
	foreign bool   // the record belongs to another domain
	partial bool   // the report itself says that something is unknown

	view       []view.Step // the steps in the part's own view
	ttlSeconds int64       // how long resolvers keep the record of the part, in seconds

	owner   string   // where the record of the part was looked for; empty where the part is not about one
	records []string // those of the kind that are there

	answered bool // all queries were answered, although the part is unknown
	verdict  diag.Verdict
	rules    map[diag.Code]rule.Description
}

// A Part is a diagnostic within a composite, with its report of type R.
type Part[R any] struct {
	Summary
	Result *R `json:"result,omitempty" doc:"the report of the part itself, with detail full; absent if it could not be made"`
}

// Detail is the level of detail that a composite reports about its parts.
type Detail string

// The details.
const (
	Brief Detail = "summary" // the verdict, the record and the findings of each part; the zero value means it, too
	Full  Detail = "full"    // the report of each part as well
)

// Values lists the details.
func (Detail) Values() []string { return kit.Values(Brief, Full) }

// Shorten leaves out the report of the part, if there is a part.
func (p *Part[R]) Shorten() {
	if p != nil {
		p.Result = nil
	}
}

// A Report is the result of a part. Reports that embed a [diag.Verdict] have its method Judgement.
type Report interface {
	Judgement() diag.Verdict
	Rules() []rule.Description
}

// judgedReport is the report of rules that belong to no report of a package.
type judgedReport struct {
	diag.Verdict
	rules []rule.Description
}

func (j *judgedReport) Rules() []rule.Description { return j.rules }

// Judge applies rules of a composite and returns a report, whose [Summary] is listed next to those of the parts.
func Judge[E any](rules rule.Rules[E], e E, texts rule.Texts) Report {
	return &judgedReport{rules.Judge(e, texts), rules.Describe()}
}

// A Run is several parts at work.
type Run struct {
	ctx   context.Context
	env   *diag.Env
	group diag.Group

	mu     sync.Mutex
	panics Panics
}

// Panics are the panics that ended parts. A report that embeds them exposes them to the operator, but not to its
// reader.
type Panics []*diag.GoPanic

// Panicked returns the panics.
func (p Panics) Panicked() []*diag.GoPanic { return p }

func (r *Run) notePanic(err error) {
	if p, ok := errors.AsType[*diag.GoPanic](err); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.panics = append(r.panics, p)
	}
}

// Start starts a run: its parts share a cache of the environment, and one session with mail servers.
func Start(ctx context.Context, env *diag.Env) *Run {
	env = env.Cached()
	if ctx.Value(memoryKey{}) != nil {
		env = env.WithResolver(recorder{env.DNS()})
	}
	return &Run{ctx: smtp.Sharing(ctx), env: env}
}

// Do runs a function concurrently with the parts, such as one that determines further parts and calls [Go] for them. A
// panic in it does not affect the parts: its result is then unknown.
func (r *Run) Do(f func(context.Context, *diag.Env)) {
	r.group.Go(func() {
		ctx, cancel := diag.Within(r.ctx, partTime)
		defer cancel()
		_, err := catchPanic(ctx, r.env, func(ctx context.Context, env *diag.Env) (any, error) {
			f(ctx, env)
			return nil, nil
		})
		r.notePanic(err)
	})
}

// Wait returns the panics that ended parts when all parts have ended.
func (r *Run) Wait() Panics {
	r.group.Wait()
	return r.panics
}

// partTime bounds a part; the rest of the run's time does if it is shorter. The largest part has 30 seconds
// (CONTRACT 1.9).
const partTime = 30 * time.Second

// Go starts a part. The returned part is complete after [Run.Wait].
func Go[R any, P interface {
	*R
	Report
}](r *Run, kind Kind, f func(context.Context, *diag.Env) (P, error)) *Part[R] {
	p := &Part[R]{}
	r.group.Go(func() {
		ctx, cancel := diag.Within(r.ctx, partTime)
		defer cancel()
		report, err := catchPanic(ctx, r.env, f)
		if err != nil {
			r.notePanic(err)
			p.Summary = failedSummary(kind, err)
			return
		}
		p.Result = report
		p.Summary = Summarize(kind, report)
	})
	return p
}

// Ask starts a part that is a lookup of another package.
func Ask[Q, R any, P interface {
	*R
	Report
}](r *Run, kind Kind, lookup func(context.Context, *diag.Env, Q) (P, error), req Q) *Part[R] {
	return Go(r, kind, func(ctx context.Context, env *diag.Env) (P, error) {
		return rememberedLookup(ctx, env, kind, lookup, req)
	})
}

func catchPanic[T any](ctx context.Context, env *diag.Env, f func(context.Context, *diag.Env) (T, error)) (v T,
	err error) {
	if p := diag.Catch(func() { v, err = f(ctx, env) }); p != nil {
		return v, p
	}
	return v, err
}

// Summarize returns the summary of a report that was made elsewhere.
func Summarize(kind Kind, report Report) Summary {
	v := report.Judgement()
	s := Summary{
		State: v.State, Score: v.Score, Band: v.Band, Headline: v.Headline, Sub: v.Sub, Findings: v.Findings,
		kind: kind, verdict: v, rules: map[diag.Code]rule.Description{},
	}
	if r, ok := report.(interface{ Published() string }); ok {
		s.Record = r.Published()
	}
	if r, ok := report.(interface {
		Held() int64
		Owner() (string, []string)
	}); ok {
		s.ttlSeconds = r.Held()
		s.owner, s.records = r.Owner()
	}
	if r, ok := report.(interface{ View() *view.View }); ok && len(v.Recommendations) > 0 {
		s.view = r.View().Steps
	}
	for _, rule := range report.Rules() {
		s.rules[rule.Code] = rule
	}
	return s
}

// MarkPartial marks the part as partial if its report says that something is unknown.
func (p *Part[R]) MarkPartial(partial func(*R) bool) {
	p.partial = p.partial || p.Result != nil && partial(p.Result)
}

// MarkAnswered marks the part as unknown although no query failed: there was nothing to query.
func (s *Summary) MarkAnswered() { s.answered = true }

// Add adds to the part the operation's own findings about it; the part's report is unchanged.
func (s *Summary) Add(report Report) {
	v := report.Judgement()
	for _, rule := range report.Rules() {
		s.rules[rule.Code] = rule
	}
	if len(v.Findings) == 0 {
		return
	}
	s.Findings = slices.Concat(s.Findings, v.Findings)
	slices.SortStableFunc(s.Findings, func(a, b diag.Finding) int { return int(b.Severity) - int(a.Severity) })
	s.verdict.Recommendations = slices.Concat(s.verdict.Recommendations, v.Recommendations)
	worst := s.worstSeverity()
	if !s.Known() || s.State == diag.Missing || worst < diag.Warning {
		return
	}
	if s.Score != nil && *s.Score > worst.Cap() {
		s.Score = new(worst.Cap())
		s.Band = rule.BandOf(*s.Score)
	}
	if s.State == diag.Valid || s.State == diag.Warned && v.State == diag.Bad {
		s.State, s.Headline, s.Sub = v.State, v.Headline, v.Sub
	}
}

// Nonexistent reports whether the part has found that the domain does not exist.
func (s *Summary) Nonexistent() bool {
	return slices.ContainsFunc(s.Findings, func(f diag.Finding) bool {
		return strings.HasSuffix(string(f.Code), ".domain."+reach.Specs[reach.NoName].Suffix) ||
			strings.HasSuffix(string(f.Code), ".domain.missing")
	})
}

// setTarget sets how findings of the composite name the part, where there are several of a kind: "dkim:s1".
func (s *Summary) setTarget(target string) { s.target = target }

// MarkForeign says that the record belongs to another domain, such as the organizational domain of a subdomain: the
// part's suggested values are not advice for this domain.
func (s *Summary) MarkForeign() { s.foreign = true }

// Target returns the name of the part in findings of the composite.
func (s *Summary) Target() string {
	if s.target != "" {
		return s.target
	}
	return s.kind.Code
}

// Verdict returns the verdict of the part's report.
func (s *Summary) Verdict() diag.Verdict { return s.verdict }

// Known reports whether the part came to a conclusion.
func (s *Summary) Known() bool { return s.State != diag.Unknown }

// Works reports whether the part is known and has no error.
func (s *Summary) Works() bool {
	return s.Known() && s.State != diag.Missing && s.worstSeverity() < diag.Error
}

// Fails reports whether the part is known to have an error; an unknown is not an error.
func (s *Summary) Fails() bool { return s.worstSeverity() >= diag.Error }

// worstSeverity is the severity of the gravest finding about the domain that is not ignorance.
func (s *Summary) worstSeverity() diag.Severity {
	worst := diag.Info
	for _, f := range s.Findings {
		if !s.isUnknown(f.Code) && !slices.Contains(resolverCodes, string(f.Code)) {
			worst = max(worst, f.Severity)
		}
	}
	return worst
}

// isIneffective reports whether the subject has no effect, or one contrary to its purpose: then it earns nothing, like
// a missing record.
func (s *Summary) isIneffective() bool {
	return s.worstSeverity() == diag.Critical ||
		slices.ContainsFunc(s.Findings, func(f diag.Finding) bool { return slices.Contains(ineffectiveCodes, f.Code) })
}

// ineffectiveCodes are codes of findings that are no more than an error, and with which the part still has no effect.
var ineffectiveCodes = []diag.Code{
	"dkim.key.revoked",   // no signature verifies (RFC 6376 section 3.6.1)
	"spf.voids.exceeded", // permerror (RFC 7208 section 4.6.4)
}

func (s *Summary) isUnknown(code diag.Code) bool { return s.rules[code].State == diag.Unknown }

// MarkNonexistent reduces the part to the finding that the domain does not exist.
func (s *Summary) MarkNonexistent() {
	s.State, s.Score, s.Band, s.Record, s.Findings = diag.Missing, nil, diag.Undetermined, "", []diag.Finding{}
	s.Headline, s.Sub = "Domain does not exist", "There is nothing to examine. Check the spelling of the domain."
}

func failedSummary(kind Kind, err error) Summary {
	s := Summarize(kind, Judge(partRules, err, partTexts))
	s.Err = err
	return s
}

// Rules describes the rules of a composite apart from those of its parts.
func Rules() []rule.Description {
	return slices.Concat(partRules.Describe(), wholeRules.Describe(), keyRules.Describe(), senderRules.Describe(),
		mailboxRules.Describe(), nameRules.Describe())
}

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func isUnavailable(err error) bool { return !isTimeout(err) && errors.Is(err, diag.ErrUnavailable) }

var partRules = rule.Rules[error]{{
	Code: "check.part.timeout", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 9520 section 3",
	Title: "No result in time", Requirement: "The part ends in time",
	Advice: "Check that the name servers and mail servers of the domain answer quickly, and try again.",
	Fails: func(err error) rule.Failures {
		return rule.FailIf(isTimeout(err), "The servers that were asked did not answer in time.")
	},
}, {
	Code: "check.part.unavailable", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 9520 section 2",
	Title: "No server answered", Requirement: "The servers of the part answer",
	Advice: "Check that the name servers of the domain answer, and try again.",
	Fails: func(err error) rule.Failures {
		return rule.FailIf(isUnavailable(err), "No server that was asked gave a usable answer.")
	},
}, {
	Code: "check.part.failed", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 9520 section 2",
	Title: "Check ended early", Requirement: "The check of this part completes",
	Advice: "Try again, and tell the operator of this service if the check fails again: the cause need not be the " +
		"domain.",
	Fails: func(err error) rule.Failures {
		return rule.FailIf(err != nil && !isTimeout(err) && !isUnavailable(err), "An internal error ended this part of the "+
			"check.")
	},
}}

var partTexts = rule.Texts{
	"valid":   {Headline: "Checked", Sub: "The part has a result."},
	"unknown": {Headline: "Could not be checked", Sub: "There is no result for this part. Try again."},
	"check.part.timeout": {Headline: "Could not be checked in time",
		Sub: "The servers that were asked did not answer in time. Check them and try again."},
	"check.part.unavailable": {Headline: "Could not be checked: no server answered",
		Sub: "Check that the name servers of the domain answer, and try again."},
	"check.part.failed": {Headline: "Could not be checked: an internal error ended the check",
		Sub: "The domain need not be at fault. Try again."},
}
