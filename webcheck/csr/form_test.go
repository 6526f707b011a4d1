package csr

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// A form is a text of one request, and a word of the finding about it: "bare" for Base64 without lines BEGIN
// and END, which has no finding, and empty for a PEM file.
type form struct{ name, text, want string }

// forms are texts of the same request.
func forms(der []byte) []form {
	good, inBase64 := cleanPEM(der), base64.StdEncoding.EncodeToString(der)
	body := strings.Split(strings.TrimSpace(good), "\n")
	each := func(format string) string {
		var b strings.Builder
		for _, line := range body {
			fmt.Fprintf(&b, format+"\n", line)
		}
		return b.String()
	}
	swap := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(good) }
	columns := func(n int) string { return body[0] + "\n" + wrapAt(inBase64, n) + "\n" + body[len(body)-1] + "\n" }
	inJSON, _ := json.Marshal(map[string]string{"csr": good})
	twice, _ := json.Marshal(string(inJSON))
	twiceBase64 := base64.StdEncoding.EncodeToString([]byte(good))
	return []form{
		{"as it should be", good, ""},
		{"CRLF", swap("\n", "\r\n"), ""},
		{"no line end at the end", strings.TrimSpace(good), ""},
		{"label of older programs", swap("CERTIFICATE", "NEW CERTIFICATE"), ""},
		{"white space at ends of lines", swap("\n", " \t\n"), ""},
		{"76 columns", columns(76), ""},
		{"32 columns", columns(32), ""},
		{"in a letter", "Hello,\n\nhere – it’s this:\n" + good + "\nYours", ""},

		{"bare", inBase64, "bare"},
		{"bare, unpadded", strings.TrimRight(inBase64, "="), "bare"},
		{"bare, wrapped", wrapAt(inBase64, 64), "bare"},
		{"bare, for URLs", base64.RawURLEncoding.EncodeToString(der), "bare"},
		{"bare, in a letter", "The CSR:\n\n" + wrapAt(inBase64, 64) + "\n\n-- \nAnna", "bare"},
		{"bare, in JSON", `{"csr":"` + inBase64 + `","days":90}`, "bare"},
		{"bare, of a field", "csr=" + inBase64 + "&days=90", "bare"},
		{"data URL", "data:application/pkcs10;base64," + inBase64, "data URL"},
		{"bare, of a form", url.QueryEscape(inBase64), "URL"},

		{"quoted", each("> %s"), "quoted"},
		{"quoted twice", "Anna wrote:\n" + each(">> > %s"), "quoted"},
		{"bar", each("| %s"), "quoted"},
		{"comment", each("# %s"), "quoted"},
		{"numbers of lines", each("12: %s"), "quoted"},
		{"quoted in HTML", each("&gt; %s<br>"), "HTML"},
		{"br", swap("\n", "<br>\n"), "HTML"},
		{"br in one line", swap("\n", "<br />"), "HTML"},
		{"paragraphs", each("<p class=x>%s</p>"), "HTML"},
		{"numeric entities", swap("+", "&#43;", "/", "&#x2F;", "=", "&#61;", "-", "&#45;"), "HTML"},
		{"named entities", "<pre>" + swap("=", "&equals;", "+", "&plus;", " ", "&nbsp;") + "</pre>", "HTML"},
		{"entities twice", "<div>" + html.EscapeString(swap("=", "&equals;")) + "</div>", "HTML"},
		{"tags as entities", swap("\n", "&lt;br&gt;\n"), "HTML"},
		{"dashes in a wrong character set", swap("-----", "â€”â€“"), "dashes"},
		{"en dashes", swap("-", "–"), "dashes"},
		{"em and en dash", swap("-----", "—–"), "dashes"},
		{"minus signs", swap("-", "−"), "dashes"},
		{"3 hyphens", swap("-----", "---"), "5 hyphens"},
		{"4 hyphens", swap("-----", "----"), "5 hyphens"},
		{"6 hyphens", swap("-----", "------"), "5 hyphens"},
		{"4 hyphens once", strings.Replace(good, "-----", "----", 1), "5 hyphens"},
		{"no hyphens", swap("-----", ""), "5 hyphens"},
		{"stars", swap("-", "*"), "5 hyphens"},
		{"hyphens of signed mail", swap("-----BEGIN", "- -----BEGIN", "-----END", "- -----END"), "signed mail"},
		{"100 columns", columns(100), "longer"},
		{"one line of Base64", columns(len(inBase64)), "longer"},
		{"one line", swap("\n", " "), "line breaks"},
		{"no line breaks", swap("\n", ""), "line breaks"},
		{"line breaks of long ago", swap("\n", "\r"), "line ends"},
		{"line separators", swap("\n", "\u2028"), "line ends"},
		{"indented", each("    %s"), "indented"},
		{"tabs", each("\t%s"), "indented"},
		{"blank lines", swap("\n", "\n\n"), "blank lines"},
		{"no line END", strings.Join(body[:len(body)-1], "\n"), "END"},
		{"no line END in a letter", strings.Join(body[:len(body)-1], "\n") + "\n\nYours, Anna.\n", "END"},
		{"text before it", "CSR: " + good, "other text"},
		{"text behind it", strings.TrimSpace(good) + " (Anna)", "other text"},
		{"mixed labels", strings.Replace(good, "CERT", "NEW CERT", 1), "not those"},
		{"lower case", swap("--BEGIN", "--begin", "--END", "--end"), "not those"},
		{"byte order mark", "\ufeff" + good, "invisible"},
		{"no-break spaces", swap(" ", "\u00a0"), "invisible"},
		{"zero-width spaces", swap("\n", "\u200b\n"), "invisible"},
		{"NUL", "\x00" + good, "invisible"},
		{"Base64 of PEM", twiceBase64, "Base64"},
		{"Base64 of PEM, wrapped", wrapAt(twiceBase64, 76), "Base64"},
		{"Base64 with byte order mark", base64.StdEncoding.EncodeToString([]byte("\ufeff" + good)), "Base64"},
		{"Base64 of Base64", base64.StdEncoding.EncodeToString([]byte(inBase64)), "Base64"},
		{"hexadecimal", fmt.Sprintf("%X", der), "hexadecimal"},
		{"hexadecimal with blanks", fmt.Sprintf("% x", der), "hexadecimal"},
		{"hexadecimal with 0x", fmt.Sprintf("0x%x", der), "hexadecimal"},
		{"hexadecimal of C", fmt.Sprintf("%# x", der), "hexadecimal"},
		{"hexadecimal of PEM", fmt.Sprintf("%x", good), "hexadecimal"},
		{"escaped", swap("\n", `\n`), "backslash"},
		{"escaped CRLF", swap("\n", `\r\n`), "backslash"},
		{"JSON", string(inJSON), "backslash"},
		{"JSON in JSON", string(twice), "backslash"},
		{"JSON of .NET", swap("\n", `\r\n`, "+", `\u002B`), "backslash"},
		{"JSON of PHP", swap("\n", `\n`, "/", `\/`), "backslash"},
		{"C", each(`"%s\n"`), "backslash"},
		{"JavaScript", each(`'%s\n' +`), "backslash"},
		{"Markdown", swap("-----", `\-----`), "backslash"},
		{"URL", url.PathEscape(good), "URL"},
		{"form", url.QueryEscape(good), "URL"},
		{"encodeURI", swap(" ", "%20", "\n", "%0A"), "URL"},
		{"quotation marks", "“" + strings.TrimSpace(good) + "”", "quotation"},
		{"plain quotation marks", `"` + good + `"`, "quotation"},
		{"quoted-printable", swap("=", "=3D"), "quoted-printable"},
		{"quoted-printable, short lines", strings.ReplaceAll(wrapAt(inBase64, 30), "\n", "=\n"), "quoted-printable"},
	}
}

func wrapAt(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	return b.String() + s
}

// encoded is a request whose Base64 has padding, or a plus sign at both an end and a beginning of lines: signatures
// differ each time.
func encoded(t *testing.T, is func(text string) bool) []byte {
	for range 10_000 {
		if der := (plan{}).encode(); is(cleanPEM(der)) {
			return der
		}
	}
	t.Fatal("no signature has such a form")
	return nil
}

func padded(t *testing.T) []byte {
	return encoded(t, func(text string) bool { return strings.Contains(text, "=") })
}

// However a request was bent on its way, it is the same request, and the reply has it as it should be handed in.
func TestForms(t *testing.T) {
	der := padded(t)
	list := forms(der)
	for _, f := range list {
		t.Run(f.name, func(t *testing.T) {
			r, err := Parse(t.Context(), nil, Request{CSR: f.text})
			require.NoError(t, err)
			require.Equal(t, Compliant, r.Outcome, "%+v", r.Findings)
			if f.want == "" || f.want == "bare" {
				require.Empty(t, r.Findings)
			} else {
				require.Equal(t, []diag.Code{"csr.pem.form"}, diagtest.CodesOf(r.Findings))
				require.Contains(t, r.Findings[0].Detail, f.want)
			}
			if f.want == "" {
				require.Empty(t, r.CleanPEM)
				require.Contains(t, r.Sub, "unchanged")
				return
			}
			require.Equal(t, cleanPEM(der), r.CleanPEM)
			require.Contains(t, r.Sub, "clean_pem")
			require.Equal(t, r.CleanPEM, r.View().Steps[0].Value)
			require.NotContains(t, r.Sub, "unchanged")
		})
	}
}

// Web forms turn plus signs into blanks, also those at the ends of lines.
func TestPlusSigns(t *testing.T) {
	for _, where := range []string{"+", "+\n", "\n+"} {
		der := encoded(t, func(text string) bool { return strings.Contains(text, where) })
		r, err := Parse(t.Context(), nil, Request{CSR: strings.ReplaceAll(cleanPEM(der), "+", " ")})
		require.NoError(t, err)
		require.Equal(t, []diag.Code{"csr.pem.form"}, diagtest.CodesOf(r.Findings))
		require.Equal(t, cleanPEM(der), r.CleanPEM)
	}
}

// A text with more than the request is not handed in unchanged; a key that was pasted makes the request useless, and so
// does a fault of its own.
func TestCleanPEM(t *testing.T) {
	good := cleanPEM(padded(t))
	for _, tt := range []struct {
		name, text string
		want       string
		codes      []diag.Code
	}{
		{"two requests", good + plan{}.pem(), good, []diag.Code{"csr.pem.several"}},
		{"after a certificate", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n" + good, good,
			[]diag.Code{"csr.pem.several"}},
		{"label of a certificate", strings.ReplaceAll(good, "CERTIFICATE REQUEST", "CERTIFICATE"), good,
			[]diag.Code{"csr.pem.label"}},
		{"label of nobody", strings.ReplaceAll(good, "CERTIFICATE", "X509 CERTIFICATE"), good,
			[]diag.Code{"csr.pem.label"}},
		{"with a key", "> " + good + "-----BEGIN PRIVATE KEY-----\nMIIE", "", []diag.Code{"csr.private_key.present"}},
		{"with a fault", "> " + named2("server.corp").pem(), "", []diag.Code{"csr.names.internal"}},
		{"with a warning", "> " + of(oidCountry, "UK").pem(), "-----BEGIN",
			[]diag.Code{"csr.subject.country", "csr.pem.form"}},
		{"without a fault", "> " + plan{}.pem(), "-----BEGIN", []diag.Code{"csr.pem.form"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Parse(t.Context(), nil, Request{CSR: tt.text})
			require.NoError(t, err)
			require.Subset(t, diagtest.CodesOf(r.Findings), tt.codes)
			require.Equal(t, tt.want == "", r.CleanPEM == "")
			require.True(t, strings.HasPrefix(r.CleanPEM, tt.want), r.CleanPEM)
			require.NotContains(t, r.Headline+r.Sub, "unchanged")
		})
	}
}

// What is called a file to hand in is read by openssl, and so is each clean copy; it runs where there is that program.
func TestFormsOfOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs the program openssl (Debian: apt-get install openssl); .ci/run installs it")
	}
	reads := func(text string) bool {
		command := exec.Command(openssl, "req", "-noout", "-verify")
		command.Stdin = strings.NewReader(text)
		return command.Run() == nil
	}
	refused := 0
	for _, f := range forms(padded(t)) {
		r, err := Parse(t.Context(), nil, Request{CSR: f.text})
		require.NoError(t, err)
		if r.CleanPEM != "" {
			require.True(t, reads(r.CleanPEM), f.name)
		} else {
			require.True(t, reads(f.text), f.name)
		}
		if !reads(f.text) {
			refused++
		}
	}
	t.Logf("%d of the forms are refused", refused)
	require.Greater(t, refused, 40)
}
