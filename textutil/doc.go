// Package textutil has the text utilities: call [Upper], [Slug], [Hash] or another. Each is a pure function of a
// request, safe for concurrent use; the package imports nothing else of this module but its YAML parser.
//
// # How it works
//
// Text is Unicode in UTF-8. Changing its case is more than changing letters one by one (Unicode Standard section
// 3.13): a letter may become several ("ß" is "SS" in upper case), its form may depend on its neighbors (a Greek
// "Σ" at the end of a word is "ς" in lower case), and some languages have rules of their own: in Turkish "i" and
// "ı" are different letters in upper case too, in Lithuanian the dot of "i" stays under an accent, and Greek
// capitals carry no accents.
//
// A user-perceived character may be several code points (UAX #29), and words and sentences end by rules. JSON is read
// by a scanner and YAML by package [github.com/diagkit/diagkit/textutil/internal/yaml]; both preserve key order and
// the text of numbers, and know the position of every fault. Regular expressions are RE2, whose time is linear,
// within a budget of work. Faults inside a well-formed request, such as broken JSON, are results with Valid false and
// a position, not errors.
//
// # How to use it
//
// Each utility is a function from a request to a report. A zero field of a request means its default:
//
//	report, err := textutil.Upper(textutil.CaseRequest{Text: "straße"})
//
// An error is an [InputError]: the request makes no sense, and the error names the field.
package textutil
