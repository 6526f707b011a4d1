package phishing

import (
	"net/http"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/webcheck/page"
	"github.com/diagkit/diagkit/webcheck/phishing/lookalike"
)

type evidence struct {
	*anatomy          // of the URL that was given
	end      *anatomy // of the URL to which redirects lead, if that is another site; else nil
	targets  *lookalike.Targets
	now      time.Time
	asked    bool // whether anybody was asked
	sources  []SourceResult

	site         *fetch.Result // nil if it was not fetched
	page         *page.Page    // nil if there is none: no answer, or no HTML
	body         []byte
	ages         []age             // of the registrable domains of both ends
	titleBrand   *lookalike.Target // that the page names, unless it is its owner's
	claimed      bool              // whether the page says that it is that brand's
	hiddenFrames []string
}

// An age is how long a domain has been registered.
type age struct {
	domain diag.Domain
	report *registry.DomainReport // nil if nothing could be learned
}

// What is asked beside the URL itself.
const (
	sourcePage         diag.Source = "page"
	sourceRegistration diag.Source = "registration"
	sourceReputation   diag.Source = "reputation"
)

// Unanswered lists what was asked and not answered.
func (e *evidence) Unanswered() (open []diag.Source) {
	if !e.asked {
		return nil
	}
	if e.site == nil || e.site.Err != nil && e.site.Err.Unanswered {
		open = append(open, sourcePage)
	}
	if slices.ContainsFunc(e.ages, func(a age) bool { return a.report == nil }) {
		open = append(open, sourceRegistration)
	}
	if slices.ContainsFunc(e.sources, SourceResult.silent) {
		open = append(open, sourceReputation)
	}
	return open
}

// last is the anatomy of the site whose page was read.
func (e *evidence) last() *anatomy {
	if e.end != nil {
		return e.end
	}
	return e.anatomy
}

// places are the sites that the URL rules look at: the one that was given, and the one to which it leads.
func (e *evidence) places() []*anatomy {
	if e.end != nil {
		return []*anatomy{e.anatomy, e.end}
	}
	return []*anatomy{e.anatomy}
}

// answered reports whether the end of the redirects was reached, and answered with whatever status.
func (e *evidence) answered() bool {
	return e.site != nil && e.site.Final() != nil && (e.site.Err == nil || e.site.Final().RedirectType == "")
}

// served reports whether the server served the page, all of it, as opposed to an error.
func (e *evidence) served() bool {
	return e.answered() && e.site.Err == nil && e.site.Final().StatusCode < http.StatusBadRequest
}
