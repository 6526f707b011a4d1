//go:build !race

package httpapi

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
)

// EachDomain calls a function with each domain that a scenario is about, in the scenario's world.
func EachDomain(t *testing.T, f func(t *testing.T, env *diag.Env, domain string)) {
	files := scenarioFiles(t)
	seen := map[string]bool{}
	for _, path := range sortedKeys(files) {
		file := files[path]
		subject := cmp.Or(subjectOf(file.Request), authorOf(file.Request), hostOf(file.target()), file.target())
		world, err := json.Marshal(file.World)
		if _, invalid := diag.ParseDomain(subject); err != nil || invalid != nil || file.World.Zone == "" ||
			!strings.Contains(subject, ".") || seen[subject+string(world)] {
			continue
		}
		seen[subject+string(world)] = true
		t.Run(strings.TrimSuffix(path, ".json"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, file.World.build(t).Env(), subject) })
		})
	}
}
