package headers

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/headers/csp"
)

// policyDetailRules are about how the policies are written.
var policyDetailRules = diag.Rules[*evidence]{{
	Code: "headers.csp.syntax", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 2.3",
	Title: "Browsers ignore a part of the policy", Requirement: "Browsers know every part of the policy",
	Advice: "Correct this part of the policy: browsers skip what they do not know and apply the rest.",
	Fails: inPolicies(csp.MissingQuotes, csp.MissingSemicolon, csp.InvalidSource, csp.UnknownDirective, csp.NoneWithOthers,
		csp.MissingValue),
}, {
	Code: "headers.csp.long", Severity: diag.Info, DependsOn: []diag.Code{"headers.csp.missing"},
	Ref:   "CSP Level 3 section 2.2.2",
	Title: "Policy is longer than is examined", Requirement: "The whole policy is examined",
	Advice: "Merge what is alike, and use nonces or hashes instead of long lists of hosts.",
	Fails:  inPolicies(csp.TooLong),
}, {
	Code: "headers.csp.repeated", Severity: diag.Warning, Category: factorPolicy,
	DependsOn: []diag.Code{"headers.csp.missing"}, Ref: "CSP Level 3 section 2.2.1",
	Title: "Directive appears twice in a policy", Requirement: "No directive appears twice in a policy",
	Advice: "Merge the sources into one directive: browsers use the first and skip the others.",
	Fails:  inPolicies(csp.DuplicateDirective),
}, {
	Code: "headers.csp.meta.directive", Severity: diag.Warning, DependsOn: []diag.Code{"headers.csp.missing"},
	Ref:   "CSP Level 3 section 3.3",
	Title: "Directive has no effect in a meta element", Requirement: "Directives are set where they have an effect",
	Advice: "Send the directive in the Content-Security-Policy header field.",
	Fails:  inPolicies(csp.MetaDirective),
}}

// inPolicies makes the test of a rule about faults of some kinds.
func inPolicies(kinds ...csp.Kind) func(*evidence) diag.Failures {
	return func(e *evidence) (all diag.Failures) {
		for i := range e.enforced {
			for _, f := range e.enforced[i].Faults {
				for _, kind := range kinds {
					if f.Kind == kind {
						all = append(all, diag.Failure{
							Detail: describe(f), Target: diag.Quote(f.Directive), Location: where(e, &e.enforced[i], f),
						})
					}
				}
			}
		}
		return all
	}
}

// where is the place of a fault in the header field, if there is one field with the policy in it.
func where(e *evidence, p *csp.Policy, f csp.Fault) *diag.Location {
	if p.Meta || len(e.values(fieldCSP)) != 1 {
		return nil
	}
	return &diag.Location{Offset: f.Offset, Length: f.Length}
}

// describe puts a fault into a sentence.
func describe(f csp.Fault) string {
	correct := ""
	if f.Correct != "" {
		correct = fmt.Sprintf("; %s was probably meant", diag.Quote(f.Correct))
	}
	name, value := diag.Quote(f.Directive), diag.Quote(f.Value)
	switch f.Kind {
	case csp.DuplicateDirective:
		return fmt.Sprintf("The directive %s appears twice; browsers use the first.", name)
	case csp.UnknownDirective:
		return fmt.Sprintf("Browsers do not know the directive %s%s.", name, correct)
	case csp.DeprecatedDirective:
		return fmt.Sprintf("The directive %s is no longer part of CSP.", name)
	case csp.MetaDirective:
		return fmt.Sprintf("The directive %s is in a meta element, where browsers ignore it.", name)
	case csp.MissingSemicolon:
		return fmt.Sprintf("%s is listed among the sources of %s; a semicolon is missing before it.", value, name)
	case csp.MissingQuotes:
		return fmt.Sprintf("%s in %s is read as a host: it must be written %s.", value, name, diag.Quote(f.Correct))
	case csp.NoneWithOthers:
		return fmt.Sprintf("'none' in %s has no effect beside other sources.", name)
	case csp.MissingValue:
		return fmt.Sprintf("The directive %s has no value.", name)
	case csp.TooLong:
		return fmt.Sprintf("There are more than %d policies, %d directives in one or %d sources in a directive; the rest was not examined.",
			csp.MaxPolicies, csp.MaxDirectives, csp.MaxSources)
	default:
		return fmt.Sprintf("%s in %s is not a source that browsers know.", value, name)
	}
}
