package tlscert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/lint"
)

// missesKnown reports whether the chain is incomplete as a matter of fact: its issuer says where its certificate is,
// or is a known authority. Otherwise it may as well be an untrusted authority.
func (e *evidence) missesKnown() bool {
	return e.incomplete() && (e.repaired || e.distrusted(true) == nil &&
		(e.public() || len(e.top().IssuingCertificateURL) > 0))
}

// whyUntrusted is why no rule here has severity and code of the fact that a certificate is not trusted.
const (
	whyUntrusted  = "this check examines the chain, and has a code for each reason why clients do not trust it"
	whyIncomplete = "browsers fetch the missing certificate or know it already, so only other clients fail"
)

var chainRules = rule.Rules[*evidence]{{
	Code: "tls.chain.self_signed", Severity: diag.Critical, Weight: 20, Fact: reach.Untrusted, Differs: whyUntrusted,
	Ref:   "RFC 5280 section 6.1",
	Title: "Certificate is self-signed", Requirement: "The certificate is issued by an authority",
	Advice: "Get a certificate from a public authority; with ACME it is free and automatic.",
	When:   func(e *evidence) bool { return certified(e) && unrecognized(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.tls.Trusted && e.described().SelfSigned,
			"The certificate for %s is signed with its own key, so "+"no authority vouches for it.", subject(e.leaf()))
	},
}, {
	Code: "tls.chain.incomplete", Severity: diag.Error, Weight: 15, Fact: reach.Untrusted, Differs: whyIncomplete,
	DependsOn: []diag.Code{"tls.chain.self_signed"}, Ref: "RFC 8446 section 4.4.2",
	Title: "Certificate chain is incomplete", Requirement: "The server sends the intermediate certificates",
	Advice: "Configure the whole chain with its intermediate certificates, such as fullchain.pem, " +
		"instead of the certificate of the server alone.",
	Fails: func(e *evidence) rule.Failures {
		if !e.missesKnown() {
			return nil
		}
		detail := fmt.Sprintf("The server does not send the intermediate certificate of %s.",
			nameOf(pki.ParseName(e.top().RawIssuer)))
		switch {
		case e.repaired:
			detail += " Browsers that fetch it from the URL in the certificate can complete the chain; other clients fail."
		case e.repairTried && e.repairFault == nil:
			detail += " What the URLs in the certificates lead to does not complete the chain either."
		case e.repairTried:
			detail += " It could not be fetched from the URL in the certificate, either."
		}
		return rule.Fail("%s", detail)
	},
}, {
	Code: "tls.chain.untrusted", Severity: diag.Critical, Weight: 20, Fact: reach.Untrusted, Differs: whyUntrusted,
	DependsOn: []diag.Code{"tls.chain.self_signed"}, Ref: "RFC 5280 section 6.1.1",
	Title:       "Certificate was issued by an untrusted authority",
	Requirement: "The certificate is issued by a trusted authority",
	Advice: "Install the intermediate certificates from the authority if they are missing; if the authority " +
		"is private, use a public one for clients that you do not manage.",
	When: func(e *evidence) bool { return certified(e) && !e.missesKnown() },
	Fails: func(e *evidence) rule.Failures {
		if e.anchored || e.reason() != pki.UnknownAuthority && e.reason() != pki.Incomplete {
			return nil
		}
		if f := e.distrusted(true); f != nil {
			f[0].Title, f[0].Advice = titleDistrusted, adviceDistrusted
			f[0].Detail = fmt.Sprintf("The chain ends at the issuer %s. %s", nameOf(pki.ParseName(e.top().RawIssuer)),
				f[0].Detail)
			return f
		}
		also := ""
		if e.incomplete() {
			also = "; the server does not send its certificate, so it may also be a missing intermediate certificate"
		}
		return rule.Fail("The chain ends at the issuer %s, which is not a trusted authority%s.",
			nameOf(pki.ParseName(e.top().RawIssuer)), also)
	},
}, {
	Code: "tls.chain.expired", Severity: diag.Critical, Weight: 15, Fact: reach.Untrusted, Differs: whyUntrusted,
	Ref:   "RFC 5280 section 6.1.3",
	Title: "Intermediate certificate has expired", Requirement: "The intermediate certificates have not expired",
	Advice: "Install the current intermediate certificates of the authority.",
	When: func(e *evidence) bool {
		return certified(e) && (len(e.expiredIssuers()) > 0 || len(e.expiredPeers()) == 0)
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.expiredIssuers(), func(c *x509.Certificate) rule.Failures {
			return rule.Fail("The certificate of the authority %s expired on %s.", subject(c),
				c.NotAfter.UTC().Format(time.DateOnly))
		})
	},
}, {
	Code: "tls.chain.expired_extra", Severity: diag.Warning, Weight: 2, Ref: "RFC 8446 section 4.4.2",
	Title:       "Expired certificate is sent along with a valid chain",
	Requirement: "No expired certificate is sent along with a valid chain",
	Advice: "Remove the expired certificate from the chain file, or install the chain that the authority issues today: " +
		"older clients do not look for another path.",
	When:  func(e *evidence) bool { return certified(e) && e.tls.Trusted },
	Fails: (*evidence).sendsStale,
}, {
	Code: "tls.chain.name_constraints", Severity: diag.Critical, Weight: 10, Fact: reach.Untrusted,
	Differs: whyUntrusted, Ref: "RFC 5280 section 4.2.1.10",
	Title:       "Certificate breaks the name constraints of its authority",
	Requirement: "The chain keeps the name constraints of its authorities",
	Advice: "Get a certificate for the name from an authority whose name constraints permit it, or have the authority " +
		"certified again with constraints that do.",
	Fails: func(e *evidence) rule.Failures {
		if !e.misnamed() {
			return nil
		}
		for _, f := range e.faults {
			if f.ID == "constraints.violated" {
				return rule.Fail("The certificate for %s breaks name constraints. %s.", subject(f.Cert), f.Detail)
			}
		}
		return rule.Fail("The chain is not valid: %s.", e.tls.TrustError)
	},
}, {
	Code: "tls.chain.invalid", Severity: diag.Critical, Weight: 10, Fact: reach.Untrusted, Differs: whyUntrusted,
	Ref:   "RFC 5280 section 6.1.4",
	Title: "Certificate chain breaks a rule of its issuers", Requirement: "The chain keeps the rules that its issuers set",
	Advice: "Get a certificate for TLS servers from an authority that may certify its names.",
	When:   func(e *evidence) bool { return certified(e) && len(e.expiredIssuers()) == 0 && !e.misnamed() },
	Fails: func(e *evidence) rule.Failures {
		switch why := e.reason(); {
		case why == pki.BadChain, why == pki.WrongUsage:
			return rule.Fail("The chain is not valid: %s.", e.tls.TrustError)
		case e.anchored && why == pki.UnknownAuthority && len(e.weaklySigned()) == 0:
			return rule.Fail("The chain is not valid: a certificate is not signed with the key of its issuer.")
		}
		return nil
	},
}, {
	Code: "tls.chain.expiring", Severity: diag.Warning, Weight: 2, Ref: "RFC 5280 section 6.1.3",
	Title:       "Intermediate certificate expires before the certificate of the server",
	Requirement: "The intermediate certificates outlive that of the server",
	Advice:      "Install the current intermediate certificates of the authority before then.",
	When:        func(e *evidence) bool { return certified(e) && len(e.verified) > 1 },
	Fails: func(e *evidence) (list rule.Failures) {
		outlives := func(c *x509.Certificate) bool { return !c.NotAfter.Before(e.leaf().NotAfter) }
		for _, path := range e.paths {
			if !slices.ContainsFunc(path, func(c *x509.Certificate) bool { return !outlives(c) }) {
				return nil // by another way
			}
		}
		for _, c := range e.verified[1:] {
			if !outlives(c) {
				list = append(list, rule.Failure{
					Detail: fmt.Sprintf("The certificate of the authority %s expires on %s, and that of the server on %s.",
						subject(c), c.NotAfter.UTC().Format(time.DateOnly), e.leaf().NotAfter.UTC().Format(time.DateOnly)),
					Due: c.NotAfter,
				})
			}
		}
		return list
	},
}, {
	Code: "tls.chain.order", Severity: diag.Warning, Weight: 2, Ref: "RFC 5246 section 7.4.2",
	Title:       "Certificates are sent in the wrong order",
	Requirement: "Each certificate is followed by that of its issuer",
	Advice:      "Put the certificate of the server first, and each issuer after the certificate that it signed.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.disordered(),
			"The server sends %d certificates, and an issuer comes before what it signed; some "+
				"clients refuse that in TLS 1.2 and earlier.", len(e.served))
	},
}, {
	Code: "tls.chain.extra", Severity: diag.Info, Weight: 1, Ref: "RFC 8446 section 4.4.2",
	Title:       "Server sends certificates that do not belong to the chain",
	Requirement: "The server sends no certificates outside the chain",
	Advice:      "Remove them from the chain file: they only make each handshake longer.",
	When: func(e *evidence) bool {
		return certified(e) && (len(e.extra()) > 0 || len(e.expiredPeers()) == len(e.expiredIssuers()))
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.extra(), func(c *x509.Certificate) rule.Failures {
			also := ""
			if e.now.After(c.NotAfter) {
				also = ", and expired on " + c.NotAfter.UTC().Format(time.DateOnly)
			}
			return rule.Fail("The certificate for %s belongs to no path from the certificate of the server%s.", subject(c), also)
		})
	},
}}

// everywhere are the rules of the Baseline Requirements that clients enforce for any issuer: Apple wants
// a purpose (support.apple.com/103769), and Firefox refuses the certificate of an authority.
var everywhere = []string{"eku.missing", "leaf.ca"}

// lint checks the chain against the rules of certificates: the Baseline Requirements where a public authority
// issued it, else to RFC 5280 and what clients enforce. Without a path to a trusted root there is nothing to hold.
func (e *evidence) lint(chain []*x509.Certificate) {
	path, faults := lint.Server(chain, e.verifier(), lint.WebPKI, nil)
	e.linted = len(path) > 0
	nameless := len(chain[0].DNSNames)+len(chain[0].IPAddresses) == 0
	for _, f := range faults {
		switch {
		case !e.linted, len(path) > 1 && f.Cert == path[len(path)-1]: // a root is trusted as it is
		case f.ID == "key.kind" && e.unsupportedKey(): // that clients refuse it is reported already
		case nameless && (f.ID == "san.missing" || f.ID == "cn.foreign"): // that no name matches is reported already
		case !e.public() && strings.HasPrefix(f.Reference, "BR ") && !slices.Contains(everywhere, f.ID):
		default:
			e.faults = append(e.faults, f)
		}
	}
}

func linted(id string, code diag.Code, severity diag.Severity, ref, title, requirement string) rule.Rule[*evidence] {
	r := rule.Rule[*evidence]{Code: code, Severity: severity, Ref: ref, Title: title, Requirement: requirement}
	r.When = func(e *evidence) bool { // what breaks the whole chain is reported as such
		return e.linted && (severity < diag.Error || e.reason() != pki.BadChain && e.reason() != pki.WrongUsage)
	}
	r.Advice = "Have the certificate reissued in the right form: clients differ in what they accept."
	r.Fails = func(e *evidence) rule.Failures {
		return rule.FailEach(e.faults, func(f lint.Fault) rule.Failures {
			if f.ID != id {
				return nil
			}
			whose := "The path"
			if f.Cert != nil {
				whose = subject(f.Cert)
			}
			return rule.Fail("%s: %s.", whose, f.Detail)
		})
	}
	return r
}

// formRules are about the form of the certificates, one for each of package lint that no other rule reports.
var formRules = rule.Rules[*evidence]{
	linted("version.old", "tls.form.version_old", diag.Warning, "Baseline Requirements section 7.1.1",
		"Certificate is not of version 3", "The certificates are of version 3"),
	linted("serial.zero", "tls.form.serial_zero", diag.Warning, "RFC 5280 section 4.1.2.2",
		"Serial number is zero", "The serial numbers are positive"),
	linted("serial.long", "tls.form.serial_long", diag.Warning, "RFC 5280 section 4.1.2.2",
		"Serial number has more than 20 octets", "The serial numbers have at most 20 octets"),
	linted("issuer.empty", "tls.form.issuer_empty", diag.Warning, "RFC 5280 section 4.1.2.4",
		"Name of the issuer is empty", "The issuers have names"),
	linted("subject.empty", "tls.form.subject_empty", diag.Warning, "RFC 5280 section 4.1.2.6",
		"Name of a certificate authority is empty", "The authorities have names"),
	linted("extension.critical", "tls.form.extension_critical", diag.Error, "RFC 5280 section 4.2",
		"Critical extension is unknown to clients", "Clients know every critical extension"),
	linted("aki.missing", "tls.form.aki_missing", diag.Warning, "RFC 5280 section 4.2.1.1",
		"Authority key identifier is missing", "The certificates have authority key identifiers"),
	linted("aki.form", "tls.form.aki_form", diag.Warning, "Baseline Requirements section 7.1.2.11.1",
		"Authority key identifier holds more than a key identifier",
		"The authority key identifiers hold key identifiers only"),
	linted("ski.missing", "tls.form.ski_missing", diag.Warning, "RFC 5280 section 4.2.1.2",
		"Authority has no subject key identifier", "The authorities have subject key identifiers"),
	linted("ca.missing", "tls.form.ca_missing", diag.Error, "RFC 5280 section 4.2.1.9",
		"Issuer is not a certificate authority", "The issuers are certificate authorities"),
	linted("ca.noncritical", "tls.form.ca_noncritical", diag.Warning, "RFC 5280 section 4.2.1.9",
		"Basic constraints of an authority are not critical", "The basic constraints of authorities are critical"),
	linted("ca.usage", "tls.form.ca_usage", diag.Error, "RFC 5280 section 4.2.1.3",
		"Key usage of an authority does not allow signing certificates",
		"The key usage of the authorities allows signing certificates"),
	linted("leaf.ca", "tls.form.leaf_ca", diag.Warning, "Baseline Requirements section 7.1.2.7.8",
		"Server presents the certificate of an authority", "The certificate of the server is not that of an authority"),
	linted("leaf.usage", "tls.form.leaf_usage", diag.Warning, "RFC 5280 section 4.2.1.9",
		"Certificate of the server may sign others", "The certificate of the server may not sign others"),
	linted("eku.missing", "tls.form.eku_missing", diag.Warning, "Baseline Requirements section 7.1.2.7.6",
		"Extended key usage is missing", "The certificate has an extended key usage"),
	linted("eku.any", "tls.form.eku_any", diag.Warning, "Baseline Requirements section 7.1.2.7.10",
		"Certificate allows any usage", "The certificate names its usages"),
	linted("eku.critical", "tls.form.eku_critical", diag.Warning, "Baseline Requirements section 7.1.2.7.6",
		"Extended key usage is critical", "The extended key usage is not critical"),
	linted("eku.server", "tls.form.eku_server", diag.Error, "RFC 5280 section 4.2.1.12",
		"Certificate is not issued for TLS servers", "The path is issued for TLS servers"),
	linted("san.missing", "tls.form.san_missing", diag.Error, "Baseline Requirements section 7.1.2.7.12",
		"Subject alternative names are missing", "The certificate has subject alternative names"),
	linted("san.critical", "tls.form.san_critical", diag.Warning, "Baseline Requirements section 7.1.2.7.12",
		"Subject alternative names are critical although there is a subject",
		"The subject alternative names are not critical although there is a subject"),
	linted("san.noncritical", "tls.form.san_noncritical", diag.Warning, "RFC 5280 section 4.2.1.6",
		"Subject alternative names are not critical without a subject",
		"The subject alternative names are critical where there is no subject"),
	linted("san.name", "tls.form.san_name", diag.Warning, "RFC 5280 section 4.2.1.6",
		"Subject alternative name is malformed", "The subject alternative names are well formed"),
	linted("san.suffix", "tls.form.san_suffix", diag.Error, "Baseline Requirements section 3.2.2.6",
		"Wildcard covers a whole public suffix", "No wildcard covers a public suffix"),
	linted("cn.foreign", "tls.form.cn_foreign", diag.Warning, "Baseline Requirements section 7.1.4.3",
		"Common name is not a subject alternative name", "The common name is one of the subject alternative names"),
	linted("constraints.form", "tls.form.constraints_form", diag.Warning, "RFC 5280 section 4.2.1.10",
		"Name constraints are malformed", "The name constraints can be read"),
	linted("constraints.name", "tls.form.constraints_name", diag.Warning, "RFC 5280 section 4.2.1.10",
		"Name constraint is malformed", "The name constraints hold valid names"),
	linted("constraints.noncritical", "tls.form.constraints_noncritical", diag.Warning, "RFC 5280 section 4.2.1.10",
		"Name constraints are not critical", "The name constraints are critical"),
	linted("constraints.leaf", "tls.form.constraints_leaf", diag.Warning, "RFC 5280 section 4.2.1.10",
		"Certificate of the server has name constraints", "The certificate of the server has no name constraints"),
	linted("constraints.many", "tls.form.constraints_many", diag.Warning, "RFC 5280 section 4.2.1.10",
		"More names and name constraints than clients compare",
		"There are no more names and constraints than clients compare"),
	linted("constraints.violated", "tls.form.constraints_violated", diag.Error, "RFC 5280 section 4.2.1.10",
		"Certificate has a name that its authority may not certify", "The authorities may certify the names"),
	linted("path.length", "tls.form.path_length", diag.Error, "RFC 5280 section 4.2.1.9",
		"More intermediate certificates than an authority allows", "The path is no longer than its authorities allow"),
	linted("policy.noncritical", "tls.form.policy_noncritical", diag.Warning, "RFC 5280 section 4.2.1.11",
		"Policy constraints are not critical", "The policy constraints are critical"),
	linted("aia.form", "tls.form.aia_form", diag.Warning, "RFC 5280 section 4.2.2.1",
		"Authority information access is malformed", "The authority information access can be read"),
	linted("key.odd", "tls.form.key_odd", diag.Warning, "Baseline Requirements section 6.1.5",
		"Size of an RSA key is not divisible by 8", "The sizes of RSA keys are divisible by 8"),
	linted("key.curve", "tls.form.key_curve", diag.Warning, "Baseline Requirements section 6.1.5",
		"Key is on a curve that public authorities must not use", "The keys are on P-256, P-384 or P-521"),
	linted("key.kind", "tls.form.key_kind", diag.Warning, "Baseline Requirements section 6.1.5",
		"Kind of key that public authorities must not use", "The keys are RSA or ECDSA keys"),
}
