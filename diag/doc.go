// Package diag has what users of diagnostics share: the outside world ([Env], with a [Resolver], a [Guard] and a
// [Clock]), names and addresses that are valid by construction ([Domain], [Name], [Selector], [IP], [Host], [URL];
// call [ParseDomain] and its like), answers of the DNS ([Answer], by [Lookup]), and what a report says ([Verdict],
// [Finding]). A nil Env is the real world, so that most programs need no more of this package than a [Domain].
//
// Those who write checks also need package rule, which judges evidence by a table of rules, package phrase for texts,
// and package input for requests.
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
// Absence is data, and so is a broken answer: both become findings. An error means that nothing could be examined:
// the input was malformed ([InputError]), the context ended, or no measurement succeeded ([ErrUnavailable]). "There
// is no record" and "the server did not answer" are kept apart everywhere: an [Answer] without records is the
// former, one whose Err is not nil the latter.
//
// # Untrusted input
//
// Every address that a caller's input leads to is dialed through [Env.DialHost] or [Env.DialAddr], below name
// resolution, where the [Guard] refuses special-purpose addresses and unusual ports. It checks the very address that
// is dialed, so neither DNS rebinding nor a redirect bypasses it. The domains under examination are untrusted:
// every list and every wait that depends on them is bounded, and goroutines are started in a [Group].
package diag
