//go:build !race

package httpapi

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/require"
)

// TestDrillAgreement runs all operations on the subjects of all worlds: a headline and the first action are those of
// the gravest finding, nothing is praised next to its contrary, nothing is advised below a verdict without action, no
// cause is reported twice, and no two operations disagree about one fact of one domain.
func TestDrillAgreement(t *testing.T) {
	own, others := drillCases(t)
	asked := 0
	reported := map[string]reportedFact{} // by world, subject and fact
	cases := append(some(own, drillShare(1, 8)), some(others, drillShare(16, 100))...)
	forEach(t, cases, func(t *testing.T, c drillCase, found *sync.Mutex) {
		var reply *drillReply
		c.play(t, func(r *drillRun) { reply = r.ask() })
		for _, fault := range reply.contradictions() {
			t.Error(fault)
		}
		found.Lock()
		defer found.Unlock()
		asked++
		for _, f := range reply.Findings {
			r := rulesByCode()[f.Code]
			if r.Fact == "" || r.Differs != "" {
				continue
			}
			key := fmt.Sprint(c.world.Zone, subjectOf(c.request), f.Target, r.Fact)
			if before, ok := reported[key]; ok && before.severity != f.Severity {
				t.Errorf("%s: %v by %s, %v by %s", r.Fact, f.Severity, c.ep.Name(), before.severity, before.by)
			}
			reported[key] = reportedFact{f.Severity, c.ep.Name()}
		}
	})
	require.NotZero(t, asked)
	t.Logf("replies: %d, facts: %d", asked, len(reported))
}

type reportedFact struct {
	severity diag.Severity
	by       string
}

// mayRepeat are codes whose findings are several by nature: each reports a fact of its own.
var mayRepeat = regexp.MustCompile(`^(dnsbl\.listed|csp\.|headers\.cookies\.|phishing\.|lint\.|tls\.chain\.|zone\.answers\.)`)

// nothingToDo matches verdicts that require no action.
var nothingToDo = regexp.MustCompile(`(?i)nothing (needs|has|is) to be done|nothing to do`)

// contradictions lists where a reply is at odds with itself.
func (d *drillReply) contradictions() (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if d.status != 200 || d.Headline == "" {
		return nil
	}
	worst := diag.Info
	for _, f := range d.Findings {
		worst = max(worst, f.Severity)
	}
	if worst > diag.Info && len(d.Findings) > 0 {
		gravest := slices.DeleteFunc(slices.Clone(d.Findings), func(f diag.Finding) bool { return f.Severity < worst })
		if len(d.Advice) > 0 {
			first := d.Advice[0]
			if !slices.ContainsFunc(gravest, func(f diag.Finding) bool { return f.Code == first.Code }) &&
				slices.ContainsFunc(gravest, func(f diag.Finding) bool { return f.Advice != "" }) {
				fail("the first action is for %s, the gravest finding is the %v %s", first.Code, worst, gravest[0].Code)
			}
		}
		if d.State == "valid" && !slices.ContainsFunc(gravest, func(f diag.Finding) bool { return notKnown(f.Code) }) {
			fail("valid beside the %v %s", worst, gravest[0].Code)
		}
		if nothingToDo.MatchString(d.Headline + d.Sub) {
			fail("%q beside the %v %s", cmp.Or(d.Sub, d.Headline), worst, gravest[0].Code)
		}
	}
	if nothingToDo.MatchString(d.Headline + " " + d.Sub) {
		for _, a := range d.Advice {
			fail("%q, and then the advice %q (%s)", d.Sub, a.Detail, a.Code)
		}
	}
	if d.Score != nil && worst > diag.Info && *d.Score > worst.Cap() && !slices.ContainsFunc(d.Findings, func(f diag.Finding) bool {
		return f.Severity == worst && notKnown(f.Code)
	}) {
		fail("score %d beside a finding of severity %v", *d.Score, worst)
	}
	if d.State == "unknown" && d.Score != nil {
		fail("score %d where the state is unknown", *d.Score)
	}
	details, times := map[string]bool{}, map[diag.Code]int{}
	for _, f := range d.Findings {
		if slices.ContainsFunc(d.Passed, func(c diag.Check) bool { return c.Code == f.Code }) {
			fail("%s is praised and blamed", f.Code)
		}
		if key := string(f.Code) + f.Target + f.Detail; details[key] {
			fail("%s is told twice: %s", f.Code, f.Detail)
		} else {
			details[key] = true
		}
		if times[f.Code]++; times[f.Code] == 4 && !mayRepeat.MatchString(string(f.Code)) {
			fail("%s is told 4 times or more: %s", f.Code, f.Detail)
		}
	}
	return faults
}

// TestOneFactOneSeverity holds the rules that state a shared fact to the table of facts, and finds those that state
// one without saying so.
func TestOneFactOneSeverity(t *testing.T) {
	stated := map[rule.Fact]int{}
	for _, code := range sortedCodes() {
		r := rulesByCode()[code]
		if r.Fact == "" {
			for _, said := range factTitles {
				if said.title.MatchString(r.Title) && r.State != diag.Unknown {
					t.Errorf("%s: %q states the fact %q without saying so", code, r.Title, said.fact)
				}
			}
			continue
		}
		stated[r.Fact]++
		spec, known := reach.Specs[r.Fact]
		switch {
		case !known:
			t.Errorf("%s states the fact %q, which is none", code, r.Fact)
		case r.Differs != "":
			if len(r.Differs) < 20 {
				t.Errorf("%s: %q is no reason", code, r.Differs)
			}
		case r.Severity != spec.Severity:
			t.Errorf("%s is %v, the fact %q is %v, and no reason is given", code, r.Severity, r.Fact, spec.Severity)
		case !strings.HasSuffix(string(code), "."+spec.Suffix):
			t.Errorf("%s: the fact %q has the suffix %s, and no reason is given", code, r.Fact, spec.Suffix)
		}
	}
	for fact := range reach.Specs {
		if stated[fact] == 0 {
			t.Errorf("no rule states the fact %q", fact)
		}
	}
}

// factTitles are titles by which a rule that states a shared fact is known.
var factTitles = []struct {
	title *regexp.Regexp
	fact  rule.Fact
}{
	{regexp.MustCompile(`(?i)^(the )?(domain|host|policy host|name) does not exist`), reach.NoName},
	{regexp.MustCompile(`(?i)^(domain|host|policy host|site|server)( \w+)? has no address`), reach.NoAddress},
	{regexp.MustCompile(`(?i)(server|host|site|port) refuses connections`), reach.Refused},
	{regexp.MustCompile(`(?i)TLS handshake( with .*)? fail`), reach.Handshake},
	{regexp.MustCompile(`(?i)^certificate( of the \w+( \w+)?)? (has )?expired$`), reach.Expired},
	{regexp.MustCompile(`(?i)^certificate( of the \w+( \w+)?)? is not trusted`), reach.Untrusted},
	{regexp.MustCompile(`(?i)^certificate( of the \w+( \w+)?)? (does not cover|is for another host)`), reach.OtherName},
	{regexp.MustCompile(`(?i)^certificate( of the \w+( \w+)?)? (expires|ends) `), reach.Expiring},
	{regexp.MustCompile(`(?i)obsolete TLS version`), reach.OldTLS},
}

func sortedCodes() []diag.Code {
	codes := make([]diag.Code, 0, len(rulesByCode()))
	for code := range rulesByCode() {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}
