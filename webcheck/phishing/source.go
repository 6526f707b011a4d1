package phishing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A Source of reputation knows URLs that others have reported.
type Source interface {
	// ID names the source in requests and reports, such as "urlhaus"; Name is for people.
	ID() string
	Name() string

	// Lookup returns the kinds of threat for which the source lists a URL or its host, such as "phishing"; none if
	// it lists neither. It must return when the context ends, and may be called by several goroutines at once.
	Lookup(ctx context.Context, env *diag.Env, u diag.URL) (threats []string, err error)
}

// SourceStatus is the outcome of asking a source.
type SourceStatus string

// The statuses.
const (
	sourceMatch    SourceStatus = "match"
	sourceNoMatch  SourceStatus = "no_match"
	SourceTimeout  SourceStatus = "timeout"
	sourceError    SourceStatus = "error"
	sourceDisabled SourceStatus = "disabled" // nobody was to be asked
)

// Values lists the statuses.
func (SourceStatus) Values() []string {
	return diag.Values(sourceMatch, sourceNoMatch, SourceTimeout, sourceError, sourceDisabled)
}

// A SourceResult is what one source says.
type SourceResult struct {
	ID          string       `json:"id" doc:"id of the source"`
	Name        string       `json:"name" doc:"its name"`
	Status      SourceStatus `json:"status" doc:"whether it lists the URL"`
	ThreatTypes []string     `json:"threat_types" doc:"for what it lists it"`
	LatencyMS   int64        `json:"latency_ms" min:"0" doc:"how long the answer took"`
}

// silent reports whether the source did not say.
func (r SourceResult) silent() bool { return r.Status == SourceTimeout || r.Status == sourceError }

// The bounds of asking sources.
const (
	maxSources    = 20
	maxThreats    = 10
	sourceTimeout = 5 * time.Second
)

// chosen returns the sources that a request asks for.
func (c *checker) chosen(ids []string) ([]Source, error) {
	all := c.Sources[:min(len(c.Sources), maxSources)]
	if len(ids) == 0 {
		return all, nil
	}
	var list []Source
	for i, id := range ids {
		at := slices.IndexFunc(all, func(s Source) bool { return s.ID() == id })
		if at < 0 {
			return nil, diag.Invalid(sourceField(i), "%.60q is not configured as a reputation source here", id)
		}
		if !slices.Contains(list, all[at]) {
			list = append(list, all[at])
		}
	}
	return list, nil
}

func sourceField(i int) string { return fmt.Sprintf("sources[%d]", i) }

// ask asks one source.
func ask(ctx context.Context, env *diag.Env, s Source, u diag.URL) SourceResult {
	r := SourceResult{ID: s.ID(), Name: s.Name(), Status: sourceNoMatch, ThreatTypes: []string{}}
	began := env.Now()
	bounded, cancel := diag.Within(ctx, sourceTimeout)
	defer cancel()
	threats, err := s.Lookup(bounded, env, u)
	r.LatencyMS = max(0, env.Now().Sub(began).Milliseconds())
	switch {
	case errors.Is(err, context.DeadlineExceeded) || bounded.Err() != nil && err != nil:
		r.Status = SourceTimeout
	case err != nil:
		r.Status = sourceError
	case len(threats) > 0:
		r.Status, r.ThreatTypes = sourceMatch, append(r.ThreatTypes, threats[:min(len(threats), maxThreats)]...)
	}
	return r
}
