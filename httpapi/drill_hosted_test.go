//go:build !race

package httpapi

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	hostedmemory "github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/stretchr/testify/require"
)

// drillProfile is the id of the profile of a drill, and drillOwner whose it is.
const (
	drillProfile = "spf_drilldrilldrilldrilldrilla"
	drillOwner   = hostedspf.Owner("drill")
)

// hostedCases are the operations on hosted SPF profiles: each domain of a scenario of SPF, with its own record as the
// source.
func hostedCases(own []drillCase) (list []drillCase) {
	for _, c := range own {
		record := regexp.MustCompile(`(?mi)^` + regexp.QuoteMeta(subjectOf(c.request)) + `\. .*TXT "(v=spf1 .*)"$`).FindStringSubmatch(c.world.Zone)
		domain, err := diag.ParseDomain(subjectOf(c.request))
		host, _ := diag.ParseName("k3v2.spf.example.net")
		if c.ep.Name() != "spf/lookup" || record == nil || err != nil {
			continue
		}
		for _, ep := range endpoints {
			if !ep.Operation.hosted {
				continue
			}
			request := []byte(`{}`)
			if strings.Contains(ep.Path, "{id}") {
				request = fmt.Appendf(nil, `{"id":%q}`, drillProfile)
			}
			list = append(list, drillCase{
				name: c.name + " by " + ep.Method + " " + ep.Name(), world: c.world, ep: ep, request: request,
				profile: &hostedspf.Profile{
					ID: drillProfile, Owner: drillOwner, Domain: domain, Name: "drill", Status: hostedspf.Active,
					SourceRecord: strings.ReplaceAll(record[1], `" "`, ""), IncludeHost: host, IntervalSeconds: hostedspf.DefaultInterval,
				},
			})
		}
	}
	return list
}

// hostedProfiles has the profile of a run as its first resolution left it; of a run without one it is empty.
type hostedProfiles struct {
	store hostedspf.Store
	kept  hostedspf.Profile
}

// fill resolves the profile once, in the world as it is before anything is broken, and publishes its records.
func (h *hostedProfiles) fill(r *drillRun) {
	if r.c.profile == nil {
		return
	}
	h.kept = *r.c.profile
	h.kept.CreatedAt, h.kept.UpdatedAt, h.kept.NextResolveAt = r.start, r.start, r.start
	h.store = h.copied(r)
	access := hostedspf.Access{Store: h.store, Owner: drillOwner}
	_, err := hostedspf.Resolve(r.t.Context(), r.world.NewEnv(), access, hostedspf.ResolveRequest{ID: drillProfile})
	require.NoError(r.t, err)
	h.kept, err = h.store.Profile(r.t.Context(), drillProfile)
	require.NoError(r.t, err)
	for _, record := range h.kept.Records {
		r.world.Zone(record.Name + ". 300 IN TXT " + quotedStrings(record.Value))
	}
}

// copied is a store that holds the profile alone.
func (h *hostedProfiles) copied(r *drillRun) hostedspf.Store {
	store := hostedmemory.New(hostedmemory.Config{Clock: r.world.Now})
	require.NoError(r.t, store.Create(r.t.Context(), h.kept))
	return store
}

// access returns the profiles of a request: all resolutions begin with the same profile.
func (h *hostedProfiles) access(r *drillRun) hostedspf.Access {
	store := h.store
	if r.c.profile != nil && r.c.ep.Method != http.MethodGet {
		store = h.copied(r)
	}
	return hostedspf.Access{Store: store, Owner: drillOwner}
}

// lost lists what a failed resolution removed from a profile: what was published stays (CONTRACT 6).
func (h *hostedProfiles) lost(reply *drillReply) (faults []string) {
	status, _ := valueAt(reply.all, []string{"resolution", "status"})
	record, _ := valueAt(reply.all, []string{"profile", "flattened_record"})
	if status == "failed" && record != h.kept.FlattenedRecord {
		faults = append(faults, fmt.Sprintf("the resolution failed, and %q became %q", h.kept.FlattenedRecord, record))
	}
	if removed, _ := valueAt(reply.all, []string{"resolution", "removed"}); status == "changed" {
		if list, _ := removed.([]any); len(list) > 0 {
			faults = append(faults, fmt.Sprintf("the resolution removed %v", list))
		}
	}
	return faults
}
