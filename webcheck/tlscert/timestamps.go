package tlscert

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/crypto/ocsp"
)

// LogsFile is the list of logs of an operator, see [diag.List] and [pki.ParseLogs]: that of a browser. None are built
// in, for logs come and go every few months.
const LogsFile = "ct-logs.json"

// logList is a type of its own, since mark certificates have other built-in logs beside the same file.
type logList []pki.Log

// logs returns the logs of an environment. The error names the file that could not be read.
func logs(env *diag.Env) (logList, error) {
	return diag.List(env, LogsFile, func() logList { return nil }, func(data []byte) (logList, error) {
		return pki.ParseLogs(data)
	})
}

// CheckLogs says what is wrong with a file of logs.
func CheckLogs(data []byte) error {
	_, err := pki.ParseLogs(data)
	return err
}

// readSCTs reads the timestamps, and verifies those of known logs. Of those that came in the handshake it is only
// known how many there are.
func (e *evidence) readSCTs() {
	e.scts = []SCT{}
	list, err := pki.SCTs(e.leaf())
	e.sctFault = err != nil
	for _, s := range list {
		one := SCT{Source: sctEmbedded}
		if s.Version == 0 {
			one.LogID, one.Timestamp = base64.StdEncoding.EncodeToString(s.LogID[:]), s.Timestamp
		}
		if i := slices.IndexFunc(e.logs, func(l pki.Log) bool { return l.ID == s.LogID }); i >= 0 {
			one.Log, one.Operator = e.logs[i].Description, e.logs[i].Operator
			if issuer := e.issuer(); issuer != nil {
				one.Verified = new(s.Verify(e.leaf(), issuer, e.logs[i].Key) == nil)
			}
		}
		e.scts = append(e.scts, one)
	}
	for range min(e.handshakeSCTs, pki.MaxSCTs) {
		e.scts = append(e.scts, SCT{Source: sctHandshake})
	}
	if e.response != nil && slices.ContainsFunc(e.response.Extensions, func(x pkix.Extension) bool { return x.Id.Equal(sctList) }) {
		e.scts = append(e.scts, SCT{Source: sctStapled})
	}
}

// wantedSCTs is how many timestamps browsers ask for: two up to 180 days of validity, three above (Chrome Certificate
// Transparency Policy; Apple asks for the same).
func (e *evidence) wantedSCTs() int {
	const long = 180 * day
	if e.leaf().NotAfter.Sub(e.leaf().NotBefore) > long {
		return 3
	}
	return 2
}

// readStaple reads the stapled response, and checks that it is for the certificate and signed in the name of its issuer.
func (e *evidence) readStaple() {
	if len(e.staple) == 0 {
		return
	}
	r, err := ocsp.ParseResponseForCert(e.staple, e.leaf(), nil)
	refusal, refused := errors.AsType[ocsp.ResponseError](err)
	switch issuer := e.issuer(); {
	case refused:
		e.ocspErr = fmt.Errorf("the responder answered %q", refusal.Status)
	case err != nil:
		e.ocspErr = errors.New("it cannot be read, or is not for this certificate")
	case issuer == nil: // nobody knows what it is worth
	case !authorized(r, issuer):
		e.ocspErr = errors.New("neither the issuer nor a responder of the issuer signed it")
	default:
		e.response = r
	}
}

// authorized reports whether a response is signed by the issuer itself, whether its certificate is embedded or not, or
// by one to whom the issuer delegated that (RFC 6960 section 4.2.2.2).
func authorized(r *ocsp.Response, issuer *x509.Certificate) bool {
	by := r.Certificate // by which it is known to be signed
	switch {
	case by == nil:
		return r.CheckSignatureFrom(issuer) == nil
	case bytes.Equal(by.RawSubjectPublicKeyInfo, issuer.RawSubjectPublicKeyInfo):
		return true
	default:
		return slices.Contains(by.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) &&
			issuer.CheckSignature(by.SignatureAlgorithm, by.RawTBSCertificate, by.Signature) == nil
	}
}
