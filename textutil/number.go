package textutil

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

// A numberFault says what a JSON number loses when it is read as an IEEE 754 double, as JavaScript does
// (RFC 8259 section 6).
type numberFault uint8

const (
	numberExact  numberFault = 0
	numberUnsafe numberFault = 1 // an integer outside of ±(2^53-1): one beside it is the same double
	numberDigits numberFault = 2 // a fraction with more digits than a double holds
	numberRange  numberFault = 3 // infinite or zero as a double
)

// numberFaults are the findings about a number: its code in JSON and in YAML that becomes JSON, and texts of which a
// detail has the number and what the double is, and an advice the number as a string.
var numberFaults = map[numberFault]struct{ json, yaml, title, detail, advice string }{
	numberUnsafe: {"text.json.number.precision", "text.yaml.number.precision", "Integer beyond 2^53-1",
		"%s is outside of ±(2^53-1), the integers that readers with doubles, such as JavaScript, hold exactly: they %s.",
		"Write it as a string%s if each digit matters, as in an identifier."},
	numberDigits: {"text.json.number.digits", "text.yaml.number.digits", "More digits than a double holds",
		"%s has more digits than readers with doubles, such as JavaScript, hold: they %s.",
		"Write it as a string%s if each digit matters."},
	numberRange: {"text.json.number.range", "text.yaml.number.range", "Number beyond a double",
		"%s is beyond what readers with doubles, such as JavaScript, hold: they %s.",
		"Write it as a string%s if its value matters."},
}

// maxSafe is 2^53-1, the greatest integer that RFC 8259 section 6 calls interoperable.
const maxSafe = "9007199254740991"

// faultOfNumber returns what is lost of a number of JSON, and the double that it becomes.
func faultOfNumber(text string) (numberFault, float64) {
	whole, fraction, exponent := yaml.NumberParts(strings.TrimPrefix(text, "-"))
	if len(whole)+len(fraction) < len(maxSafe) && exponent == "" {
		return numberExact, 0
	}
	f, err := strconv.ParseFloat(text, 64)
	digits := strings.Trim(whole+strings.TrimPrefix(fraction, "."), "0")
	switch {
	case err != nil, f == 0 && digits != "":
		return numberRange, f
	case fraction == "" && exponent == "":
		if len(whole) > len(maxSafe) || len(whole) == len(maxSafe) && whole > maxSafe {
			return numberUnsafe, f
		}
	case losesDigits(math.Abs(f), digits):
		return numberDigits, f
	}
	return numberExact, f
}

// losesDigits reports whether a double has other digits than those it was read from, as far as these go. The digits of
// the double 0.1 are its own, be they written out to 17 or to 50.
func losesDigits(f float64, digits string) bool {
	const (
		always = 15  // digits that each double holds
		exact  = 767 // digits that the exact value of a double has at most
	)
	switch n := len(digits); {
	case n <= always:
		return false
	case n > exact || n > 17 && (f < 1e-30 || f > 1e30): // writing it out is costly, and not customary
		return true
	}
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(f, 'e', len(digits)-1, 64), "e")
	return strings.Replace(mantissa, ".", "", 1) != digits
}

// readAs returns a number as parsers with doubles read it.
func readAs(text string, fault numberFault, f float64) string {
	layout := byte('f')
	if size := math.Abs(f); size < 1e-6 || size >= 1e21 { // as JavaScript prints it
		layout = 'e'
	}
	switch read := strconv.FormatFloat(f, layout, -1, 64); {
	case fault == numberRange:
		return "take it as infinite or zero, or refuse it"
	case read == text:
		return "cannot distinguish it from the neighboring integers"
	default:
		return "read " + read
	}
}

// addNumber adds a finding about a number of JSON, or of YAML that becomes JSON, if something is lost of it.
func (f *findings) addNumber(text string, inYAML bool, at *Location) {
	fault, double := faultOfNumber(text)
	if fault == numberExact || !f.hasRoom() {
		return
	}
	row := numberFaults[fault]
	read := readAs(text, fault, double)
	finding := Finding{Code: row.json, Severity: Warning, Title: row.title,
		Detail: fmt.Sprintf(row.detail, clip(text), read), Reference: "RFC 8259 section 6", Location: at}
	if inYAML {
		finding.Code = row.yaml
	}
	if fault == numberDigits || !strings.HasPrefix(read, "read") && fault == numberUnsafe {
		finding.Severity = Info
	}
	quoted := ""
	if clip(text) == text {
		quoted = ", " + strconv.Quote(text) + ","
	}
	finding.Advice = fmt.Sprintf(row.advice, quoted)
	f.add(finding)
}
