package mtasts

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// A setting is a world in which a policy is in force, dormant, or missing.
type setting struct {
	record string // of the zone
	policy string // as it is served
	site   diagtest.Cert
	media  string
	mail   diagtest.SMTP
	silent bool // the mail server does not answer
}

// build makes the world of a setting, with the given record or policy, if any, instead of its own.
func (s setting) build(t *testing.T, record, text string) *diagtest.World {
	if record == "" {
		record = s.record
	}
	media := s.media
	if text == "" {
		text = s.policy
	} else {
		media = "text/plain"
	}
	w := diagtest.NewWorld(t)
	w.Zone(record + reports + mx)
	s.mail.Host = "mx.example.com"
	if w.SMTP(s.mail); s.silent {
		w.Behave("192.0.2.25:25", diagtest.Unreachable)
	}
	if text != "" {
		w.Site(diagtest.Site{Host: "mta-sts.example.com", HTTP1: true, Cert: s.site,
			Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", media)
				io.WriteString(rw, text)
			})})
	}
	return w
}

// refuses reports whether a sender that follows the policy refuses, or may refuse, to deliver to the mail server.
func refuses(r *Report, s setting) bool {
	mode, _ := r.InForce()
	return mode == Enforce && (s.silent || s.mail.NoStartTLS || s.mail.Cert != diagtest.CertGood || !r.MXCoverage.Complete)
}

// void reports whether a fault keeps a policy from being in force.
func void(f diag.Finding) bool {
	return f.Severity >= diag.Error && !strings.HasPrefix(string(f.Code), "mtasts.mx.")
}

// TestSuggestionsWakeNothing publishes only the suggestion of the first step: no strict sender that delivers today
// may refuse afterwards. While the dormant policy would block mail, no record is suggested, and the advice puts the
// policy first.
func TestSuggestionsWakeNothing(t *testing.T) {
	old := strings.Replace(policy, "mx.example.com", "old.example.org", 1)
	records := map[string]string{
		"valid": record, "none": "", "bad id": strings.Replace(record, "20260101T000000", "2026-01-01", 1),
		"no id": `_mta-sts.example.com. TXT "v=STSv1;"` + "\n", "no semicolon": `_mta-sts.example.com. TXT "v=STSv1 id=1"` + "\n",
		"two": record + `_mta-sts.example.com. TXT "v=STSv1; id=2"` + "\n", "wrong name": strings.Replace(record, "_mta-sts", "_mtasts", 1),
		"alias": "_mta-sts.example.com. CNAME gone.example.com.\n",
	}
	policies := map[string]string{
		"good": policy, "old": old, "testing": strings.Replace(old, "enforce", "testing", 1), "nothing": "",
		"none": "version: STSv1\nmode: none\nmax_age: 604800\n", "void": strings.Replace(old, "max_age: 604800\n", "", 1),
		"capitals": strings.Replace(old, "enforce", "Enforce", 1), "misspelt": strings.Replace(old, "mode", "Mode", 1),
		"one line": strings.ReplaceAll(old, "\n", "; "), "blank lines": strings.ReplaceAll(old, "\n", "\n\n"),
	}
	mails := map[string]setting{
		"fine": {}, "certificate expired": {mail: diagtest.SMTP{Cert: diagtest.CertExpired}},
		"no STARTTLS": {mail: diagtest.SMTP{NoStartTLS: true}}, "silent": {silent: true},
	}
	sites := map[string]setting{
		"fine": {media: "text/plain"}, "expired": {media: "text/plain", site: diagtest.CertExpired}, "HTML": {media: "text/html"},
	}
	woken := 0
	for r, record := range records {
		for p, text := range policies {
			for m, mail := range mails {
				for st, site := range sites {
					s := setting{record, text, site.site, site.media, mail.mail, mail.silent}
					t.Run(r+"/"+p+"/"+m+"/"+st, func(t *testing.T) {
						before := lookup(t, s.build(t, "", ""))
						mode, known := before.InForce()
						require.True(t, known)
						require.Equal(t, before.Policy.Mode == Enforce && before.Found && !slices.ContainsFunc(before.Findings, void), mode == Enforce)
						for _, f := range before.Findings {
							require.NotEmpty(t, f.Advice, "%s", f.Code)
						}
						if len(before.Recommendations) == 0 || refuses(before, s) {
							return
						}
						for i, one := range before.Recommendations {
							switch value := one.SuggestedValue; {
							case strings.HasPrefix(value, "v=STSv1"):
								announced := `_mta-sts.example.com. TXT "` + value + "\"\n"
								after := lookup(t, s.build(t, announced, ""))
								require.False(t, refuses(after, s), "%q wakes the policy", value)
							case strings.HasPrefix(value, "version: "):
								parsed, err := ParsePolicy(value)
								require.NoError(t, err)
								require.Equal(t, Testing, parsed.Mode, "%s", value)
								require.Equal(t, []string{"mx.example.com"}, parsed.MX)
								require.Positive(t, parsed.MaxAge)
							}
							dangerous := (p == "old" || p == "void" || p == "capitals" || p == "misspelt" || p == "one line" || p == "blank lines" ||
								p == "good" && m != "fine") && one.Priority == diag.High
							if dangerous && i == 0 && one.Code != "mtasts.policy.page" {
								woken++
								require.Contains(t, one.Detail, "testing mode", "%s", one.Code)
							}
						}
					})
				}
			}
		}
	}
	require.Greater(t, woken, 100)
}

// Setting up MTA-STS takes the policy, its URL, and the record that announces it, in this order.
func TestViewTellsHowToSetUp(t *testing.T) {
	for name, zone := range map[string]string{"nothing": mx, "no id": withRecord("v=STSv1;")} {
		r := lookup(t, published(t, zone, nil))
		v := r.View()
		require.Contains(t, v.Steps[0].Text, r.Policy.URL, name)
		require.Contains(t, v.Steps[0].Text, "v=STSv1; id=", name)
		require.Equal(t, r.Policy.URL, v.Steps[0].Name, name)
		require.Equal(t, "_mta-sts.example.com.", v.Steps[1].Name, name)
		_, err := ParseRecord(v.Steps[1].Value)
		require.NoError(t, err, name)
	}
	r := lookup(t, published(t, good, edited("max_age: 604800\n", ""))) // whose record is fine
	for _, s := range r.View().Steps {
		require.False(t, strings.HasPrefix(s.Value, "v=STSv1"))
	}
}
