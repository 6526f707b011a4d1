package lookalike

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/net/publicsuffix"
)

// Technique is the way in which a name imitates a brand (CONTRACT 3.4).
type Technique string

// The techniques.
const (
	Homoglyph Technique = "homoglyph" // by letters that look alike
	Typo      Technique = "typo"      // by what looks like a typing error, or another top-level domain
	Combo     Technique = "combo"     // by the brand and other words
	Subdomain Technique = "subdomain" // by the brand to the left of the registrable domain
)

// Values lists the techniques.
func (Technique) Values() []string { return kit.Values(Homoglyph, Typo, Combo, Subdomain) }

// Strength says how surely a likeness is not an accident.
type Strength int

// The strengths. A weak likeness alone is no reason for an alarm.
const (
	Weak   Strength = 1
	Fair   Strength = 2
	Strong Strength = 3
)

// A Match is a likeness of a host to a brand.
type Match struct {
	Target    *Target
	Label     string // of the brand, that is imitated
	Part      string // of the host in Unicode form, that imitates it
	Technique Technique
	Kind      Kind
	Strength  Strength
	Distance  int // characters in which part and label differ; 0 if the part has the label as it is
}

// Kind is a technique in detail, in words that follow on the part of the host: `"paypa1" looks like "paypal"`.
type Kind string

// The kinds.
const (
	looksAlike Kind = "looks like"
	hyphenated Kind = "is, without its hyphens,"
	omits      Kind = "leaves out a letter of"
	repeats    Kind = "doubles a letter of"
	adds       Kind = "adds a letter to"
	swaps      Kind = "swaps two letters of"
	replaces   Kind = "replaces a letter of"
	spells     Kind = "is another spelling of"
	otherTLD   Kind = "has another top-level domain than"
	combined   Kind = "combines other words with"
	Split      Kind = "is, without its dots,"
	Below      Kind = "puts under another domain"
)

var kinds = map[edit]Kind{
	omission: omits, repetition: repeats, insertion: adds, transposition: swaps, substitution: replaces,
}

// A name is a host taken apart.
type name struct {
	below  []string // labels to the left of the registrable domain, in Unicode form, the leftmost first
	label  string   // of the registrable domain right before the public suffix, in Unicode form
	suffix string   // the public suffix
	host   string
}

func split(d diag.Domain) name {
	n := name{host: d.String()}
	n.suffix, _ = publicsuffix.PublicSuffix(n.host)
	labels := strings.Split(d.Unicode(), ".")
	keep := len(labels) - 1 - strings.Count(n.suffix, ".")
	if labels = labels[:keep]; keep > 0 {
		n.below, n.label = labels[:keep-1], labels[keep-1]
	}
	return n
}

// Find returns the closest likeness of a host to a brand that it does not belong to, or nil.
func (t *Targets) Find(d diag.Domain) *Match {
	n := split(d)
	if n.label == "" || t.Owner(n.host) != nil || t.unrelated[n.label+"."+n.suffix] {
		return nil
	}
	matches := []*Match{t.registrable(n), t.splitUp(n), t.embedded(n)}
	trust := trusting(n, "")
	matches = append(matches, t.combined(n.label, n, trust, false))
	for _, label := range n.below {
		matches = append(matches, t.sublabel(label, trust), t.combined(label, n, trust, true))
	}
	matches = slices.DeleteFunc(matches, func(m *Match) bool { return m == nil })
	if !slices.ContainsFunc(matches, func(m *Match) bool { return m.Strength == Strong }) {
		if m := t.bridged(n); m != nil {
			matches = append(matches, m)
		}
	}
	if len(matches) == 0 {
		return nil
	}
	return slices.MaxFunc(matches, func(a, b *Match) int {
		return cmp.Or(cmp.Compare(a.Strength, b.Strength), cmp.Compare(len(a.Label), len(b.Label)),
			cmp.Compare(b.Distance, a.Distance))
	})
}

// trusting reports whether a label but this one has a word of confidence.
func trusting(n name, except string) bool {
	return slices.ContainsFunc(append(slices.Clone(n.below), n.label), func(label string) bool {
		return label != except && slices.ContainsFunc(strings.Split(label, "-"), func(word string) bool {
			return len(word) > 3 && confident(word)
		})
	})
}

// registrable compares the registered label.
func (t *Targets) registrable(n name) *Match {
	plain := idn.Fold(n.label)
	if target := t.labels[plain]; target != nil && plain == n.label {
		strength := Fair
		if target.Word || len(plain) < 6 || national(n.suffix) {
			strength = Weak
		}
		return &Match{target, plain, n.label + "." + n.suffix, Typo, otherTLD, strength, 0}
	}
	m := t.label(n.label)
	switch {
	case m == nil:
		return nil
	case plain != n.label && strings.Join(fields(n.label), "") == strings.Join(fields(strings.ToLower(m.Target.Name)), ""):
		m.Technique, m.Kind, m.Strength = Typo, spells, Weak // with the brand's own accents: "crédit-agricole"
		return m
	case m.Technique == Homoglyph:
		return m
	}
	if !t.sameSuffix(m.Target, n.suffix) && m.Strength > Weak {
		m.Strength--
	}
	return m
}

// sameSuffix reports whether a brand has a domain under a public suffix.
func (t *Targets) sameSuffix(target *Target, suffix string) bool {
	return slices.ContainsFunc(target.Domains, func(d string) bool { return strings.HasSuffix(d, "."+suffix) })
}

// label compares a label in Unicode form, which is not one of a brand, with those of all brands.
func (t *Targets) label(label string) *Match {
	plain := idn.Fold(label)
	closed := strings.ReplaceAll(plain, "-", "")
	if target := t.labels[plain]; target != nil {
		return &Match{target, plain, label, Homoglyph, looksAlike, Strong, differing(label, plain)}
	}
	if target := t.labels[closed]; target != nil {
		return &Match{target, closed, label, Typo, hyphenated, Strong, strings.Count(plain, "-")}
	}
	if t.unrelated[label] || len(closed) < 2 || len(closed) > 63 {
		return nil
	}
	if seen := t.bySkeleton[look(closed)]; seen != "" && seen != closed {
		return &Match{t.labels[seen], seen, label, Homoglyph, looksAlike, Strong, max(1, differing(closed, seen))}
	}
	if seen := t.byMarkedSkeleton[glance(closed)]; seen != "" && plain != label {
		return &Match{t.labels[seen], seen, label, Homoglyph, looksAlike, Strong, max(1, differing(closed, seen))}
	}
	return t.edited(label, plain, closed)
}

// edited looks for the brand's label that is one editing step away.
func (t *Targets) edited(label, plain, closed string) (best *Match) {
	for _, word := range []string{closed, letters(closed)} {
		for length := max(minLabel, len(word)-1); length <= min(len(word)+1, 63); length++ {
			for _, brand := range t.byLength[length] {
				e := oneEdit(word, brand)
				if e == noEdit {
					continue
				}
				target := t.labels[brand]
				m := &Match{target, brand, label, Typo, kinds[e], target.typing(brand, e), 1}
				if plain != label || word != closed {
					m.Technique, m.Kind, m.Distance = Homoglyph, looksAlike, differing(label, brand)
				}
				if plain != label && m.Strength > 0 {
					m.Strength = Strong // such letters are not typed by accident
				}
				if m.Strength > 0 && (best == nil || m.Strength > best.Strength) {
					best = m
				}
			}
		}
	}
	return best
}

// typing says how surely a typing error is meant to be taken for the brand; 0 if there is no telling. The
// shorter a label, the more names are one step away from it.
func (t *Target) typing(brand string, e edit) Strength {
	slip := e == transposition || e == repetition || e == omission
	switch n := len(brand); {
	case n == 3 && !slip, n == 4 && !slip && t.Word:
		return 0
	case n <= 4, t.Word && !slip:
		return Weak
	case t.Word, n == 5:
		return Fair
	case slip, n >= 7:
		return Strong
	default:
		return Fair
	}
}

// differing is the distance of Levenshtein between two words, in characters.
func differing(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}

// splitUp finds a brand's label with dots in it: "face.book.com".
func (t *Targets) splitUp(n name) *Match {
	joined := n.label
	for i := len(n.below) - 1; i >= 0 && len(joined) < 63; i-- {
		joined = n.below[i] + joined
		if target := t.labels[joined]; target != nil && (len(joined) > 4 || t.sameSuffix(target, n.suffix)) {
			part := strings.Join(append(slices.Clone(n.below[i:]), n.label), ".")
			return &Match{target, joined, part, Subdomain, Split, Strong, len(n.below) - i}
		}
	}
	return nil
}

// embedded finds a brand's domain to the left of another: "paypal.com.example.net".
func (t *Targets) embedded(n name) *Match {
	return t.standingIn(strings.Join(n.below, "."))
}

// bridged finds one that ends within the label that was registered: "usps.com-track.example".
func (t *Targets) bridged(n name) *Match {
	first, _, cut := strings.Cut(n.label, "-")
	if !cut || len(n.below) == 0 {
		return nil
	}
	return t.standingIn(strings.Join(n.below, ".") + "." + first)
}

// standingIn finds a brand's domain among labels.
func (t *Targets) standingIn(below string) *Match {
	for rest := below; rest != ""; _, rest, _ = strings.Cut(rest, ".") {
		for end := range len(rest) + 1 {
			if end < len(rest) && rest[end] != '.' && rest[end] != '-' {
				continue
			}
			if target := t.own[rest[:end]]; target != nil && len(rest[:end]) > 5 {
				return &Match{target, rest[:end], below, Subdomain, Below, Strong, 0}
			}
		}
	}
	return nil
}

// sublabel compares a label to the left of the registrable domain with the brands.
func (t *Targets) sublabel(label string, trust bool) *Match {
	if target := t.labels[label]; target != nil {
		return &Match{target, label, label, Subdomain, Below, target.below(label, trust), 0}
	}
	m := t.label(label)
	if m == nil || len(m.Label) < 6 || m.Kind == adds || m.Kind == replaces && len(m.Label) < 8 {
		return nil
	}
	if m.Distance > 0 && m.Kind != looksAlike && m.Strength > Weak {
		m.Strength--
	}
	return m
}

// below says what a brand's own label to the left of another domain is worth: many a company has a host
// named for the software that runs on it.
func (t *Target) below(label string, trust bool) Strength {
	switch {
	case trust && !t.Word && len(label) > 4:
		return Strong
	case trust && len(label) > 4, !t.Word && len(label) > 6:
		return Fair
	default:
		return Weak
	}
}
