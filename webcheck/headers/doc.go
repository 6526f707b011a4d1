// Package headers examines the header fields by which a web site protects its visitors: call [Check] with a URL.
//
// # What header fields do for a page
//
// A browser does for a page whatever the page asks for, also if somebody else smuggled the request into it. With
// header fields the server tells the browser what the page will never want: to be reached over http
// (Strict-Transport-Security), scripts from elsewhere (Content-Security-Policy), to be embedded by others
// (frame-ancestors, X-Frame-Options), to have its files taken for what they are not (X-Content-Type-Options), to tell
// other sites where a visitor came from (Referrer-Policy), the camera (Permissions-Policy). Others open what browsers
// keep closed, and do harm if they open too far: Access-Control-Allow-Origin, and cookies without their attributes.
//
// Only what the browser enforces counts: a policy that is only reported on, a field with a spelling mistake, and
// Strict-Transport-Security over http have no effect, and the report says so.
//
// # How the package examines them
//
// [Check] fetches the page as a visitor would, and at once what http:// and https:// lead to; then it asks for the
// page as a script of a foreign site would (CORS). The page's own HTML is read for what it loads, so that nothing is
// suggested that would block it.
//
// The score is that of the HTTP Observatory of MDN for the same answers, at most 100, under the caps of the gravest
// finding; see package [github.com/diagkit/diagkit/webcheck/headers/observatory]. The findings explain it: each test
// that takes points has one. Where the Observatory gives no grade (error pages, answers that are no page, HEAD) there
// is no score; where a question went unanswered, its points are left out and so is the grade.
//
// Every suggested value is a whole header field, name and value.
package headers
