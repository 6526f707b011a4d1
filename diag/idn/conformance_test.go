package idn

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// testLine is a line of IdnaTestV2.txt.
type testLine struct {
	source, unicode, ascii   string
	unicodeFails, asciiFails bool
}

// parseLine reads a line of IdnaTestV2.txt; ok is false for one without a case.
func parseLine(t *testing.T, text string) (line testLine, ok bool) {
	t.Helper()
	text, _, _ = strings.Cut(text, "#")
	columns := strings.Split(text, ";")
	if len(columns) < 7 {
		return testLine{}, false
	}
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}
	or := func(s, other string) string {
		switch s {
		case "":
			return other
		case `""`:
			return ""
		}
		return unescape(t, s)
	}
	line.source = or(columns[0], "")
	line.unicode = or(columns[1], line.source)
	line.ascii = or(columns[3], line.unicode)
	status := columns[2]
	line.unicodeFails = status != "" && status != "[]"
	if columns[4] != "" {
		status = columns[4]
	}
	line.asciiFails = status != "" && status != "[]"
	return line, true
}

func unescape(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for s != "" {
		digits, rest := "", ""
		switch {
		case strings.HasPrefix(s, `\u`):
			digits, rest = s[2:6], s[6:]
		case strings.HasPrefix(s, `\x{`):
			digits, rest, _ = strings.Cut(s[3:], "}")
		default:
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		n, err := strconv.ParseUint(digits, 16, 21)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteRune(rune(n))
		s = rest
	}
	return b.String()
}

func TestConformanceIDNA(t *testing.T) {
	text, err := os.ReadFile(diagtest.Suite(t, "dns/idna/IdnaTestV2-17.0.txt")[0])
	if err != nil {
		t.Fatal(err)
	}
	passed, total := 0, 0
	for text := range strings.Lines(string(text)) {
		want, ok := parseLine(t, text)
		if !ok {
			continue
		}
		total++
		got := observe(want.source)
		if strings.ContainsRune(want.source, '\uFFFD') { // a lone surrogate, which UTF-8 cannot encode
			got.unicode, got.ascii, want.unicode, want.ascii = "", "", "", ""
		}
		if got != want {
			t.Errorf("%s got  %+v\n want %+v", text, got, want)
			continue
		}
		passed++
	}
	if total == 0 {
		t.Error("no cases")
	}
	t.Logf("idna: %d/%d", passed, total)
}

// observe processes a name, and reports which of the two operations fail for it. The test data count the final dot
// as an empty label, and check lengths of the ASCII form alone.
func observe(source string) testLine {
	n := process(source)
	got := testLine{source: source, unicode: n.unicode(), ascii: n.ascii()}
	got.asciiFails = n.root || len(got.ascii) > maxName
	if n.root {
		got.unicode, got.ascii = got.unicode+".", got.ascii+"."
	}
	for _, l := range n.labels {
		for _, f := range l.faults {
			got.asciiFails = true
			got.unicodeFails = got.unicodeFails || f.kind != longLabel
		}
	}
	return got
}

func TestConformancePunycode(t *testing.T) {
	for _, file := range []string{"punycode_tests.json", "bad_punycode_tests.json"} {
		type vector struct{ Description, Decoded, Encoded string }
		cases, passed := diagtest.Cases[vector](t, diagtest.Suite(t, "dns/idna/"+file)), 0
		for _, c := range cases {
			encoded, err := encodePunycode(c.Decoded)
			if c.Encoded == "" { // too long for any name
				if err == nil {
					t.Errorf("%s: was encoded", c.Description)
					continue
				}
				passed++
				continue
			}
			decoded, err2 := decodePunycode(c.Encoded)
			if err != nil || err2 != nil || encoded != c.Encoded || decoded != c.Decoded {
				t.Errorf("%s: %q, %v, %q, %v", c.Description, encoded, err, decoded, err2)
				continue
			}
			passed++
		}
		t.Logf("%s: %d/%d", file, passed, len(cases))
	}
}
