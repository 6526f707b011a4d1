// Package lookalike finds the brand that a host name imitates: call [Targets.Find] with the host.
//
// # How names imitate
//
// Victims must believe that they are on the real site, so the names of phishing sites resemble the originals, in a
// few ways. Homoglyphs: letters that look alike, from another script, with a mark, or several for one ("rn" for
// "m"). Typing errors: a letter omitted, doubled, swapped or replaced. Combinations of the brand and a reassuring
// word, such as "login" or "secure". And the brand itself where it proves nothing: below another domain, or under
// another top-level domain. Only the registrable domain identifies the owner of a host, and readers notice it least.
//
// A label is first reduced to plain letters (UTS #39 and beyond, see [idn.Fold]), then compared with the labels of
// known brands: as is, without hyphens, by confusable letters, and by one Damerau-Levenshtein edit. Brands that are
// ordinary words count only together with a reassuring word, and a list of unrelated words keeps "apply" from being
// a misspelled "apple".
//
// # The brands
//
// [BuiltIn] is the table of brands with their own domains, which are never reported. Operators replace it with a
// file of the same form, see [File].
package lookalike
