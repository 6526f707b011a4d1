package fetch

import (
	"bytes"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A recorder is a connection that remembers what was read from it while the head of an answer was, so
// that the header can be shown as it came: Go's parsers keep neither the order nor the spelling.
type recorder struct {
	net.Conn
	mu    sync.Mutex // HTTP/2 reads in a goroutine of its own
	done  bool
	bytes []byte
}

// maxRecord is a little more than the longest head: HTTP/2 sends settings before it.
const maxRecord = maxHeadBytes + 16<<10

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		r.bytes = append(r.bytes, b[:min(n, maxRecord-len(r.bytes))]...)
	}
	return n, err
}

func (r *recorder) end() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	return r.bytes
}

// fields1 reads the header out of the bytes of an HTTP/1.1 connection, past interim answers. Lines
// that are folded are joined (RFC 9112 section 5.2).
func fields1(data []byte) []Field {
	for range maxInterim {
		status, rest, _ := bytes.Cut(data, []byte("\n"))
		var list []Field
		list, data = headLines(rest)
		if code := statusCode(status); code < 100 || code >= 200 {
			return list
		}
	}
	return nil
}

func headLines(data []byte) (list []Field, rest []byte) {
	list = []Field{}
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		text := strings.ToValidUTF8(strings.TrimSuffix(string(line), "\r"), "\uFFFD")
		if text == "" {
			break
		}
		if text[0] == ' ' || text[0] == '\t' {
			if len(list) > 0 {
				list[len(list)-1].Value += " " + strings.Trim(text, " \t")
			}
			continue
		}
		name, value, ok := strings.Cut(text, ":")
		if ok {
			list = append(list, Field{name, strings.Trim(value, " \t")})
		}
	}
	return list, data
}

// statusCode reads "HTTP/1.1 200 OK"; 0 if it is something else.
func statusCode(line []byte) int {
	parts := strings.Fields(string(line))
	if len(parts) < 2 || len(parts[1]) != 3 {
		return 0
	}
	code := 0
	for _, c := range []byte(parts[1]) {
		if c < '0' || c > '9' {
			return 0
		}
		code = 10*code + int(c-'0')
	}
	return code
}

// fields2 reads the header out of the bytes of an HTTP/2 connection, past interim answers. It returns
// nil if they do not hold it all.
func fields2(data []byte) []Field {
	framer := http2.NewFramer(nil, bytes.NewReader(data))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil) // RFC 9113 section 6.5.2
	framer.MaxHeaderListSize = maxHeadBytes
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return nil
		}
		head, ok := frame.(*http2.MetaHeadersFrame)
		if !ok || strings.HasPrefix(head.PseudoValue("status"), "1") {
			continue
		}
		list := []Field{}
		for _, f := range head.RegularFields() {
			list = append(list, Field{strings.ToValidUTF8(f.Name, "\uFFFD"), strings.ToValidUTF8(f.Value, "\uFFFD")})
		}
		return list
	}
}

// anyOrder lists a header in alphabetical order, where nothing better is known.
func anyOrder(h http.Header) []Field {
	list := []Field{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, Field{name, value})
		}
	}
	return list
}
