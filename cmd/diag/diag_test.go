package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testZone holds a domain without faults, and others with faults.
const testZone = `
example.com.           A    192.0.2.80
example.com.           MX   10 mx1.example.com.
mx1.example.com.       A    192.0.2.25
_mta-sts.example.com.  TXT  "v=STSv1; id=20260101T000000"
_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"

broken.example.        MX   10 mx1.broken.example.
broken.example.        MX   20 mx2.elsewhere.example.
mx1.broken.example.    A    192.0.2.26
mx2.elsewhere.example. A    192.0.2.27
_mta-sts.broken.example. TXT "v=STSv1; id=1"

_mta-sts.partial.example. TXT "v=STSv1; id=20260101T000000"
_smtp._tls.partial.example. TXT "v=TLSRPTv1; rua=mailto:tls@partial.example"
`

func testWorld(t testing.TB) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(testZone)
	w.HTTPS("mta-sts.example.com", policy("mode: enforce\r\nmx: *.example.com\r\nmax_age: 1209600"))
	w.HTTPS("mta-sts.broken.example", policy("mode: enforce\r\nmx: mx1.broken.example\r\nmax_age: 60"))
	w.HTTPS("mta-sts.partial.example", policy("mode: enforce\r\nmx: mx.partial.example\r\nmax_age: 1209600"))
	w.Break("partial.example", dns.RcodeServerFailure) // the mail exchangers are not known
	w.Silence("silent.example")
	w.RDAP("rdap.verisign.com", map[string]string{
		"/com/v1/domain/example.com": `{"objectClassName": "domain", "ldhName": "example.com"}`,
	})
	return w
}

func policy(lines string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "version: STSv1\r\n"+lines+"\r\n")
	})
}

// A session is one call of the program in a world.
type session struct {
	app
	out, err bytes.Buffer
}

func newSession(w *diagtest.World) *session {
	s := &session{}
	s.stdin, s.stdout, s.stderr = strings.NewReader(""), &s.out, &s.err
	if w != nil {
		s.env = w.Env()
	}
	return s
}

func TestExitCodes(t *testing.T) {
	w := testWorld(t)
	for _, test := range []struct {
		name string
		args string
		want int
	}{
		{"nothing found", "resolve example.com A", exitOK},
		{"a warning is not enough", "resolve nothing.example.com A", exitOK},
		{"a warning is enough when asked for", "resolve nothing.example.com A --fail-on warning", exitFinding},
		{"an error", "dmarc/validate v=DMARC1;p=reject;rua=x@example.com", exitFinding},
		{"an error is not critical", "dmarc/validate v=DMARC1;p=reject;rua=x@example.com --fail-on critical", exitOK},
		{"a part could not be measured", "mta-sts/lookup partial.example --fail-on critical", exitPartial},
		{"what to type", "", exitOK},
		{"unknown check", "resolv example.com", exitUsage},
		{"unknown flag", "resolve example.com A --nonsense", exitUsage},
		{"unknown severity", "resolve example.com A --fail-on panic", exitUsage},
		{"unknown colour", "resolve example.com A --color beige", exitUsage},
		{"no time", "resolve example.com A --timeout 0s", exitUsage},
		{"no duration", "resolve example.com A --timeout soon", exitUsage},
		{"missing field", "resolve --qtype A", exitUsage},
		{"a type is not needed", "resolve example.com", exitOK},
		{"quiet and verbose", "resolve example.com -q -v", exitUsage},
		{"overview", "example.com", exitFinding},
		{"overview of what is none", "exa..mple", exitUsage},
		{"overview of two", "example.com example.net", exitUsage},
		{"version flag", "--version", exitOK},
		{"bad field", "resolve exa..mple A", exitUsage},
		{"fields that do not go together", "http/qr " + strings.Repeat("x", 2000) + " --error-correction H", exitUsage},
		{"bad boolean", "resolve example.com A --dnssec=perhaps", exitUsage},
		{"one argument too many", "ip/netmask 192.0.2.1 24 30 40", exitUsage},
		{"server without key", "resolve example.com A --server https://diag.example", exitUsage},
		{"the resolver is silent", "resolve silent.example A", exitIncomplete},
		{"version", "version", exitOK},
		{"version of what", "version 2", exitUsage},
		{"help", "--help", exitOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSession(w)
			assert.Equal(t, test.want, s.run(t.Context(), strings.Fields(test.args)), "%s%s", &s.out, &s.err)
			failed := test.want == exitUsage || test.want == exitIncomplete
			assert.Equal(t, failed, strings.HasPrefix(s.err.String(), "diag: "), "%s", &s.err)
			assert.Equal(t, failed, s.out.Len() == 0, "%s", &s.out)
		})
	}
}

func TestSuggestion(t *testing.T) {
	for word, want := range map[string]string{
		"resolv": "did you mean resolve or resolve/propagation?", "reslove": "did you mean resolve?",
		"certificats": "or certificats/bimi/parse?", "dmrac": "did you mean dmarc?", "mxx": "did you mean mx?", "txtt": "did you mean txt",
		"nonsense": "diag --help lists all",
	} {
		s := newSession(nil)
		s.run(t.Context(), []string{word})
		assert.Contains(t, s.err.String(), "diag: unknown check \""+word+"\"; ")
		assert.Contains(t, s.err.String(), want)
	}
}

// A fault of a value is reported in our own words.
func TestBadValues(t *testing.T) {
	for args, want := range map[string]string{
		"spf a --timeout soon":              `--timeout: "soon" is not a duration, such as 30s or 5m`,
		"spf a --parallel many":             `--parallel: "many" is not a number`,
		"spf a --html=perhaps":              `--html: "perhaps" is not true or false`,
		"spf a --fail-on panic":             `--fail-on: "panic" is not one of info, warning, error, critical`,
		"v=STSv1;id=1 --json --md":          "--json, --jsonl, --md, --html, --junit and --svg exclude each other",
		"exporter a --server https://a.net": "exporter runs the checks itself: omit --server",
	} {
		s := newSession(nil)
		assert.Equal(t, exitUsage, s.run(t.Context(), strings.Fields(args)))
		assert.Equal(t, "diag: "+want+"\n", s.err.String())
	}
	s := newSession(nil)
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{""}))
	assert.Equal(t, "diag: the argument is empty: name a domain, address, URL or file\n", s.err.String())
}

// An argument that is left out or empty, as a variable of a script that is not set, is named; texts may be empty.
func TestArgumentsThatAreMissing(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"resolve", "", "MX"}, "qname: is required"},
		{[]string{"resolve", "example.com", ""}, "qname: is required"},
		{[]string{"mx", ""}, "qname: is required"},
		{[]string{"dig", "-t", "MX", ""}, "qname: is required"},
		{[]string{"propagation", "", "A"}, "qname: is required"},
		{[]string{"spf", ""}, "domain: is required"},
		{[]string{"dkim", "", "s1"}, "domain: is required"},
		{[]string{"dkim", "example.com", ""}, "selector: is required"},
		{[]string{"csr", ""}, "csr: is required"},
		{[]string{"report", ""}, "xml: is required"},
		{[]string{"dkim", "example..com"}, `domain: "example..com" is not a domain name: it has an empty label`},
		{[]string{"regex", "a+"}, "text: is required, as in: diag regex a+ postmaster@example.com"},
	} {
		s := newSession(nil)
		assert.Equal(t, exitUsage, s.run(t.Context(), tt.args), tt.args)
		assert.Equal(t, "diag: "+tt.want+"\n", s.err.String())
	}
	s := newSession(nil)
	assert.Equal(t, exitOK, s.run(t.Context(), []string{"lower", ""}), "%s", &s.err)
}

// A domain alone is everything about it, on one screen.
func TestOverview(t *testing.T) {
	s := newSession(testWorld(t))
	s.run(t.Context(), []string{"postmaster@broken.example"})
	assert.Equal(t, "diag: note: taking broken.example from postmaster@broken.example\n", s.err.String())
	out := s.out.String()
	for _, name := range []string{"MAIL", "mx", "spf", "mta-sts", "smtp", "DNS", "servers", "WEB"} {
		assert.Contains(t, out, name)
	}
	assert.Contains(t, out, "\nDo first\n  1. ")
	assert.LessOrEqual(t, strings.Count(out, "\n"), 40, "one screen")
}

// Pasted input is interpreted as it was meant.
func TestNormalizeInput(t *testing.T) {
	for _, test := range []struct{ field, text, want, note string }{
		{"domain", "example.com", "example.com", ""},
		{"domain", "  example.com\n", "example.com", ""},
		{"domain", "https://user@example.com:8443/x?y", "example.com", "taking example.com from https"},
		{"domain", "example.com/path", "example.com", "taking example.com from example.com/path"},
		{"domain", "postmaster@example.com", "example.com", "taking example.com from postmaster@example.com"},
		{"qname", "_dmarc.example.com ", "_dmarc.example.com", ""},
		{"ip", " 192.0.2.1 ", "192.0.2.1", ""},
		{"text", " as it is ", " as it is ", ""},
	} {
		s := newSession(nil)
		assert.Equal(t, test.want, s.normalizeInput(test.field, test.text))
		assert.Contains(t, s.err.String(), test.note)
		assert.Equal(t, test.note == "", s.err.Len() == 0)
	}
}

// A text utility prints its result as it is, for the next program.
func TestUtilities(t *testing.T) {
	for _, test := range []struct{ args, stdin, out, err string }{
		{"text/upper -", "straße\n", "STRASSE\n", ""},
		{"text/base64/decode 3q2+7w==", "", "\xde\xad\xbe\xef", ""},
		{"text/json/format -", `{"a":1}`, "{\n  \"a\": 1\n}", ""},
		{"text/json/format -", `{"a":}`, "", "diag: not valid JSON · line 1, column 6: "},
		{"text/hash a --algorithms md5", "", "md5          0cc175b9c0f1b6a831c399e269772661\n", ""},
	} {
		s := newSession(nil)
		s.stdin = strings.NewReader(test.stdin)
		code := s.run(t.Context(), strings.Fields(test.args))
		assert.Equal(t, test.err != "", code == exitFinding)
		assert.Equal(t, test.out, s.out.String(), test.args)
		assert.Contains(t, s.err.String(), test.err)
	}
}

// A QR code shows on a terminal as it would be printed.
func TestTerminalQR(t *testing.T) {
	s := newSession(nil)
	s.terminal = true
	require.Equal(t, exitOK, s.run(t.Context(), []string{"http/qr", "https://example.com", "--size", "100"}), "%s", &s.err)
	lines := strings.Split(strings.TrimSuffix(s.out.String(), "\n"), "\n")
	require.Len(t, lines, (25+4+1)/2, "version 2 and two modules around it")
	assert.Equal(t, "█████████████████████████████", lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "██ ▄▄▄▄▄ █"), lines[1])
	s = newSession(nil)
	s.terminal = true
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{"http/qr", "x", "--format", "svg"}))
}

func TestManual(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1") // which need not exist
	require.Equal(t, exitOK, newSession(nil).run(t.Context(), []string{"man", folder}))
	require.FileExists(t, folder+"/diag-spf-hosted-id-history.1")
	page, err := os.ReadFile(folder + "/diag.1")
	require.NoError(t, err)
	assert.Contains(t, string(page), `fail\-on`)
	assert.Contains(t, string(page), ".SH COMMANDS\n")
	assert.Contains(t, string(page), "\n.B spf/lookup DOMAIN\nSPF lookup and parsing; short: spf")
	for _, chapter := range []string{"DESCRIPTION", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"} {
		assert.Contains(t, string(page), ".SH "+chapter+"\n")
	}
	assert.Contains(t, string(page), ".SH EXIT STATUS\n.TP\n.B 0\n")
	page, err = os.ReadFile(folder + "/diag-mta-sts-lookup.1")
	require.NoError(t, err)
	assert.Contains(t, string(page), "verified TLS only")
	assert.Contains(t, string(page), "\n.B 4\nA part could not be checked")
	assert.NotContains(t, string(page), ".SH COMMANDS")
}

// Kept reports of a healthy and of a broken domain, as people see them.
func TestGolden(t *testing.T) {
	for _, test := range []struct{ file, args string }{
		{"healthy", ""}, {"healthy", "-v"}, {"broken", ""}, {"broken", "--color always"}, {"plain", ""},
	} {
		t.Run(test.file+test.args, func(t *testing.T) {
			kept, err := os.ReadFile("testdata/" + test.file + ".json")
			require.NoError(t, err)
			address, _ := recordingServer(t, string(kept))
			s := newSession(nil)
			args := "mta-sts/lookup example.com --key k --server " + address + " " + test.args
			s.run(t.Context(), strings.Fields(args))
			name := strings.ReplaceAll(strings.ReplaceAll(test.file+test.args, " ", ""), "--", "-")
			diagtest.Golden(t, "testdata/"+name+".golden", s.out.Bytes())
		})
	}
}

// The order of a report is that of reading: verdict, what to do first, findings, facts.
func TestOrder(t *testing.T) {
	s := newSession(testWorld(t))
	assert.Equal(t, exitFinding, s.run(t.Context(), []string{"mta-sts/lookup", "broken.example", "-v"}))
	last := -1
	for _, part := range []string{
		"✖ broken.example  mta-sts/lookup  invalid", "\nDo first\n  1. ", "\nFindings\n  ✖ ", "\nPassed\n", "\nFacts\n",
	} {
		at := strings.Index(s.out.String(), part)
		assert.Greater(t, at, last, "%q in\n%s", part, &s.out)
		last = at
	}
}

func TestColor(t *testing.T) {
	w := testWorld(t)
	for _, test := range []struct {
		name     string
		terminal bool
		noColor  string
		term     string
		args     []string
		want     bool
	}{
		{"on a terminal", true, "", "xterm", nil, true},
		{"in a pipe", false, "", "xterm", nil, false},
		{"NO_COLOR", true, "1", "xterm", nil, false},
		{"a dumb terminal", true, "", "dumb", nil, false},
		{"never", true, "", "xterm", []string{"--color", "never"}, false},
		{"always, in a pipe", false, "", "xterm", []string{"--color", "always"}, true},
		{"always beats NO_COLOR", false, "1", "xterm", []string{"--color=always"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			t.Setenv("TERM", test.term)
			s := newSession(w)
			s.terminal = test.terminal
			s.run(t.Context(), append([]string{"resolve", "nothing.example.com", "A"}, test.args...))
			assert.Equal(t, test.want, strings.Contains(s.out.String(), "\x1b["))
			assert.Contains(t, s.out.String(), "▲", "what colour says, a sign must say too")
		})
	}
}

func TestProgress(t *testing.T) {
	for _, test := range []struct {
		name     string
		terminal bool
		want     string
	}{
		{"on a terminal", true, "\r\x1b[Kresolve example.com: 1 s\r\x1b[Kresolve example.com: 2 s\r\x1b[K"},
		{"not on a terminal", false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := testWorld(t)
				w.Delay("example.com", 2500*time.Millisecond)
				s := newSession(w)
				s.progress = test.terminal
				require.Equal(t, exitOK, s.run(t.Context(), []string{"resolve", "example.com", "A"}))
				assert.Equal(t, test.want, s.err.String())
			})
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testWorld(t)
		w.Delay("example.com", 10*time.Second)
		s, began := newSession(w), time.Now()
		assert.Equal(t, exitIncomplete, s.run(t.Context(), []string{"resolve", "example.com", "A", "--timeout", "1s"}))
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, "diag: timeout waiting for the default resolver\n", s.err.String())
	})
}
