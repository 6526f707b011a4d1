package markcert

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

var logoRules = rule.Rules[*evidence]{{
	Code: "markcert.logotype.missing", Severity: diag.Critical, Weight: 8, DependsOn: []diag.Code{"cert_not_vmc"},
	Ref:   draft + "4.1",
	Title: "No logo in the certificate", Requirement: "The certificate holds a logo",
	Advice: "Have the certificate reissued with the logo in the logotype extension.",
	When:   isMark, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mark.Logotype == nil, "The certificate has no logotype extension (1.3.6.1.5.5.7.1.12).")
	},
}, {
	Code: "markcert.logotype.malformed", Severity: diag.Critical, Weight: 5, Ref: "RFC 9399 section 4.1",
	Title: "Logo in the certificate cannot be read", Requirement: "The logo in the certificate can be read",
	Advice: "Have the certificate reissued: the authority encoded the logo in a way that receivers cannot read.",
	When:   func(e *evidence) bool { return isMark(e) && e.mark.Logotype != nil },
	Fails: func(e *evidence) rule.Failures {
		l := e.mark.Logotype
		if l.Fault != "" {
			return rule.Fail("The logotype extension is not as it should be: %s.", l.Fault)
		}
		return rule.FailIf(l.Image.Fault != "", "The logotype extension holds an image that cannot be read: %s.",
			l.Image.Fault)
	},
}, {
	Code: "markcert.logotype.type", Severity: diag.Error, Weight: 1,
	DependsOn: []diag.Code{"markcert.logotype.malformed"}, Ref: draft + "4.2",
	Title: "Logo in the certificate is not declared as SVG", Requirement: "The logo in the certificate is declared as SVG",
	Advice: "Have the certificate reissued with the media type image/svg+xml.",
	Fails: func(e *evidence) rule.Failures {
		t := e.mark.Logotype.Image.MediaType
		return rule.FailIf(!svgType(t), "The logotype extension gives the logo the media type %q, not %s.",
			phrase.Quote(t), svgMediaType)
	},
}, {
	Code: "markcert.logotype.several", Severity: diag.Error, Weight: 1,
	DependsOn: []diag.Code{"markcert.logotype.malformed"}, Ref: mcr,
	Title: "More than one logo in the certificate", Requirement: "The certificate holds one logo",
	Advice: "Have the certificate reissued with one logo: receivers may take either, or none.",
	Fails: func(e *evidence) rule.Failures {
		l := e.mark.Logotype
		if len(l.Others) > 0 {
			return rule.Fail("Beside the logo of the subject the logotype extension has others: %s.", join(l.Others))
		}
		return rule.FailIf(l.Images > 1 || l.Image.URIs > 1, "The logotype extension holds %s with %s.",
			phrase.Count(l.Images, "image"), phrase.Count(l.Image.URIs, "URI"))
	},
}, {
	Code: "markcert.logotype.hash", Severity: diag.Error, Weight: 2,
	DependsOn: []diag.Code{"markcert.logotype.malformed"}, Ref: "RFC 6170 section 5.2",
	Title: "Hash of the logo does not match", Requirement: "The hash of the logo matches",
	Advice: "Have the certificate reissued: the logo in it is not the one that the authority hashed.",
	When:   func(e *evidence) bool { return hasLogo(e) && e.mark.Logotype.Image.HashChecked },
	Fails: func(e *evidence) rule.Failures {
		i := e.mark.Logotype.Image
		return rule.FailIf(!i.HashMatches, "The logotype extension has a %s hash that is not that of its logo.",
			i.HashAlgorithm)
	},
}, {
	Code: "markcert.logotype.uncompressed", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"markcert.logotype.malformed"}, Ref: "RFC 6170 section 5.2",
	Title: "Logo in the certificate is not compressed", Requirement: "The logo in the certificate is compressed by gzip",
	Advice: "Have the next certificate issued with the logo compressed by gzip: some receivers read no other form.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.mark.Logotype.Image.Compressed, "The data URI holds the SVG image as it is, without gzip.")
	},
}, {
	Code: "markcert.logotype.critical", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"markcert.logotype.malformed"}, Ref: "RFC 9399 section 4.1",
	Title: "Logotype extension is marked critical", Requirement: "The logotype extension is not critical",
	Advice: "Have the next certificate issued with the extension not critical: software that does not know it refuses " +
		"the certificate.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(extension(e.mark.X509, oidLogotype).Critical, "The logotype extension is marked critical.")
	},
}, {
	Code: "markcert.logo.size", Severity: diag.Error, Weight: 2, DependsOn: []diag.Code{"markcert.logotype.malformed"},
	Ref:   "draft-svg-tiny-ps-abrotman-12 section 2",
	Title: "Logo in the certificate is larger than 32 KiB", Requirement: "The logo in the certificate has at most 32 KiB",
	Advice: "Simplify the logo, then have the certificate reissued with it: mailboxes show no larger one.",
	Fails: func(e *evidence) rule.Failures {
		size := len(e.mark.logo())
		return rule.FailIf(size > svg.MaxLogo, "The logo has %d bytes after decompression, and %d are allowed.",
			size, svg.MaxLogo)
	},
}, {
	Code: "markcert.logo.profile", Severity: diag.Error, Weight: 3, DependsOn: []diag.Code{"markcert.logotype.malformed"},
	Ref:   draft + "4.2",
	Title: "Logo in the certificate is not SVG Tiny PS", Requirement: "The logo in the certificate is SVG Tiny PS",
	Advice: "Correct the logo, then have the certificate reissued with it: mailboxes refuse what the profile keeps out.",
	Fails: func(e *evidence) rule.Failures {
		return e.logoFaults(func(f svg.Fault) bool { return f.Severity() >= diag.Error })
	},
}}

// logoFaults lists the first fault of each kind that is meant, the size apart, which has a rule of its own.
func (e *evidence) logoFaults(meant func(svg.Fault) bool) rule.Failures {
	var all rule.Failures
	seen := map[svg.Kind]bool{svg.Size: true}
	for _, f := range e.logo.Faults {
		if seen[f.Kind] || !meant(f) {
			continue
		}
		seen[f.Kind] = true
		detail, more := f.Message, e.logo.Counts[f.Kind]-1
		if f.Line > 0 {
			detail = fmt.Sprintf("Line %d of the logo: %s", f.Line, f.Message)
		}
		if more > 0 {
			detail += fmt.Sprintf(" There are %d more of the kind.", more)
		}
		all = append(all, rule.Fail("%s", detail).About(string(f.Kind))...)
	}
	return all
}

// svgType reports whether a media type is that of SVG, perhaps compressed (RFC 9399 section 7).
func svgType(t string) bool {
	t = strings.ToLower(t)
	return t == svgMediaType || t == svgMediaType+"+gzip"
}
