package main

import (
	"net/http"

	"github.com/diagkit/diagkit/cmd/buildinfo"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
)

// agents serves the tools for AI agents.
func (a *app) agents(s checkedFlags, api *httpapi.API, publicURL string) http.Handler {
	return agent.New(agent.Config{
		API: api, PublicURL: publicURL, Clock: a.clock, Version: buildinfo.Read().Version, Log: s.log,
	})
}
