package pages

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rfc is the beginning of a link to one.
const rfc = `<a href="https://www.rfc-editor.org/rfc/rfc`

// The page of a finding says what it means, why it matters, how to fix it, where that is written, and who reports it.
func TestFindingPages(t *testing.T) {
	s := shared()
	seen := 0
	for i, r := range s.table.Rules() {
		if i%everyNth != 0 {
			continue
		}
		page := parse(t, get(s, "GET", findingsPath+string(r.Code)).Body.String())
		text := page.all("main")[0].text()
		require.Equal(t, r.Title, page.all("h1")[0].text())
		parts := []string{string(r.Code), r.Requirement, r.Advice, r.Reference, r.Severity.String()}
		for _, part := range append(parts, r.Operations...) {
			require.Contains(t, text, strings.Join(strings.Fields(part), " "), r.Code)
		}
		seen++
	}
	require.Greater(t, seen, 60)
	text := parse(t, get(s, "GET", "/docs/findings/spf.lookups.exceeded").Body.String()).all("main")[0].text()
	for _, want := range []string{"The set-up does not work at all, or others can abuse it. Consequence: receivers may refuse mail from the domain.",
		"the score is at most 39", "RFC 7208 section 4.6.4", "spf.lookups.near"} {
		assert.Contains(t, text, want)
	}
	assert.Contains(t, get(s, "GET", "/docs/findings/spf.lookups.exceeded").Body.String(),
		rfc+`7208#section-4.6.4">RFC 7208 section 4.6.4</a>`)
}

// Every family has a title and a page that leads to all of its findings.
func TestFamilies(t *testing.T) {
	s := shared()
	index := parse(t, get(s, "GET", "/docs/findings").Body.String()).all("main")[0].text()
	count := 0
	for _, family := range s.findings().Families {
		require.NotEmpty(t, familyTitles[family.Name], family.Name)
		require.Contains(t, index, family.Title)
		page := get(s, "GET", family.Page()).Body.String()
		for _, f := range family.Findings {
			require.Contains(t, page, `<li id="`+string(f.Code)+`"><a href="/docs/findings/`+string(f.Code)+`">`)
			count++
		}
	}
	require.Len(t, httpapi.Endpoints().Rules(), count)
	require.Len(t, s.findings().Families, len(familyTitles), "a title without a family")
}

// Links of earlier versions to findings and types still work.
func TestOldLinks(t *testing.T) {
	s := shared()
	for code, operation := range map[diag.Code]string{
		"spf.lookups.exceeded": "/docs/spf/lookup", "zone.ns.lame": "/docs/domain/dns-check",
		"mx.record.missing": "/docs/mail/domain-check",
	} {
		require.Equal(t, 200, get(s, "GET", "/docs/findings/"+string(code)).Code)
		require.Contains(t, get(s, "GET", operation).Body.String(), `id="`+string(code)+`"`)
	}
	require.Contains(t, get(s, "GET", "/docs/types").Body.String(), `id="Finding"`)
	require.Equal(t, "/docs/findings", get(s, "GET", "/docs/findings/").Header().Get("Location"))
}

func TestReferences(t *testing.T) {
	for text, want := range map[string]string{
		"RFC 7208 section 4.6.4":  rfc + `7208#section-4.6.4">RFC 7208 section 4.6.4</a>`,
		"RFC 5892 appendix A.3 &": rfc + `5892#appendix-A.3">RFC 5892 appendix A.3</a> &amp;`,
		"RFC 9112 sections 2.2 and 5.2": rfc + `9112">RFC 9112</a>` +
			` sections 2.2 and 5.2`,
		"draft-svg-tiny-ps-abrotman-12 section 2": `<a href="https://datatracker.ietf.org/doc/html/` +
			`draft-svg-tiny-ps-abrotman-12">draft-svg-tiny-ps-abrotman-12</a> section 2`,
		"CSP Level 3 section 4": "CSP Level 3 section 4", "": "",
	} {
		assert.Equal(t, want, string(references(text)))
	}
}
