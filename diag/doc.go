// Package diag defines the types that all checks share. Call [ParseDomain] to make the name that a check
// takes, and read the [Verdict] in its report; a nil [Env] is the real Internet. Most programs need no more
// of this package:
//
//	domain, err := diag.ParseDomain("example.com")
//	…
//	report, err := spf.Lookup(ctx, nil, spf.LookupRequest{Domain: domain})
//	…
//	fmt.Println(report.Headline)
//
// An [Env] replaces parts of the outside world: its [Resolver], [Guard] and [Clock], among others. The types
// of requests are valid by construction ([Domain], [Name], [Selector], [IP], [Host], [URL]). [Lookup] asks
// the DNS and returns an [Answer].
//
// To write a check, see also package rule, which judges evidence by a table of rules, package phrase for
// texts, and package input for requests.
//
// # The shape of a diagnostic
//
// A diagnostic, or check, is one function that takes a context, an Env and a request and returns a report;
// request and report are the JSON bodies of the public API. It works in three separate steps:
//
//	fetch   observes the world through the Env and fills a struct of evidence
//	parse   turns text into types; it touches nothing
//	judge   applies a table of rules to the evidence; it touches nothing
//
// # What is an error, and what is a finding
//
// A missing record or a broken answer is a finding. An error means that nothing could be examined: the input
// was malformed ([InputError]), the context ended, or no measurement succeeded ([ErrUnavailable]). "There is
// no record" and "the server did not answer" are always distinguished: an [Answer] without records and with a
// nil Err means the former, a non-nil Err the latter.
//
// # Untrusted input
//
// Every address that a caller's input leads to is dialed through [Env.DialHost] or [Env.DialAddr], where the
// [Guard] refuses special-purpose addresses and unusual ports. It checks the address that is dialed, after
// name resolution, so neither DNS rebinding nor a redirect bypasses it. The domains under examination are
// untrusted: every list and every wait that depends on them is bounded, and goroutines are started in a
// [Group].
package diag
