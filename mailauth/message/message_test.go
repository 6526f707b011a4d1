package message

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text string
		fields     []string // name: value
		malformed  []string
		body       string
	}{
		{"plain", "From: a@b\r\nTo: c@d\r\n\r\nbody\r\n", []string{"From: a@b", "To: c@d"}, nil, "body\r\n"},
		{"folded", "Subject: a\r\n\tb\r\n  c\r\n\r\n", []string{"Subject: a\tb  c"}, nil, ""},
		{"no body", "From: a@b", []string{"From: a@b"}, nil, ""},
		{"no header", "\nbody", nil, nil, "body"},
		{"nothing", "", nil, nil, ""},
		{"mailbox", "From a@b Sun Nov  1 09:00:00 2026\nFrom: a@b\n\n", []string{"From: a@b"}, []string{"1 From a@b Sun Nov  1 09:00:00 2026"}, ""},
		{"mark", "\xEF\xBB\xBFFrom: a@b\n", []string{"From: a@b"}, nil, ""},
		{"obsolete", "From \t: a@b\n", []string{"From: a@b"}, nil, ""},
		{"no colon", "From: a@b\nthis line was cut\n  and goes on\nTo: c@d\n", []string{"From: a@b", "To: c@d"}, []string{"2 this line was cut  and goes on"}, ""},
		{"blank name", "From: a@b\n: c\n", []string{"From: a@b"}, []string{"2 : c"}, ""},
		{"8-bit name", "Fr\xF6m: a@b\n", nil, []string{"1 Fr\xF6m: a@b"}, ""},
		{"begins folded", " a\nFrom: b\n", []string{"From: b"}, []string{"1 a"}, ""},
		{"CRCRLF", "From: a@b\r\r\nTo: c@d\r\r\n\r\r\nbody", []string{"From: a@b", "To: c@d"}, nil, "body"},
		{"CR", "From: a@b\rTo: c@d\r\rbody", []string{"From: a@b", "To: c@d"}, nil, "body"},
		{"NUL", "From: a\x00@b\n\n", []string{"From: a\x00@b"}, nil, ""},
		{"empty value", "Bcc:\nTo: a\n", []string{"Bcc: ", "To: a"}, nil, ""},
		{"white line", "Subject: a\n \t\n b\n\nbody", []string{"Subject: a \t b"}, nil, "body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := Split([]byte(tt.text))
			var fields, malformed []string
			for i := range m.Fields {
				f := &m.Fields[i]
				fields = append(fields, f.Name+": "+f.Value())
			}
			for _, l := range m.Malformed {
				malformed = append(malformed, string('0'+rune(l.Line))+" "+Unfold(l.Raw))
			}
			require.Equal(t, tt.fields, fields)
			require.Equal(t, tt.malformed, malformed)
			require.Equal(t, tt.body, string(m.Body))
			requireWhole(t, m, tt.text)
		})
	}
}

// requireWhole requires that no part of a text is lost or doubled.
func requireWhole(t testing.TB, m *Message, text string) {
	type piece struct {
		offset int
		raw    []byte
	}
	var pieces []piece
	for i := range m.Fields {
		f := &m.Fields[i]
		pieces = append(pieces, piece{f.Offset, f.Raw})
		if got := string(f.Raw[:len(f.Raw)-len(f.RawValue())-1]) + ":" + string(f.RawValue()); got != string(f.Raw) {
			t.Fatalf("%q is not name, colon and value %q", f.Raw, got)
		}
	}
	for _, l := range m.Malformed {
		pieces = append(pieces, piece{l.Offset, l.Raw})
	}
	slices.SortFunc(pieces, func(a, b piece) int { return a.offset - b.offset })
	all := bytes.NewBuffer(slices.Clone(m.Mark))
	for _, p := range pieces {
		if p.offset != all.Len() {
			t.Fatalf("a piece at %d says %d", all.Len(), p.offset)
		}
		all.Write(p.raw)
	}
	for _, rest := range [][]byte{m.Excess, m.Separator, m.Body} {
		all.Write(rest)
	}
	if all.String() != text {
		t.Fatalf("%q became %q", text, all.String())
	}
}

func TestFields(t *testing.T) {
	m := Split([]byte("Received: a\nSUBJECT : =?utf-8?Q?M=C3=BC?=\n =?utf-8?Q?ller?=\nreceived: b\r\n\r\n"))
	require.Len(t, m.All("Received"), 2)
	require.Equal(t, "Müller", m.First("subject").Text())
	require.Equal(t, "SUBJECT", m.First("subject").Name)
	require.Equal(t, 29, m.First("subject").LongestLine())
	require.Equal(t, 2, m.First("subject").Line)
	require.Equal(t, "a", m.Value("received"))
	require.Empty(t, m.Value("to"))
	require.Equal(t, LineEnds{CRLF: 1, LF: 3}, m.Ends)
	_, ok := m.Mailbox()
	require.False(t, ok)
	_, ok = Split([]byte("From a@b Sun Nov  1 09:00:00 2026\nFrom: a@b\n")).Mailbox()
	require.True(t, ok)
}

// A header beyond the limit is set aside, and the body is still found.
func TestHeaderIsBounded(t *testing.T) {
	text := strings.Repeat("A: b\n", MaxFields+10) + "\nbody"
	m := Split([]byte(text))
	require.Len(t, m.Fields, MaxFields)
	require.Len(t, m.Excess, 50)
	require.Equal(t, "body", string(m.Body))
	requireWhole(t, m, text)

	m = Split([]byte("A: b\nB: " + strings.Repeat("x", MaxHeaderBytes)))
	require.Len(t, m.Fields, 1)
	require.Empty(t, m.Body)
}

// Hostile input is read quickly.
func TestHostileInput(t *testing.T) {
	for _, unit := range []string{
		"a:\n", "(", "(\\", "\"", "=?a?q?\x01", "=?", "=?a?q?a?=", "<", "a@b:", "a,", ":", "\"\"", "[", "a;:", "=3D", "> ",
		"&lt;", "a: b\n\n", " ", "\xff", "=?iso-2022-jp?q?a?= ",
	} {
		text := strings.Repeat(unit, MaxHeaderBytes/len(unit))
		began := diagtest.ProcessorTime()
		m := Split([]byte(text))
		requireWhole(t, m, text)
		Repair([]byte(text))
		Comments(text)
		DecodeText(text)
		ParseAddresses(text)
		MessageIDs(text)
		_, _ = ParseDate(text)
		require.Less(t, diagtest.ProcessorTime()-began, 10*time.Second, "%q", unit)
	}
}

// Every message of the vectors is split without loss.
func TestConformanceMessages(t *testing.T) {
	files, fields, malformed := 0, 0, 0
	for _, path := range diagtest.Suite(t, "mail/headers", "mail/dkim", "mail/arc", "mail/failure-reports") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		m := Split(text)
		requireWhole(t, m, string(text))
		for i := range m.Fields {
			if value := m.Fields[i].Value(); m.Fields[i].Is("From") && value != "" {
				require.NotEmpty(t, ParseAddresses(value), path)
			}
		}
		files, fields, malformed = files+1, fields+len(m.Fields), malformed+len(m.Malformed)
	}
	t.Logf("%d files, %d fields, %d malformed lines", files, fields, malformed)
}

func FuzzSplit(f *testing.F) {
	f.Add("From: a@b\r\nSubject: x\r\n y\r\nbroken\r\n\r\nbody")
	f.Add("\xEF\xBB\xBFFrom a\r\r\n : b\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := Split([]byte(text))
		requireWhole(t, m, text)
		for i := range m.Fields {
			if m.Fields[i].Name == "" || strings.ContainsAny(m.Fields[i].Value(), "\r\n") {
				t.Errorf("%q: %q", m.Fields[i].Name, m.Fields[i].Value())
			}
		}
		Repair([]byte(text))
	})
}

// 120 KiB of fields, as in the longest of real headers and more.
func BenchmarkSplit(b *testing.B) {
	field := "Received: from mail.example.org (mail.example.org [192.0.2.25])\r\n\tby mx.example.com; Sun, 1 Nov 2026 09:00:04 +0000\r\n"
	text := []byte(strings.Repeat(field, 1000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Split(text)
	}
}
