package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

type parser struct{ list *taglist.List }

func (p parser) bad(t taglist.Tag, k taglist.Kind, format string, args ...any) {
	p.list.Add(taglist.Fault{
		Kind: k, Text: fmt.Sprintf(format, args...), Offset: t.ValueOffset, Length: len(t.Value),
		Harmless: k == BadRemoved || k == Contradicted,
	})
}

// oneOf reads a value that is one of a few words. Their letter case does not matter (RFC 5234 section 2.3).
func (p parser) oneOf(name string, k taglist.Kind, without string, words ...string) string {
	t, ok := p.list.Tag(name)
	if !ok {
		return without
	}
	value := strings.ToLower(t.Value)
	if slices.Contains(words, value) {
		return value
	}
	text := fmt.Sprintf("the value %q of %s is not %s", diag.Quote(t.Value), t.Name, either(words))
	if meant := taglist.Nearest(t.Value, words...); meant != "" {
		text += fmt.Sprintf("; %q is probably meant", meant)
	} else if len(words[0]) == 1 && value != "" && slices.Contains(words, value[:1]) {
		text += fmt.Sprintf("; %q is probably meant", value[:1])
	}
	p.bad(t, k, "%s", text)
	return without
}

// either lists words for a sentence: "none, quarantine or reject".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (p parser) policy(name string) Policy {
	return Policy(p.oneOf(name, BadPolicy, "", None.Values()...))
}

func (p parser) alignment(name string) Alignment {
	if p.oneOf(name, BadAlignment, "r", "r", "s") == "s" {
		return Strict
	}
	return Relaxed
}

// options reads fo, of which 0 and 1 exclude each other (RFC 9989 section 4.7).
func (p parser) options() []string {
	t, ok := p.list.Tag("fo")
	if !ok {
		return []string{"0"}
	}
	var list []string
	for _, o := range parts(t.Value, ":") {
		o = strings.ToLower(o)
		if !slices.Contains([]string{"0", "1", "d", "s"}, o) {
			p.bad(t, BadOption, "the option %q of %s is not 0, 1, d or s", diag.Quote(o), t.Name)
			return []string{"0"}
		}
		if !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	if slices.Contains(list, "0") && slices.Contains(list, "1") {
		p.bad(t, Contradicted, "the options 0 and 1 of %s exclude each other", t.Name)
	}
	return list
}

// number reads the decimal number of a tag that RFC 9989 removed.
func (p parser) number(name string, without, most int64) int {
	t, ok := p.list.Tag(name)
	if !ok {
		return int(without)
	}
	n, err := strconv.ParseUint(t.Value, 10, 63)
	if err != nil || int64(n) > most {
		p.bad(t, BadRemoved, "the value %q of %s is not a number from 0 to %d", diag.Quote(t.Value), t.Name, most)
		return int(without)
	}
	return int(n)
}

// formats reads rf, which is a list of keywords (RFC 7489 section 6.4, RFC 5321 section 4.1.2).
func (p parser) formats() []string {
	t, ok := p.list.Tag("rf")
	if !ok {
		return []string{defaultReportFormat}
	}
	list := parts(strings.ToLower(t.Value), ":")
	for _, f := range list {
		if f == "" || strings.Trim(f, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(f, "-") {
			p.bad(t, BadRemoved, "%q of %s is not the name of a report format", diag.Quote(f), t.Name)
			return []string{defaultReportFormat}
		}
	}
	return list
}

func parts(value, separator string) []string {
	list := strings.Split(value, separator)
	for i := range list {
		list[i] = strings.Trim(list[i], white)
	}
	return list
}

const white = " \t\r\n"
