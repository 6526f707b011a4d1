package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func endpoint(t testing.TB, name string) httpapi.Endpoint {
	for _, ep := range httpapi.Endpoints() {
		if ep.Name() == name {
			return ep
		}
	}
	t.Fatalf("there is no endpoint %s", name)
	return httpapi.Endpoint{}
}

// Arguments and flags make the request that the API would get.
func TestRequest(t *testing.T) {
	stdin := strings.Repeat("x", 10)
	for _, test := range []struct {
		name, check string
		args        []string
		want        string
	}{
		{"arguments", "resolve", []string{"example.com", "MX"}, `{"qname":"example.com","qtype":"MX"}`},
		{"flags", "resolve", []string{"--qtype", "MX", "--qname", "example.com"}, `{"qname":"example.com","qtype":"MX"}`},
		{"both", "resolve", []string{"MX", "--qname=example.com"}, `{"qname":"example.com","qtype":"MX"}`},
		{"boolean", "resolve", []string{"a", "A", "--dnssec"}, `{"qname":"a","qtype":"A","dnssec":true}`},
		{"boolean, told", "resolve", []string{"a", "A", "--dnssec=false"}, `{"qname":"a","qtype":"A","dnssec":false}`},
		{"a resolver by name", "resolve", []string{"a", "A", "--resolver", "google"},
			`{"qname":"a","qtype":"A","resolver":"google"}`},
		{"integer", "http/qr", []string{"x", "--size", "100"}, `{"data":"x","size":100}`},
		{"text that looks like a number", "text/upper", []string{"100"}, `{"text":"100"}`},
		{"standard input", "text/upper", []string{"-"}, `{"text":"` + stdin + `"}`},
		{"after the flags", "text/upper", []string{"--", "--json"}, `{"text":"--json"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, seen := recordingServer(t, `{}`)
			s := newSession(nil)
			s.stdin = strings.NewReader(stdin)
			args := append([]string{test.check, "--server", server, "--key", "svc_test_x"}, test.args...)
			require.Equal(t, exitOK, s.run(t.Context(), args), "%s", &s.err)
			assert.JSONEq(t, test.want, seen.body)
			assert.Equal(t, "/public/v1/"+test.check, seen.path)
		})
	}
}

// Fields outside the body go where the API has them, whether they are named in the check, by arguments or
// by flags.
func TestRequestWithParameters(t *testing.T) {
	for _, test := range []struct{ name, args, method, target string }{
		{"a list", "spf/hosted", "GET", "spf/hosted?"},
		{"flags", "spf/hosted --limit 5 --domain example.com", "GET", "spf/hosted?limit=5&domain=example.com"},
		{"a value for the server to refuse", "spf/hosted --limit five", "GET", "spf/hosted?limit=five"},
		{"an id in its place", "spf/hosted/spf_a", "GET", "spf/hosted/spf_a?"},
		{"an id as an argument", "spf/hosted/{id} spf_a", "GET", "spf/hosted/spf_a?"},
		{"an id as a flag", "spf/hosted/{id} --id=spf_a", "GET", "spf/hosted/spf_a?"},
		{"behind flags", "-v -o FILE --timeout 5s --json spf/hosted/spf_a/stats", "GET", "spf/hosted/spf_a/stats?"},
		{"behind flags with values", "--color=never -oFILE spf/hosted/spf_a/stats", "GET", "spf/hosted/spf_a/stats?"},
		{"arguments behind an id", "spf/hosted/spf_a/history 5", "GET", "spf/hosted/spf_a/history?limit=5"},
		{"flags behind an id", "spf/hosted/spf_a/history --status failed --since 2026-01-01T00:00:00+02:00", "GET",
			"spf/hosted/spf_a/history?status=failed&since=2026-01-01T00%3A00%3A00%2B02%3A00"},
		{"a slash in an id", "spf/hosted/{id} a/b?c", "GET", "spf/hosted/a/b?c?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, seen := recordingServer(t, `{}`)
			s := newSession(nil)
			args := strings.Fields(strings.ReplaceAll(test.args, "FILE", filepath.Join(t.TempDir(), "out")))
			require.Equal(t, exitOK, s.run(t.Context(), append(args, "--server", server, "--key", "svc_test_x")), "%s", &s.err)
			assert.Equal(t, test.method+" /public/v1/"+test.target, seen.method+" "+seen.path+"?"+seen.query)
			assert.Empty(t, seen.body)
			assert.Empty(t, seen.header.Get("Content-Type"))
		})
	}
}

// Only the name of a check has places; similar texts are left unchanged.
func TestExpand(t *testing.T) {
	global := (&app{}).command().PersistentFlags()
	for _, test := range []struct{ args, want string }{
		{"spf/hosted/spf_a", "spf/hosted/{id} --id=spf_a"},
		{"text/upper spf/hosted/spf_a", "text/upper spf/hosted/spf_a"},
		{"-o spf/hosted/spf_a text/upper x", "-o spf/hosted/spf_a text/upper x"},
		{"--key spf/hosted/spf_a spf/hosted/spf_b --json", "--key spf/hosted/spf_a spf/hosted/{id} --id=spf_b --json"},
		{"spf/hosted/", "spf/hosted/"},
		{"spf/hosted//stats", "spf/hosted//stats"},
		{"spf/hosted/spf_a/burn", "spf/hosted/spf_a/burn"},
		{"spf/hosted/{id} spf_a", "spf/hosted/{id} spf_a"},
		{"--limit spf/hosted/spf_a spf/hosted/spf_b", "--limit spf/hosted/spf_a spf/hosted/{id} --id=spf_b"},
		{"-- spf/hosted/spf_a", "-- spf/hosted/spf_a"},
		{"--json", "--json"},
		{"--key", "--key"},
		{"", ""},
	} {
		assert.Equal(t, test.want, strings.Join(expandPath(global, strings.Fields(test.args)), " "), test.args)
	}
}

// A check that takes a file takes its name, or its content from standard input, or the text itself.
func TestFileArgument(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report.xml.gz")
	require.NoError(t, os.WriteFile(name, []byte("\x1f\x8bfile"), 0o600))
	inBase64 := base64.StdEncoding.EncodeToString
	pem := filepath.Join(t.TempDir(), "mark.pem")
	require.NoError(t, os.WriteFile(pem, []byte("-----BEGIN X-----"), 0o600))
	for _, test := range []struct{ check, arg, want, err string }{
		{"dmarc/report/analyze", name, `{"content_base64":"` + inBase64([]byte("\x1f\x8bfile")) + `"}`, ""},
		{"dmarc/report/analyze", "-", `{"content_base64":"` + inBase64([]byte("\xffstdin")) + `"}`, ""},
		{"dmarc/report/analyze", "<feedback/>", `{"xml":"<feedback/>"}`, ""},
		{"dmarc/report/analyze", name + "x", "", "no such file"},
		{"http/qr/decode", name, `{"image_base64":"` + inBase64([]byte("\x1f\x8bfile")) + `"}`, ""},
		{"http/qr/decode", "-", `{"image_base64":"` + inBase64([]byte("\xffstdin")) + `"}`, ""},
		{"http/qr/decode", name + "x", "", "no such file"},
		{"certificats/bimi/parse", pem, `{"pem":"-----BEGIN X-----"}`, ""},
		{"certificats/bimi/parse", protectPEM([]string{"-----BEGIN X-----"})[0], `{"pem":"\n-----BEGIN X-----"}`, ""},
		{"certificats/bimi/parse", pem + "x", "", "no such file"},
		{"certificates/csr/parse", pem, `{"csr":"-----BEGIN X-----"}`, ""},
		{"certificates/csr/parse", name, `{"csr":"` + inBase64([]byte("\x1f\x8bfile")) + `"}`, ""}, // binary
		{"certificates/csr/parse", strings.Repeat("MIIB", 100), `{"csr":"` + strings.Repeat("MIIB", 100) + `"}`, ""},
		{"certificates/csr/parse", "missing.csr", "", "no such file"},
	} {
		t.Run(test.check+" "+test.arg, func(t *testing.T) {
			a := &app{stdin: strings.NewReader("\xffstdin")}
			params, values := endpoint(t, test.check).Params(), map[string]*[]string{}
			for _, p := range params {
				values[p.Name] = new([]string)
			}
			body, err := a.requestBody(params, values, []string{test.arg})
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.JSONEq(t, test.want, string(body))
		})
	}
}

// What a field takes in base64 can be given as it is.
func TestBinaryInput(t *testing.T) {
	a := &app{stdin: strings.NewReader("\x89PNG\xff")}
	text, err := a.readValue(httpapi.Param{Name: "image_base64"}, "-")
	require.NoError(t, err)
	assert.Equal(t, base64.StdEncoding.EncodeToString([]byte("\x89PNG\xff")), text)
}

func TestInputRefused(t *testing.T) {
	for _, test := range []struct{ name, stdin, arg, want string }{
		{"no UTF-8 on standard input", "\xff", "-", "diag: text: is not UTF-8\n"},
		{"no UTF-8 as an argument", "", "\xff", "diag: text: is not UTF-8\n"},
		{"too much", strings.Repeat("x", maxInput+1), "-", "diag: text: standard input has more than 10485760 bytes\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSession(nil)
			s.stdin = strings.NewReader(test.stdin)
			assert.Equal(t, exitUsage, s.run(t.Context(), []string{"text/upper", test.arg}))
			assert.Equal(t, test.want, s.err.String())
		})
	}
}

// A name sets the field of the check, an address the resolver of its environment.
func TestResolverFlag(t *testing.T) {
	world := testWorld(t)
	s := newSession(world)
	args := []string{"resolve", "example.com", "A", "--resolver", "google", "--json"}
	require.Equal(t, exitOK, s.run(t.Context(), args), "%s", &s.err)
	assert.Contains(t, s.out.String(), `"id":"google"`)

	address := nameServer(t)
	s = newSession(nil)
	args = []string{"resolve", "example.com", "A", "--resolver", "udp://" + address, "--json"}
	require.Equal(t, exitOK, s.run(t.Context(), args), "%s", &s.err)
	assert.Contains(t, s.out.String(), `"id":"default"`)
	assert.Contains(t, s.out.String(), "192.0.2.99", "the name server of the flag was asked")

	s = newSession(nil)
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{"text/upper", "a", "--resolver", "nowhere"}))
}

// nameServer answers all questions for A with 192.0.2.99.
func nameServer(t testing.TB) (address string) {
	started := make(chan struct{})
	server := &dns.Server{
		Addr: "127.0.0.1:0", Net: "udp", NotifyStartedFunc: func() { close(started) },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg).SetReply(q)
			rr, err := dns.NewRR(q.Question[0].Name + " 60 A 192.0.2.99")
			if err == nil {
				m.Answer = []dns.RR{rr}
			}
			w.WriteMsg(m)
		}),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Shutdown(); <-ended })
	return server.PacketConn.LocalAddr().String()
}

func TestImage(t *testing.T) {
	s := newSession(nil)
	s.terminal = true
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{"http/qr", "hello", "--format", "jpeg"}))
	assert.Zero(t, s.out.Len(), "a terminal is spared")

	file := filepath.Join(t.TempDir(), "code.png")
	require.Equal(t, exitOK, s.run(t.Context(), []string{"http/qr", "hello", "--output", file}), "%s", &s.err)
	image, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(image), "\x89PNG"))

	s = newSession(nil)
	require.Equal(t, exitOK, s.run(t.Context(), []string{"http/qr", "hello"}))
	assert.Equal(t, image, s.out.Bytes(), "a pipe gets the image")
}

func TestOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	s := newSession(nil)
	require.Equal(t, exitOK, s.run(t.Context(), []string{"text/upper", "a", "--json", "-o", file}))
	assert.Zero(t, s.out.Len())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, json.Valid(text))

	s = newSession(nil)
	assert.Equal(t, exitIncomplete, s.run(t.Context(), []string{"text/upper", "a", "-o", filepath.Join(file, "no")}))
}

// Third-party text cannot control the terminal: escape sequences, the controls above 127, and characters that change
// the direction of writing are escaped.
func TestHostileText(t *testing.T) {
	const hostile = "red \x1b[31m clear \x1bc bell \x07 csi \u009b2J back \b tag \U000e0041 turn \u202e line \u2028 end"
	world := testWorld(t)
	world.Fault("hostile.example", 0, hostileFault(t, hostile))
	for _, args := range [][]string{
		{"resolve", "hostile.example", "TXT"},
		{"resolve", "hostile.example", "TXT", "-v", "--color", "never"},
		{"resolve", "hostile.example", "TXT", "--json"},
		{"text/upper", hostile},
		{"text/upper", hostile, "--json"},
		{"resolve", hostile, "TXT"},
		{hostile},
	} {
		s := newSession(world)
		s.terminal, s.color = true, "never"
		t.Setenv("NO_COLOR", "1")
		s.run(t.Context(), args)
		for _, r := range s.out.String() + s.err.String() {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%q puts %U on the terminal", args, r)
			}
		}
	}
}

// On a terminal JSON is escaped, with the same meaning.
func TestPrintableJSON(t *testing.T) {
	text := []byte("{\"a\u009b\":\"\u202e\U000e0041\x7f\",\n\"b\":\"é\"}")
	safe := printableJSON(text)
	assert.JSONEq(t, string(text), string(safe))
	assert.Equal(t, "{\"a\\u009b\":\"\\u202e\\udb40\\udc41\\u007f\",\n\"b\":\"é\"}", string(safe))
}

// hostileFault puts a text into a TXT record, byte by byte.
func hostileFault(t testing.TB, text string) diagtest.Fault {
	var escaped strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&escaped, "\\%03d", b)
	}
	rr, err := dns.NewRR(`hostile.example. 60 TXT "` + escaped.String() + `"`)
	require.NoError(t, err)
	return diagtest.Fault{Answers: []string{rr.String()}}
}

// A server is not trusted either: its reply may be no report, or an empty one.
func TestBadReplies(t *testing.T) {
	for _, text := range []string{``, `{`, `[0`, `{"a"`, `{"a":`, `{}{}`, `{} x`, `]`, `nul`, `[]`, strings.Repeat("[", 1_000_000)} {
		_, err := endpoint(t, "spf/lookup").Decode([]byte(text))
		assert.Error(t, err, "%.20s", text)
	}
	for _, ep := range httpapi.Endpoints() {
		if r, err := ep.Decode([]byte(`{}`)); assert.NoError(t, err, ep.Name()) && r != nil {
			assert.NotNil(t, httpapi.View(r), ep.Name())
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"state":"valid","findings":[{"severity":"error","location":{"offset":9,"length":-1}}],"tree":{"children":[null]}}`))
	f.Add([]byte(`{"recommendations":[{}],"hops":[null,{}],"chain":[{}],"nameservers":[{"addresses":[null]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, ep := range httpapi.Endpoints() {
			r, err := ep.Decode(data)
			if err != nil || r == nil {
				continue
			}
			s := newSession(nil)
			require.NoError(t, s.writeText(new(bytes.Buffer), outcome{ep: ep, view: httpapi.View(r)}))
		}
	})
}

// Lists are given as one flag with commas, as several, or both.
func TestListFlag(t *testing.T) {
	param := httpapi.Param{Name: "ports", Kinds: []string{"integer"}, List: true}
	for _, flags := range [][]string{{"25,465,587"}, {"25", "465", "587"}, {"25,465", "587"}} {
		values := map[string]*[]string{"ports": new([]string)}
		for _, text := range flags {
			require.NoError(t, (&valueFlag{values["ports"], param}).Set(text))
		}
		body, err := (&app{}).requestBody([]httpapi.Param{param}, values, nil)
		require.NoError(t, err)
		assert.Equal(t, `{"ports":[25,465,587]}`, string(body))
	}
}

func TestCompletion(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"http/qr x --format ", "png\nsvg\njpeg\n:4\n"},
		{"resolve --dnssec=", "true\nfalse\n:4\n"},
		{"resolve --fail-on ", "info\nwarning\nerror\ncritical\n:4\n"},
	} {
		s := newSession(nil)
		args := append([]string{"__complete"}, strings.Split(test.args, " ")...)
		require.Equal(t, exitOK, s.run(t.Context(), args))
		assert.Equal(t, test.want, s.out.String(), test.args)
	}
}

// The help shows how a check is called, with ids in their places.
func TestHelpExample(t *testing.T) {
	for check, want := range map[string]string{
		"mta-sts/lookup":          "  diag mta-sts/lookup example.com\n",
		"spf/hosted":              "  diag spf/hosted\n",
		"spf/hosted/{id}/history": "  diag spf/hosted/spf_mn4zq2vtw6k7y3cx5hbd2jfgla/history\n",
	} {
		s := newSession(nil)
		require.Equal(t, exitOK, s.run(t.Context(), []string{check, "--help"}))
		assert.Contains(t, s.out.String(), "Examples:\n"+want)
		assert.Contains(t, s.out.String(), "such as --json, --server, ")
		assert.NotContains(t, s.out.String(), "--trust-anchor")
	}
}

// A check without an argument prints its usage.
func TestNothingGiven(t *testing.T) {
	s := newSession(nil)
	require.Equal(t, exitUsage, s.run(t.Context(), []string{"spf"}))
	assert.Equal(t, "diag: spf/lookup takes DOMAIN, as in: diag spf/lookup example.com\n", s.err.String())
}

func TestHelpListsChecks(t *testing.T) {
	s := newSession(nil)
	require.Equal(t, exitOK, s.run(t.Context(), []string{"--help"}))
	for _, ep := range httpapi.Endpoints() {
		assert.Regexp(t, `(?m)^  `+regexp.QuoteMeta(ep.Name())+` +\S`, s.out.String())
	}
	assert.Contains(t, s.out.String(), " [blacklist, blocklist, dnsbl, rbl]\n")
	assert.Contains(t, s.out.String(), "--trust-anchor")
	for _, f := range families {
		assert.Contains(t, s.out.String(), "\n"+f.title+":\n")
	}
}
