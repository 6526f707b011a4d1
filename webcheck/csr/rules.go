package csr

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

const (
	br    = "Baseline Requirements section "
	pkcs  = "RFC 2986 section "
	armor = "RFC 7468 section "
)

// rules is the table of all rules: those of the text first, then those that public authorities have.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(textRules, authorityRules())
})

var authorityRules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(structureRules.With(rule.Rule[*evidence]{When: readable}), keyRules, weaknessRules,
		signatureRules, nameRules.With(rule.Rule[*evidence]{When: named}),
		subjectRules, extensionRules.With(rule.Rule[*evidence]{When: readable}))
})

// readable reports whether there is a request that can be read.
func readable(e *evidence) bool { return e.csr != nil }

// judged reports whether the kind of text matters: a private key without a request is reported alone.
func judged(e *evidence) bool { return e.csr != nil || e.paste.Secret == "" }

// regenerate is the advice where the request itself has to be made anew.
const regenerate = "Make a new request with the same key, as the suggested command does."

var textRules = rule.Rules[*evidence]{{
	Code: "csr.private_key.present", Severity: diag.Critical, Ref: br + "4.9.1.1",
	Title: "Private key in the text", Requirement: "The text holds no private key",
	Advice: "Treat the private key as compromised: generate a new one, have certificates for the old one revoked, and " +
		"paste the signing request alone. This key is not repeated, logged or stored.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.paste.Secret != "", "The text holds %s. A private key must never leave the server that uses it.",
			secrets[e.paste.Secret])
	},
}, {
	Code: "csr.type.other", Severity: diag.Critical, Ref: armor + "7",
	Title: "Not a certificate signing request", Requirement: "The text is a certificate signing request",
	Advice: "Paste the file that begins with -----BEGIN CERTIFICATE REQUEST-----.", When: judged,
	Fails: otherType,
}, {
	Code: "csr.pem.missing", Severity: diag.Critical, DependsOn: []diag.Code{"csr.type.other"}, Ref: armor + "7",
	Title: "No signing request in the text", Requirement: "The text has a signing request in PEM form or in Base64",
	Advice: "Paste all of the file, from -----BEGIN CERTIFICATE REQUEST----- to -----END CERTIFICATE REQUEST-----.",
	When:   judged,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.block == nil,
			"The text has no PEM block, and is not the Base64 encoding of a signing request either.")
	},
}, {
	Code: "csr.pem.malformed", Severity: diag.Critical, DependsOn: []diag.Code{"csr.pem.missing"}, Ref: armor + "3",
	Title: "PEM text cannot be decoded", Requirement: "The PEM text can be decoded",
	Advice: "Copy the file again, whole and unchanged: a character that is not Base64, or one missing, " +
		"makes all of it unreadable.",
	When: judged,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.block.Fault != "", "%s", e.block.Fault)
	},
}, {
	Code: "csr.der.malformed", Severity: diag.Critical, DependsOn: []diag.Code{"csr.pem.malformed"},
	Ref:   pkcs + "4.2",
	Title: "Signing request cannot be read", Requirement: "The decoded text is a request in the form of PKCS #10",
	Advice: "Copy the file again, whole and unchanged. If that does not help, make a new request.", When: judged,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.damage != "", "%s", e.damage)
	},
}, {
	Code: "csr.pem.several", Severity: diag.Info, Ref: armor + "2",
	Title: "More than one PEM block in the text", Requirement: "The text has one block only",
	Advice: "Check that the first request is the one you mean: the others were not examined.", When: readable,
	Fails: func(e *evidence) rule.Failures {
		requests := fmt.Sprintf("%d are requests", e.count)
		if e.count == 1 {
			requests = "1 is a request"
		}
		return rule.FailIf(len(e.paste.Blocks) > 1,
			"The text has %s, of which %s: multiple PEM blocks. Only the first request is judged.",
			phrase.Count(len(e.paste.Blocks), "block"), requests)
	},
}, {
	Code: "csr.pem.label", Severity: diag.Warning, Ref: armor + "7",
	Title: "PEM label is not that of a signing request", Requirement: "The PEM label is CERTIFICATE REQUEST",
	Advice: "Write CERTIFICATE REQUEST in the lines BEGIN and END.", When: readable,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.block.Label != "" && !slices.Contains(pemLabels, e.block.Label),
			"The block is labeled %s, and its content is a signing request.", phrase.Quote(e.block.Label))
	},
}, {
	Code: "csr.pem.form", Severity: diag.Info, Ref: armor + "3",
	Title: "Text is not a PEM file", Requirement: "The text is a PEM file",
	Advice: "Submit the clean copy in clean_pem, or the file itself as the program wrote it.",
	When:   func(e *evidence) bool { return e.usable },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.damages) > 0,
			"The request can be found in the text, but authorities may refuse the text as it is: %s.",
			phrase.Series(e.damages, 3))
	},
}}

// otherType fails for what is known to be something else.
func otherType(e *evidence) rule.Failures {
	if e.block != nil {
		return nil
	}
	kind := e.paste.Kind
	for _, b := range e.paste.Blocks {
		if kind = b.Kind; kind != unknownKind {
			break
		}
	}
	what, known := descriptions[kind]
	switch {
	case known:
		return rule.Fail("The text is %s, not a certificate signing request.", what).About(string(kind))
	case len(e.paste.Blocks) > 0 && e.paste.Blocks[0].Fault != "" && e.paste.Blocks[0].Label == "":
		return nil
	case len(e.paste.Blocks) > 0:
		return rule.Fail("The text has a PEM block that is not a certificate signing request.")
	}
	return nil
}

var structureRules = rule.Rules[*evidence]{{
	Code: "csr.version.unknown", Severity: diag.Error, Ref: pkcs + "4.1",
	Title: "Version of the request is not 0", Requirement: "The version of the request is 0",
	Advice: regenerate,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.csr.Version != 0, "The request has the version %d; the only one is 0, which is called v1.",
			e.csr.Version).
			Suggesting(e.correction())
	},
}, {
	Code: "csr.der.trailing", Severity: diag.Error, Ref: pkcs + "4.2",
	Title: "Data after the request", Requirement: "Nothing follows the request",
	Advice: "Copy the file again: what follows the request does not belong to it.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.csr.Rest > 0, "%s of data follow the end of the request.", phrase.Count(e.csr.Rest, "byte"))
	},
}, {
	Code: "csr.part.malformed", Severity: diag.Error, Ref: pkcs + "4.1",
	Title: "A part of the request cannot be read", Requirement: "All parts of the request can be read",
	Advice: regenerate,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.csr.Faults) > 0, "%s", strings.Join(e.csr.Faults, " "))
	},
}, {
	Code: "csr.attributes.missing", Severity: diag.Warning, Ref: pkcs + "4.1",
	Title:       "Request lacks its list of attributes",
	Requirement: "The request has a list of attributes, if only an empty one",
	Advice: "Make a new request, as the suggested command does: " +
		"Let's Encrypt and others cannot read one without the list.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.csr.NoList,
			"The request ends with the public key; the list of attributes must be there even if it is empty.").
			Suggesting(e.correction())
	},
}}

var signatureRules = rule.Rules[*evidence]{{
	Code: "csr.signature.invalid", Severity: diag.Critical, Ref: pkcs + "4.2",
	Title: "Signature does not verify", Requirement: "The signature is that of the key in the request",
	Advice: "Make a new request with the private key that belongs to it: the signature of this one is not by that key.",
	When:   func(e *evidence) bool { return e.csr != nil && e.validity != pki.Unchecked },
	Fails: func(e *evidence) rule.Failures {
		switch e.validity {
		case pki.BadMatch:
			return rule.Fail("Bad signature (%s): it does not verify with the key in the request, so the request was "+
				"changed after signing or signed with another key.", e.csr.Algorithm.Name).Suggesting(e.correction())
		case pki.WrongScheme:
			return rule.Fail("The signature has the algorithm %s, which a key of the algorithm %s cannot produce.",
				phrase.Quote(e.csr.Algorithm.Name), e.csr.Key.Name).Suggesting(e.correction())
		default:
			return nil
		}
	},
}, {
	Code: "csr.signature.unchecked", Severity: diag.Warning, Ref: pkcs + "4.2",
	Title: "Signature of an unusual algorithm or key was not checked", Requirement: "The signature can be checked",
	Advice: "Sign the request with SHA-256 and a usual key; check this one with openssl req -verify.",
	When: func(e *evidence) bool { // a fault of the key is reported as such
		return isRSA(e) ||
			isCurve(e) && e.csr.Key.Fault == "" && e.csr.Key.Curve != nil && allowedCurves[e.csr.Key.Curve.Name]
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.validity == pki.Unchecked, "Signatures of the algorithm %s by such a key are not checked here.",
			phrase.Quote(e.csr.Algorithm.Name))
	},
}, {
	Code: "csr.signature.weak", Severity: diag.Error, Ref: br + "7.1.3.2",
	Title: "Weak signature hash", Requirement: "The request is signed with SHA-256, SHA-384 or SHA-512",
	Advice: "Sign the request again with SHA-256, as the suggested command does; the key can be kept.",
	When:   func(e *evidence) bool { return e.csr != nil && e.csr.Algorithm.Hash != "" },
	Fails: func(e *evidence) rule.Failures {
		a := e.csr.Algorithm
		detail := "The request is signed with %s (%s), which authorities do not accept."
		if a.Weak {
			detail = "The request is signed with %s (%s), whose signatures can be forged."
		}
		return rule.FailIf(!slices.Contains([]string{"SHA-256", "SHA-384", "SHA-512"}, a.Hash), detail, a.Hash, a.Name).
			Suggesting(e.correction())
	},
}}

// sentence joins words for a sentence, as many as fit.
func sentence(list []string) string {
	const most = 10
	more := ""
	if len(list) > most {
		list, more = list[:most], " and others"
	}
	return phrase.Quote(strings.Join(list, ", ")) + more
}

// texts chooses what the verdict says: it judges the text that was handed in, not what could be read of it.
func (e *evidence) texts() rule.Texts {
	if e.clean != "" {
		return damagedTexts
	}
	return texts
}

// damagedTexts are the texts for a request found in something other than the file to submit.
var damagedTexts = rule.Texts{
	"valid": {
		Headline: "Request is compliant, but the text is not a file to submit",
		Sub: "Nothing in the request keeps public authorities from issuing a certificate, but they may be unable to read " +
			"the text as it is. Submit the clean copy in clean_pem.",
	},
}

// texts are the verdicts in words, where title and advice of the gravest finding do not say it better.
var texts = rule.Texts{
	"valid": {
		Headline: "Signing request is compliant",
		Sub:      "Nothing in it keeps public authorities from issuing a certificate. Send them the file unchanged.",
	},
}
