package dashboard

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The entries of a form are words, or the column of domains of a table whose heading names it.
func TestSplitEntries(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \r\n\t,;": "",
		"a.example":                         "a.example",
		"a.example\r\nb.example\r\n":        "a.example b.example",
		"a.example, b.example;c.example\td": "a.example b.example c.example d",
		"\"a.example\",\"b.example\"":       "a.example b.example",
		"domain":                            "",
		"Domain\na.example\n\nb.example":    "a.example b.example",
		"\uFEFFdomain,owner\r\na.example,\"Bob, of b\"\r\nb.example,": "a.example b.example",
		"Name;URL\nShop;https://a.example/x;y\nBlog":                  "https://a.example/x",
		"id\tDomain name\n1\ta.example\n2":                            "a.example",
		"domains.example\na.example":                                  "domains.example a.example",
		"a.example,Bob\nb.example,Eve":                                "a.example Bob b.example Eve",
		"domain\n\"a.example\n":                                       "a.example",
		"\xff.example":                                                "\uFFFD.example",
	} {
		assert.Equal(t, want, strings.Join(splitEntries(text), " "), "%q", text)
	}
}

func FuzzSplitEntries(f *testing.F) {
	for _, text := range []string{"a.example b.example", "domain,owner\na.example,Bob", "\"\n;", "url\n\"a\"b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries := splitEntries(text)
		require.LessOrEqual(t, len(entries), len(text))
		for _, e := range entries {
			require.NotEmpty(t, strings.TrimSpace(e), "%q", text)
		}
		domains, a := parseEntries(entries)
		require.Len(t, entries, len(domains)+len(a.Refused)+len(a.Skipped))
	})
}

func TestParseEntries(t *testing.T) {
	var many []string
	for i := range maxAdded + 1 {
		many = append(many, fmt.Sprintf("d%d.example", i))
	}
	for _, tt := range []struct {
		entries          []string
		domains          string
		refused, skipped string
	}{
		{[]string{"https://user@Shop.Example:8443/a?b#c", "www.b.example/x", "c.example."},
			"shop.example www.b.example c.example", "", ""},
		{[]string{"a.example", "a.example"}, "a.example", "", "a.example is listed twice"},
		{[]string{"bücher.example", "xn--bcher-kva.example", "BÜCHER.example"}, "xn--bcher-kva.example", "",
			"xn--bcher-kva.example is the same domain as bücher.example; BÜCHER.example is the same domain as bücher.example"},
		{[]string{"a..b", "localhost", "bob@a.example", "192.0.2.1", "https://"}, "",
			`"a..b" is not a domain name: it has an empty label; "localhost" is not a domain name: it has no dot; ` +
				`"bob@a.example" is not a domain name: it is a mail address, give a.example; ` +
				`"192.0.2.1" is not a domain name: it is an IP address; "https:" is not a domain name: it must not contain ':'`, ""},
		{many[maxAdded-1:], "d999.example d1000.example", "", ""},
	} {
		domains, a := parseEntries(tt.entries)
		var names, refused, skipped []string
		for _, d := range domains {
			names = append(names, d.String())
		}
		for _, e := range a.Refused {
			refused = append(refused, e.Sentence)
		}
		for _, e := range a.Skipped {
			skipped = append(skipped, e.Sentence)
		}
		assert.Equal(t, tt.domains, strings.Join(names, " "))
		assert.Equal(t, tt.refused, strings.Join(refused, "; "))
		assert.Equal(t, tt.skipped, strings.Join(skipped, "; "))
	}
	domains, a := parseEntries(many)
	assert.Len(t, domains, maxAdded)
	require.Len(t, a.Refused, 1)
	assert.Equal(t, "d1000.example exceeds the 1,000 domains that can be added at a time", a.Refused[0].Sentence)
}

// watchedNames are the watched domains, in the order of their names.
func (h *fixture) watchedNames() string {
	list, err := h.dash.Watches.List(h.t.Context(), h.account.ID)
	require.NoError(h.t, err)
	var names []string
	for _, w := range list {
		names = append(names, displayName(&w))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Several domains are added by a form at once: what is not valid stays in it, with its reason.
func TestAddDomains(t *testing.T) {
	h := newFixture(t, withDemoWorld(t), withWatches)
	b := h.owner()
	b.add("plain.example")
	const path, every = "/dashboard/domains", "24h0m0s"
	const pasted = "good.example\na..b\nhttps://www.bücher.example/kontakt, www.xn--bcher-kva.example\n" +
		"plain.example localhost"

	preview := b.post(path+"/preview", "domain", pasted, "every", every, "checks", "mail")
	require.Equal(t, http.StatusOK, preview.status, h.log.String())
	wellFormed(t, "preview", preview)
	text := preview.words("details.reveal[open]")
	assert.Contains(t, text, "2 domains would be added, for up to ")
	assert.Contains(t, text, "www.xn--bcher-kva.example is the same domain as https://www.bücher.example/kontakt")
	assert.Contains(t, text, "plain.example is watched already")
	assert.Contains(t, text, `"a..b" is not a domain name: it has an empty label`)
	assert.Equal(t, 6, len(strings.Fields(preview.Find("#domain").Text())), "the form is as it was")
	assert.Equal(t, 1, preview.Find("#checks-mail[checked]").Length())
	assert.Equal(t, 0, preview.Find("#checks-web[checked]").Length())
	assert.Equal(t, "plain.example", h.watchedNames())

	some := b.post(path, "domain", pasted, "every", every)
	require.Equal(t, http.StatusUnprocessableEntity, some.status)
	wellFormed(t, "refused", some)
	assert.Equal(t, "a..b localhost", some.words("#domain"))
	assert.Contains(t, some.words("main > .notice.bad"), "2 domains added. The first checks run within a few minutes. "+
		"1 domain was watched already. 1 repetition was ignored. Correct 1 error")
	assert.Equal(t, "2 domains could not be added", some.words("#domain-fault"))
	assert.Contains(t, some.words("details.reveal[open] .entries"), `"localhost" is not a domain name: it has no dot`)
	assert.ElementsMatch(t, []string{"plain.example", "good.example", "www.bücher.example"}, strings.Fields(h.watchedNames()))
	entries := b.get("/dashboard/log").words("tbody")
	assert.Contains(t, entries, "domain=good.example,a..b,https://www.bücher.example/kontakt,www.xn--bcher-kva.example,"+
		"plain.example,localhost")
	assert.NotContains(t, entries, "could not be added", "the act was carried out")

	again := b.post(path, "domain", pasted, "every", every)
	require.Equal(t, http.StatusUnprocessableEntity, again.status)
	assert.Contains(t, again.words("main > .notice.bad"), "Nothing was changed.")
	assert.Equal(t, 6, len(strings.Fields(again.Find("#domain").Text())), "nothing is lost")

	both := b.post(path, "domain", "a..b c.example", "every", "1s")
	require.Equal(t, http.StatusUnprocessableEntity, both.status)
	assert.NotEmpty(t, both.words("#domain-fault"))
	assert.NotEmpty(t, both.words("#every-fault"))
	assert.Equal(t, "every 1 h", both.words("#every option")[:9])
	for _, nothing := range []string{"", " , ", "domain\n"} {
		none := b.post(path, "domain", nothing, "every", every)
		assert.Contains(t, none.words("#domain-fault"), "needs at least one domain", "%q", nothing)
	}
	assert.NotContains(t, h.watchedNames(), "c.example")

	list := b.follow(path, "domain", "c.example d.example plain.example", "every", every)
	assert.Contains(t, list.words(".notice"),
		"2 domains added. The first checks run within a few minutes. 1 domain was watched already.")
	assert.Equal(t, 0, list.Find("details.reveal[open]").Length())
	for _, text := range []string{"/dashboard?added=-1", "/dashboard?added=x&watched=3", "/dashboard?watched=1"} {
		assert.Equal(t, 0, b.get(text).Find(".notice").Length(), text)
	}
	require.Equal(t, http.StatusForbidden, h.as("viewer@example.com").post(path+"/preview", "domain", "x.example").status)
}

// A file is read like the text of the form, with which it is combined.
func TestAddDomainsFromFile(t *testing.T) {
	h := newFixture(t, withWatches)
	b := h.owner()
	send := func(text, file string) *reply {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		require.NoError(t, w.WriteField("domain", text))
		require.NoError(t, w.WriteField("every", "24h0m0s"))
		part, err := w.CreateFormFile("file", "customers.csv")
		require.NoError(t, err)
		_, err = part.Write([]byte(file))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.upload("/dashboard/domains", w.FormDataContentType(), &body)
	}
	page := send("a.example", "Customer,Domain\nBob,b.example\nEve,c..example\n")
	require.Equal(t, http.StatusUnprocessableEntity, page.status, page.words("main"))
	assert.Equal(t, "c..example", page.words("#domain"))
	assert.Equal(t, "a.example b.example", h.watchedNames())

	export := b.send(http.MethodGet, "/dashboard/domains.csv", nil)
	page = send("", strings.ReplaceAll(export.body, "a.example", "d.example"))
	require.Equal(t, http.StatusSeeOther, page.status, page.words("main"))
	assert.Equal(t, "a.example b.example d.example", h.watchedNames())

	assert.Equal(t, http.StatusRequestEntityTooLarge, send("", strings.Repeat("a.example\n", maxAddForm/10)).status)
	var many strings.Builder
	for i := range maxAdded {
		fmt.Fprintf(&many, "customer-%d.example\n", i)
	}
	require.Equal(t, http.StatusSeeOther, send("", many.String()).status)
	list, err := h.dash.Watches.List(t.Context(), h.account.ID)
	require.NoError(t, err)
	assert.Len(t, list, maxAdded+3)
	assert.Equal(t, watch.Fresh, list[maxAdded].State)
	assert.NotContains(t, h.log.String(), "ERROR")
}
