package markcert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

var textRules = rule.Rules[*evidence]{{
	Code: "markcert.pem.private_key", Severity: diag.Critical, Weight: 5, Category: factorText, Ref: "RFC 5280 section 8",
	Title: "Private key in the text", Requirement: "The text holds no private key",
	Advice: "Remove the private key, have the certificate revoked and reissued with a new key, and check what else " +
		"uses the key: anyone who could read the text can use it.",
	When: hasText, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.bundle.PrivateKey, "The text has a block with a private key. It is not repeated here.")
	},
}, {
	Code: "cert_pem_missing", Severity: diag.Critical, Weight: 10, Category: factorText, Ref: "RFC 7468 section 5",
	Title: "No certificate in the text", Requirement: "The text holds a certificate",
	Advice: "Publish the PEM file that the authority delivered: it begins with -----BEGIN CERTIFICATE----- and holds " +
		"the mark certificate and those of its issuers.",
	When: hasText, Fails: func(e *evidence) rule.Failures {
		found, ok := forms[e.bundle.Form]
		if !ok || len(e.bundle.Certificates) > 0 {
			return nil
		}
		detail, advice := found[0], found[1]
		if e.bundle.Form == otherBlocks {
			detail = fmt.Sprintf("The text has PEM blocks, but no certificate among them: %s.", join(e.bundle.Others))
		}
		return rule.Failures{{Detail: detail, Advice: advice}}
	},
}, {
	Code: "cert_invalid", Severity: diag.Critical, Weight: 5, Category: factorText,
	DependsOn: []diag.Code{"cert_pem_missing"}, Ref: "RFC 7468 section 5.1",
	Title: "Certificate cannot be read", Requirement: "Each certificate of the text can be read",
	Advice: "Copy the file from the authority again, byte by byte: a character of it was lost or changed.",
	When:   hasText, Fails: func(e *evidence) rule.Failures {
		all := rule.FailEach(e.bundle.Broken, func(b broken) rule.Failures {
			if b.Index == 0 {
				return rule.Fail("A block of a certificate cannot be read: %s.", b.Text)
			}
			f := rule.Fail("Certificate %d of the text cannot be read: %s.", b.Index, b.Text)
			if b.Text == bundled {
				f[0].Advice = forms[pkcs7][1]
			}
			return f.About(fmt.Sprintf("certificate %d", b.Index))
		})
		return all.Together("%d certificates of the text cannot be read.", len(all))
	},
}, {
	Code: "cert_not_vmc", Severity: diag.Critical, Weight: 10, Category: factorProfile,
	DependsOn:   []diag.Code{"cert_pem_missing"},
	Title:       "Not a mark certificate",
	Requirement: "The certificate is one for marks",
	Ref:         draft + "4.4",
	Advice: "Publish the verified or common mark certificate that an authority for marks issued to you. A " +
		"certificate for a web server cannot take its place.",
	// What cannot be read may be the mark certificate.
	When:  func(e *evidence) bool { return e.mark != nil && !(len(e.bundle.Broken) > 0 && e.mark.X509.IsCA) },
	Fails: failNotForMarks,
}, {
	Code: "markcert.pem.form", Severity: diag.Error, Weight: 4, Category: factorText,
	DependsOn: []diag.Code{"cert_pem_missing"}, Ref: draft + "3.3",
	Title: "Certificate is not encoded as PEM", Requirement: "The certificate is encoded as PEM",
	Advice: "Convert the certificate to PEM and add the certificates of its issuers: receivers read no other form.",
	When:   hasText, Fails: func(e *evidence) rule.Failures {
		if e.bundle.Form == pemText {
			return nil
		}
		what := "binary form (DER)"
		if e.bundle.Form == base64Text {
			what = "Base64 without the lines -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----"
		}
		return e.suggestCorrected("form", rule.Fail("The certificate is in %s.", what))
	},
}, {
	Code: "markcert.pem.several", Severity: diag.Error, Weight: 3, Category: factorText,
	DependsOn: []diag.Code{"cert_not_vmc"}, Ref: draft + "3.3",
	Title: "More than one mark certificate", Requirement: "The text holds one mark certificate",
	Advice: "Leave one mark certificate in the text. Another logo needs a record of its own, with another selector and " +
		"URL.",
	When: isMark, Fails: func(e *evidence) rule.Failures {
		names := []string{name(e.mark.X509)}
		for _, c := range e.others {
			if e.isRival(c) {
				names = append(names, name(c))
			}
		}
		return rule.FailIf(len(names) > 1, "The text has mark certificates of %s: receivers may refuse them all.",
			phrase.Series(names, maxInSentence))
	},
}, {
	Code: "markcert.pem.order", Severity: diag.Warning, Weight: 2, Category: factorText,
	DependsOn: []diag.Code{"cert_not_vmc", "markcert.pem.several"}, Ref: draft + "3.3",
	Title: "Certificates are not in order", Requirement: "The mark certificate comes first, then its issuers",
	Advice: "Put the mark certificate first, then the one that issued it, and so on: receivers may refuse another order.",
	When:   func(e *evidence) bool { return isMark(e) && len(e.bundle.Certificates) > 1 },
	Fails: func(e *evidence) rule.Failures {
		if e.inOrder() {
			return nil
		}
		order := kit.Map(e.bundle.Certificates[:min(len(e.bundle.Certificates), 6)], name)
		return e.suggestCorrected("order", rule.Fail("The certificates are in this order: %s.", strings.Join(order, ", ")))
	},
}, {
	Code: "markcert.pem.duplicate", Severity: diag.Warning, Weight: 1, Category: factorText,
	DependsOn: []diag.Code{"cert_not_vmc"}, Ref: draft + "3.3",
	Title: "Certificate appears twice", Requirement: "Each certificate appears once",
	Advice: "Remove the repeated certificates: receivers may refuse a text with duplicates.",
	When:   isMark, Fails: func(e *evidence) rule.Failures {
		if len(e.bundle.Certificates) == len(e.others)+1 {
			return nil
		}
		return e.suggestCorrected("duplicate", rule.Fail("The text has %d certificates, but only %d different ones.",
			len(e.bundle.Certificates), len(e.others)+1))
	},
}, {
	Code: "markcert.pem.unrelated", Severity: diag.Warning, Weight: 1, Category: factorText,
	DependsOn: []diag.Code{"cert_not_vmc", "markcert.pem.several"}, Ref: draft + "3.3",
	Title: "Certificates that do not belong to the chain", Requirement: "All certificates belong to the chain",
	Advice: "Remove the certificates that have issued none of the others.",
	When:   func(e *evidence) bool { return isMark(e) && e.trust.Recognized },
	Fails: func(e *evidence) rule.Failures {
		list := e.unrelated()
		if len(list) == 0 {
			return nil
		}
		return e.suggestCorrected("unrelated", rule.Fail("These certificates are not needed to reach the root: %s.",
			strings.Join(list[:min(len(list), maxInSentence)], ", ")))
	},
}, {
	Code: "markcert.pem.others", Severity: diag.Warning, Weight: 1, Category: factorText,
	DependsOn: []diag.Code{"cert_pem_missing", "markcert.pem.private_key"}, Ref: draft + "3.3",
	Title: "PEM blocks that are not certificates", Requirement: "All PEM blocks are certificates",
	Advice: "Remove the other blocks: receivers expect certificates only.",
	When:   hasText, Fails: func(e *evidence) rule.Failures {
		if len(e.bundle.Others) == 0 {
			return nil
		}
		return e.suggestCorrected("others", rule.Fail("The text has blocks of other kinds as well: %s.",
			join(e.bundle.Others)))
	},
}}

var forms = map[form][2]string{
	empty:       {"The text is empty.", ""},
	otherBlocks: {"", ""},
	other:       {"The text is not a certificate: it has no line -----BEGIN CERTIFICATE-----.", ""},
	html: {"The text is a web page, not a certificate.",
		"Publish the certificate itself at this URL. A server that shows a page for every address, or asks to log in, " +
			"must not do so here."},
	svgText: {"The text is an SVG image, not a certificate: perhaps l and a were exchanged.",
		"Publish the certificate at this URL, and in the BIMI record name the logo in l and the certificate in a."},
	pkcs7: {"The text is a PKCS #7 bundle (.p7b), not PEM certificates.",
		"Convert the bundle to PEM certificates, the mark certificate first: receivers read no other form."},
	cut: {"The text has only the beginning or the end of a PEM block.",
		"Copy the whole file, from the first -----BEGIN CERTIFICATE----- to the last -----END CERTIFICATE-----."},
}

func failNotForMarks(e *evidence) rule.Failures {
	c := e.mark.X509
	switch {
	case e.mark.forMarks() && extension(c, oidPoison) == nil:
		return nil
	case extension(c, oidPoison) != nil:
		return rule.Failures{{
			Detail: "The certificate is a precertificate, which exists for the logs only (RFC 6962 section 3.1).",
			Advice: "Publish the certificate itself, which the authority delivered after the precertificate was logged.",
		}}
	case c.IsCA:
		return rule.Failures{{
			Detail: fmt.Sprintf("The certificate of %s is that of an authority, and the text has none for a mark.", name(c)),
			Advice: "Put your own mark certificate first in the text: only those of its issuers are there.",
		}}
	case e.isMark():
		return rule.Failures{{
			Detail: fmt.Sprintf("The certificate of %s holds a mark, but lacks the extended key usage of mark certificates "+
				"(id-kp-BrandIndicatorforMessageIdentification).", name(c)),
			Advice: "Have the certificate reissued with this extended key usage: receivers refuse a mark certificate " +
				"without it.",
		}}
	case c.ExtKeyUsage == nil && c.UnknownExtKeyUsage == nil:
		return rule.Fail("The certificate of %s has no extended key usage; one for marks has "+
			"id-kp-BrandIndicatorforMessageIdentification.", name(c))
	default:
		return rule.Fail("The certificate of %s was issued for %s, not for marks "+
			"(id-kp-BrandIndicatorforMessageIdentification).", name(c), join(e.described().ExtKeyUsage))
	}
}

func (e *evidence) suggestCorrected(fault string, f rule.Failures) rule.Failures {
	if e.textFault == "" || e.textFault == fault {
		return f.Suggesting(e.corrected())
	}
	return f
}

// same reports whether two certificates are the same one, or have the same name and key: a root may be there in the
// form that another root has signed.
func same(a, b *x509.Certificate) bool {
	return a.Equal(b) || string(a.RawSubject) == string(b.RawSubject) &&
		string(a.RawSubjectPublicKeyInfo) == string(b.RawSubjectPublicKeyInfo)
}

func (e *evidence) inOrder() bool {
	list := slices.Concat([]*x509.Certificate{e.mark.X509}, e.others)
	if !e.bundle.Certificates[0].Equal(e.mark.X509) {
		return false
	}
	for i := 1; i < len(list); i++ {
		above := func(c *x509.Certificate) bool { return string(list[i-1].RawIssuer) == string(c.RawSubject) }
		if !above(list[i]) && slices.ContainsFunc(list[i:], above) {
			return false
		}
	}
	return true
}

// isRival reports whether a certificate is another one for a mark, and not the issuer of the first.
func (e *evidence) isRival(c *x509.Certificate) bool {
	return forMarks(c) && !c.IsCA && string(c.RawSubject) != string(e.mark.X509.RawIssuer)
}

const maxInSentence = 5

func join(list []string) string {
	return strings.Join(kit.Map(list[:min(len(list), maxInSentence)], phrase.Quote), ", ")
}
