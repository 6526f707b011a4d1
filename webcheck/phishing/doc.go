// Package phishing looks for signs that a URL is used for phishing: call [Check] with a URL.
//
// # How phishing sites give themselves away
//
// A phishing site copies a company's page to collect its customers' passwords. It cannot use the company's
// domain, so it uses one that resembles it, or puts the company's name where it proves nothing: in a
// subdomain or the path. It often exists for hours only, on free hosting or a compromised site, under a
// recently registered name. Its form sends what is typed to the attacker.
//
// Each of these is a signal: a rule with a weight. Signals with a common cause form a group, of which only
// the heaviest counts: a generated host name, for example, is long, random and full of digits. Groups combine
// as independent evidence: two of weight 50 give 75. There is no learned model, so every point of the score
// can be explained, and the verdict follows from the score. Signatures and sign-in requests in a URL are not
// signals, and of a URL wrapped by a mail filter the original is judged.
//
// The page is judged as a whole: the brand in its title, headings, logos and copyright line, and what its
// form fields ask for. A page that uses the name of a brand on a domain that the brand does not own and asks
// for a secret is never clean.
//
// No verdict means that a site is safe. "Clean" means that URL, page and registration were examined and that
// no signal counts; the report lists what was examined.
//
// # What is queried
//
// The URL is judged offline. The registry is queried for the domain's registration (RDAP, WHOIS). If fetching
// is allowed, the page is fetched as well, following all redirects including those in documents, and its
// certificate is examined. No reputation sources are queried.
//
//	report, err := phishing.Check(ctx, env, phishing.Request{URL: "http://www.paypa1.com/"})
//
// A site that does not answer is not an error: the URL is judged, and without a signal the verdict is
// inconclusive.
package phishing
