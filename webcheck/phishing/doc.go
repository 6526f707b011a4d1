// Package phishing looks for signs that a URL serves phishing: call [Check].
//
// # How phishing sites give themselves away
//
// A phishing site copies the page of a company to collect the passwords of its customers. It cannot have
// the company's domain, so it has one that resembles it ([lookalike]), or shows the company's name in a place
// that proves nothing: a subdomain, the path. It lives for hours, on free hosting or on a site that was broken
// into, under a name that was registered yesterday. And its form sends what is typed somewhere.
//
// Each of these is a signal: a rule of one table with a weight, the share of risk that it adds. Signals add up
// as independent reasons do: two of 50 make 75. There is no learned model behind it, and every point of the
// score can be explained. From the sum follows the verdict. Without a signal nothing is proven, so no
// verdict says that a site is safe: it says what was examined, what was not, and that no signal was seen.
//
// # What is asked
//
// The URL is judged by itself, without asking anybody. If the page may be fetched it is, over all redirects and those
// in documents, and so are the registration of the domain (RDAP, WHOIS) and the certificate, all at once. Sources of
// reputation are asked if there are any, see [Source]: none is needed, and none is built in.
//
//	report, err := phishing.Check(ctx, env, phishing.Request{URL: "http://www.paypa1.com/"})
//
// A site that does not answer is a result: what the URL says is judged, and the rest is inconclusive.
package phishing
