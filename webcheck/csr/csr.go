package csr

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

// A Request asks for the examination of a signing request.
type Request struct {
	CSR string `json:"csr" minlen:"1" maxbytes:"65536" doc:"the signing request in PEM form, or its DER form in Base64" example:"-----BEGIN CERTIFICATE REQUEST-----\nMIIBLzCB1QIBADA5MQswCQYDVQQGEwJHQjEUMBIGA1UECgwLRXhhbXBsZSBMdGQx\nFDASBgNVBAMMC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\nERUeRhygE8N2mbKQ6AiY1M26rBWMJgxLjhQvWIWY2tQoSyQY29TrdbaUE+ONCv/7\nKe78r02Fwqv/4rh4TOrXnKA6MDgGCSqGSIb3DQEJDjErMCkwJwYDVR0RBCAwHoIL\nZXhhbXBsZS5jb22CD3d3dy5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNJADBGAiEA\n990aDV0N0HZP1eMq/VdsvjkZ/dysNm5aHLgDLKLGK2YCIQCC0SALX7zTwY5ptgy2\n2Twy/uS9KhjR6Ql9BPP2kfpsxQ==\n-----END CERTIFICATE REQUEST-----\n"`
}

// An Outcome summarizes the verdict: compliant, warning, non_compliant or invalid.
type Outcome string

const (
	Compliant    Outcome = "compliant"
	Warned       Outcome = "warning"
	NonCompliant Outcome = "non_compliant"
	Invalid      Outcome = "invalid"
)

// Values lists the outcomes.
func (Outcome) Values() []string { return kit.Values(Compliant, Warned, NonCompliant, Invalid) }

// A Report describes a signing request, and whether a public authority would accept it. What cannot be read
// is absent.
type Report struct {
	Valid   bool    `json:"valid" doc:"whether there is a request, and nothing worse than a warning was found"`
	Outcome Outcome `json:"verdict" doc:"compliant: nothing is wrong; warning: usable; non_compliant: public authorities refuse it; invalid: there is no request that can be read"`
	diag.Text
	Subject    pki.Name      `json:"subject,omitzero" doc:"who the request says that it is from"`
	SAN        pki.SAN       `json:"san,omitzero" doc:"names of the extension subjectAltName, as written; at most 1000 of each type"`
	Names      []Name        `json:"names" maxitems:"1000" doc:"each name, judged; without a subjectAltName the common name"`
	PublicKey  pki.PublicKey `json:"public_key,omitzero" doc:"the public key"`
	SPKISHA256 string        `json:"spki_sha256,omitempty" doc:"SHA-256 of the SubjectPublicKeyInfo, in hex"`
	SPKIPin    string        `json:"spki_pin_base64,omitempty" doc:"the same in Base64, as pins have it"`
	WeakKey    WeakKey       `json:"weak_key,omitzero" doc:"what is known about weaknesses of the key"`
	Signature  Signature     `json:"signature,omitzero" doc:"the signature of the request"`
	Extensions Extensions    `json:"requested_extensions,omitzero" doc:"extensions that are asked for, beside the names"`
	Challenge  bool          `json:"challenge_password_present" doc:"whether there is a challenge password, which is not shown"`
	Compliance []Compliance  `json:"compliance" doc:"each requirement that applies, in the order of the rules"`
	CleanPEM   string        `json:"clean_pem,omitempty" doc:"the request as it should be handed in, where the text differs from it"`

	Recommendations []diag.Recommendation `json:"recommendations" doc:"what to do, the most urgent first; suggested values are commands"`
	Findings        []diag.Finding        `json:"findings" doc:"what is wrong or remarkable, the worst first"`

	verdict diag.Verdict
}

// A WeakKey lists the checks of the key for weaknesses.
type WeakKey struct {
	Weak   bool           `json:"weak" doc:"whether one was found"`
	Checks []pki.KeyCheck `json:"checks" doc:"each weakness"`
}

// A Signature describes the signature of the request.
type Signature struct {
	Algorithm string `json:"algorithm" doc:"how it is signed" example:"ECDSA-SHA256"`
	Valid     *bool  `json:"valid,omitempty" doc:"whether it is that of the key in the request; absent if it cannot be checked"`
	Weak      bool   `json:"weak" doc:"whether such signatures can be forged"`
}

// Extensions are the extensions that the request asks for.
type Extensions struct {
	KeyUsage    []string         `json:"key_usage" doc:"what the key is to be used for" example:"[\"digitalSignature\"]"`
	ExtKeyUsage []string         `json:"ext_key_usage" doc:"purposes; unknown ones as OID" example:"[\"serverAuth\"]"`
	Constraints BasicConstraints `json:"basic_constraints,omitzero" doc:"whether it is to be the certificate of an authority"`
	MustStaple  bool             `json:"must_staple" doc:"whether servers must staple its status (RFC 7633)"`
	Others      []string         `json:"others" doc:"further extensions; unknown ones as OID"`
}

// A ComplianceStatus is the result for a requirement: pass, warning or fail.
type ComplianceStatus string

const (
	CompliancePass    ComplianceStatus = "pass"
	ComplianceWarning ComplianceStatus = "warning"
	ComplianceFail    ComplianceStatus = "fail"
)

// Values lists the statuses.
func (ComplianceStatus) Values() []string {
	return kit.Values(CompliancePass, ComplianceWarning, ComplianceFail)
}

// A Compliance is one requirement on the request.
type Compliance struct {
	Code      diag.Code        `json:"code" doc:"permanent name of the rule"`
	Rule      string           `json:"rule" doc:"the requirement"`
	Status    ComplianceStatus `json:"status" doc:"how far it is fulfilled"`
	Detail    string           `json:"detail" doc:"what was seen instead, or worth knowing; empty if there is nothing to say"`
	Reference string           `json:"reference" doc:"where the requirement is written"`
}

// Rules describes what is examined.
func (*Report) Rules() []rule.Description { return rules().Describe() }

// Judgement returns the report as a verdict without a score.
func (r *Report) Judgement() diag.Verdict { return r.verdict }

// Parse judges the text of a signing request, with the lists of compromised keys of the environment. It uses
// no network. The error is a *[diag.InputError], or that of a list that cannot be read.
func Parse(_ context.Context, env *diag.Env, req Request) (*Report, error) {
	switch {
	case req.CSR == "":
		return nil, input.Invalid("csr", "is empty")
	case len(req.CSR) > maxBytes:
		return nil, input.Invalid("csr", "has more than %d bytes", maxBytes)
	}
	known, closer, err := knownKeys(env)
	if err != nil {
		return nil, err
	}
	defer closer()
	e := &evidence{}
	if err := e.digest(req.CSR, known); err != nil {
		return nil, err
	}
	return e.report(), nil
}

func (e *evidence) report() *Report {
	v := rules().Judge(e, e.texts())
	for i, r := range v.Recommendations {
		if r.SuggestedValue == "" {
			v.Recommendations[i].Detail = commandless.Replace(r.Detail)
		}
	}
	r := &Report{
		Text: v.Text(), Names: []Name{}, Compliance: []Compliance{}, Recommendations: v.Recommendations, Findings: v.Findings,
		verdict: v,
	}
	r.Valid = e.csr != nil && (v.State == diag.Valid || v.State == diag.Warned)
	switch {
	case e.csr == nil:
		r.Outcome = Invalid
		return r
	case v.State == diag.Valid:
		r.Outcome = Compliant
	case v.State == diag.Warned:
		r.Outcome = Warned
	default:
		r.Outcome = NonCompliant
	}
	c := e.csr
	sum := sha256.Sum256(c.Key.SPKI)
	r.Subject, r.SAN, r.PublicKey, r.Challenge = c.Subject, c.san(), e.key, c.Challenge
	r.CleanPEM = e.clean
	r.Names = append(r.Names, e.names...)
	r.SPKISHA256, r.SPKIPin = hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:])
	r.WeakKey = WeakKey{e.key.Weak, e.ordered}
	r.Signature = Signature{Algorithm: c.Algorithm.Name, Weak: c.Algorithm.Weak}
	if e.validity != pki.Unchecked {
		r.Signature.Valid = new(e.validity == pki.GoodMatch)
	}
	r.Extensions = Extensions{
		KeyUsage: append([]string{}, c.KeyUsage...), ExtKeyUsage: append([]string{}, c.ExtKeyUsage...),
		Constraints: kit.OrZero(c.Constraints), MustStaple: c.MustStaple, Others: c.others(),
	}
	r.Compliance = append(r.Compliance, compliance(v)...)
	return r
}

func (c *contents) san() pki.SAN {
	san := pki.SAN{DNS: []string{}, IP: []netip.Addr{}, Email: []string{}, URI: []string{}}
	add := func(list *[]string, s string) {
		if len(*list) < pki.MaxNames {
			*list = append(*list, text(s))
		}
	}
	for _, n := range c.Names {
		switch n.Type {
		case DNSName:
			add(&san.DNS, n.Value)
		case EmailName:
			add(&san.Email, n.Value)
		case URIName:
			add(&san.URI, n.Value)
		case IPName:
			if n.IP.IsValid() && len(san.IP) < pki.MaxNames {
				san.IP = append(san.IP, n.IP)
			}
		}
	}
	return san
}

func compliance(v diag.Verdict) (list []Compliance) {
	fulfilled := v.Fulfilled()
	for _, r := range authorityRules() {
		c := Compliance{Code: r.Code, Rule: r.Requirement, Status: CompliancePass, Reference: r.Ref}
		i := slices.IndexFunc(v.Findings, func(f diag.Finding) bool { return f.Code == r.Code })
		switch {
		case i < 0 && !slices.Contains(fulfilled, r.Code):
			continue
		case i < 0:
		case r.Severity >= diag.Error:
			c.Status, c.Detail = ComplianceFail, v.Findings[i].Detail
		case r.Severity == diag.Warning:
			c.Status, c.Detail = ComplianceWarning, v.Findings[i].Detail
		default:
			c.Detail = v.Findings[i].Detail
		}
		list = append(list, c)
	}
	return list
}
