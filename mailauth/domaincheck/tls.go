package domaincheck

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
)

// tlsRules are about what MTA-STS and the mail servers mean for each other: neither part alone can tell.
var tlsRules = diag.Rules[*check]{
	{
		Code: "check.tls.enforced", Severity: diag.Error,
		Title:       "Mail server has no valid TLS, which MTA-STS enforces",
		Requirement: "Every mail server has the valid TLS that the enforced MTA-STS policy asks for",
		Ref:         "RFC 8461 section 4.2",
		Advice: "Set the MTA-STS policy to mode testing at once, with a new id, if the mail server cannot be fixed today. Then " +
			"install a trusted certificate for the name of the MX host, and enforce the policy again.",
		When: func(c *check) bool { return c.enforced() && c.smtp != nil && c.smtp.Result != nil },
		Fails: func(c *check) diag.Failures {
			told := map[string]bool{} // a host by two addresses is one
			return diag.FailEach(c.smtp.Result.Servers, func(s smtpcheck.Server) diag.Failures {
				if !s.Reachable || verified(&s) || told[s.Host] {
					return nil
				}
				told[s.Host] = true
				return diag.Fail("Senders that follow the MTA-STS policy of %s do not deliver to %s "+
					"(%s): %s.", c.Domain, s.Host, s.Address, whyNot(&s)).About(s.Host)
			})
		},
	},
}

var tlsTexts = diag.Texts{
	"valid": {Headline: "Mail servers have the TLS that MTA-STS asks for", Sub: "Senders that follow the policy deliver."},
	"invalid": {Headline: "A mail server has no valid TLS, which MTA-STS asks for",
		Sub: "Senders that follow the policy do not deliver to it. Set the policy to testing until the server is fixed."},
}

// enforced reports whether senders refuse to deliver without valid TLS.
func (c *check) enforced() bool {
	return c.mtasts.Result != nil && c.mtasts.Result.Valid && c.mtasts.Result.Policy.Mode == mtasts.Enforce
}

// verified reports whether senders that must encrypt deliver to a server, as far as the session tells.
func verified(s *smtpcheck.Server) bool {
	return s.TLS != nil && s.TLS.Trusted && s.TLS.HostnameMatch || s.Error != "" && s.TLS == nil && !s.EHLOOK
}

func whyNot(s *smtpcheck.Server) string {
	switch {
	case s.TLS == nil && !s.StartTLS.Advertised:
		return "it does not offer STARTTLS"
	case s.TLS == nil:
		return "TLS does not come about"
	case !s.TLS.HostnameMatch:
		return "its certificate is not for this name"
	default:
		return "its certificate is not trusted"
	}
}
