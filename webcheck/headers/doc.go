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
// suggested that would block it. Beside the package's own verdict stands the grade that the HTTP Observatory of MDN
// gives to the same answers; see package [github.com/diagkit/diagkit/webcheck/headers/observatory].
//
// Every suggested value is a whole header field, name and value.
package headers
