package taglist

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One format of each kind.
var (
	dmarc = Format{Protocol: "DMARC", Version: "DMARC1", Readers: "Receivers", FoldNames: true, Tags: []Definition{
		{"v", "", "version"}, {"p", "", "policy"}, {"rua", "", "where reports go"}, {"adkim", "r", "alignment"},
	}}
	dkim = Format{Protocol: "DKIM", Version: "DKIM1", Readers: "Receivers", Mark: "p", Tags: []Definition{
		{"v", "DKIM1", "version"}, {"k", "rsa", "type of the key"}, {"p", "", "key"}, {"t", "", "flags"},
	}}
	sts = Format{Protocol: "MTA-STS", Version: "STSv1", Readers: "Senders", Fields: true, Tags: []Definition{
		{"v", "", "version"}, {"id", "", "id"},
	}}
)

func TestParse(t *testing.T) {
	tests := []struct {
		name   string
		format Format
		text   string
		tags   string // name=value, with an asterisk if repeated
		faults string // kind at the text it points to; a harmless one in parentheses
	}{
		{"RFC 7489 appendix B.1", dmarc, "v=DMARC1; p=none; rua=mailto:a@example.com",
			"v=DMARC1 p=none rua=mailto:a@example.com", ""},
		{"last semicolon", dmarc, "v=DMARC1;p=none;", "v=DMARC1 p=none", ""},
		{"white space everywhere", dmarc, "v = DMARC1 ; p\t=\tnone ; ", "v=DMARC1 p=none", ""},
		{"folded", dkim, "v=DKIM1; p=AB\r\n CD;\r\n\tt=s", "v=DKIM1 p=AB\r\n CD t=s", ""},
		{"not folded", dkim, "p=AB\r\nCD", "p=AB\r\nCD", "value[\r]"},
		{"names in capitals", dmarc, "V=DMARC1; P=none", "V=DMARC1 P=none", ""},
		{"capitals where they matter", dkim, "v=DKIM1; P=AB", "v=DKIM1 P=AB", "(unknown[P=AB])"},
		{"unknown", dmarc, "v=DMARC1; x_1=a=b", "v=DMARC1 x_1=a=b", "(unknown[x_1=a=b])"},
		{"repeated", dmarc, "v=DMARC1; p=none; P=reject", "v=DMARC1 p=none P=reject*", "repeated[P=reject]"},
		{"empty value", dkim, "v=DKIM1; p=", "v=DKIM1 p=", ""},
		{"no version", dkim, "k=rsa; p=AB", "k=rsa p=AB", ""},
		{"version late", dkim, "p=AB; v=DKIM1", "p=AB v=DKIM1", "version[p=AB]"},
		{"other version", dmarc, "v=DMARC2; p=none", "v=DMARC2 p=none", "version[v=DMARC2]"},
		{"empty", dmarc, "", "", "version[]"},
		{"nothing but a semicolon", dmarc, ";", "", "empty[;] version[]"},
		{"empty tag", dmarc, "v=DMARC1; ;p=none", "v=DMARC1 p=none", "empty[;]"},
		{"no equals sign", dmarc, "v=DMARC1; none", "v=DMARC1", "equals[none]"},
		{"bad name", dmarc, "v=DMARC1; 1p=none; =x", "v=DMARC1", "name[1p] name[]"},
		{"hyphen in a name", dmarc, "v=DMARC1; a-b=c", "v=DMARC1", "name[a-b]"},
		{"typographic quotes", dmarc, "v=DMARC1; p=\u201cnone\u201d", "v=DMARC1 p=\u201cnone\u201d", "value[\u201c]"},
		{"no semicolon", dmarc, "v=DMARC1; p=none rua=mailto:a@b", "v=DMARC1 p=none rua=mailto:a@b", "semicolon[rua]"},
		{"comma for a semicolon", dmarc, "v=DMARC1, p=none", "v=DMARC1, p=none", "semicolon[p] version[v=DMARC1, p=none]"},
		{"end of base64", dkim, "p=AB CD p=; t=s", "p=AB CD p= t=s", ""},
		{"end of base64, twice padded", dkim, "p=AB t==", "p=AB t==", ""},

		{"RFC 8461 section 3.1", sts, "v=STSv1; id=20160831085700Z;", "v=STSv1 id=20160831085700Z", ""},
		{"extension", sts, "v=STSv1;id=1;a.b-c=!", "v=STSv1 id=1 a.b-c=!", "(unknown[a.b-c=!])"},
		{"first field counts", sts, "v=STSv1; id=1; id=\u00e4", "v=STSv1 id=1 id=\u00e4*", "(repeated[id=\u00e4])"},
		{"capitals", sts, "v=STSv1; ID=1", "v=STSv1 ID=1", "(unknown[ID=1])"},
		{"white space at the equals sign", sts, "v=STSv1; id = 1;", "v=STSv1 id=1", "blank[ = ]"},
		{"white space at the end", sts, "v=STSv1; id=1 ", "v=STSv1 id=1", ""},
		{"white space behind the last semicolon", sts, "v=STSv1 ; id=1 ; ", "v=STSv1 id=1", ""},
		{"extension without a value", sts, "v=STSv1; id=1; x=", "v=STSv1 id=1 x=", "(unknown[x=]) value[x=]"},
		{"equals sign in an extension", sts, "v=STSv1; id=1; x=a=b", "v=STSv1 id=1 x=a=b",
			"(unknown[x=a=b]) value[=]"},
		{"values that are defined are the protocol's", sts, "v=STSv1; id=\u00e4 =", "v=STSv1 id=\u00e4 =", ""},
		{"long name", sts, "v=STSv1; " + strings.Repeat("n", 33) + "=1", "v=STSv1",
			"name[" + strings.Repeat("n", 33) + "]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := tt.format.Parse(tt.text)
			var tags, faults []string
			for _, tag := range l.Tags {
				s := tag.Name + "=" + tag.Value
				if tag.Repeated {
					s += "*"
				}
				tags = append(tags, s)
			}
			for _, f := range l.Faults {
				s := fmt.Sprintf("%s[%s]", f.Kind, tt.text[f.Offset:f.Offset+f.Length])
				if f.Harmless {
					s = "(" + s + ")"
				}
				faults = append(faults, s)
			}
			require.Equal(t, tt.tags, strings.Join(tags, " "))
			require.Equal(t, tt.faults, strings.Join(faults, " "))
		})
	}
}

func TestListTag(t *testing.T) {
	l := dmarc.Parse("v=DMARC1; P=none; p=reject")
	tag, ok := l.Tag("p")
	require.True(t, ok)
	require.Equal(t, Tag{Name: "P", Value: "none", Offset: 10, Length: 6, ValueOffset: 12}, tag)
	_, ok = l.Tag("rua")
	require.False(t, ok)
	require.Equal(t, []string{"the tag p appears again"}, l.Errors())
	l = sts.Parse("v=STSv1; x=1; id=2; y=3; x=4")
	require.Equal(t, []Tag{{"x", "1", 9, 3, 11, false}, {"y", "3", 20, 3, 22, false}}, l.Extensions())
}

// The list of faults is bounded, and no fault hides another.
func TestParseBoundsFaults(t *testing.T) {
	l := sts.Parse("v=STSv1" + strings.Repeat(";x=y", 5000) + ";=")
	require.LessOrEqual(t, len(l.Faults), maxFaults+len(syntax))
	require.Equal(t, []string{`"" cannot be the name of a field`}, l.Errors())
}

func TestParsed(t *testing.T) {
	l := dkim.Parse("v=DKIM1; p=\u00e4; x=1")
	require.Equal(t, []ParsedTag{
		{"v", "DKIM1", true, true, "DKIM1", "version"},
		{"p", "\u00e4", true, false, "", "key"},
		{"x", "1", true, true, "", "Not defined by DKIM, and ignored"},
		{"k", "rsa", false, true, "rsa", "type of the key"},
	}, l.Parsed())
	require.NotNil(t, new(List).Parsed())
}

// Positions are within the text and match what they name; a printed list parses to the same list.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"v=DMARC1; p=none;; x = \u00e4 rua=b", "v=STSv1 ; id=1 ", ";=;\r\n a=b", "p=AB CD p="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []Format{dmarc, dkim, sts} {
			l := format.Parse(text)
			for _, tag := range l.Tags {
				spec := text[tag.Offset : tag.Offset+tag.Length]
				if !strings.HasPrefix(spec, tag.Name) || text[tag.ValueOffset:tag.Offset+tag.Length] != tag.Value {
					t.Errorf("%q: %+v", text, tag)
				}
			}
			for _, fault := range l.Faults {
				_ = text[fault.Offset : fault.Offset+fault.Length]
			}
			if len(l.Errors()) == 0 {
				if again := format.Parse(l.String()); len(again.Errors()) > 0 || again.String() != l.String() ||
					len(again.Tags) != len(l.Tags) {
					t.Errorf("%q is printed as %q, which reads as %q: %q", text, l.String(), again.String(), again.Errors())
				}
			}
			if format.Is(text) && format.Resembles(text) != "" {
				t.Errorf("%q is a record and resembles one", text)
			}
			if found := format.Read(text); len(found.Records)+len(found.Strays) != 1 {
				t.Errorf("%q: %+v", text, found)
			}
		}
	})
}
