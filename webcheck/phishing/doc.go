// Package phishing looks for signs that a URL serves phishing: call [Check] with a URL.
//
// # How phishing sites give themselves away
//
// A phishing site copies a company's page to collect its customers' passwords. It cannot have the company's domain,
// so it uses one that resembles it (package lookalike), or puts the company's name where it proves nothing: in a
// subdomain or the path. It lives for hours, on free hosting or a compromised site, under a name registered
// yesterday. And its form sends what is typed to someone.
//
// Each of these is a signal: a rule with a weight, its share of risk. Signals of one cause are a group, of which the
// heaviest counts: an address that a program made is long, random and full of digits, and that is one thing. Groups
// combine as independent evidence: two of 50 make 75. There is no learned model, and every point of the score can be
// explained. The verdict follows from the sum. Signatures, requests of signing in and the wrappers of mail filters are
// recognized by their form: what they add to a URL is not a signal, and what they wrap is judged.
//
// The page counts as a whole: what title, headings, logos and copyright line call it, and what its fields ask for, in
// the languages of the lists. A page that speaks in the name of a brand that does not own it and asks for a secret is
// never clean.
//
// No verdict says that a site is safe. Clean means that no signal weighs, and that address, page and registration were
// examined; the reply lists what was and what was not.
//
// # What is asked
//
// The URL is judged offline. The registry is asked for the domain's registration (RDAP, WHOIS). If fetching is allowed,
// the page is fetched as well, over all redirects including those in documents, and the certificate is seen on the
// way. There is no reputation source to ask.
//
//	report, err := phishing.Check(ctx, env, phishing.Request{URL: "http://www.paypa1.com/"})
//
// A site that does not answer is a result: the URL is judged, and the rest is inconclusive.
package phishing
