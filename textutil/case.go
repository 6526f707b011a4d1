package textutil

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// A Locale is a language with its own rules of case.
type Locale string

// The locales. Empty means Undetermined.
const (
	Undetermined Locale = "und" // the default rules of Unicode
	Turkish      Locale = "tr"
	Azerbaijani  Locale = "az"
	Lithuanian   Locale = "lt"
	Greek        Locale = "el"
)

// Values lists the locales.
func (Locale) Values() []string {
	return valuesOf(Undetermined, Turkish, Azerbaijani, Lithuanian, Greek)
}

// A CaseRequest asks for a text in another case.
type CaseRequest struct {
	Text   string `json:"text" maxbytes:"1048576" doc:"the text, valid UTF-8" example:"Straße"`
	Locale Locale `json:"locale,omitempty" enum:"und tr az lt el" default:"und" doc:"language whose rules of case apply"`
}

// A CaseReport is a text in another case.
type CaseReport struct {
	Result      string `json:"result" doc:"the text in the other case"`
	InputBytes  int    `json:"input_bytes" min:"0" doc:"length of the text in bytes"`
	OutputBytes int    `json:"output_bytes" min:"0" doc:"length of the result in bytes"`
	Changed     bool   `json:"changed" doc:"whether the result differs from the text"`
}

// Lower returns the text in lower case, with Unicode's full case mapping and the rules of the locale. The
// error is an *[InputError].
func Lower(req CaseRequest) (*CaseReport, error) {
	ascii, err := req.check('I')
	if err != nil {
		return nil, err
	}
	if ascii {
		// For ASCII the simple mapping is the full one, and the library has a fast path for it.
		return req.report(strings.ToLower(req.Text)), nil
	}
	return req.report(lower(req.Text, req.Locale)), nil
}

// Upper returns the text in upper case, with Unicode's full case mapping and the rules of the locale. The
// error is an *[InputError].
func Upper(req CaseRequest) (*CaseReport, error) {
	ascii, err := req.check('i')
	if err != nil {
		return nil, err
	}
	if ascii {
		return req.report(strings.ToUpper(req.Text)), nil
	}
	return req.report(upper(req.Text, req.Locale)), nil
}

// check validates the request, and reports whether the mapping of ASCII is enough for it: the text
// has no other characters, nor the letter i of the given case if the locale is one with a dotless i.
func (req CaseRequest) check(i byte) (ascii bool, err error) {
	switch req.Locale {
	case "", Undetermined, Lithuanian, Greek:
		i = 0x80
	case Turkish, Azerbaijani:
	default:
		return false, invalid("locale", "%.40q is not one of und, tr, az, lt, el", string(req.Locale))
	}
	if len(req.Text) <= MaxText && isPlain(req.Text, i) {
		return true, nil
	}
	return false, checkText("text", req.Text)
}

// isPlain reports whether the text has ASCII characters only, and not the one given.
func isPlain(text string, except byte) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x80 || c == except {
			return false
		}
	}
	return true
}

func (req CaseRequest) report(result string) *CaseReport {
	return &CaseReport{Result: result, InputBytes: len(req.Text), OutputBytes: len(result), Changed: result != req.Text}
}

// upper returns valid UTF-8 in upper case.
func upper(text string, locale Locale) string {
	switch locale {
	case Turkish, Azerbaijani:
		text = strings.ReplaceAll(text, "i", "İ")
	case Lithuanian:
		text = withoutSoftDots(text)
	case Greek:
		return greekUpper(text)
	}
	return cases.Upper(language.Und).String(text)
}
