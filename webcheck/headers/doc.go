// Package headers examines the HTTP header fields with which a web site protects its visitors: call [Check]
// with a URL, or [Judge] with a response.
//
// # What header fields do for a page
//
// A browser does whatever a page asks, even if an attacker injected it. With header fields, the server
// declares what the page never needs: plain http (Strict-Transport-Security), foreign scripts
// (Content-Security-Policy), embedding by other sites (frame-ancestors, X-Frame-Options), content sniffing
// (X-Content-Type-Options), telling other sites where a visitor came from (Referrer-Policy), or the camera
// (Permissions-Policy). Other fields relax restrictions of browsers, and are harmful if they go too far:
// Access-Control-Allow-Origin, and Set-Cookie without protective attributes.
//
// Only what the browser enforces counts: a report-only policy, a misspelled field, and Strict-Transport-Security
// over http have no effect, and the report says so.
//
// # How the package examines them
//
// [Check] fetches the page over http:// and https:// concurrently, as a visitor would, and then as a script of
// another site would (CORS). It parses the HTML to find what the page loads, so that no suggested policy
// blocks that. It also requests security.txt (RFC 9116).
//
// [Judge] examines a response that the caller already has, such as that of a [net/http.Client] or of a handler
// in a test, by the rules that need nothing else.
//
// A Content-Security-Policy is judged by what it blocks: [Policy] reports for inline scripts, event handlers,
// eval, scripts of other hosts, plug-ins, base elements and frames whether they would run if injected, and
// because of which directive.
//
// The score is that of MDN's HTTP Observatory for the same responses, at most 100 and capped by the gravest
// finding; see package observatory. Each test that costs points has a finding. If the Observatory gives no
// grade (for error pages, responses that are not pages, and HEAD), there is no score. If a request was not
// answered, its points are left out, and there is no grade.
//
// Every suggested value is a complete header field with name and value.
package headers
