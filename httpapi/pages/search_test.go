package pages

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each question finds one of the pages that answer it among the first three results.
func TestSearch(t *testing.T) {
	for _, tt := range []struct{ query, page string }{
		{"rotate", "/docs/authentication#rotation"},
		{"how do I rotate a key", "/docs/authentication#rotation"},
		{"rotating keys", "/docs/authentication#rotation"},
		{"leaked key", "/docs/errors#REVOKED_API_KEY"},
		{"webhook", "/docs/webhooks"},
		{"webhooks", "/docs/webhooks"},
		{"verify webhook signature", "/docs/webhooks#verify"},
		{"hmac", "/docs/webhooks#verify"},
		{"slack", "/docs/webhooks"},
		{"event types", "/docs/webhooks#events"},
		{"too many lookups", "/docs/findings/spf.lookups.exceeded"},
		{"SPF permerror", "/docs/findings/spf.lookups.exceeded"},
		{"spf flattening", "/docs/hosted-spf"},
		{"spam", "/docs/deliverability/score"},
		{"why is my mail in the spam folder?", "/docs/deliverability/score"},
		{"ssl", "/docs/certificates/ssl/check"},
		{"certificate expired", "/docs/findings/tls.certificate.expired"},
		{"expired domain", "/docs/rdap/lookup"},
		{"bounce", "/docs/smtp/check"},
		{"blacklist", "/docs/blacklist/ip"},
		{"is my IP on a blocklist", "/docs/blacklist/ip"},
		{"lookup spf", "/docs/spf/lookup"},
		{"dmarc aggregate report", "/docs/dmarc/report/analyze"},
		{"email headers", "/docs/mail/header-analyze"},
		{"whois", "/docs/rdap/lookup"},
		{"reverse dns", "/docs/ip/nslookup"},
		{"punycode", "/docs/dns/idn"},
		{"redirect loop", "/docs/findings/url.redirect.loop"},
		{"open relay", "/docs/findings/smtp.relay.open"},
		{"mta-sts", "/docs/mta-sts/lookup"},
		{"idempotency key", "/docs/idempotency"},
		{"retry without paying twice", "/docs/idempotency"},
		{"429", "/docs/rate-limits"},
		{"price", "/docs/credits"},
		{"invoice", "/docs/billing"},
		{"overage", "/docs/billing#overage"},
		{"MCP", "/docs/agents"},
		{"claude", "/docs/agents"},
		{"monitor a domain", "/docs/watches"},
		{"schedule", "/docs/watches"},
		{"csp", "/docs/findings/headers.csp.missing"},
		{"phishing", "/docs/phishing/check"},
		{"propagation", "/docs/resolve/propagation"},
		{"spf.lookups.exceeded", "/docs/findings/spf.lookups.exceeded"},
		{"spf.lookups", "/docs/findings/spf.lookups.exceeded"},
		{"lookups.exceeded", "/docs/findings/spf.lookups.exceeded"},
		{"cert_expired", "/docs/findings/cert_expired"},
		{"spf/lookup", "/docs/spf/lookup"},
		{"INSUFFICIENT_SCOPE", "/docs/errors#INSUFFICIENT_SCOPE"},
		{"deliverab", "/docs/deliverability/score"},
		{"certficate expired", "/docs/findings/tls.certificate.expired"},
	} {
		hits, _ := shared().index().search(tt.query)
		var first []string
		for _, h := range hits[:min(3, len(hits))] {
			first = append(first, h.URL)
		}
		assert.True(t, slices.ContainsFunc(first, func(u string) bool {
			return u == tt.page || strings.HasPrefix(u, tt.page+"#")
		}), "%s: %s is not among %v", tt.query, tt.page, first)
	}
}

// The page of a search works without a script, and shows what was asked, harmlessly.
func TestSearchPage(t *testing.T) {
	s := shared()
	page := parse(t, get(s, "GET", "/docs/search?q=spf").Body.String())
	var hits []node
	for _, e := range page.all("ol") {
		if e.attr("id") == "index" {
			hits = e.all("li")
		}
	}
	require.Len(t, hits, maxHits)
	require.Contains(t, page.text(), "The best 50 of ")
	for _, form := range page.all("form") {
		require.Equal(t, searchPath, form.attr("action"))
		require.Empty(t, form.attr("method"))
	}
	for query, want := range map[string]string{
		"<script>alert(1)</script>":  "for <script>alert(1)</script>",
		"zzzzzz\u202e":               "Nothing matches",
		strings.Repeat("wort ", 999): "for wort wort",
		"":                           "Endings of words do not matter",
		"the":                        "for the",
		"..":                         "Nothing matches",
	} {
		w := get(s, "GET", searchPath+"?q="+url.QueryEscape(query))
		require.Equal(t, 200, w.Code, query)
		require.NotContains(t, w.Body.String(), "<script>alert", query)
		require.NotContains(t, w.Body.String(), "\u202e", query)
		require.Contains(t, parse(t, w.Body.String()).text(), want, query)
	}
	require.Equal(t, 200, get(s, "GET", "/docs/search?x=%zz").Code)
}

func TestStem(t *testing.T) {
	for _, same := range [][]string{
		{"rotate", "rotates", "rotating", "rotation", "rotated"}, {"lookup", "lookups"}, {"key", "keys"},
		{"expire", "expires", "expired", "expiry", "expiration"}, {"policy", "policies"}, {"forward", "forwarding"},
		{"map", "mapped", "mapping"}, {"certificate", "certificates"}, {"watch", "watches", "watched"},
		{"invoice", "invoices"}, {"bounce", "bounces"}, {"notify", "notified"}, {"process", "processes"},
	} {
		for _, w := range same[1:] {
			assert.Equal(t, stem(same[0]), stem(w), "%s and %s", same[0], w)
		}
	}
	for _, other := range [][2]string{{"dns", "dnssec"}, {"mail", "main"}, {"tls", "tlsa"}, {"key", "keen"}} {
		assert.NotEqual(t, stem(other[0]), stem(other[1]), other)
	}
}

// What a synonym means can be found.
func TestSynonyms(t *testing.T) {
	x := shared().index()
	for _, s := range synonyms() {
		require.NotEmpty(t, s.phrase)
		require.NotEmpty(t, s.means, s.phrase)
		for _, w := range s.means {
			require.NotEmpty(t, x.postings[stem(w)], "nothing has %q, which %q means", w, s.phrase)
		}
	}
}
