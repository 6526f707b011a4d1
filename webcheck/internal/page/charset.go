package page

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// CharsetSource says how an encoding was determined.
type CharsetSource string

// The sources of an encoding, the most certain first.
const (
	ByBOM     CharsetSource = "bom"     // a byte order mark
	ByHeader  CharsetSource = "header"  // the charset of the Content-Type field
	ByMeta    CharsetSource = "meta"    // a declaration in the page
	ByContent CharsetSource = "content" // not declared; detected from the bytes
)

// maxPrescan is how far a declaration is looked for, in bytes. Authors must put it into the first 1024;
// browsers start over when they meet it later (html.spec.whatwg.org section 13.2.3.2).
const maxPrescan = 64 << 10

// A Decoded is the text of a page, and how it was found.
type Decoded struct {
	Text      []byte // valid UTF-8; the body itself if it was that
	Charset   string
	By        CharsetSource
	Undecoded bool   // some bytes are none of the encoding
	Declared  string // by a meta element, as written; also if something else outweighed it
	Unknown   string // label in the header or the page that no encoding has
	Conflict  bool   // the page declares another encoding than the one that counts
}

// Decode makes text of the bytes of a page as browsers do (html.spec.whatwg.org section 13.2.3).
func Decode(body []byte, contentType string) Decoded {
	d := Decoded{}
	e, name, skip := byBOM(body)
	label := prescan(body)
	d.Declared = label
	if e != nil {
		d.By = ByBOM
	} else if e, name = d.lookup(charsetParam(contentType)); e != nil {
		d.By = ByHeader
	} else if e, name = d.lookup(label); e != nil {
		if d.By = ByMeta; strings.HasPrefix(name, "utf-16") { // the declaration itself was ASCII
			e, name = charset.Lookup("utf-8")
		}
	} else {
		d.By = ByContent
		e, name = charset.Lookup(detect(body))
	}
	d.Charset = name
	if _, declared := charset.Lookup(label); declared != "" && !strings.HasPrefix(declared, "utf-16") {
		d.Conflict = declared != name
	}
	d.convert(e, body[skip:])
	return d
}

func (d *Decoded) lookup(label string) (encoding.Encoding, string) {
	if label == "" {
		return nil, ""
	}
	e, name := charset.Lookup(label)
	if e == nil && d.Unknown == "" {
		d.Unknown = clip(strings.ToValidUTF8(label, "\uFFFD"), 100)
	}
	return e, name
}

func (d *Decoded) convert(e encoding.Encoding, body []byte) {
	switch {
	case d.Charset == "utf-8" && utf8.Valid(body):
		d.Text = body
		return
	case d.Charset == "utf-8":
		d.Undecoded = !utf8.Valid(trimRune(body))
		d.Text = bytes.ToValidUTF8(body, []byte("\uFFFD"))
		return
	}
	if d.Charset == "gbk" { // which has the decoder of gb18030 (encoding.spec.whatwg.org section 10.1.1)
		e, _ = charset.Lookup("gb18030")
	}
	text, err := e.NewDecoder().Bytes(body)
	d.Undecoded = err != nil || bytes.Contains(text, []byte("\uFFFD"))
	d.Text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// byBOM reads a byte order mark (encoding.spec.whatwg.org section 6).
func byBOM(body []byte) (e encoding.Encoding, name string, length int) {
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		name, length = "utf-8", 3
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		name, length = "utf-16be", 2
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		name, length = "utf-16le", 2
	default:
		return nil, "", 0
	}
	e, name = charset.Lookup(name)
	return e, name, length
}

// trimRune cuts off a character at the end that was torn when the body was.
func trimRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// prescan returns the encoding that a page declares in a meta element (html.spec.whatwg.org, "prescan a byte stream to
// determine its encoding").
func prescan(body []byte) string {
	body = body[:min(len(body), maxPrescan)]
	if !bytes.Contains(bytes.ToLower(body), []byte("charset")) {
		return ""
	}
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(maxPrescan)
	for name := range StartTags(z) {
		if name == "meta" {
			if label := metaCharset(Attributes(z)); label != "" {
				return label
			}
		}
	}
	return ""
}

func metaCharset(a map[string]string) string {
	declared := strings.TrimSpace(a["charset"])
	if declared == "" && strings.EqualFold(a["http-equiv"], "content-type") {
		declared = charsetParam(a["content"])
	}
	return declared
}

// StartTags goes through the start tags of a text, by their names in lower case. What is within elements such as
// script, iframe and noscript is not a tag.
func StartTags(z *html.Tokenizer) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			switch z.Next() {
			case html.ErrorToken:
				return
			case html.StartTagToken, html.SelfClosingTagToken:
				if name, _ := z.TagName(); !yield(string(name)) {
					return
				}
			}
		}
	}
}

// maxAttributes bounds the attributes of a tag.
const maxAttributes = 1000

// Attributes reads the attributes of the tag whose name was just read; of a name the first counts.
func Attributes(z *html.Tokenizer) map[string]string {
	list := map[string]string{}
	for more := true; more && len(list) < maxAttributes; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if _, ok := list[string(key)]; !ok && len(key) > 0 {
			list[string(key)] = string(value)
		}
	}
	return list
}

// charsetParam returns the charset of a Content-Type (html.spec.whatwg.org, "extracting a character encoding from
// a meta element").
func charsetParam(contentType string) string {
	rest := contentType
	for {
		i := strings.Index(strings.ToLower(rest), "charset")
		if i < 0 {
			return ""
		}
		rest = strings.TrimLeft(rest[i+len("charset"):], whitespace)
		if !strings.HasPrefix(rest, "=") {
			continue
		}
		rest = strings.TrimLeft(rest[1:], whitespace)
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			value, _, closed := strings.Cut(rest[1:], rest[:1])
			if !closed {
				return ""
			}
			return strings.TrimSpace(value)
		}
		if end := strings.IndexAny(rest, whitespace+";"); end >= 0 {
			rest = rest[:end]
		}
		return rest
	}
}
