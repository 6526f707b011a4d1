package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// A valid signature authenticates what it covers and nothing else: not the body beyond l= (RFC 6376 section 8.2), not
// the fields that h= leaves out, and not a second field of a name, since signatures take the lowest one (section
// 5.4.2) and mail programs mostly show the first (section 8.15). Anyone who has one message of a domain can resend it
// with different text in all of these places, and DMARC passes.
//
// SPF that passes for the author's domain authenticates the delivery instead: an authorized server handed over the
// message as it is, signed or not. Unsigned parts then came from that server, and only a copy forwarded from
// elsewhere could differ.

// A cover is a DKIM signature of the author's domain that counts for the message: one that verifies or, where nothing
// is verified, any that could.
type cover struct {
	*dkim.Signature
	uncoveredBytes int64 // bytes of the body beyond those that it covers; 0 if the body is unknown
}

// unsigned counts the fields of a name that a signature does not cover, which are the upper ones.
func (e *evidence) unsigned(s *dkim.Signature, name string) int {
	listed := 0
	for _, n := range s.Names {
		if strings.EqualFold(n, name) {
			listed++
		}
	}
	return max(0, e.count(name)-listed)
}

// gaps weighs what a signature leaves open; 0 if it covers everything visible.
func (e *evidence) gaps(c *cover) (n int) {
	for i, open := range []bool{c.Length != nil, e.unsigned(c.Signature, "Reply-To") > 0, len(e.added(c)) > 0,
		e.unsigned(c.Signature, "Subject") > 0, c.uncoveredBytes > 0, c.uncoveredBytes > 0 && *c.Length == 0} {
		if open {
			n |= 1 << i
		}
	}
	return n
}

// choose returns the signature that covers most of the message; nil without a signature. Coverage of several
// signatures is not combined: parts of two messages do not make one that was sent.
func (e *evidence) choose(covers []cover) (best *cover) {
	least := 0
	for i := range covers {
		if n := e.gaps(&covers[i]); best == nil || n < least {
			best, least = &covers[i], n
		}
	}
	return best
}

func signedByAuthor(e *evidence) bool { return e.best != nil }

// added lists the fields that may occur once, occur more often, and are not all covered by a signature. From has rules
// of its own.
func (e *evidence) added(c *cover) []string {
	return slices.DeleteFunc(e.duplicates(), func(name string) bool {
		return strings.EqualFold(name, "From") || e.unsigned(c.Signature, name) == 0
	})
}

// subjectOpen reports whether no signature covers the only subject.
func (e *evidence) subjectOpen() bool {
	c := e.best
	return c != nil && e.count("Subject") == 1 && e.unsigned(c.Signature, "Subject") > 0
}

// mimeFields define how the body is parsed (RFC 2045, RFC 2183).
var mimeFields = []string{"Content-Type", "Content-Transfer-Encoding", "MIME-Version", "Content-Disposition"}

// openFields lists the present fields, among some names, that a signature leaves out.
func (e *evidence) openFields(s *dkim.Signature, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return e.unsigned(s, name) == 0 })
}

// coverageRules are about what the best signature of the author's domain leaves open in the header.
var coverageRules = rule.Rules[*evidence]{{
	Code: "header.dkim.subject_unsigned", Severity: diag.Warning, Weight: 5, Ref: "RFC 6376 section 5.4.1",
	Title: "Subject is not signed with DKIM", Requirement: "The DKIM signature covers Subject",
	Advice: "Do not rely on the subject: anyone who has the message can send it again with another one. The signer " +
		"has to list Subject in h=.",
	When: func(e *evidence) bool { return signedByAuthor(e) && e.count("Subject") == 1 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.subjectOpen(), "The DKIM signature of %s does not cover Subject: %s could be replaced by any "+
			"other, and the signature would still be valid.", e.best.domain(), quoted(e.text("Subject", maxShown))).
			About("Subject")
	},
}, {
	Code: "header.dkim.field_added", Severity: diag.Warning, Weight: 5, Ref: "RFC 6376 section 8.15",
	Title:       "Repeated field that the DKIM signature does not cover",
	Requirement: "The DKIM signature covers all fields that may appear only once",
	Advice: "Do not rely on what the mail program shows of this field. The signer can prevent additions by listing " +
		"the name once more in h= than the field occurs.",
	When: signedByAuthor,
	Fails: func(e *evidence) rule.Failures {
		c := e.best
		return rule.FailEach(e.added(c), func(name string) rule.Failures {
			return rule.Fail("The field %s appears %d times, and the DKIM signature of %s covers %s. Mail programs mostly "+
				"show the first one, %s, which no signature of the domain covers.", name, e.count(name), c.domain(),
				coveredOf(e.count(name)-e.unsigned(c.Signature, name)), quoted(e.text(name, maxShown))).About(name)
		})
	},
}, {
	Code: "header.dkim.mime_unsigned", Severity: diag.Warning, Weight: 5, Ref: "RFC 6376 section 8.2",
	Title:       "DKIM signature with l= does not cover the MIME fields",
	Requirement: "A DKIM signature with l= covers the MIME fields",
	Advice: "Do not rely on what the mail program shows as the body. The signer has to remove l= and list the " +
		"MIME fields in h=.",
	When: func(e *evidence) bool { c := e.best; return c != nil && c.Length != nil },
	Fails: func(e *evidence) rule.Failures {
		c := e.best
		open := e.openFields(c.Signature, mimeFields)
		return rule.FailIf(len(open) > 0, "The DKIM signature of %s is limited by l= and does not cover %s. With another "+
			"Content-Type and appended text, mail programs show only the appended text.",
			c.domain(), strings.Join(open, ", ")).About(strings.Join(open, ", "))
	},
}}

func coveredOf(n int) string {
	switch n {
	case 0:
		return "none of them"
	case 1:
		return "only the lowest one"
	}
	return "only the lowest " + phrase.Count(n, "field")
}

func (c *cover) domain() string { return c.Domain.String() }

// candidates lists the signatures of the author's domain that could be valid.
func (e *evidence) candidates() (list []cover) {
	for i := range e.signatures {
		if s := &e.signatures[i]; s.Aligned != nil && *s.Aligned && s.parsed.Err() == nil {
			list = append(list, cover{Signature: s.parsed})
		}
	}
	return list
}

// verified takes the signatures that are valid in place of those that could be.
func (a *analysis) verified() {
	a.best = a.choose(kit.Map(a.live.Signatures(func(s *dkim.Result) bool {
		return (s.Result == dkim.Pass || s.Result == dkim.Unchecked) && a.live.Aligned(policy.DKIM, s.Domain)
	}), func(s *dkim.Result) cover { return cover{s.Signature, s.UnsignedBytes} }))
	a.lengthKnown = a.mayCoverAll() || len(a.lengthLimited()) > 0
}

// lengthLimited lists the signatures that leave the end of the body unsigned, unless one of the author's domain
// covers it all, or might, with an unknown key.
func (a *analysis) lengthLimited() []*dkim.Result {
	if c := a.best; c != nil && c.uncoveredBytes == 0 || a.mayCoverAll() {
		return nil
	}
	return a.live.Signatures(func(s *dkim.Result) bool { return s.UnsignedBytes > 0 })
}

// mayCoverAll reports whether a signature of the author's domain would cover the whole body if its key were known.
func (a *analysis) mayCoverAll() bool {
	return len(a.live.Signatures(func(s *dkim.Result) bool {
		return s.Result == dkim.TempError && s.UnsignedBytes == 0 && a.live.Aligned(policy.DKIM, s.Domain)
	})) > 0
}

// deliveredByAuthor reports whether SPF authenticates the server that delivered the message for the author's domain.
func (a *analysis) deliveredByAuthor() bool {
	return a.live != nil && a.live.SPFGave(eval.Pass) && a.live.SPFAligned() && !a.live.AnyoneMaySend()
}

// bodyRules are about how much of the body is signed.
var bodyRules = rule.Rules[*analysis]{{
	Code: "header.live.dkim.body_unsigned", Severity: diag.Warning, Weight: 15, Ref: "RFC 6376 section 8.2",
	Title: "DKIM signature covers nothing of the body (l=0)", Requirement: "DKIM signatures cover the body",
	Advice: "Do not rely on the text of the message, its links or its attachments: anyone who has one message of the " +
		"domain can send another text with its signature. The signer has to remove the l= tag.",
	When: func(a *analysis) bool { return hasBodyHash(a) },
	Fails: func(a *analysis) rule.Failures {
		return rule.FailEach(a.lengthLimited(), func(s *dkim.Result) rule.Failures {
			return rule.FailIf(*s.BodyLength == 0, "The DKIM signature of %s signs nothing of the body (l=0): its %s %s.",
				s.Domain, phrase.Count(s.UnsignedBytes, "byte"), a.origin()).About(s.Domain)
		})
	},
}, {
	Code: "header.live.dkim.appended", Severity: diag.Warning, Weight: 10, Ref: "RFC 6376 section 8.2",
	Title: "DKIM signature covers only the beginning of the body", Requirement: "DKIM signatures cover the whole body",
	Advice: "Do not rely on the end of the body. Have the signer remove the l= tag.",
	When:   hasBodyHash,
	Fails: func(a *analysis) rule.Failures {
		return rule.FailEach(a.lengthLimited(), func(s *dkim.Result) rule.Failures {
			return rule.FailIf(*s.BodyLength > 0,
				"The DKIM signature of %s covers only the beginning of the body (l=%d); the following %s %s.",
				s.Domain, *s.BodyLength, phrase.Count(s.UnsignedBytes, "byte"), a.origin()).About(s.Domain)
		})
	},
}, {
	Code: "header.live.dkim.reply_to", Severity: diag.Warning, Weight: 5, Ref: "RFC 6376 section 5.4.1",
	Title:       "Reply-To leads to another domain and is not signed",
	Requirement: "A Reply-To that leads to another domain is signed with DKIM",
	Advice: "Check the address before you reply: anyone who has the message can send it again with another Reply-To. " +
		"The signer has to list Reply-To in h=.",
	When: func(a *analysis) bool {
		return checked(a) && signedByAuthor(a.evidence) && a.fromDomain != "" && len(a.replyTo) > 0
	},
	Fails: func(a *analysis) rule.Failures {
		c := a.best
		unknown := a.live.SPFGave(eval.Temperror) && a.live.SPFAligned()
		if unknown || a.deliveredByAuthor() || a.unsigned(c.Signature, "Reply-To") == 0 {
			return nil
		}
		return rule.FailEach(a.replyTo, func(to message.Address) rule.Failures {
			elsewhere := !route.SameOrganization(to.Domain, a.fromDomain) && !a.listAnswers(to)
			return rule.FailIf(elsewhere, "The DKIM signature of %s does not cover Reply-To, and replies go to %s, another "+
				"domain than that in From.", c.domain(), phrase.Quote(to.Addr())).About("Reply-To")
		})
	},
}}

func hasBodyHash(a *analysis) bool {
	return anySignature(func(s *dkim.Result) bool { return s.BodyHashOK != nil })(a)
}

// origin describes where an unsigned part of the body comes from.
func (a *analysis) origin() string {
	if a.deliveredByAuthor() {
		return "came from a server that SPF authorizes, but can be replaced in copies of the message"
	}
	return "may come from anyone"
}

// listAnswers reports whether an address belongs to the mailing list that delivered the message, or may, if the names
// of the server are unknown.
func (a *analysis) listAnswers(to message.Address) bool {
	org := route.Organizational(to.Domain)
	listed := a.list.ID != "" || a.list.ListPost != ""
	return org != "" && listed && (a.live.NamesUnanswered() || route.Organizational(a.server()) == org)
}

// covered reports whether the visible parts of the message are authenticated for the author's domain: by the server
// that delivered it, or by one signature over From, Subject and the whole body.
func (a *analysis) covered() bool {
	if a.deliveredByAuthor() {
		return true
	}
	c := a.best
	return c != nil && c.uncoveredBytes == 0 && a.unsigned(c.Signature, "Subject") == 0 &&
		a.unsigned(c.Signature, "From") == 0
}

// open lists fields that are visible or define how the body is parsed and that a signature does not cover.
func (a *analysis) open(s *dkim.Signature) string {
	shown := []string{"Subject", "Date", "To", "Cc", "Reply-To", "Sender"}
	return strings.Join(a.openFields(s, append(shown, mimeFields...)), ", ")
}
