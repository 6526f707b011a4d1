package fetch_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

// A line that HTTP does not allow is reported, and the rest is read.
func TestDoFaultyHead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		head   string // with bars for line ends
		faults []fetch.HeadFault
		fields string // what else is read
	}{
		{"nothing", "HTTP/1.1 200 OK|A: b|Content-Length: 5|", nil, "A=b"},
		{"no colon", "HTTP/1.1 200 OK|No colon here|A: b|Content-Length: 5|",
			[]fetch.HeadFault{{Kind: fetch.NoColon, Line: "No colon here"}}, "A=b"},
		{"equals sign", "HTTP/1.1 200 OK|Server = x; y|A: b|", []fetch.HeadFault{{Kind: fetch.NoColon, Line: "Server = x; y"}}, "A=b"},
		{"space before the colon", "HTTP/1.1 200 OK|A : c|A: b|", []fetch.HeadFault{{Kind: fetch.SpacedName, Line: "A : c"}}, "A=b"},
		{"space in the name", "HTTP/1.1 200 OK|A B: c|A: b|", []fetch.HeadFault{{Kind: fetch.BadName, Line: "A B: c"}}, "A=b"},
		{"dashes of a word processor", "HTTP/1.1 200 OK|X\u2010Y: c|A: b|", []fetch.HeadFault{{Kind: fetch.BadName, Line: "X\u2010Y: c"}}, "A=b"},
		{"bytes that are not UTF-8", "HTTP/1.1 200 OK|\xe9: c|A: b|", []fetch.HeadFault{{Kind: fetch.BadName, Line: "\uFFFD: c"}}, "A=b"},
		{"no name", "HTTP/1.1 200 OK|: c|A: b|", []fetch.HeadFault{{Kind: fetch.BadName, Line: ": c"}}, "A=b"},
		{"first line folded", "HTTP/1.1 200 OK| c: d|A: b|", []fetch.HeadFault{{Kind: fetch.Detached, Line: " c: d"}}, "A=b"},
		{"folded twice", "HTTP/1.1 200 OK|A: b|\tc|  d|E: f|", []fetch.HeadFault{{Kind: fetch.Folded, Line: "A: b c d", Read: true}}, "A=b c d,E=f"},
		{"control characters", "HTTP/1.1 200 OK|A: b\x00c\rd\x7f|",
			[]fetch.HeadFault{{Kind: fetch.ControlCharacter, Line: "A: b\x00c\rd\x7f", Read: true}}, "A=b c d"},
		{"long", "HTTP/1.1 200 OK|" + strings.Repeat("a ", 300) + "|A: b|",
			[]fetch.HeadFault{{Kind: fetch.NoColon, Line: strings.Repeat("a ", 300)}}, "A=b"},
		{"one length twice", "HTTP/1.1 200 OK|A: b|Content-Length: 5|Content-Length: 5|",
			[]fetch.HeadFault{{Kind: fetch.Framing, Line: "Content-Length: 5, Content-Length: 5", Read: true}}, "A=b"},
		{"empty length", "HTTP/1.1 200 OK|A: b|Content-Length:|", []fetch.HeadFault{{Kind: fetch.Framing, Line: "Content-Length: ", Read: true}}, "A=b"},
		{"transfer coding identity", "HTTP/1.1 200 OK|A: b|Transfer-Encoding: identity|Content-Length: 5|",
			[]fetch.HeadFault{{Kind: fetch.Framing, Line: "Transfer-Encoding: identity, Content-Length: 5", Read: true}}, "A=b"},
	} {
		for _, end := range []string{"\r\n", "\n"} {
			t.Run(tt.name, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.HTTP("example.com", rawText(strings.ReplaceAll(tt.head+"|", "|", end)+"hello"))
				r := do(t, w, get("http://example.com/"))
				require.Nil(t, r.Err)
				require.Equal(t, "hello", string(r.Body))
				h := r.Final()
				faults := h.Faults
				if end == "\n" {
					require.Equal(t, fetch.HeadFault{Kind: fetch.BareLF, Line: "HTTP/1.1 200 OK", Read: true}, faults[0])
					faults = faults[1:]
				}
				require.Len(t, faults, len(tt.faults))
				for i, f := range faults {
					require.Equal(t, tt.faults[i].Kind, f.Kind)
					require.Equal(t, tt.faults[i].Read, f.Read)
					require.Equal(t, tt.faults[i].Line[:min(len(tt.faults[i].Line), 150)], f.Line[:min(len(f.Line), 150)])
					require.Less(t, len(f.Line), 210)
				}
				var fields []string
				for _, f := range h.Fields {
					if !strings.HasPrefix(f.Name, "Content") && !strings.HasPrefix(f.Name, "Transfer") {
						fields = append(fields, f.Name+"="+f.Value)
						require.Equal(t, f.Value, h.Header.Get(f.Name))
					}
				}
				require.Equal(t, tt.fields, strings.Join(fields, ","))
			})
		}
	}
}

// Chunked coding takes precedence over any other length of a body.
func TestDoChunkedTwice(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTP("example.com", rawText("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nTransfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n"+
		"5\r\nhello\r\n0\r\n\r\n"))
	r := do(t, w, get("http://example.com/"))
	require.Nil(t, r.Err)
	require.Equal(t, "hello", string(r.Body))
	require.Equal(t, fetch.Framing, r.Final().Faults[0].Kind)
}

func TestDoForeignServers(t *testing.T) {
	for begin, want := range map[string]string{
		"SSH-2.0-OpenSSH_9.6\r\n":                  `that of an SSH server: it begins with "SSH-2.0-OpenSSH_9.6"`,
		"220 mx.example.com ESMTP Postfix\r\n":     "a mail server (SMTP)",
		"220-Welcome to FTP\r\n220 ready\r\n":      "an FTP server",
		"220 files.example.org ready\r\n":          "a mail server (SMTP) or an FTP server",
		"+OK ready\r\n":                            "a POP3 server",
		"* OK [CAPABILITY IMAP4rev1] ready\r\n":    "an IMAP server",
		"RFB 003.008\n":                            "a VNC server",
		"-ERR wrong number of arguments\r\n":       "a Redis server",
		"\x15\x03\x01\x00\x02\x02\x46":             "a TLS server",
		"\x4a\x00\x00\x00\x0a8.0.36\x00":           "a MySQL server",
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00": "speaks HTTP/2",
		"<html><body>It works</body></html>":       "HTTP/0.9",
		"hello":                                    `the answer is not HTTP: it begins with "hello"`,
		"HTTP":                                     `the answer is not HTTP: it begins with "HTTP"`,
	} {
		w := diagtest.NewWorld(t)
		w.HTTP("example.com", raw(func(c net.Conn) { c.Write([]byte(begin)) }))
		r := do(t, w, get("http://example.com/"))
		require.Equal(t, fetch.Protocol, r.Err.Code, begin)
		require.Contains(t, r.Err.Message, want)
	}
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["A"] = []string{"b"} }))
	require.Empty(t, do(t, w, get("https://example.com/")).Final().Faults)
}
