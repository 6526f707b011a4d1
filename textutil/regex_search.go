package textutil

import (
	"fmt"
	"io"
	"regexp"
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
// The engine neither tells how much of the text it has read nor can it be stopped while it reads, and it may read to
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
	over          bool // whether a search was cut short

	middle *regexp.Regexp    // for searches from behind the first character
	inside [4]*regexp.Regexp // for groups, by what stands around the match
}

func newRegexSearch(req *RegexRequest, instructions int, names []string) *regexSearch {
	return &regexSearch{
		req: req, instructions: instructions, names: names, budget: regexBudget, offsets: newTextOffsets(req.Text),
	}
}

// run fills in the matches. The rules are those of regexp.FindAll: a match may be empty, but not just
// behind another match.
func (s *regexSearch) run(report *RegexReport) error {
	first, err := s.compile("", regexWithin(s.req.Pattern, s.req.Flags, false), "")
	if err != nil {
		return err
	}
	reader := &regexReader{text: s.req.Text, cost: s.instructions}
	loc := first.FindReaderSubmatchIndex(reader)
	s.spent += reader.spent
	groups, values, global := 0, 0, s.req.Global == nil || *s.req.Global
	for loc != nil {
		report.Matched = true
		start, end := loc[2], loc[3]
		if report.MatchCount == s.req.most() {
			if global {
				report.truncate(fmt.Sprintf("The list ends at %d matches, as many as were asked for.", report.MatchCount))
			}
			return nil
		}
		match, why, err := s.match(start, end)
		if err != nil {
			return err
		}
		if groups, values = groups+len(match.Groups), values+match.values(); groups > maxRegexGroups ||
			values > maxRegexValues {
			match.Groups, why = []RegexGroup{}, "The report grew too long: the last match is without its groups."
		}
		report.Matches = append(report.Matches, match)
		if report.MatchCount++; why != "" {
			report.truncate(why)
			return nil
		}
		if !global {
			return nil
		}
		if loc, err = s.next(start, end); err != nil {
			return err
		}
		if s.over {
			report.truncate("The time for one request was spent before the end of the text.")
			return nil
		}
	}
	return nil
}

// truncate says that the list of matches is not whole.
func (r *RegexReport) truncate(why string) {
	r.Truncated = true
	r.Findings = append(r.Findings, Finding{
		Code: "text.regex.truncated", Severity: info, Title: "Search stopped early", Detail: why,
		Advice: "Search a part of the text at a time, or begin the pattern with a letter that is rare in it",
	})
}

// next looks for the match that follows the one from start to end. It sets over if the budget was spent
// before an answer was found.
func (s *regexSearch) next(start, end int) ([]int, error) {
	at := end
	for {
		if start == end { // an empty match: the next one begins a character later
			if at == len(s.req.Text) {
				return nil, nil
			}
			_, size := utf8.DecodeRuneInString(s.req.Text[at:])
			at += size
		}
		loc, err := s.from(at)
		if err != nil || loc == nil {
			return nil, err
		}
		if loc[2] != loc[3] || loc[3] != end {
			return loc, nil
		}
		start = end // an empty match just behind the match before does not count
	}
}

// from looks for the first match that begins at the offset or behind it. The offset is not 0.
func (s *regexSearch) from(at int) ([]int, error) {
	if s.middle == nil {
		pattern := regexWithin(s.req.Pattern, s.req.Flags, false)
		re, err := s.compile(`\A(?s:.)(?s:.*?)`, pattern, "")
		if err != nil {
			return nil, err
		}
		s.middle = re
	}
	_, before := utf8.DecodeLastRuneInString(s.req.Text[:at])
	left := max(0, s.budget-s.spent)
	reader := &regexReader{text: s.req.Text[at-before:], cost: s.instructions, bounded: true, left: left}
	loc := s.middle.FindReaderSubmatchIndex(reader)
	s.spent += reader.spent
	if s.over = reader.cut; s.over {
		return nil, nil
	}
	if loc != nil {
		loc[2] += at - before
		loc[3] += at - before
	}
	return loc, nil
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

func (s *regexSearch) compile(before, pattern, behind string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(before + pattern + behind)
	if err != nil {
		return nil, fmt.Errorf("compiling a pattern that was parsed: %w", err)
	}
	return re, nil
}
