package message

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"strings"
)

// The bounds of a message. Reports have a handful of parts, two levels deep.
const (
	maxParts  = 1000
	maxDepth  = 10
	maxParams = 1000 // of a field that the standard library cannot read
)

// A Part is a leaf of the tree: it has no parts of its own, or is a message that is attached (message/rfc822).
type Part struct {
	Header *Message          // its fields
	Type   string            // media type in lower case; text/plain by default (RFC 2045 section 5.2)
	Params map[string]string // parameters of Content-Type, by names in lower case
	Name   string            // file name; may be empty

	raw []byte
}

// Parts returns the leaves of a message in order, at most 1000. The first is the whole message if it is not
// multipart, or if its boundary is missing.
func Parts(text []byte) []Part {
	var leaves []Part
	collect(&leaves, text, 0)
	return leaves
}

func collect(leaves *[]Part, text []byte, depth int) {
	p := newPart(text)
	if strings.HasPrefix(p.Type, "multipart/") && depth < maxDepth {
		if children := split(p.raw, p.Params["boundary"]); len(children) > 0 {
			for _, child := range children {
				collect(leaves, child, depth+1)
			}
			return
		}
	}
	if len(*leaves) < maxParts {
		*leaves = append(*leaves, p)
	}
}

func newPart(text []byte) Part {
	m := Split(text)
	p := Part{Header: m, raw: m.Body}
	p.Type, p.Params = MediaType(m.Value("Content-Type"))
	_, disposition := MediaType(m.Value("Content-Disposition"))
	if p.Name = disposition["filename"]; p.Name == "" {
		p.Name = p.Params["name"]
	}
	return p
}

// MediaType reads the value of Content-Type. Values that the standard library refuses are split at semicolons.
func MediaType(value string) (string, map[string]string) {
	if t, params, err := mime.ParseMediaType(value); err == nil && t != "" {
		return t, params
	}
	params := map[string]string{}
	t := "text/plain"
	for i, part := range strings.SplitN(value, ";", maxParams) {
		name, v, ok := strings.Cut(part, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		switch _, twice := params[name]; {
		case i == 0 && strings.Contains(name, "/"):
			t = name
		case ok && !twice:
			params[name] = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return t, params
}

// split cuts the body of a multipart at its boundary lines. The last one may be missing.
func split(body []byte, boundary string) (parts [][]byte) {
	if boundary == "" {
		return nil
	}
	mark := []byte("--" + boundary)
	begin := -1 // of the current part
	for at := 0; at < len(body) && len(parts) < maxParts; {
		end := len(body)
		if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		tail, ok := bytes.CutPrefix(body[at:end], mark)
		tail = bytes.TrimRight(tail, " \t\r\n") // RFC 2046 section 5.1.1: white space may follow
		if last := string(tail) == "--"; ok && (len(tail) == 0 || last) {
			if begin >= 0 {
				parts = append(parts, chomp(body[begin:at]))
			}
			if begin = end; last {
				return parts
			}
		}
		at = end
	}
	if begin >= 0 && begin < len(body) && len(parts) < maxParts {
		parts = append(parts, body[begin:])
	}
	return parts
}

// chomp removes the line end that belongs to the boundary behind it (RFC 2046 section 5.1.1).
func chomp(text []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
}

// Body returns the body without its transfer encoding (RFC 2045 section 6). Of a broken encoding it returns the
// readable part. It is never longer than the encoded body.
func (p *Part) Body() []byte {
	switch strings.ToLower(p.Header.Value("Content-Transfer-Encoding")) {
	case "base64":
		return decodeBase64(p.raw)
	case "quoted-printable":
		text, _ := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(p.raw)))
		return text
	default:
		return p.raw
	}
}

// decodeBase64 ignores all characters outside of the alphabet (RFC 2045 section 6.8), and incomplete groups at the
// end of a truncated text.
func decodeBase64(raw []byte) []byte {
	text := make([]byte, 0, len(raw))
	for _, c := range raw {
		if c == '=' && len(text) > 0 {
			break
		}
		if 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/' {
			text = append(text, c)
		}
	}
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	n, _ := base64.RawStdEncoding.Decode(text, text)
	return text[:n]
}
