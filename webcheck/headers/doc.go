// Package headers examines the header fields by which a web site protects its visitors: call [Check] with a URL.
//
// # What header fields do for a page
//
// A browser does for a page whatever the page asks, even if someone else injected the request. With header fields
// the server declares what the page never needs: plain http (Strict-Transport-Security), foreign scripts
// (Content-Security-Policy), embedding by others (frame-ancestors, X-Frame-Options), content sniffing
// (X-Content-Type-Options), telling other sites where a visitor came from (Referrer-Policy), the camera
// (Permissions-Policy). Others loosen what browsers restrict, and do harm if they go too far:
// Access-Control-Allow-Origin, and cookies without their attributes.
//
// Only what the browser enforces counts: a report-only policy, a misspelled field, and Strict-Transport-Security
// over http have no effect, and the report says so.
//
// # How the package examines them
//
// [Check] fetches the page as a visitor would, follows http:// and https:// at the same time, and then requests the
// page as a script of a foreign site would (CORS). It reads the page's HTML for what it loads, so that no suggestion
// blocks it. Beside the page it asks for security.txt (RFC 9116).
//
// [Judge] examines an answer that one has already, such as that of an own [net/http.Client] or of a handler in a test,
// by the rules that need nothing else.
//
// A Content-Security-Policy is worth what it keeps from running: [Policy] says for inline scripts, event handlers,
// eval, scripts of others, plug-ins, base elements and frames whether they would run if someone injected them, and
// by which directive. Its strength follows from that alone.
//
// The score is that of the HTTP Observatory of MDN for the same answers, at most 100, capped by the gravest finding;
// see package [github.com/diagkit/diagkit/webcheck/headers/observatory]. Each test that takes points has a finding.
// Where the Observatory gives no grade (error pages, answers that are no page, HEAD) there is no score; the points
// of an unanswered question are left out, and so is the grade.
//
// Every suggested value is a whole header field, name and value.
package headers
