package textutil

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Bounds and defaults of CONTRACT 3.2.
const (
	minWordsPerMinute     = 50
	maxWordsPerMinute     = 1000
	defaultWordsPerMinute = 200
	maxTopWords           = 100
	defaultTopWords       = 10
)

// A StatsRequest asks for the counts of a text.
type StatsRequest struct {
	Text           string `json:"text" maxbytes:"1048576" doc:"the text" example:"To be, or not to be. That is the question."`
	WordsPerMinute int    `json:"words_per_minute,omitempty" default:"200" min:"50" max:"1000" doc:"speed of the reader"`
	Top            *int   `json:"top,omitempty" default:"10" min:"0" max:"100" doc:"number of the most frequent words in the report"`
}

// A StatsReport has the counts of a text. Note the unit of each count: a family emoji may be one grapheme,
// seven code points, eleven UTF-16 units and 25 bytes.
type StatsReport struct {
	Characters              int `json:"characters" min:"0" doc:"Unicode code points, white space and line ends included"`
	CharactersWithoutSpaces int `json:"characters_without_spaces" min:"0" doc:"code points that are not white space"`
	Graphemes               int `json:"graphemes" min:"0" doc:"characters as people see them: grapheme clusters (UAX 29)"`
	UTF16Units              int `json:"utf16_units" min:"0" doc:"length in UTF-16, as JavaScript, Java and Windows count"`
	Bytes                   int `json:"bytes" min:"0" doc:"length in UTF-8"`

	Words         int `json:"words" min:"0" doc:"words by the rules of Unicode (UAX 29) that have a letter or digit"`
	WordsBySpaces int `json:"words_by_spaces" min:"0" doc:"pieces between white space, as wc and word processors count"`
	UniqueWords   int `json:"unique_words" min:"0" doc:"different words; case does not matter"`
	Sentences     int `json:"sentences" min:"0" doc:"sentences by the rules of Unicode (UAX 29)"`
	Paragraphs    int `json:"paragraphs" min:"0" doc:"blocks of lines between lines without text"`
	Lines         int `json:"lines" min:"0" doc:"line ends and one; a form feed ends a line, a vertical tab does not (Unicode 5.8, R4)"`
	EmptyLines    int `json:"empty_lines" min:"0" doc:"lines with nothing but white space"`

	LongestWord        string      `json:"longest_word" doc:"the first word of the most graphemes; empty without words"`
	AverageWordLength  float64     `json:"average_word_length" min:"0" doc:"graphemes in a word, to two decimals"`
	ReadingTimeSeconds int         `json:"reading_time_seconds" min:"0" doc:"words at the speed of the reader, rounded up"`
	TopWords           []WordCount `json:"top_words" doc:"the most frequent words; ties in the order of code points"`

	Findings    []Finding `json:"findings" doc:"what to know of the counts"`
	InputBytes  int       `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes int       `json:"output_bytes" min:"0" doc:"0: there is no result"`
}

// A WordCount is how often a word occurs.
type WordCount struct {
	Word  string `json:"word" doc:"the word with its case folded (ß as ss)"`
	Count int    `json:"count" min:"1" doc:"how often it occurs"`
}

// Stats counts the characters, words, sentences and lines of a text. The error is an *[InputError].
func Stats(req StatsRequest) (*StatsReport, error) {
	top := defaultTopWords
	if req.Top != nil {
		top = *req.Top
	}
	speed := cmp.Or(req.WordsPerMinute, defaultWordsPerMinute)
	switch {
	case speed < minWordsPerMinute || speed > maxWordsPerMinute:
		return nil, invalid("words_per_minute", "is %d; it may be from %d to %d", speed, minWordsPerMinute, maxWordsPerMinute)
	case top < 0 || top > maxTopWords:
		return nil, invalid("top", "is %d; it may be from 0 to %d", top, maxTopWords)
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	report := &StatsReport{
		Bytes: len(req.Text), InputBytes: len(req.Text), Graphemes: countGraphemes(req.Text),
		Sentences: countSentences(req.Text), Findings: []Finding{},
	}
	for range strings.FieldsSeq(req.Text) {
		report.WordsBySpaces++
	}
	report.countCharacters(req.Text)
	report.countLines(req.Text)
	report.countWords(req.Text, top)
	report.ReadingTimeSeconds = (report.Words*60 + speed - 1) / speed
	return report, nil
}

func (r *StatsReport) countCharacters(text string) {
	for _, c := range text {
		r.Characters++
		if !unicode.IsSpace(c) {
			r.CharactersWithoutSpaces++
		}
		r.UTF16Units++
		if c > 0xffff { // a pair of surrogates
			r.UTF16Units++
		}
	}
}

func (r *StatsReport) countLines(text string) {
	within := false // a paragraph
	for more := true; more; {
		var line, end string
		line, end, text = cutLine(text)
		more = end != ""
		r.Lines++
		blank := strings.TrimSpace(line) == ""
		if blank {
			r.EmptyLines++
		} else if !within {
			r.Paragraphs++
		}
		within = !blank && end != "\u2029" // a paragraph separator needs no blank line
	}
}

// cutLine returns the first line of a text, its end, and what follows. The ends are those after which
// the Unicode Standard section 5.8 (recommendation R4) stops reading a line: a form feed is among them, and a
// vertical tab is not, for it moves down within a paragraph. The last line has none.
func cutLine(text string) (line, end, rest string) {
	i := strings.IndexFunc(text, func(c rune) bool {
		return c == '\n' || c == '\r' || c == '\f' || c == 0x85 || c == 0x2028 || c == 0x2029
	})
	if i < 0 {
		return text, "", ""
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	if strings.HasPrefix(text[i:], "\r\n") {
		size = 2
	}
	return text[:i], text[i : i+size], text[i+size:]
}

// countWords counts words and keeps the longest and the most frequent ones.
func (r *StatsReport) countWords(text string, top int) {
	folder := cases.Fold()
	counts := map[string]int{}
	length, longest, unspaced := 0, 0, false
	for word := range words(text) {
		r.Words++
		unspaced = unspaced || isUnspaced(word)
		n := countGraphemes(word)
		if length += n; n > longest {
			longest, r.LongestWord = n, word
		}
		counts[foldWord(folder, word)]++
	}
	r.UniqueWords = len(counts)
	if r.Words > 0 {
		r.AverageWordLength = math.Round(100*float64(length)/float64(r.Words)) / 100
	}
	r.TopWords = topWords(counts, top)
	if unspaced {
		r.Findings = append(r.Findings, Finding{
			Code: "text.stats.words_without_spaces", Severity: Info, Title: "Words without spaces between them",
			Detail: "The text is partly in a script that does not separate words, such as Chinese, Japanese or Thai. " +
				"Without a dictionary, each ideograph and each Hiragana letter is counted as a word, and so is " +
				"each run of letters of Thai, Lao, Khmer or Myanmar.",
			Reference: "UAX 29 section 4",
		})
	}
}

// topWords returns the most frequent words, the most frequent first.
func topWords(counts map[string]int, n int) []WordCount {
	list := make([]WordCount, 0, len(counts))
	for word, count := range counts {
		list = append(list, WordCount{Word: word, Count: count})
	}
	slices.SortFunc(list, func(a, b WordCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Word, b.Word))
	})
	return slices.Clone(list[:min(n, len(list))])
}

// words returns the words of a text: the pieces that have a letter or a digit.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for piece := range wordPieces(text) {
			if isWord(piece) && !yield(piece) {
				return
			}
		}
	}
}

// wordPieces returns the pieces of a text between the boundaries of UAX 29 section 4.1.
//
// The rules of Unicode leave scripts of Southeast Asia to a dictionary and break them after every
// letter. Here their letters stay together up to the next boundary that is not between two of them.
func wordPieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, state := 0, -1
		var word string
		for at := 0; at < len(text); {
			word, _, state = uniseg.FirstWordInString(text[at:], state)
			at += len(word)
			last, _ := utf8.DecodeLastRuneInString(text[start:at])
			if next, _ := utf8.DecodeRuneInString(text[at:]); isComplex(last) && isComplex(next) {
				continue
			}
			if !yield(text[start:at]) {
				return
			}
			start = at
		}
	}
}

// complexScripts are those whose words are found with a dictionary: the class SA of UAX 14.
var complexScripts = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le,
	unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom}

func isComplex(c rune) bool {
	return c >= 0xe00 && unicode.In(c, complexScripts...) && (unicode.IsLetter(c) || unicode.IsMark(c))
}

func isWord(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }) >= 0
}

// isUnspaced reports whether the word is of a script that does not put spaces between words.
func isUnspaced(word string) bool {
	c, _ := utf8.DecodeRuneInString(word)
	return c >= 0xe00 && (unicode.In(c, unicode.Han, unicode.Hiragana) || isComplex(c))
}

// foldWord makes words comparable: case does not matter, nor whether an accent is a character of its own. It returns
// the NFC of the full case folding (Unicode Standard section 3.13, definition D145).
func foldWord(folder cases.Caser, word string) string {
	if isPlain(word, 0x80) {
		return strings.ToLower(word)
	}
	return norm.NFC.String(folder.String(norm.NFC.String(word)))
}

// countGraphemes returns the number of extended grapheme clusters.
func countGraphemes(text string) int {
	if isPlain(text, 0x80) {
		return len(text) - strings.Count(text, "\r\n")
	}
	n := 0
	for range graphemes(text) {
		n++
	}
	return n
}

// graphemes returns the extended grapheme clusters (UAX 29 section 3). The library has the rules of Unicode
// 15.0; rule GB9c, which came with Unicode 15.1 and keeps the conjuncts of Indic scripts together, is added
// here for the scripts that it began with.
func graphemes(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, before, state := 0, 0, -1 // of the cluster, and of its last part
		for at := 0; at < len(text); {
			var part string
			part, _, _, state = uniseg.FirstGraphemeClusterInString(text[at:], state)
			begin, _ := utf8.DecodeRuneInString(part)
			if at > start && !(unicode.Is(indicConsonants, begin) && endsInLinker(text[before:at])) {
				if !yield(text[start:at]) {
					return
				}
				start = at
			}
			before, at = at, at+len(part)
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// endsInLinker reports whether the cluster ends in a consonant and marks, a linker among them.
func endsInLinker(cluster string) bool {
	linked := false
	for cluster != "" {
		c, size := utf8.DecodeLastRuneInString(cluster)
		switch {
		case unicode.Is(indicLinkers, c):
			linked = true
		case unicode.Is(indicConsonants, c):
			return linked
		case c != '\u200d' && !unicode.In(c, unicode.Mn, unicode.Me):
			return false
		}
		cluster = cluster[:len(cluster)-size]
	}
	return false
}

// The property Indic_Conjunct_Break of Unicode 15.1: consonants and viramas of Devanagari, Bengali,
// Gujarati, Oriya, Telugu and Malayalam.
var (
	indicConsonants = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x915, Hi: 0x939, Stride: 1}, {Lo: 0x958, Hi: 0x95f, Stride: 1}, {Lo: 0x978, Hi: 0x97f, Stride: 1},
		{Lo: 0x995, Hi: 0x9a8, Stride: 1}, {Lo: 0x9aa, Hi: 0x9b0, Stride: 1}, {Lo: 0x9b2, Hi: 0x9b2, Stride: 1},
		{Lo: 0x9b6, Hi: 0x9b9, Stride: 1}, {Lo: 0x9dc, Hi: 0x9dd, Stride: 1}, {Lo: 0x9df, Hi: 0x9df, Stride: 1},
		{Lo: 0x9f0, Hi: 0x9f1, Stride: 1}, {Lo: 0xa95, Hi: 0xaa8, Stride: 1}, {Lo: 0xaaa, Hi: 0xab0, Stride: 1},
		{Lo: 0xab2, Hi: 0xab3, Stride: 1}, {Lo: 0xab5, Hi: 0xab9, Stride: 1}, {Lo: 0xaf9, Hi: 0xaf9, Stride: 1},
		{Lo: 0xb15, Hi: 0xb28, Stride: 1}, {Lo: 0xb2a, Hi: 0xb30, Stride: 1}, {Lo: 0xb32, Hi: 0xb33, Stride: 1},
		{Lo: 0xb35, Hi: 0xb39, Stride: 1}, {Lo: 0xb5c, Hi: 0xb5d, Stride: 1}, {Lo: 0xb5f, Hi: 0xb5f, Stride: 1},
		{Lo: 0xb71, Hi: 0xb71, Stride: 1}, {Lo: 0xc15, Hi: 0xc28, Stride: 1}, {Lo: 0xc2a, Hi: 0xc39, Stride: 1},
		{Lo: 0xc58, Hi: 0xc5a, Stride: 1}, {Lo: 0xd15, Hi: 0xd3a, Stride: 1},
	}}
	indicLinkers = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x94d, Hi: 0x9cd, Stride: 0x80}, {Lo: 0xacd, Hi: 0xb4d, Stride: 0x80},
		{Lo: 0xc4d, Hi: 0xd4d, Stride: 0x100},
	}}
)
