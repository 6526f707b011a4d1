// Package phishing looks for signs that a URL serves phishing: call [Check] with a URL.
//
// # How phishing sites give themselves away
//
// A phishing site copies a company's page to collect its customers' passwords. It cannot have the company's domain,
// so it uses one that resembles it (package lookalike), or puts the company's name where it proves nothing: in a
// subdomain or the path. It lives for hours, on free hosting or a compromised site, under a name registered
// yesterday. And its form sends what is typed to someone.
//
// Each of these is a signal: a rule with a weight, its share of risk. Signals combine as independent evidence: two
// of 50 make 75. There is no learned model, and every point of the score can be explained. The verdict follows from
// the sum. No verdict says that a site is safe: without signals it says what was examined, what was not, and that no
// signal was seen.
//
// # What is asked
//
// The URL is judged offline. If fetching is allowed, the page is fetched, over all redirects including those in
// documents, and so are the domain's registration (RDAP, WHOIS) and the certificate, all at once. There
// is no reputation source to ask.
//
//	report, err := phishing.Check(ctx, env, phishing.Request{URL: "http://www.paypa1.com/"})
//
// A site that does not answer is a result: the URL is judged, and the rest is inconclusive.
package phishing
