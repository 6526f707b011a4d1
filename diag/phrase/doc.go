// Package phrase writes numbers, lists, durations and untrusted text into sentences: [Count], [Series], [Duration],
// [Quote] and [Clip]. Texts of findings, errors and pages are made with it, so that all say "1 record", "a, b and 3
// more" and "6 h 2 min" alike, and so that nothing from outside breaks a line or a terminal. [Nearest] finds
// the word that a typing error was meant to be.
package phrase
