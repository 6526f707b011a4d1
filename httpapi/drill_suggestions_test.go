//go:build !race

package httpapi

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// TestDrillSuggestions publishes each value that a reply suggests in the world of the reply, and runs the operation
// again: its finding is gone, no fault is new, the score is no lower, nothing is stricter than what was in force, and
// every host that could send or receive mail still can (CONTRACT 1.8, Suggestions).
func TestDrillSuggestions(t *testing.T) {
	own, others := drillCases(t)
	tried, faulty, left := 0, 0, map[string]int{}
	cases := slices.Concat(some(own, drillShare(2, 16)), some(others, drillShare(10, 200)),
		some(signedCases(), drillShare(2, 8)), some(recordCases(own), drillShare(8, 50)))
	forEach(t, cases, func(t *testing.T, c drillCase, found *sync.Mutex) {
		for i, more := 0, true; more; i++ {
			c.play(t, func(r *drillRun) {
				r.world.Forget()
				before := r.ask()
				values := before.values()
				if more = i+1 < len(values); i >= len(values) {
					return
				}
				faults, ok := r.worse(before, values[i])
				found.Lock()
				defer found.Unlock()
				if tried++; !ok {
					tried, left[string(values[i].Code)] = tried-1, left[string(values[i].Code)]+1
				}
				faulty += len(faults)
				for _, f := range faults {
					t.Errorf("%s suggests %q: %s", values[i].Code, values[i].SuggestedValue, f)
				}
			})
		}
	})
	require.NotZero(t, tried, "nothing was suggested")
	t.Logf("suggestions published: %d, faults: %d, not to be published: %v", tried, faulty, left)
}

// values returns the recommendations of a reply that suggest a value, and its other suggestions.
func (d *drillReply) values() (list []diag.Recommendation) {
	seen := map[string]bool{}
	for _, advice := range d.Advice {
		if advice.SuggestedValue != "" {
			list, seen[advice.SuggestedValue] = append(list, advice), true
		}
	}
	for _, value := range d.suggested() {
		if !seen[value] {
			list, seen[value] = append(list, diag.Recommendation{SuggestedValue: value}), true
		}
	}
	return list
}

// recordCases publish the records of the scenarios that have no world: those of SPF at a domain whose terms resolve,
// and those of DMARC at the author's domain of each message.
func recordCases(own []drillCase) (list []drillCase) {
	for _, c := range own {
		record := fieldOf(c.request, "record")
		if strings.IndexFunc(record, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
			continue
		}
		switch c.ep.Name() {
		case "spf/validate":
			list = append(list, c.published("spf/lookup", "example.com", "example.com", record, leadsTo(record)))
		case "dmarc/validate":
			for _, m := range own {
				if author := authorOf(m.message); author != "" {
					all := c.published("dmarc/lookup", author, "_dmarc."+author, record, m.world)
					all.name, all.message = all.name+" beside "+m.name, m.message
					list = append(list, all)
				}
			}
		}
	}
	return list
}

// published is a case about a domain in whose world a record replaces the previous one.
func (c drillCase) published(operation, domain, at, record string, world scenarioWorld) drillCase {
	ep := endpointNamed(operation)
	return drillCase{
		name: c.name + " published", ep: ep, request: requestAbout(ep, domain),
		other: func(t testing.TB) *diagtest.World {
			w := world.build(t)
			(&drillRun{world: w}).publishTXT(at, record, nil)
			return w
		},
	}
}

// leadsTo is a world in which the names of an SPF record have addresses, mail exchangers and a record.
func leadsTo(record string) (w scenarioWorld) {
	w.Zone = "example.com. 300 IN MX 10 mx1.example.com.\nexample.com. 300 IN A 192.0.2.80\nmx1.example.com. 300 IN A 192.0.2.25\n"
	for i, m := range regexp.MustCompile(`[:=]([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.[a-z]{2,})`).FindAllStringSubmatch(strings.ToLower(record), -1) {
		w.Zone += fmt.Sprintf("%[1]s. 300 IN A 198.51.100.%[2]d\n%[1]s. 300 IN MX 10 %[1]s.\n%[1]s. 300 IN TXT \"v=spf1 ip4:203.0.113.%[2]d -all\"\n",
			m[1], i+1)
	}
	return w
}

// nextSteps are the findings that a suggestion leads to on purpose, by the advice that suggests it: it takes effect, and
// does not tighten yet.
var nextSteps = []struct {
	advice *regexp.Regexp
	lead   []diag.Code
	reason string
}{
	{regexp.MustCompile(`^dmarc(bis)?\.`),
		[]diag.Code{"dmarc.policy.none", "dmarcbis.policy.none", "dmarc.policy.testing", "dmarc.rua.missing", "bimi.dmarc.none"},
		"a policy begins with none or with t=y, and with reports where there is a mailbox for them"},
	{regexp.MustCompile(`^mtasts\.`), []diag.Code{"mtasts.policy.mode.testing", "mtasts.tls_rpt.missing"},
		"a policy begins with testing, and only then are its reports missed"},
	{regexp.MustCompile(`^spf\.`), []diag.Code{"spf.all.softfail"}, "hosts that nobody listed are marked before they are refused"},
	{regexp.MustCompile(`^(headers\.)?hsts\.`),
		[]diag.Code{"hsts.http.header", "hsts.max_age.short", "headers.hsts.short", "headers.cookies.secure"},
		"HSTS begins with a short time; what a header lacks was reported before as a part of what is gone"},
	{regexp.MustCompile(`^headers\.csp\.`), []diag.Code{"headers.csp.report_only"}, "a new policy is reported before it is enforced"},
	{regexp.MustCompile(`\.no_mail$`), []diag.Code{"spf.record.missing.no_mail", "dmarc.record.missing.no_mail"}, "the other of two records"},
}

// adviceLeadsTo reports whether an advice leads to a finding on purpose.
func adviceLeadsTo(advice, to diag.Code) bool {
	for _, s := range nextSteps {
		if s.advice.MatchString(string(advice)) && slices.Contains(s.lead, to) {
			return true
		}
	}
	return false
}

// firstSteps are findings that stay until more than one value was published in turn, because the last of them, at
// once, could lock out visitors. Each value is another one.
var firstSteps = map[diag.Code]string{
	"headers.hsts.short": "the time is raised in steps, each once the one before did no harm",
	"hsts.max_age.short": "the time is raised in steps, each once the one before did no harm",
}

// staged reports whether the finding of an advice may stay once its value is published: another value follows, or what
// is broken is corrected only once a dormant policy of MTA-STS was replaced.
func staged(advice diag.Recommendation) bool {
	return firstSteps[advice.Code] != "" ||
		strings.HasPrefix(string(advice.Code), "mtasts.") && strings.HasPrefix(advice.Detail, "First replace the policy at ")
}

// worse lists what got worse when a value was published; ok is false if it cannot be published.
func (r *drillRun) worse(before *drillReply, advice diag.Recommendation) (faults []string, ok bool) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	domain, networks := r.c.subject(), []netip.Prefix(nil)
	if domain != "" && changesMessages.MatchString(advice.SuggestedValue) {
		networks = r.networks(domain, advice.SuggestedValue)
	}
	addresses := boundaries(networks)
	if !diagtest.Whole() {
		addresses = someOf(addresses, maxAddresses, r.c.name)
	}
	was := r.effects(advice.SuggestedValue, addresses)
	r.world.Forget()
	r.ask() // whose queries show where its keys are
	if !r.publish(before, advice) {
		for begins := range notPublished {
			if strings.HasPrefix(advice.SuggestedValue, begins) {
				return nil, false
			}
		}
		if r.c.world.HTTPS[domain].Front != nil {
			return nil, false // the double cannot change a site behind a box
		}
		return []string{"nobody can tell where it is to be published: " + advice.SuggestedValue}, false
	}
	after := r.ask()
	if after.status != 200 {
		return []string{fmt.Sprintf("then status %d: %s", after.status, after.body)}, true
	}
	had := map[diag.Code]bool{}
	improved := diag.Info
	for _, f := range before.Findings {
		had[f.Code] = true
		if f.Code == advice.Code {
			improved = max(improved, f.Severity)
		}
	}
	for _, f := range after.Findings {
		switch {
		case f.Code == advice.Code && (!staged(advice) || slices.Contains(after.suggested(), advice.SuggestedValue)):
			fail("its finding is still there: %s", f.Detail)
		case f.Severity > diag.Info && !had[f.Code] && f.Severity >= improved && !(adviceLeadsTo(advice.Code, f.Code) && f.Severity <= max(improved, diag.Warning)):
			// What is milder was hidden by the fault that is gone.
			fail("then a new %v %s: %s", f.Severity, f.Code, f.Detail)
		}
	}
	if before.Score != nil && (after.Score == nil || *after.Score < *before.Score) {
		fail("the score was %d and is then %s", *before.Score, scoreWord(after.Score))
	}
	is := r.effects(advice.SuggestedValue, addresses)
	return append(faults, is.worse(was, advice, func(a netip.Addr) bool {
		return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
	})...), true
}

// maxAddresses bounds the addresses whose SPF is evaluated for one value.
const maxAddresses = 60

var policyWord = regexp.MustCompile(`(?i)\b(?:p=|mode: )(none|testing|quarantine|reject|enforce)`)

// strictness orders policies: what does nothing, what quarantines, what refuses; -1 if the value is no policy.
func strictness(value string) int {
	m := policyWord.FindStringSubmatch(value)
	if m == nil {
		return -1
	}
	if strings.Contains(value, "pct=0") && strings.Contains(value, "t=y") {
		return 0 // which no receiver applies (RFC 7489 section 6.6.4, RFC 9989 section 4.7)
	}
	return map[string]int{"none": 0, "testing": 0, "quarantine": 1, "reject": 2, "enforce": 2}[strings.ToLower(m[1])]
}

// inForce returns how strict the policy of the case is, of the kind of a value; -1 if it has none that is judged:
// only mail of domains that send or receive any can be affected.
func (r *drillRun) inForce(value string) int {
	if record := fieldOf(r.c.request, "record"); record != "" {
		return r.policy("dmarc/validate", fmt.Sprintf(`{"record":%q}`, record), "effective.policy")
	}
	domain := r.c.subject()
	if domain == "" || !r.hasMX(domain) {
		return -1
	}
	switch {
	case strings.HasPrefix(value, "v=DMARC1"):
		return r.policy("dmarc/lookup", fmt.Sprintf(`{"domain":%q}`, domain), "effective.policy")
	case strings.HasPrefix(value, "version: STSv1"):
		return r.policy("mta-sts/lookup", fmt.Sprintf(`{"domain":%q}`, domain), "policy.mode")
	}
	return -1
}

// brokenPolicy are faults that make a policy of MTA-STS void.
var brokenPolicy = regexp.MustCompile(`^mtasts\.(policy|record)\.`)

// policy runs another operation, and returns how strict the policy in a field of its reply is.
func (r *drillRun) policy(operation, request, path string) int {
	reply := r.other(operation, []byte(request))
	v, _ := valueAt(reply.all, strings.Split(path, "."))
	word, _ := v.(string)
	if slices.ContainsFunc(reply.Findings, func(f diag.Finding) bool { // by which nothing of a policy is in force
		return f.Severity >= diag.Error && brokenPolicy.MatchString(string(f.Code))
	}) {
		return 0
	}
	return max(0, strictness("p="+word))
}
