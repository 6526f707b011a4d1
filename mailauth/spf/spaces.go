package spf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"golang.org/x/net/publicsuffix"
)

// A missingSpace is a place in a record where two terms, or two records, run together because a space is missing.
type missingSpace struct {
	offset int    // of the following text
	head   string // the preceding term, as far as it is in the same string
	text   string // the following text: a term, or v=spf1
	part   int    // the character-string that begins there; 0 inside a string
}

var termStart = kit.Regexp(`(?i)[-+~?]?(?:include:|exists:|ip4:|ip6:|mx:|a:|redirect=|exp=)|v=spf1`)

// findMissingSpaces finds where spaces are missing: between two character-strings of which the second begins with
// a term, and where a whole term is followed by a text that can only begin another.
func findMissingSpaces(record string, parts []string) []missingSpace {
	var list []missingSpace
	offset := 0
	for i, part := range parts {
		if i > 0 && isSplitTerm(record, offset, part) {
			list = append(list, missingSpace{offset: offset, text: firstTerm(part), part: i + 1})
		}
		offset += len(part)
	}
	for begin := 0; begin < len(record); {
		word := firstTerm(record[begin:])
		for _, n := range starts(word) {
			at := func(s missingSpace) bool { return s.offset == begin+n }
			if !slices.ContainsFunc(list, at) {
				list = append(list, missingSpace{offset: begin + n, text: word[n:]})
			}
		}
		begin += len(word) + 1
	}
	slices.SortFunc(list, func(a, b missingSpace) int { return a.offset - b.offset })
	for i := range list {
		begin := strings.LastIndexByte(record[:list[i].offset], ' ') + 1
		if i > 0 {
			begin = max(begin, list[i-1].offset)
		}
		list[i].head = record[begin:list[i].offset]
		if i > 0 && begin == list[i-1].offset {
			list[i-1].text = list[i].head
		}
	}
	return list
}

// starts lists the offsets in a word where another term, behind a whole one, or another record begins.
func starts(word string) (list []int) {
	last := 0
	for _, found := range termStart().FindAllStringIndex(word, -1) {
		n := found[0]
		head, next := word[last:n], word[n:found[1]]
		digits := len(head) > 4 && strings.EqualFold(head[:4], "ip6:") && strings.EqualFold(next, "a:") // of one address
		if n > 0 && !digits && (strings.EqualFold(head, version) || isTerm(head)) {
			list, last = append(list, n), n
		}
	}
	return list
}

// isTerm reports whether a text is one whole term that SPF defines.
func isTerm(text string) bool {
	record, faults := eval.Parse(version + " " + text)
	return len(faults) == 0 && len(record.Terms) == 1 && record.Terms[0].Name != "" && termFault(&record.Terms[0]) == ""
}

// separated puts spaces into a record where they are missing.
func separated(record string, list []missingSpace) string {
	for _, s := range slices.Backward(list) {
		record = record[:s.offset] + " " + record[s.offset:]
	}
	return record
}

// withoutAll returns a record without all, merged into one, so that receivers would reach every term.
func withoutAll(text string) string {
	record, _ := eval.Parse(text)
	record.Terms = slices.DeleteFunc(record.Terms, func(t eval.Term) bool {
		return t.Name == eval.All || t.Unknown == "v"
	})
	return record.String()
}

// parted splits a word into the terms that run together in it.
func parted(word string) []string {
	var list []string
	last := 0
	for _, n := range starts(word) {
		list, last = append(list, word[last:n]), n
	}
	return append(list, word[last:])
}

// isSplitTerm reports whether two character-strings are joined without a blank and the second begins with a term.
func isSplitTerm(record string, offset int, second string) bool {
	if offset == 0 || second == "" || second[0] == ' ' || record[offset-1] == ' ' {
		return false
	}
	whole, faults := eval.Parse(version + " " + firstTerm(record[strings.LastIndexByte(record[:offset], ' ')+1:]))
	apart := len(faults) > 0 || len(whole.Terms) == 1 &&
		(termFault(&whole.Terms[0]) != "" || hasUnknownTLD(whole.Terms[0].Value))
	return beginsTerm(second, apart)
}

// hasUnknownTLD reports whether a name is not below a known top-level domain.
func hasUnknownTLD(name string) bool {
	suffix, icann := publicsuffix.PublicSuffix(strings.ToLower(strings.TrimSuffix(name, ".")))
	return strings.Contains(name, ".") && !strings.Contains(name, "%") && !icann && !strings.Contains(suffix, ".")
}

// beginsTerm reports whether a text begins with a term that has a value, or is all. If the text is known not to
// continue the preceding term, a mechanism without a value counts too.
func beginsTerm(s string, apart bool) bool {
	record, faults := eval.Parse(version + " " + firstTerm(s))
	if len(faults) > 0 || len(record.Terms) != 1 {
		return false
	}
	t := &record.Terms[0]
	return t.Kind == eval.Mechanism && (t.Value != "" || t.Name == eval.All || apart) || t.Name == eval.Redirect ||
		t.Name == eval.Exp
}

func firstTerm(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

// joins reports whether a space is missing within a part of the record: other faults there are symptoms.
func (e *evidence) joins(begin, end int) bool {
	return slices.ContainsFunc(e.missingSpaces, func(s missingSpace) bool { return begin < s.offset && s.offset < end })
}

// symptom reports whether a fault at a term, or at a record that the term refers to, is caused by a missing space.
func (e *evidence) symptom(n *Node, t *eval.Term) bool {
	if n.lead != nil {
		t = n.lead
	}
	return t != nil && e.joins(t.Offset, t.Offset+len(t.Raw))
}

// joints finds places where two strings join to one term, although the second looks like the beginning of a term.
func joints(e *evidence) rule.Failures {
	return rule.FailEach(e.missingSpaces, func(s missingSpace) rule.Failures {
		if s.part == 0 || strings.EqualFold(s.text, version) {
			return nil
		}
		return rule.Failures{{
			Detail:   fmt.Sprintf("String %d begins with %s, and no space precedes it.", s.part, phrase.Quote(s.text)),
			Location: &diag.Location{Offset: s.offset, Length: len(s.text)},
		}}
	})
}

// runTogether finds terms that run together within a string.
func runTogether(e *evidence) rule.Failures {
	return rule.FailEach(e.missingSpaces, func(s missingSpace) rule.Failures {
		if s.part > 0 || strings.EqualFold(s.text, version) {
			return nil
		}
		return rule.Failures{{
			Detail:   fmt.Sprintf("No space separates %q from %q.", phrase.Quote(s.head), phrase.Quote(s.text)),
			Target:   phrase.Quote(s.text),
			Location: &diag.Location{Offset: s.offset, Length: len(s.text)},
		}}
	})
}

// joinedRecords finds a second v=spf1 in the record.
func joinedRecords(e *evidence) rule.Failures {
	list := inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
		return failTermIf(t.Unknown == "v", n, t, "%q appears again at byte %d.", phrase.Quote(t.Raw), t.Offset)
	})(e)
	return append(list, rule.FailEach(e.missingSpaces, func(s missingSpace) rule.Failures {
		if !strings.EqualFold(s.text, version) {
			return nil
		}
		return rule.Failures{{
			Detail: fmt.Sprintf("%q appears again at byte %d, directly after %q.", phrase.Quote(s.text), s.offset,
				phrase.Quote(s.head)),
			Target: phrase.Quote(s.head + s.text), Location: &diag.Location{Offset: s.offset, Length: len(s.text)},
		}}
	})...)
}
