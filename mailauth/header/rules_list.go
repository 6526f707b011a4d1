package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/header/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

// listRules are about what newsletters and lists write (RFC 2369, RFC 8058), which large providers demand of bulk
// senders.
var listRules = diag.Rules[*evidence]{{
	Code: "header.list.unsubscribe.syntax", Severity: diag.Warning, Weight: 3, Ref: "RFC 2369 section 2",
	Title: "List-Unsubscribe has no URI in angle brackets", Requirement: "List-Unsubscribe has a URI in angle brackets",
	Advice: "Write List-Unsubscribe: <https://…>, <mailto:…>.", When: offersUnsubscribe,
	Fails: func(e *evidence) diag.Failures {
		good := strings.Contains(e.list.Unsubscribe, "<") && slices.ContainsFunc([]string{"https", "http", "mailto"}, e.hasURI)
		return diag.FailIf(!good, "List-Unsubscribe is %s.", quoted(e.list.Unsubscribe)).About("List-Unsubscribe")
	},
}, {
	Code: "header.list.one_click.alone", Severity: diag.Warning, Weight: 2, Ref: "RFC 8058 section 3.1",
	Title:       "List-Unsubscribe-Post without List-Unsubscribe",
	Requirement: "List-Unsubscribe-Post is accompanied by List-Unsubscribe",
	Advice:      "Add a List-Unsubscribe field with an https URI.", When: offersPost,
	Fails: failsIf("List-Unsubscribe-Post", lacksUnsubscribe, "One-click unsubscribe is announced, but there is no URI for it."),
}, {
	Code: "header.list.one_click.https", Severity: diag.Warning, Weight: 4,
	DependsOn: []diag.Code{"header.list.one_click.alone"}, Ref: "RFC 8058 section 3.1",
	Title: "One-click unsubscribe without an https URI", Requirement: "One-click unsubscribe has an https URI",
	Advice: "Add an https URI to List-Unsubscribe that unsubscribes on a POST request. A mailto URI cannot do that.",
	When:   offersPost,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!e.hasURI("https"),
			"List-Unsubscribe-Post announces one-click unsubscribe, but List-Unsubscribe has no https URI, only %s.",
			diag.Quote(strings.Join(e.list.URIs, ", "))).About("List-Unsubscribe")
	},
}, {
	Code: "header.list.one_click.value", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"header.list.one_click.alone"}, Ref: "RFC 8058 section 3.1",
	Title:       "List-Unsubscribe-Post has an invalid value",
	Requirement: "List-Unsubscribe-Post is List-Unsubscribe=One-Click",
	Advice:      "Set the field to exactly List-Unsubscribe-Post: List-Unsubscribe=One-Click.", When: offersPost,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.list.Post != oneClickPost, "List-Unsubscribe-Post is %s.",
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
	Ref:       "RFC 8058 section 3.1; sender guidelines of Google and Yahoo",
	Title:     "Newsletter without one-click unsubscribe", Requirement: "Newsletters offer one-click unsubscribe",
	Advice: "Add List-Unsubscribe-Post: List-Unsubscribe=One-Click and an https URI. Google and Yahoo require it " +
		"from bulk senders.",
	When: func(e *evidence) bool { return e.list.Unsubscribe != "" && !e.mailingList() },
	Fails: failsIf("List-Unsubscribe-Post", func(e *evidence) bool { return !offersPost(e) },
		"The header has List-Unsubscribe, but not List-Unsubscribe-Post."),
}, {
	Code: "header.list.unsubscribe.missing", Severity: diag.Info,
	Ref: "RFC 2369 section 3.2; sender guidelines of Google and Yahoo", Title: "Bulk mail without List-Unsubscribe",
	Requirement: "Bulk mail has List-Unsubscribe",
	Advice:      "Add List-Unsubscribe with an https URI. Recipients who cannot unsubscribe report messages as spam.",
	When:        (*evidence).bulk,
	Fails:       failsIf("List-Unsubscribe", lacksUnsubscribe, "The message is marked as bulk mail but has no List-Unsubscribe field."),
}}

func offersPost(e *evidence) bool        { return e.list.Post != "" }
func offersUnsubscribe(e *evidence) bool { return e.list.Unsubscribe != "" }
func lacksUnsubscribe(e *evidence) bool  { return e.list.Unsubscribe == "" }

// oneClickPost is the only value of List-Unsubscribe-Post (RFC 8058 section 3.1).
const oneClickPost = "List-Unsubscribe=One-Click"

const maxURIs = 20

// readList reads what mailing lists and newsletters write (RFC 2369, RFC 2919, RFC 8058).
func (e *evidence) readList() {
	m := e.msg
	text := func(name string) string { return e.text(name, maxShown) }
	l := List{
		Unsubscribe: e.text("List-Unsubscribe", maxRaw), URIs: []string{}, Post: text("List-Unsubscribe-Post"),
		ID: text("List-Id"), ListPost: text("List-Post"), Archive: text("List-Archive"),
		Precedence: strings.ToLower(text("Precedence")), FeedbackID: text("Feedback-ID"), ResentFields: e.count("Resent-From"),
	}
	uris := message.MessageIDs(m.Value("List-Unsubscribe"))
	for _, uri := range uris[:min(len(uris), maxURIs)] {
		l.URIs = append(l.URIs, diag.Clip(strings.Join(strings.Fields(uri), ""), maxRaw))
	}
	auto, _, _ := strings.Cut(strings.ToLower(m.Value("Auto-Submitted")), ";")
	l.AutoReply = auto != "" && strings.TrimSpace(auto) != "no"
	e.list = l
	e.list.OneClick = l.Post == oneClickPost && e.hasURI("https") && e.oneClickSigned()
}

func (e *evidence) hasURI(scheme string) bool {
	return slices.ContainsFunc(e.list.URIs, func(uri string) bool { return hasPrefixFold(uri, scheme+":") })
}

// oneClickSigned reports whether one signature covers both fields (RFC 8058 section 4). Where servers wrote down
// which signatures pass, it must be one of these.
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

// mailingList reports whether the message came through a mailing list that forwards what its members write, which
// mostly breaks their signatures.
func (e *evidence) mailingList() bool {
	return e.list.ListPost != "" || e.list.Precedence == "list" || e.list.ID != "" && len(e.chain.Sets) > 0
}
