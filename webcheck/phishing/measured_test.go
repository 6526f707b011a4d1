//go:build !race || nightly

package phishing

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"github.com/stretchr/testify/require"
)

// pageIn reads a page of testdata, whose first line is a comment with its URL.
func pageIn(t *testing.T, file string) (url, body string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	first, body, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(strings.TrimPrefix(first, "<!-- "), " -->"), body
}

// visitPage serves a page in a world where its domain has been registered for some days, and checks it.
func visitPage(t *testing.T, file string, age int) *Report {
	t.Helper()
	url, body := pageIn(t, file)
	return visitAt(t, url, body, age)
}

func visitAt(t *testing.T, url, body string, age int) *Report {
	t.Helper()
	w := diagtest.NewWorld(t)
	a, err := dissect(url, lookalike.BuiltIn())
	require.NoError(t, err, url)
	w.HTTPS(a.url.Host().Name(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, body)
	}))
	answer := fmt.Sprintf(`{"objectClassName": "domain", "ldhName": %q, "events": [{"eventAction": "registration",
		"eventDate": %q}]}`, a.registered, w.Now().AddDate(0, 0, -age).UTC().Format(time.RFC3339))
	w.RDAP("rdap.verisign.com", map[string]string{"/com/v1/domain/" + a.registered: answer,
		"/net/v1/domain/" + a.registered: answer})
	w.Whois("whois.iana.org", map[string]string{"": "domain: DE\nwhois: whois.denic.de\n"})
	w.Whois("whois.denic.de", map[string]string{"": "Domain: " + a.registered + "\nStatus: connect\n"})
	_, r := examined(t, w, Request{URL: url})
	hold(t, r)
	return r
}

// TestMeasuredPages measures how many pages that impersonate a brand or ask for secrets that no site should ask for
// are flagged, and how many others are found clean.
func TestMeasuredPages(t *testing.T) {
	for dir, test := range map[string]struct {
		age    int
		wanted func(*Report) bool
		least  float64 // share of the pages of which it holds
		never  func(*Report) bool
	}{
		"fake":   {200, accused, 0.6, func(r *Report) bool { return r.Verdict == Clean }},
		"benign": {900, func(r *Report) bool { return r.Verdict == Clean }, 0.9, accused},
	} {
		files, err := filepath.Glob("testdata/pages/" + dir + "/*.html")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		good, wrong := 0, 0
		for _, file := range files {
			r := visitPage(t, file, test.age)
			if test.wanted(r) {
				good++
			} else {
				t.Logf("%s: %s %d %s %v", file, r.Verdict, r.RiskScore, r.Headline, diagtest.CodesOf(r.Findings))
			}
			if test.never(r) {
				wrong++
				t.Errorf("%s is %s", file, r.Verdict)
			}
		}
		t.Logf("%s pages: %d, %.3f as wanted, %d wrong", dir, len(files), float64(good)/float64(len(files)), wrong)
		require.GreaterOrEqual(t, float64(good)/float64(len(files)), test.least)
	}
}

// TestMeasuredElsewhere measures how many pages are accused at a host that has nothing of their name: few have none of
// their own but that of a brand.
func TestMeasuredElsewhere(t *testing.T) {
	files, err := filepath.Glob("testdata/pages/benign/*.html")
	require.NoError(t, err)
	all, wrong := 0, 0
	for _, file := range files {
		if strings.Contains(file, "/own-") {
			continue // which are a brand's own pages
		}
		_, body := pageIn(t, file)
		all++
		if r := visitAt(t, "https://www.example.com/", body, 900); accused(r) {
			wrong++
			t.Logf("%s: %s %d %s", file, r.Verdict, r.RiskScore, r.Headline)
		}
	}
	t.Logf("benign pages elsewhere: %d, %d accused", all, wrong)
	require.LessOrEqual(t, wrong*100, 4*all)
}

// TestMeasuredURLs measures how many URLs of services that sign, wrap and sign in are accused without anyone being
// asked.
func TestMeasuredURLs(t *testing.T) {
	text, err := os.ReadFile("testdata/signed_urls.txt")
	require.NoError(t, err)
	list := strings.Fields(string(text))
	require.GreaterOrEqual(t, len(list), 200)
	wrong := 0
	for _, url := range list {
		if _, r := alone(t, url); accused(r) {
			wrong++
			t.Logf("%s: %d %v", url, r.RiskScore, r.Signals)
		}
	}
	t.Logf("signed URLs: %d, %d accused", len(list), wrong)
	require.LessOrEqual(t, wrong*100, 2*len(list))
}

func accused(r *Report) bool { return r.Verdict == Suspicious || r.Verdict == Malicious }
