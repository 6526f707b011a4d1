package taglist

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Pieces cuts the text of a broken record into its tags, whatever stands between them: without the version, which
// version finds, and before each place in which tag finds the beginning of another tag. Quotation marks and characters
// that cannot be seen are left out.
func Pieces(text string, version, tag *regexp.Regexp) []string {
	text = Entities.Replace(text)
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"`\\“”„‟‘’‚‛«»", r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	var list []string
	for segment := range strings.SplitSeq(text, ";") {
		if at := version.FindStringIndex(segment); at != nil {
			segment = segment[at[1]:]
		}
		from := 0
		for _, at := range tag.FindAllStringIndex(segment, -1) {
			list, from = append(list, segment[from:at[0]]), at[0]
		}
		list = append(list, segment[from:])
	}
	for i := range list {
		list[i] = strings.TrimRight(strings.TrimLeft(list[i], " \t,"), " \t")
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
