package textutil

import (
	"strings"
	"unicode/utf8"
)

// yamlMask begins what stands for a character that the library takes for something else than YAML 1.2
// does, or refuses. It is the first character for private use; where the text has it, it is masked too.
const yamlMask = "\uE000"

// The line breaks of YAML 1.1, which are characters like others in YAML 1.2 (section 5.4), and what
// stands for them, for the mask itself, for nothing and, before four digits, for half a surrogate pair.
const (
	yamlMaskedMask      = yamlMask + "0"
	yamlMaskedNextLine  = yamlMask + "1"
	yamlMaskedLine      = yamlMask + "2"
	yamlMaskedParagraph = yamlMask + "3"
	yamlMaskedHalf      = yamlMask + "4"
	yamlMaskedNothing   = yamlMask + "5"
)

// yamlMasks replaces the characters in question by what stands for them.
var yamlMasks = strings.NewReplacer(yamlMask, yamlMaskedMask, "\u0085", yamlMaskedNextLine,
	"\u2028", yamlMaskedLine, "\u2029", yamlMaskedParagraph)

// maskable reports whether the text has characters to mask.
func maskable(text string) bool {
	return strings.Contains(text, yamlMask) || strings.Contains(text, "\u0085") ||
		strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")
}

// unmask returns a value with the characters that were masked. Surrogates that have no partner come as the
// three bytes that UTF-8 forbids.
func unmask(value string) string {
	if !strings.Contains(value, yamlMask) {
		return value
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(value, yamlMask)
		b.WriteString(before)
		if !found || rest == "" {
			return b.String()
		}
		value = rest[1:]
		switch yamlMask + rest[:1] {
		case yamlMaskedMask:
			b.WriteString(yamlMask)
		case yamlMaskedNextLine:
			b.WriteString("\u0085")
		case yamlMaskedLine:
			b.WriteString("\u2028")
		case yamlMaskedParagraph:
			b.WriteString("\u2029")
		case yamlMaskedHalf:
			half, _ := hexValue(value, 4)
			b.Write([]byte{0xE0 | byte(half>>12), 0x80 | byte(half>>6&0x3F), 0x80 | byte(half&0x3F)})
			value = value[4:]
		}
	}
}

// A yamlEdit is a piece of a line that the library sees in another form.
type yamlEdit struct {
	start, end int32 // in the text
	width      int32 // characters of the other form
}

// A yamlRewriter writes the text for the library: the same lines, in which some pieces are replaced.
type yamlRewriter struct {
	out    []byte
	copied int // bytes of the text that are done
}

// replace makes the library see something else in place of a piece of the text. Each call is for a
// piece behind the one before.
func (s *yamlScanner) replace(start, end int, with string) {
	s.out = append(append(s.out, s.text[s.copied:start]...), with...)
	s.copied = end
	s.edits = append(doubled(s.edits), yamlEdit{int32(start), int32(end), int32(utf8.RuneCountInString(with))})
}

// hide leaves out the end of a line. What is before it stays where it is.
func (s *yamlScanner) hide(start, end int) {
	s.out = append(s.out, s.text[s.copied:start]...)
	s.copied = end
}

// rewritten returns the text for the library.
func (s *yamlScanner) rewritten() []byte {
	s.out = append(s.out, s.text[s.copied:]...)
	s.copied = len(s.text)
	return s.out
}

// offset returns where in the text the library's line and column are, which count characters from 1.
func (s *yamlStream) offset(line, column int) int {
	at := s.lineStart(line)
	next := 0
	for high := len(s.edits); next < high; { // the first edit of the line
		if middle := (next + high) / 2; int(s.edits[middle].start) < at {
			next = middle + 1
		} else {
			high = middle
		}
	}
	for column--; column > 0 && at < len(s.text); {
		if next < len(s.edits) && int(s.edits[next].start) == at {
			edit := s.edits[next]
			if column < int(edit.width) {
				return at
			}
			column -= int(edit.width)
			at = int(edit.end)
			next++
			continue
		}
		if s.text[at] == '\n' {
			return at
		}
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
		column--
	}
	for next < len(s.edits) && int(s.edits[next].start) == at && s.edits[next].width == 0 {
		at = int(s.edits[next].end)
		next++
	}
	return at
}

// lineStart returns where a line begins, from 1.
func (s *yamlStream) lineStart(line int) int {
	at := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(s.text[at:], '\n')
		if i < 0 {
			return len(s.text)
		}
		at += i + 1
	}
	return at
}
