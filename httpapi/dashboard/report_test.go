package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxPage bounds the HTML of a page, in bytes.
const maxPage = 60 << 10

// texts are those of the elements of a page.
func (p *reply) texts(selector string) (list []string) {
	for _, e := range p.Find(selector).EachIter() {
		list = append(list, strings.Join(strings.Fields(e.Text()), " "))
	}
	return list
}

// The page of a domain begins with what the terminal begins with: the verdict, then the steps in its order, each with
// what to publish. It costs nothing.
func TestDomainReport(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	b.add("harbour.example")
	h.runWatches()
	spent := h.used()
	page := b.get("/dashboard/domains/harbour.example")
	assert.Equal(t, spent, h.used())
	wellFormed(t, "harbour.example", page)
	assert.LessOrEqual(t, len(page.body), maxPage)

	tg, err := target.Parse("harbour.example")
	require.NoError(t, err)
	screen := target.Run(t.Context(), tg, target.Options{}, target.Local(h.dash.Env), nil).View()
	assert.Contains(t, page.words(".standing .lead"), screen.Headline)
	assert.Contains(t, page.words(".standing .scope"), "18 of 18 checks, now · 1 critical, 4 errors, 19 warnings")
	var want []string
	for _, s := range screen.Steps {
		want = append(want, s.Title)
	}
	want = slices.Compact(want) // the record of MTA-STS belongs to its policy
	titles := page.texts(".tasks summary")
	require.Len(t, titles, len(want))
	for i := range want {
		assert.Contains(t, titles[i], want[i])
	}
	for i, begins := range []string{"✖ SPF includes a domain", "✖ Certificate of the host is about to expire",
		"▲ Registration expires within 30 days"} {
		assert.True(t, strings.HasPrefix(titles[i], begins), titles[i])
	}
	assert.Contains(t, titles[1], "(in 5 days)")
	assert.Equal(t, 3, page.Find(".tasks details[open]").Length())

	first := page.Find(".tasks > li").First()
	assert.Equal(t, "TXT harbour.example", strings.Join(strings.Fields(first.Find(".place").Text()), " "))
	assert.Equal(t, "v=spf1 mx include:_spf.shop.example ~all", first.Find(".record pre").Text())
	assert.Equal(t, 1, first.Find("button[data-copy]").Length())
	assert.Contains(t, first.Text(), "In place of v=spf1 mx include:_spf.shop.example include:_spf.gone.example ~all")
	assert.Contains(t, first.Find(".after").Text(), "Remaining afterwards: 4 errors, 19 warnings")
	sts := page.Find(".tasks > li").Eq(slices.Index(want, "No MTA-STS record")).Find(".place")
	require.Equal(t, 2, sts.Length())
	assert.Equal(t, "File https://mta-sts.harbour.example/.well-known/mta-sts.txt", sts.First().Text())
	assert.Equal(t, "TXT _mta-sts.harbour.example", sts.Last().Text())

	ends := page.texts(".timeline li")
	require.Len(t, ends, 3)
	assert.Contains(t, ends[0], "Certificate of the mail server mail.harbour.example")
	assert.Contains(t, ends[1], "Certificate of the website harbour.example")
	assert.Contains(t, ends[2], "Registration of the domain")
	for i, mark := range []string{"critical", "error", "warning"} {
		assert.Equal(t, mark, page.Find(".timeline li").Eq(i).AttrOr("class", ""))
	}
	assert.Equal(t, []string{"Mail", "DNS and registration", "Web"}, page.texts("[aria-labelledby=parts] h3"))
	assert.Contains(t, page.texts(".part")[0], "recordv=spf1")
	sections := page.texts("main h2")
	assert.Equal(t, []string{"What is wrong, and what to do", "Expiry dates", "Checks", "History", "Records", "Settings"},
		sections)
}

// What is published has a place, whatever it is.
func TestPublished(t *testing.T) {
	for _, tt := range []struct {
		step                     view.Step
		kind, name, value, blank string
	}{
		{view.Step{Name: "example.com.", Type: "TXT", Value: "v=spf1 -all"}, "TXT", "example.com", "v=spf1 -all", ""},
		{view.Step{Name: "https://mta-sts.example.com/x", Value: "version: STSv1\n"}, "File", "https://mta-sts.example.com/x",
			"version: STSv1\n", ""},
		{view.Step{Value: "_25._tcp.mx.example.com. IN TLSA 3 1 1 00"}, "TLSA", "_25._tcp.mx.example.com", "3 1 1 00", ""},
		{view.Step{Value: "a.example. IN A 192.0.2.1\nb.example. IN A 192.0.2.2\n"}, "Lines of the zone", "",
			"a.example. IN A 192.0.2.1\nb.example. IN A 192.0.2.2\n", ""},
		{view.Step{Value: `a.example. IN TXT "x"`}, "Lines of the zone", "", `a.example. IN TXT "x"`, ""},
		{view.Step{Value: "X-Frame-Options: DENY"}, "HTTP header", "in every response", "X-Frame-Options: DENY", ""},
		{view.Step{Value: "p=YOUR_KEY"}, "Value", "", "p=YOUR_KEY", "YOUR_KEY"},
		{view.Step{Name: "example.com.", Type: "MX"}, "MX", "example.com", "", ""},
	} {
		p := newPublished(target.DigestStep{Step: tt.step})
		assert.Equal(t, []string{tt.kind, tt.name, tt.value, tt.blank}, []string{p.Type, p.Name, p.Value,
			strings.Join(p.Blanks, " ")})
	}
}

// A watch of one check neither praises nor plans for the others, and checks that one alone when it is told to.
func TestDomainScope(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	const path = "/dashboard/domains/hopeless.example"
	b.add("hopeless.example", "checks", "mta-sts/lookup")
	h.runWatches()
	page := b.get(path)
	assert.Contains(t, page.words(".standing"), "1 of 18 checks")
	assert.Equal(t, []string{"▲ No MTA-STS record warning"}, page.texts(".tasks summary"))
	assert.Contains(t, page.words("[aria-labelledby=parts]"), "Not watched: reputation, servers, registration")
	assert.Equal(t, []string{"▲warning mta-sts/lookup"}, page.texts(".part h4"))

	spent, cost := h.used(), int64(2)
	assert.Contains(t, page.words(".heading"), "Check now up to 2 credits")
	assert.Contains(t, page.words(".heading"), "Run all checks up to 38 credits")
	h.advance(time.Hour)
	due := b.follow(path + "/run")
	assert.Equal(t, "2", due.header.Get("Refresh"))
	h.runWatches()
	assert.Equal(t, cost, h.used()-spent)
	page = b.get(path)
	assert.Empty(t, page.header.Get("Refresh"))
	assert.Contains(t, page.words(".scope"), "1 of 18 checks, now")
	assert.Equal(t, http.StatusForbidden, h.as("viewer@example.com").post(path+"/run").status)
	assert.Equal(t, http.StatusNotFound, h.as("owner@example.net").post(path+"/run").status)
}

// The page of a domain whose last check was one of an older version says when there will be advice.
func TestDomainWithoutReport(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	b.add("hopeless.example", "checks", "dmarc/lookup")
	h.runWatches()
	id := watch.ID(diag.MustDomain("hopeless.example"))
	_, err := metering.RemoveRecords(t.Context(), h.store, metering.RecordFilter{
		Account: h.account.ID, Kind: "watch_report", ID: id,
	})
	require.NoError(t, err)
	page := b.get("/dashboard/domains/hopeless.example")
	wellFormed(t, "without a report", page)
	assert.Contains(t, page.words(".empty"), "Advice appears after the next check. ✖")
	assert.Contains(t, page.words(".standing"), "1 of 18 checks")
}

// What is known to be graver than the last check has found is the verdict, and what that has not seen is listed.
func TestDomainEarlier(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	b.add("hopeless.example", "checks", "dmarc/lookup")
	h.runWatches()
	id := watch.ID(diag.MustDomain("hopeless.example"))
	h.editRecord(h.account.ID, "watch_report", id, map[string]any{
		"headline": "Everything that was checked is in order.", "findings": nil, "steps": nil, "counts": target.Counts{},
	})
	page := b.get("/dashboard/domains/hopeless.example")
	assert.NotContains(t, page.words(".standing"), "in order")
	assert.NotEmpty(t, page.texts("[aria-labelledby=earlier] li"))
}

// The page of a domain with very many findings is as small as others, also where their texts are hostile.
func TestDomainOfManyFindings(t *testing.T) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("words ", 30), "hostile": strings.Repeat(`'<"+`, 200),
	} {
		t.Run(name, func(t *testing.T) { testManyFindings(t, text) })
	}
}

func testManyFindings(t *testing.T, text string) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	b.add("harbour.example")
	h.runWatches()
	id := watch.ID(diag.MustDomain("harbour.example"))
	h.editRecord(h.account.ID, "watch_report", id, manyFindings(text).Digest(startTime))
	var records []watch.Record
	var changes []watch.Change
	hostile := strings.Repeat(`"+'<`, 80)
	for i := range 32 {
		set := watch.Set{Name: strings.Repeat("n", i+1), Type: "TXT"}
		records = append(records, watch.Record{Set: set, Values: []string{hostile}})
		changes = append(changes, watch.Change{Set: set, Old: []string{hostile}, New: []string{hostile}})
	}
	h.editRecord(h.account.ID, "watch_state", id, map[string]any{"records": records})
	r, err := metering.Collect(h.store.Records(t.Context(), metering.RecordFilter{
		Kind: "watch_history." + id, Account: h.account.ID,
	}))
	require.NoError(t, err)
	h.editRecord(h.account.ID, r[0].Kind, r[0].ID, map[string]any{"runs": []watch.Run{
		{At: startTime, Mark: view.Error, Difference: watch.Difference{Changed: changes}},
	}})
	page := b.get("/dashboard/domains/harbour.example")
	wellFormed(t, "many findings", page)
	assert.Contains(t, page.words("[aria-labelledby=todo]"), "did not fit on this page")
	assert.Contains(t, page.words("#day"), "and 26 changes more")
	assert.NotZero(t, page.Find(".tasks > li").Length())
	t.Log(len(page.body), "bytes")
	assert.LessOrEqual(t, len(page.body), maxPage)
}

// manyFindings is the result of a check that has found 300 faults with a text.
func manyFindings(text string) *target.Whole {
	v := view.Answer("harbour.example", "Much is wrong.")
	for i := range 300 {
		code := diag.Code("spf.include.n" + strings.Repeat("x", i))
		v.Findings = append(v.Findings, diag.Finding{Code: code, Severity: diag.Error, Title: "A fault", Detail: text, Target: text,
			Advice: text})
		v.Steps = append(v.Steps, view.Step{Code: code, Severity: diag.Error, Title: "A fault", Text: text + string(code),
			Name: "example.com.", Type: "TXT", Value: text + string(code), Current: []string{text}})
	}
	for range 10 {
		v.Fact(text, text)
	}
	w := &target.Whole{}
	for range 40 {
		w.Parts = append(w.Parts, target.Part{Check: target.Check{Group: target.Mail, Name: "spf"}, View: v})
	}
	return w
}

// What was known and not seen again is named, unless another operation found the same about the same.
func TestEarlierFindings(t *testing.T) {
	d := newFixture(t).dash
	known := func(code diag.Code, target string) watch.Finding {
		return watch.Finding{Code: code, Severity: diag.Error, Target: target}
	}
	digest := &target.Digest{Findings: []target.DigestFinding{{Code: "spf.domain.nxdomain"}}}
	for name, c := range map[string]struct {
		known watch.Finding
		named bool
	}{
		"seen":                {known("spf.domain.nxdomain", ""), false},
		"same of another":     {known("dmarc.domain.nxdomain", ""), false},
		"another name":        {known("mx.host.nxdomain", "mail.example.com"), true},
		"a code that ends so": {known("zone.answers.nxdomain", ""), true},
		"something else":      {known("dmarc.policy.none", ""), true},
	} {
		require.Equal(t, c.named, len(d.earlier(digest, []watch.Finding{c.known})) == 1, name)
	}
}
