package textutil

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// regexBudget is the work that all searches of a request share, in instructions times characters
	// read. The first search is within maxRegexWork and is always made.
	regexBudget = maxRegexWork + maxRegexWork/5
	// maxRegexGroups bounds the groups in one report, and maxRegexValues the bytes of their values: a
	// thousand matches of a hundred groups would make a report of many times the text.
	maxRegexGroups = 20_000
	maxRegexValues = 4 << 20
	// The engine has a way that costs no more for many groups, for programs and texts of this size:
	// maxBacktrackProg and maxBacktrackVector in the source of package regexp.
	regexBacktrackProgram = 500
	regexBacktrackVector  = 256 << 10
	// Otherwise each instruction may copy all groups. Measured, copying 34 groups takes as long as the
	// instruction itself; and each instruction may hold a copy, which maxRegexCopies bounds (a group
	// takes 16 bytes, and there are two sets of copies).
	regexGroupsPerStep = 32
	maxRegexCopies     = 1_000_000
)

// A regexSearch looks for the matches of a pattern one by one.
//
// The engine neither reports how much of the text it has read nor can it be stopped while it reads, and it may read to
// the end of the text for every single match. So the text is handed to it as a reader, which counts, and which ends the
// text early when the budget is spent. A reader cannot look back; therefore a search from the middle of the text begins
// one character before, with a pattern that steps over that character. Such a search asks for the place of the match
// alone, as copying groups costs time; the groups are found by matching once more, at that place.
type regexSearch struct {
	req          *RegexRequest
	instructions int
	names        []string // of the groups; the first is that of the match
	offsets      *textOffsets

	budget, spent int  // work that may be done, and that was done
	exhausted     bool // whether a search was cut short

	middle *regexp.Regexp    // for searches from behind the first character
	inside [4]*regexp.Regexp // for groups, by the context of the match
}

func newRegexSearch(req *RegexRequest, instructions int, names []string) *regexSearch {
	return &regexSearch{
		req: req, instructions: instructions, names: names, budget: regexBudget, offsets: newTextOffsets(req.Text),
	}
}

// run fills in the matches. The rules are those of regexp.FindAll: a match may be empty, but not just
// behind another match.
func (s *regexSearch) run(report *RegexReport) {
	first := s.compile("", "", false)
	reader := &regexReader{text: s.req.Text, cost: s.instructions}
	loc := first.FindReaderSubmatchIndex(reader)
	s.spent += reader.spent
	groups, values, global := 0, 0, s.req.Global == nil || *s.req.Global
	for loc != nil {
		report.Matched = true
		start, end := loc[2], loc[3]
		if report.MatchCount == s.req.maxMatches() {
			if global {
				report.truncate(fmt.Sprintf("The list ends at %d matches, as many as were asked for.", report.MatchCount))
			}
			return
		}
		match, why := s.match(start, end)
		if groups, values = groups+len(match.Groups), values+match.values(); groups > maxRegexGroups ||
			values > maxRegexValues {
			match.Groups, why = []RegexGroup{}, "The report grew too long: the last match is without its groups."
		}
		report.Matches = append(report.Matches, match)
		if report.MatchCount++; why != "" {
			report.truncate(why)
			return
		}
		if !global {
			return
		}
		if loc = s.next(start, end); s.exhausted {
			report.truncate("The time for one request was spent before the end of the text.")
			return
		}
	}
}

// truncate says that the list of matches is not whole.
func (r *RegexReport) truncate(why string) {
	r.Truncated = true
	r.Findings = append(r.Findings, Finding{
		Code: "text.regex.truncated", Severity: Info, Title: "Search stopped early", Detail: why,
		Advice: "Search a part of the text at a time, or begin the pattern with a letter that is rare in it",
	})
}

// next looks for the match that follows the one from start to end. It sets over if the budget was spent
// before an answer was found.
func (s *regexSearch) next(start, end int) []int {
	at := end
	for {
		if start == end { // an empty match: the next one begins a character later
			if at == len(s.req.Text) {
				return nil
			}
			_, size := utf8.DecodeRuneInString(s.req.Text[at:])
			at += size
		}
		loc := s.findFrom(at)
		if loc == nil || loc[2] != loc[3] || loc[3] != end {
			return loc
		}
		start = end // an empty match just behind the match before does not count
	}
}

// findFrom looks for the first match that begins at the offset or behind it. The offset is not 0.
func (s *regexSearch) findFrom(at int) []int {
	if s.middle == nil {
		s.middle = s.compile(`\A(?s:.)(?s:.*?)`, "", false)
	}
	_, before := utf8.DecodeLastRuneInString(s.req.Text[:at])
	left := max(0, s.budget-s.spent)
	reader := &regexReader{text: s.req.Text[at-before:], cost: s.instructions, bounded: true, left: left}
	loc := s.middle.FindReaderSubmatchIndex(reader)
	s.spent += reader.spent
	if s.exhausted = reader.cut; s.exhausted {
		return nil
	}
	if loc != nil {
		loc[2] += at - before
		loc[3] += at - before
	}
	return loc
}

// A regexReader reads a text rune by rune, counting what that costs the engine.
type regexReader struct {
	text    string
	cost    int // of one rune
	spent   int
	bounded bool
	left    int
	cut     bool // whether the text was ended early
}

// ReadRune implements io.RuneReader.
func (r *regexReader) ReadRune() (c rune, size int, err error) {
	if r.text == "" || r.cut {
		return 0, 0, io.EOF
	}
	if r.bounded && r.spent+r.cost > r.left {
		r.cut = true
		return 0, 0, io.EOF
	}
	r.spent += r.cost
	c, size = utf8.DecodeRuneInString(r.text)
	r.text = r.text[size:]
	return c, size, nil
}

// compile returns the pattern, which was parsed and is within the bounds, as a part of a longer one.
func (s *regexSearch) compile(before, behind string, capture bool) *regexp.Regexp {
	return regexp.MustCompile(before + regexWithin(s.req.Pattern, s.req.Flags, capture) + behind)
}

// maxRegexResult bounds the text after replacement, in bytes.
const maxRegexResult = 4 << 20

// A regexPart is a piece of a replacement: a text, or a reference to a group.
type regexPart struct {
	text  string
	group int // 0: the match; -1: the text
}

func (req *RegexRequest) replace(report *RegexReport, names []string) error {
	if req.Replacement == nil {
		return nil
	}
	parts, findings := parseReplacement(*req.Replacement, names)
	report.Findings = append(report.Findings, findings...)
	size := len(req.Text)
	for i := range report.Matches {
		m := &report.Matches[i]
		size -= len(m.Value)
		for _, p := range parts {
			size += len(p.in(m))
		}
		if size-len(req.Text) > maxRegexResult { // what is behind the match may be removed yet, but not more than all
			return invalid("replacement", "makes a text of more than %d bytes", maxRegexResult)
		}
	}
	var b strings.Builder
	b.Grow(size)
	last := 0
	for i := range report.Matches {
		m := &report.Matches[i]
		b.WriteString(req.Text[last:m.Start])
		for _, p := range parts {
			b.WriteString(p.in(m))
		}
		last = m.End
	}
	b.WriteString(req.Text[last:])
	result := b.String()
	report.Result, report.OutputBytes = &result, len(result)
	return nil
}

func (p regexPart) in(m *RegexMatch) string {
	switch {
	case p.group < 0:
		return p.text
	case p.group == 0:
		return m.Value
	case p.group > len(m.Groups) || !m.Groups[p.group-1].Matched:
		return ""
	}
	return *m.Groups[p.group-1].Value
}

// parseReplacement splits a replacement into parts. A reference to a group that the pattern does not have is empty,
// and yields a finding; a dollar sign that begins no reference is literal.
func parseReplacement(text string, names []string) ([]regexPart, []Finding) {
	parts, findings := []regexPart{}, []Finding{}
	for at := 0; at < len(text); {
		dollar := strings.IndexByte(text[at:], '$')
		if dollar < 0 {
			parts = append(parts, regexPart{text: text[at:], group: -1})
			break
		}
		if dollar > 0 {
			parts = append(parts, regexPart{text: text[at : at+dollar], group: -1})
		}
		at += dollar
		name, size := regexReference(text[at:])
		switch group := regexGroupNamed(name, names); {
		case name == "":
			parts = append(parts, regexPart{text: "$", group: -1})
		case group >= 0:
			parts = append(parts, regexPart{group: group})
		default:
			findings = append(findings, Finding{
				Code: "text.regex.replacement_group", Severity: Warning,
				Title:    "Group of the replacement not in the pattern",
				Advice:   "Name a group of the pattern, or write $$ for a dollar sign",
				Detail:   fmt.Sprintf("The pattern has no group %q; nothing is put in its place.", name),
				Location: &Location{Offset: at, Length: size},
			})
		}
		at += size
	}
	return parts, findings
}

// regexReference reads the reference that the text begins with. The name is empty for $$ and for a literal dollar
// sign.
func regexReference(text string) (name string, size int) {
	rest := text[1:]
	switch {
	case strings.HasPrefix(rest, "$"):
		return "", 2
	case strings.HasPrefix(rest, "{"):
		if end := strings.IndexByte(rest, '}'); end > 1 {
			return rest[1:end], end + 2
		}
		return "", 1
	}
	// $1x is group 1 and an x, as in JavaScript and Perl; a name ends where its letters end.
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	for n < len(rest) && (n == 0 || rest[0] > '9') && strings.IndexByte(asciiAlphanumeric+"_", rest[n]) >= 0 {
		n++
	}
	return rest[:n], n + 1
}

// regexGroupNamed returns the number of the group with a name or number, or -1.
func regexGroupNamed(name string, names []string) int {
	if n, err := strconv.Atoi(name); err == nil && 0 <= n && n < len(names) {
		return n
	}
	for i, other := range names {
		if i > 0 && name != "" && name == other {
			return i
		}
	}
	return -1
}
