package markcert

import (
	"time"

	"github.com/diagkit/diagkit/diag"
)

// When a certificate should be renewed: the authority has to examine the owner and the mark again, which takes weeks.
const (
	day    = 24 * time.Hour
	urgent = 14 * day
	soon   = 30 * day
)

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

var validityRules = diag.Rules[*evidence]{{
	Code: "cert_expired", Severity: diag.Critical, Weight: 10, Ref: "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate expired", Requirement: "The mark certificate has not expired",
	Advice: "Renew the mark certificate at the authority and publish it at the same URL. Until then mailboxes that ask " +
		"for one show no logo.",
	Fails: func(e *evidence) diag.Failures {
		end := e.mark.X509.NotAfter
		return diag.FailIf(e.now.After(end), "The certificate expired on %s, %s ago.", date(end), age(e.now.Sub(end)))
	},
}, {
	Code: "markcert.validity.not_yet", Severity: diag.Critical, Weight: 5, Ref: "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate is not yet valid", Requirement: "The validity of the mark certificate has begun",
	Advice: "Publish the certificate once it is valid, and leave the former one in place until then.",
	Fails: func(e *evidence) diag.Failures {
		begin := e.mark.X509.NotBefore
		return diag.FailIf(e.now.Before(begin), "The certificate is valid only from %s.", date(begin))
	},
}, {
	Code: "markcert.validity.urgent", Severity: diag.Warning, Weight: 2,
	DependsOn: []diag.Code{"cert_expired", "markcert.validity.not_yet"}, Ref: "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate expires within 14 days", Requirement: "The mark certificate is valid for 14 more days",
	Advice: "Renew the certificate now: the authority examines the owner and the mark again, which may take longer " +
		"than the time that is left.",
	Fails: func(e *evidence) diag.Failures { return ending(e, urgent) },
}, {
	Code: "markcert.validity.soon", Severity: diag.Info, DependsOn: []diag.Code{"markcert.validity.urgent"},
	Ref:   "RFC 5280 section 4.1.2.5",
	Title: "Mark certificate expires within 30 days", Requirement: "The mark certificate is valid for 30 more days",
	Advice: "Ask the authority for the renewal: it examines the owner and the mark again.",
	Fails:  func(e *evidence) diag.Failures { return ending(e, soon) },
}}

func ending(e *evidence, within time.Duration) diag.Failures {
	end := e.mark.X509.NotAfter
	if e.now.Before(e.mark.X509.NotBefore) || e.now.After(end) || end.Sub(e.now) >= within {
		return nil
	}
	f := diag.Fail("The certificate expires on %s, in %s.", date(end), age(end.Sub(e.now)))
	f[0].Due = end
	return f
}

func age(d time.Duration) string {
	switch {
	case d < time.Hour:
		return "less than an hour"
	case d < 2*day:
		return diag.Count(int(d/time.Hour), "hour")
	}
	return diag.Count(int(d/day), "day")
}
