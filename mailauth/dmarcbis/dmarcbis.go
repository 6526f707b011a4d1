package dmarcbis

import (
	"context"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
)

// CheckRequest is a request to check how receivers of RFC 9989 judge a domain.
type CheckRequest struct {
	Domain diag.Domain `json:"domain" doc:"domain in the From field of mail" example:"example.com"`
}

// CheckReport describes how receivers of RFC 9989 find the policy of a domain, and what prevents that.
type CheckReport struct {
	Domain        diag.Domain `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string      `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	diag.Verdict
	TreeWalk                []WalkStep     `json:"tree_walk" minitems:"1" maxitems:"8" doc:"the queries of a receiver, in order"`
	QueriesCount            int            `json:"queries_count" min:"0" max:"8" doc:"how many there are"`
	QueryLimit              int            `json:"query_limit" doc:"how many there may be" example:"8"`
	OrganizationalDomain    string         `json:"organizational_domain,omitempty" doc:"organizational domain by the tree walk; absent if a failed query leaves it open"`
	PolicyDomain            string         `json:"policy_domain,omitempty" doc:"domain whose record applies; absent if none does, or if that is not known"`
	DiscoveryMethod         policy.Method  `json:"discovery_method" doc:"how both were found"`
	PSLOrganizationalDomain string         `json:"psl_organizational_domain,omitempty" doc:"organizational domain by the public suffix list, which RFC 7489 suggests"`
	PSLPolicyDomain         string         `json:"psl_policy_domain,omitempty" doc:"domain whose record applies for receivers that use the list"`
	MethodsAgree            *bool          `json:"methods_agree,omitempty" doc:"whether both find the same organizational domain; absent if that is not known"`
	MethodsExplanation      string         `json:"methods_explanation,omitempty" doc:"why they do not agree"`
	Analysis                dmarc.Analysis `json:"analysis,omitzero" doc:"the record that applies"`
	ObsoleteTags            []ObsoleteTag  `json:"obsolete_tags" doc:"what the record has that RFC 9989 does not"`
	MissingTags             []string       `json:"missing_tags" doc:"tags of RFC 9989 that the record should have"`
	Ready                   bool           `json:"ready" doc:"whether receivers of RFC 9989 are known to find a record and to use it as it was meant"`
	BackwardCompatible      bool           `json:"backward_compatible" doc:"whether receivers of RFC 7489 are known to judge mail by the same record in the same way"`
	Partial                 bool           `json:"partial" doc:"whether something could not be learned"`
	diag.Timing
}

// A WalkStep is one query of a tree walk.
type WalkStep struct {
	Step       int            `json:"step" min:"1" max:"8" doc:"number of the step"`
	RecordName string         `json:"record_name" doc:"name that is looked up"`
	Rcode      string         `json:"rcode,omitempty" doc:"reply code of the DNS, if a reply came"`
	Record     string         `json:"record,omitempty" doc:"the record, if there is exactly one"`
	PSD        policy.PSD     `json:"psd,omitempty" doc:"psd of the record; u if it has none"`
	Outcome    policy.Outcome `json:"outcome" doc:"stop: its psd ends the walk; skipped: several records, of which none counts; unknown: the servers did not say"`
	QueryCount int            `json:"query_count" min:"0" max:"8" doc:"queries up to and with this step"`
	Detail     string         `json:"detail" doc:"what the step found, and what follows from it"`
}

// An ObsoleteTag is a part of a record that RFC 9989 does not have.
type ObsoleteTag struct {
	Tag         string `json:"tag" doc:"name of the tag" example:"pct"`
	Value       string `json:"value" doc:"its value, or the part that is obsolete"`
	Replacement string `json:"replacement,omitempty" doc:"what to write instead; absent if nothing is needed"`
	Effect      string `json:"effect" doc:"the effect on it, in a sentence"`
}

// Check walks up the tree from a domain as receivers of RFC 9989 do, and compares what they find with what receivers
// of RFC 7489 find. The error is that of the context, a *[diag.InputError], or wraps [diag.ErrUnavailable] if nothing
// could be determined.
func Check(ctx context.Context, env *diag.Env, req CheckRequest) (*CheckReport, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	began := env.Now()
	e := &evidence{domain: req.Domain}
	var g diag.Group
	var failure error
	g.Go(func() { e.Discovery, failure = policy.Discover(ctx, env, req.Domain.Name()) })
	g.Go(func() {
		wait, cancel := diag.Within(ctx, policy.Timeout)
		defer cancel()
		e.mail.Addresses = diag.LookupAddresses(wait, env, req.Domain.FQDN())
	})
	g.Wait()
	if failure != nil {
		return nil, failure
	}
	if err := e.Unavailable(); err != nil {
		return nil, err
	}
	if err := e.digest(); err != nil {
		return nil, err
	}
	r := e.report()
	r.Timing = diag.NewTiming(began, env.Now())
	return r, nil
}

// Rules describes what is examined.
func (*CheckReport) Rules() []rule.Description { return checkRules.Describe() }

// MigrateRequest is a request to rewrite a record of RFC 7489 for RFC 9989.
type MigrateRequest struct {
	Record                     string        `json:"record" minlen:"1" maxlen:"8192" doc:"text of the record, or its character-strings in quotes as in a zone file" example:"v=DMARC1; p=reject; pct=100; rua=mailto:dmarc@example.com!10m"`
	Domain                     diag.Domain   `json:"domain,omitempty" doc:"domain of the record" example:"example.com"`
	NonexistentSubdomainPolicy policy.Policy `json:"nonexistent_subdomain_policy,omitempty" doc:"policy to add for subdomains that do not exist (np)"`
	PSD                        policy.PSD    `json:"psd,omitempty" doc:"declaration to add: y for a public suffix, n for an organizational domain"`
}

// MigrateReport is the migrated record, and how it differs.
type MigrateReport struct {
	Original           string                `json:"original" doc:"the record, without quotes"`
	Migrated           string                `json:"migrated" doc:"the record for RFC 9989; the original if nothing has to change"`
	Changed            bool                  `json:"changed" doc:"whether they differ"`
	Changes            []Change              `json:"changes" doc:"what becomes of each tag, and why"`
	Diff               []DiffLine            `json:"diff" doc:"the tags of both records side by side"`
	Before             *dmarc.Analysis       `json:"before" doc:"the original record"`
	After              *dmarc.Analysis       `json:"after" doc:"the migrated record"`
	BehaviorChange     Behavior              `json:"behavior_change" doc:"how the treatment of mail that fails DMARC changes"`
	Comparisons        []Comparison          `json:"comparisons" doc:"the treatment of each kind of mail before and after, which behavior_change sums up"`
	BackwardCompatible bool                  `json:"backward_compatible" doc:"whether receivers that follow RFC 7489 are known to treat mail by the migrated record as those that follow RFC 9989"`
	Name               string                `json:"name,omitempty" doc:"where to publish the record, if the domain is given"`
	Type               string                `json:"type" doc:"type of the DNS record" example:"TXT"`
	Recommendations    []diag.Recommendation `json:"recommendations" doc:"what to do, the most urgent first"`
	Findings           []diag.Finding        `json:"findings" doc:"what to know before the record is published, the worst first"`
}

// Migrate rewrites a record of RFC 7489 for RFC 9989, and shows where mail is treated differently. It makes no DNS
// lookups. The error is a *[diag.InputError].
func Migrate(req MigrateRequest) (*MigrateReport, error) {
	switch {
	case strings.TrimSpace(req.Record) == "":
		return nil, input.Invalid("record", "is empty; give the text of the TXT record, such as v=DMARC1; p=none")
	case len(req.Record) > dmarc.MaxRecordLength:
		return nil, input.Invalid("record", "is longer than %d bytes", dmarc.MaxRecordLength)
	}
	c := convert(req)
	if len(c.migrated) > dmarc.MaxRecordLength {
		return nil, input.Invalid("record", "is too long: the migrated record would have more than %d bytes",
			dmarc.MaxRecordLength)
	}
	verdict := migrateRules.Judge(c, nil)
	r := &MigrateReport{
		Original: strings.ToValidUTF8(c.original, "\uFFFD"), Migrated: strings.ToValidUTF8(c.migrated, "\uFFFD"),
		Changed: c.changed(), Changes: c.changes, Diff: diff(settings(&c.before), settings(&c.after)),
		BehaviorChange: c.behavior, Comparisons: c.comparisons, BackwardCompatible: c.compatible(), Type: "TXT",
		Recommendations: verdict.Recommendations, Findings: verdict.Findings,
	}
	var err error
	if r.Before, err = analyze(req.Record, req.Domain); err != nil {
		return nil, err
	}
	if r.After = r.Before; c.changed() {
		if r.After, err = analyze(c.migrated, req.Domain); err != nil {
			return nil, err
		}
	}
	if !req.Domain.IsZero() {
		r.Name = "_dmarc." + req.Domain.String()
	}
	return r, nil
}

// Rules describes what is examined.
func (*MigrateReport) Rules() []rule.Description { return migrateRules.Describe() }

type evidence struct {
	*policy.Discovery
	domain   diag.Domain
	mail     reception.Reception
	analysis *dmarc.Analysis // of the record that applies; nil if none does

	newer, older policy.Reading // of the record, by RFC 9989 and RFC 7489
	obsolete     []ObsoleteTag
}

const (
	fromRecord         rule.Source = "record"         // which record applies
	fromOrganizational rule.Source = "organizational" // the whole tree walk
	fromDeclarations   rule.Source = "declarations"   // psd of all domains on the path that are not public suffixes
	fromList           rule.Source = "list"           // what receivers of RFC 7489 find
	fromExistence      rule.Source = "existence"      // whether the domain exists
	fromMail           rule.Source = "mail"           // whether it receives mail
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	_, exists := e.mail.Exists()
	_, receives := e.mail.Receives()
	undeclared := func(s policy.Step) bool { return s.Err() != nil && !policy.IsPublicSuffix(s.Domain) }
	return rule.Unanswered(map[rule.Source]bool{
		fromRecord: e.Tree.PolicyErr == nil, fromOrganizational: e.Walk.Err() == nil, fromList: e.List.PolicyErr == nil,
		fromDeclarations: !slices.ContainsFunc(e.Walk.Steps, undeclared),
		fromExistence:    exists || e.Walk.Steps[0].Answer.Exists(), fromMail: receives,
	})
}

func (e *evidence) digest() (err error) {
	e.mail.MX = e.MX
	record := e.record()
	if record == nil {
		return nil
	}
	e.newer, e.older = record.Reading(policy.RFC9989), record.Reading(policy.RFC7489)
	e.obsolete = obsolete(record)
	domain, _ := diag.ParseDomain(e.Tree.PolicyDomain())
	if text := record.List.Text; len(text) <= dmarc.MaxRecordLength {
		e.analysis, err = analyze(text, domain)
	}
	return err
}

func (e *evidence) record() *policy.Record { return kit.OrZero(e.Tree.Policy).Record }

func (e *evidence) report() *CheckReport {
	r := &CheckReport{
		Domain: e.domain, DomainUnicode: e.domain.UnicodeIfDifferent(), Verdict: checkRules.Judge(e, texts),
		TreeWalk: steps(e.Discovery), QueriesCount: len(e.Walk.Queries()), QueryLimit: policy.MaxQueries,
		PolicyDomain: e.Tree.PolicyDomain(), DiscoveryMethod: policy.TreeWalk,
		PSLOrganizationalDomain: e.List.Organizational, PSLPolicyDomain: e.List.PolicyDomain(),
		Analysis:     kit.OrZero(e.analysis),
		ObsoleteTags: append([]ObsoleteTag{}, e.obsolete...), MissingTags: e.missing(),
		BackwardCompatible: e.compatible(), Partial: len(e.Unanswered()) > 0 || e.MX.Err() != nil,
	}
	r.Ready = e.ready(r.Verdict)
	if agree, err := e.Agree(); err == nil {
		r.OrganizationalDomain, r.MethodsAgree = e.Tree.Organizational, &agree
		if !agree {
			r.MethodsExplanation = e.disagreement()
		}
	}
	return r
}

// ready reports whether receivers of RFC 9989 use the record as it was meant, even if receivers of RFC 7489 read it
// differently.
func (e *evidence) ready(v diag.Verdict) bool {
	current := func(c diag.Code) bool { return !strings.HasPrefix(string(c), legacyRules) }
	grave := func(f diag.Finding) bool { return f.Severity >= diag.Warning && current(f.Code) }
	return e.record() != nil && !slices.ContainsFunc(v.Findings, grave) && !slices.ContainsFunc(v.Open(), current)
}

// compatible reports whether both standards are known to lead to the same record and the same treatment.
func (e *evidence) compatible() bool {
	record := e.record()
	agree, err := e.Agree()
	return record != nil && err == nil && agree && e.List.PolicyErr == nil &&
		e.List.PolicyDomain() == e.Tree.PolicyDomain() &&
		treatmentsUnder(record, policy.RFC7489) == treatmentsUnder(record, policy.RFC9989)
}
