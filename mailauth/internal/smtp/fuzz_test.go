package smtp

import (
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Any server output yields a reply or an error within bounds, and a reply matches its lines.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		"220 mx.example.com ESMTP\r\n", "250-a\r\n250-SIZE 10\r\n250 STARTTLS\r\n", "250\r\n", "250\n", "250-a\r\n550 b\r\n",
		"SSH-2.0\r\n", "\x16\x03\x01", "220-" + strings.Repeat("x", 3000) + "\r\n", strings.Repeat("220-x\r\n", 200),
		"250-\xff\r\n250 AUTH=LOGIN PLAIN\r\n", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		here, there := net.Pipe()
		go func() {
			there.Write([]byte(sent))
			there.Close()
		}()
		s := &Session{conn: here, remaining: maxBytes}
		s.text = newLineReader(here, &s.remaining)
		r, err := s.read(StepBanner, time.Minute)
		here.Close()
		require.LessOrEqual(t, len(s.Transcript), maxReplyLines)
		for _, line := range s.Transcript {
			require.True(t, utf8.ValidString(line.Text))
			require.NotContains(t, line.Text, "\n")
			require.LessOrEqual(t, len(line.Text), 3*maxShown)
		}
		if err != nil {
			require.Empty(t, r)
			return
		}
		require.True(t, r.Code >= 200 && r.Code < 600 && len(r.Lines) > 0)
		require.Len(t, r.Lines, len(s.Transcript))
		again := Reply{}
		for i, text := range r.Lines {
			last, err := again.add(sent[:3] + string(" -"[min(1, len(r.Lines)-1-i)]) + text)
			require.NoError(t, err)
			require.Equal(t, i == len(r.Lines)-1, last)
		}
		require.Equal(t, r, again)
		h := parseHello(r, true)
		require.LessOrEqual(t, len(h.Extensions), len(r.Lines)-1)
		for _, m := range h.Mechanisms() {
			require.NotEmpty(t, m)
		}
		if n, ok := h.Size(); ok {
			require.Positive(t, n)
		}
	})
}

func TestStatus(t *testing.T) {
	for text, want := range map[string]string{
		"5.7.1 relaying denied": "5.7.1", "5.7.1": "5.7.1", "relaying denied": "", "4.7.1 later": "", "5.7 x": "",
		"5.7.1000 x": "", "5.x.1 x": "",
	} {
		require.Equal(t, want, Reply{Code: 550, Lines: []string{text}}.Status(), text)
	}
	require.Empty(t, Reply{}.Status())
}
