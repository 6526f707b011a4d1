//go:build !race

package textutil_test

import "github.com/diagkit/diagkit/textutil"

// raceDetector is whether the tests run under the race detector.
const raceDetector = false

// longText is the length, in bytes, of texts for tests of how time grows.
const longText = textutil.MaxText
