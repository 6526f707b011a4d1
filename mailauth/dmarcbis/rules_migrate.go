package dmarcbis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

var migrateRules = rule.Rules[*conversion]{{
	Code: "dmarcbis.migrate.version", Severity: diag.Critical, Ref: refFormat,
	Title: "The text is not a DMARC record", Requirement: "The text is a DMARC record",
	Advice: "Begin the record with exactly v=DMARC1; and a policy; then migrate it.",
	Fails: func(c *conversion) rule.Failures {
		why := policy.Format.Resembles(c.original)
		if why == "" {
			why = "it does not begin with v=DMARC1"
		}
		return rule.FailIf(!c.before.Is(), "Receivers ignore the text %q: %s. It was not changed.",
			phrase.Quote(c.original), why)
	},
}, {
	Code: "dmarcbis.migrate.line", Severity: diag.Info, DependsOn: isRecord, Ref: "RFC 1035 section 5.1",
	Title: taglist.LineTitle, Requirement: taglist.LineRequirement,
	Advice: taglist.LineAdvice,
	Fails:  func(c *conversion) rule.Failures { return rule.FailIf(c.line, taglist.LineDetail) },
}, {
	Code: "dmarcbis.migrate.unusable", Severity: diag.Error, DependsOn: isRecord, Ref: refPolicy,
	Title: "Receivers cannot use the original record", Requirement: "Receivers can use the original record",
	Advice: "Check which policy was meant. Publish the migrated record, read the aggregate reports, and only then " +
		"raise the policy to what was meant.",
	Fails: func(c *conversion) rule.Failures {
		reading := c.before.Reading(policy.RFC9989)
		return rule.FailIf(!reading.Usable, "Receivers treat the domain as one without DMARC: %s.", reading.Reason)
	},
}, {
	Code: "dmarcbis.migrate.unreadable", Severity: diag.Error, DependsOn: isRecord, Ref: refPolicy,
	Title:       "The policies of the original record cannot be read",
	Requirement: "The policies of the original record can be read",
	Advice: "Check which policy was meant. The migrated record says what receivers do today; raise its policy once the " +
		"aggregate reports show that all legitimate mail passes.",
	Fails: func(c *conversion) rule.Failures {
		reading := c.before.Reading(policy.RFC9989)
		return rule.FailIf(reading.Assumed, "Receivers act as if the record said only p=none: %s.", reading.Reason)
	},
}, {
	Code: "dmarcbis.migrate.stricter", Severity: diag.Warning, DependsOn: isRecord, Ref: "RFC 9989 section 5.1.7",
	Title:       "The migrated record is stricter than the original",
	Requirement: "The migrated record is not stricter than the original",
	Advice: "Check in the aggregate reports that no legitimate mail of this kind fails DMARC before you publish the " +
		"migrated record.",
	Fails: stricter,
}, {
	Code: "dmarcbis.migrate.percentage", Severity: diag.Warning, DependsOn: isRecord, Ref: refPercent,
	Title: "A policy for a share of the mail has no equivalent in RFC 9989", Requirement: "The policy holds for all mail",
	Advice: "Read the aggregate reports, and raise the policy again once all legitimate mail passes.",
	Fails: func(c *conversion) rule.Failures {
		gone := appliesPartially(&c.before) && c.before.Percentage > 0 && !c.after.Has("pct")
		return rule.FailIf(gone,
			"With pct=%d the policy applied to %d percent of the failing mail, and the migrated record asks "+
				"for the lower one for all of it.", c.before.Percentage, c.before.Percentage)
	},
}, {
	Code: "dmarcbis.migrate.legacy.stricter", Severity: diag.Warning, DependsOn: isRecord, Ref: "RFC 7489 section 6.3",
	Title:       "Receivers that follow RFC 7489 are stricter with the migrated record",
	Requirement: "Receivers that follow RFC 7489 are not stricter with the migrated record",
	Advice:      "Check in the aggregate reports that no legitimate mail fails DMARC before you publish it.",
	When:        func(c *conversion) bool { return c.behavior != Stricter },
	Fails: func(c *conversion) rule.Failures {
		return differences(c.legacy, Stricter, "Mail%s that fails DMARC gets the policy %s there instead of %s.")
	},
}, {
	Code: "dmarcbis.migrate.destination", Severity: diag.Warning, DependsOn: isRecord, Ref: refSyntax,
	Title:       "Invalid report destination was left out of the migrated record",
	Requirement: "All report destinations are valid",
	Advice:      "Write each destination as mailto: and an address, with a comma between two of them, and add it again.",
	Fails: func(c *conversion) rule.Failures {
		return rule.FailEach(c.dropped(), func(u policy.URI) rule.Failures {
			return rule.Fail("%q %s, so that no report is sent there.", phrase.Quote(u.Text), u.Problem())
		})
	},
}, {
	Code: "dmarcbis.migrate.np", Severity: diag.Warning, DependsOn: isRecord, Ref: refFormat,
	Title:       "np has no effect in the record of a subdomain",
	Requirement: "np is in the record of an organizational domain",
	Advice:      "Add np to the record of the organizational domain instead.",
	When:        func(c *conversion) bool { return c.added("np") && !c.domain.IsZero() },
	Fails: func(c *conversion) rule.Failures {
		org := policy.PublicSuffixOrganizational(c.domain.String())
		return rule.FailIf(org != c.domain.String() && c.after.PSD != policy.NotPSD,
			"The organizational domain of %s is %s by the list of public suffixes, and only its np counts.", c.domain, org)
	},
}, {
	Code: "dmarcbis.migrate.psd", Severity: diag.Error, DependsOn: isRecord, Ref: refFormat,
	Title: "psd=y for a domain that is not a public suffix", Requirement: "psd=y is declared for a public suffix only",
	Advice: "Leave out psd=y unless unrelated organizations register subdomains here: with it, the subdomains are no " +
		"longer aligned with the domain.",
	When: func(c *conversion) bool { return c.added("psd") && !c.domain.IsZero() && c.after.PSD == policy.IsPSD },
	Fails: func(c *conversion) rule.Failures {
		return rule.FailIf(!policy.IsPublicSuffix(c.domain.String()), "The list of public suffixes does not have %s.",
			c.domain)
	},
}}

var isRecord = []diag.Code{"dmarcbis.migrate.version"}

var of = map[Scope]string{
	ScopeDomain: " from the domain", ScopeSubdomains: " from subdomains",
	ScopeNonexistent: " from nonexistent subdomains",
}

// differences tells which mail is treated differently: all of it in one sentence, if it is treated the same.
func differences(list []Comparison, change Behavior, format string) rule.Failures {
	alike := func(c Comparison) bool {
		return c.Change == change && c.Before == list[0].Before && c.After == list[0].After
	}
	if !slices.ContainsFunc(list, func(c Comparison) bool { return !alike(c) }) {
		return rule.Fail(format, "", treatmentText(list[0].After), treatmentText(list[0].Before))
	}
	return rule.FailEach(list, func(c Comparison) rule.Failures {
		return rule.FailIf(c.Change == change, format, of[c.Scope], treatmentText(c.After),
			treatmentText(c.Before)).About(string(c.Scope))
	})
}

func treatmentText(t Treatment) string {
	if t.Percentage == 100 || t.Policy.Level() == 0 {
		return string(t.Policy)
	}
	return fmt.Sprintf("%s for %d percent of it", t.Policy, t.Percentage)
}

func stricter(c *conversion) rule.Failures {
	list := differences(c.comparisons, Stricter, "Mail%s that fails DMARC gets the policy %s instead of %s.")
	if realigned(c.before.PSD, c.after.PSD, c.domain.String()) == Stricter {
		list = append(list, rule.Failure{Target: "psd", Detail: fmt.Sprintf("With psd=%s, mail may no longer be aligned "+
			"that another domain of the same organization authenticates.", c.after.PSD)})
	}
	return list
}

func (c *conversion) added(tag string) bool {
	return slices.ContainsFunc(c.changes, func(change Change) bool {
		return change.Tag == tag && (change.Action == Add || change.Action == Replace)
	})
}

func (c *conversion) dropped() []policy.URI {
	text := c.after.List.Text
	var list []policy.URI
	for _, u := range slices.Concat(c.before.AggregateURIs, c.before.FailureURIs) {
		if !u.Valid() && (u.URI == "" || !strings.Contains(text, u.URI)) {
			list = append(list, u)
		}
	}
	return list
}

// lowered is the migrated record with the policies that receivers apply under t=y in place of t.
func (c *conversion) lowered() string {
	applied := c.after.Reading(policy.RFC9989).Applied
	d := policy.DraftOf(&c.after.List)
	d.Remove("t")
	d.Set("p", string(applied.Domain))
	for tag, p := range map[string]policy.Policy{"sp": applied.Subdomain, "np": applied.Nonexistent} {
		if c.after.Has(tag) {
			d.Set(tag, string(p))
		}
	}
	return d.String()
}
