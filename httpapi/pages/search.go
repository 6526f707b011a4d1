package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/internal/ui"
	"golang.org/x/net/html"
)

const (
	searchPath = "/docs/search"
	// maxQuery bounds a query, in characters, and maxTerms the words that are searched for: more narrow nothing.
	maxQuery, maxTerms = 120, 10
	// maxHits bounds the results of a page.
	maxHits = 50
	// maxSnippet bounds the excerpt of a result, in characters.
	maxSnippet = 180
)

// An entry is a page, or a section of one, that a search can find.
type entry struct {
	URL, Kind, Title string
	Code             string // of a finding; the name of an operation or type
	text             string
	weight           float64 // factor by which entries of its kind rank
}

// An index finds entries by the stems of their words.
type index struct {
	entries  []entry
	postings map[string][]posting // by stem, with the weight that it has in each entry
	stems    []string             // sorted
}

type posting struct {
	entry  int
	weight float64
}

// How much a word counts where it stands.
const (
	titleWeight = 8
	codeWeight  = 6
	textWeight  = 1
	textMost    = 3 // however often a text repeats it
	// minShare is the share of the best score below which an entry has too little in common with a query.
	minShare = 0.15
)

// newIndex reads everything that the site shows.
func (s *site) newIndex() *index {
	x := &index{postings: map[string][]posting{}}
	for _, g := range guides[2:] {
		if g.Path != searchPath {
			s.addGuide(x, g)
		}
	}
	for _, op := range s.operations {
		text := strings.Join(append([]string{phrase.Capitalize(op.Summary()) + "."}, op.Description()...), " ")
		for _, p := range op.Params() {
			text += " " + p.Name
		}
		x.add(entry{op.Page(), "Operation", op.Name(), op.Name(), text, 1.6}, op.Summary())
	}
	for _, family := range s.findings().Families {
		title := family.Title + " findings"
		x.add(entry{family.Page(), "Findings", title, family.Name, "All findings of the family.", 0.9}, "")
		for _, f := range family.Findings {
			text := f.Advice
			if f.Requirement != "" {
				text = "Expected: " + f.Requirement + ". " + text
			}
			x.add(entry{f.Page(), "Finding", f.Title, string(f.Code), text, 1}, family.Title)
		}
	}
	if doc, err := readDocument(s.table); err == nil {
		for name, schema := range doc.Types() {
			text, _ := schema.(map[string]any)["description"].(string)
			x.add(entry{typesPath + name, "Type", name, name, text, 0.6}, "")
		}
	}
	for stem := range x.postings {
		x.stems = append(x.stems, stem)
	}
	slices.Sort(x.stems)
	return x
}

// addGuide adds a guide, and each of its sections that has an id.
func (s *site) addGuide(x *index, g guide) {
	page, err := s.render(g.Template, g, nil)
	if err != nil {
		panic("pages: " + err.Error()) // tests make all of them
	}
	root, _ := html.Parse(bytes.NewReader(page)) // which takes everything
	section := entry{g.Path, "Guide", g.Title, "", "", 1.5}
	var about string
	flush := func() {
		section.text = strings.Join(strings.Fields(section.text), " ")
		x.add(section, about)
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			section.text += n.Data
			return
		case n.Type != html.ElementNode:
			return
		case n.Data == "pre" || n.Data == "button" || n.Data == "label" || n.Data == "h1":
			return
		case n.Data == "h2":
			id := attribute(n, "id")
			if id == "" {
				id = attribute(n.Parent, "id")
			}
			flush()
			section = entry{g.Path + "#" + id, "Guide", g.Title + ": " + textOf(n), "", "", 1.4}
			about = ""
			return
		}
		for child := range n.ChildNodes() {
			walk(child)
		}
		section.text += " "
	}
	about = g.Description
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "main" {
			walk(n)
		}
	}
	flush()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// add adds an entry. More are words that count almost like those of its title.
func (x *index) add(e entry, more string) {
	weights := map[string]float64{}
	for _, w := range words(e.text) {
		weights[stem(w)] = min(weights[stem(w)]+textWeight, textMost)
	}
	title, code := e.Title, e.Code
	if title == code {
		code = "" // it counts once
	}
	for _, w := range words(code + " " + more) {
		weights[stem(w)] += codeWeight
	}
	for _, w := range words(title) {
		weights[stem(w)] += titleWeight
	}
	x.entries = append(x.entries, e)
	length := 1 + math.Log1p(float64(len(words(e.Title))))/4 // a short title says more about its words
	for stem, weight := range weights {
		x.postings[stem] = append(x.postings[stem], posting{len(x.entries) - 1, weight * e.weight / length})
	}
}

// A hit is a result of a search.
type hit struct {
	entry
	Snippet []fragment
	score   float64
}

// A fragment is a part of a snippet; it matches the query or not.
type fragment struct {
	Text    string
	Matches bool
}

// search returns the entries that match a query, the best first, and how many there are.
func (x *index) search(query string) (hits []hit, count int) {
	terms := x.parse(query)
	scores := x.scoreWords(terms)
	least := slices.Max(scores) * minShare
	x.addCodes(scores, query)
	for at, score := range scores {
		if score > 0 && score >= least {
			hits = append(hits, hit{entry: x.entries[at], score: score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.URL, b.URL))
	})
	count = len(hits)
	hits = hits[:min(count, maxHits)]
	for i := range hits {
		hits[i].Snippet = snippet(hits[i].text, terms)
	}
	return hits, count
}

// scoreWords returns the score of each entry: what its best alternative of each term weighs, less for each term that it
// does not have.
func (x *index) scoreWords(terms [][]alternative) []float64 {
	scores, matched := make([]float64, len(x.entries)), make([]int, len(x.entries))
	best := make([]float64, len(x.entries)) // of the alternatives of a term
	for _, alternatives := range terms {
		clear(best)
		for _, a := range alternatives {
			list := x.postings[a.stem]
			rarity := math.Log(1 + float64(len(x.entries))/float64(1+len(list)))
			for _, p := range list {
				best[p.entry] = max(best[p.entry], a.weight*p.weight*rarity)
			}
		}
		for at, score := range best {
			if score > 0 {
				scores[at] += score
				matched[at]++
			}
		}
	}
	for at, n := range matched {
		if n > 0 {
			share := float64(n) / float64(len(terms))
			scores[at] *= share * share
		}
	}
	return scores
}

// addCodes puts the entries first whose code or name is the query, begins with it, or contains it.
func (x *index) addCodes(scores []float64, query string) {
	const exact = 1e6 // more than words can have
	code := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(query), findingsPath))
	isPart := strings.ContainsAny(code, "._/") && !strings.Contains(code, " ")
	for at, e := range x.entries {
		switch own := strings.ToLower(e.Code); {
		case own == "":
		case own == code:
			scores[at] += 3 * exact
		case isPart && strings.HasPrefix(own, code):
			scores[at] += 2 * exact
		case isPart && strings.Contains(own, code):
			scores[at] += exact
		}
	}
}

// An alternative is a stem that a word of a query may mean.
type alternative struct {
	stem   string
	weight float64
}

const (
	synonymWeight = 0.8
	prefixWeight  = 0.6
	misspelt      = 0.5
	maxPrefixes   = 20 // stems that an incomplete word stands for
)

// parse returns the words of a query, each with its alternatives.
func (x *index) parse(query string) (terms [][]alternative) {
	list := words(query)
	for at := 0; at < len(list) && len(terms) < maxTerms; {
		s, length := synonymAt(list[at:])
		switch {
		case length == 0:
			if w := list[at]; !stopWords[w] {
				terms = append(terms, x.alternatives(w))
			}
			length = 1
		case s.replaces:
			for _, w := range s.means {
				terms = append(terms, []alternative{{stem(w), 1}})
			}
		default:
			group := []alternative{}
			for _, w := range list[at : at+length] {
				group = append(group, alternative{stem(w), 1})
			}
			for _, w := range s.means {
				group = append(group, alternative{stem(w), synonymWeight})
			}
			terms = append(terms, group)
		}
		at += length
	}
	if len(terms) == 0 { // nothing but stop words
		for _, w := range list[:min(len(list), maxTerms)] {
			terms = append(terms, x.alternatives(w))
		}
	}
	return terms
}

// alternatives are the stem of a word, or where no entry has it, the stems that begin with it, or the nearest one.
func (x *index) alternatives(w string) []alternative {
	own := stem(w)
	list := []alternative{{own, 1}}
	if x.postings[own] != nil || len(w) < 3 {
		return list
	}
	from, _ := slices.BinarySearch(x.stems, own)
	for at := from; at < len(x.stems) && len(list) <= maxPrefixes && strings.HasPrefix(x.stems[at], own); at++ {
		list = append(list, alternative{x.stems[at], prefixWeight})
	}
	if len(list) == 1 {
		if near := phrase.Nearest(own, x.stems...); near != "" {
			list = append(list, alternative{near, misspelt})
		}
	}
	return list
}

// snippet is the sentence of a text that has most of the terms, or its first one.
func snippet(text string, terms [][]alternative) []fragment {
	wanted := map[string]bool{}
	for _, alternatives := range terms {
		for _, a := range alternatives {
			wanted[a.stem] = true
		}
	}
	best, most := "", -1
	for sentence := range strings.SplitSeq(text, ". ") {
		n := 0
		for _, w := range words(sentence) {
			if wanted[stem(w)] {
				n++
			}
		}
		if n > most && strings.TrimSpace(sentence) != "" {
			best, most = sentence, n
		}
	}
	best = phrase.Clip(strings.TrimSuffix(strings.TrimSpace(best), "."), maxSnippet)
	var list []fragment
	for field := range strings.FieldsSeq(best) {
		matches := slices.ContainsFunc(words(field), func(w string) bool { return wanted[stem(w)] })
		if n := len(list); n > 0 && list[n-1].Matches == matches {
			list[n-1].Text += " " + field
			continue
		}
		list = append(list, fragment{field, matches})
	}
	return list
}

// A searchResult is what the page of a search shows.
type searchResult struct {
	Hits  []hit
	Count int
}

// serveSearch answers a query. The reply is made anew for each request.
func (s *site) serveSearch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	if runes := []rune(query); len(runes) > maxQuery {
		query = string(runes[:maxQuery])
	}
	g := guides[len(guides)-1]
	data := s.newPageData(g, nil)
	if data.Query = strings.TrimSpace(query); data.Query != "" {
		var found searchResult
		found.Hits, found.Count = s.index().search(data.Query)
		data.Subject = found
		data.Title = render.Printable(data.Query) + " – " + g.Title
	}
	page, err := ui.Render(s.templates(), "search.html", data)
	if err != nil { // tests make it
		panic(fmt.Sprintf("pages: %s: %v", searchPath, err))
	}
	httpapi.NewFile(htmlMedia, page).ServeHTTP(w, r)
}
