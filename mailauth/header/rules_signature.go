package header

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/internal/route"
)

// signatureRules are about the contents of DKIM signatures; nothing is verified.
var signatureRules = rule.Rules[*evidence]{{
	Code: "header.dkim.missing", Severity: diag.Info, Ref: "RFC 6376 section 3.5",
	Title: "Message is not signed with DKIM", Requirement: "The message is signed with DKIM",
	Advice: "Set up DKIM at the sending service. Unlike SPF, a signature survives forwarding.",
	Fails: func(e *evidence) rule.Failures {
		if r, ok := e.result("dkim"); ok && r.Value != "none" && len(e.signatures) == 0 {
			return rule.Fail("The header has no DKIM-Signature, although the receiving server recorded "+
				"dkim=%s: the copy is incomplete.", phrase.Quote(r.Value))
		}
		return rule.FailIf(len(e.signatures) == 0, "The header has no DKIM-Signature.")
	},
}, {
	Code: "header.dkim.malformed", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"header.dkim.missing"},
	Ref: "RFC 6376 section 6.1.1", Title: "DKIM signature is malformed", Requirement: "DKIM signatures are well-formed",
	Advice: "Copy the whole field. If it was sent like this, fix the signing program: verifiers ignore the signature.",
	Fails: eachSignature(func(e *evidence, s *signature) (string, bool) {
		err, ok := errors.AsType[*dkim.SignatureError](s.parsed.Err())
		if !ok {
			return "", false
		}
		return "cannot be verified: " + err.Fault.Text, s.signs("From")
	}),
}, {
	Code: "header.dkim.from_unsigned", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"header.dkim.malformed"}, Ref: "RFC 6376 section 5.4",
	Title: "DKIM signature does not cover From", Requirement: "DKIM signatures cover From",
	Advice: "List from in h=. Verifiers reject a signature that does not cover From.",
	Fails: eachSignature(func(e *evidence, s *signature) (string, bool) {
		return "does not list From in h=", !s.signs("From")
	}),
}, {
	Code: "header.dkim.uncovered", Severity: diag.Info, DependsOn: []diag.Code{"header.dkim.from_unsigned"},
	Ref: "RFC 6376 section 5.4.1", Title: "DKIM signature leaves out Subject, Date or To",
	Requirement: "DKIM signatures cover Subject, Date and To",
	Advice:      "Sign Subject, Date, To and Message-ID too. Fields that are not signed can be changed unnoticed.",
	Fails: eachSignature(func(e *evidence, s *signature) (string, bool) {
		var lacks []string
		for _, name := range []string{"Subject", "Date", "To"} {
			if e.count(name) > 0 && !s.signs(name) && (name != "Subject" || !e.subjectOpen()) {
				lacks = append(lacks, name)
			}
		}
		return "does not cover " + strings.Join(lacks, ", "), len(lacks) > 0
	}),
}, {
	Code: "header.dkim.sha1", Severity: diag.Warning, Weight: 3, DependsOn: []diag.Code{"header.dkim.missing"},
	Ref: "RFC 8301 section 3.1", Title: "DKIM signature uses SHA-1", Requirement: "No DKIM signature uses SHA-1",
	Advice: "Sign with rsa-sha256. Verifiers treat SHA-1 signatures as invalid.",
	Fails: eachSignature(func(e *evidence, s *signature) (string, bool) {
		return "uses " + phrase.Quote(s.Algorithm), strings.HasSuffix(strings.ToLower(s.Algorithm), "sha1")
	}),
}, {
	Code: "header.dkim.length", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"header.dkim.missing"},
	Ref: "RFC 6376 section 8.2", Title: "DKIM signature limits the signed part of the body (l=)",
	Requirement: "DKIM signatures cover the body without a limit",
	Advice:      "Sign without l=. With it, anyone can append content, and the signature still verifies.",
	Fails: eachSignature(func(e *evidence, s *signature) (string, bool) {
		if s.BodyLength == nil || e.lengthKnown || e.best != nil && e.best.Length == nil {
			return "", false
		}
		if *s.BodyLength == 0 {
			return "signs nothing of the body (l=0): any text can be sent with it", true
		}
		return "covers only the first " + phrase.Count(*s.BodyLength, "byte") + " of the body (l=): " +
			"anyone can append to it", true
	}),
}, {
	Code: "header.dkim.expired", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"header.dkim.missing"},
	Ref: "RFC 6376 section 3.5", Title: "DKIM signature had expired when the message arrived",
	Requirement: "No DKIM signature had expired when the message arrived",
	Advice:      "Make signatures valid for at least a week. Queues and greylisting delay messages for hours or days.",
	When:        arrivedWith(func(s *signature) bool { return !s.ExpiresAt.IsZero() }),
	Fails: eachSignature(func(e *evidence, s *signature) (string, bool) {
		arrived := e.path.Arrival()
		if s.ExpiresAt.IsZero() {
			return "", false
		}
		return "was valid until " + clock(s.ExpiresAt) + ", and the message arrived at " + clock(arrived),
			s.ExpiresAt.Before(arrived)
	}),
}, {
	Code: "header.dkim.future", Severity: diag.Warning, Weight: 2, DependsOn: []diag.Code{"header.dkim.missing"},
	Ref: "RFC 6376 section 3.5", Title: "DKIM signature is dated after the message arrived",
	Requirement: "No DKIM signature is dated after the message arrived",
	Advice:      "Correct the clock of the signing server. Some verifiers reject signatures from the future.",
	When:        arrivedWith(func(s *signature) bool { return !s.Timestamp.IsZero() }),
	Fails: eachSignature(func(e *evidence, s *signature) (string, bool) {
		arrived := e.path.Arrival()
		if s.Timestamp.IsZero() {
			return "", false
		}
		return "is dated " + clock(s.Timestamp) + ", and the message arrived at " + clock(arrived),
			s.Timestamp.After(arrived.Add(maxSkew))
	}),
}, {
	Code: "header.dkim.unaligned", Severity: diag.Info,
	DependsOn: []diag.Code{"header.dkim.missing", "header.from.invalid"}, Ref: "RFC 9989 section 4.4",
	Title: "No DKIM signature matches the domain in From", Requirement: "A DKIM signature matches the domain in From",
	Advice: "Set up DKIM signing with your own domain at the sending service. A signature with the domain of the " +
		"service does not count for DMARC.",
	When: func(e *evidence) bool { return e.fromDomain != "" },
	Fails: func(e *evidence) rule.Failures {
		var domains []string
		for i := range e.signatures {
			s := &e.signatures[i]
			if *s.Aligned {
				return nil
			}
			if !slices.Contains(domains, s.Domain) && len(domains) < 5 {
				domains = append(domains, s.Domain)
			}
		}
		return rule.Fail("From uses %s, but the signatures are by %s.%s", e.fromDomain,
			phrase.Quote(strings.Join(domains, ", ")), e.signingHint()).About("dkim")
	},
}}

// eachSignature makes a rule about each signature from a function that describes the fault of one.
func eachSignature(wrong func(*evidence, *signature) (string, bool)) func(*evidence) rule.Failures {
	return func(e *evidence) (all rule.Failures) {
		for i := range e.signatures {
			s := &e.signatures[i]
			text, is := wrong(e, s)
			all = append(all, rule.FailIf(is, "The signature of %s %s.", orDomain(s.Domain), text).About(clip(s.Domain))...)
		}
		return all
	}
}

func arrivedWith(is func(*signature) bool) func(*evidence) bool {
	return func(e *evidence) bool {
		return !e.path.Arrival().IsZero() && slices.ContainsFunc(e.signatures, func(s signature) bool { return is(&s) })
	}
}

// signingHint describes how to make a service that signs with its own domain sign with the customer's; empty if
// unknown.
func (e *evidence) signingHint() string {
	for i := range e.signatures {
		if s := provider.ByDKIM(e.signatures[i].Domain); s != nil && s.Sign != "" {
			return fmt.Sprintf(" To let %s sign with your domain: %s", s.Name, s.Sign)
		}
	}
	return ""
}

// The bounds of signatures. Verifiers stop much earlier (RFC 6376 section 6.1).
const (
	maxSignatures    = 100
	maxSignedHeaders = 100 // names of h= that are reported
)

func (e *evidence) readSignatures() {
	fields := e.msg.All(string(dkim.DKIMSignature))
	for _, f := range fields[:min(len(fields), maxSignatures)] {
		p := dkim.ParseSignature(dkim.DKIMSignature, string(f.RawValue()))
		text := func(tag string) string {
			t, _ := p.List.Tag(tag)
			return clip(strings.Join(strings.Fields(t.Value), ""))
		}
		s := signature{field: f, parsed: p, Signature: Signature{
			Domain: p.Domain.String(), Selector: clip(p.Selector), Algorithm: clip(p.Algorithm),
			Canonicalization: clip(string(p.Header) + "/" + string(p.Body)), Identity: text("i"),
			SignedHeaders: clipped(p.Names, maxSignedHeaders),
			Timestamp:     kit.OrZero(p.Time), ExpiresAt: kit.OrZero(p.Expires), BodyLength: p.Length,
		}}
		if p.Domain.IsZero() {
			s.Domain = strings.ToLower(text("d"))
		}
		s.Service = kit.OrZero(provider.ByDKIM(s.Domain)).Name
		if e.fromDomain != "" {
			s.Aligned = new(route.SameOrganization(s.Domain, e.fromDomain))
		}
		e.signatures = append(e.signatures, s)
	}
}

func clipped(texts []string, most int) []string {
	return kit.Map(texts[:min(len(texts), most)], clip)
}
