package phishing

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// scope lists what a verdict can rest on, and whether it was examined.
func (e *evidence) scope() []diag.ScopePart {
	parts := []diag.ScopePart{{Part: "URL", State: diag.Examined}, e.addressPart(), e.pagePart(), e.certificatePart()}
	parts = append(parts, e.registrationParts()...)
	return append(parts, diag.ScopePart{Part: "reputation", State: diag.LeftOut, Reason: "no source is configured"})
}

const notVisited = "fetch is false"

func (e *evidence) addressPart() diag.ScopePart {
	p := diag.ScopePart{Part: "address", State: diag.Examined}
	switch {
	case !e.visited:
		p.State, p.Reason = diag.LeftOut, notVisited
	case e.site == nil, e.site.Err != nil && e.site.Err.Unanswered && e.site.Err.Code == fetch.DNS:
		p.State, p.Reason = diag.NotAnswered, "the DNS gave no answer"
	}
	return p
}

func (e *evidence) pagePart() diag.ScopePart {
	p := diag.ScopePart{Part: "page", State: diag.Examined}
	switch {
	case !e.visited:
		p.State, p.Reason = diag.LeftOut, notVisited
	case e.site == nil, e.site.Err != nil && e.site.Err.Unanswered:
		p.State, p.Reason = diag.NotAnswered, "the site did not answer"
	case !e.answered():
		p.State, p.Reason = diag.LeftOut, "the site could not be reached"
	case !e.served():
		p.State, p.Reason = diag.LeftOut, "the server answered "+e.status()
	case e.page == nil:
		p.State, p.Reason = diag.LeftOut, "the answer is not an HTML page"
	case e.scripted():
		p.State, p.Reason = diag.LeftOut, "a script makes it, and none was run"
	}
	return p
}

func (e *evidence) certificatePart() diag.ScopePart {
	p := diag.ScopePart{Part: "certificate", State: diag.Examined}
	switch {
	case certified(e):
	case !e.visited:
		p.State, p.Reason = diag.LeftOut, notVisited
	case e.site != nil && e.site.URL.Scheme() == "http":
		p.State, p.Reason = diag.LeftOut, "the page was served over http"
	default:
		p.State, p.Reason = diag.LeftOut, "no TLS connection was made"
	}
	return p
}

// registrationParts reports for each domain whether its registry answered.
func (e *evidence) registrationParts() (parts []diag.ScopePart) {
	for _, a := range e.ages {
		p := diag.ScopePart{Part: "registration of " + a.domain.String(), State: diag.Examined}
		if a.report == nil || a.report.Registered == nil {
			p.State, p.Reason = diag.NotAnswered, "no registry gave a usable answer"
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		parts = append(parts, diag.ScopePart{Part: "registration", State: diag.LeftOut,
			Reason: "the host has none of its own"})
	}
	return parts
}

// confirmed reports whether the registry says that the domain is registered.
func (a *age) confirmed() bool {
	return a.report != nil && a.report.Registered != nil && *a.report.Registered
}

// hasKnownOwners reports whether something is known of the site's owner: each site on the way has a registration that
// its registry confirms, or belongs to a brand that is known.
func (e *evidence) hasKnownOwners() bool {
	return !slices.ContainsFunc(e.places(), func(a *anatomy) bool {
		confirmed := slices.ContainsFunc(e.ages, func(g age) bool {
			return g.domain.String() == a.registered && g.confirmed()
		})
		return !confirmed && a.owner == nil
	})
}
