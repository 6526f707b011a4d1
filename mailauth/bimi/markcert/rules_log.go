package markcert

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

var logRules = diag.Rules[*evidence]{{
	Code: "markcert.log.missing", Severity: diag.Error, Weight: 4, DependsOn: []diag.Code{"cert_not_vmc"},
	Ref:   draft + "4.6",
	Title: "No proof that the certificate was logged", Requirement: "The certificate holds timestamps of a log",
	Advice: "Have the certificate reissued with signed certificate timestamps (SCTs): receivers ask for one at least.",
	Fails: func(e *evidence) diag.Failures {
		if e.garbled {
			return diag.Fail("The extension with the signed certificate timestamps cannot be read.")
		}
		return diag.FailIf(len(e.stamps) == 0, "The certificate holds no signed certificate timestamp (SCT).")
	},
}, {
	Code: "markcert.log.forged", Severity: diag.Error, Weight: 3, DependsOn: []diag.Code{"markcert.log.missing"},
	Ref:   "RFC 6962 section 3.2",
	Title: "Timestamp of a log is not valid", Requirement: "No timestamp is contradicted by the key of its log",
	Advice: "Have the certificate reissued: the log did not sign this certificate.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.stamps, func(t Timestamp) diag.Failures {
			return diag.FailIf(t.Verified != nil && !*t.Verified,
				"The signature of the timestamp of %s is not valid for this certificate.", t.Log).About(t.Log)
		})
	},
}, {
	Code: "markcert.log.future", Severity: diag.Error, Weight: 1, DependsOn: []diag.Code{"markcert.log.missing"},
	Ref:   "RFC 6962 section 5.2",
	Title: "Timestamp of a log lies in the future", Requirement: "All timestamps are of the past",
	Advice: "Check the clock of this system; if it is right, have the certificate reissued.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.stamps, func(t Timestamp) diag.Failures {
			return diag.FailIf(t.LoggedAt.After(e.now), "A timestamp says that the certificate was logged on %s.",
				date(t.LoggedAt))
		})
	},
}, {
	Code: "markcert.log.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"markcert.log.missing", "markcert.log.forged"}, Ref: draft + "5.1",
	Title: "Timestamps could not be verified", Requirement: "A log that is known has signed a timestamp",
	Advice: "Check the timestamps with the key of the log, which its operator publishes.",
	Fails: func(e *evidence) diag.Failures {
		if e.logged() {
			return nil
		}
		if slices.ContainsFunc(e.stamps, func(t Timestamp) bool { return t.Log != "" }) {
			return diag.Fail("The certificate holds %s; to verify them, the certificate of the issuer is needed, which "+
				"is not in the text.", diag.Count(len(e.stamps), "timestamp"))
		}
		return diag.Fail("The certificate holds %s, but none of a log whose key is known here.",
			diag.Count(len(e.stamps), "timestamp"))
	},
}}
