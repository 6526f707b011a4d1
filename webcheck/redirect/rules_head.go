package redirect

import (
	"errors"
	"fmt"
	"mime"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// headRules are about the form of the head of an answer, where it does little harm.
var headRules = rule.Rules[*evidence]{{
	Code: "url.header.obsolete", Severity: diag.Info, Ref: "RFC 9112 sections 2.2 and 5.2",
	Title: "Header is written in an obsolete form", Requirement: "The header has one line for each field, ended by CR LF",
	Advice: "Write each header field on one line, and end lines with CR LF.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.steps, func(s step) rule.Failures {
			return rule.FailEach(s.hop.Faults, func(f fetch.HeadFault) rule.Failures {
				return rule.FailIf(f.Obsolete(), "%s", f.Sentence()).About(hop(&s))
			})
		})
	},
}}

const refCoding = "RFC 9110 section 8.4"

// undecoded returns why the document at the end could not be decoded, and whether that is so.
func (e *evidence) undecoded() (*fetch.CodingError, bool) {
	if e.end() == nil || e.result.Err == nil {
		return nil, false
	}
	return errors.AsType[*fetch.CodingError](e.result.Err)
}

// codingFails fails with a sentence about the end of the chain and its Content-Encoding, if that is of a kind.
func codingFails(is func(*evidence) bool, sentence string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		s := e.end()
		return rule.FailIf(is(e), sentence, s.at(), phrase.Quote(e.result.Encoding)).About(hop(s))
	}
}

// shown reports whether browsers show the document, rather than offering to save it: of a file, compression may be a
// part.
func shown(h *fetch.Hop) bool {
	media, _, err := mime.ParseMediaType(h.Header.Get("Content-Type"))
	return err != nil || strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "xml") ||
		strings.HasSuffix(media, "json")
}

// codingRules are about how the document at the end is compressed.
var codingRules = rule.Rules[*evidence]{{
	Code: "url.encoding.mismatch", Severity: diag.Error, Weight: 2, Reads: []rule.Source{sourceBody}, Ref: refCoding,
	Title:       "Document is not compressed as Content-Encoding says",
	Requirement: "The document is compressed as Content-Encoding says",
	Advice: "Compress the body, or leave Content-Encoding out: it is often set by hand, " +
		"or kept by a proxy that decompressed the body.",
	Fails: codingFails(func(e *evidence) bool {
		coding, coded := e.undecoded()
		return coded && !coding.Unasked
	}, "%s sends Content-Encoding: %s, and its body cannot be decompressed so. "+
		"Browsers show an error instead of the page."),
}, {
	Code: "url.encoding.compressed", Severity: diag.Error, Weight: 2, Reads: []rule.Source{sourceBody}, Ref: refCoding,
	Title:       "Document is compressed more often than Content-Encoding says",
	Requirement: "The document is compressed no more often than Content-Encoding says",
	Advice:      "Compress the body once, in the application or in the proxy, and declare it: browsers show binary data.",
	Fails: func(e *evidence) rule.Failures {
		s := e.end()
		if !e.result.Coding.Compressed || !shown(s.hop) {
			return nil
		}
		encodingText := "no Content-Encoding"
		if e.result.Encoding != "" {
			encodingText = fmt.Sprintf("Content-Encoding: %s", phrase.Quote(e.result.Encoding))
		}
		return rule.Fail("%s sends %s. With that undone, the body is still a gzip stream.", s.at(), encodingText).
			About(hop(s))
	},
}, {
	Code: "url.encoding.unasked", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{sourceBody},
	Ref:         "RFC 9110 section 12.5.3",
	Title:       "Content-Encoding that the request did not offer",
	Requirement: "The document comes in a content coding that the request offered",
	Advice: "Compress only with what the request offers in Accept-Encoding, and send Vary: " +
		"Accept-Encoding so that caches do, too.",
	Fails: codingFails(func(e *evidence) bool {
		coding, coded := e.undecoded()
		return coded && coding.Unasked
	}, "%s sends Content-Encoding: %s, although the request offered gzip and deflate only. Clients that do not know it "+
		"cannot read the document, and it was not read here either."),
}, {
	Code: "url.encoding.unknown", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{sourceBody}, Ref: refCoding,
	Title: "Content-Encoding is not a registered coding", Requirement: "Content-Encoding names registered codings",
	Advice: "Remove the Content-Encoding field: it names a compression, and nothing else. A character encoding belongs " +
		"in Content-Type, as in text/html; charset=utf-8.",
	Fails: codingFails(func(e *evidence) bool { return len(e.result.Coding.Unknown) > 0 },
		"%s sends Content-Encoding: %s. Browsers ignore a coding that is not registered and show the body as it came; "+
			"some other clients refuse it."),
}, {
	Code: "url.encoding.identity", Severity: diag.Info, Reads: []rule.Source{sourceBody}, Ref: "RFC 9110 section 8.4.1",
	Title:       "Content-Encoding says identity",
	Requirement: "Content-Encoding is left out where nothing is compressed",
	Advice: "Remove the Content-Encoding field: identity means no compression, " +
		"and is meant for Accept-Encoding only.",
	Fails: codingFails(func(e *evidence) bool {
		return strings.Contains(", "+e.result.Encoding+",", ", identity,")
	}, "%s sends Content-Encoding: %s."),
}, {
	Code: "url.encoding.deflate", Severity: diag.Info, Reads: []rule.Source{sourceBody}, Ref: "RFC 9110 section 8.4.1.2",
	Title:       "deflate without the zlib format",
	Requirement: "A body in the coding deflate has the zlib format",
	Advice:      "Use gzip: clients differ on what deflate is.",
	Fails: codingFails(func(e *evidence) bool { return e.result.Coding.RawDeflate && e.result.Err == nil },
		"%s sends Content-Encoding: %s, and a bare DEFLATE stream without the zlib format (RFC 1950) around it. Browsers "+
			"read it; clients that go by the specification fail."),
}}

// located returns the Location of an answer as it came, or what else it redirects by.
func (s *step) located() string {
	if s.hop.RedirectType != fetch.HTTPRedirect {
		return s.hop.Location
	}
	for _, v := range s.hop.Header.Values("Location") {
		if v != "" {
			return v
		}
	}
	return ""
}
