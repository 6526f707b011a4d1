// Package lookalike finds the brand that a host name imitates: call [Targets.Find].
//
// # How names imitate
//
// Whoever is to give away a password must believe to be at home. So the names of phishing sites resemble those of the
// sites that they copy, and they do so in few ways. Homoglyphs: letters that look alike, of another script, with a
// mark, or several for one ("rn" for "m"). Typing errors: a letter left out, doubled, swapped with its neighbour, or
// replaced. Combinations of the brand and a word that gives confidence, such as "login" or "secure". And the brand as
// it is, in a place where it proves nothing: below another domain, or under another top-level domain. Only the
// registrable domain says to whom a host belongs, and that is the part that readers look at least.
//
// A label is therefore brought into plain letters first (UTS #39 and beyond, see [idn.Fold]), then compared
// with the labels of known brands: as it is, without hyphens, by what the eye confuses, and by one editing
// step of Damerau and Levenshtein. Brands that are ordinary words are only taken for imitated together with
// a word of confidence, and a list of unrelated words keeps "apply" from being a misspelt "apple".
//
// # The brands
//
// [BuiltIn] is the table of brands with their own domains, which are never reported. Operators replace it
// by a file of the same form, see [File].
package lookalike
