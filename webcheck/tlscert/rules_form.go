package tlscert

import (
	"crypto/x509"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/pki/lint"
)

// everywhere are the rules of the Baseline Requirements that clients enforce whoever issued the certificate: Apple wants
// a purpose (support.apple.com/103769), and Firefox refuses the certificate of an authority.
var everywhere = []string{"eku.missing", "leaf.ca"}

// lint holds the chain to the rules of certificates: to the Baseline Requirements where a public authority issued it,
// else to RFC 5280 and what clients enforce. Without a path to a trusted root there is nothing to hold.
func (e *evidence) lint(chain []*x509.Certificate) {
	path, faults := lint.Server(chain, e.verifier(), lint.WebPKI, nil)
	e.linted = len(path) > 0
	nameless := len(chain[0].DNSNames)+len(chain[0].IPAddresses) == 0
	for _, f := range faults {
		switch {
		case !e.linted, len(path) > 1 && f.Cert == path[len(path)-1]: // a root is trusted as it is
		case nameless && (f.ID == "san.missing" || f.ID == "cn.foreign"): // that no name matches is told already
		case !e.public() && strings.HasPrefix(f.Reference, "BR ") && !slices.Contains(everywhere, f.ID):
		default:
			e.faults = append(e.faults, f)
		}
	}
}

// linted makes a rule of one of package lint.
func linted(id string, code diag.Code, severity diag.Severity, ref, title, requirement string) rule {
	r := rule{Code: code, Severity: severity, Ref: ref, Title: title, Requirement: requirement}
	r.When = func(e *evidence) bool { // what breaks the whole chain is told as such
		return e.linted && (severity < diag.Error || e.reason() != pki.BadChain && e.reason() != pki.WrongUsage)
	}
	r.Advice = "Have the certificate reissued in the right form: clients differ in what they accept."
	r.Fails = func(e *evidence) diag.Failures {
		return diag.FailEach(e.faults, func(f lint.Fault) diag.Failures {
			if f.ID != id {
				return nil
			}
			whose := "The path"
			if f.Cert != nil {
				whose = subject(f.Cert)
			}
			return diag.Fail("%s: %s.", whose, f.Detail)
		})
	}
	return r
}

// formRules are about the form of the certificates, one for each of package lint that no other rule tells.
var formRules = diag.Rules[*evidence]{
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
		"Authority key identifier holds more than a key identifier", "The authority key identifiers hold key identifiers only"),
	linted("ski.missing", "tls.form.ski_missing", diag.Warning, "RFC 5280 section 4.2.1.2",
		"Authority has no subject key identifier", "The authorities have subject key identifiers"),
	linted("ca.missing", "tls.form.ca_missing", diag.Error, "RFC 5280 section 4.2.1.9",
		"Issuer is not a certificate authority", "The issuers are certificate authorities"),
	linted("ca.noncritical", "tls.form.ca_noncritical", diag.Warning, "RFC 5280 section 4.2.1.9",
		"Basic constraints of an authority are not critical", "The basic constraints of authorities are critical"),
	linted("ca.usage", "tls.form.ca_usage", diag.Error, "RFC 5280 section 4.2.1.3",
		"Key usage of an authority does not allow signing certificates", "The key usage of the authorities allows signing certificates"),
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
		"Subject alternative names are critical beside a subject", "The subject alternative names are not critical beside a subject"),
	linted("san.noncritical", "tls.form.san_noncritical", diag.Warning, "RFC 5280 section 4.2.1.6",
		"Subject alternative names are not critical without a subject", "The subject alternative names are critical where there is no subject"),
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
		"More names and name constraints than clients compare", "There are no more names and constraints than clients compare"),
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
