package observatory

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// The limits of reading Content-Security-Policy. The Observatory has none, but its time grows with the
// square of the number of policies.
const (
	maxPolicies    = 64
	shortestPolicy = 6 // characters
)

var errPolicy = errors.New("not a Content-Security-Policy")

// A directives is a Content-Security-Policy as the Observatory understands it: the sources by directive.
type directives map[string][]string

// A source is one value of a directive, of one of several policies.
type source struct {
	text  string
	index int // of the policy
	keep  bool
}

// mayRepeat are directives that may occur in a policy twice.
var mayRepeat = []string{"report-uri", "report-to"}

// parsePolicies makes one policy of several. Of a directive in several policies, a source remains
// if it matches the one before it that is of another policy; of sources in one policy those are dropped that
// begin with the one before them. A directive without values for sources, and one of which nothing remains,
// is 'none'. The second result reports whether a directive that may repeat did.
func parsePolicies(list []string) (directives, bool, error) {
	merged := map[string][]*source{}
	repeated := false
	if len(list) > maxPolicies {
		return nil, false, errPolicy
	}
	for i, text := range list {
		if list[i] = trim(strings.NewReplacer("\r", "", "\n", "").
			Replace(text)); utf8.RuneCountInString(list[i]) < shortestPolicy {
			return nil, false, errPolicy
		}
	}
	for i, text := range list {
		seen := map[string]bool{}
		for entry := range strings.SplitSeq(text, ";") {
			words := strings.FieldsFunc(entry, isSpace)
			if len(words) == 0 {
				continue
			}
			name := strings.ToLower(words[0])
			if seen[name] && !slices.Contains(mayRepeat, name) {
				return nil, false, errPolicy
			}
			repeated = repeated || seen[name]
			seen[name] = true
			if err := merge(merged, name, words[1:], i, len(list)); err != nil {
				return nil, false, err
			}
		}
	}
	all := directives{}
	for name, sources := range merged {
		once := map[string]bool{}
		for _, s := range sources {
			if !once[s.text] {
				once[s.text] = true
				all[name] = append(all[name], s.text)
			}
		}
		if len(sources) == 0 {
			all[name] = []string{"'none'"}
		}
	}
	return all, repeated, nil
}

// merge adds the values of a directive of the policy with this index.
func merge(merged map[string][]*source, name string, words []string, index, policies int) error {
	if len(words) == 0 && strings.HasSuffix(name, "-src") {
		words = []string{"'none'"}
	}
	var list []*source
	if index > 0 {
		list = merged[name]
	}
	for _, w := range words {
		list = append(list, &source{lower(w), index, index == 0})
	}
	english := collate.New(language.English)
	slices.SortStableFunc(list, func(a, b *source) int { return english.CompareString(a.text, b.text) })
	for i, s := range list {
		if i == 0 {
			continue
		}
		before := list[i-1]
		if s.index == before.index && strings.HasPrefix(s.text, before.text) {
			s.keep = false
		}
		if s.index != before.index {
			match, err := pathMatch(before.text, s.text)
			if err != nil {
				return err
			}
			s.keep = s.keep || match
		}
	}
	var kept []*source
	for _, s := range list {
		if s.keep {
			kept = append(kept, s)
		}
		if index == 0 && policies > 1 {
			s.keep = false // to be kept, it must be in another policy too
		}
	}
	merged[name] = kept
	return nil
}

// pathMatch is the Observatory's comparison of two sources, by the parts between slashes.
func pathMatch(a, b string) (bool, error) {
	if a == "" {
		return true, nil
	}
	exact := !strings.HasSuffix(a, "/")
	listA, listB := strings.Split(a, "/"), strings.Split(b, "/")
	if len(listA) > len(listB) || exact && len(listA) != len(listB) {
		return false, nil
	}
	if !exact {
		listA = listA[:len(listA)-1]
	}
	for i, part := range listA {
		pieceA, err := unescape(part)
		if err != nil {
			return false, err
		}
		pieceB, err := unescape(listB[i])
		if err != nil {
			return false, err
		}
		if pieceA != pieceB {
			return false, nil
		}
	}
	return true, nil
}

// unescape decodes percent-encoding, which must be that of UTF-8.
func unescape(s string) (string, error) {
	var out, run []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		run = run[:0]
		for ; i+2 < len(s) && s[i] == '%' && hex(s[i+1]) >= 0 && hex(s[i+2]) >= 0; i += 3 {
			run = append(run, byte(hex(s[i+1])<<4|hex(s[i+2])))
		}
		if len(run) == 0 || !utf8.Valid(run) || i < len(s) && s[i] == '%' {
			return "", errPolicy
		}
		out = append(out, run...)
		i--
	}
	return string(out), nil
}

// hex returns the value of a hexadecimal digit, or a negative number.
func hex(c byte) int {
	if c >= 'A' && c <= 'F' {
		c |= 0x20
	}
	return strings.IndexByte("0123456789abcdef", c)
}
