// Package diag is the vocabulary that every diagnostic speaks: the outside world ([Env]), names and
// addresses that are valid by construction ([Domain], [Name], [Selector], [IP], [Host], [URL]), an
// answer of the DNS ([Answer]), and a judgement ([Rule], [Finding], [Verdict]).
//
// # The shape of a diagnostic
//
// A diagnostic is one function of a context, an Env and a request; its request and its report are
// the JSON bodies of the public API. It works in three steps that never mix:
//
//	fetch   observes the world through the Env and fills a struct of evidence
//	parse   turns text into types; it touches nothing
//	judge   applies a table of rules to the evidence; it touches nothing
//
// # What is an error, and what is a finding
//
// Absence is data, and so is a broken answer: both become findings. An error means that the question could not be put
// at all: the input was malformed ([InputError]), the context ended, or nothing of what was asked could be measured
// ([ErrUnavailable]). "There is no record" and "the server did not say" are different answers everywhere: an [Answer]
// without records is the former, one whose Err is not nil the latter.
//
// # A hostile world
//
// Every address to which a caller's input leads is dialled through [Env.DialHost] or [Env.DialAddr],
// below name resolution, where the [Guard] refuses all special-purpose addresses and unusual ports.
// It is asked about the very address that is dialled, so that neither a name whose addresses change
// nor a redirect leads past it. The zones of the domains that are looked at belong to strangers:
// whatever a list or a wait comes from, it has a limit, and goroutines are started in a [Group].
package diag
