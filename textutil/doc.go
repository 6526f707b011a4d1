// Package textutil holds the text utilities. They are pure functions of a request: they import
// nothing else of this module, touch nothing outside, and may be called by many goroutines at once.
//
// # How it works
//
// Text is Unicode in UTF-8. Changing its case is more than changing letters one by one (Unicode Standard section 3.13):
// a letter may become several ("ß" is "SS" in upper case), its form may depend on its neighbours (a Greek "Σ" at the
// end of a word is "ς" in lower case), and some languages have rules of their own: in Turkish "i" and "ı" are different
// letters in upper case too, in Lithuanian the dot of "i" stays under an accent, and Greek capitals carry no accents.
//
// Counting is Unicode too: what a reader takes for one character may be several code points (UAX #29), and words and
// sentences end by rules. JSON is read by a parser of our own, and so is YAML, in
// [github.com/diagkit/diagkit/textutil/yaml]; both keep the order of keys and the text of numbers and know the place of
// every fault. Regular expressions are RE2's, whose time is linear, under a budget of work. Whatever is wrong inside a
// well-formed request, such as broken JSON, is a result with Valid false and the place of the fault, not an error.
//
// # How to use it
//
// Each utility is a function from a request to a report. A zero field of a request means its default:
//
//	report, err := textutil.Upper(textutil.CaseRequest{Text: "straße"})
//
// An error is an [InputError]: the request makes no sense, and the error names the field.
package textutil
