package fetch

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// maxShown bounds the URLs that a view shows, in bytes.
const maxShown = 120

// Draw adds to v a drawing with a row for each hop. If failed is not zero, it also shows why the chain ended
// at last, the last URL requested.
func Draw(v *view.View, hops []Hop, last string, failed Error) *view.Drawing {
	d := v.Rows(view.Chain, "Requests", "URL", "answer", "time")
	for _, h := range hops {
		answer := fmt.Sprint(h.StatusCode) + view.TextIf(h.RedirectType == MetaRefresh, " meta refresh") +
			view.TextIf(h.RedirectType == HeaderRefresh, " Refresh field")
		d.StatusRow(cmp.Or(view.MarkIf(h.StatusCode >= http.StatusBadRequest, view.Error, ""),
			view.MarkIf(h.RedirectType == "" && h.StatusCode < http.StatusMultipleChoices, view.Good, "")),
			phrase.Clip(h.URL, maxShown), answer, fmt.Sprintf("%d ms", h.LatencyMS))
	}
	n := len(d.Rows)
	switch {
	case failed.Code == "":
	case n > 0 && (hops[n-1].URL == last || failed.Code == Loop || failed.Code == TooManyRedirects):
		d.Rows[n-1].Mark, d.Rows[n-1].Note = view.Error, failed.Message
	default:
		d.Marked(view.Error, failed.Message, phrase.Clip(last, maxShown), "none", "")
	}
	return d
}

// Answer returns the status and the versions of HTTP and TLS, for people.
func (h *Hop) Answer() string {
	status := fmt.Sprint(h.StatusCode, " ", phrase.Clip(h.StatusText, maxShown))
	return view.Join(strings.TrimSpace(status), h.HTTPVersion, h.TLSVersion)
}
