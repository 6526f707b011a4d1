package textutil_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/textutil"
)

// said returns what the findings say, a line for each: the severity, the code, the detail and the advice.
func said(findings []textutil.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(string(f.Severity) + " " + f.Code + ": " + f.Detail + " " + f.Advice + "\n")
	}
	return b.String()
}

// TestYAMLTraps checks the findings of texts that are valid and do not mean what they look like. Each piece is in
// one of the findings with the code; without a code there are no findings.
func TestYAMLTraps(t *testing.T) {
	cases := []struct {
		name, text, code string
		pieces           []string
	}{
		// Types of YAML 1.1.
		{"date", "a: 2026-11-28", "text.yaml.v1_1.timestamp", []string{"info", "Line 1, column 4: ", `Write "2026-11-28"`}},
		{"time", "a: 2026-11-28T12:00:00Z", "text.yaml.v1_1.timestamp", []string{"info"}},
		{"date in quotes", "a: '2026-11-28'\nb: 2026-1-1\nc: 2026-11", "", nil},
		{"no octal digits", "a: 08", "text.yaml.number.leading_zero",
			[]string{"warning", "as the number 8,", `Write "08"`}},
		{"telephone number", "a: 0412345678", "text.yaml.number.leading_zero", []string{"412345678", `"0412345678"`}},
		{"the same in both versions", "a: 007", "text.yaml.number.leading_zero", []string{"info", "the number 7"}},
		{"octal", "a: 0644", "text.yaml.v1_1.octal", []string{"the number 644", "the octal number 420", `Write "0644"`}},
		{"octal of 1.2", "a: 0o644", "text.yaml.v1_1.octal", []string{"the number 420", "as a string", `Write "0o644"`}},
		{"Norway", "a: no", "text.yaml.v1_1.boolean", []string{"as the boolean false", `Write "no"`}},
		{"switch", "a: On", "text.yaml.v1_1.boolean", []string{"as the boolean true", `Write "On"`}},
		{"time of day", "a: 12:30:45", "text.yaml.v1_1.base60", []string{`Write "12:30:45"`}},
		{"underscore", "a: 1_000", "text.yaml.v1_1.number", []string{`Write "1_000"`}},
		{"exponent", "a: 1e3", "text.yaml.v1_1.exponent", []string{`Write "1e3"`}},
		{"the same", "a: 0x1F\nb: .5\nc: ~\nd: 10\ne: 0\nf: 09:30\ng: y\nh: 1.5\ni: 'no'\nj: \"08\"", "", nil},
		{"merge key", "a: &a {b: c}\nd: {<<: *a}", "text.yaml.v1_1.merge",
			[]string{"warning", "Line 2, column 5", "Set merge"}},
		// Templates.
		{"placeholder", "a: {{ foo }}", "text.yaml.template.unquoted",
			[]string{"warning", "column 4", `quotes: "{{ foo }}".`}},
		{"filter", `a: {{ foo | default("x") }}`, "text.yaml.template.unquoted", []string{`: '{{ foo | default("x") }}'.`}},
		{"placeholder as a key", "{{ a }}: b", "text.yaml.template.unquoted", []string{`: "{{ a }}".`}},
		{"placeholder as an item", "- {{a}}", "text.yaml.template.unquoted", []string{`: "{{a}}".`}},
		{"quoted placeholder", "a: \"{{ foo }}\"\nb: ${{ foo }}\nc: x {{ foo }}\nd: |\n  {{ foo }}\ne: {a: {b: c}}",
			"", nil},
		// Spaces that are missing.
		{"lines without spaces", "host:localhost\nport:80", "text.yaml.space.missing", []string{"Write host: localhost"}},
		{"one line without a space", "a:1", "text.yaml.space.missing", []string{"Write a: 1"}},
		{"lines below a key", "a:\n  b:1\n  c:2", "text.yaml.space.missing", []string{"Line 2, column 3", "Write b: 1"}},
		{"key in braces", "a: {b:1, c: 2}", "text.yaml.space.missing", []string{"column 5", "Write b: 1"}},
		{"dashes without spaces", "-a\n-b", "text.yaml.space.missing", []string{"Write - a"}},
		{"colons in values", "a: b:1\nc: http://example.com\nd:\n- 80:80\n- nginx:1\ne:\n  x\n  y:1\nf: {g, h: i:1}",
			"", nil},
		{"address", "http://example.com", "", nil},
		{"options", "a:\n  -Xmx1g\n  -Xms1g", "", nil},
		{"item below a value", "a: b\n  - c", "text.yaml.scalar.dash", []string{"Line 2, column 3", "Remove the value"}},
		{"items", "a:\n  - b\n  - c - d\n  - e\n    f - g", "", nil},
		// Comments.
		{"color", "a: #fff", "text.yaml.comment.value", []string{"warning", "column 4", `quotes: "#fff".`}},
		{"channel", "- #general", "text.yaml.comment.value", []string{`"#general"`}},
		{"number behind a value", "a: Issue #5", "text.yaml.comment.value", []string{"info", `quotes: "Issue #5".`}},
		{"comments", "a: # fff\nb: '#fff'\nc: 5 #5\nd: x # 5\ne: x#5\nf: #x\n  g: h\n#i", "", nil},
		{"entity", "a: &nbsp;", "text.yaml.anchor.value", []string{`quotes: "&nbsp;".`}},
		{"anchors", "a: &b\nc: *b\nd: R & D", "", nil},
		// Invisible characters.
		{"indentation", "a:\n\u00a0\u00a0b: 1", "text.yaml.character.unseen",
			[]string{"warning", "Line 2, column 1", "U+00A0 (no-break space)", "write a space"}},
		{"ideographic space", "a:\n\u3000b: 1", "text.yaml.character.unseen", []string{"U+3000 (ideographic space)"}},
		{"zero-width space", "a: 80\u200b", "text.yaml.character.unseen", []string{"column 6", "U+200B", "remove it"}},
		{"zero-width space in a key", "a\u200bb: 1", "text.yaml.character.unseen", []string{"column 2", "the key"}},
		{"before a comment", "a: 1\u00a0# b", "text.yaml.character.unseen", []string{"column 5"}},
		{"behind a colon", "a:\u00a01", "text.yaml.character.unseen", []string{"column 3"}},
		{"second line", "a: b\n  \u00a0c", "text.yaml.character.unseen", []string{"Line 2, column 3"}},
		{"spaces that are text",
			"a: 10\u00a0km\nb: \"\u00a0c\"\nd: 日本\u3000語\ne: 👩\u200d🚀\nf: می\u200cخواهم\n'\u00a0g': 1", "", nil},
		{"typographic quotes", "a: “b”", "text.yaml.quotes.typographic", []string{"info", `quotes, "b"`}},
		{"quotes in a text", "a: “b” and “c”\nd: “e” f", "", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.text)
			require.True(t, report.Valid, "%+v", report.Error)
			if c.code == "" {
				assert.Empty(t, said(report.Findings))
				return
			}
			text := said(report.Findings)
			require.Len(t, report.Findings, 1, text)
			assert.Equal(t, c.code, report.Findings[0].Code)
			for _, piece := range c.pieces {
				assert.Contains(t, text, piece)
			}
		})
	}
}

// What JSON, or who reads it, cannot hold is found once for each place, in the documents that become JSON.
func TestYAMLLosses(t *testing.T) {
	cases := []struct {
		name, text, code string
		pieces           []string
	}{
		{"CloudFormation", "a: !Ref b", "text.yaml.tag.lost",
			[]string{"warning", "Line 1, column 4", "!Ref", "CloudFormation", `{"Ref": "b"}`}},
		{"attribute", "a: !GetAtt b.c.d", "text.yaml.tag.lost", []string{`{"Fn::GetAtt": ["b","c.d"]}`}},
		{"attribute as a list", "a: !GetAtt [b, c]", "text.yaml.tag.lost", []string{`{"Fn::GetAtt": ["b","c"]}`}},
		{"condition", "a: !Condition b", "text.yaml.tag.lost", []string{`{"Condition": "b"}`}},
		{"long argument", "a: !Sub " + strings.Repeat("b", 300), "text.yaml.tag.lost", []string{"with Fn::Sub as its key"}},
		{"Ansible", "a: !vault |\n  $ANSIBLE_VAULT", "text.yaml.tag.lost", []string{"Ansible decrypts"}},
		{"GitLab", "a: !reference [.b, script]", "text.yaml.tag.lost", []string{"GitLab"}},
		{"unknown", "a: !b c", "text.yaml.tag.lost", []string{"!b", "Keep the file in YAML"}},
		{"in angles", "a: !<tag:example.com,2000:b> c", "text.yaml.tag.lost", []string{"!<tag:example.com,2000:b>"}},
		{"handle", "%TAG !e! tag:example.com,2000:\n---\na: !e!b c", "text.yaml.tag.lost",
			[]string{"Line 3, column 4", "!e!b"}},
		{"object of Python", "a: !!python/tuple [b]", "text.yaml.tag.lost", []string{"!!python/tuple"}},
		{"on a key", "!b a: c", "text.yaml.tag.lost", []string{"column 1"}},
		{"on a collection", "a: !b\n  c: d", "text.yaml.tag.lost", []string{"column 4"}},
		{"text", "a: !important", "text.yaml.tag.lost", []string{`put it in quotes: "!important"`}},
		{"several places", "a: !b c\nd: !b e\nf:\n  - !b g", "text.yaml.tag.lost",
			[]string{"Line 1, column 4", "and at line 2, column 4; line 4, column 5."}},
		{"many places", strings.Repeat("- !b c\n", 20), "text.yaml.tag.lost",
			[]string{"line 5, column 3; and in 15 more places"}},
		{"anchored", "a: &x !b c\nd: *x", "text.yaml.tag.lost", []string{"omitted here. Only"}},
		{"bytes", "a: !!binary aGk=", "text.yaml.tag.type", []string{"info", "Base64"}},
		{"set", "a: !!set {b, c}", "text.yaml.tag.type", []string{"members are null"}},
		{"types of JSON", "a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: !!map {}\ne: ! f\ng: !!seq []\nh: !!null ''\ni: !!bool true",
			"", nil},
		{"in quotes", "a: '!Ref b'\nc: \"!d\"\ne: f !g", "", nil},
		{"other document", "a: 1\n---\nb: !c d", "text.yaml.documents.several", []string{"Set all_documents"}},

		{"integer", "a: 9007199254740993", "text.yaml.number.precision",
			[]string{"warning", "Line 1, column 4", "they read 9007199254740992", `"9007199254740993"`}},
		{"negative integer", "a: -9007199254740993", "text.yaml.number.precision", []string{"they read -9007199254740992"}},
		{"the double of two integers", "a: 9007199254740992", "text.yaml.number.precision",
			[]string{"info", "cannot distinguish it"}},
		{"hexadecimal", "a: 0x20000000000001", "text.yaml.number.precision", []string{"9007199254740993 is"}},
		{"with a tag", "a: !!int '9007199254740993'", "text.yaml.number.precision", nil},
		{"anchored integer", "a: &x 9007199254740993\nb: *x", "text.yaml.number.precision", nil},
		{"fraction", "a: 3.14159265358979323846", "text.yaml.number.digits",
			[]string{"info", "they read 3.141592653589793."}},
		{"range", "a: 1.0e+400", "text.yaml.number.range", []string{"warning", "infinite"}},
		{"exact", "a: 9007199254740991\nb: -9007199254740991\nc: 0.1\nd: '9007199254740993'\n9007199254740993: e\nf: 1.5e+30",
			"", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.text)
			require.True(t, report.Valid, "%+v", report.Error)
			text := said(report.Findings)
			if c.code == "" {
				assert.Empty(t, text)
				return
			}
			require.Len(t, report.Findings, 1, text)
			assert.Equal(t, c.code, report.Findings[0].Code)
			for _, piece := range c.pieces {
				assert.Contains(t, text, piece)
			}
			format, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: c.text})
			require.NoError(t, err)
			assert.Empty(t, said(format.Findings), "nothing is lost in YAML")
		})
	}
}

// The long form of a function of CloudFormation holds those of the functions in it.
func TestYAMLLongForms(t *testing.T) {
	report := toJSON(t, `a: !Join [",", [!Ref b, !GetAtt c.d, !Sub "${e}"]]`)
	assert.Contains(t, said(report.Findings),
		`{"Fn::Join": [",",[{"Ref": "b"},{"Fn::GetAtt": ["c","d"]},{"Fn::Sub": "${e}"}]]}`)
}

// A file that is formatted for a program that merges is right.
func TestFormatYAMLOfMergeKeys(t *testing.T) {
	report, err := textutil.FormatYAML(textutil.YAMLFormatRequest{Text: "a: &a {b: c}\nd:\n  <<: *a"})
	require.NoError(t, err)
	text := said(report.Findings)
	assert.Contains(t, text, "info text.yaml.v1_1.merge: Line 3, column 3: ")
	assert.NotContains(t, text, "Set merge", "the operation has no such field")
	assert.Contains(t, text, "does not merge.\n")
}

// TestYAMLCauses checks that an error names the author's mistake, and the correction.
func TestYAMLCauses(t *testing.T) {
	cases := []struct {
		name, text   string
		line, column int
		piece        string
	}{
		{"pattern", "host: *.example.com", 1, 7, `put text in quotes: "*.example.com"`},
		{"schedule", "cron: */5 * * * * # often", 1, 7, `: "*/5 * * * *"`},
		{"asterisk", "- * x", 1, 3, `: "* x"`},
		{"alias in brackets", "a: [*.b, c]", 1, 5, `: "*.b"`},
		{"ampersand", "a: & b", 1, 4, `: "& b"`},
		{"colon in a value", "title: a: b: c # d", 1, 9, `must be in quotes: "a: b: c"; `},
		{"colon behind quotes", `a: "b": c`, 1, 7, `: '"b": c'`},
		{"colon at the end", "a: b:", 1, 5, `: "b:"`},
		{"key below a value", "a: b\n  c: d", 2, 3, "this line continues the value of line 1"},
		{"key below a value in quotes", "a: 'b'\n  c: d", 2, 3, "indent the line by 0"},
		{"indentation between two", "a:\n    b: 1\n  c: 2", 3, 3, "indent the line by 4 or 0"},
		{"indentation before an item", "- a: 1\n b: 2", 2, 2, "indent the line by 2 or 0"},
		{"value of several lines with a comment", "a: b\n   c # d\n   e", 3, 4, "the value above ends with its line"},
		{"open quote", "a: \"b\nc: \"d\"", 1, 4, "the double quote that opens here is not closed before line 2"},
		{"open quote before quotes", "a: \"b\n c: \"d\"", 2, 6, "opens in line 1, column 4"},
		{"quotes in quotes", `a: "say "hi""`, 1, 10, `or use single quotes: 'say "hi"'`},
		{"items in items", "- - a\n - b", 2, 2, "indent the line by 4, 2 or 0"},
		{"item with keys below a value", "a: b\n  - c: d", 2, 3, "remove that value"},
		{"open bracket before a key", "[a, b\nc: d", 1, 5, "'[' of line 1, column 1 is still open"},
		{"typographic quotes", "a: “b: c”", 1, 6, `: "b: c"`},
		{"apostrophe", "a: 'don't'", 1, 9, `or use double quotes: "don't"`},
		{"text behind quotes", `a: "b" c`, 1, 8, `: '"b" c'`},
		{"text behind brackets", "a: [b](http://c)", 1, 7, `: "[b](http://c)"`},
		{"open bracket", "a: [b, c\nd: e", 2, 1, "'[' of line 1, column 4 is still open"},
		{"other bracket", "a: {b: [c}", 1, 10, "'[' of line 1, column 8 is still open"},
		{"comma at the end of a line", "{a: b\nc: d}", 2, 2, "write one at the end of line 1"},
		{"no space behind a colon", "a:1\nb: 2", 1, 1, "write a: 1"},
		{"no space behind a later colon", "a: 1\nb:2", 2, 1, "write b: 2"},
		{"no space behind a colon inside", "a:\n  b: 1\n  c:2\n", 3, 3, "write c: 2"},
		{"no space behind a dash", "- a\n-b", 2, 1, "write - b"},
		{"no space behind a dash below a key", "a:\n-b", 2, 1, "write - b"},
		{"equals sign", "a: 1\nb = 2", 2, 1, "write b: 2"},
		{"wide colon", "a: 1\nb：2", 2, 1, "write b: 2"},
		{"dash too far left", "a:\n  - b\n- c", 3, 1, "indent it by 2, as the item of line 2"},
		{"key among items", "- a\nb: c", 2, 1, "indent the line by 2"},
		{"text of a block", "a: |\nb", 2, 1, "must be indented by more than 0"},
		{"comparison", "a: >=1.2", 1, 5, `: ">=1.2"`},
		{"comparison in brackets", "a: [>=1.2, b]", 1, 5, `: ">=1.2"`},
		{"path", `a: "C:\dir"`, 1, 7, "or put the value in single quotes"},
		{"key with a percent sign", "%a: b\nc: d", 1, 1, "put text in quotes"},
		{"reserved", "a: @b c", 1, 4, `: "@b c"`},
		{"exclamation marks", "a: !!!", 1, 4, `: "!!!"`},
		{"placeholder with text", "a: {{ b }}/c", 1, 4, `quotes: "{{ b }}/c"`},
		{"placeholder with text in an item", "- {{ b }}/c # d", 1, 3, `quotes: "{{ b }}/c"`},
		{"statement of Jinja", "{% if a %}\nb: c\n{% endif %}", 1, 1, "template engine"},
		{"statement of Helm", "a:\n  {{- if .b }}\n  c: d", 2, 3, "template engine"},
		{"value of Jinja", "a: {% b %}", 1, 4, `quotes: "{% b %}"`},
		{"filter of a placeholder", `a: {{ b["c"] | d }}`, 1, 4, `quotes: '{{ b["c"] | d }}'`},
		{"two placeholders", "image: {{ .a }}:{{ .b }}", 1, 8, `quotes: "{{ .a }}:{{ .b }}"`},
		{"no-break space in an alias", "- *a\u00a0", 1, 5, "U+00A0 (no-break space)"},
		{"no-break space behind the error", "a: b: c\u00a0", 1, 5, "must be in quotes"},
		{"no-break space behind a colon", "a: 1\nb:\u00a02", 2, 3, "U+00A0 (no-break space)"},
		{"no-break space before a dash", "- a\n\u00a0- b", 2, 1, "write a space in its place"},
		{"zero-width space before a key", "a: 1\n\u200bb", 2, 1, "remove it"},
		{"byte-order mark", "a: 1\uFEFF\nb: 2", 1, 5, "U+FEFF (byte-order mark)"},
		{"byte-order mark among letters", "a: 日\uFEFF本", 1, 5, "remove it"},
		{"same key", "a: 1\nb:\n  c: 1\n  c: 2", 4, 3, "already, in line 3, column 3; keep one of them"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report := toJSON(t, c.text)
			require.False(t, report.Valid, "%v", report.Result)
			assert.Contains(t, report.Error.Message, c.piece)
			assert.Equal(t, []int{c.line, c.column}, []int{report.Error.Line, report.Error.Column}, report.Error.Message)
		})
	}
}

// YAML made from JSON has no findings other than those of the JSON.
func TestJSONToYAMLHasNoTraps(t *testing.T) {
	for _, text := range []string{`["\u00a0a","a\u00a0","a\u200b","{{ a }}","#a","a #5","2026-11-28","08","0_8","no","*.a","a: b"]`,
		`{"a\u00a0b":"- c\nd","x\u200by":"a:1"}`, `{"{{ a }}":["“a”","-a","09:30","C:\\dir"]}`} {
		yaml, err := textutil.JSONToYAML(textutil.JSONToYAMLRequest{Text: text})
		require.NoError(t, err)
		report := toJSON(t, *yaml.Result)
		assert.True(t, report.Valid, *yaml.Result)
		assert.Empty(t, said(report.Findings), *yaml.Result)
	}
}
