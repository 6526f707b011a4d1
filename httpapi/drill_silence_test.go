//go:build !race

package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/stretchr/testify/require"
)

// maxSilenced bounds the queries of one reply that are silenced; composed operations send several hundred.
const maxSilenced = 12

// TestDrillSilence leaves each query of a reply unanswered alone, as SERVFAIL and as silence, and some pairs of them:
// less knowledge never makes a verdict surer, better or graver (CONTRACT 1.7, Knowledge).
func TestDrillSilence(t *testing.T) {
	own, others := drillCases(t)
	asked, faulty := 0, 0
	drill := func(most int) func(*testing.T, drillCase, *sync.Mutex) {
		return func(t *testing.T, c drillCase, found *sync.Mutex) {
			c.play(t, func(r *drillRun) {
				n, faults := r.silence(most)
				found.Lock()
				asked, faulty = asked+n, faulty+len(faults)
				found.Unlock()
				for _, f := range faults {
					t.Error(f)
				}
			})
		}
	}
	forEach(t, some(own, drillShare(2, 8)), drill(maxSilenced))
	forEach(t, some(others, drillShare(96, 400)), drill(maxSilenced))
	require.NotZero(t, asked, "no question was silenced")
	t.Logf("silenced questions: %d, faults: %d", asked, faulty)
}

// contradictory are scenarios whose servers contradict themselves. Without the answer that exposes a false one, the
// false one is all that is known.
var contradictory = map[string]string{
	"dns-aaaa-nxdomain":                   "NXDOMAIN for AAAA of a name that has an A record",
	"dnssec-parent-nsec-lacks-delegation": "the parent zone denies a delegation that it has",
}

// silence compares the reply to that with at most so many of its queries unanswered.
func (r *drillRun) silence(most int) (asked int, faults []string) {
	for scenario := range contradictory {
		if strings.Contains(r.c.name, "/"+scenario) {
			return 0, nil
		}
	}
	r.world.Forget()
	full := r.ask()
	if full.status != 200 {
		return 0, nil
	}
	questions := slices.DeleteFunc(r.questions(), r.hasOther)
	seen := map[string]bool{}
	try := func(how failing, list ...question) {
		var undo []func()
		for _, q := range list {
			undo = append(undo, r.fail(q, how))
		}
		reply := r.ask()
		for _, f := range undo {
			f()
		}
		asked++
		for _, fault := range append(r.lessKnown(full, reply), r.hosts.lost(reply)...) {
			if !seen[fault] { // each fault is reported once
				seen[fault] = true
				faults = append(faults, fmt.Sprintf("%s of %s: %s", how, list, fault))
			}
		}
	}
	if diagtest.Whole() {
		most = len(questions)
	}
	for _, q := range someOf(questions, most, r.c.name) {
		if len(r.c.world.Silent) == 0 { // an error is more than the silence of such a world
			try(servfail, q)
		}
		try(silence, q)
	}
	if len(questions) > 2 {
		pair := someOf(questions, 2, r.c.name+" in pairs")
		try(silence, pair...)
	}
	return asked, faults
}

// hasOther reports whether a query goes to an address of a site of which another one, with other content, is tried if
// it is silent: then the reply has different knowledge, not less.
func (r *drillRun) hasOther(q question) bool {
	if !q.server.IsValid() || r.c.ep.Path == "/certificates/ssl/check" { // which contacts all of them
		return false
	}
	for host, site := range r.c.world.HTTPS {
		if len(site.Addresses) > 0 && slices.Contains(r.world.Host(host), q.server.Addr()) {
			return true
		}
	}
	return false
}

// examined are findings about the very servers that did not answer: of the operations that query them directly, whose
// purpose is to find that out. A state may be graver for one; nothing may be better.
var examined = map[diag.Code]string{
	"zone.ns.unreachable":         "the audit asks each name server",
	"zone.ns.lame":                "the audit asks each name server for the zone",
	"zone.delegation.unreachable": "the audit asks each name server",
	"zone.delegation.lame":        "the audit asks each name server for the zone",
	"zone.ns.aaaa.failing":        "the audit asks each name server for each type, and an error is an answer",
	"zone.answers.servfail":       "the audit asks each name server for each type, and an error is an answer",
	"smtp.connection.silent":      "the test connects to each mail server, and another one answered on the same port",
	"smtp.address.unavailable":    "the test connects to each address of a mail server, and another one answered",
	"smtp.backup.unavailable":     "the test connects to each mail server, and the preferred one answered",
}

// within maps a finding to the less specific one that replaces it with less knowledge: that no server accepts mail
// includes the faults of each server, and that only the domain itself has TLSA records includes that those of its
// mail servers are missing.
var within = map[diag.Code]diag.Code{
	"smtp.connection.refused": "smtp.servers.unreachable", "dane.tlsa.missing": "dane.tlsa.location",
}

// notKnown reports whether a code means that something is unknown.
func notKnown(code diag.Code) bool {
	r, known := rulesByCode()[code]
	return known && r.State == diag.Unknown
}

var rulesByCode = sync.OnceValue(rulesByAnyCode)

var stateOrder = map[string]int{"valid": 0, "warning": 1, "invalid": 2, "missing": 3}

// lessKnown lists the statements that a reply with less knowledge must not make, given the complete reply.
func (r *drillRun) lessKnown(full, less *drillReply) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch less.status {
	case 200:
	case 502, 504:
		return nil
	default:
		return []string{fmt.Sprintf("status %d: %s", less.status, less.body)}
	}
	had := map[diag.Code]diag.Severity{}
	for _, f := range full.Findings {
		had[f.Code] = max(had[f.Code], f.Severity)
	}
	reported := false                 // a server examined here did not answer, and did before
	for _, f := range less.Findings { // (a)
		before, ok := had[f.Code]
		switch isNew := f.Severity > diag.Info && (!ok || before < f.Severity); {
		case !isNew || notKnown(f.Code):
		case examined[f.Code] != "":
			reported = true
		case had[within[f.Code]] < f.Severity && !r.symptom(f, full, less):
			fail("(a) a new %v %s: %s", f.Severity, f.Code, f.Detail)
		}
	}
	for _, c := range less.Passed { // (b)
		if !slices.ContainsFunc(full.Passed, func(o diag.Check) bool { return o.Code == c.Code }) {
			fail("(b) praised for %s", c.Code)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(less.Breakdown.Categories)) {
		if c, before := less.Breakdown.Categories[name], full.Breakdown.Categories[name]; full.Score != nil && c.Earned > before.Earned && !less.Partial {
			fail("(b) %d points for %s, %d before", c.Earned, name, before.Earned)
		}
	}
	before := full.suggested()
	for _, v := range less.suggested() { // (c), but for the first stage of DMARC, which harms no domain
		if !slices.Contains(before, v) && !strings.HasPrefix(v, "v=DMARC1; p=none; rua=mailto:dmarc-reports@") {
			fail("(c) suggests %q", v)
		}
	}
	if full.verdict() && less.State != full.State && less.State != "unknown" { // (d)
		if graver := stateOrder[less.State] > stateOrder[full.State]; graver && !reported || !graver && !less.Partial || full.State == "unknown" {
			fail("(d) state %s, %s before, partial %t", less.State, full.State, less.Partial)
		}
	}
	// If less is known of one part of a whole, other parts weigh more: its score may be better if it states so.
	if less.Score != nil && !less.Partial && (full.Score == nil || *less.Score > *full.Score) {
		fail("(d) score %d, %s before", *less.Score, scoreWord(full.Score))
	}
	yes := full.yes()
	for _, path := range less.yes() {
		if !slices.Contains(yes, path) && !strings.Contains(path, "results.") && !r.ofAnotherAddress(full, less) {
			fail("(d) says %s", path)
		}
	}
	return faults
}

// ofAnotherAddress reports whether a reply shows the certificate of another address, because the one with the worst
// certificate did not answer; it says so.
func (r *drillRun) ofAnotherAddress(full, less *drillReply) bool {
	shown := func(d *drillReply) any { return d.all.(map[string]any)["address"] }
	return r.c.ep.Path == "/certificates/ssl/check" && less.Partial && shown(full) != shown(less)
}

// symptom reports whether a finding of the whole replaces its cause, which a part reported: with complete knowledge,
// too, a part reported it and the whole omitted it.
func (r *drillRun) symptom(f diag.Finding, full, less *drillReply) bool {
	return full.whole && slices.ContainsFunc(full.Findings, func(cause diag.Finding) bool {
		return compose.Follows(f.Code, cause.Code) && cause.Severity >= f.Severity && !slices.ContainsFunc(less.Findings, func(o diag.Finding) bool { return o.Code == cause.Code })
	}) && r.partReported(f)
}

// partReported reports whether, with complete knowledge, the report of a part has a finding at the same place and of the
// same severity.
func (r *drillRun) partReported(f diag.Finding) bool {
	if r.parts == nil {
		r.parts = map[string]bool{}
		full := *r
		full.c = r.c.asking("detail", "full")
		findingsIn(full.ask().all, r.parts)
	}
	found := fmt.Sprint(string(f.Code), f.Severity.String())
	return r.parts[found+f.Target] || r.parts[found] // which a whole marks with the name of the part
}

// findingsIn collects the findings anywhere in a reply.
func findingsIn(v any, list map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if v["code"] != nil && v["severity"] != nil {
			target, _ := v["target"].(string)
			list[fmt.Sprint(v["code"], v["severity"])+target] = true
		}
		for _, inner := range v {
			findingsIn(inner, list)
		}
	case []any:
		for _, inner := range v {
			findingsIn(inner, list)
		}
	}
}

func scoreWord(score *int) string {
	if score == nil {
		return "none"
	}
	return fmt.Sprint(*score)
}
