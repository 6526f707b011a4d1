package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"golang.org/x/net/http/httpguts"
)

// A HeadFault is a line in an HTTP/1.1 response header that the grammar does not allow (RFC 9112 section 5).
// Browsers read the rest of the header; net/http and other strict clients refuse the whole response.
type HeadFault struct {
	Kind HeadFaultKind
	Line string // the line as received, in valid UTF-8, at most 200 bytes
	// Read means that the line was read as if it were correct. Otherwise it was ignored, as browsers do.
	Read bool
}

// HeadFaultKind is the kind of a [HeadFault].
type HeadFaultKind string

// The kinds of faults in a head.
const (
	NoColon          HeadFaultKind = "no colon"           // between a name and a value
	SpacedName       HeadFaultKind = "space before colon" // proxies must remove it (RFC 9112 section 5.1)
	BadName          HeadFaultKind = "bad name"           // empty, or with bytes that no token has (RFC 9110 section 5.1)
	Detached         HeadFaultKind = "detached"           // begins with white space, and there is no line before it
	Folded           HeadFaultKind = "folded"             // continues on the next line (RFC 9112 section 5.2)
	ControlCharacter HeadFaultKind = "control character"  // in a value; read as a space (RFC 9110 section 5.5)
	BareLF           HeadFaultKind = "bare LF"            // the line ends without CR (RFC 9112 section 2.2)
	Framing          HeadFaultKind = "framing"            // contradictory or unknown length of the body
)

// headFaults describe the fault of a line, which replaces %q, and how clients react.
var headFaults = map[HeadFaultKind]string{
	NoColon: "The header line %q has no colon. Browsers skip it; strict clients refuse the whole response.",
	SpacedName: "The header line %q has white space before its colon. Firefox and curl skip it, while Chrome reads " +
		"it, so it counts for some clients only.",
	BadName: "The header line %q does not begin with a valid field name. Browsers skip it; strict clients refuse the " +
		"whole response.",
	Detached: "The header line %q begins with white space and continues no other line. Browsers skip it; strict clients " +
		"refuse the whole response.",
	Folded: "The header field %q is spread over several lines, which is obsolete. Some clients and proxies refuse it.",
	ControlCharacter: "The header line %q has a control character in its value. Some clients read it as a space, and " +
		"strict ones refuse the whole response.",
	BareLF: "The header has lines that end with LF alone instead of CR LF, beginning with %q. Browsers read them; " +
		"strict clients do not have to.",
	Framing: "The header says more than once, or in an unusual way, where the body ends: %q. Clients and proxies that " +
		"read it differently mix up responses.",
}

// Sentence describes what is wrong with the line, and what clients do.
func (f HeadFault) Sentence() string { return fmt.Sprintf(headFaults[f.Kind], phrase.Quote(f.Line)) }

// Obsolete reports whether all clients in use accept the line, so that it does little harm.
func (f HeadFault) Obsolete() bool { return f.Kind == Folded || f.Kind == BareLF }

// A HeadError means that a response header declares contradictory lengths of the body, among which clients
// must not choose (RFC 9112 section 6.3).
type HeadError struct{ Lines []string }

// Error implements error.
func (e *HeadError) Error() string {
	return "the answer does not say where its body ends: " + phrase.Series(e.Lines, 3)
}

// The bounds of the reported part of a head.
const (
	maxHeadFaults = 20
	maxHeadLine   = 200 // bytes
)

// A head is that of an answer, read as browsers do.
type head struct {
	clean  []byte // in the form that net/http takes
	status int
	fields []Field
	faults []HeadFault
}

// readHead reads the head of an HTTP/1.1 answer as it came, up to its empty line.
func readHead(r *bufio.Reader) ([]byte, error) {
	const begin = "HTTP/"
	if first, err := r.Peek(len(begin)); string(first) != begin {
		if len(first) == 0 {
			return nil, err
		}
		first, _ = r.Peek(min(r.Buffered(), maxHeadLine))
		return nil, &foreignError{slices.Clone(first)}
	}
	var raw []byte
	for line := 0; ; {
		part, err := r.ReadSlice('\n')
		raw = append(raw, part...)
		switch {
		case len(raw) > maxHeadBytes:
			return nil, errHeadTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		case len(bytes.TrimRight(raw[line:], "\r\n")) == 0:
			return raw, nil
		}
		line = len(raw)
	}
}

// parseHead reads a head line by line (RFC 9112 sections 4 and 5). The error is a *[HeadError].
func parseHead(raw []byte) (*head, error) {
	h := &head{fields: []Field{}}
	status, rest, _ := bytes.Cut(raw, []byte("\n"))
	h.status = statusCode(status)
	h.ending(status)
	for _, l := range h.unfold(rest) {
		if f, ok := h.field(l); ok {
			h.fields = append(h.fields, f)
		}
	}
	framed, err := h.framing()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\r\n", bytes.TrimSuffix(status, []byte("\r")))
	for _, f := range framed {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	b.WriteString("\r\n")
	h.clean = b.Bytes()
	for i, f := range h.fields {
		h.fields[i].Value = strings.ToValidUTF8(f.Value, "\uFFFD")
	}
	return h, nil
}

func (h *head) fault(kind HeadFaultKind, line string, read bool) {
	once := kind == BareLF && slices.ContainsFunc(h.faults, func(f HeadFault) bool { return f.Kind == kind })
	if len(h.faults) < maxHeadFaults && !once {
		h.faults = append(h.faults, HeadFault{kind, phrase.Clip(strings.ToValidUTF8(line, "\uFFFD"), maxHeadLine), read})
	}
}

// ending notes a line that ends with LF alone.
func (h *head) ending(line []byte) {
	if !bytes.HasSuffix(line, []byte("\r")) {
		h.fault(BareLF, string(line), true)
	}
}

// unfold returns the lines of a head without what ends them. Those that begin with white space belong to the line
// before.
func (h *head) unfold(data []byte) (lines [][]byte) {
	folded := map[int]bool{}
	for len(data) > 0 {
		var raw []byte
		raw, data, _ = bytes.Cut(data, []byte("\n"))
		line := bytes.TrimSuffix(raw, []byte("\r"))
		if len(line) == 0 {
			break
		}
		h.ending(raw)
		n := len(lines) - 1
		switch blank := line[0] == ' ' || line[0] == '\t'; {
		case blank && n >= 0:
			lines[n] = append(append(lines[n], ' '), bytes.Trim(line, " \t")...)
			folded[n] = true
		case blank:
			h.fault(Detached, string(line), false)
		default:
			lines = append(lines, slices.Clone(line))
		}
	}
	for _, n := range slices.Sorted(maps.Keys(folded)) {
		h.fault(Folded, string(lines[n]), true)
	}
	return lines
}

// field reads a line, and reports whether it is a field.
func (h *head) field(line []byte) (Field, bool) {
	before, value, found := bytes.Cut(line, []byte(":"))
	name := string(before)
	switch {
	case !found:
		h.fault(NoColon, string(line), false)
		return Field{}, false
	case httpguts.ValidHeaderFieldName(name):
	case httpguts.ValidHeaderFieldName(strings.TrimRight(name, " \t")):
		h.fault(SpacedName, string(line), false)
		return Field{}, false
	default:
		h.fault(BadName, string(line), false)
		return Field{}, false
	}
	control := func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7F }
	if slices.ContainsFunc(value, control) {
		h.fault(ControlCharacter, string(line), true)
		for i, c := range value {
			if control(c) {
				value[i] = ' '
			}
		}
	}
	return Field{name, strings.Trim(string(value), " \t")}, true
}

// framing returns the fields with what says where the body ends brought into the one form that net/http takes: nothing,
// one length, or chunked (RFC 9112 section 6).
func (h *head) framing() ([]Field, error) {
	var lengths, codings, lines []string
	rest := []Field{}
	for _, f := range h.fields {
		into := &lengths
		switch strings.ToLower(f.Name) {
		case "transfer-encoding":
			into = &codings
		case "content-length":
		default:
			rest = append(rest, f)
			continue
		}
		lines = append(lines, f.Name+": "+f.Value)
		for part := range strings.SplitSeq(f.Value, ",") {
			*into = append(*into, strings.ToLower(strings.Trim(part, " \t")))
		}
	}
	odd := len(lengths)+len(codings) > 1
	lengths = slices.Compact(lengths)
	switch {
	case slices.Contains(codings, "chunked"):
		rest = append(rest, Field{"Transfer-Encoding", "chunked"})
	case len(lengths) > 1, len(lengths) == 1 && strings.Trim(lengths[0], "0123456789") != "":
		for i, line := range lines {
			lines[i] = phrase.Quote(line)
		}
		return nil, &HeadError{lines}
	case len(lengths) == 1 && lengths[0] != "":
		rest = append(rest, Field{"Content-Length", lengths[0]})
	default: // up to the end of the connection
		odd = odd || len(lines) > 0
	}
	if odd {
		h.fault(Framing, strings.Join(lines, ", "), true)
	}
	return rest, nil
}
