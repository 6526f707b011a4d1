package dkim

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

func faults(tag string, kinds ...taglist.Kind) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures { return tagRules.Faults(kinds...)(e).About(tag) }
}

// foreignKey is the rule about a p= that is not a DKIM key; an OpenSSH key can be converted.
func foreignKey(kind taglist.Kind) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		list := faults("p", kind)(e)
		for i := range list {
			if p, _ := e.key.List.Tag("p"); readSSH(p.Value) != nil && e.repaired != "" {
				list[i].Advice = adviceSSH
			}
		}
		return list
	}
}

const adviceSSH = "Publish the suggested record: it holds the same key as DKIM writes it, which \"ssh-keygen -e -m " +
	"PKCS8 -f key.pub\" prints for RSA keys, too."

// bits fails if the size of the RSA key is wrong; the text has the size and the limit.
func bits(wrong func(bits int) bool, format string, limit int) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		n := e.key.Details.SizeBits
		return e.in("p", rule.FailIf(wrong(n), format, n, limit))
	}
}

var keyRules = rule.Rules[*evidence]{{
	Code: "dkim.key.missing", Severity: diag.Critical, Weight: 10, Ref: keySection,
	Title: "DKIM record has no public key (p=)", Requirement: "The record has the tag p",
	Advice: "Add the tag p with the public key, its name in lower case: verifiers ignore a record without it.",
	When:   func(e *evidence) bool { return inOrder(e) && e.otherProtocol() == "" },
	Fails: func(e *evidence) rule.Failures {
		list := tagRules.Faults(noKey)(e).About("p")
		if len(list) == 0 {
			return nil
		}
		if e.isBareKey() && readSSH(e.key.List.Text) != nil { // bare: it can be read
			list[0].Detail = "The text is a public key in the format of OpenSSH, not the record of a DKIM key."
			list[0].Advice = adviceSSH
		} else if e.isBareKey() {
			list[0].Detail = "The text is a public key alone, without the tags v=DKIM1; k=rsa; p= before it."
		}
		for _, t := range e.key.List.Tags {
			if t.Name == "P" {
				list[0].Detail = "The record has the tag P=, but names of tags are case-sensitive: there is no p= with the " +
					"public key."
				list[0].Location = &diag.Location{Offset: t.Offset, Length: 1}
			}
		}
		return list
	},
}, {
	Code: "dkim.key.revoked", Severity: diag.Error, Weight: 10, DependsOn: []diag.Code{"dkim.key.missing"},
	Ref: keySection, Title: "DKIM key has been revoked", Requirement: "The key has not been revoked",
	Advice: "If nothing signs with this selector any more, leave the record. If mail is signed with it, publish a " +
		"new key at a new selector and sign with that.",
	When: inOrder,
	Fails: func(e *evidence) rule.Failures {
		if e.key.Revoked && lookedUp(e) && fromWildcard(e) {
			return e.in("p", rule.Fail("The record at *.%s revokes the keys of all selectors without a record of "+
				"their own (p= is empty).", e.parent()))
		}
		return e.in("p", rule.FailIf(e.key.Revoked, "p= is empty: the key has been revoked, and every signature made "+
			"with it fails."))
	},
}, {
	Code: "dkim.key.type.unknown", Severity: diag.Critical, Weight: 5, Ref: keySection,
	Title: "Unknown key type in the DKIM record (k=)", Requirement: "The key type is rsa or ed25519",
	Advice: "Write k=rsa or k=ed25519, in lower case and without a size: verifiers ignore a key of another type.",
	When:   inOrder,
	Fails:  faults("k", badType),
}, {
	Code: "dkim.key.private", Severity: diag.Critical, Weight: 1, Ref: "RFC 6376 section 8.3",
	Title: "DKIM record publishes a private key", Requirement: "The record holds no private key",
	Advice: "Remove the record immediately and never use this key again: anyone who has read it can sign in the name " +
		"of the domain. Generate a new key, and publish its public half at a new selector.",
	When: func(e *evidence) bool {
		return hasUsableKey(e) && (e.key.Data != nil || len(tagRules.Faults(secret)(e)) > 0)
	},
	Fails: faults("p", secret),
}, {
	Code: "dkim.key.base64", Severity: diag.Critical, Weight: 5, Ref: keySection,
	Title: "DKIM public key is not valid base64", Requirement: "The public key is valid base64",
	Advice: "Put only the base64 text of the key after p=, without the BEGIN and END lines of a PEM file, quotation " +
		"marks and other characters.",
	When:  func(e *evidence) bool { return hasUsableKey(e) && len(tagRules.Faults(secret)(e)) == 0 },
	Fails: foreignKey(badBase64),
}, {
	Code: "dkim.key.truncated", Severity: diag.Critical, Weight: 5, DependsOn: []diag.Code{"dkim.key.base64"},
	Ref: "RFC 6376 section 3.6.2.2", Title: "DKIM public key is cut off", Requirement: "The public key is whole",
	Advice: "Publish the whole key again, in one TXT record of several strings with at most 255 bytes each: where a " +
		"part is missing, no signature verifies.",
	Fails: faults("p", cutOff),
}, {
	Code: "dkim.key.unreadable", Severity: diag.Critical, Weight: 5, Ref: keySection,
	DependsOn: []diag.Code{"dkim.key.base64", "dkim.key.truncated"}, Title: "DKIM public key cannot be read",
	Requirement: "The public key can be read",
	Advice:      "Copy the public key again from the system that signs: what is published is not a key of the type in k=.",
	Fails:       foreignKey(badKey),
}, {
	Code: "dkim.key.type.mismatch", Severity: diag.Critical, Weight: 5, Ref: keySection,
	DependsOn: []diag.Code{"dkim.key.type.unknown", "dkim.key.unreadable"},
	Title:     "DKIM key is of another type than k= says", Requirement: "The key is of the type that the record names",
	Advice: "Name the type of the key in k=: rsa (also if k is left out) or ed25519. DKIM defines no others.",
	Fails:  faults("p", otherType),
}, {
	Code: "dkim.key.ed25519.wrapped", Severity: diag.Critical, Weight: 5, Ref: "RFC 8463 section 4",
	Title: "Ed25519 key is not in its raw form", Requirement: "An Ed25519 key is its bare 32 bytes",
	Advice: "Publish only the last 32 of the 44 bytes, in base64, as the suggested record does.",
	When: func(e *evidence) bool {
		return hasSingleRecord(e) && e.key.Details != nil && e.key.Type == Ed25519 && identify(e.key.Data).kind == Ed25519
	},
	Fails: faults("p", wrapped),
}, {
	Code: "dkim.key.rsa.bare", Severity: diag.Warning, Weight: 2,
	Ref: "RFC 6376 section 3.6.1, RFC 5280 section 4.1.2.7", Title: "RSA key is not a SubjectPublicKeyInfo",
	Requirement: "An RSA key is a SubjectPublicKeyInfo",
	Advice: "Publish the key as a SubjectPublicKeyInfo, which openssl rsa -pubout prints: several verifiers, " +
		"OpenDKIM among them, read nothing else.",
	When:  func(e *evidence) bool { return isRSA(e) && e.key.Public != nil },
	Fails: faults("p", bareRSA),
}}

var strengthRules = rule.Rules[*evidence]{{
	Code: "dkim.key.factor", Severity: diag.Critical, Weight: 5, Ref: "Baseline Requirements section 6.1.1.3",
	Title:       "DKIM RSA key can be broken immediately",
	Requirement: "The RSA key has none of the known flaws that give its private key away",
	Advice:      "Generate a new key, publish it at a new selector and sign with it; remove this record.",
	Fails:       faults("p", factor),
}, {
	Code: "dkim.key.exponent.invalid", Severity: diag.Critical, Weight: 5, Ref: "RFC 8017 section 3.1",
	Title: "Public exponent of the RSA key is not valid", Requirement: "The public exponent is an odd number above 2",
	Advice: "Generate a new key with the exponent 65537, publish it at a new selector and sign with it.",
	Fails:  faults("p", exponent),
}, {
	Code: "dkim.key.size.refused", Severity: diag.Critical, Weight: 20, Ref: "RFC 8301 section 3.2",
	Title: "DKIM key is shorter than 1024 bits (RSA)", Requirement: "The RSA key has at least 1024 bits",
	Advice: "Generate a key of 2048 bits, publish it at a new selector and sign with it: verifiers must refuse this " +
		"one.",
	Fails: bits(func(n int) bool { return n < MinRSABits }, "The RSA key has %d bits; verifiers accept %d or more.",
		MinRSABits),
}, {
	Code: "dkim.key.size.short", Severity: diag.Warning, Weight: 5, DependsOn: []diag.Code{"dkim.key.size.refused"},
	Ref: "RFC 8301 section 3.2", Title: "DKIM key is shorter than 2048 bits (RSA)",
	Requirement: "The RSA key has at least 2048 bits",
	Advice: "Generate a key of 2048 bits, publish it at a new selector, sign with it, and revoke this one a week " +
		"after the last use.",
	Fails: bits(func(n int) bool { return n < recommendedRSABits },
		"The RSA key has %d bits; %d or more are recommended.", recommendedRSABits),
}, {
	Code: "dkim.key.size.long", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"dkim.key.size.refused"},
	Ref: "RFC 8301 section 3.2", Title: "DKIM key is longer than 4096 bits (RSA)",
	Requirement: "The RSA key has at most 4096 bits",
	Advice: "Generate a key of 2048 bits, publish it at a new selector and sign with it: verifiers need not support " +
		"more than 4096 bits, and large records get lost on the way.",
	Fails: bits(func(n int) bool { return n > supportedRSABits },
		"The RSA key has %d bits; verifiers need not support more than %d.", supportedRSABits),
}, {
	Code: "dkim.key.exponent.small", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"dkim.key.exponent.invalid"}, Ref: "NIST SP 800-56B section 6.2",
	Title: "Public exponent of the RSA key is small", Requirement: "The public exponent is 65537 or more",
	Advice: "Generate the next key with the exponent 65537: small ones let flawed verifiers accept forged signatures.",
	Fails: func(e *evidence) rule.Failures {
		n := e.modulus().E
		return e.in("p", rule.FailIf(n < pki.MinExponent, "The public exponent of the RSA key is %d.", n))
	},
}, {
	Code: "dkim.key.ed25519.alone", Severity: diag.Info, Ref: "RFC 8463 section 5",
	Title: "Many verifiers do not know Ed25519", Requirement: "The key is of a type that every verifier knows",
	Advice: "Sign with an RSA key at another selector, too: a verifier that does not know Ed25519 then uses that.",
	When:   func(e *evidence) bool { return hasSingleRecord(e) && e.key.Public != nil },
	Fails: func(e *evidence) rule.Failures {
		return e.in("p", rule.FailIf(e.key.Type == Ed25519, "The key is an Ed25519 key, which several large receivers "+
			"do not verify yet."))
	},
}}

var useRules = rule.Rules[*evidence]{{
	Code: "dkim.hash.refused", Severity: diag.Critical, Weight: 5, Ref: "RFC 8301 section 3.1",
	Title: "DKIM record excludes the hash algorithm sha256", Requirement: "The record lets sha256 be used",
	Advice: "Remove the tag h, or write h=sha256: verifiers must not accept sha1, and there is no other in use.",
	Fails:  faults("h", badHash, onlySHA1),
}, {
	Code: "dkim.service.refused", Severity: diag.Critical, Weight: 5, Ref: keySection,
	Title: "Service type (s=) of the DKIM record excludes mail", Requirement: "The service type includes mail",
	Advice: "Remove the tag s, or write s=email: verifiers of mail do not use a key that is for other services.",
	Fails:  faults("s", badService),
}, {
	Code: "dkim.flag.testing", Severity: diag.Warning, Weight: 5, Ref: keySection,
	Title: "DKIM key is in testing mode (t=y)", Requirement: "The key is not in testing mode",
	Advice: "Check with a message to yourself that signatures verify; then remove the flag y. Until then verifiers " +
		"treat the mail as if it were not signed.",
	When: hasKeyData,
	Fails: func(e *evidence) rule.Failures {
		return e.in("t",
			rule.FailIf(e.key.testing(), "The flag t=y says that the domain is testing DKIM.")).Suggesting(e.withoutTestFlag())
	},
}}

// withoutTestFlag returns the record without the flag y, if verifiers can use it.
func (e *evidence) withoutTestFlag() string {
	if e.key.Err() != nil {
		return ""
	}
	return repair(e.key.List.Text, "s")
}
