package header

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/message"
)

// oneClickPost is the only value of List-Unsubscribe-Post (RFC 8058 section 3.1).
const oneClickPost = "List-Unsubscribe=One-Click"

// maxURIs bounds the addresses of List-Unsubscribe that are kept.
const maxURIs = 20

// readList reads what mailing lists and newsletters write (RFC 2369, RFC 2919, RFC 8058).
func (e *evidence) readList() {
	m := e.msg
	text := func(name string) string {
		if f := m.First(name); f != nil {
			return clip(f.Text(), maxShown)
		}
		return ""
	}
	l := List{
		URIs: []string{}, ID: text("List-Id"), ListPost: text("List-Post"), Archive: text("List-Archive"),
		Precedence: strings.ToLower(text("Precedence")), FeedbackID: text("Feedback-ID"),
		ResentFields: len(m.All("Resent-From")),
	}
	if f := m.First("List-Unsubscribe"); f != nil {
		l.Unsubscribe = clip(f.Text(), maxRaw)
		for _, uri := range message.MessageIDs(f.Value()) {
			if len(l.URIs) < maxURIs {
				l.URIs = append(l.URIs, clip(strings.Join(strings.Fields(uri), ""), maxRaw))
			}
		}
	}
	l.Post = text("List-Unsubscribe-Post")
	auto, _, _ := strings.Cut(strings.ToLower(m.Value("Auto-Submitted")), ";")
	l.AutoReply = auto != "" && strings.TrimSpace(auto) != "no"
	e.list = l
	e.list.OneClick = l.Post == oneClickPost && e.hasHTTPSUnsubscribe() && e.oneClickSigned()
}

// hasURI reports whether List-Unsubscribe has an address of a scheme.
func (e *evidence) hasURI(scheme string) bool {
	return slices.ContainsFunc(e.list.URIs, func(uri string) bool {
		return len(uri) > len(scheme) && strings.EqualFold(uri[:len(scheme)], scheme) && uri[len(scheme)] == ':'
	})
}

func (e *evidence) hasHTTPSUnsubscribe() bool { return e.hasURI("https") }

// oneClickSigned reports whether one signature covers both fields (RFC 8058 section 4). Where servers wrote down
// which signatures pass, it must be one of these.
func (e *evidence) oneClickSigned() bool {
	passing := e.passing("dkim")
	known := slices.ContainsFunc(e.results("dkim"), func(r result) bool { return r.Value != "temperror" })
	return slices.ContainsFunc(e.signatures, func(s signature) bool {
		passed := !known || slices.ContainsFunc(passing, func(r result) bool {
			return r.Domain() == "" || sameOrganization(r.Domain(), s.Domain)
		})
		return passed && s.signs("List-Unsubscribe") && s.signs("List-Unsubscribe-Post")
	})
}

// bulk reports whether the message says that it was sent to many: newsletters and lists.
func (e *evidence) bulk() bool {
	return e.list.Unsubscribe != "" || e.list.ID != "" || slices.Contains([]string{"bulk", "list"},
		e.list.Precedence) ||
		e.list.FeedbackID != ""
}

// mailingList reports whether the message came through a mailing list that forwards what its members write, which
// mostly breaks their signatures.
func (e *evidence) mailingList() bool {
	return e.list.ListPost != "" || e.list.Precedence == "list" || e.list.ID != "" && len(e.chain.Sets) > 0
}
