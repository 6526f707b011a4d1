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
		Headline: "URL leads to a working page", Sub: "Nothing on the way keeps visitors from reaching it.",
	},
	"url.redirect.stopped": {
		Headline: "URL redirects further than max_redirects allows", Sub: "Raise max_redirects to see where it leads.",
	},
	"url.script": {
		Headline: "URL leads to a page that may redirect with a script",
		Sub:      "Neither this check nor crawlers and link previews run scripts. Redirect with status 301 or 308 instead.",
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
		Sub:      "Visitors do not find what they are looking for. Correct the link or the redirect, or restore the page.",
	}
	return t
}
