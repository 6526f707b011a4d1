package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/metering"
)

const (
	// logPageSize is how many rows of the log a page has.
	logPageSize = 60
	// maxScannedActs is how many rows are read for a page of one kind.
	maxScannedActs = 2000
)

// A logKind is a kind of rows: those whose action begins with one of its words.
type logKind struct {
	Name, Title string
	words       []string
}

var logKinds = []logKind{
	{"keys", "API keys", []string{"key"}},
	{"domains", "Domains", []string{"watch"}},
	{"channels", "Channels", []string{"channel"}},
	{"members", "Members and sessions", []string{"member", "session", "enter", "leave"}},
	{"shares", "Shared links", []string{"share"}},
	{"spf", "Hosted SPF", []string{"spf"}},
	{"billing", "Billing and account", []string{"billing", "account", "plan"}},
}

func (k logKind) has(act metering.Act) bool {
	word, _, _ := strings.Cut(act.What, " ")
	return slices.Contains(k.words, word)
}

// A logPage is a part of the log.
type logPage struct {
	Acts          []metering.Act
	Newest, Older string // addresses of pages
	Days          int    // for which rows are kept
	Kinds         []logKind
	Kind          string // the filter; empty for all
}

func (d *dashboard) showLog(r *http.Request) (any, error) {
	end, err := parseCursor(r, "before")
	if err != nil {
		return nil, err
	}
	page := logPage{Days: int(metering.ActTime / (24 * time.Hour)), Kinds: logKinds, Kind: r.URL.Query().Get("kind")}
	f := metering.ActFilter{Account: sessionOf(r).Account.ID, Before: end, Limit: logPageSize + 1}
	kind := slices.IndexFunc(logKinds, func(k logKind) bool { return k.Name == page.Kind })
	if kind >= 0 {
		f.Limit = maxScannedActs
	}
	acts, err := metering.Acts(r.Context(), d.Store, f)
	var scanned time.Time // how far back, where there may be more
	if len(acts) == f.Limit {
		scanned = acts[len(acts)-1].At
	}
	if kind >= 0 {
		acts = slices.DeleteFunc(acts, func(a metering.Act) bool { return !logKinds[kind].has(a) })
	}
	n, last := cutPage(len(acts), logPageSize, func(i int) time.Time { return acts[i].At })
	if last.IsZero() {
		last = scanned
	}
	page.Acts = acts[:n]
	page.Newest, page.Older = cursorLinks(r, "before", last)
	return page, err
}

// actTexts are the actions of the log in words. Others, such as those of commands, are shown by their names.
var actTexts = map[string]string{
	"account set":           "Changed the account",
	"account create":        "Created the account",
	"billing credit":        "Issued a credit note",
	"billing void":          "Voided an invoice",
	"channel confirm":       "Confirmed the address of a channel",
	"channel create":        "Created a channel",
	"channel disable":       "Disabled a channel",
	"channel enable":        "Enabled a channel",
	"channel remove":        "Removed a channel",
	"channel replay":        "Resent notifications",
	"channel rotate":        "Rotated the secret of a channel",
	"channel test":          "Tested a channel",
	"enter":                 "Signed in",
	"enter another account": "Switched to another account",
	"key create":            "Created an API key",
	"key revoke":            "Revoked an API key",
	"key rotate":            "Rotated an API key",
	"leave":                 "Signed out",
	"member add":            "Invited a member",
	"member link":           "Created a sign-in link for a member",
	"member remove":         "Removed a member",
	"member role":           "Changed the role of a member",
	"session end":           "Ended sessions",
	"share create":          "Shared a result",
	"share withdraw":        "Revoked a shared link",
	"spf create":            "Created a hosted SPF profile",
	"spf remove":            "Removed a hosted SPF profile",
	"spf resolve":           "Resolved a hosted SPF profile",
	"watch add":             "Added a domain",
	"watch remove":          "Removed a domain",
	"watch set":             "Changed the settings of a domain",
}

// actText is an action of the log in words.
func actText(what string) string {
	if text, known := actTexts[what]; known {
		return text
	}
	return phrase.Capitalize(what)
}
