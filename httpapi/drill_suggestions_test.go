//go:build !race

package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// TestDrillSuggestions publishes each value that a reply suggests in the world of the reply, and asks again: its
// finding is gone, no fault is new, the score is no lower, nothing is stricter than what was in force, and whoever
// could send or be reached still can (CONTRACT 1.8, Suggestions).
func TestDrillSuggestions(t *testing.T) {
	own, others := drillCases(t)
	tried, faulty, left := 0, 0, map[string]int{}
	cases := append(some(own, drillShare(1, 16)), some(others, drillShare(3, 200))...)
	forEach(t, cases, func(t *testing.T, c drillCase, found *sync.Mutex) {
		var before *drillReply
		c.play(t, func(r *drillRun) { before = r.ask() })
		for _, advice := range before.Advice {
			if advice.SuggestedValue == "" {
				continue
			}
			after, ok := c.publish(advice.SuggestedValue)
			var faults []string
			if ok {
				faults = c.worse(t, after, before, advice)
			}
			found.Lock()
			if tried++; !ok {
				tried, left[string(advice.Code)] = tried-1, left[string(advice.Code)]+1
			}
			faulty += len(faults)
			found.Unlock()
			for _, f := range faults {
				t.Errorf("%s suggests %q: %s", advice.Code, advice.SuggestedValue, f)
			}
		}
	})
	require.NotZero(t, tried, "nothing was suggested")
	t.Logf("suggestions published: %d, faults: %d, not to be published: %v", tried, faulty, left)
}

// nextSteps are the findings that a suggestion leads to on purpose: it takes effect, and does not tighten yet.
var nextSteps = map[diag.Code]bool{
	"dmarc.policy.none": true, "dmarcbis.policy.none": true, "mtasts.policy.mode.testing": true, "spf.all.softfail": true,
	"hsts.http.header":   true, // told before as a part of what is gone
	"hsts.max_age.short": true, "headers.hsts.short": true, "dmarc.rua.missing": true, "mtasts.tls_rpt.missing": true,
	"headers.csp.report_only": true, "bimi.dmarc.none": true, "spf.record.missing.no_mail": true, // the other of two records
	"headers.cookies.secure": true, // of a session cookie, once HSTS protects it
}

// firstSteps are findings that stay until more than one value was published in turn, because the last of them, at
// once, could lock out visitors.
var firstSteps = map[diag.Code]string{
	"headers.hsts.short": "the time is raised in steps, each once the one before did no harm",
	"hsts.max_age.short": "the time is raised in steps, each once the one before did no harm",
}

// worse lists what got worse in the world in which the value was published.
func (c drillCase) worse(t *testing.T, changed drillCase, before *drillReply, advice diag.Recommendation) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var after *drillReply
	changed.play(t, func(r *drillRun) { after = r.ask() })
	if after.status != 200 {
		return []string{fmt.Sprintf("then status %d: %s", after.status, after.body)}
	}
	had := map[diag.Code]bool{}
	mended := diag.Info
	for _, f := range before.Findings {
		had[f.Code] = true
		if f.Code == advice.Code {
			mended = max(mended, f.Severity)
		}
	}
	for _, f := range after.Findings {
		switch {
		case f.Code == advice.Code && firstSteps[f.Code] == "":
			fail("its finding is still there: %s", f.Detail)
		case f.Severity > diag.Info && !had[f.Code] && f.Severity >= mended && !before.sibling(f, after) && !(nextSteps[f.Code] && f.Severity <= max(mended, diag.Warning)):
			// What is milder was hidden by the fault that is gone.
			fail("then a new %v %s: %s", f.Severity, f.Code, f.Detail)
		}
	}
	if before.Score != nil && (after.Score == nil || *after.Score < *before.Score) {
		fail("the score was %d and is then %s", *before.Score, scoreWord(after.Score))
	}
	if was, is := c.inForce(t), strictness(advice.SuggestedValue); was >= 0 && is > was {
		fail("it is stricter than what is in force")
	}
	for _, a := range c.senders() {
		was, is := c.spf(t, a), changed.spf(t, a)
		if was == "pass" && is != "pass" && advice.Code != "spf.all.pass" { // where everybody may send
			fail("%s may send and then gets %s", a, is)
		} else if is == "pass" && (was == "fail" || was == "softfail") && !strings.HasPrefix(string(advice.Code), "spf.term.shadowed") {
			fail("%s gets %s and may then send", a, was)
		}
	}
	return faults
}

// sibling reports whether a finding takes the place of one of its family that is gone and was no milder: the fault has
// changed its form.
func (before *drillReply) sibling(f diag.Finding, after *drillReply) bool {
	family := string(f.Code[:strings.LastIndexByte(string(f.Code), '.')+1])
	return family != "" && slices.ContainsFunc(before.Findings, func(o diag.Finding) bool {
		return strings.HasPrefix(string(o.Code), family) && o.Severity >= f.Severity &&
			!slices.ContainsFunc(after.Findings, func(a diag.Finding) bool { return a.Code == o.Code })
	})
}

var (
	spfText    = regexp.MustCompile(`(?i)spf`)
	dmarcText  = regexp.MustCompile(`(?i)dmarc\s*1?`)
	tlsaRecord = regexp.MustCompile(`^(\S+) IN TLSA `)
	tlsaHash   = regexp.MustCompile(`3 1 1 [0-9a-f]{64}$`)
)

// publish puts a suggested value where it belongs; ok is false if that is no place of a small world.
func (c drillCase) publish(value string) (changed drillCase, ok bool) {
	if record := fieldOf(c.request, "record"); record != "" {
		return c.asking("record", value), true
	}
	domain := subjectOf(c.request)
	if c.other != nil && !strings.HasPrefix(value, "v=") {
		return c, false // of such a world only the DNS can be changed
	}
	kind, _, _ := strings.Cut(value, " ")
	switch {
	case strings.HasPrefix(value, "v=spf1"):
		return c.withTXT(domain, value, spfText), true
	case strings.HasPrefix(value, "v=DMARC1"):
		at := domain
		if org := fieldOf(c.request, "domain"); org != "" && c.dmarcAt(org) != "" {
			at = c.dmarcAt(org)
		}
		return c.withTXT("_dmarc."+at, value, dmarcText), true
	case strings.HasPrefix(value, "v=DKIM1"):
		selector := fieldOf(c.request, "selector")
		return c.withTXT(selector+"._domainkey."+domain, value, nil), selector != ""
	case strings.HasPrefix(value, "v=STSv1"):
		return c.withTXT("_mta-sts."+domain, value, nil), true
	case strings.HasPrefix(value, "v=TLSRPTv1"):
		return c.withTXT("_smtp._tls."+domain, value, nil), true
	case strings.HasPrefix(value, "v=BIMI1"):
		return c.withTXT("default._bimi."+domain, value, nil), true
	case strings.HasPrefix(value, "version: STSv1"):
		return c.withPolicy(domain, value), true
	case strings.HasPrefix(value, "max-age="):
		return c.withHeader(domain, "Strict-Transport-Security", value), true
	case strings.HasPrefix(c.ep.Name(), "http/") && strings.HasSuffix(kind, ":") && kind != "Set-Cookie:":
		name, text, _ := strings.Cut(value, ": ")
		return c.withHeader(domain, name, text), true
	case tlsaRecord.MatchString(value):
		owner := tlsaRecord.FindStringSubmatch(value)[1]
		if _, host, ok := strings.Cut(owner, "._tcp."); ok { // each world has keys of its own
			value = tlsaHash.ReplaceAllString(value, "3 1 1 {{sha256-spki:"+strings.TrimSuffix(host, ".")+"}}")
		}
		c.world.Zone = withoutLines(c.world.Zone, func(f []string) bool { return f[0] == owner && f[3] == "TLSA" }) +
			strings.Replace(value, " IN ", " 300 IN ", 1) + "\n"
		return c, true
	}
	return c, false
}

// dmarcAt is the domain whose DMARC record holds for another, at or above it; empty if there is none.
func (c drillCase) dmarcAt(domain string) string {
	for domain != "" {
		if strings.Contains(c.world.Zone, "\n_dmarc."+domain+". ") {
			return domain
		}
		_, domain, _ = strings.Cut(domain, ".")
	}
	return ""
}

func fieldOf(request []byte, name string) string {
	var body map[string]any
	json.Unmarshal(request, &body) // what is no object has no field
	text, _ := body[name].(string)
	return text
}

// asking returns the case with another value of a field.
func (c drillCase) asking(field, value string) drillCase {
	var body map[string]any
	json.Unmarshal(c.request, &body)
	body[field] = value
	c.request, _ = json.Marshal(body)
	return c
}

// withoutLines removes records from a zone; each is a line of owner, TTL, class, type and data.
func withoutLines(zone string, remove func(fields []string) bool) string {
	var kept strings.Builder
	for line := range strings.Lines(zone) {
		if f := strings.Fields(line); len(f) < 5 || !remove(f) {
			kept.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return kept.String()
}

// withTXT publishes a text. It takes the place of all other texts of the name, or of those of a kind at the name and
// next to it, where people publish them by mistake.
func (c drillCase) withTXT(name, value string, kind *regexp.Regexp) drillCase {
	name += "."
	if before := c.other; before != nil {
		c.other = func(t testing.TB) *diagtest.World {
			w := before(t)
			w.FaultEverywhere(name, dns.TypeTXT, diagtest.Fault{Answers: []string{name + " 300 IN TXT " + quotedStrings(value)}})
			return w
		}
		return c
	}
	_, parent, _ := strings.Cut(name, ".")
	c.world.Zone = withoutLines(c.world.Zone, func(f []string) bool {
		text := strings.Join(f[4:], " ")
		switch {
		case f[0] == name && f[3] == "CNAME":
			return true
		case f[3] != "TXT" && f[3] != "SPF":
			return false
		case kind == spfText:
			return f[0] == name && kind.MatchString(text)
		case kind != nil:
			return f[0] == name || f[0] == parent && kind.MatchString(text)
		}
		return f[0] == name
	})
	c.world.Zone += name + " 300 IN TXT " + quotedStrings(value) + "\n"
	return c
}

// quotedStrings is a text as a zone file has it.
func quotedStrings(value string) string {
	var list []string
	for rest := value; rest != ""; {
		n := min(len(rest), 255)
		list, rest = append(list, `"`+strings.ReplaceAll(rest[:n], ";", `\;`)+`"`), rest[n:]
	}
	return strings.Join(list, " ")
}

// withPolicy serves a policy of MTA-STS, and announces it if nothing did.
func (c drillCase) withPolicy(domain, text string) drillCase {
	host := "mta-sts." + domain
	if !strings.Contains(c.world.Zone, "\n_mta-sts."+domain+". ") {
		c.world.Zone += "_mta-sts." + domain + `. 300 IN TXT "v=STSv1\; id=20261101T1"` + "\n"
	}
	if !strings.Contains(c.world.Zone, "\n"+host+". ") {
		c.world.Zone += host + ". 300 IN A 198.51.100.180\n"
	}
	site := c.world.HTTPS[host]
	site.Routes = map[string]scenarioRoute{"/.well-known/mta-sts.txt": {
		Status: 200, Headers: map[string]headerValues{"Content-Type": {"text/plain"}}, Body: text,
	}}
	c.world.HTTPS = maps.Clone(c.world.HTTPS)
	if c.world.HTTPS == nil {
		c.world.HTTPS = map[string]scenarioSite{}
	}
	c.world.HTTPS[host] = site
	return c
}

// withHeader lets all pages of a site send a header.
func (c drillCase) withHeader(host, name, value string) drillCase {
	site, there := c.world.HTTPS[host]
	site.Routes = maps.Clone(site.Routes)
	if site.Routes == nil {
		site.Routes = map[string]scenarioRoute{}
	}
	if _, root := site.Routes["/"]; !root {
		site.Routes["/"] = scenarioRoute{
			Status: 404, Body: "404 page not found\n", // as http.NotFound
			Headers: map[string]headerValues{"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"}},
		}
	}
	for path, route := range site.Routes {
		route.Headers = maps.Clone(route.Headers)
		if route.Headers == nil {
			route.Headers = map[string]headerValues{}
		}
		maps.DeleteFunc(route.Headers, func(k string, _ headerValues) bool { return strings.EqualFold(k, name) })
		route.Headers[name] = headerValues{value}
		site.Routes[path] = route
	}
	c.world.HTTPS = maps.Clone(c.world.HTTPS)
	if there {
		c.world.HTTPS[host] = site
	}
	return c
}

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

// inForce is how strict the policy of the case is before anything is suggested; -1 if the case has none that is
// judged: only mail of domains that send or receive any can be hurt.
func (c drillCase) inForce(t *testing.T) int {
	if record := fieldOf(c.request, "record"); record != "" {
		return c.asked(t, "dmarc/validate", fmt.Sprintf(`{"record":%q}`, record), "effective.policy")
	}
	domain := subjectOf(c.request)
	if domain == "" || !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(domain)+`\. \d+ IN MX [1-9]`).MatchString(c.world.Zone) {
		return -1
	}
	switch {
	case strings.HasPrefix(c.ep.Name(), "dmarc"):
		return c.asked(t, "dmarc/lookup", fmt.Sprintf(`{"domain":%q}`, domain), "effective.policy")
	case strings.HasPrefix(c.ep.Name(), "mta-sts"):
		return c.asked(t, "mta-sts/lookup", fmt.Sprintf(`{"domain":%q}`, domain), "policy.mode")
	}
	return -1
}

// brokenPolicy are faults that make a policy of MTA-STS void.
var brokenPolicy = regexp.MustCompile(`^mtasts\.(policy|record)\.`)

// asked asks another operation in the world of the case, and returns how strict the policy in a field is.
func (c drillCase) asked(t *testing.T, operation, request, path string) (strict int) {
	c.ep, c.request = endpointNamed(operation), []byte(request)
	c.play(t, func(r *drillRun) {
		reply := r.ask()
		v, _ := valueAt(reply.all, strings.Split(path, "."))
		word, _ := v.(string)
		if !slices.ContainsFunc(reply.Findings, func(f diag.Finding) bool { // by which nothing of a policy is in force
			return f.Severity >= diag.Error && brokenPolicy.MatchString(string(f.Code))
		}) {
			strict = max(0, strictness("p="+word))
		}
	})
	return strict
}

func endpointNamed(name string) Endpoint {
	return endpoints[slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Name() == name })]
}

var addressText = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b|[0-9a-fA-F:]*:[0-9a-fA-F:]+`)

// senders are addresses of the world of an SPF case, those that its records name, and strangers.
func (c drillCase) senders() (list []netip.Addr) {
	if c.ep.Name() != "spf/lookup" {
		return nil
	}
	for _, text := range append(addressText.FindAllString(c.world.Zone, -1), "203.0.113.77", "2001:db8:dead::1") {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return someOf(list, 5, c.name)
}

// spf is what SPF says of an address in the world of the case.
func (c drillCase) spf(t *testing.T, a netip.Addr) (result string) {
	asked := c.asking("ip", a.String())
	asked.play(t, func(r *drillRun) {
		v, _ := valueAt(r.ask().all, []string{"ip_test", "result"})
		result, _ = v.(string)
	})
	return result
}
