package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What matters of a report fits into the width of the terminal: the facts in a line each, a table for each
// list below them, without the columns that matter least.
func TestSummary(t *testing.T) {
	const resolvers = `{
		"authoritative": {"found": true, "values": ["192.0.2.40"], "servers": [{"name": "ns1.example", "rcode": "NOERROR"}]},
		"resolvers": [
			{"id": "google", "name": "Google Public DNS", "operator": "Google", "address": "208.67.222.222", "country": "US",
			 "transport": "udp", "rcode": "NOERROR", "values": ["192.0.2.40"], "ttl": 86400, "latency_ms": 15, "status": "match"},
			{"id": "quad9", "name": "Quad9", "operator": "Quad9 Foundation", "address": "9.9.9.9", "country": "CH",
			 "transport": "udp", "rcode": "NOERROR", "values": ["192.0.2.41"], "ttl": 1800, "latency_ms": 15, "status": "mismatch"}],
		"partial": false}`
	for _, c := range []struct{ name, report, want string }{
		{"facts first, columns that fit", resolvers, `

  authoritative          found, values 192.0.2.40

authoritative servers
  name         rcode
  ns1.example  NOERROR

resolvers
  id      name               rcode    values      ttl    status
  google  Google Public DNS  NOERROR  192.0.2.40  86400  match
  quad9   Quad9              NOERROR  192.0.2.41  1800   mismatch
`},
		{"long values are wrapped, not cut", `{"answers": [{"name": "a.example", "type": "TXT", "data": "` +
			strings.Repeat("x", 70) + `"}]}`, `

answers
  name       type  data
  a.example  TXT   xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                   xxxxxxxxx
`},
		{"the longest column is the last", `{"statuses": [{"code": "ok",
			"meaning": "The registrar refuses to transfer the domain to another one.", "impact": "protective"}]}`, `

statuses
  code  impact      meaning
  ok    protective  The registrar refuses to transfer the domain to another one.
`},
		{"what the findings tell", `{"subject": "example.com", "compliance": [{"code": "csr.names.none", "status": "pass"}]}`, `

  subject                example.com
`},
		{"objects of objects", `{"windows": {"last_24h": {"from": "a", "count": 1}, "last_7d": {"from": "b", "count": 2}}}`, `

windows
  which     from  count
  last 24h  a     1
  last 7d   b     2
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parseTree([]byte(c.report))
			require.NoError(t, err)
			var b strings.Builder
			(&printer{w: &b, width: 80}).summary(r)
			assert.Equal(t, strings.TrimPrefix(c.want, "\n"), b.String())
		})
	}
}

// A chain of redirects is told in a line for each hop, with what is remarkable about it and how it ended.
func TestHops(t *testing.T) {
	const report = `{"final_url": "http://dead.example/", "error": {"message": "dead.example refuses connections"}, "hops": [
		{"url": "https://sho.example/x", "status_code": 301, "redirect_type": "http", "cross_domain": true, "shortener": "Sho", "cookies": ["a"]},
		{"url": "https://a.example/", "status_code": 200, "redirect_type": "meta_refresh", "delay_seconds": 5, "downgrade": true}]}`
	r, err := parseTree([]byte(report))
	require.NoError(t, err)
	var b strings.Builder
	(&printer{w: &b, width: 80}).hops(r)
	assert.Equal(t, `
Way
   1  301  https://sho.example/x (shortener Sho, leads to another domain, sets 1
           cookie)
   2  200  https://a.example/ (meta refresh after 5 s, leads to http)
   ✖       http://dead.example/ (dead.example refuses connections)
`, b.String())

	r, err = parseTree([]byte(`{"final_url": "https://a.example/", "hops": [{"url": "https://a.example/", "status_code": 200}]}`))
	require.NoError(t, err)
	b.Reset()
	(&printer{w: &b, width: 80}).hops(r)
	assert.Empty(t, b.String())
}

// A target that the detail names already is not told twice.
func TestMentions(t *testing.T) {
	assert.True(t, mentions("ns1.example (192.0.2.1) does not answer", "ns1.example 192.0.2.1"))
	assert.True(t, mentions("The record of a.example", "a.example"))
	assert.True(t, mentions("anything", ""))
	assert.False(t, mentions("The line is blank", "line 2"))
	assert.False(t, mentions("The signature has expired", "ns1.example 192.0.2.1, ns2.example 192.0.2.2"))
}

// Who was asked is named; the chain of errors is not printed.
func TestExplain(t *testing.T) {
	cause := errors.New("whois.iana.org has no address")
	silent := fmt.Errorf("looking up the registration of a.example: %w", diag.Unavailable("the WHOIS server whois.iana.org", cause))
	assert.Equal(t, []string{"there was no usable answer from the WHOIS server whois.iana.org"}, explain(silent))
	late := diag.Unavailable("the resolver Quad9", context.DeadlineExceeded)
	assert.Equal(t, []string{"there was no answer from the resolver Quad9 in time"}, explain(late))
	assert.Equal(t, []string{"interrupted"}, explain(diag.Unavailable("the resolver Quad9", context.Canceled)))
}

// A conclusion is told with its reasons, each on a line of its own.
func TestConclusion(t *testing.T) {
	r, err := parseTree([]byte(`{"conclusion": {"authentic": "unlikely", "reasons": ["DMARC fails.", "It is not signed."]}}`))
	require.NoError(t, err)
	var b strings.Builder
	(&printer{w: &b, width: 80}).conclusion(r.get("conclusion"))
	assert.Equal(t, "\nAuthentic: unlikely\n  - DMARC fails.\n  - It is not signed.\n", b.String())
	b.Reset()
	(&printer{w: &b, width: 80}).conclusion(r.get("nothing"))
	assert.Empty(t, b.String())
}
