package smtp

import (
	"errors"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// A Reply is the answer of a server (RFC 5321 section 4.2).
type Reply struct {
	Code  int      // 200 to 599; 0 if there was none
	Lines []string // the texts behind the codes; at least one
}

// String returns the reply on one line, fit for a sentence: "550 5.7.1 relaying denied".
func (r Reply) String() string {
	return diag.Quote(strings.TrimSpace(strconv.Itoa(r.Code) + " " + strings.Join(r.Lines, " ")))
}

// Text returns the first line without its code.
func (r Reply) Text() string {
	if len(r.Lines) == 0 {
		return ""
	}
	return r.Lines[0]
}

// OK reports whether the code is one of success.
func (r Reply) OK() bool { return r.Code >= 200 && r.Code < 300 }

// Temporary reports whether the code says that the command may succeed later.
func (r Reply) Temporary() bool { return r.Code >= 400 && r.Code < 500 }

// Status returns the enhanced status code of the reply, such as "5.7.1", or "" (RFC 2034 section 4).
func (r Reply) Status() string {
	first, _, _ := strings.Cut(r.Text(), " ")
	parts := strings.Split(first, ".")
	if len(parts) != 3 || parts[0] != strconv.Itoa(r.Code/100) {
		return ""
	}
	for _, p := range parts {
		if p == "" || len(p) > 3 || strings.Trim(p, "0123456789") != "" {
			return ""
		}
	}
	return first
}

// failure returns the error that the reply is in a step, or nil if it means success.
func (r Reply) failure(step Step) error {
	switch {
	case r.OK():
		return nil
	case r.Temporary():
		return &Error{Step: step, Kind: Deferred, Reply: r}
	default:
		return &Error{Step: step, Kind: Rejected, Reply: r}
	}
}

var errNotReply = errors.New("not a reply of SMTP")

// parseLine reads one line of a reply, without its line end: three digits, then nothing or a space in
// the last line, a "-" in all others, and a text (RFC 5321 section 4.2). Servers that send the code
// alone are to be accepted (same section).
func parseLine(line string) (code int, text string, last bool, err error) {
	if len(line) < 3 || line[0] < '2' || line[0] > '5' || !digit(line[1]) || !digit(line[2]) {
		return 0, "", false, errNotReply
	}
	code = int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	if len(line) == 3 {
		return code, "", true, nil
	}
	if line[3] != ' ' && line[3] != '-' {
		return 0, "", false, errNotReply
	}
	return code, line[4:], line[3] == ' ', nil
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// add appends a line to a reply, and reports whether it is the last. All have the same code.
func (r *Reply) add(line string) (last bool, err error) {
	code, text, last, err := parseLine(line)
	if err != nil || r.Code != 0 && r.Code != code {
		return false, errNotReply
	}
	r.Code, r.Lines = code, append(r.Lines, strings.ToValidUTF8(text, "\uFFFD"))
	return last, nil
}
