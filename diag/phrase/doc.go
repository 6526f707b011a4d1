// Package phrase formats numbers, lists, durations and untrusted text for use in sentences: call [Count],
// [Series], [Duration], [Quote] or [Clip]. Findings, errors and pages use it to write "1 record", "a, b and 3
// more" and "6 h 2 min" in the same way, and to keep untrusted text from breaking a line or a terminal.
// [Nearest] suggests a word for a mistyped one.
package phrase
