package dmarcbis

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// MigrateRequest asks for a record of RFC 7489 in the form of RFC 9989.
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

// Migrate rewrites a record of RFC 7489 for RFC 9989, and shows that mail is treated the same, or where it is not.
// It asks nothing of the DNS. The error is a *[diag.InputError].
func Migrate(req MigrateRequest) (*MigrateReport, error) {
	switch {
	case strings.TrimSpace(req.Record) == "":
		return nil, diag.Invalid("record", "is empty; give the text of the TXT record, such as v=DMARC1; p=none")
	case len(req.Record) > dmarc.MaxRecordLength:
		return nil, diag.Invalid("record", "is longer than %d bytes", dmarc.MaxRecordLength)
	}
	c := convert(req)
	if len(c.migrated) > dmarc.MaxRecordLength {
		return nil, diag.Invalid("record", "is too long: the migrated record would have more than %d bytes",
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

// analyze examines a record. The error is a *[diag.InputError].
func analyze(record string, domain diag.Domain) (*dmarc.Analysis, error) {
	return dmarc.Validate(dmarc.ValidateRequest{Record: record, Domain: domain})
}

// Rules describes what is examined.
func (*MigrateReport) Rules() []diag.RuleInfo { return migrateRules.Describe() }

// settings lists the tags of a record as texts.
func settings(r *policy.Record) []string {
	return diag.Map(r.List.Tags, func(t taglist.Tag) string {
		return strings.ToValidUTF8(t.Name+"="+t.Value, "\uFFFD")
	})
}

// A conversion is a record before and after its migration: the evidence of the rules.
type conversion struct {
	domain             diag.Domain
	original, migrated string
	line               bool // the original was a line of a zone file
	before, after      policy.Record
	changes            []Change
	comparisons        []Comparison // as its owner asks for
	legacy             []Comparison // by receivers that follow RFC 7489
	behavior           Behavior
}

// convertRecord migrates a record as it is published.
func convertRecord(text string, domain diag.Domain) *conversion {
	c := newConversion(text, domain)
	c.migrate("", "")
	return c
}

func newConversion(text string, domain diag.Domain) *conversion {
	return &conversion{domain: domain, original: text, migrated: text, before: policy.Parse(text), changes: []Change{}}
}

// convert migrates the record of a request. What is no DMARC record remains as it is.
func convert(req MigrateRequest) *conversion {
	parts, line := diag.PastedTXT(req.Record)
	c := newConversion(strings.Join(parts, ""), req.Domain)
	c.line = line
	c.migrate(req.NonexistentSubdomainPolicy, req.PSD)
	return c
}

// migrate fills in what follows from the original record.
func (c *conversion) migrate(np policy.Policy, psd policy.PSD) {
	c.after = c.before
	if c.before.Is() {
		m := migrate(c.before, np, psd)
		if c.changes = m.changes(); c.altered() {
			c.migrated = m.draft.String()
			c.after = policy.Parse(c.migrated)
		}
	}
	c.comparisons = compare(intended(&c.before), under(&c.after, policy.RFC9989))
	c.legacy = compare(under(&c.before, policy.RFC7489), under(&c.after, policy.RFC7489))
	c.behavior = sum(changed(c.comparisons), realigned(c.before.PSD, c.after.PSD, c.domain.String()))
}

// altered reports whether any tag changes.
func (c *conversion) altered() bool {
	for _, change := range c.changes {
		if change.Action != Keep {
			return true
		}
	}
	return false
}

func (c *conversion) changed() bool { return c.migrated != c.original }

// compatible reports whether the standards are known to agree on the migrated record: on policies, on the share of
// the mail, and on the organizational domain.
func (c *conversion) compatible() bool {
	same := under(&c.after, policy.RFC7489) == under(&c.after, policy.RFC9989)
	domain := c.domain.String()
	switch c.after.PSD {
	case policy.NotPSD:
		return same && domain != "" && policy.PublicSuffixOrganizational(domain) == domain && !policy.IsPublicSuffix(domain)
	case policy.IsPSD:
		return same && domain != "" && policy.IsPublicSuffix(domain)
	default:
		return same
	}
}
