//go:build !race

package httpapi

// thorough says that tests which take minutes under the race detector play all of their cases: `.ci/run` runs
// them once more without it.
const thorough = true
