package mtasts

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"golang.org/x/net/publicsuffix"
)

func inPolicy(k kind) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		list := e.policy.of(k)
		for i := range list {
			list[i].Detail = phrase.Sentence(list[i].Detail)
			if !k.harmless() {
				list[i].Suggested = e.newPolicy()
			}
		}
		return list.Joined()
	}
}

// textRule makes the rule that the policy has no fault of a kind for which senders refuse it.
func textRule(code diag.Code, title, requirement, advice string, k kind, after ...diag.Code) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Critical, Weight: 1, DependsOn: after, Ref: "RFC 8461 section 3.2",
		Title: title, Requirement: requirement, Advice: advice, Fails: inPolicy(k),
	}
}

var textRules = rule.Rules[*evidence]{
	{
		Code: "mtasts.policy.page", Severity: diag.Critical, Weight: 1, DependsOn: []diag.Code{"mtasts.policy.status"},
		Ref:   "RFC 8461 section 3.2",
		Title: "Policy host serves something other than a policy", Requirement: "The policy host serves a policy",
		Advice: "Serve the text of the policy at this address, in testing mode first: senders find none there.",
		When:   func(e *evidence) bool { return e.policy != nil },
		Fails: func(e *evidence) rule.Failures {
			if !e.policy.notPolicy {
				return nil
			}
			return rule.Fail("The policy host serves %s.",
				strings.TrimPrefix(e.policy.faults[0].text, "this is ")).Suggesting(e.newPolicy())
		},
	},
	{
		Code: "mtasts.policy.encoding", Severity: diag.Error, Weight: 1, Ref: "RFC 8461 section 3.2",
		Title: "MTA-STS policy is not valid UTF-8", Requirement: "The policy is valid UTF-8",
		Advice: "Save the policy as UTF-8; a policy needs no characters beyond ASCII.",
		Fails:  inPolicy(badText),
	},
	textRule("mtasts.policy.syntax", "Syntax error in the MTA-STS policy",
		"Every line of the policy has a valid syntax",
		"Write each line as name: value, without anything in front of the name.", badSyntax),
	{
		Code: "mtasts.policy.blank_line", Severity: diag.Error, Weight: 1, Ref: "RFC 8461 section 3.2",
		Title: "Blank line in the MTA-STS policy", Requirement: "The policy has no blank lines",
		Advice: "Remove blank lines: the syntax knows none, and strict senders refuse the policy.",
		Fails:  inPolicy(blankLine),
	},
	{
		Code: "mtasts.policy.repeated", Severity: diag.Warning, Ref: "RFC 8461 section 3.2",
		Title: "Field of the MTA-STS policy appears twice", Requirement: "No field of the policy but mx appears twice",
		Advice: "Remove the second line: senders use the first.",
		Fails:  inPolicy(repeated),
	},
	{
		Code: "mtasts.policy.field.misspelt", Severity: diag.Critical, Ref: "RFC 8461 section 3.2",
		Title:       "Misspelled field in the MTA-STS policy",
		Requirement: "The names of the fields are spelled version, mode, mx and max_age",
		Advice: "Write the name of the field as in the detail, in lower case: senders ignore the line, and so the " +
			"whole policy.",
		Fails: inPolicy(misspelt),
	},
	{
		Code: "mtasts.policy.field.unknown", Severity: diag.Warning, Ref: "RFC 8461 section 3.2",
		Title: "MTA-STS policy has a field that senders ignore", Requirement: "The policy has only fields that " +
			"MTA-STS defines",
		Advice: "Correct the name of the field, or remove the line.",
		Fails:  inPolicy(likeKnown),
	},
	textRule("mtasts.policy.version.missing", "MTA-STS policy has no version", "The policy has a version",
		"Begin the policy with the line version: STSv1.", noVersion),
	textRule("mtasts.policy.version.invalid", "Version of the MTA-STS policy is not STSv1",
		"The version of the policy is STSv1", "Write version: STSv1 in this letter case.", badVersion,
		"mtasts.policy.version.missing"),
	textRule("mtasts.policy.mode.missing", "MTA-STS policy has no mode", "The policy has a mode",
		"Add the line mode: testing, and later mode: enforce.", noMode),
	textRule("mtasts.policy.mode.invalid", "Invalid mode in the MTA-STS policy", "The mode is enforce, testing or none",
		"Write one of the three modes in lower case.", badMode, "mtasts.policy.mode.missing"),
	textRule("mtasts.policy.max_age.missing", "MTA-STS policy has no max_age", "The policy has a max_age",
		"Add the line max_age: 604800, or more, in seconds.", noMaxAge),
	textRule("mtasts.policy.max_age.invalid", "Invalid max_age in the MTA-STS policy",
		"max_age is a number from 0 to 31557600", "Write the number of seconds in digits only; a year is the most.",
		badMaxAge, "mtasts.policy.max_age.missing"),
	textRule("mtasts.policy.mx.missing", "MTA-STS policy lists no mail servers", "The policy lists mail servers",
		"Add an mx line for each mail server.", noMX),
	textRule("mtasts.policy.mx.invalid", "Invalid host name in the MTA-STS policy", "Every mx is a valid host name",
		"Write host names as in the MX records, without a final dot; only the first label may be a wildcard.", badMX),
}

var policyRules = rule.Rules[*evidence]{{
	Code: "mtasts.policy.mode.none", Severity: diag.Warning, Weight: 30,
	DependsOn: []diag.Code{"mtasts.policy.field.misspelt", "mtasts.policy.mode.invalid"}, Ref: "RFC 8461 section 5",
	Title: "Mode none switches MTA-STS off", Requirement: "The policy is in force",
	Advice: "Set the mode to testing and later to enforce, or take down the record and the policy once " +
		"max_age has passed.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.policy.policy.Mode == None,
			"The mode is none: senders deliver as if there were no policy.").About("mode")
	},
}, {
	Code: "mtasts.policy.mode.testing", Severity: diag.Warning, Weight: 20,
	DependsOn: []diag.Code{"mtasts.policy.mode.none"}, Ref: "RFC 8461 section 5",
	Title: "MTA-STS policy is in testing mode, not enforced", Requirement: "The policy is enforced",
	Advice: "Once the TLS reports show no failures, set the mode to enforce, and change the id of the record.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.policy.policy.Mode == Testing,
			"The mode is testing: senders deliver even if TLS fails, and only report it.").About("mode")
	},
	Partly: func(*evidence) float64 { return 0.25 },
}, {
	Code: "mtasts.policy.max_age.zero", Severity: diag.Error, Weight: 2,
	DependsOn: []diag.Code{"mtasts.policy.mode.none", "mtasts.policy.max_age.invalid"}, Ref: "RFC 8461 section 3.2",
	Title: "max_age of the MTA-STS policy is 0", Requirement: "max_age is more than 0",
	Advice: "Set max_age to 604800 or more: senders must keep the policy for it to protect anything.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.policy.policy.MaxAge <= 0, "With max_age 0 senders do not keep the policy.").
			About("max_age").Suggesting(e.newPolicy())
	},
}, {
	Code: "mtasts.policy.max_age.short", Severity: diag.Warning, Weight: 5,
	DependsOn: []diag.Code{"mtasts.policy.max_age.zero"}, Ref: "RFC 8461 section 3.2",
	Title: "max_age of the MTA-STS policy is shorter than a week", Requirement: "max_age is at least a week",
	Advice: "Raise max_age to 604800 or more: a short one lets an attacker wait until it expires.",
	Fails: func(e *evidence) rule.Failures {
		age := e.policy.policy.MaxAge
		return rule.FailIf(age < week, "max_age is %d seconds, less than a week.", age/time.Second).
			About("max_age").Suggesting(e.newPolicy())
	},
	Partly: func(e *evidence) float64 { return float64(e.policy.policy.MaxAge) / float64(week) },
}, {
	Code: "mtasts.policy.mx.broad", Severity: diag.Warning, DependsOn: []diag.Code{"mtasts.policy.mx.missing"},
	Ref:   "RFC 8461 section 4.1",
	Title: "mx pattern of the MTA-STS policy covers a public suffix", Requirement: "No mx pattern covers a public suffix",
	Advice: "List the hosts themselves: anybody can get a name, and a certificate, below a public suffix.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.policy.policy.MX, func(pattern string) rule.Failures {
			parent, wildcard := strings.CutPrefix(pattern, "*.")
			suffix, _ := publicsuffix.PublicSuffix(parent)
			return rule.FailIf(wildcard && suffix == parent,
				"%s covers every name directly below a public suffix, which anyone can register.", pattern).About(pattern)
		})
	},
}}

func isRedirect(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

func charset(e *evidence) string {
	_, parameters, err := mime.ParseMediaType(e.page.Final().Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return strings.ToLower(parameters["charset"])
}

var server = reach.Server[*evidence]{Name: "policy host", Observation: func(e *evidence) *reach.Observation {
	if !announced(e) {
		return nil
	}
	return reach.Observe(e.page, e.now)
}}

var serverRules = server.Rules(
	rule.Rule[*evidence]{Fact: reach.Silent, Code: "mtasts.policy.unknown",
		Advice: "Check that the policy host answers in time from everywhere: senders give up after a minute."},
	rule.Rule[*evidence]{Fact: reach.NoName, Code: "mtasts.policy.host.nxdomain", Weight: 1, Category: factorServer,
		Advice: "Give mta-sts an A or AAAA record, or a CNAME to the host that serves the policy for you."},
	rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "mtasts.policy.host.address", Weight: 1, Category: factorServer,
		Advice: "Give mta-sts an A or AAAA record, or a CNAME to the host that serves the policy for you."},
	rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "mtasts.policy.host.blocked"},
	rule.Rule[*evidence]{Fact: reach.Refused, Code: "mtasts.policy.connection", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.Handshake, Code: "mtasts.policy.tls.handshake", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.Expired, Code: "mtasts.policy.certificate.expired",
		Weight: 2, Category: factorCertificate},
	rule.Rule[*evidence]{Fact: reach.NotYetValid, Code: "mtasts.policy.certificate.early"},
	rule.Rule[*evidence]{Fact: reach.Untrusted, Code: "mtasts.policy.certificate.untrusted",
		Weight: 2, Category: factorCertificate},
	rule.Rule[*evidence]{Fact: reach.OtherName, Code: "mtasts.policy.certificate.name",
		Weight: 2, Category: factorCertificate},
	rule.Rule[*evidence]{Fact: reach.ExpiresNow, Code: "mtasts.policy.certificate.expires_now"},
	rule.Rule[*evidence]{Fact: reach.Expiring, Code: "mtasts.policy.certificate.expiring"},
	rule.Rule[*evidence]{Fact: reach.OldTLS, Code: "mtasts.policy.tls.version"},
	rule.Rule[*evidence]{Fact: reach.NotHTTP, Code: "mtasts.policy.protocol", Weight: 1, Category: factorServer},
	rule.Rule[*evidence]{Fact: reach.BadLine, Code: "mtasts.policy.header.line"},
)

var answerRules = rule.Rules[*evidence]{{
	Code: "mtasts.policy.redirect", Severity: diag.Critical, Weight: 1, Category: factorServer,
	Ref:   "RFC 8461 section 3.3",
	Title: "Policy is behind a redirect", Requirement: "The policy is served without a redirect",
	Advice: "Serve the policy at the address itself: senders must not follow redirects.",
	When:   func(e *evidence) bool { return announced(e) && e.page.Final() != nil },
	Fails: func(e *evidence) rule.Failures {
		head := e.page.Final()
		return rule.FailIf(isRedirect(head.StatusCode), "The policy host answered %d and redirects to %.200q.",
			head.StatusCode, head.Location)
	},
}, {
	Code: "mtasts.policy.status", Severity: diag.Critical, Weight: 5, Category: factorServer,
	DependsOn: []diag.Code{"mtasts.policy.redirect"}, Ref: "RFC 8461 section 3.3",
	Title: "Policy is not served with status 200", Requirement: "The policy is served with status 200",
	Advice: "Serve the policy at /.well-known/mta-sts.txt on the policy host, in testing mode first: it takes " +
		"effect immediately.",
	Fails: func(e *evidence) rule.Failures {
		head := e.page.Final()
		return rule.FailIf(head.StatusCode != http.StatusOK, "The policy host answered %d %.100s.",
			head.StatusCode, head.StatusText).
			Suggesting(e.newPolicy())
	},
}, {
	Code: "mtasts.policy.media_type", Severity: diag.Error, Weight: 3, Category: factorServer,
	DependsOn: []diag.Code{"mtasts.policy.status"}, Ref: "RFC 8461 section 3.2",
	Title: "Policy is not served as text/plain", Requirement: "The policy is served as text/plain",
	Advice: "Let the web server send Content-Type: text/plain.",
	Fails: func(e *evidence) rule.Failures {
		switch t := mediaType(e); t {
		case "text/plain":
			return nil
		case "":
			return rule.Fail("The answer of the policy host has no Content-Type.")
		default:
			return rule.Fail("The policy host serves the policy as %.100q, not as text/plain.", t)
		}
	},
}, {
	Code: "mtasts.policy.charset", Severity: diag.Info, DependsOn: []diag.Code{"mtasts.policy.status"},
	Ref:   "RFC 8461 section 3.2",
	Title: "Policy has an unexpected character set", Requirement: "The character set of the policy is UTF-8 or US-ASCII",
	Advice: "Name utf-8 as the character set, or none: senders ignore all others.",
	Fails: func(e *evidence) rule.Failures {
		c := charset(e)
		return rule.FailIf(c != "" && c != "utf-8" && c != "us-ascii",
			"The policy host serves the policy with the character set %.100q.", c)
	},
}, {
	Code: "mtasts.policy.size", Severity: diag.Error, Weight: 1, Category: factorPolicy,
	DependsOn: []diag.Code{"mtasts.policy.status", "mtasts.policy.protocol"}, Ref: "RFC 8461 section 3.3",
	Title: "Policy is longer than 64 KiB", Requirement: "The policy has at most 64 KiB",
	Advice: "Shorten the policy, for instance by patterns: senders stop reading at 64 KiB.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.page.Truncated, "The policy is longer than %d bytes.", maxPolicyBytes)
	},
}}
