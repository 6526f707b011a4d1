// Package textutil has utilities for text: call [Upper], [Lower], [Slug], [Stats], [Regex], [Hash],
// [Base64Encode], [URLEncode], [FormatJSON], [YAMLToJSON], [GeneratePassword] or one of the others. Each is a
// pure function of a request, except GeneratePassword, and safe for concurrent use.
//
// # How it works
//
// Text is Unicode in UTF-8. Its case cannot be changed letter by letter (Unicode Standard section 3.13): a
// letter may become several ("ß" is "SS" in upper case), its form may depend on its neighbors (a Greek "Σ" at
// the end of a word is "ς" in lower case), and some languages have rules of their own: in Turkish, "i" and
// "ı" are different letters in upper case too; in Lithuanian, the dot of "i" stays under an accent; Greek
// capitals have no accents.
//
// A user-perceived character may consist of several code points, and the boundaries of words and sentences
// follow rules (UAX #29). JSON and YAML are converted without changing the order of keys or the text of
// numbers, and faults are reported with their position. Regular expressions are those of RE2, which takes
// linear time, within a budget of work.
//
// # How to use it
//
// Each utility takes a request and returns a report. A zero field of a request means its default:
//
//	report, err := textutil.Upper(textutil.CaseRequest{Text: "straße"})
//
// Faults of the text itself, such as malformed JSON, are results with Valid false and a position. An error
// means that the request is invalid; it is an *[InputError], which names the field.
package textutil
