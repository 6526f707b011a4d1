package filters

import "strings"

type reader func(v *Verdict, value string)

type field struct {
	name   string // of the field
	vendor string
	read   reader
}

// note reads a field whose value is a detail, and no verdict.
func note(key string) reader { return func(v *Verdict, value string) { v.set(key, value) } }

// sealed reads a field whose value only the operator of the filter can read.
func sealed(key, why string) reader {
	return func(v *Verdict, _ string) { v.set(key, why+" for the operator") }
}

// A meaning is a judgment and the texts, separated by |, that stand for it: x is the whole text, x* its beginning, and
// *x* is somewhere in it.
type meaning struct {
	is    Judgment
	texts string
}

// find judges a text in lower case by the first meaning that fits.
func find(text string, meanings []meaning) (Judgment, bool) {
	for _, m := range meanings {
		for t := range strings.SplitSeq(m.texts, "|") {
			begin, open := strings.CutSuffix(t, "*")
			inner, anywhere := strings.CutPrefix(begin, "*")
			switch {
			case text == t, open && !anywhere && strings.HasPrefix(text, begin), anywhere && strings.Contains(text, inner):
				return m.is, true
			}
		}
	}
	return "", false
}

// says reads a field whose value, or first word, means a verdict; the value is a detail.
func says(key string, part func(string) string, meanings ...meaning) reader {
	return func(v *Verdict, value string) {
		v.set(key, value)
		if is, ok := find(strings.ToLower(part(value)), meanings); ok {
			v.Verdict = is
		}
	}
}

func whole(s string) string { return strings.TrimSpace(s) }

func firstWord(s string) string {
	if words := strings.Fields(s[:min(len(s), maxValue)]); len(words) > 0 {
		return words[0]
	}
	return ""
}

func flag(v *Verdict, value string) {
	v.flag(value, Spam)
	v.set("value", value)
}

// flag takes a verdict of a value such as Yes, True or 1.
func (v *Verdict) flag(value string, bad Judgment) {
	if is, known := yes(value); known {
		v.judge(is, bad)
	}
}

// yes reads Yes, True, 1 and the like; known is false for what is neither that nor its contrary.
func yes(value string) (is, known bool) {
	word, known := find(strings.ToLower(strings.TrimRight(firstWord(value), ",;.")), []meaning{
		{Spam, "yes|true|1|spam|y|positive"}, {NotSpam, "no|false|0|ham|n|notspam|negative|clean|ok|legit"},
	})
	return word == Spam, known
}

func score(v *Verdict, value string) {
	if !v.setScore(firstWord(value)) {
		v.set("value", value)
	}
}

// above reads a score that means spam from a limit on.
func above(limit float64, scale string) reader {
	return func(v *Verdict, value string) {
		if v.setScore(value) {
			v.judge(*v.Score >= limit, Spam)
			v.set("scale", scale)
		}
	}
}

// pairs splits key=value or key:value pairs at a separator; keys come in lower case.
func pairs(s, separators string, equals byte) [][2]string {
	var list [][2]string
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if key, value, ok := strings.Cut(part, string(equals)); ok && len(list) < maxDetails {
			list = append(list, [2]string{strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)})
		}
	}
	return list
}
