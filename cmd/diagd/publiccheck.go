package main

import (
	"net/http"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/publiccheck"
	"github.com/diagkit/diagkit/metering/budget"
)

// servePublicCheck mounts the check for visitors, if configured. Stop ends the checks that run.
func (a *app) servePublicCheck(
	s checkedFlags, api *httpapi.API, bounds *budget.Budget, at string, parts map[string]http.Handler,
) (stop func()) {
	if !a.serving.publicCheck {
		return func() {}
	}
	checks := publiccheck.New(publiccheck.Config{
		API: api, Budget: bounds, TrustedProxies: s.proxies, PublicURL: a.publicURL(at), Clock: a.clock, Log: s.log,
	})
	parts["check"] = checks
	return checks.Close
}
