package tlscert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// A distrust is the announcement of a browser that it does not trust an authority any more: either certificates that
// are issued after a moment, or from that moment on all of them.
type distrust struct {
	authority string
	browser   string
	after     time.Time
	all       bool // whenever they were issued
	byLog     bool // issued means the earliest timestamp of a log, not the begin of validity
	roots     []sign
	source    string
}

// endOf is the last second of a day.
func endOf(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 23, 59, 59, 0, time.UTC)
}

// The roots of the announcements.
var (
	entrustRoots = []sign{{cn: "Entrust Root Certification Authority*"},
		{cn: "Entrust.net Certification Authority (2048)"}, {cn: "AffirmTrust *", org: "AffirmTrust"}}
	symantecRoots = []sign{{cn: "GeoTrust Global CA*"}, {cn: "GeoTrust Primary Certification Authority*"},
		{cn: "GeoTrust Universal CA*"}, {cn: "thawte Primary Root CA*"}, {unit: "Equifax Secure Certificate Authority"},
		{cn: "VeriSign Class 3 Public Primary Certification Authority*"},
		{cn: "VeriSign Universal Root Certification Authority"}, {cn: "Symantec Class * Public Primary*"}}
	digicertRoots = []sign{{cn: "DigiCert Global Root CA"}, {cn: "DigiCert Assured ID Root CA"},
		{cn: "DigiCert High Assurance EV Root CA"}}
)

const (
	chromeEntrust    = "https://security.googleblog.com/2024/06/sustaining-digital-certificate-security.html"
	chromeChunghwa   = "https://groups.google.com/a/ccadb.org/g/public/c/eMOETf47kFY"
	chromeGlobal     = "https://groups.google.com/a/ccadb.org/g/public/c/wRs-zec8w7k"
	mozillaGlobal    = "https://groups.google.com/a/mozilla.org/g/dev-security-policy/c/XpknYMPO8dI"
	mozillaLifecycle = "https://wiki.mozilla.org/CA/Root_CA_Lifecycles"
	chromeWoSign     = "https://groups.google.com/a/chromium.org/g/net-dev/c/FKXe-76GO8Y/m/Ka8K5lj9AgAJ"
)

// distrusts is the table of the announcements, the latest first, as of 2026-11. Roots that stores drop for their age
// are here where large authorities used them last.
var distrusts = []distrust{
	{"GlobalSign", "Firefox", endOf(2027, time.April, 14), true, false, []sign{{unit: "GlobalSign Root CA - R3"}},
		"https://support.globalsign.com/ssl/general-ssl/removal-tls-trust-bit-roots-r1-and-r3-mozilla"},
	{"DigiCert", "Firefox and Chrome", endOf(2026, time.April, 14), true, false, digicertRoots, mozillaLifecycle},
	{"certSIGN", "Firefox", endOf(2026, time.April, 14), true, false, []sign{{unit: "certSIGN ROOT CA"}},
		mozillaLifecycle},
	{"SwissSign", "Firefox", endOf(2026, time.April, 14), true, false, []sign{{cn: "SwissSign Gold CA - G2"}},
		mozillaLifecycle},
	{"SecureTrust", "Firefox", endOf(2026, time.April, 14), true, false,
		[]sign{{cn: "Secure Global CA"}, {cn: "SecureTrust CA"}}, mozillaLifecycle},
	{"Izenpe", "Firefox", endOf(2026, time.April, 15), false, false, []sign{{cn: "Izenpe.com"}},
		"https://bugzilla.mozilla.org/show_bug.cgi?id=2017317"},
	{"Chunghwa Telecom", "Chrome 139 and later", endOf(2025, time.July, 31), false, true,
		[]sign{{unit: "ePKI Root Certification Authority"}, {cn: "HiPKI Root CA - G1"}}, chromeChunghwa},
	{"Netlock", "Chrome 139 and later", endOf(2025, time.July, 31), false, true, []sign{{cn: "NetLock Arany*"}},
		chromeChunghwa},
	{"GlobalSign", "Firefox", endOf(2025, time.April, 14), true, false,
		[]sign{{cn: "GlobalSign Root CA", unit: "Root CA"}}, mozillaLifecycle},
	{"Entrust", "Firefox", endOf(2024, time.November, 30), false, false, entrustRoots,
		"dev-security-policy@mozilla.org, 2024-07-31"},
	{"Entrust", "Chrome 131 and later", endOf(2024, time.November, 11), false, true, entrustRoots, chromeEntrust},
	{"GLOBALTRUST", "Chrome 124 and later", endOf(2024, time.June, 30), false, true, []sign{{cn: "GLOBALTRUST 2020"}},
		chromeGlobal},
	{"GLOBALTRUST", "Firefox", endOf(2024, time.June, 30), false, false, []sign{{cn: "GLOBALTRUST 2020"}}, mozillaGlobal},
	{"TrustCor", "Chrome 111 and later", endOf(2023, time.March, 6), true, false, []sign{{cn: "TrustCor *"}},
		"Chrome Root Program, 2022-12-15"},
	{"Camerfirma", "Chrome 90 and later", endOf(2021, time.April, 13), true, false,
		[]sign{{org: "AC Camerfirma*"}, {cn: "Chambers of Commerce Root*"}, {cn: "Global Chambersign Root*"}},
		"Chrome Root Program, 2021-01"},
	{"Symantec", "Chrome 70 and later", endOf(2018, time.October, 15), true, false, symantecRoots,
		"https://security.googleblog.com/2017/09/chromes-plan-to-distrust-symantec.html"},
	{"WoSign and StartCom", "Chrome 61 and later", endOf(2017, time.September, 4), true, false,
		[]sign{{org: "WoSign CA Limited"}, {org: "StartCom Ltd."}}, chromeWoSign},
}

// A Distrust is a browser's announcement that it no longer trusts the authority of the certificate.
type Distrust struct {
	Authority string    `json:"authority" doc:"authority" example:"Entrust"`
	Browser   string    `json:"browser" doc:"browser, and from which version on" example:"Chrome 131 and later"`
	After     time.Time `json:"after" doc:"what is issued later is refused; with all, from then on"`
	All       bool      `json:"all" doc:"whether all certificates are refused, whenever they were issued"`
	Refused   bool      `json:"refused" doc:"whether the browser refuses this certificate today"`
	Source    string    `json:"source" doc:"where it was announced"`
}

// distrustReport lists the announcements that concern the certificate.
func (e *evidence) distrustReport() []Distrust {
	return kit.Map(e.announced(), func(d distrust) Distrust {
		return Distrust{d.authority, d.browser, d.after, d.all, d.refuses(e), d.source}
	})
}

// covers reports whether an announcement is about a root, by its name in DER.
func (d *distrust) covers(name []byte) bool {
	n := pki.ParseName(name)
	return slices.ContainsFunc(d.roots, func(s sign) bool {
		return like(s.cn, n.CommonName) && like(s.org, n.Organization...) && like(s.unit, n.OrganizationalUnit...)
	})
}

// announced lists the announcements that concern the certificate: those about every root to which a path leads, for a
// browser takes any path. Where none leads to a trusted root it is the authority at which the chain ends.
func (e *evidence) announced() (list []distrust) {
	roots := kit.Map(e.paths, func(path []*x509.Certificate) []byte { return path[len(path)-1].RawSubject })
	if len(roots) == 0 {
		roots = [][]byte{e.top().RawIssuer}
	}
	for _, d := range distrusts {
		if !slices.ContainsFunc(roots, func(name []byte) bool { return !d.covers(name) }) {
			list = append(list, d)
		}
	}
	return list
}

// issuedFor is when the certificate was issued, as the browser of an announcement sees it.
func (e *evidence) issuedFor(d *distrust) time.Time {
	issued := e.leaf().NotBefore
	if !d.byLog {
		return issued
	}
	var first time.Time
	for _, s := range e.scts {
		if !s.Timestamp.IsZero() && (first.IsZero() || s.Timestamp.Before(first)) {
			first = s.Timestamp
		}
	}
	if !first.IsZero() {
		return first
	}
	return issued
}

// refuses reports whether the browser refuses the certificate today.
func (d *distrust) refuses(e *evidence) bool {
	if d.all {
		return e.now.After(d.after)
	}
	return e.issuedFor(d).After(d.after)
}

// describe describes an announcement.
func (d *distrust) describe(e *evidence) string {
	last := d.after.Format(time.DateOnly)
	switch {
	case d.all && d.refuses(e):
		return fmt.Sprintf("%s has trusted no certificate of this root of %s since %s (%s).", d.browser, d.authority,
			d.after.AddDate(0, 0, 1).Format(time.DateOnly), d.source)
	case d.all:
		return fmt.Sprintf("%s stops trusting this root of %s on %s (%s); the certificate is valid until %s.", d.browser,
			d.authority, d.after.AddDate(0, 0, 1).Format(time.DateOnly), d.source,
			e.leaf().NotAfter.UTC().Format(time.DateOnly))
	}
	how := "issued"
	if d.byLog {
		how = "logged"
	}
	return fmt.Sprintf("%s does not trust certificates of %s that were %s after %s (%s); this one was %s on %s.",
		d.browser, d.authority, how, last, d.source, how, e.issuedFor(d).UTC().Format(time.DateOnly))
}

// distrusted reports the announcements by which a browser refuses the certificate, or of the others.
func (e *evidence) distrusted(refused bool) rule.Failures {
	var list []string
	var due time.Time
	for _, d := range e.announced() {
		if d.refuses(e) != refused {
			continue
		}
		list = append(list, d.describe(e))
		if !refused && d.all && d.after.Before(e.leaf().NotAfter) && (due.IsZero() || d.after.Before(due)) {
			due = d.after
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rule.Failures{{Detail: strings.Join(list, " "), Due: due}}
}

const (
	titleDistrusted  = "Browsers no longer trust the authority of the certificate"
	adviceDistrusted = "Get a certificate from another public authority, " +
		"and set the ACME client or the order process up for it."
)

// distrustRules are about authorities that browsers have announced to distrust.
var distrustRules = rule.Rules[*evidence]{{
	Code: "tls.chain.distrusted", Severity: diag.Error, Weight: 10, Fact: reach.Untrusted,
	Differs: "some browsers refuse the certificate, other clients do not",
	Ref:     "RFC 5280 section 6.1.1",
	Title:   titleDistrusted, Requirement: "Browsers trust the authority of the certificate",
	Advice: adviceDistrusted,
	When:   func(e *evidence) bool { return certified(e) && e.tls.Trusted },
	Fails:  func(e *evidence) rule.Failures { return e.distrusted(true) },
}, {
	Code: "tls.chain.distrust_announced", Severity: diag.Info, DependsOn: []diag.Code{"tls.chain.distrusted"},
	Ref:         "RFC 5280 section 6.1.1",
	Title:       "Browsers will not trust the next certificate of this authority",
	Requirement: "No browser has announced that it will distrust the authority",
	Advice: "Renew with another public authority: the present certificate stays valid, " +
		"and the next one would not be trusted.",
	When:  func(e *evidence) bool { return certified(e) && e.tls.Trusted },
	Fails: func(e *evidence) rule.Failures { return e.distrusted(false) },
}, {
	Code: "tls.certificate.client_auth", Severity: diag.Info, Ref: "Chrome Root Program Policy 1.8",
	Title:       "Certificate is also for TLS clients, which public CAs phase out",
	Requirement: "The certificate is for TLS servers only",
	Advice: "Get another certificate from a private authority before the next renewal if this one also identifies a " +
		"client (mutual TLS, SMTP between servers); a web server does not need the usage.",
	When: func(e *evidence) bool { return certified(e) && e.tls.Trusted && e.public() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(slices.Contains(e.leaf().ExtKeyUsage, x509.ExtKeyUsageClientAuth),
			"The certificate has the extended key usage clientAuth. Chrome accepts it in new certificates of public "+
				"authorities until %s, and most of them left it out before.", clientAuthEnds.Format(time.DateOnly))
	},
}}

// clientAuthEnds is the day before new certificates below roots of Chrome may be for servers only. New issuing
// authorities have been for servers only since 2026-06-15.
var clientAuthEnds = time.Date(2027, time.March, 14, 0, 0, 0, 0, time.UTC)
