package dmarcbis

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

func analyze(record string, domain diag.Domain) (*dmarc.Analysis, error) {
	return dmarc.Validate(dmarc.ValidateRequest{Record: record, Domain: domain})
}

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
