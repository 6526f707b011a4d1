package header

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

// copyRules are about the text that was submitted. They depend on no others.
var copyRules = rule.Rules[*evidence]{{
	Code: noFields, Severity: diag.Critical, NoScore: true, Category: factorForm, Ref: "RFC 5322 section 2.2",
	Title: "Text contains no header field", Requirement: "The text contains header fields",
	Advice: "Copy the whole header from the mail program, where it is called source, original or Internet headers.",
	Fails: failsIf("", func(e *evidence) bool { return len(e.msg.Fields) == 0 },
		"No line starts with a field name and a colon."),
}, {
	Code: "header.copy.damaged", Severity: diag.Info, Category: factorForm, Ref: "RFC 2045 section 6.7",
	Title: "Header was damaged by copying and was repaired", Requirement: "The header was not damaged by copying",
	Advice: "Copy the header from the source view of the mail program if anything looks wrong.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.damage, func(d Damage) rule.Failures {
			return rule.Fail("%s", damageTexts[d]).About(string(d))
		})
	},
}}

var formRules = rule.Rules[*evidence]{{
	Code: "header.from.missing", Severity: diag.Error, Weight: 10, Ref: "RFC 5322 section 3.6", Title: "No From field",
	Requirement: "There is a From field",
	Advice: "Copy the whole header. If the field is really missing, fix the sending program: most servers reject " +
		"such messages.",
	Fails: lacks("From", "must"),
}, {
	Code: "header.date.missing", Severity: diag.Error, Weight: 5, Ref: "RFC 5322 section 3.6", Title: "No Date field",
	Requirement: "There is a Date field",
	Advice:      "Copy the whole header. If the field is really missing, fix the sending program.",
	Fails:       lacks("Date", "must"),
}, {
	Code: "header.message_id.missing", Severity: diag.Warning, Weight: 2, Ref: "RFC 5322 section 3.6.4",
	Title: "No Message-ID field", Requirement: "There is a Message-ID field",
	Advice: "Have the sending program add a Message-ID: large providers count its absence against a message.",
	Fails:  lacks("Message-ID", "should"),
}, {
	Code: "header.fields.duplicate", Severity: diag.Warning, Weight: 3, Ref: "RFC 5322 section 3.6",
	Title: "Field that may appear only once is repeated", Requirement: "No field is repeated that may appear only once",
	Advice: "Have the sending program write the field once: mail programs differ in which one they display and check.",
	Fails: func(e *evidence) rule.Failures {
		var added []string // reported by another rule
		if c := e.best; c != nil {
			added = e.added(c)
		}
		return rule.FailEach(e.duplicates(), func(name string) rule.Failures {
			reportedElsewhere := strings.EqualFold(name, "From") || slices.Contains(added, name)
			return rule.FailIf(!reportedElsewhere, "The field %s appears %d times.", name, e.count(name)).About(name)
		})
	},
}, {
	Code: "header.lines.malformed", Severity: diag.Warning, Weight: 3, Ref: "RFC 5322 section 2.2",
	Title: "Malformed line that is not a header field", Requirement: "Every line is part of a header field",
	Advice: "Check whether copying broke the line. If it was sent like this, many servers treat it as the start of " +
		"the body.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.badLines(), func(l message.Line) rule.Failures {
			return rule.Fail("Line %d is neither a field with a colon nor the continuation of one: %s.", l.Line,
				quoted(message.Unfold(l.Raw)))
		})
	},
}, {
	Code: "header.lines.long", Severity: diag.Warning, Weight: 2, Ref: "RFC 5322 section 2.1.1",
	Title: "Line is longer than 998 bytes", Requirement: "No line is longer than 998 bytes",
	Advice: "Have the sending program fold long fields: servers may break or reject such lines, which breaks DKIM " +
		"signatures.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.fieldsWhere(isLong), func(f *message.Field) rule.Failures {
			name := clip(f.Name)
			return rule.Fail("The field %s in line %d contains a line of %d bytes.", name, f.Line, f.LongestLine()).About(name)
		})
	},
}, {
	Code: "header.size.large", Severity: diag.Warning, Weight: 2, Ref: "RFC 5321 section 4.5.3.1",
	Title:       "Header exceeds the limits and was not read in full",
	Requirement: "The header is within the usual size limits",
	Advice: "Find out what keeps adding fields, usually a mail loop or a filter. Many servers reject headers over " +
		"100 KiB.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.msg.Excess) > 0,
			"%d bytes of the header were not read, because it has more than %d fields or %d bytes.",
			len(e.msg.Excess), message.MaxFields, message.MaxHeaderBytes)
	},
}, {
	Code: "header.characters.control", Severity: diag.Warning, Weight: 2, Ref: "RFC 5322 section 2.2",
	Title: "Control character in a field", Requirement: "No field contains control characters",
	Advice: "Remove NUL and other control characters where the field is generated: servers reject or alter them.",
	Fails:  inFields(hasControl, "There are control characters in %s."),
}, {
	Code: "header.characters.raw", Severity: diag.Warning, Weight: 2, Ref: "RFC 5322 section 2.2",
	Title: "Characters that are neither ASCII nor UTF-8", Requirement: "All characters are ASCII or UTF-8",
	Advice: "Encode the text as in RFC 2047, such as =?utf-8?Q?M=C3=BCller?=. Otherwise mail programs have to guess " +
		"the character set.",
	Fails: inFields(func(f *message.Field) bool { return !utf8.Valid(f.Raw) },
		"There are bytes of an undeclared character set in %s."),
}}

var damageTexts = map[Damage]string{
	message.QuotedPrintable: "The text was copied in quoted-printable form, with =3D for = and = at line ends; it was " +
		"decoded before reading. What looks broken in it is not a fault of the message.",
	message.Summary:      "The mail program had put a table above the header; it was removed.",
	message.Quoted:       "Every line began with \">\", as in a reply; the quote marks were removed before reading.",
	message.Indented:     "Every line began with white space; it was removed before reading.",
	message.DoubleSpaced: "Every line was followed by a blank line; these were removed before reading.",
	message.HTML: "The text was copied from the source of a web page, with &lt; for <; it was decoded " +
		"before reading.",
	message.Escaped:    "Line ends were written as \\n; they were restored before reading.",
	message.Unindented: "Folded lines had lost the white space before them; it was restored before reading.",
}

func lacks(name, must string) func(*evidence) rule.Failures {
	return failsIf(name, func(e *evidence) bool { return e.count(name) == 0 },
		"The header has no "+name+" field, which every message "+must+" have.")
}

// inFields fails if there are fields of a kind; the text describes their content.
func inFields(is func(*message.Field) bool, text string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		bad := e.fieldsWhere(is)
		return rule.FailIf(len(bad) > 0, text, names(bad))
	}
}

// onceFields are those that occur at most once (RFC 5322 section 3.6, RFC 2045 section 3, RFC 2183 section 2,
// RFC 2369 section 3, RFC 2919 section 3, RFC 8058 section 3.1).
var onceFields = []string{"Date", "From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Message-ID", "In-Reply-To",
	"References", "Subject", "MIME-Version", "Content-Type", "Content-Transfer-Encoding", "Content-Disposition", "List-Id",
	"List-Unsubscribe", "List-Unsubscribe-Post"}

// duplicates lists the fields that may occur once and occur more often, by their names as sent.
func (e *evidence) duplicates() []string {
	list := []string{}
	for _, name := range onceFields {
		if all := e.msg.All(name); len(all) > 1 {
			list = append(list, all[0].Name)
		}
	}
	return list
}

// missing lists the fields that every message must have, and Message-ID, which it should have (RFC 5322 section 3.6).
func (e *evidence) missing() []string {
	list := []string{}
	for _, name := range []string{"From", "Date", "Message-ID"} {
		if e.count(name) == 0 {
			list = append(list, name)
		}
	}
	return list
}

// maxLine is how long a line may be in bytes, without its end (RFC 5322 section 2.1.1).
const maxLine = 998

func isLong(f *message.Field) bool { return len(f.Raw) > maxLine && f.LongestLine() > maxLine }

const maxNamed = 20

func (e *evidence) fieldsWhere(is func(*message.Field) bool) []*message.Field {
	var list []*message.Field
	for i := range e.msg.Fields {
		if f := &e.msg.Fields[i]; len(list) < maxNamed && is(f) {
			list = append(list, f)
		}
	}
	return list
}

// hasControl reports whether a field has control characters that are not allowed in a header (RFC 5322 section 4.1
// calls them obsolete).
func hasControl(f *message.Field) bool {
	for i, c := range f.Raw {
		stray := c == '\r' && i+1 < len(f.Raw) && f.Raw[i+1] != '\n' && f.Raw[i+1] != '\r'
		if stray || c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7F {
			return true
		}
	}
	return false
}

// hasDirection reports whether a text has characters that reverse its direction or cannot be seen, which make the
// displayed text differ from the written one (UTR #36 section 2.5).
func hasDirection(text string) bool {
	return strings.ContainsAny(text, "\u202A\u202B\u202D\u202E\u2066\u2067\u2068\u200B\u2060\uFEFF")
}

func names(fields []*message.Field) string {
	list := kit.Map(fields, func(f *message.Field) string { return clip(f.Name) })
	return strings.Join(view.Unique(list), ", ")
}

// badLines returns the malformed lines, without the line that mailbox files have before a message.
func (e *evidence) badLines() []message.Line {
	if _, ok := e.msg.Mailbox(); ok {
		return e.msg.Malformed[1:]
	}
	return e.msg.Malformed
}

// listRules are about the fields of newsletters and lists (RFC 2369, RFC 8058), which large providers require of bulk
// senders.
var listRules = rule.Rules[*evidence]{{
	Code: "header.list.unsubscribe.syntax", Severity: diag.Warning, Weight: 3, Ref: "RFC 2369 section 2",
	Title: "List-Unsubscribe has no URI in angle brackets", Requirement: "List-Unsubscribe has a URI in angle brackets",
	Advice: "Write List-Unsubscribe: <https://…>, <mailto:…>.",
	When:   func(e *evidence) bool { return !lacksUnsubscribe(e) },
	Fails: func(e *evidence) rule.Failures {
		good := strings.Contains(e.list.Unsubscribe, "<") &&
			slices.ContainsFunc([]string{"https", "http", "mailto"}, e.hasURI)
		return rule.FailIf(!good, "List-Unsubscribe is %s.", quoted(e.list.Unsubscribe)).About("List-Unsubscribe")
	},
}, {
	Code: "header.list.one_click.alone", Severity: diag.Warning, Weight: 2, Ref: "RFC 8058 section 3.1",
	Title:       "List-Unsubscribe-Post without List-Unsubscribe",
	Requirement: "List-Unsubscribe-Post is accompanied by List-Unsubscribe",
	Advice:      "Add a List-Unsubscribe field with an https URI.", When: offersPost,
	Fails: failsIf("List-Unsubscribe-Post", lacksUnsubscribe,
		"One-click unsubscribe is announced, but there is no URI for it."),
}, {
	Code: "header.list.one_click.https", Severity: diag.Warning, Weight: 4,
	DependsOn: []diag.Code{"header.list.one_click.alone"}, Ref: "RFC 8058 section 3.1",
	Title: "One-click unsubscribe without an https URI", Requirement: "One-click unsubscribe has an https URI",
	Advice: "Add an https URI to List-Unsubscribe that unsubscribes on a POST request. A mailto URI cannot do that.",
	When:   offersPost,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.hasURI("https"),
			"List-Unsubscribe-Post announces one-click unsubscribe, but List-Unsubscribe has no https URI, only %s.",
			phrase.Quote(strings.Join(e.list.URIs, ", "))).About("List-Unsubscribe")
	},
}, {
	Code: "header.list.one_click.value", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"header.list.one_click.alone"}, Ref: "RFC 8058 section 3.1",
	Title:       "List-Unsubscribe-Post has an invalid value",
	Requirement: "List-Unsubscribe-Post is List-Unsubscribe=One-Click",
	Advice:      "Set the field to exactly List-Unsubscribe-Post: List-Unsubscribe=One-Click.", When: offersPost,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.list.Post != oneClickPost, "List-Unsubscribe-Post is %s.",
			quoted(e.list.Post)).About("List-Unsubscribe-Post")
	},
}, {
	Code: "header.list.one_click.unsigned", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"header.list.one_click.https"}, Ref: "RFC 8058 section 4",
	Title:       "One-click unsubscribe is not covered by a valid DKIM signature",
	Requirement: "A DKIM signature covers the one-click unsubscribe fields",
	Advice: "Add list-unsubscribe and list-unsubscribe-post to the signed fields (h=). Otherwise receivers ignore " +
		"one-click unsubscribe.",
	When: offersPost,
	Fails: failsIf("List-Unsubscribe-Post", func(e *evidence) bool { return !e.oneClickSigned() },
		"No valid DKIM signature covers both List-Unsubscribe and List-Unsubscribe-Post."),
}, {
	Code: "header.list.one_click.missing", Severity: diag.Info,
	DependsOn: []diag.Code{"header.list.unsubscribe.syntax"},
	Ref:       "RFC 8058 section 3.1, sender guidelines of Google and Yahoo",
	Title:     "Newsletter without one-click unsubscribe", Requirement: "Newsletters offer one-click unsubscribe",
	Advice: "Add List-Unsubscribe-Post: List-Unsubscribe=One-Click and an https URI. Google and Yahoo require it " +
		"from bulk senders.",
	When: func(e *evidence) bool { return e.list.Unsubscribe != "" && !e.mailingList() },
	Fails: failsIf("List-Unsubscribe-Post", func(e *evidence) bool { return !offersPost(e) },
		"The header has List-Unsubscribe, but not List-Unsubscribe-Post."),
}, {
	Code: "header.list.unsubscribe.missing", Severity: diag.Info,
	Ref: "RFC 2369 section 3.2, sender guidelines of Google and Yahoo", Title: "Bulk mail without List-Unsubscribe",
	Requirement: "Bulk mail has List-Unsubscribe",
	Advice:      "Add List-Unsubscribe with an https URI. Recipients who cannot unsubscribe report messages as spam.",
	When:        (*evidence).bulk,
	Fails: failsIf("List-Unsubscribe", lacksUnsubscribe,
		"The message is marked as bulk mail but has no List-Unsubscribe field."),
}}

func offersPost(e *evidence) bool       { return e.list.Post != "" }
func lacksUnsubscribe(e *evidence) bool { return e.list.Unsubscribe == "" }

// oneClickPost is the only value of List-Unsubscribe-Post (RFC 8058 section 3.1).
const oneClickPost = "List-Unsubscribe=One-Click"

const maxURIs = 20

// readList reads the fields of mailing lists and newsletters (RFC 2369, RFC 2919, RFC 8058).
func (e *evidence) readList() {
	m := e.msg
	text := func(name string) string { return e.text(name, maxShown) }
	l := List{
		Unsubscribe: e.text("List-Unsubscribe", maxRaw), Post: text("List-Unsubscribe-Post"),
		ID: text("List-Id"), ListPost: text("List-Post"), Archive: text("List-Archive"),
		Precedence: strings.ToLower(text("Precedence")), FeedbackID: text("Feedback-ID"),
		ResentFields: e.count("Resent-From"),
	}
	uris := message.MessageIDs(m.Value("List-Unsubscribe"))
	l.URIs = kit.Map(uris[:min(len(uris), maxURIs)], func(uri string) string {
		return phrase.Clip(strings.Join(strings.Fields(uri), ""), maxRaw)
	})
	auto, _, _ := strings.Cut(strings.ToLower(m.Value("Auto-Submitted")), ";")
	l.AutoReply = auto != "" && strings.TrimSpace(auto) != "no"
	e.list = l
	e.list.OneClick = l.Post == oneClickPost && e.hasURI("https") && e.oneClickSigned()
}

func (e *evidence) hasURI(scheme string) bool {
	return slices.ContainsFunc(e.list.URIs, func(uri string) bool { return hasPrefixFold(uri, scheme+":") })
}

// oneClickSigned reports whether one signature covers both fields (RFC 8058 section 4). If servers recorded which
// signatures pass, it must be one of these.
func (e *evidence) oneClickSigned() bool {
	passing := e.passing("dkim")
	known := slices.ContainsFunc(e.results("dkim"), func(r result) bool { return r.Value != "temperror" })
	return slices.ContainsFunc(e.signatures, func(s signature) bool {
		passed := !known || slices.ContainsFunc(passing, func(r result) bool {
			return r.Domain() == "" || route.SameOrganization(r.Domain(), s.Domain)
		})
		return passed && s.signs("List-Unsubscribe") && s.signs("List-Unsubscribe-Post")
	})
}

func (e *evidence) bulk() bool {
	return e.list.Unsubscribe != "" || e.list.ID != "" || e.list.FeedbackID != "" ||
		e.list.Precedence == "bulk" || e.list.Precedence == "list"
}

// mailingList reports whether the message came through a mailing list that forwards the mail of its members, which
// mostly breaks their signatures.
func (e *evidence) mailingList() bool {
	return e.list.ListPost != "" || e.list.Precedence == "list" || e.list.ID != "" && len(e.chain.Sets) > 0
}
