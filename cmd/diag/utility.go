package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/textutil"
)

// printUtility prints what a text utility made of its text, as it is, so that it can be piped. What is to be said about
// it goes to standard error. It reports whether the reply was of that kind.
func (a *app) printUtility(o outcome) (bool, error) {
	out, ok := a.result(o.report)
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
		out = terminalText(out)
	}
	return true, a.writeOut([]byte(out))
}

// result is the result of a utility in the form in which it is of use to the next program.
func (a *app) result(report any) (string, bool) {
	decoded := func(text *string, inHex string) (string, bool) {
		if data, err := hex.DecodeString(inHex); err == nil && inHex != "" && !a.terminal {
			return string(data), true
		}
		return diag.OrZero(text) + inHex, true
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
		return diag.OrZero(r.Result), true
	case *textutil.YAMLReport:
		return diag.OrZero(r.Result), true
	case *textutil.RegexReport:
		return diag.OrZero(r.Result), r.Result != nil || !r.Valid
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

// terminalText is a result safe for a terminal, with its lines, that ends with one.
func terminalText(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(diag.Map(strings.Split(line, "\t"), printable), "\t")
	}
	return strings.Join(lines, "\n") + "\n"
}

var errNotQR = errors.New("the image cannot be drawn on a terminal: name a file with --output")

// terminalQR draws the image of a QR code on a terminal, two modules of a column in one character.
func terminalQR(data []byte) (string, error) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return "", errNotQR
	}
	modules, err := modulesOf(img)
	if err != nil {
		return "", err
	}
	const quiet = 2 // modules around the code; terminals have room of their own
	n := len(modules)
	at := func(x, y int) int {
		if x, y = x-quiet, y-quiet; x >= 0 && y >= 0 && x < n && y < n && modules[y][x] {
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

// modulesOf reads the modules of an upright QR code without noise: the run of dark pixels at its first
// corner is the seven modules of a finder pattern (ISO/IEC 18004 section 6.3.3).
func modulesOf(img image.Image) ([][]bool, error) {
	dark := func(x, y int) bool {
		r, g, b, alpha := img.At(x, y).RGBA()
		return alpha > 0x8000 && r+g+b < 3*0x8000
	}
	width, height := img.Bounds().Dx(), img.Bounds().Dy() // a PNG begins at 0, 0
	first, run := 0, 0
	for first < width*height && !dark(first%width, first/width) {
		first++
	}
	x0, y0 := first%width, first/width
	for x0+run < width && dark(x0+run, y0) {
		run++
	}
	last := width - 1 // of the finder pattern at the other corner
	for last > x0 && !dark(last, y0) {
		last--
	}
	if run < 7 {
		return nil, errNotQR
	}
	size := float64(run) / 7
	n := int(float64(last-x0+1)/size + 0.5)
	if n < 21 || n > 177 || (n-17)%4 != 0 { // versions 1 to 40
		return nil, errNotQR
	}
	modules := make([][]bool, n)
	for y := range n {
		for x := range n {
			at := func(i int) int { return int((float64(i) + 0.5) * size) }
			modules[y] = append(modules[y], dark(x0+at(x), y0+at(y)))
		}
	}
	return modules, nil
}
