//go:build race

package textutil_test

import "github.com/diagkit/diagkit/textutil"

// raceDetector is whether the tests run under the race detector, which makes the loops of the library
// some eighty times slower.
const raceDetector = true

// longText is the length, in bytes, of texts for tests of how time grows.
const longText = textutil.MaxText / 16
