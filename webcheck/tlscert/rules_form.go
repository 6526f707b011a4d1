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
func linted(id string, r diag.Rule[*evidence]) diag.Rule[*evidence] {
	r.When = func(e *evidence) bool { // what breaks the whole chain is told as such
		return e.linted && (r.Severity < diag.Error || e.reason() != pki.BadChain && e.reason() != pki.WrongUsage)
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
	linted("version.old", diag.Rule[*evidence]{
		Code: "tls.form.version_old", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.1",
		Title: "Certificate is not of version 3", Requirement: "The certificates are of version 3",
	}),
	linted("serial.zero", diag.Rule[*evidence]{
		Code: "tls.form.serial_zero", Severity: diag.Warning, Ref: "RFC 5280 section 4.1.2.2",
		Title: "Serial number is zero", Requirement: "The serial numbers are positive",
	}),
	linted("serial.long", diag.Rule[*evidence]{
		Code: "tls.form.serial_long", Severity: diag.Warning, Ref: "RFC 5280 section 4.1.2.2",
		Title: "Serial number has more than 20 octets", Requirement: "The serial numbers have at most 20 octets",
	}),
	linted("issuer.empty", diag.Rule[*evidence]{
		Code: "tls.form.issuer_empty", Severity: diag.Warning, Ref: "RFC 5280 section 4.1.2.4",
		Title: "Name of the issuer is empty", Requirement: "The issuers have names",
	}),
	linted("subject.empty", diag.Rule[*evidence]{
		Code: "tls.form.subject_empty", Severity: diag.Warning, Ref: "RFC 5280 section 4.1.2.6",
		Title: "Name of a certificate authority is empty", Requirement: "The authorities have names",
	}),
	linted("extension.critical", diag.Rule[*evidence]{
		Code: "tls.form.extension_critical", Severity: diag.Error, Ref: "RFC 5280 section 4.2",
		Title: "Critical extension is unknown to clients", Requirement: "Clients know every critical extension",
	}),
	linted("aki.missing", diag.Rule[*evidence]{
		Code: "tls.form.aki_missing", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.1",
		Title: "Authority key identifier is missing", Requirement: "The certificates have authority key identifiers",
	}),
	linted("aki.form", diag.Rule[*evidence]{
		Code: "tls.form.aki_form", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.2.11.1",
		Title:       "Authority key identifier holds more than a key identifier",
		Requirement: "The authority key identifiers hold key identifiers only",
	}),
	linted("ski.missing", diag.Rule[*evidence]{
		Code: "tls.form.ski_missing", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.2",
		Title: "Authority has no subject key identifier", Requirement: "The authorities have subject key identifiers",
	}),
	linted("ca.missing", diag.Rule[*evidence]{
		Code: "tls.form.ca_missing", Severity: diag.Error, Ref: "RFC 5280 section 4.2.1.9",
		Title: "Issuer is not a certificate authority", Requirement: "The issuers are certificate authorities",
	}),
	linted("ca.noncritical", diag.Rule[*evidence]{
		Code: "tls.form.ca_noncritical", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.9",
		Title:       "Basic constraints of an authority are not critical",
		Requirement: "The basic constraints of authorities are critical",
	}),
	linted("ca.usage", diag.Rule[*evidence]{
		Code: "tls.form.ca_usage", Severity: diag.Error, Ref: "RFC 5280 section 4.2.1.3",
		Title:       "Key usage of an authority does not allow signing certificates",
		Requirement: "The key usage of the authorities allows signing certificates",
	}),
	linted("leaf.ca", diag.Rule[*evidence]{
		Code: "tls.form.leaf_ca", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.2.7.8",
		Title:       "Server presents the certificate of an authority",
		Requirement: "The certificate of the server is not that of an authority",
	}),
	linted("leaf.usage", diag.Rule[*evidence]{
		Code: "tls.form.leaf_usage", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.9",
		Title:       "Certificate of the server may sign others",
		Requirement: "The certificate of the server may not sign others",
	}),
	linted("eku.missing", diag.Rule[*evidence]{
		Code: "tls.form.eku_missing", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.2.7.6",
		Title: "Extended key usage is missing", Requirement: "The certificate has an extended key usage",
	}),
	linted("eku.any", diag.Rule[*evidence]{
		Code: "tls.form.eku_any", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.2.7.10",
		Title: "Certificate allows any usage", Requirement: "The certificate names its usages",
	}),
	linted("eku.critical", diag.Rule[*evidence]{
		Code: "tls.form.eku_critical", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.2.7.6",
		Title: "Extended key usage is critical", Requirement: "The extended key usage is not critical",
	}),
	linted("eku.server", diag.Rule[*evidence]{
		Code: "tls.form.eku_server", Severity: diag.Error, Ref: "RFC 5280 section 4.2.1.12",
		Title: "Certificate is not issued for TLS servers", Requirement: "The path is issued for TLS servers",
	}),
	linted("san.missing", diag.Rule[*evidence]{
		Code: "tls.form.san_missing", Severity: diag.Error, Ref: "Baseline Requirements section 7.1.2.7.12",
		Title: "Subject alternative names are missing", Requirement: "The certificate has subject alternative names",
	}),
	linted("san.critical", diag.Rule[*evidence]{
		Code: "tls.form.san_critical", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.2.7.12",
		Title:       "Subject alternative names are critical beside a subject",
		Requirement: "The subject alternative names are not critical beside a subject",
	}),
	linted("san.noncritical", diag.Rule[*evidence]{
		Code: "tls.form.san_noncritical", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.6",
		Title:       "Subject alternative names are not critical without a subject",
		Requirement: "The subject alternative names are critical where there is no subject",
	}),
	linted("san.name", diag.Rule[*evidence]{
		Code: "tls.form.san_name", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.6",
		Title: "Subject alternative name is malformed", Requirement: "The subject alternative names are well formed",
	}),
	linted("san.suffix", diag.Rule[*evidence]{
		Code: "tls.form.san_suffix", Severity: diag.Error, Ref: "Baseline Requirements section 3.2.2.6",
		Title: "Wildcard covers a whole public suffix", Requirement: "No wildcard covers a public suffix",
	}),
	linted("cn.foreign", diag.Rule[*evidence]{
		Code: "tls.form.cn_foreign", Severity: diag.Warning, Ref: "Baseline Requirements section 7.1.4.3",
		Title:       "Common name is not a subject alternative name",
		Requirement: "The common name is one of the subject alternative names",
	}),
	linted("constraints.form", diag.Rule[*evidence]{
		Code: "tls.form.constraints_form", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.10",
		Title: "Name constraints are malformed", Requirement: "The name constraints can be read",
	}),
	linted("constraints.name", diag.Rule[*evidence]{
		Code: "tls.form.constraints_name", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.10",
		Title: "Name constraint is malformed", Requirement: "The name constraints hold valid names",
	}),
	linted("constraints.noncritical", diag.Rule[*evidence]{
		Code: "tls.form.constraints_noncritical", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.10",
		Title: "Name constraints are not critical", Requirement: "The name constraints are critical",
	}),
	linted("constraints.leaf", diag.Rule[*evidence]{
		Code: "tls.form.constraints_leaf", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.10",
		Title:       "Certificate of the server has name constraints",
		Requirement: "The certificate of the server has no name constraints",
	}),
	linted("constraints.many", diag.Rule[*evidence]{
		Code: "tls.form.constraints_many", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.10",
		Title:       "More names and name constraints than clients compare",
		Requirement: "There are no more names and constraints than clients compare",
	}),
	linted("constraints.violated", diag.Rule[*evidence]{
		Code: "tls.form.constraints_violated", Severity: diag.Error, Ref: "RFC 5280 section 4.2.1.10",
		Title:       "Certificate has a name that its authority may not certify",
		Requirement: "The authorities may certify the names",
	}),
	linted("path.length", diag.Rule[*evidence]{
		Code: "tls.form.path_length", Severity: diag.Error, Ref: "RFC 5280 section 4.2.1.9",
		Title:       "More intermediate certificates than an authority allows",
		Requirement: "The path is no longer than its authorities allow",
	}),
	linted("policy.noncritical", diag.Rule[*evidence]{
		Code: "tls.form.policy_noncritical", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.1.11",
		Title: "Policy constraints are not critical", Requirement: "The policy constraints are critical",
	}),
	linted("aia.form", diag.Rule[*evidence]{
		Code: "tls.form.aia_form", Severity: diag.Warning, Ref: "RFC 5280 section 4.2.2.1",
		Title: "Authority information access is malformed", Requirement: "The authority information access can be read",
	}),
	linted("key.odd", diag.Rule[*evidence]{
		Code: "tls.form.key_odd", Severity: diag.Warning, Ref: "Baseline Requirements section 6.1.5",
		Title: "Size of an RSA key is not divisible by 8", Requirement: "The sizes of RSA keys are divisible by 8",
	}),
	linted("key.curve", diag.Rule[*evidence]{
		Code: "tls.form.key_curve", Severity: diag.Warning, Ref: "Baseline Requirements section 6.1.5",
		Title:       "Key is on a curve that public authorities must not use",
		Requirement: "The keys are on P-256, P-384 or P-521",
	}),
	linted("key.kind", diag.Rule[*evidence]{
		Code: "tls.form.key_kind", Severity: diag.Warning, Ref: "Baseline Requirements section 6.1.5",
		Title: "Kind of key that public authorities must not use", Requirement: "The keys are RSA or ECDSA keys",
	}),
}
