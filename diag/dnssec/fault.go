package dnssec

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
)

// A ChainFault is why an answer is not secure: the first link of the chain that does not hold.
type ChainFault struct {
	Zone    string    `json:"zone" doc:"zone in which the fault lies" example:"example.com"`
	Code    diag.Code `json:"code" doc:"permanent name of the rule that is not fulfilled" example:"dnssec.signature.expired"`
	Message string    `json:"message" doc:"what is wrong, in one sentence"`
}

func (f *ChainFault) Error() string { return f.Zone + ": " + f.Message }

func fault(zone name, code diag.Code, format string, args ...any) *ChainFault {
	return &ChainFault{zone.String(), code, fmt.Sprintf(format, args...)}
}

// The codes of failures, each of which is a rule.
const (
	codeAnchorNone        diag.Code = "dnssec.anchor.none"
	codeAnchorMismatch    diag.Code = "dnssec.anchor.mismatch"
	codeStripped          diag.Code = "dnssec.resolver.strips"
	codeDiffers           diag.Code = "dnssec.resolver.differs"
	codeDSUnavailable     diag.Code = "dnssec.ds.unavailable"
	codeDSMismatch        diag.Code = "dnssec.ds.mismatch"
	codeDSRevoked         diag.Code = "dnssec.ds.revoked"
	codeDSUnsupported     diag.Code = "dnssec.ds.unsupported"
	codeDSWildcard        diag.Code = "dnssec.ds.wildcard"
	codeDSMissing         diag.Code = "dnssec.ds.missing"
	codeKeysMissing       diag.Code = "dnssec.dnskey.missing"
	codeKeysUnavailable   diag.Code = "dnssec.dnskey.unavailable"
	codeKeysSigner        diag.Code = "dnssec.dnskey.signer"
	codeKeyUnusable       diag.Code = "dnssec.dnskey.unusable"
	codeSigMissing        diag.Code = "dnssec.signature.missing"
	codeSigExpired        diag.Code = "dnssec.signature.expired"
	codeSigEarly          diag.Code = "dnssec.signature.early"
	codeSigPeriod         diag.Code = "dnssec.signature.period"
	codeSigInvalid        diag.Code = "dnssec.signature.invalid"
	codeSigKey            diag.Code = "dnssec.signature.key_missing"
	codeSigSigner         diag.Code = "dnssec.signature.signer"
	codeSigLabels         diag.Code = "dnssec.signature.labels"
	codeSigUnsupported    diag.Code = "dnssec.signature.unsupported"
	codeDenialMissing     diag.Code = "dnssec.denial.missing"
	codeDenialIncomplete  diag.Code = "dnssec.denial.incomplete"
	codeDenialContradict  diag.Code = "dnssec.denial.contradicted"
	codeDenialIterations  diag.Code = "dnssec.denial.iterations"
	codeWildcard          diag.Code = "dnssec.wildcard.unproven"
	codeDelegation        diag.Code = "dnssec.delegation.unproven"
	codeOptOut            diag.Code = "dnssec.denial.optout"
	codeAnswerUnavailable diag.Code = "dnssec.answer.unavailable"
	codeAnswerUnsignable  diag.Code = "dnssec.answer.unsignable"
	codeAnswerContradict  diag.Code = "dnssec.answer.contradictory"
	codeAliasLoop         diag.Code = "dnssec.alias.loop"
	codeAliasLong         diag.Code = "dnssec.alias.long"
	codeDNAME             diag.Code = "dnssec.dname.mismatch"
	codeWork              diag.Code = "dnssec.work.exceeded"
	codeExempted          diag.Code = "dnssec.zone.exempted"
)

// A statusCause is a status with the reason for it, which is nil for what is secure.
type statusCause struct {
	status diag.DNSSECStatus
	why    *ChainFault
}

var secure = statusCause{diag.Secure, nil}

func insecure(why *ChainFault) statusCause      { return statusCause{diag.Insecure, why} }
func bogus(why *ChainFault) statusCause         { return statusCause{diag.Bogus, why} }
func indeterminate(why *ChainFault) statusCause { return statusCause{diag.Indeterminate, why} }

// gravity orders the statuses: a chain of aliases is worth what its worst part is.
var gravity = map[diag.DNSSECStatus]int{diag.Secure: 0, diag.Insecure: 1, diag.Indeterminate: 2, diag.Bogus: 3}

// worse returns the graver of two, the first if they are alike.
func worse(a, b statusCause) statusCause {
	if gravity[b.status] > gravity[a.status] {
		return b
	}
	return a
}
