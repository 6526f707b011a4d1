// Package robots parses the instructions of sites to crawlers: call [ParseAs] for a robots.txt (RFC 9309), and
// [ParseDirectives] for an X-Robots-Tag field or a robots meta element.
//
// # robots.txt
//
// A robots.txt has groups: one or more user-agent lines, and below them rules that allow or disallow paths. A
// crawler follows all groups that name its product token, merged; failing that, those of "*"; failing that, it may
// fetch everything. Of the rules that match a path the longest counts, and among equals the one that allows (RFC
// 9309 section 2.2.2). In a rule * matches any characters, and $ the end.
//
//	file := robots.Parse(body)
//	decision := file.Match("Googlebot", "/private/offer")
//	if !decision.Allowed {
//		fmt.Println(decision.Rule)
//	}
//
// Google's crawlers read the file with a parser of their own, which understands frequent mistakes: [ParseAs] reads as
// one of two dialects. [File.Faults] says which lines only Google understands.
//
// How the file was served matters as much: with 4xx everything is allowed, with 5xx or no answer nothing is (RFC
// 9309 section 2.3.1). The caller decides that; [AllowAll] and [DisallowAll] are those files.
//
// # Directives
//
// robots.txt forbids fetching, not indexing. A page that must not be indexed says so itself, by
// directives such as noindex. A crawler that may not fetch the page never sees them.
package robots
