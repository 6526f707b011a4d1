package decode

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

const iso = "ISO/IEC 18004:2015 "

var rules = append(imageRules, contentRules...)

// imageRules examine the image and how codes are printed.
var imageRules = diag.Rules[*evidence]{
	{
		Code: "qr.image.unreadable", Severity: diag.Error,
		Title: "Image cannot be read", Requirement: "The image can be read",
		Advice: "Send a PNG, JPEG, GIF, WebP or BMP file that opens in a browser.",
		Fails: func(e *evidence) diag.Failures {
			if e.broken == nil {
				return nil
			}
			why := e.broken.Error()
			return diag.Fail("%s%s.", strings.ToUpper(why[:1]), why[1:])
		},
	},
	{
		Code: "qr.code.missing", Severity: diag.Warning, StateIfFailed: diag.Missing,
		DependsOn: []diag.Code{"qr.image.unreadable"}, Ref: iso + "section 6.3",
		Title: "No QR code found", Requirement: "The image holds a QR code",
		Advice: "Crop the image to the code with a light margin around it, and make sure that it is sharp, evenly lit and at least 3 pixels " +
			"a module. Micro QR, Data Matrix, Aztec and bar codes are not read.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.codes) == 0, "In %d by %d pixels there is no QR code that can be read.", e.image.Width, e.image.Height)
		},
	},
	{
		Code: "qr.code.more", Severity: diag.Info, DependsOn: []diag.Code{"qr.code.missing"},
		Title: "More codes than asked for", Requirement: "All codes that were found are in the reply",
		Advice: "Raise max_codes, or cut the image into parts where 50 are not enough.",
		Fails: func(e *evidence) diag.Failures {
			if e.all > maxCodes {
				return diag.Fail("The image holds more than %d codes, of which the reply has %d.", maxCodes, len(e.codes))
			}
			return diag.FailIf(e.all > len(e.codes), "The image holds %d codes, of which the reply has the first %d.", e.all, len(e.codes))
		},
	},
	{
		Code: "qr.search.limit", Severity: diag.Warning, DependsOn: []diag.Code{"qr.image.unreadable"},
		Title: "Search ended at its limit; codes may be missing", Requirement: "All of the image was searched",
		Advice: "Cut the image into parts, and send them one by one.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.cut, "The image has more patterns that may belong to codes than are tried.")
		},
	},
	{
		Code: "qr.image.animated", Severity: diag.Warning, DependsOn: []diag.Code{"qr.image.unreadable"},
		Title: "Only the first frame of the animation was read", Requirement: "The image has one frame",
		Advice: "Send the other frames as images of their own if they show codes.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.animated, "The image is an animation; the codes of its further frames are not in the reply.")
		},
	},
	each("qr.code.damaged", diag.Warning, iso+"section 7.5",
		"Code is close to unreadable", "Less than half of the error correction is used up",
		"Print the code again, larger or with more contrast, and keep logos and folds away from it; if it is a photo, take a sharper one.",
		func(c *Code) string {
			if c.ErrorsCorrected == 0 || 2*c.ErrorsCorrected <= c.ErrorsCorrigible {
				return ""
			}
			return fmt.Sprintf("needed %d of the %d corrections that its error correction allows", c.ErrorsCorrected, c.ErrorsCorrigible)
		}),
	each("qr.code.quiet", diag.Warning, iso+"section 6.3.8",
		"Quiet zone is missing", "A light margin surrounds each code",
		"Leave 4 modules free on all sides of the code: without them many readers do not find it.",
		func(c *Code) string {
			if c.symbol == nil || c.symbol.Quiet >= 2 {
				return ""
			}
			return fmt.Sprintf("has a light margin of %d modules on one side", int(c.symbol.Quiet))
		}),
	each("qr.code.inverted", diag.Warning, iso+"section 6.2",
		"Code is inverted", "Modules are dark on a light background",
		"Print dark modules on a light background: some readers support nothing else.",
		func(c *Code) string { return iff(c.Inverted, "has light modules on a dark background") }),
	each("qr.code.mirrored", diag.Warning, iso+"section 6.2", "Code is mirrored", "No code is a mirror image",
		"Turn the image over: some readers do not know mirrored codes.",
		func(c *Code) string { return iff(c.Mirrored, "is a mirror image") }),
	{
		Code: "qr.append.incomplete", Severity: diag.Warning, DependsOn: []diag.Code{"qr.code.missing"},
		Ref:         iso + "section 8",
		Title:       "Part of a text that is spread over several codes",
		Requirement: "All parts of texts that are spread over several codes are there",
		Advice:      "Send an image that shows all parts, and join their texts in the order of their numbers.",
		Fails:       incomplete,
	},
}

// each makes a rule of a property of one code. What fails completes a sentence that begins with the code; empty is
// fulfilled.
func each(code diag.Code, severity diag.Severity, ref, title, requirement, advice string, fails func(*Code) string) diag.Rule[*evidence] {
	r := diag.Rule[*evidence]{Code: code, Severity: severity, DependsOn: []diag.Code{"qr.code.missing"}, Ref: ref, Title: title,
		Requirement: requirement, Advice: advice}
	r.Fails = func(e *evidence) (all diag.Failures) {
		for i, c := range e.codes {
			if text := fails(c); text != "" {
				all = append(all, diag.Fail("%s %s.", e.name(i), text).About(target(i))...)
			}
		}
		if len(all) < 2 {
			return all
		}
		return all.Together("%s The same holds for %s.", all[0].Detail, diag.Count(len(all)-1, "more code"))
	}
	return r
}

// name is how a sentence calls a code.
func (e *evidence) name(i int) string {
	if len(e.codes) == 1 {
		return "The code"
	}
	return "Code " + strconv.Itoa(i+1)
}

func target(i int) string { return "codes[" + strconv.Itoa(i) + "]" }

func iff(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// incomplete names the parts that are missing of each text that is spread over several codes.
func incomplete(e *evidence) (all diag.Failures) {
	type text struct{ parts, parity int }
	have := map[text]map[int]bool{}
	for i, c := range e.codes {
		if c.Append == nil {
			continue
		}
		of := text{c.Append.Parts, c.Append.Parity}
		if have[of] == nil {
			have[of] = map[int]bool{}
			for _, other := range e.codes {
				if a := other.Append; a != nil && a.Parts == of.parts && a.Parity == of.parity {
					have[of][a.Part] = true
				}
			}
			var missing []string
			for part := 1; part <= of.parts; part++ {
				if !have[of][part] {
					missing = append(missing, strconv.Itoa(part))
				}
			}
			if len(missing) > 0 {
				all = append(all, diag.Fail("%s is part %d of %d; missing: %s.", e.name(i), c.Append.Part, of.parts,
					strings.Join(missing, ", ")).About(target(i))...)
			}
		}
	}
	return all
}

// texts are what the verdict says in words, where title and advice of the gravest finding do not say it better.
var texts = diag.Texts{
	"valid": {Headline: "QR code read", Sub: "No fault was found in what was read of the image."},
}
