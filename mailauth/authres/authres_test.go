package authres

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/message"
	oracle "github.com/emersion/go-msgauth/authres"
	"github.com/stretchr/testify/require"
)

// write prints a header in one line: authserv-id/version | method=value reason [comments] properties | … ! faults.
func write(h *Header) string {
	var parts []string
	id := h.AuthservID
	if h.Version != "" {
		id += "/" + h.Version
	}
	if h.Instance > 0 {
		id = fmt.Sprintf("%d:%s", h.Instance, id)
	}
	if h.None {
		id += " none"
	}
	for _, p := range h.Properties {
		id += " " + unquoted(p)
	}
	parts = append(parts, id)
	for _, r := range h.Results {
		text := r.Method
		if r.Version != "" {
			text += "/" + r.Version
		}
		text += "=" + r.Value
		if r.Reason != "" {
			text += " reason:" + r.Reason
		}
		for _, c := range r.Comments {
			text += " (" + c + ")"
		}
		for _, p := range r.Properties {
			text += " " + unquoted(p)
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, " | ")
	if len(h.Faults) > 0 {
		text += fmt.Sprintf(" !%d", len(h.Faults))
	}
	return text
}

func unquoted(p Property) string {
	if p.Type == "" {
		return p.Name + "=" + p.Value
	}
	return p.Type + "." + p.Name + "=" + p.Value
}

func TestParse(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"RFC 8601 B.2", "example.org 1; none", "example.org/1 none"},
		{"RFC 8601 B.3", "example.com; spf=pass smtp.mailfrom=example.net", "example.com | spf=pass smtp.mailfrom=example.net"},
		{"RFC 8601 B.4", "example.com; auth=pass (cram-md5) smtp.auth=sender@example.net; spf=pass smtp.mailfrom=example.net",
			"example.com | auth=pass (cram-md5) smtp.auth=sender@example.net | spf=pass smtp.mailfrom=example.net"},
		{"RFC 8601 B.6", `example.com; dkim=pass reason="good signature" header.i=@mail-router.example.net; dkim=fail reason="bad signature" header.i=@newyork.example.com`,
			"example.com | dkim=pass reason:good signature header.i=@mail-router.example.net | dkim=fail reason:bad signature header.i=@newyork.example.com"},
		{"RFC 8601 B.7", `foo.example.net (foobar) 1 (baz); dkim (Because I like it) / 1 (One yay) = (wait for it) fail policy (A dot can go here) . (like that) expired (this surprised me) = (as I wasn't expecting it) 1362471462`,
			"foo.example.net/1 | dkim/1=fail (Because I like it) (One yay) (wait for it) (A dot can go here) (like that) (this surprised me) (as I wasn't expecting it) policy.expired=1362471462"},
		{"semicolon in a comment", "a.example; dkim=pass (1024-bit key; unprotected) header.d=b.example; spf=none",
			"a.example | dkim=pass (1024-bit key; unprotected) header.d=b.example | spf=none"},
		{"comment at the result", "a.example; dkim=pass(good)header.d=b.example", "a.example | dkim=pass (good) header.d=b.example"},
		{"quoted", `a.example; spf=pass smtp.mailfrom="bounce+1=x@b.example" header.x="a;b"`, "a.example | spf=pass smtp.mailfrom=bounce+1=x@b.example header.x=a;b"},
		{"quoted local part", `a.example; spf=pass smtp.mailfrom="a b"@c.example`, `a.example | spf=pass smtp.mailfrom="a b"@c.example`},
		{"equals in a value", "a.example; spf=pass smtp.mailfrom=SRS0=Hq2x=TT=b.example=x@c.example", "a.example | spf=pass smtp.mailfrom=SRS0=Hq2x=TT=b.example=x@c.example"},
		{"Microsoft", "spf=fail (sender IP is 203.0.113.44) smtp.mailfrom=example.org; dkim=none (message not signed) header.d=none;dmarc=fail action=quarantine header.from=example.org;compauth=fail reason=000",
			" | spf=fail (sender IP is 203.0.113.44) smtp.mailfrom=example.org | dkim=none (message not signed) header.d=none | dmarc=fail action=quarantine header.from=example.org | compauth=fail reason:000 !1"},
		{"Microsoft of old", "spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=a.example; b.example; dkim=pass header.d=a.example",
			" | spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=a.example | dkim=pass header.d=a.example !2"},
		{"no semicolon", "a.example; dkim=pass header.d=b.example spf=pass smtp.mailfrom=b.example", "a.example | dkim=pass header.d=b.example | spf=pass smtp.mailfrom=b.example !1"},
		{"no semicolon behind the name", "a.example dkim=pass header.d=b.example", "a.example | dkim=pass header.d=b.example !1"},
		{"property alone", "a.example; header.From=x@b.example; dkim=neutral", "a.example header.from=x@b.example | dkim=neutral"},
		{"property without a type", "a.example; dmarc=pass (p=reject dis=none) d=b.example", "a.example | dmarc=pass (p=reject dis=none) d=b.example"},
		{"trailing semicolon", "a.example; spf=pass;", "a.example | spf=pass"},
		{"upper case", "A.example; SPF=Pass SMTP.MailFrom=x@B.example", "A.example | spf=pass smtp.mailfrom=x@B.example"},
		{"only a name", "a.example", "a.example !1"},
		{"not closed", "a.example; dkim=pass (x header.d=b.example", "a.example | dkim=pass (x header.d=b.example)"},
		{"nonsense", `"a b"; = ; "; x`, `a b !3`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := Parse(tt.value)
			require.NoError(t, err)
			require.Equal(t, tt.want, write(h))
		})
	}
	_, err := Parse(" (comment) ")
	require.ErrorIs(t, err, errEmpty)
}

func TestParseARC(t *testing.T) {
	h, err := ParseARC("i=2; mx.example.com 1; arc=pass (i=1 spf=pass spfdomain=a.example); spf=pass smtp.mailfrom=a.example")
	require.NoError(t, err)
	require.Equal(t, "2:mx.example.com/1 | arc=pass (i=1 spf=pass spfdomain=a.example) | spf=pass smtp.mailfrom=a.example", write(h))
	h, err = ParseARC("mx.example.com; spf=pass")
	require.NoError(t, err)
	require.Equal(t, "mx.example.com | spf=pass !1", write(h))
	_, err = ParseARC("i=1;")
	require.ErrorIs(t, err, errEmpty)
}

func TestResult(t *testing.T) {
	h, err := Parse("a.example; dkim=pass header.i=@B.example header.s=s1; dkim=pass header.d=none; spf=pass smtp.mailfrom=x@c.example;" +
		" spf=pass smtp.helo=mail.d.example; dmarc=fail (p=REJECT sp=REJECT dis=NONE arc=pass) header.from=e.example; iprev=pass")
	require.NoError(t, err)
	var domains []string
	for _, r := range h.Results {
		domains = append(domains, r.Domain())
	}
	require.Equal(t, []string{"b.example", "", "c.example", "mail.d.example", "e.example", ""}, domains)
	require.Equal(t, "s1", h.Results[0].Property("header.x", "header.s"))
	require.Equal(t, "REJECT", h.Results[4].Note("p"))
	require.Empty(t, h.Results[4].Note("x"))
}

func TestParseReceivedSPF(t *testing.T) {
	tests := []struct{ value, result, ip, domain string }{
		{"pass (google.com: domain of a@b.example designates 192.0.2.1 as permitted sender) client-ip=192.0.2.1;", "pass", "192.0.2.1", "b.example"},
		{"Fail (r.example: domain of b.example does not designate 203.0.113.44) client-ip=203.0.113.44; helo=vps.example;", "fail", "203.0.113.44", "b.example"},
		{"Fail (x) receiver=r.example; client-ip=203.0.113.44; helo=vps.example;", "fail", "203.0.113.44", "vps.example"},
		{`pass client-ip="2001:db8::1"; envelope-from="a@B.example"; helo=h.example; mechanism="include:x"` + "\treceived=r.example", "pass", "2001:db8::1", "b.example"},
		{"None (x) receiver=r.example; identity=helo; client-ip=192.0.2.1 helo=h.example; envelope-from=<a@b.example>", "none", "192.0.2.1", "h.example"},
		{"softfail", "softfail", "", ""},
	}
	for _, tt := range tests {
		r, err := ParseReceivedSPF(tt.value)
		require.NoError(t, err)
		require.Equal(t, tt.result, r.Result)
		require.Equal(t, tt.domain, r.Domain(), tt.value)
		if ip, ok := r.ClientIP(); ok || tt.ip != "" {
			require.Equal(t, tt.ip, ip.String())
		}
	}
	_, err := ParseReceivedSPF(" ")
	require.ErrorIs(t, err, errEmpty)
}

// Every field of the vectors is read; where another reader can read it, it finds the same results.
func TestConformanceAuthenticationResults(t *testing.T) {
	read, failed, compared, refused, spf := 0, 0, 0, 0, 0
	for _, path := range diagtest.Suite(t, "mail") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, f := range fieldsOf(text) {
			parse := Parse
			switch name := strings.ToLower(f.Name); name {
			case "received-spf":
				r, err := ParseReceivedSPF(f.Value())
				require.NoError(t, err, path)
				require.NotEmpty(t, r.Result)
				spf++
				continue
			case "arc-authentication-results":
				parse = ParseARC
			case "authentication-results", "authentication-results-original", "x-authentication-results":
			default:
				continue
			}
			h, err := parse(f.Value())
			if err != nil || len(h.Results) == 0 && !h.None {
				t.Errorf("%s: %v: %s", path, err, f.Value())
				failed++
				continue
			}
			read++
			if f.Is("ARC-Authentication-Results") {
				continue
			}
			if id, results, err := oracle.Parse(f.Value()); err == nil {
				requireSame(t, h, id, results, f.Value())
				compared++
			} else {
				refused++
			}
		}
	}
	require.Positive(t, read)
	require.Positive(t, compared)
	t.Logf("%d Authentication-Results read, %d not; %d agree with go-msgauth, which refuses %d; %d Received-SPF", read, failed, compared, refused, spf)
}

// fieldsOf returns the fields of a message, and those of messages in its body.
func fieldsOf(text []byte) (fields []message.Field) {
	const maxMessages = 50
	for range maxMessages {
		m := message.Split(text)
		fields = append(fields, m.Fields...)
		_, behind, ok := strings.Cut(string(m.Body), "\nReceived:")
		if !ok {
			break
		}
		text = []byte("Received:" + behind)
	}
	return fields
}

func requireSame(t *testing.T, h *Header, id string, results []oracle.Result, value string) {
	require.Equal(t, id, h.AuthservID, value)
	var want, got []string
	for _, r := range results {
		if m, v := oracleResult(r); m != "" {
			want = append(want, m+"="+v)
		}
	}
	for _, r := range h.Results {
		got = append(got, r.Method+"="+r.Value)
	}
	require.Equal(t, want, got, value)
}

func oracleResult(r oracle.Result) (method, value string) {
	switch r := r.(type) {
	case *oracle.AuthResult:
		return "auth", string(r.Value)
	case *oracle.ARCResult:
		return "arc", string(r.Value)
	case *oracle.DKIMResult:
		return "dkim", string(r.Value)
	case *oracle.DomainKeysResult:
		return "domainkeys", string(r.Value)
	case *oracle.IPRevResult:
		return "iprev", string(r.Value)
	case *oracle.SenderIDResult:
		return "sender-id", string(r.Value)
	case *oracle.SPFResult:
		return "spf", string(r.Value)
	case *oracle.DMARCResult:
		return "dmarc", string(r.Value)
	case *oracle.GenericResult:
		if strings.Contains(r.Method, ".") { // a property without a result
			return "", ""
		}
		return r.Method, string(r.Value)
	}
	return "", ""
}

func TestHostileInput(t *testing.T) {
	for _, unit := range []string{"(", ";", "=", "\"", "a=b;", ". ", "a=b ", "spf=", "spf=a ", "\\", "a.", " ", "((a)"} {
		value := "a.example; " + strings.Repeat(unit, 256<<10/len(unit))
		began := diagtest.ProcessorTime()
		_, _ = Parse(value)
		_, _ = ParseARC(value)
		_, _ = ParseReceivedSPF(value)
		require.Less(t, diagtest.ProcessorTime()-began, 10*time.Second, "%q", unit)
	}
}

// A header that was read, and then written and read again, is written the same.
func FuzzParse(f *testing.F) {
	f.Add("mx.example.com 1; spf=pass (a; b) smtp.mailfrom=\"x@y\"; dkim=fail reason=\"no\" header.d=z")
	f.Add("spf=fail smtp.mailfrom=a; dkim=none header.d=none;compauth=fail reason=000")
	f.Fuzz(func(t *testing.T, value string) {
		h, err := Parse(value)
		if (h == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", value, h, err)
		}
		_, _ = ParseReceivedSPF(value)
		if err != nil || len(h.Faults) > 0 {
			return
		}
		text := h.String()
		again, err := Parse(text)
		if err != nil || again.String() != text {
			t.Fatalf("%q: %q became %q", value, write(h), text)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	const value = "mx.google.com; dkim=pass header.i=@example.org header.s=s1 header.b=Zk3Qh0p0; spf=pass (google.com: domain of alice@example.org designates 192.0.2.25 as permitted sender) smtp.mailfrom=alice@example.org; dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.org"
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Parse(value)
	}
}
