package tlscert

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// unrecognized reports whether no known product made the certificate. If one did, that is the cause of all else that
// is wrong with it.
func unrecognized(e *evidence) bool { return e.product == nil }

// identify finds out which product made a certificate that leads to no trusted authority.
func (e *evidence) identify() {
	if !e.tls.Trusted && !e.tls.ChainComplete && !e.anchored {
		e.product = recognize(e.tls.Peers, !e.tls.HostnameMatch)
	}
}

// productRules are about certificates that a product made by itself, one for each purpose that they have. Title and
// advice are those of the product.
var productRules = rule.Rules[*evidence]{
	ofProduct(codeDefault, "Server presents the default certificate of a product",
		"The certificate is not the default of a product",
		"Get a certificate from a public authority and install it in place of the default."),
	ofProduct(codeTesting, "Certificate comes from a test authority", "The certificate does not come from a test "+
		"authority",
		"Get a certificate from a public authority; with ACME it is free and automatic."),
	ofProduct(codePrivate, "Certificate comes from an authority for another purpose",
		"The certificate does not come from an authority for another purpose",
		"Get a certificate from a public authority; with ACME it is free and automatic."),
	ofProduct(codeIntercepted, "TLS is intercepted on the way to the server",
		"TLS is not intercepted on the way to the server",
		adviceProxy),
}

func ofProduct(code diag.Code, title, requirement, advice string) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Critical, Weight: 5, Fact: reach.Untrusted, Differs: whyUntrusted,
		Ref: "RFC 5280 section 6.1.1", Title: title, Requirement: requirement, Advice: advice,
		Fails: func(e *evidence) rule.Failures {
			p := e.product
			if p == nil || p.code != code {
				return nil
			}
			by := ""
			if !e.described().SelfSigned {
				by = fmt.Sprintf(", issued by %s,", nameOf(pki.ParseName(e.leaf().RawIssuer)))
			}
			return rule.Failures{{
				Title: p.title, Advice: p.advice,
				Detail: fmt.Sprintf("The certificate for %s%s %s.", subject(e.leaf()), by, p.cause),
			}}
		},
	}
}
