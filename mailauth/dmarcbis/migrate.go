package dmarcbis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

func analyze(record string, domain diag.Domain) (*dmarc.Analysis, error) {
	return dmarc.Validate(dmarc.ValidateRequest{Record: record, Domain: domain})
}

func settings(r *policy.Record) []string {
	return kit.Map(r.List.Tags, func(t taglist.Tag) string {
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
	comparisons        []Comparison // as its owner requests
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

// convert migrates the record of a request. Text that is not a DMARC record is unchanged.
func convert(req MigrateRequest) *conversion {
	parts, line := dnsmsg.PastedTXT(req.Record)
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
	c.comparisons = compare(intended(&c.before), treatmentsUnder(&c.after, policy.RFC9989))
	c.legacy = compare(treatmentsUnder(&c.before, policy.RFC7489), treatmentsUnder(&c.after, policy.RFC7489))
	c.behavior = combine(changed(c.comparisons), realigned(c.before.PSD, c.after.PSD, c.domain.String()))
}

func (c *conversion) altered() bool {
	return slices.ContainsFunc(c.changes, func(change Change) bool { return change.Action != Keep })
}

func (c *conversion) changed() bool { return c.migrated != c.original }

// compatible reports whether the standards are known to agree on the migrated record: on policies, on the share of
// the mail, and on the organizational domain.
func (c *conversion) compatible() bool {
	same := treatmentsUnder(&c.after, policy.RFC7489) == treatmentsUnder(&c.after, policy.RFC9989)
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

// A DiffOp is the change to a line: keep, remove or add.
type DiffOp string

const (
	DiffKeep   DiffOp = "keep"
	DiffRemove DiffOp = "remove"
	DiffAdd    DiffOp = "add"
)

// Values lists the operations.
func (DiffOp) Values() []string { return kit.Values(DiffKeep, DiffRemove, DiffAdd) }

// A DiffLine is a tag of one of two records, or of both.
type DiffLine struct {
	Op   DiffOp `json:"op" doc:"whether only the original has it, only the migrated record, or both"`
	Text string `json:"text" doc:"the tag and its value"`
}

// diff compares the tags of both records: each tag that is kept is listed once.
func diff(before, after []string) []DiffLine {
	lines := []DiffLine{}
	add := func(op DiffOp, list []string) {
		for _, text := range list {
			lines = append(lines, DiffLine{op, text})
		}
	}
	for i, text := range before {
		at := slices.Index(after, text)
		if at < 0 {
			add(DiffRemove, before[i:i+1])
			continue
		}
		add(DiffAdd, after[:at])
		add(DiffKeep, after[at:at+1])
		after = after[at+1:]
	}
	add(DiffAdd, after)
	return lines
}

// A Behavior is the change in the treatment of mail that fails DMARC: none, stricter, looser or testing.
type Behavior string

// The behaviors.
const (
	Same     Behavior = "none"     // the same mail is treated the same
	Stricter Behavior = "stricter" // some mail is treated worse than before
	Looser   Behavior = "looser"   // some mail is treated better than before, and none worse
	Testing  Behavior = "testing"  // as looser, because the policy is only tested from now on; no migration needs that
)

// Values lists the behaviors.
func (Behavior) Values() []string { return kit.Values(Same, Stricter, Looser, Testing) }

// A Scope is a kind of mail by the domain in its From field: domain, subdomains or nonexistent_subdomains.
type Scope string

const (
	ScopeDomain      Scope = "domain"
	ScopeSubdomains  Scope = "subdomains"
	ScopeNonexistent Scope = "nonexistent_subdomains"
)

// Values lists the scopes.
func (Scope) Values() []string { return kit.Values(ScopeDomain, ScopeSubdomains, ScopeNonexistent) }

// A Treatment is the requested handling of mail that fails DMARC.
type Treatment struct {
	Policy     policy.Policy `json:"policy" doc:"what is applied; none where there is no usable record"`
	Percentage int           `json:"percentage" min:"0" max:"100" doc:"share of the mail to which it is applied; the rest is treated one level lower"`
}

// severity orders treatments: quarantine for 100 percent is as severe as reject for 0.
func (t Treatment) severity() int {
	if t.Policy.Level() == 0 {
		return 0
	}
	return (t.Policy.Level()-1)*100 + t.Percentage
}

// A Comparison is the treatment of one kind of mail before and after a migration.
type Comparison struct {
	Scope  Scope     `json:"scope" doc:"mail with the domain, a subdomain or a subdomain that does not exist in its From field"`
	Before Treatment `json:"before" doc:"what the original record asks for"`
	After  Treatment `json:"after" doc:"what the migrated record asks for"`
	Change Behavior  `json:"change" doc:"how the treatment changes"`
}

type treatments [3]Treatment

func newTreatments(p policy.Policies, percentage int) treatments {
	var list treatments
	for i, one := range []policy.Policy{p.Domain, p.Subdomain, p.Nonexistent} {
		list[i] = Treatment{cmp.Or(one, policy.None), percentage}
		if one.Level() == 0 {
			list[i].Percentage = 100
		}
	}
	return list
}

func treatmentsUnder(r *policy.Record, s policy.Standard) treatments {
	reading := r.Reading(s)
	return newTreatments(reading.Applied, reading.Percentage)
}

// intended returns the treatments that the owner of a record requests: those of RFC 9989, but with its pct, unless t
// shows that the record was written for RFC 9989.
func intended(r *policy.Record) treatments {
	reading := r.Reading(policy.RFC9989)
	switch {
	case hasTestingFlag(r):
		return newTreatments(reading.Applied, 100)
	case r.Percentage == 0: // RFC 7489 section 6.6.4
		return newTreatments(reading.Applied.Lowered(), 100)
	default:
		return newTreatments(reading.Applied, r.Percentage)
	}
}

func hasTestingFlag(r *policy.Record) bool {
	t, ok := r.List.Tag("t")
	return ok && (strings.EqualFold(t.Value, "y") || strings.EqualFold(t.Value, "n"))
}

func compare(before, after treatments) []Comparison {
	var list []Comparison
	for i, scope := range []Scope{ScopeDomain, ScopeSubdomains, ScopeNonexistent} {
		c := Comparison{Scope: scope, Before: before[i], After: after[i], Change: Same}
		switch b, a := before[i].severity(), after[i].severity(); {
		case a > b:
			c.Change = Stricter
		case a < b:
			c.Change = Looser
		}
		list = append(list, c)
	}
	return list
}

// combine returns the change of all kinds of mail. Mail that is treated worse weighs more than mail that is
// treated better.
func combine(changes ...Behavior) Behavior {
	total := Same
	for _, c := range changes {
		if c == Stricter || total == Same {
			total = c
		}
	}
	return total
}

func changed(list []Comparison) Behavior {
	return combine(kit.Map(list, func(c Comparison) Behavior { return c.Change })...)
}

// realigned returns the change of alignment by the declaration of a public suffix (RFC 9989 section 4.10.2). With
// psd=y the subdomains are organizations of their own; with psd=n the domain is one, which only changes something
// where it is not one anyway.
func realigned(before, after policy.PSD, domain string) Behavior {
	subordinate := domain != "" && policy.PublicSuffixOrganizational(domain) != domain
	switch {
	case before == after:
		return Same
	case after == policy.IsPSD:
		return Stricter
	case before == policy.IsPSD:
		return Looser
	case !subordinate:
		return Same
	case after == policy.NotPSD:
		return Stricter
	default:
		return Looser
	}
}
