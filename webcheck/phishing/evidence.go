package phishing

import (
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/webcheck/page"
	"github.com/diagkit/diagkit/webcheck/phishing/lookalike"
)

// evidence is all that the rules look at.
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
