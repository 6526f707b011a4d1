package phishing

import (
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"github.com/diagkit/diagkit/webcheck/internal/page"
)

// An identity is the owner that a page claims.
type identity struct {
	brand      *lookalike.Target // that it names, if it is not its owner's; or nil
	text       string            // the text that names it
	weight     int               // of all that does, see spotWeights
	titled     bool              // title, name of the site or a heading does so
	claimed    bool              // a text claims to be the brand's, and does not just name it
	own        bool              // it gives a name that the host has, too
	other      bool              // it gives another name, apart from that of the brand
	site       bool              // it gives another name as that of the site
	littleText bool              // it has little text beside its form
	title      *lookalike.Target // the brand that the title names, whatever else it says
	nameless   bool              // it gives no name at all
}

// The weights from which a page speaks in the name of a brand: from implied on, from posing on if it gives the name of
// its host as well, and from dominant on if it gives another name.
const (
	implied  = 2
	posing   = 3
	dominant = 5
)

// spotWeights are those of a spot where a page claims to be a brand's, of one where it claims so by a name that others
// use as well, and of one that has the name among other words.
var spotWeights = map[spot][3]int{
	inTitle: {3, 2, 2}, inSiteName: {3, 2, 1}, inHeading: {3, 1, 1}, inLogo: {2, 2, 1}, inCopyright: {2, 2, 1},
	inText: {1, 0, 1},
}

// strongSpots are those where a page has its own name and no other.
var strongSpots = map[spot]bool{inTitle: true, inSiteName: true, inHeading: true}

// The limits of an identity.
const (
	maxBeside   = 1   // words beside a name, before these make a sentence about it
	maxLogos    = 1   // brands shown by pictures, before these are those of partners and ways to pay
	maxBareText = 500 // bytes of visible text of a page that has little beside its form
)

// A presence holds all mentions of one brand in a page.
type presence struct {
	spots           map[spot]int // what it weighs in each spot
	text            string       // the first text that names it
	claimed, titled bool         // as of an identity
}

// readIdentity finds out in whose name a page speaks.
func (e *evidence) readIdentity(s *survey) identity {
	id := identity{nameless: true, littleText: e.page.TextBytes <= maxBareText}
	named, logos := map[*lookalike.Target]*presence{}, map[*lookalike.Target]bool{}
	for _, t := range s.shown {
		n := e.targets.Naming(t.text)
		e.readName(&id, t, n)
		brand := n.Target
		if brand == nil {
			continue
		}
		if t.spot == inLogo {
			logos[brand] = true
		}
		if !e.counts(&id, t, n) {
			continue
		}
		if t.spot == inTitle && id.title == nil {
			id.title = brand
		}
		b := named[brand]
		if b == nil {
			b = &presence{spots: map[spot]int{}, text: t.text}
			named[brand] = b
		}
		b.claimed = b.claimed || n.Claimed && t.spot != inText
		b.titled = b.titled || n.Claimed && strongSpots[t.spot]
		b.spots[t.spot] = max(b.spots[t.spot], weigh(n, t.spot))
	}
	for brand, b := range named {
		weight := e.weighPresence(&id, s, brand, b, len(logos))
		if weight > id.weight || weight == id.weight && id.brand != nil && brand.Name < id.brand.Name {
			id.brand, id.text, id.weight, id.claimed, id.titled = brand, b.text, weight, b.claimed, b.titled
		}
	}
	return id
}

// readName records a name in a text that is not that of a brand.
func (e *evidence) readName(id *identity, t shownText, n lookalike.Naming) {
	id.own = id.own || n.Target != nil && e.owns(n.Target)
	id.nameless = id.nameless && (n.Target == nil || t.spot == inText) && !e.called(t.text)
	own := slices.Concat(n.Beside, n.Own)
	if t.spot == inText || t.file || len(own) == 0 || fileName(t.text) {
		return
	}
	id.nameless = false
	id.own = id.own || e.matches(own) || e.equals(t.text)
	id.other = id.other || n.Proper && t.spot != inHeading
	id.site = id.site || len(n.Own) > 0 && t.spot == inSiteName
}

// counts reports whether a text that names a brand identifies the owner of the page: not that of its owner or of
// software, nor a picture below the form, where ways to pay are, nor a sentence among many.
func (e *evidence) counts(id *identity, t shownText, n lookalike.Naming) bool {
	return !e.owns(n.Target) && !hosted()[n.Target.Name] && !e.mailSoftware(n) &&
		(t.spot != inLogo || t.top) && (t.spot != inText || id.littleText)
}

// weighPresence weighs all mentions of a brand in a page.
func (e *evidence) weighPresence(id *identity, s *survey, brand *lookalike.Target, b *presence,
	logos int) (weight int) {
	for where, w := range b.spots {
		if where == inLogo && logos > maxLogos || where == inText && id.other {
			continue
		}
		weight += w
	}
	if weight > 0 {
		weight += e.loadsFromBrand(s, brand)
	}
	return weight
}

// weigh returns the weight of a text that names a brand in a spot.
func weigh(n lookalike.Naming, where spot) int {
	w := spotWeights[where]
	switch {
	case n.Claimed && !n.Ordinary:
		return w[0]
	case n.Claimed:
		return w[1]
	case n.Ordinary, len(n.Beside) > maxBeside && where != inText:
		return 0 // a sentence about the brand
	default:
		return w[2]
	}
}

// loadsFromBrand is 1 if the page loads pictures and style sheets of a brand from the brand, or links to its terms.
func (e *evidence) loadsFromBrand(s *survey, target *lookalike.Target) int {
	addresses := slices.Clone(s.loaded)
	for i := range e.page.Anchors {
		addresses = append(addresses, e.page.Anchors[i].URL)
	}
	for _, address := range addresses {
		absolute, _ := page.Resolve(e.page.Base, address)
		if u, err := diag.ParseURL(absolute); err == nil && e.targets.Owner(u.Host().Name()) == target {
			return 1
		}
	}
	return 0
}

// owns reports whether the site may speak in the name of a brand: as its owner, as one of many institutions that share
// the name and have it in their own, or because it only passes on the brand's pages.
func (e *evidence) owns(target *lookalike.Target) bool {
	for _, a := range []*anatomy{e.last(), e.last().wrapped} {
		if a == nil {
			continue
		}
		shares := target.Shared && a.match != nil && a.match.Target == target && a.match.Strength < lookalike.Strong
		if a.owner == target || shares {
			return true
		}
	}
	return false
}

// mailSoftware reports whether a name is that of a program for reading mail, on a host for that.
func (e *evidence) mailSoftware(n lookalike.Naming) bool {
	return n.Target.Name == "Microsoft" && !n.Ordinary && e.mailHost()
}

// panelPorts are those of cPanel and its webmail.
var panelPorts = []uint16{2083, 2087, 2095, 2096}

// mailHost reports whether the host calls itself one for mail.
func (e *evidence) mailHost() bool {
	a := e.last()
	return len(a.below) > 0 && containsPhrase(hintKey(a.below[0]), "mail hosts") ||
		slices.Contains(panelPorts, a.url.Port())
}

// hostName returns the registered label, without hyphens and without parts that do not identify an owner.
func (e *evidence) hostName() string {
	var name string
	for _, w := range strings.Split(e.last().label(), "-") {
		if !lookalike.Generic(w) {
			name += w
		}
	}
	return name
}

// The length from which a word that page and host have in common is not an accident, and the share of the host's
// name, in percent, that such words make up if it is the page's.
const (
	minHostWord  = 3
	minHostShare = 50
)

// called reports whether a text has the registered label, even if it is a word that any page may have.
func (e *evidence) called(text string) bool {
	label := strings.ReplaceAll(e.last().label(), "-", "")
	return len(label) >= minHostWord && strings.Contains(letters(text), label)
}

// matches reports whether words of a page are the registered name.
func (e *evidence) matches(own []string) bool {
	label := strings.ReplaceAll(e.last().label(), "-", "")
	if label == "" {
		return false
	}
	rest := label
	for _, w := range own {
		if len(w) >= minHostWord {
			rest = strings.Replace(rest, w, " ", 1)
		}
	}
	share := 100 * (len(label) - len(strings.ReplaceAll(rest, " ", ""))) / len(label)
	return share >= minHostShare || len(label) > minHostWord && strings.Contains(strings.Join(own, ""), label)
}

// equals reports whether a text is the registered label, as "Nintendo Forum" is nintendoforum.
func (e *evidence) equals(text string) bool {
	return letters(text) == strings.ReplaceAll(e.last().label(), "-", "")
}

// fileName reports whether a text is the name of a document, which says nothing of the site.
func fileName(s string) bool {
	i := strings.LastIndexByte(s, '.')
	return i > 0 && openExtensions()[strings.ToLower(s[i+1:])]
}

// impersonates reports whether the page speaks in the name of a brand that does not own it.
func (id *identity) impersonates() bool {
	if id.brand == nil || id.own || id.weight < implied {
		return false
	}
	if id.other {
		return id.titled && id.weight >= dominant && !id.site
	}
	return id.littleText || id.claimed
}

// mixed reports whether the page names a brand but leaves the owner ambiguous: it has no name of its own, or
// claims both.
func (id *identity) mixed() bool {
	return id.brand != nil && !id.impersonates() && (!id.own || id.weight >= posing && id.littleText)
}

// unmatched reports whether the page asks for what banks and authorities alone need, and its host has nothing of the
// name that it gives.
func (e *evidence) unmatched() bool {
	id := &e.identity
	return !id.own && !id.nameless && !id.impersonates() && (e.survey.asks[aPIN] || e.survey.asks[anID])
}

// asks lists what the page asks for, in words. A card is asked for with its number, its security code, or both.
func (e *evidence) asks() (list []string) {
	if e.survey == nil {
		return nil
	}
	for _, w := range inWords {
		if e.survey.asks[w.kind] {
			list = append(list, w.what)
		}
	}
	return list
}

// toTheBrand reports whether all forms of the page send to hosts of a brand, which then asks itself.
func (e *evidence) toTheBrand(target *lookalike.Target) bool {
	forms := e.forms()
	elsewhere := func(f Form) bool { return e.targets.Owner(f.ActionHost) != target }
	return len(forms) > 0 && !slices.ContainsFunc(forms, elsewhere)
}

// letters are those of a text in lower case, without anything between them.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
