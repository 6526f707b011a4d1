package csr

import (
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// Every command that is suggested makes a request without an error or warning, for all names that could be certified.
// It is run by a shell with openssl, where there is one.
func TestSuggestions(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs the program openssl (Debian: apt-get install openssl); .ci/run installs it")
	}
	suggested := 0
	for _, tt := range cases() {
		before, err := Parse(t.Context(), nil, Request{CSR: tt.text})
		require.NoError(t, err)
		done := map[string]bool{}
		for _, rec := range before.Recommendations {
			command := rec.SuggestedValue
			if command == "" || done[command] {
				continue
			}
			done[command] = true
			suggested++
			after := run(t, openssl, command)
			for _, f := range after.Findings {
				require.Less(t, f.Severity, diag.Warning, "%s: %s: %+v", tt.name, command, f)
			}
			for _, n := range before.Names {
				if n.Valid {
					require.Contains(t, after.names(), strings.ToLower(n.Value), "%s: %s", tt.name, command)
				}
			}
		}
	}
	require.NotZero(t, suggested)
	t.Logf("%d commands make a good request", suggested)
}

func (r *Report) names() (list []string) {
	for _, n := range r.Names {
		list = append(list, n.Value)
	}
	return list
}

var keyFile = regexp.MustCompile(`-key (\S+)`)

// run runs a command in a folder with the key that it names, and parses the request that it writes.
func run(t *testing.T, openssl, command string) *Report {
	folder := t.TempDir()
	if m := keyFile.FindStringSubmatch(command); m != nil {
		out, err := exec.Command(openssl, "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", filepath.Join(folder, m[1])).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	shell := exec.Command("sh", "-c", command)
	shell.Dir = folder
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)
	files, err := filepath.Glob(filepath.Join(folder, "*.csr"))
	require.NoError(t, err)
	require.Len(t, files, 1, command)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	r, err := Parse(t.Context(), nil, Request{CSR: string(text)})
	require.NoError(t, err)
	return r
}

// Nothing of a request gets into a command but names and values that a shell takes literally.
func TestSuggestionsAreSafe(t *testing.T) {
	for _, evil := range []string{"$(id)", "`id`", "'; id; '", "a\nb", "x\\", "|id"} {
		for _, p := range []plan{
			{subject: [][2]string{{"2.5.4.10", evil}, {oidCommonName, "example.com"}}, hash: "1.2.840.10045.4.1"},
			{names: []string{evil, "example.com"}}, {subject: [][2]string{{oidCommonName, evil}}},
		} {
			r, err := Parse(t.Context(), nil, Request{CSR: p.pem()})
			require.NoError(t, err)
			for _, rec := range r.Recommendations {
				quoted := regexp.MustCompile(`'[^']*'`).ReplaceAllString(rec.SuggestedValue, "")
				require.NotRegexp(t, "[$`;|\\\\\n&<>']", quoted, rec.SuggestedValue)
				require.NotContains(t, rec.SuggestedValue, "\n")
			}
		}
	}
}

// Whatever bytes are given: an error xor contents, and what is parsed of a text never holds a key.
func FuzzRead(f *testing.F) {
	f.Add(plan{}.encode())
	f.Add(withoutSubject())
	f.Add(plan{others: []value2{{7, []byte{1}}, {0, nil}}, password: true, raw: purposesOf("1.2.3")}.encode())
	f.Add(plan{spki: curveKey(explicit(), append([]byte{4}, basePoint()...))}.encode())
	f.Add(plan{spki: rsaKey("1.2.840.113549.1.1.1", true, semiprime(), semiprime())}.encode())
	f.Fuzz(func(t *testing.T, der []byte) {
		c, err := readDER(der)
		if (c == nil) == (err == nil) {
			t.Fatalf("%v and %v", c, err)
		}
		if malformed := (*malformedError)(nil); err != nil && (!errors.As(err, &malformed) || !strings.HasSuffix(malformed.Reason, ".")) {
			t.Fatalf("%T without a sentence: %v", err, err)
		}
		if c != nil {
			c.Key.Describe()
			c.Key.Check(c.Algorithm, c.Signed, c.Signature)
			e := &evidence{paste: &paste{}, csr: c}
			e.judgeNames()
			e.correction()
		}
	})
}

// Whatever text is given, there is a report whose verdict fits its findings, and the same text gives the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"-----BEGIN RSA PRIVATE KEY-----", "ssh-rsa A", "-----BEGIN X-----\n--"} {
		f.Add(text)
	}
	for _, bent := range forms(plan{}.encode()) {
		f.Add(bent.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || len(text) > maxBytes {
			return
		}
		r, err := Parse(t.Context(), nil, Request{CSR: text})
		if err != nil {
			t.Fatal(err)
		}
		if (r.Outcome == Invalid) != (r.PublicKey.Algorithm == "") || r.Outcome == Invalid && len(r.Findings) == 0 {
			t.Errorf("%s: %+v", r.Outcome, r.Findings)
		}
		if clean := r.CleanPEM; clean != "" {
			again, err := Parse(t.Context(), nil, Request{CSR: clean})
			if err != nil || !again.Valid || again.CleanPEM != "" || again.SPKISHA256 != r.SPKISHA256 {
				t.Errorf("the clean copy is not clean: %s: %+v", clean, again)
			}
		}
		if secretText().MatchString(text) && r.Findings[0].Code != "csr.private_key.present" {
			t.Errorf("a private key was overlooked: %x", sha256.Sum256([]byte(text)))
		}
	})
}
