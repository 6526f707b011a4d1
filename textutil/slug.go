package textutil

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

const (
	maxSlugLength = 1000 // characters (CONTRACT 3.2)
	// maxSlugDropped is how many different characters a finding shows.
	maxSlugDropped = 12
)

// A SlugReason is the reason that a slug is empty: empty_text, no_letters or no_latin_form.
type SlugReason string

const (
	SlugEmptyText   SlugReason = "empty_text"    // there was nothing but white space
	SlugNoLetters   SlugReason = "no_letters"    // there was no letter or digit, only punctuation and symbols
	SlugNoLatinForm SlugReason = "no_latin_form" // the letters are of scripts that are not transliterated
)

// Values lists the reasons.
func (SlugReason) Values() []string { return valuesOf(SlugEmptyText, SlugNoLetters, SlugNoLatinForm) }

// A SlugRequest asks for a text as a slug, a form that is suitable for URLs and file names.
type SlugRequest struct {
	Text      string `json:"text" maxbytes:"1048576" doc:"the text, such as a title" example:"Crème brûlée & more"`
	Separator string `json:"separator,omitempty" default:"-" enum:"- _ ." doc:"separator between words"`
	// MaxLength is from 1 to 1000 characters; 0 means no limit. The slug is cut at the end of a word, unless
	// its first word is longer.
	MaxLength int `json:"max_length,omitempty" default:"0" min:"0" max:"1000" doc:"most characters; 0: no limit"`

	Lowercase    *bool `json:"lowercase,omitempty" default:"true" doc:"write small letters"` // nil: true
	AllowUnicode bool  `json:"allow_unicode,omitempty" default:"false" doc:"keep the letters of all scripts"`
	// Locale is the language of the text, which determines how letters and & are spelled: in German ä is ae,
	// in Danish å is aa. Empty means none in particular.
	Locale     SlugLocale `json:"locale,omitempty" default:"und" doc:"language whose rules of spelling apply"`
	Decamelize bool       `json:"decamelize,omitempty" default:"false" doc:"cut words at their capitals"`
}

// A SlugReport has the slug of a text.
type SlugReport struct {
	Result      string     `json:"result" doc:"the slug"`
	Truncated   bool       `json:"truncated" doc:"whether max_length cut off a part"`
	Reason      SlugReason `json:"reason,omitempty" doc:"why the slug is empty, if it is"`
	Findings    []Finding  `json:"findings" doc:"what of the text is not in the slug"`
	InputBytes  int        `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes int        `json:"output_bytes" min:"0" doc:"length of the slug in bytes"`
}

// Slug converts a text to words of letters and digits with separators between them. Accents are removed by
// Unicode decomposition (NFKD); Latin letters without a decomposition, and Cyrillic, Greek, Armenian and
// Georgian, are transliterated by tables; an apostrophe within a contraction joins its parts. Characters
// without a Latin form are omitted and named in a finding; if nothing is left, the report has a Reason. The
// error is an *[InputError].
func Slug(req SlugRequest) (*SlugReport, error) {
	separator := cmp.Or(req.Separator, "-")
	switch {
	case separator != "-" && separator != "_" && separator != ".":
		return nil, invalid("separator", "%.10q is not one of - _ .", separator)
	case req.MaxLength < 0 || req.MaxLength > maxSlugLength:
		return nil, invalid("max_length", "is %d; it may be from 0 to %d", req.MaxLength, maxSlugLength)
	}
	language, ok := slugLanguages[cmp.Or(req.Locale, "und")]
	if !ok {
		return nil, invalid("locale", "%.40q is not a language that is known here", string(req.Locale))
	}
	if err := checkText("text", req.Text); err != nil {
		return nil, err
	}
	w := slugWriter{language: language, unicode: req.AllowUnicode, decamelize: req.Decamelize}
	w.write([]rune(norm.NFC.String(req.Text)))
	words := strings.Fields(w.out.String())
	if isTrue(req.Lowercase) {
		words = req.lower(words, language.casing)
	}
	report := &SlugReport{InputBytes: len(req.Text), Findings: []Finding{}}
	report.Result, report.Truncated = joinWords(words, separator, req.MaxLength)
	report.OutputBytes = len(report.Result)
	report.explain(req.Text, &w)
	return report, nil
}

// lower returns the words in small letters. In ASCII, i is the small letter of I in every language.
func (req *SlugRequest) lower(words []string, casing Locale) []string {
	text := strings.Join(words, " ")
	if !req.AllowUnicode {
		return strings.Fields(strings.ToLower(text))
	}
	return strings.Fields(norm.NFC.String(lower(text, casing)))
}

// joinWords joins as many words as the limit allows, or a part of the first; 0 is not a limit.
func joinWords(words []string, separator string, limit int) (slug string, truncated bool) {
	if limit == 0 || len(words) == 0 {
		return strings.Join(words, separator), false
	}
	length, n := -1, 0
	for _, word := range words {
		if length += 1 + utf8.RuneCountInString(word); length > limit {
			break
		}
		n++
	}
	if n > 0 {
		return strings.Join(words[:n], separator), n < len(words)
	}
	// The first word alone is too long. It is cut between graphemes, so that no accent is left alone.
	var b strings.Builder
	for rest, state := words[0], -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if limit -= utf8.RuneCountInString(cluster); limit < 0 {
			break
		}
		b.WriteString(cluster)
	}
	return b.String(), true
}

// explain says what the slug lacks, and why it is empty if it is.
func (r *SlugReport) explain(text string, w *slugWriter) {
	if w.droppedCount > 0 {
		more := ""
		if w.droppedCount > len(w.dropped) {
			more = " and others"
		}
		r.Findings = append(r.Findings, Finding{
			Code: "text.slug.dropped", Severity: Warning, Title: "Letters without a form in the slug",
			Detail: fmt.Sprintf("%d letters have no Latin form here and were omitted: %s%s.",
				w.droppedCount, string(w.dropped), more),
			Advice: "Set allow_unicode to keep them, or write them in Latin letters",
		})
	}
	if r.Result != "" {
		return
	}
	detail := "The text has nothing but white space."
	switch {
	case w.droppedCount > 0:
		r.Reason, detail = SlugNoLatinForm, "None of the letters in the text has a Latin form here."
	case strings.TrimSpace(text) != "":
		r.Reason, detail = SlugNoLetters, "The text has no letter or digit."
	default:
		r.Reason = SlugEmptyText
	}
	r.Findings = append(r.Findings, Finding{
		Code: "text.slug.empty", Severity: Error, Title: "Empty slug", Detail: detail,
		Advice: "Choose a name by hand, or use a number",
	})
}
