package fetch

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// maxShown bounds the URLs that a view shows, in bytes.
const maxShown = 120

// Chain draws a row for each request, and one for a last that got no answer.
func Chain(hops []Hop, last string, failed Error) view.Drawing {
	d := view.Drawing{Kind: view.Chain, Title: "Requests", Columns: []string{"URL", "answer", "time"}}
	for i := range hops {
		h, mark := &hops[i], view.None
		switch {
		case h.StatusCode >= http.StatusBadRequest:
			mark = view.Error
		case h.RedirectType == "" && h.StatusCode < http.StatusMultipleChoices:
			mark = view.Good
		}
		d.Marked(mark, "", diag.Clip(h.URL, maxShown), h.answer(), fmt.Sprintf("%d ms", h.LatencyMS))
	}
	n := len(d.Rows)
	switch {
	case failed.Code == "":
	case n > 0 && (hops[n-1].URL == last || failed.Code == Loop || failed.Code == TooManyRedirects):
		d.Rows[n-1].Mark, d.Rows[n-1].Note = view.Error, failed.Message
	default:
		d.Marked(view.Error, failed.Message, diag.Clip(last, maxShown), "none", "")
	}
	return d
}

// answer is the status, and by what other means than that the hop leads on.
func (h *Hop) answer() string {
	switch h.RedirectType {
	case MetaRefresh:
		return fmt.Sprint(h.StatusCode, " meta refresh")
	case HeaderRefresh:
		return fmt.Sprint(h.StatusCode, " Refresh field")
	}
	return fmt.Sprint(h.StatusCode)
}

// Answer is the status in words and the protocol.
func (h *Hop) Answer() string {
	status := fmt.Sprint(h.StatusCode, " ", diag.Clip(h.StatusText, maxShown))
	return view.Join(strings.TrimSpace(status), h.HTTPVersion, h.TLSVersion)
}
