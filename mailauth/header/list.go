package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/header/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

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
