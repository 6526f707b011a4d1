package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"image/png"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/textutil"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/detector"
)

// printUtility prints the result of a text utility unchanged, so that it can be piped. Remarks about it go to
// standard error. It reports whether the reply was of that kind.
func (a *app) printUtility(o outcome) (bool, error) {
	out, ok := a.utilityResult(o.report)
	if !ok {
		return false, nil
	}
	for _, f := range slices.Concat(o.view.Findings, o.view.Better) {
		fmt.Fprintf(a.stderr, "diag: %s: %s\n", f.Severity, printable(f.Detail))
	}
	if o.view.State == diag.Bad {
		a.code = exitFinding
		fmt.Fprintf(a.stderr, "diag: %s: %s\n", printable(o.view.Headline), printable(o.view.Sub))
		return true, nil
	}
	if a.terminal && a.output == "" {
		out = printableLines(out)
	}
	return true, a.writeOut([]byte(out))
}

// utilityResult returns the result of a utility in the form that is useful to the next program.
func (a *app) utilityResult(report any) (string, bool) {
	decoded := func(text *string, inHex string) (string, bool) {
		if data, err := hex.DecodeString(inHex); err == nil && inHex != "" && !a.terminal {
			return string(data), true
		}
		return kit.OrZero(text) + inHex, true
	}
	switch r := report.(type) {
	case *textutil.CaseReport:
		return r.Result, true
	case *textutil.SlugReport:
		return r.Result, true
	case *textutil.Base64EncodeReport:
		return r.Result, true
	case *textutil.URLEncodeReport:
		return r.Result, true
	case *textutil.Base64DecodeReport:
		return decoded(r.Result, r.ResultHex)
	case *textutil.URLDecodeReport:
		return decoded(r.Result, r.ResultHex)
	case *textutil.JSONReport:
		return kit.OrZero(r.Result), true
	case *textutil.YAMLReport:
		return kit.OrZero(r.Result), true
	case *textutil.RegexReport:
		return kit.OrZero(r.Result), r.Result != nil || !r.Valid
	case *textutil.PasswordReport:
		return strings.Join(r.Passwords, "\n") + "\n", true
	case *textutil.HashReport:
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(r.Hashes)) {
			fmt.Fprintf(&b, "%-12s %s\n", name, r.Hashes[name])
		}
		return b.String(), true
	}
	return "", false
}

// printableLines is a result safe for a terminal, with its lines, that ends with one.
func printableLines(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(kit.Map(strings.Split(line, "\t"), printable), "\t")
	}
	return strings.Join(lines, "\n") + "\n"
}

var errNotQR = errors.New("the image cannot be shown on a terminal: name a file with --output")

// terminalQR draws the image of a QR code on a terminal, two modules of a column in one character.
func terminalQR(data []byte) (string, error) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return "", errNotQR
	}
	dark, err := gozxing.NewGlobalHistgramBinarizer(gozxing.NewLuminanceSourceFromImage(img)).GetBlackMatrix()
	if err != nil {
		return "", errNotQR
	}
	found, err := detector.NewDetector(dark).DetectWithoutHints()
	if err != nil {
		return "", errNotQR
	}
	const quiet = 2 // modules around the code; terminals have room of their own
	modules := found.GetBits()
	n := modules.GetWidth()
	at := func(x, y int) int {
		if modules.Get(x-quiet, y-quiet) { // light beyond its edges
			return 1
		}
		return 0
	}
	var b strings.Builder
	for y := 0; y < n+2*quiet; y += 2 {
		for x := range n + 2*quiet {
			// Light modules are drawn, for terminals are dark as a rule.
			b.WriteString([]string{"█", "▄", "▀", " "}[at(x, y)+2*at(x, y+1)])
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}
