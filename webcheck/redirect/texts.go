package redirect

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/diagkit/diagkit/diag"
)

// texts are the verdicts in words, where a rule does not say them as well.
var texts = diag.Texts{
	string(diag.Valid): {
		Headline: "URL leads to a working page",
		Sub:      "Nothing on the way keeps visitors from it.",
	},
	"url.redirect.stopped": {
		Headline: "URL redirects further than was to be followed",
		Sub:      "Ask with a greater max_redirects to see where it leads in the end.",
	},
	"url.script": {
		Headline: "URL leads to a page that may redirect by a script",
		Sub:      "Scripts are not run here, nor by crawlers and link previews. Let the server redirect instead.",
	},
}

// texts are those of this evidence: an error page is named by its status.
func (e *evidence) texts() diag.Texts {
	end := e.end()
	if end == nil || end.hop.StatusCode < http.StatusBadRequest {
		return texts
	}
	t := maps.Clone(texts)
	t["url.status"] = diag.Text{
		Headline: fmt.Sprintf("URL leads to an error page (status %d)", end.hop.StatusCode),
		Sub:      "Visitors do not find what they look for. Correct the link or the redirect, or restore the page.",
	}
	return t
}
