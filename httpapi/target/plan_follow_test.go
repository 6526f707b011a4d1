package target_test

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A printedStep is a step as it is read from a plan in the format of zones.
type printedStep struct {
	code   diag.Code
	lines  []string // records to publish
	served []string // the new content of a web server
}

var (
	stepLine   = regexp.MustCompile(`^; \d+\. .* \(([a-z0-9_.]+)\)$`)
	recordLine = regexp.MustCompile(`^(?:; )?(\S+\.) \d+ IN ([A-Z]+) .+$`)
)

// readPlan reads what diag prints.
func readPlan(text string) (steps []printedStep) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := stepLine.FindStringSubmatch(line); m != nil {
			steps = append(steps, printedStep{code: diag.Code(m[1])})
			continue
		}
		if recordLine.MatchString(line) {
			last := &steps[len(steps)-1]
			last.lines = append(last.lines, strings.TrimPrefix(line, "; "))
		}
		if served, ok := strings.CutPrefix(line, ";   "); ok {
			last := &steps[len(steps)-1]
			last.served = append(last.served, served)
		}
	}
	return steps
}

// publish puts the sets of a step in the place of those of their names and types.
func (s *printedStep) publish(world *diagtest.World) {
	for _, line := range s.lines {
		m := recordLine.FindStringSubmatch(line)
		world.Remove(func(rr dns.RR) bool {
			h := rr.Header()
			kind := dns.TypeToString[h.Rrtype]
			return dns.CanonicalName(h.Name) == m[1] && (kind == m[2] || kind == "CNAME")
		})
	}
	world.Zone(strings.Join(s.lines, "\n"))
}

// A keeper administers a domain of the demonstration, and does by hand what a plan leaves to people.
type keeper struct {
	*testing.T
	world  *diagtest.World
	domain string
	host   string // of its mail
	cert   tls.Certificate
}

func (k *keeper) publish(lines ...string) { (&printedStep{lines: lines}).publish(k.world) }

// mailServer starts one with a certificate that clients accept.
func (k *keeper) mailServer(*printedStep) {
	if k.host != "mail."+k.domain {
		k.publish(k.host + ". 3600 IN A 192.0.2.250")
	}
	k.cert = k.world.Certificate(diagtest.CertSpec{Names: []string{k.host}})
	k.world.SMTP(diagtest.SMTP{
		Host: k.host, TLS: &tls.Config{Certificates: []tls.Certificate{k.cert}, Time: k.world.Now},
		Replies: map[string]string{"RCPT": "550 5.7.1 Relaying denied"},
	})
}

// newKey publishes a DKIM key of 2048 bits, as good.example has one, and takes the old one away.
func (k *keeper) newKey(*printedStep) {
	reply, err := k.world.Exchange(k.Context(), dnsmsg.Question("s1._domainkey.good.example.", dns.TypeTXT, false))
	require.NoError(k, err)
	rr := reply.Answer[0]
	k.world.Remove(func(rr dns.RR) bool { return strings.HasSuffix(rr.Header().Name, "._domainkey."+k.domain+".") })
	k.publish("s2._domainkey." + k.domain + ". 3600 IN TXT " + strings.TrimPrefix(rr.String(), rr.Header().String()))
}

func (k *keeper) listSenders(*printedStep) { k.publish(k.domain + `. 3600 IN TXT "v=spf1 mx ~all"`) }

func (k *keeper) raiseDMARC(*printedStep) {
	k.publish("_dmarc." + k.domain + `. 3600 IN TXT "v=DMARC1; p=quarantine; rua=mailto:dmarc@` + k.domain + `"`)
}

// servePolicy answers with the policy that the plan has, once it has one.
func (k *keeper) servePolicy(s *printedStep) {
	if s.served == nil {
		return
	}
	body := strings.Join(s.served, "\r\n") + "\r\n"
	k.world.HTTPS("mta-sts."+k.domain, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, body)
	}))
}

func (k *keeper) enforcePolicy(*printedStep) {
	k.servePolicy(&printedStep{served: []string{"version: STSv1", "mode: enforce", "mx: " + k.host, "max_age: 604800"}})
	k.publish("_mta-sts." + k.domain + `. 3600 IN TXT "v=STSv1; id=2"`)
}

func (k *keeper) nameAddress(*printedStep) {
	k.publish("250.2.0.192.in-addr.arpa. 3600 IN PTR " + k.host + ".")
}

// sign signs the zone with the key of the mail server, once that is one that stays.
func (k *keeper) sign(*printedStep) {
	if k.cert.Leaf == nil {
		return
	}
	sum := sha256.Sum256(k.cert.Leaf.RawSubjectPublicKeyInfo)
	k.publish(fmt.Sprintf("_25._tcp.%s. 3600 IN TLSA 3 1 1 %x", k.host, sum))
	k.world.Sign(k.domain+".", diagtest.Signing{Inception: k.world.Now().AddDate(0, -1, 0)})
}

// A company with many faults is well once its printed plans are followed: records are published as they are printed,
// and its people do what is left to them as the step says.
func TestPlanFollowed(t *testing.T) {
	type hand = func(*keeper, *printedStep)
	byHand := map[diag.Code]hand{
		"smtp.certificate.expired": (*keeper).mailServer, "mx.hosts.unreachable": (*keeper).mailServer,
		"dkim.key.size.short": (*keeper).newKey, "dkim.key.revoked": (*keeper).newKey,
		"spf.all.pass": (*keeper).listSenders, "dmarc.policy.none": (*keeper).raiseDMARC,
		"mtasts.record.missing": (*keeper).servePolicy, "mtasts.policy.mode.testing": (*keeper).enforcePolicy,
		"dane.tlsa.missing": (*keeper).sign, "check.ptr.missing": (*keeper).nameAddress,
	}
	for domain, host := range map[string]string{
		"harbour.example": "mail.harbour.example", "hopeless.example": "gone.hopeless.example",
	} {
		inBubble(t, func(t *testing.T, world *diagtest.World) {
			k := &keeper{T: t, world: world, domain: domain, host: host}
			var left []diag.Code
			published := 0
			for range 3 { // prerequisites of others come first
				p := plan(t, world, domain, target.Options{})
				printed, err := p.Format(target.PlanZone)
				require.NoError(t, err)
				left = nil
				for _, s := range readPlan(string(printed)) {
					switch act := byHand[s.code]; {
					case s.lines != nil:
						s.publish(world)
						published++
					case act != nil:
						act(k, &s)
					default:
						left = append(left, s.code)
					}
				}
				t.Logf("%s: %s %d, then %s %d", domain, p.Before.State, *p.Before.Score, p.Result.State, *p.Result.Score)
				world.Advance(time.Hour)
			}
			require.NoError(t, world.Err())
			r := run(t, world, domain, target.Options{Only: []string{target.Mail}}).Parts[0].Report.(*domaincheck.Report)
			assert.Equal(t, diag.Valid, r.State, "%s %d", domain, *r.Score)
			for _, f := range r.Findings {
				assert.LessOrEqual(t, f.Severity, diag.Info, "%s %s: %s", domain, f.Code, f.Detail)
			}
			assert.GreaterOrEqual(t, published, 3)
			for _, code := range left { // codes unrelated to mail
				assert.Regexp(t, `^(tls|rdap|zone|headers|hsts|url)\.`, string(code), domain)
			}
		})
	}
}
