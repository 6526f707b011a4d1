package httpapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/textutil"
)

// textView returns the view of a report of textutil, which is a leaf and knows no views: what was done, or why not.
// For other reports it returns nil.
func textView(report any) *view.View {
	switch r := report.(type) {
	case *textutil.CaseReport:
		done := map[bool]string{true: "converted", false: "nothing to convert"}[r.Changed]
		return conversionView(done, &r.Result, r.InputBytes, nil)
	case *textutil.SlugReport:
		return slugView(r)
	case *textutil.Base64EncodeReport:
		alphabet := strings.ReplaceAll(string(r.Variant), "_", "-")
		return conversionView("Base64, "+alphabet+" alphabet", &r.Result, r.InputBytes, nil)
	case *textutil.URLEncodeReport:
		return conversionView("percent-encoded", &r.Result, r.InputBytes, nil)
	case *textutil.Base64DecodeReport:
		return decodedView("Base64", r.Error, r.Result, r.ResultHex, r.InputBytes, r.OutputBytes)
	case *textutil.URLDecodeReport:
		return decodedView("percent-encoding", r.Error, r.Result, r.ResultHex, r.InputBytes, r.OutputBytes)
	case *textutil.JSONReport:
		if e := r.Error; e != (textutil.JSONError{}) {
			return notValid("JSON", fmt.Sprintf("line %d, column %d", e.Line, e.Column), e.Message)
		}
		return conversionView("valid JSON"+nestedText(r.RootType, r.Depth), r.Result, r.InputBytes, r.Findings)
	case *textutil.YAMLReport:
		if e := r.Error; e != (textutil.YAMLError{}) {
			return notValid("YAML", fmt.Sprintf("line %d, column %d", e.Line, e.Column), e.Message)
		}
		documents := view.TextIf(r.DocumentsCount != 1, ", "+phrase.Count(r.DocumentsCount, "document"))
		return conversionView("valid YAML"+nestedText(r.RootType, r.Depth)+documents, r.Result, r.InputBytes, r.Findings)
	case *textutil.StatsReport:
		return statsView(r)
	case *textutil.HashReport:
		return hashView(r)
	case *textutil.PasswordReport:
		return passwordView(r)
	case *textutil.RegexReport:
		return regexView(r)
	}
	return nil
}

// nestedText describes how deep a value is, or its type if it is flat.
func nestedText(root textutil.RootType, depth int) string {
	return cmp.Or(view.TextIf(depth == 0, ": "+string(root)), ", "+phrase.Count(depth, "level")+" deep")
}

// conversionView is the view of a text in another form: the result itself if it is a line.
func conversionView(done string, result *string, bytes int, findings []textutil.Finding) *view.View {
	v := view.Answer("", done)
	if result != nil {
		if utf8.RuneCountInString(*result) <= maxShownResult && !strings.Contains(*result, "\n") {
			v.Fact("result", *result)
		}
		v.Fact("bytes", fmt.Sprintf("%d → %d", bytes, len(*result)))
	}
	v.Judged(textFindings(findings))
	v.Advise()
	return v
}

// maxShownResult bounds a result that is shown within a view, in characters; a longer one is only in the report.
const maxShownResult = 400

// notValid returns the view of an invalid text: where, and why.
func notValid(kind, where, message string) *view.View {
	v := view.Answer("", view.Join("not valid "+kind, where))
	v.State, v.Sub = diag.Bad, phrase.Capitalize(message)
	return v
}

func decodedView(kind string, fault textutil.DecodeFault, result *string, hex string, before, after int) *view.View {
	if fault != (textutil.DecodeFault{}) {
		return notValid(kind, fmt.Sprintf("byte %d", fault.Offset), fault.Message)
	}
	v := conversionView("valid "+kind, result, before, nil)
	if result == nil {
		v = view.Answer("", "no text in UTF-8, but "+phrase.Count(after, "byte"))
		v.Fact("in hex", phrase.Clip(hex, maxShownResult))
	}
	return v
}

func slugView(r *textutil.SlugReport) *view.View {
	done := "slug of " + phrase.Count(utf8.RuneCountInString(r.Result), "character") +
		view.TextIf(r.Truncated, ", cut off")
	done = cmp.Or(view.TextIf(r.Reason != "", "nothing left: "+view.Words(r.Reason)), done)
	return conversionView(done, &r.Result, r.InputBytes, r.Findings)
}

func statsView(r *textutil.StatsReport) *view.View {
	v := view.Answer("", phrase.Count(r.Words, "word")+", "+phrase.Count(r.Graphemes, "character"))
	v.Fact("characters", fmt.Sprintf("%d, %d without spaces", r.Characters, r.CharactersWithoutSpaces))
	v.Fact("bytes", fmt.Sprintf("%d in UTF-8, %d units in UTF-16", r.Bytes, r.UTF16Units))
	v.Fact("words", fmt.Sprintf("%d different, average length %g", r.UniqueWords, r.AverageWordLength))
	v.Fact("sentences", fmt.Sprintf("%d in %s", r.Sentences, phrase.Count(r.Paragraphs, "paragraph")))
	v.Fact("lines", fmt.Sprintf("%d, %d empty", r.Lines, r.EmptyLines))
	v.Fact("longest", r.LongestWord)
	v.Fact("to read", view.Seconds(r.ReadingTimeSeconds))
	v.Judged(textFindings(r.Findings))
	d := v.Rows(view.Bars, "Most frequent words")
	for _, w := range r.TopWords {
		d.Bar(int64(w.Count), view.None, w.Word, fmt.Sprint(w.Count))
	}
	return v
}

func hashView(r *textutil.HashReport) *view.View {
	kind := cmp.Or(view.TextIf(r.HMAC, "HMAC"), "digest")
	v := view.Answer("", fmt.Sprintf("%s of %s", phrase.Count(len(r.Hashes), kind), phrase.Count(r.InputBytes, "byte")))
	weak := kit.Map(r.Weak, func(a textutil.HashAlgorithm) string { return fmt.Sprintf("%s (%s)", a, r.Security[a]) })
	v.Fact("weak", phrase.Series(weak, len(weak)))
	d := v.Rows(view.Table, "Digests")
	for _, name := range slices.Sorted(maps.Keys(r.Hashes)) {
		d.Row(string(name), r.Hashes[name])
	}
	return v
}

func passwordView(r *textutil.PasswordReport) *view.View {
	v := view.Answer("", fmt.Sprintf("%s of %.0f bits: %s",
		phrase.Count(r.Count, "password"), r.EntropyBits, view.Words(r.Strength)))
	v.Fact("drawn from", fmt.Sprintf("%d to choose from, %d times", r.AlphabetSize, r.Length))
	d := v.Rows(view.Table, "Passwords")
	for _, p := range r.Passwords {
		d.Row(p)
	}
	return v
}

func regexView(r *textutil.RegexReport) *view.View {
	if e := r.Error; e != (textutil.RegexFault{}) {
		where := ""
		if e.Position != nil {
			where = fmt.Sprintf("byte %d of the pattern", *e.Position)
		}
		v := notValid("RE2", where, e.Message)
		v.Fact("instead", e.Hint)
		return v
	}
	v := view.Answer("", strings.Replace(phrase.Count(r.MatchCount, "match"), "matchs", "matches", 1))
	if r.Result != nil {
		v = conversionView(v.Headline+" replaced", r.Result, r.InputBytes, nil)
	}
	v.Judged(textFindings(r.Findings))
	v.Advise()
	d := v.Rows(view.Table, "Matches", "bytes", "match", "groups")
	for _, m := range r.Matches {
		var groups []string
		for _, g := range m.Groups {
			if g.Value != nil {
				groups = append(groups, strings.TrimPrefix(g.Name+"="+phrase.Clip(*g.Value, maxShownMatch), "="))
			}
		}
		d.Row(fmt.Sprintf("%d-%d", m.Start, m.End), phrase.Clip(m.Value, maxShownMatch), strings.Join(groups, ", "))
	}
	return v
}

// maxShownMatch bounds a match that is shown, in bytes.
const maxShownMatch = 200

// textFindings are findings of textutil as those of the rest. Their places are in a text that the report does not hold.
func textFindings(list []textutil.Finding) []diag.Finding {
	return kit.Map(list, func(f textutil.Finding) diag.Finding {
		finding := diag.Finding{
			Code: diag.Code(f.Code), Title: f.Title, Detail: f.Detail, Advice: f.Advice, Reference: f.Reference,
		}
		if finding.Severity.UnmarshalText([]byte(f.Severity)) != nil {
			finding.Severity = diag.Warning
		}
		return finding
	})
}
