package textutil

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hostileTime bounds how long every text takes, on a slow and busy machine under the race detector: what
// is not linear takes many minutes. hostileMemory is what it may take beyond the text itself.
const hostileTime = time.Minute

// answered checks that both operations answer a text within the bounds.
func answered(t *testing.T, text string) {
	t.Helper()
	operations := map[string]func() (string, error){
		"to-json": func() (string, error) { return readYAML(text).toJSON(2, true, maxResult) },
		"format":  func() (string, error) { return readYAML(text).format(2, true, maxResult) },
	}
	for name, operate := range operations {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		result, err := operate()
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if took > hostileTime || allocated > hostileMemory+uint64(len(text)) {
			t.Errorf("%s took %v and %d MB for %d bytes", name, took, allocated>>20, len(text))
		}
		var wrong *yamlError
		var input *InputError
		if err != nil && !errors.As(err, &wrong) && !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%-8s %8d bytes: %v, %d MB, %d bytes, %v", name, len(text), took.Round(time.Millisecond), allocated>>20,
			len(result), err)
	}
}

func TestYAMLHostile(t *testing.T) {
	const most = MaxText / 2 // the race detector is slow
	fill := func(unit string) string { return strings.Repeat(unit, most/len(unit)) }
	lines := func(write func(b *strings.Builder, i int)) string {
		var b strings.Builder
		for i := 0; b.Len() < most-64; i++ {
			write(&b, i)
		}
		return b.String()
	}
	cases := []struct{ name, text string }{
		{"flow items", "[" + fill("a,")[2:] + "]"},
		{"flow mappings", "[" + fill("{},")[3:] + "]"},
		{"flow pairs", "[" + fill("a: b,")[5:] + "]"},
		{"open brackets", fill("[")},
		{"open mappings", fill("{a: ")},
		{"open mixture", fill("[a,{b: ")},
		{"nested dashes", fill("- ")},
		{"nested keys", fill("? ")},
		{"dashes", fill("-\n")},
		{"explicit keys", fill("? a\n")},
		{"same keys", fill("a:\n")},
		{"many keys", lines(func(b *strings.Builder, i int) { b.WriteString("k" + strconv.Itoa(i) + ": v\n") })},
		{"many anchors", lines(func(b *strings.Builder, i int) { b.WriteString("- &k" + strconv.Itoa(i) + "\n") })},
		{"many aliases", "a: &a [" + strings.Repeat("x,", 20000) + "]\nb: [" + strings.Repeat("*a,", 20000) + "]"},
		{"chained aliases", lines(func(b *strings.Builder, i int) {
			if i == 0 {
				b.WriteString("- &a0 [x]\n")
				return
			}
			b.WriteString("- &a" + strconv.Itoa(i) + " [*a" + strconv.Itoa(i-1) + "]\n")
		})},
		{"merges", "- &m0 {a: b}\n" + lines(func(b *strings.Builder, i int) {
			n := strconv.Itoa(i)
			b.WriteString("- &m" + strconv.Itoa(i+1) + " {<<: *m" + n + ", k" + n + ": v}\n")
		})},
		{"collections as keys", laughs(9, 9) + lines(func(b *strings.Builder, i int) { b.WriteString("? *a5\n: x\n") })},
		{"laughs", laughs(9, 9)},
		{"tall laughs", laughs(2, 200)},
		{"comments", fill("# c\n")},
		{"comments between items", fill("- a\n# c\n")},
		{"comments in brackets", "[" + fill("a, # c\n")[7:] + "\n]"},
		{"comments above one item", "a:\n" + fill(" # c\n") + " b: c"},
		{"documents", fill("---\n")},
		{"document ends", fill("...\n")},
		{"directives", fill("%A\n")},
		{"empty lines in a plain scalar", "a: b" + fill("\n") + " c"},
		{"empty lines in quotes", "a: \"" + fill("\n ") + " \""},
		{"spaces", "a: b" + fill(" ") + "c"},
		{"spaces at line ends", "a: \"" + fill("x        \n ") + "\""},
		{"escaped spaces", "a: \"" + fill(`\ `) + "\n x\""},
		{"literal lines", "a: |\n" + fill("  x\n")},
		{"literal empty lines", "a: |+\n" + fill("\n")},
		{"literal deep", "a: |\n" + strings.Repeat(" ", most/2) + "x\n" + strings.Repeat(" ", most/2) + "y"},
		{"folded lines", "a: >\n" + fill(" x\n\n")},
		{"quotes", fill("''\n")},
		{"long key", fill("k") + ": v"},
		{"long hexadecimal numbers", fill("- 0x" + strings.Repeat("f", maxRadixDigits) + "\n")},
		{"long hexadecimal number", "0x" + fill("f")},
		{"infinities", "[" + fill(".inf,")[5:] + "]"},
		{"tags", fill("- !!str\n")},
		{"tag directives", lines(func(b *strings.Builder, i int) { b.WriteString("%TAG !" + strconv.Itoa(i) + "! x\n") })},
		{"carriage returns", fill("\r")},
		{"surrogates", "\"" + fill(`\ud800`) + "\""},
		{"low brackets", "a:\n - [\n" + fill(" ],\n - [\n")},
		{"control characters", "\"" + fill("\u0085\u007f") + "\""},
		{"deep indentation", "a:\n" + strings.Repeat(" ", most/3) + "b:\n" + strings.Repeat(" ", most/3+1) + "c: d"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { answered(t, c.text) })
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

var (
	recipeRepeat = regexp.MustCompile(`^"(.*)"\*([0-9]+)$`)
	recipeSpaces = regexp.MustCompile(`^([0-9,]+) spaces$`)
	recipeLaughs = regexp.MustCompile(`\[lol\*([0-9]+)\].*\*a\(i-1\) \* [0-9]+\] for i<([0-9]+)$`)
)

// fromRecipe returns the text that a recipe of hostile_generators.json describes.
func fromRecipe(recipe string) (string, bool) {
	if m := recipeLaughs.FindStringSubmatch(recipe); m != nil {
		width, _ := strconv.Atoi(m[1])
		height, _ := strconv.Atoi(m[2])
		return laughs(width, height), true
	}
	var b strings.Builder
	for i, part := range strings.Split(recipe, " + ") {
		if m := recipeRepeat.FindStringSubmatch(part); m != nil {
			count, _ := strconv.Atoi(m[2])
			b.WriteString(strings.Repeat(m[1], count))
		} else if m := recipeSpaces.FindStringSubmatch(part); m != nil {
			count, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
			b.WriteString(strings.Repeat(" ", count))
		} else if i == 0 && len(part) > 3 {
			return "", false
		} else {
			b.WriteString(part)
		}
	}
	return b.String(), true
}

func TestConformanceYAMLHostile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectors(t, "yaml"), "hostile_generators.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ ID, Gen, Limit string }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, c := range cases {
		text, ok := fromRecipe(c.Gen)
		if !ok {
			t.Logf("the recipe %q is not understood", c.Gen)
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			answered(t, text)
			_, err := readYAML(text).toJSON(2, false, maxResult)
			switch {
			case strings.HasPrefix(c.Limit, "reject <") && err == nil:
				t.Error("accepted")
			case strings.HasPrefix(c.Limit, "accept") && err != nil:
				t.Error(err)
			}
		})
		if !t.Failed() {
			passed++
		}
	}
	t.Logf("hostile: %d/%d", passed, len(cases))
}
