package hsts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// rules is the table of all that is examined, in the order in which a browser would meet it.
var rules = slices.Concat(reachRules, headerRules, durationRules, redirectRules, wwwRules, preloadRules)

// expiringDays is when a certificate should have been renewed: those of Let's Encrypt have 30 days left then.
const expiringDays = 14

// answered reports whether the site answered over HTTPS.
func answered(e *evidence) bool { return first(e.https) != nil }

// reachRules are about reaching the site over HTTPS.
var reachRules = diag.Rules[*evidence]{
	{
		Code: "hsts.domain.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "Addresses of the domain could not be looked up",
		Requirement: "The name servers answer for the addresses of the domain",
		Ref:         "RFC 1034 section 3.7",
		Advice:      "Check the name servers of the domain.",
		Fails: func(e *evidence) diag.Failures {
			err := cmp.Or(e.addrs.V4.Err(), e.addrs.V6.Err())
			if err == nil || answered(e) || len(e.addrs.All()) > 0 {
				return nil
			}
			return diag.Fail("The lookup of the addresses of %s failed: %s.", e.domain, diag.Reason(err))
		},
	},
	{
		Code: "hsts.domain.missing", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"hsts.domain.unknown"},
		Title:       "Domain does not exist",
		Requirement: "The domain exists",
		Ref:         "RFC 8020 section 2",
		Advice:      "Check the spelling of the domain, its registration and its delegation.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.addrs.V4.NXDomain() || e.addrs.V6.NXDomain(), "The DNS answers NXDOMAIN for %s.",
				e.domain)
		},
	},
	{
		Code: "hsts.domain.address", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"hsts.domain.missing"},
		Title:       "Domain has no address, and so no web site",
		Requirement: "The domain has an address",
		Ref:         "RFC 1035 section 3.4.1",
		Advice:      "Give the domain an A or AAAA record, or check another host, such as www.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!answered(e) && len(e.addrs.All()) == 0, "%s exists and has neither A nor AAAA records.",
				e.domain)
		},
	},
	{
		Code: "hsts.https.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		DependsOn:   []diag.Code{"hsts.domain.address"},
		Title:       "Site did not answer over HTTPS in time",
		Requirement: "The site answers over HTTPS in time",
		Ref:         "RFC 6797 section 8.4",
		Advice:      "Check that port 443 is open to everybody, and run the check again.",
		Fails: func(e *evidence) diag.Failures {
			if !silent(e.https) {
				return nil
			}
			return explained(e.https.Err)
		},
	},
	{
		Code: "hsts.https.unreachable", Severity: diag.Error, NoScore: true,
		Weight: 6, Category: factorHTTPS, DependsOn: []diag.Code{"hsts.https.unknown"},
		Title:       "Site cannot be reached over HTTPS",
		Requirement: "The site can be reached over HTTPS",
		Ref:         "RFC 6797 section 8.4",
		Advice: "Serve the site over HTTPS on port 443 with a valid certificate; only then can HSTS be " +
			"introduced.",
		Fails: func(e *evidence) diag.Failures {
			if answered(e) {
				return nil
			}
			return explained(e.https.Err)
		},
	},
	{
		Code: "hsts.https.locked_out", Severity: diag.Critical, NoScore: true, DependsOn: []diag.Code{"hsts.domain.address"},
		Title:       "Preloaded domain cannot be opened in browsers",
		Requirement: "Browsers that have the domain on their list can open it",
		Ref:         "RFC 6797 section 12.1",
		Advice: "Restore HTTPS with a valid certificate: browsers of today use nothing else, and a removal " +
			"from the list takes months to reach them.",
		When: func(e *evidence) bool { return e.listed() && !silent(e.https) },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.trusted(), "%s is on the preload list (as %s), and does not serve HTTPS "+
				"with a valid certificate.",
				e.domain, e.entry.Name)
		},
	},
	{
		Code: "hsts.certificate.untrusted", Severity: diag.Critical,
		Weight: 10, Category: factorHTTPS, DependsOn: []diag.Code{"hsts.https.unreachable"},
		Title:       "Certificate of the site is not trusted",
		Requirement: "The certificate of the site is trusted",
		Ref:         "RFC 6797 section 8.1",
		Advice: "Install a certificate of a public authority for this host, with its intermediate " +
			"certificates: browsers ignore HSTS over a connection that they do not trust.",
		Fails: func(e *evidence) diag.Failures {
			if e.trusted() {
				return nil
			}
			return diag.Fail("Browsers do not trust the connection to %s: %s.", e.domain, first(e.https).TLS.Err())
		},
	},
	{
		Code: "hsts.certificate.expiring", Severity: diag.Warning,
		Weight: 3, Category: factorHTTPS, DependsOn: []diag.Code{"hsts.certificate.untrusted"},
		Title:       "Certificate of the site expires within two weeks",
		Requirement: "The certificate of the site is valid for at least two weeks",
		Ref:         "RFC 6797 section 12.1",
		Advice: "Renew the certificate: with HSTS, visitors cannot click through the warning once it has " +
			"expired.",
		Fails: func(e *evidence) diag.Failures {
			leaf := first(e.https).TLS.Leaf()
			if leaf.DaysRemaining >= expiringDays {
				return nil
			}
			return diag.Failures{{Due: leaf.NotAfter, Detail: fmt.Sprintf("The certificate of %s expires on %s, in %s.",
				e.domain, leaf.NotAfter.Format("2006-01-02"), diag.Count(int64(leaf.DaysRemaining), "day"))}}
		},
	},
	{
		Code: "hsts.certificate.sha1", Severity: diag.Warning, DependsOn: []diag.Code{"hsts.https.unreachable"},
		Title:       "Certificate chain has a SHA-1 signature",
		Requirement: "No certificate of the chain is signed with SHA-1",
		Ref:         "RFC 9155 section 2",
		Advice:      "Replace the certificate by one that is signed with SHA-256.",
		Fails: func(e *evidence) diag.Failures {
			c := sha1Signed(first(e.https).TLS)
			if c == nil {
				return nil
			}
			return diag.Fail("The certificate of %s, which the site sends, is signed with SHA-1.",
				diag.Quote(c.Subject.CommonName))
		},
	},
	{
		Code: "hsts.tls.obsolete", Severity: diag.Warning,
		Weight: 3, Category: factorHTTPS, DependsOn: []diag.Code{"hsts.https.unreachable"},
		Title:       "Site uses obsolete TLS settings",
		Requirement: "The site uses TLS 1.3, or a modern cipher suite of TLS 1.2",
		Ref:         "RFC 9325 section 4.2",
		Advice:      "Enable TLS 1.3, and TLS 1.2 with ECDHE and AES-GCM or ChaCha20-Poly1305.",
		Fails: func(e *evidence) diag.Failures {
			t := first(e.https).TLS
			return diag.FailIf(obsolete(t), "The site agreed on %s with %s, though both TLS 1.3 and modern "+
				"cipher suites were offered.",
				t.Version, t.CipherSuite)
		},
	},
}

// explained fails with what a fetch said.
func explained(err *fetch.Error) diag.Failures {
	return diag.Failures{{Detail: diag.Sentence("the request over HTTPS failed: " + err.Message)}}
}

// wwwRules are about the host www, which many people type by habit.
var wwwRules = diag.Rules[*evidence]{
	{
		Code: "hsts.www.cut_off", Severity: diag.Error,
		Weight: 8, Category: factorScope, DependsOn: []diag.Code{"hsts.https.unreachable"},
		Title:       "includeSubDomains cuts off www, which lacks valid HTTPS",
		Requirement: "The host www speaks HTTPS where the header holds for subdomains",
		Ref:         "RFC 6797 section 14.4",
		Advice: "Serve www over HTTPS with a valid certificate: with includeSubDomains, browsers use " +
			"nothing else for it.",
		When:  func(e *evidence) bool { return e.includesSubdomains() && e.www != nil && !silent(e.www) },
		Fails: brokenWWW,
	},
	{
		Code: "hsts.www.https", Severity: diag.Warning,
		Weight: 8, Category: factorScope, DependsOn: []diag.Code{"hsts.https.unreachable"},
		Title:       "www does not speak valid HTTPS",
		Requirement: "The host www speaks HTTPS, if there is one",
		Ref:         "RFC 6797 section 14.4",
		Advice:      "Serve www over HTTPS with a valid certificate before you add includeSubDomains.",
		When:        func(e *evidence) bool { return !e.includesSubdomains() && e.www != nil && !silent(e.www) },
		Fails:       brokenWWW,
	},
	{
		Code: "hsts.www.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
		DependsOn:   []diag.Code{"hsts.https.unreachable"},
		Title:       "www did not answer over HTTPS in time",
		Requirement: "The host www answers in time",
		Ref:         "RFC 6797 section 14.4",
		Advice:      "Check that port 443 of www is open to everybody.",
		When:        func(e *evidence) bool { return e.www != nil },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(silent(e.www), "www.%s did not answer over HTTPS, so that it is not known "+
				"whether it could be covered.",
				e.domain)
		},
	},
}

// wwwBroken reports whether there is a web site at www that browsers cannot open over HTTPS.
func (e *evidence) wwwBroken() bool { return len(brokenWWW(e)) > 0 }

func brokenWWW(e *evidence) diag.Failures {
	if e.www == nil || first(e.www) != nil || silent(e.www) || e.www.Err.Code == fetch.DNS {
		return nil
	}
	host := "www." + e.domain.String()
	if e.www.Err.Code == fetch.TLS {
		return diag.Fail("%s does not speak valid HTTPS: %s.", host, e.www.Err.Message).About(host)
	}
	// RFC 6797 section 8.3: what only plain HTTP serves is out of reach.
	return diag.FailIf(first(e.wwwHTTP) != nil, "%s answers over plain HTTP, and over HTTPS it does not: %s.", host,
		e.www.Err.Message).About(host)
}
