package aggregate

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The formats that are opened; the contents are those that are not.
const (
	formatXML     content = "*xml"
	formatGzip    content = "*gzip"
	formatZip     content = "*zip"
	formatTar     content = "*tar"
	formatMessage content = "*message"
	formatBase64  content = "*base64"
)

type format struct {
	content content
	detail  string
}

func (f format) opens() bool { return strings.HasPrefix(string(f.content), "*") }

type signature struct {
	magic string
	format
}

var signatures = []signature{
	{"\x1f\x8b", format{formatGzip, ""}},
	{"PK\x03\x04", format{formatZip, ""}},
	{"PK\x05\x06", format{formatZip, ""}}, // without files
	{"BZh", format{contentUnsupported, "bzip2"}},
	{"\xfd7zXZ\x00", format{contentUnsupported, "xz"}},
	{"7z\xbc\xaf\x27\x1c", format{contentUnsupported, "7-Zip"}},
	{"Rar!\x1a\x07", format{contentUnsupported, "RAR"}},
	{"\x28\xb5\x2f\xfd", format{contentUnsupported, "Zstandard"}},
	{"\x1f\x9d", format{contentUnsupported, "compress (.Z)"}},
	{"\x78\x9f\x3e\x22", format{contentUnsupported, "TNEF (winmail.dat)"}},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", format{contentBinary, "an Outlook message (.msg) or an Office document"}},
	{"%PDF-", format{contentBinary, "PDF"}},
	{"\x89PNG\r\n", format{contentBinary, "a PNG image"}},
	{"\xff\xd8\xff", format{contentBinary, "a JPEG image"}},
	{"GIF8", format{contentBinary, "a GIF image"}},
}

func sniff(head []byte) format {
	const mark = 257 // POSIX.1 ustar: of the field magic in the first header
	if len(head) > mark && bytes.HasPrefix(head[mark:], []byte("ustar")) {
		return format{formatTar, ""}
	}
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.magic)) {
			return s.format
		}
	}
	if e := utf16(head); e != nil {
		decoded, err := e.NewDecoder().Bytes(head[:len(head)&^1])
		if err != nil {
			return format{contentBinary, ""}
		}
		head = decoded
	}
	text := bytes.TrimLeft(head, " \t\r\n\x00\ufeff")
	switch {
	case len(text) == 0:
		return format{contentEmpty, ""}
	case text[0] == '<':
		return format{formatXML, ""}
	case text[0] == '{' || text[0] == '[':
		return sniffJSON(text)
	}
	if f := sniffFields(text); f.content != "" {
		return f
	}
	if bytes.Contains(text, []byte("<feedback")) {
		return format{formatXML, ""} // after other data
	}
	return sniffText(text)
}

// sniffJSON tells reports of TLS from other JSON by their fields (RFC 8460 section 4.4).
func sniffJSON(text []byte) format {
	names := 0
	for _, name := range []string{"organization-name", "report-id", "date-range", "policies", "contact-info"} {
		if bytes.Contains(text, []byte(`"`+name+`"`)) {
			names++
		}
	}
	if names >= 2 {
		return format{contentTLSReport, ""}
	}
	return format{contentJSON, ""}
}

// messageFields are fields of which each message or part has at least one.
var messageFields = []string{"from", "to", "subject", "date", "received", "return-path", "delivered-to", "message-id",
	"mime-version", "content-type", "content-transfer-encoding", "content-disposition", "dkim-signature",
	"authentication-results", "x-original-to"}

// sniffFields recognizes what begins with fields: a message, or what reports of failures consist of.
func sniffFields(text []byte) format {
	message := false
	for i := 0; ; i++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		if text = rest; len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' || i == 0 && bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
			continue
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		field := strings.ToLower(strings.TrimRight(string(name), " \t"))
		if i == 0 && (!ok || field == "" || strings.ContainsAny(field, " \t")) {
			break
		}
		if field == "feedback-type" { // RFC 5965 section 3.1
			kind := strings.ToLower(strings.TrimSpace(string(value)))
			if kind == "auth-failure" { // RFC 6591 section 3.1
				return format{contentFailure, ""}
			}
			return format{contentOtherReport, kind}
		}
		message = message || ok && slices.Contains(messageFields, field)
	}
	if message {
		return format{formatMessage, ""}
	}
	return format{}
}

func sniffText(text []byte) format {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	switch {
	case bytes.HasPrefix(bytes.ToLower(bytes.TrimLeft(line, `"' `)), []byte("v=dmarc1")):
		return format{contentRecord, shorten(bytes.TrimSpace(line))}
	case isBase64(text):
		return format{formatBase64, ""}
	}
	for _, separator := range []string{",", ";", "\t"} {
		if n := bytes.Count(line, []byte(separator)); n >= 2 && n == bytes.Count(second, []byte(separator)) {
			return format{contentCSV, ""}
		}
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 && utf8.FullRune(text) || r < ' ' && !strings.ContainsRune("\t\r\n\f", r) {
			return format{contentBinary, ""}
		}
		text = text[size:]
	}
	return format{contentText, ""}
}

func isBase64(text []byte) bool {
	const least = 64 // characters; what is shorter is a word
	decoded := decodeBase64(text)
	if len(text) < least || len(decoded) < least/2 {
		return false
	}
	if i := bytes.IndexFunc(text, func(r rune) bool { return r > 'z' }); i >= 0 {
		return false
	}
	kind := sniff(decoded)
	return kind.opens() && kind.content != formatBase64
}

// isOtherFormat reports whether data is recognized as a format other than XML in UTF-8.
func isOtherFormat(data []byte) bool {
	return utf16(data) != nil || slices.ContainsFunc(signatures, func(s signature) bool {
		return bytes.HasPrefix(data, []byte(s.magic))
	})
}

// utf16 returns the encoding of a text in UTF-16, by its mark or by its first character, which is a less-than
// sign in XML (XML 1.0 appendix F.1); nil if it is not UTF-16.
func utf16(head []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	return nil
}

// utf8 returns a reader of the file that converts UTF-16 to UTF-8.
func (f *file) utf8() io.Reader {
	if e := utf16(f.head); e != nil {
		return transform.NewReader(f.reader, e.NewDecoder())
	}
	return f.reader
}

// A Container is the format that wraps the XML.
type Container string

// The containers that Read opens.
const (
	Message Container = "message"
	Gzip    Container = "gzip"
	Zip     Container = "zip"
	Tar     Container = "tar"
	Base64  Container = "base64"
)

type content string

// The contents that are recognized.
const (
	contentEmpty       content = "empty"        // no bytes, or blanks alone
	contentTLSReport   content = "tls_report"   // RFC 8460
	contentFailure     content = "failure"      // a failure report, RFC 9991 and RFC 6591
	contentJSON        content = "json"         // other JSON
	contentHTML        content = "html"         // a web page
	contentXML         content = "xml"          // XML with another root; Detail is its name
	contentRecord      content = "record"       // the DMARC record of a domain
	contentCSV         content = "csv"          // a table
	contentMessage     content = "message"      // a message without a report; Detail lists its parts
	contentArchive     content = "archive"      // an archive without a report; Detail lists its files
	contentNoFiles     content = "no_files"     // an archive without files
	contentEncrypted   content = "encrypted"    // an archive that a password protects
	contentUnsupported content = "unsupported"  // compressed in a way that reports are not; Detail names it
	contentBroken      content = "broken"       // an archive that yields nothing
	contentText        content = "text"         // other text
	contentBinary      content = "binary"       // other bytes; Detail names the format if it is known
	contentOtherReport content = "other_report" // a report by another mechanism, such as an ARF abuse report
)

type notReportError struct {
	Content content
	Name    string // of the file that Content is about, as the archive or message gives it; may be empty
	Detail  string // a name or list, for texts; may be empty
}

func (e *notReportError) Error() string {
	return fmt.Sprintf("reading an aggregate report: the data is %s %s", e.Content, e.Detail)
}

// A LimitError reports that data exceeds a limit of Read.
type LimitError struct {
	What  string // "expanded size", "compression ratio", "nesting", "files", "reports"
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("reading an aggregate report: %s over %d", e.What, e.Limit)
}
