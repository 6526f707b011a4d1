package textutil

import (
	"errors"
	"regexp"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// answered checks that both operations answer a text within the bounds: hostileTime, and hostileMemory for the
// growth of the heap beyond the text itself.
func answered(t *testing.T, text string) {
	t.Helper()
	operations := map[string]func() (string, error){
		"to-json": func() (string, error) { return readYAML(text).toJSON(2, true, maxResult) },
		"format":  func() (string, error) { return readYAML(text).format(2, true, maxResult) },
	}
	for name, operate := range operations {
		var result string
		var err error
		grown, took := peak(func() { result, err = operate() })
		if took > hostileTime || grown > hostileMemory {
			t.Errorf("%s took %v and %d MB for %d bytes", name, took, grown>>20, len(text))
		}
		var wrong *yaml.SyntaxError
		var input *InputError
		if err != nil && !errors.As(err, &wrong) && !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%-8s %8d bytes: %v, %d MB, %d bytes, %v", name, len(text), took.Round(time.Millisecond), grown>>20,
			len(result), err)
	}
}

// peak returns by how much the heap grows at most while f runs, as far as looking at it every tenth of a
// millisecond tells, and what processor time that takes.
func peak(f func()) (grown uint64, took time.Duration) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before := heap()
	most := before
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(100 * time.Microsecond)
		defer ticker.Stop()
		for {
			most = max(most, heap())
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	begin := diagtest.ProcessorTime()
	f()
	took = diagtest.ProcessorTime() - begin
	close(stop)
	<-stopped
	return most - before, took
}

func TestYAMLHostile(t *testing.T) {
	length := hostileLength
	if testing.Short() {
		length /= 16 // what is not linear shows at any length, only less
	}
	for _, c := range hostileTexts(length) {
		if diagtest.Sampled(c.name, 4) {
			t.Run(c.name, func(t *testing.T) { answered(t, c.text()) })
		}
	}
}

// TestYAMLTakesOrdinaryTexts holds that the limits are not for texts that people write, be they as long as can be.
func TestYAMLTakesOrdinaryTexts(t *testing.T) {
	most := hostileLength
	if testing.Short() {
		most /= 16
	}
	text := largeYAML()[:most]
	texts := map[string]string{
		"records":   text[:strings.LastIndexByte(text, '\n')+1],
		"addresses": strings.Repeat("- 192.0.2.1\n", most/12),
		"zones":     "zones:\n" + strings.Repeat("- {name: example.com, ttl: 3600} # zone\n", most/41),
		"points":    "points: [" + strings.Repeat("[13.404954, 52.520008], ", most/25) + "]",
		"settings":  strings.Repeat("- retries: 3\n  host: www.example.com\n", most/40),
	}
	for name, text := range texts {
		report, err := YAMLToJSON(YAMLToJSONRequest{Text: text})
		if err != nil || !report.Valid {
			t.Errorf("%s: %v", name, err)
		}
		if report, err := FormatYAML(YAMLFormatRequest{Text: text}); err != nil || !report.Valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A hostileText is made when it is needed, lest the collector have more to keep.
type hostileText struct {
	name string
	text func() string
}

// hostileTexts returns texts of so many bytes that cost as much as can be.
func hostileTexts(most int) []hostileText {
	// repeated returns a text with a unit as often as there is room.
	repeated := func(before, unit, behind string) func() string {
		return func() string {
			return before + strings.Repeat(unit, (most-len(before)-len(behind))/len(unit)) + behind
		}
	}
	// times returns a text with a unit so many times, or as often as there is room.
	times := func(before, unit, behind string, count int) func() string {
		return func() string {
			return before + strings.Repeat(unit, min(count, (most-len(before)-len(behind))/len(unit))) + behind
		}
	}
	// numbered returns a text with a unit repeated count times, in which its number replaces "#" and the number
	// before it "@".
	numbered := func(before, unit string, count int) func() string {
		return func() string {
			text := []byte(before)
			for i := 1; i <= count && len(text) < most-64-len(unit); i++ {
				for _, c := range []byte(unit) {
					switch c {
					case '#':
						text = strconv.AppendInt(text, int64(i), 10)
					case '@':
						text = strconv.AppendInt(text, int64(i-1), 10)
					default:
						text = append(text, c)
					}
				}
			}
			return string(text)
		}
	}
	const many, allowed = 1 << 20, maxYAMLNodes - 100
	return []hostileText{
		{"flow items", repeated("[", "a,", "]")},
		{"flow mappings", repeated("[", "{},", "]")},
		{"flow pairs", repeated("[", "a: b,", "]")},
		{"empty flow pairs as many as allowed", times("[", ":,", "]", allowed/3)},
		{"empty flow pairs", repeated("[", ":,", "]")},
		{"open brackets", repeated("", "[", "")},
		{"open mappings", repeated("", "{a: ", "")},
		{"open mixture", repeated("", "[a,{b: ", "")},
		{"nested dashes", repeated("", "- ", "")},
		{"nested keys", repeated("", "? ", "")},
		{"dashes", repeated("", "-\n", "")},
		{"numbers of another kind", repeated("", "- 1_x\n", "")},
		{"items", repeated("", "- 1\n", "")},
		{"numbers of YAML 1.1", repeated("", "- 1:1\n", "")},
		{"dates that are none", repeated("", "- 2001-1\n", "")},
		{"explicit keys", repeated("", "? a\n", "")},
		{"same keys", repeated("", "a:\n", "")},
		{"many keys", numbered("", "k#: v\n", many)},
		{"many anchors", numbered("", "- &k#\n", many)},
		{"many anchors with other names", numbered("", "- &é#\n", many)},
		{"same anchor", repeated("", "- &a\n", "")},
		{"many aliases", func() string {
			return "a: &a [" + strings.Repeat("x,", 20000) + "]\nb: [" + strings.Repeat("*a,", 20000) + "]"
		}},
		{"chained aliases", numbered("- &a0 [x]\n", "- &a# [*a@]\n", many)},
		{"merges", numbered("- &m0 {a: b}\n", "- &m# {<<: *m@, k@: v}\n", many)},
		{"collections as keys", numbered(laughs(9, 9), "? *a5\n: x\n", many)},
		{"keys in keys", times("", "? ", "a", 200)},
		{"keys in keys as many as allowed", times("", "? ", "a", 20)},
		{"keys in keys in brackets", func() string { return strings.Repeat("{? ", 200) + strings.Repeat("}", 200) }},
		{"laughs", func() string { return laughs(9, 9) }},
		{"tall laughs", func() string { return laughs(2, 200) }},
		{"no-break spaces", repeated("a: x", "\u00a0", "x")},
		{"no-break spaces behind colons", repeated("a: x y", ":\u00a0", "x")},
		{"tags", numbered("", "- !t# x\n", many)},
		{"same tag", repeated("", "- !t x\n", "")},
		{"functions in functions", times("a: ", "!Join [", "", 200)},
		{"placeholders", repeated("[", "{{a}},", "]")},
		{"comments as values", repeated("", "- #a\n", "")},
		{"comments behind one value", repeated("- a", " #1", "")},
		{"long fractions", repeated("", "- 1.2345678901234567891e-29\n", "")},
		{"long integers", repeated("", "- 12345678901234567890\n", "")},
		{"lines without spaces", repeated("a:\n", "  b:1\n", "")},
		{"items in a scalar", repeated("a: b\n", "  - c\n", "")},
		{"indentation that fits nothing", repeated("a:\n", "    - b\n", "  c")},
		{"dash too far left", repeated("a:\n", "  - b\n", "- c")},
		{"anchors alone", repeated("", "- &a;\n", "")},
		{"comments", repeated("", "# c\n", "")},
		{"comments between items", repeated("", "- a\n# c\n", "")},
		{"comments behind items", repeated("", "- a # c\n", "")},
		{"comments behind blocks", repeated("", "- |\n #\n", "")},
		{"comments in brackets", repeated("[", "a, # c\n", "\n]")},
		{"comments above one item", repeated("a:\n", " # c\n", " b: c")},
		{"documents", repeated("", "---\n", "")},
		{"document ends", repeated("", "...\n", "")},
		{"directives", repeated("", "%A\n", "")},
		{"empty lines in a plain scalar", repeated("a: b", "\n", " c")},
		{"empty lines in quotes", repeated("a: \"", "\n ", " \"")},
		{"spaces", repeated("a: b", " ", "c")},
		{"spaces at line ends", repeated("a: \"", "x        \n ", "\"")},
		{"escaped spaces", repeated("a: \"", `\ `, "\n x\"")},
		{"literal lines", repeated("a: |\n", "  x\n", "")},
		{"literal lines without indentation", repeated("|\n", "x\n", "")},
		{"literal empty lines", repeated("a: |+\n", "\n", "")},
		{"literal deep", func() string {
			return "a: |\n" + strings.Repeat(" ", most/2) + "x\n" + strings.Repeat(" ", most/2) + "y"
		}},
		{"folded lines", repeated("a: >\n", " x\n\n", "")},
		{"quotes", repeated("", "''\n", "")},
		{"lines in quotes", repeated("\"", "a\n", "\"")},
		{"long key", repeated("", "k", ": v")},
		{"long hexadecimal numbers", repeated("", "- 0x"+strings.Repeat("f", 4096)+"\n", "")},
		{"long hexadecimal number", repeated("0x", "f", "")},
		{"keys of long exponents", numbered("", "1e"+strings.Repeat("9", 4000)+"#:\n", many)},
		{"key of a chain of aliases", func() string {
			last := min(30_000, most/30)
			return numbered("- &a0 [x]\n", "- &a# [*a@]\n", last)() + "- ? [*a" + strconv.Itoa(last) + "]\n  : x\n"
		}},
		{"collections as keys of one mapping", numbered("", "? {b: [#], a: c}\n", many)},
		{"booleans of YAML 1.1", repeated("", "- no\n", "")},
		{"infinities", repeated("[", ".inf,", "]")},
		{"tags", repeated("", "- !!str\n", "")},
		{"tags of a long prefix", repeated("%TAG !e! "+strings.Repeat("x", 1000)+"\n---\n", "- !e!a\n", "")},
		{"tag directives", numbered("", "%TAG !#! x\n", many)},
		{"carriage returns", repeated("", "\r", "")},
		{"surrogates", repeated("\"", `\ud800`, "\"")},
		{"line breaks of YAML 1.1", repeated("", "\u0085", "")},
		{"line breaks of YAML 1.1 in quotes", repeated("\"", "\u2028", "\"")},
		{"low brackets", repeated("a:\n - [\n", " ],\n - [\n", "")},
		{"control characters", repeated("\"", "\u0085\u007f", "\"")},
		{"deep indentation", func() string {
			return "a:\n" + strings.Repeat(" ", most/3) + "b:\n" + strings.Repeat(" ", most/3+1) + "c: d"
		}},
		{"JSON list", repeated("[", "1,", "1]")},
		{"JSON objects", repeated("[", "{},", "1]")},
		{"JSON members", func() string { return numbered("{\"0\":0", ",\"#\":1", many)() + "}" }},
	}
}

// laughs returns lists of aliases of lists of aliases, so many high.
func laughs(width, height int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [" + strings.TrimSuffix(strings.Repeat("lol, ", width), ", ") + "]\n")
	for i := 1; i < height; i++ {
		n := strconv.Itoa(i)
		items := strings.TrimSuffix(strings.Repeat("*a"+strconv.Itoa(i-1)+", ", width), ", ")
		b.WriteString("a" + n + ": &a" + n + " [" + items + "]\n")
	}
	return b.String()
}

// TestYAMLBoundsAliases bounds the expansion of aliases by the length of the text: a thousand bytes must not become
// megabytes.
func TestYAMLBoundsAliases(t *testing.T) {
	small := aliasedResult
	ten := "a: &a [" + strings.TrimSuffix(strings.Repeat("0123456789,", 1000), ",") + "]\n"
	large := aliasedFactor * (len(ten) + len(copies(20)))
	cases := []struct {
		name, text string
		limit      int // in the error, or 0 if it has none
	}{
		{"laughs", laughs(9, 9), small},
		{"few laughs", laughs(2, 6), 0},
		{"tall laughs", laughs(2, 40), small},
		{"some copies", ten + copies(3), 0},
		{"many copies", ten + copies(20), large},
		{"keys", laughs(8, 5) + "? *a4\n: x", small},
		{"no aliases", strings.Repeat("- ", 200) + "a\n", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := YAMLToJSON(YAMLToJSONRequest{Text: c.text})
			if c.limit == 0 {
				if err != nil || !report.Valid {
					t.Error(report, err)
				}
				return
			}
			input, ok := errors.AsType[*InputError](err)
			if !ok || !strings.Contains(input.Reason, "more than "+strconv.Itoa(c.limit)+" bytes of JSON with its aliases") {
				t.Errorf("%v, want a limit of %d", err, c.limit)
			}
			if report, err := FormatYAML(YAMLFormatRequest{Text: c.text}); err != nil || !report.Valid {
				t.Errorf("what writes out no aliases has no such limit: %v", err)
			}
		})
	}
}

// copies returns so many aliases of the anchor a.
func copies(count int) string {
	var b strings.Builder
	for i := range count {
		b.WriteString("b" + string(rune('a'+i)) + ": *a\n")
	}
	return b.String()
}

var (
	recipeRepeat = regexp.MustCompile(`^"(.*)"\*([0-9]+)$`)
	recipeSpaces = regexp.MustCompile(`^([0-9,]+) spaces$`)
	recipePlain  = regexp.MustCompile(`^([a-z]:|[a-z0-9])$`)
	recipeLaughs = regexp.MustCompile(`\[lol\*([0-9]+)\].*\*a\(i-1\) \* [0-9]+\] for i<([0-9]+)$`)
)

// fromRecipe returns the text that a recipe of hostile_generators.json describes: a part after the other, each a
// piece in quotes so many times, so many spaces, or text as it is.
func fromRecipe(recipe string) (string, bool) {
	if m := recipeLaughs.FindStringSubmatch(recipe); m != nil {
		width, _ := strconv.Atoi(m[1])
		height, _ := strconv.Atoi(m[2])
		return laughs(width, height), true
	}
	var b strings.Builder
	for part := range strings.SplitSeq(recipe, " + ") {
		if m := recipeRepeat.FindStringSubmatch(part); m != nil {
			count, _ := strconv.Atoi(m[2])
			b.WriteString(strings.Repeat(m[1], count))
		} else if m := recipeSpaces.FindStringSubmatch(part); m != nil {
			count, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
			b.WriteString(strings.Repeat(" ", count))
		} else if recipePlain.MatchString(part) {
			b.WriteString(part)
		} else {
			return "", false
		}
	}
	return b.String(), true
}

func TestRecipesAreUnderstoodOrNot(t *testing.T) {
	for recipe, want := range map[string]string{
		`"- "*3 + x`: "- - - x", `a: + 3 spaces + 1`: "a:   1", `"[a,{b: "*2`: "[a,{b: [a,{b: ",
		`a0: &a0 [lol*2]; ai: &ai [*a(i-1) * 2] for i<2`: "a0: &a0 [lol, lol]\na1: &a1 [*a0, *a0]\n",
		`a merge of <<: 20 deep`:                         "", `"x" repeated`: "", `x for i<9`: "", `3 tabs`: "",
	} {
		if got, ok := fromRecipe(recipe); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", recipe, got, ok, want)
		}
	}
}

func TestConformanceYAMLHostile(t *testing.T) {
	type recipe struct{ ID, Gen, Limit string }
	cases, passed := diagtest.Cases[recipe](t, diagtest.Vectors(t, "text/yaml/hostile_generators.json")), 0
	for _, c := range cases {
		text, ok := fromRecipe(c.Gen)
		if !ok {
			t.Errorf("the recipe %q is not understood: teach fromRecipe what it means", c.Gen)
			continue
		}
		if t.Run(c.ID, func(t *testing.T) {
			answered(t, text)
			_, err := readYAML(text).toJSON(2, false, maxResult)
			switch {
			case strings.HasPrefix(c.Limit, "reject <") && err == nil:
				t.Error("accepted")
			case strings.HasPrefix(c.Limit, "accept") && err != nil:
				t.Error(err)
			case !strings.HasPrefix(c.Limit, "reject") && !strings.HasPrefix(c.Limit, "accept"):
				t.Errorf("the limit %q is not understood", c.Limit)
			}
		}) {
			passed++
		}
	}
	t.Logf("hostile: %d/%d", passed, len(cases))
}
