package lookalike

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/net/publicsuffix"
)

// File is the name of the table among the lists that an operator may replace, see [diag.List].
const File = "phishing-targets.json"

// The bounds of a table: each label of a host is compared with each label of a brand.
const (
	maxFile      = 4 << 20 // bytes; the built-in table has 50,000
	maxTargets   = 5000
	maxDomains   = 200 // of one brand; Amazon has some 60
	maxLabels    = 20  // of one brand
	maxNames     = 40  // of one brand
	maxName      = 60  // bytes of a name
	maxUnrelated = 20000
	minLabel     = 3 // shorter ones are in every second name
)

// A Target is a brand that may be imitated.
type Target struct {
	Name    string   `json:"name"`               // as people write it, such as "PayPal"
	Domains []string `json:"domains"`            // its own domains, the main one first; all below them are its own, too
	Labels  []string `json:"labels,omitempty"`   // what imitations imitate, without hyphens, such as "paypal"
	Word    bool     `json:"word,omitempty"`     // whether the labels are words or names that others use as well
	Region  bool     `json:"regional,omitempty"` // whether the labels under top-level domains of countries are its own
	Names   []string `json:"names,omitempty"`    // others of it or its products, also in other scripts
	Shared  bool     `json:"shared,omitempty"`   // whether many institutions have the name
}

// Main is the first of the brand's domains.
func (t *Target) Main() string { return t.Domains[0] }

// Targets is a table of brands, ready to be searched. It is safe for concurrent use.
type Targets struct {
	Source    string    `json:"source,omitempty"`    // where the table comes from
	Date      string    `json:"date,omitempty"`      // and of which day it is
	List      []*Target `json:"targets"`             // the brands
	Unrelated []string  `json:"unrelated,omitempty"` // labels and domains of others that resemble a brand by chance

	own              map[string]*Target // by domain
	labels           map[string]*Target // by label
	names            map[string]*Target // by name, as one word
	bySkeleton       map[string]string  // the label by its visual skeleton
	byMarkedSkeleton map[string]string  // the same for labels with letters that are not plain
	byLength         [64][]string       // labels
	unrelated        map[string]bool
}

//go:embed targets.json
var builtIn []byte

// BuiltInFile returns the built-in table as a file.
func BuiltInFile() []byte { return append([]byte(nil), builtIn...) }

// BuiltIn returns the built-in table.
var BuiltIn = sync.OnceValue(func() *Targets {
	t, err := Parse(builtIn)
	if err != nil {
		panic(err) // the tests have seen to that
	}
	return t
})

// Of returns the table of an environment: the operator's own, or the built-in one.
func Of(env *diag.Env) (*Targets, error) { return diag.List(env, File, BuiltIn, Parse) }

// Parse reads a table.
func Parse(data []byte) (*Targets, error) {
	t := &Targets{}
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if err := diag.DecodeList(data, t, true); err != nil {
		return nil, err
	}
	if _, err := time.Parse(time.DateOnly, t.Date); t.Date != "" && err != nil {
		return nil, fmt.Errorf("date: %.40q is no date such as 2026-11-22", t.Date)
	}
	if n := len(t.List); n == 0 || n > maxTargets {
		return nil, fmt.Errorf("targets: there must be 1 to %d, not %d", maxTargets, n)
	}
	if n := len(t.Unrelated); n > maxUnrelated {
		return nil, fmt.Errorf("unrelated: there must be at most %d, not %d", maxUnrelated, n)
	}
	t.own, t.labels, t.unrelated = map[string]*Target{}, map[string]*Target{}, map[string]bool{}
	t.bySkeleton, t.byMarkedSkeleton, t.names = map[string]string{}, map[string]string{}, map[string]*Target{}
	for i, target := range t.List {
		if target == nil {
			return nil, fmt.Errorf("target %d: is null", i+1)
		}
		if err := t.add(target); err != nil {
			return nil, fmt.Errorf("target %d (%.40q): %w", i+1, target.Name, err)
		}
	}
	for _, u := range t.Unrelated {
		t.unrelated[strings.ToLower(u)] = true
	}
	return t, nil
}

// add checks a target and puts it into the indexes.
func (t *Targets) add(target *Target) error {
	switch {
	case !nameable(target.Name):
		return errors.New("name: must have 1 to 60 printable bytes")
	case len(target.Names) > maxNames || slices.ContainsFunc(target.Names, func(n string) bool { return !nameable(n) }):
		return fmt.Errorf("names: there must be at most %d, each of 1 to %d printable bytes", maxNames, maxName)
	case len(target.Domains) == 0 || len(target.Domains) > maxDomains:
		return fmt.Errorf("domains: there must be 1 to %d, not %d", maxDomains, len(target.Domains))
	case len(target.Labels) > maxLabels:
		return fmt.Errorf("labels: there must be at most %d, not %d", maxLabels, len(target.Labels))
	}
	for i, text := range target.Domains {
		d, err := diag.ParseDomain(text)
		if err != nil {
			return fmt.Errorf("domains: %w", err)
		}
		name := d.String()
		if other := t.own[name]; other != nil {
			return fmt.Errorf("domains: %s appears twice, also with %q", name, other.Name)
		}
		target.Domains[i], t.own[name] = name, target
	}
	for _, label := range target.Labels {
		if len(label) < minLabel || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return fmt.Errorf("labels: %.80q is not %d to 63 small letters and digits", label, minLabel)
		}
		if other := t.labels[label]; other != nil {
			return fmt.Errorf("labels: %q appears twice, also with %q", label, other.Name)
		}
		t.labels[label] = target
		for index, form := range map[*map[string]string]string{
			&t.bySkeleton: look(label), &t.byMarkedSkeleton: glance(label),
		} {
			if _, taken := (*index)[form]; !taken {
				(*index)[form] = label
			}
		}
		t.byLength[len(label)] = append(t.byLength[len(label)], label)
		t.name(label, target)
	}
	for _, n := range append([]string{target.Name}, target.Names...) {
		t.name(n, target)
	}
	return nil
}

// name puts a name into the index, unless another brand has it, or it is a single letter.
func (t *Targets) name(name string, target *Target) {
	joined := ""
	for _, word := range fields(name) {
		joined += key(word)
	}
	if t.names[joined] == nil && utf8.RuneCountInString(joined) > 1 {
		t.names[joined] = target
	}
}

func nameable(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// Owner returns the brand to which a host belongs, or nil. Names below a domain under which the brand lets
// others put theirs, such as github.io, belong to those.
func (t *Targets) Owner(host string) *Target {
	for name := host; name != ""; _, name, _ = strings.Cut(name, ".") {
		target := t.own[name]
		if target == nil {
			continue
		}
		if suffix, _ := publicsuffix.PublicSuffix(host); suffix == name && host != name {
			return nil
		}
		return target
	}
	if target, suffix := t.registered(host); target != nil && target.Region && national(suffix) {
		return target
	}
	return nil
}

// registered returns the brand whose label is directly under the public suffix of a host, and that suffix.
func (t *Targets) registered(host string) (*Target, string) {
	suffix, _ := publicsuffix.PublicSuffix(host)
	rest, _ := strings.CutSuffix(host, "."+suffix)
	return t.labels[rest[strings.LastIndexByte(rest, '.')+1:]], suffix
}

// forSale are top-level domains of countries that are sold to everyone as something else.
const forSale = " co me tv cc ws io ai tk ml ga cf gq pw su sh to la ly gg fm am im cm " +
	"st nu vc bz sc ms vg ag lc mn sx "

// national reports whether a public suffix is that of a country in which brands register their own name.
func national(suffix string) bool {
	first, top, two := strings.Cut(suffix, ".")
	if !two {
		return len(suffix) == 2 && !strings.Contains(forSale, " "+suffix+" ")
	}
	return len(top) == 2 && (first == "co" || first == "com")
}

// Label returns the brand that has a label, or nil.
func (t *Targets) Label(label string) *Target { return t.labels[label] }

// Domain returns the brand that has a domain, with or without www, or nil.
func (t *Targets) Domain(name string) *Target { return t.own[strings.TrimPrefix(name, "www.")] }

// minWithin is the length from which a label is recognized inside of other words.
const minWithin = 6

// Within returns the brand whose label begins or ends a word, and the label, if it is not an ordinary word.
func (t *Targets) Within(word string) (*Target, string) {
	if len(word) > 40 {
		return nil, ""
	}
	for length := min(len(word)-1, 30); length >= minWithin; length-- {
		for _, label := range []string{word[:length], word[len(word)-length:]} {
			if target := t.labels[label]; target != nil && !target.Word {
				return target, label
			}
		}
	}
	return nil, ""
}
