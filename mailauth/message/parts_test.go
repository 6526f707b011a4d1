package message

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParts(t *testing.T) {
	const head = "Content-Type: multipart/mixed; boundary=b\n\n"
	tests := []struct {
		name, text string
		want       []string // type: body
	}{
		{"plain", "Subject: a\n\nbody", []string{"text/plain: body"}},
		{"two", head + "preamble\n--b\n\none\n--b \nContent-Type: Text/HTML\n\ntwo\n--b--\nepilogue\n",
			[]string{"text/plain: one", "text/html: two"}},
		{"CRLF", strings.ReplaceAll(head+"--b\n\none\n--b--\n", "\n", "\r\n"), []string{"text/plain: one"}},
		{"without an end", head + "--b\n\none\n--b\n\ntwo\n", []string{"text/plain: one", "text/plain: two\n"}},
		{"boundary nowhere", head + "one\n", []string{"multipart/mixed: one\n"}},
		{"no boundary", "Content-Type: multipart/mixed\n\n--b\n\none", []string{"multipart/mixed: --b\n\none"}},
		{"longer line is no boundary", head + "--b\n\none\n--bc\n--b--", []string{"text/plain: one\n--bc"}},
		{"nested", head + "--b\nContent-Type: multipart/alternative; boundary=\"c d\"\n\n--c d\n\none\n--c d--\n--b--",
			[]string{"text/plain: one"}},
		{"attached message", head + "--b\nContent-Type: message/rfc822\n\n" + head + "--c\n\n--b--",
			[]string{"message/rfc822: " + head + "--c\n"}},
		{"base64", "Content-Transfer-Encoding: BASE64\n\nb25\r\n l!IQ==\n", []string{"text/plain: one!"}},
		{"base64 broken off", "Content-Transfer-Encoding: base64\n\nb25lI", []string{"text/plain: one"}},
		{"quoted-printable", "Content-Transfer-Encoding: quoted-printable\n\no=\nn=65", []string{"text/plain: one"}},
		{"bad parameters", "Content-Type: multipart/report; report-type==; boundary=\"b\"; boundary=c; x\n\n--b\n\none",
			[]string{"text/plain: one"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range Parts([]byte(tt.text)) {
				got = append(got, p.Type+": "+string(p.Body()))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestPartName(t *testing.T) {
	p := Parts([]byte("Content-Type: a/b; name=x.gz\nContent-Disposition: attachment; filename*=UTF-8''y%20z.gz\n\n"))[0]
	require.Equal(t, "y z.gz", p.Name)
	p = Parts([]byte("Content-Type: a/b; name=x.gz\n\n"))[0]
	require.Equal(t, "x.gz", p.Name)
}

func TestPartsAreBounded(t *testing.T) {
	text := "Content-Type: multipart/mixed; boundary=b\n\n"
	require.Equal(t, maxParts, len(Parts([]byte(text+strings.Repeat("--b\n\nx\n", 10*maxParts)))))
	var deep strings.Builder
	for i := range 100 {
		fmt.Fprintf(&deep, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	leaves := Parts([]byte(deep.String()))
	require.Len(t, leaves, 1)
	require.Equal(t, "b10", leaves[0].Params["boundary"])
}

// A body is never longer than its encoded form, and an unencoded body is returned unchanged.
func FuzzParts(f *testing.F) {
	f.Add("Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b--\n", "one")
	f.Add("Content-Transfer-Encoding: base64\n\nb25lI", "")
	f.Fuzz(func(t *testing.T, text, body string) {
		total := 0
		for _, p := range Parts([]byte(text)) {
			total += len(p.Body())
		}
		if total > len(text) {
			t.Errorf("%d bytes became %d", len(text), total)
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(body))
		p := Parts([]byte("Content-Transfer-Encoding: base64\n\n" + encoded))[0]
		if string(p.Body()) != body {
			t.Errorf("%q became %q", body, p.Body())
		}
	})
}
