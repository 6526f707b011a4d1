package headers

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/dunglas/httpsfv"
)

// features are the Permissions-Policy of a page: a structured dictionary whose values are * or lists of self and
// quoted origins (Permissions Policy section 5.2, RFC 9651).
type features struct {
	sent    bool
	err     error
	lists   map[string][]string // the allowlist of each feature, as far as browsers know its entries; * is literal
	order   []string
	ignored []entry
}

// An entry is one of an allowlist that browsers ignore.
type entry struct {
	feature, text, why string
	meant              string // empty if it is not known, or nothing
}

func readFeatures(values []string) features {
	f := features{sent: len(values) > 0, lists: map[string][]string{}}
	if !f.sent {
		return f
	}
	dict, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		f.err = err
		return f
	}
	for _, name := range dict.Names() {
		member, _ := dict.Get(name)
		f.order = append(f.order, name)
		f.lists[name] = []string{}
		switch m := member.(type) {
		case httpsfv.Item:
			f.add(name, m, true)
			f.addParameters(name, m.Params)
		case httpsfv.InnerList:
			f.addParameters(name, m.Params)
			for _, item := range m.Items {
				f.add(name, item, len(m.Items) == 1)
			}
		}
	}
	return f
}

// The limits of what is reported, and of what is examined for misspellings and corrected: there are some 130 features.
const (
	maxIgnored  = 20
	maxFeatures = 200
)

// add takes one entry of the allowlist of a feature. What browsers do not know they leave out.
func (f *features) add(name string, item httpsfv.Item, alone bool) {
	e := entry{feature: name}
	switch v := item.Value.(type) {
	case httpsfv.Token:
		e.text = string(v)
		switch {
		case v == "*" || v == "self":
			f.lists[name] = append(f.lists[name], e.text)
			return
		case v == "none" && alone: // allows no origin, as was meant
			return
		case v == "src":
			e.why = "counts in the allow attribute of a frame only"
		default:
			e.why, e.meant = "is not in double quotes", quotedOrigin(e.text)
		}
	case string:
		e.text = `"` + v + `"`
		if u, err := url.Parse(v); err == nil && u.Scheme != "" && u.Host != "" {
			f.lists[name] = append(f.lists[name], e.text)
			return
		}
		if e.why, e.meant = "is not an origin, which begins with https://", quotedOrigin(v); v == "self" || v == "*" {
			e.why, e.meant = "is in double quotes", v
		}
	default:
		return
	}
	if len(f.ignored) < maxIgnored {
		f.ignored = append(f.ignored, e)
	}
}

// addParameters adds the parameters behind semicolons, as features do in Feature-Policy.
func (f *features) addParameters(name string, params *httpsfv.Params) {
	if params == nil {
		return
	}
	for _, key := range params.Names() {
		if knownFeatures()[key] && len(f.ignored) < maxIgnored {
			f.ignored = append(f.ignored,
				entry{feature: name, text: key, why: "follows a semicolon and so is a parameter, not a feature"})
		}
	}
}

// quotedOrigin writes an origin, or the name of a host, as an entry of an allowlist; empty if it is something else.
func quotedOrigin(s string) string {
	if !strings.Contains(s, "://") && strings.Contains(s, ".") {
		s = "https://" + s
	}
	s = strings.TrimSuffix(s, "/")
	scheme, host, _ := strings.Cut(s, "://")
	plain := strings.Trim(strings.ToLower(host), nameLetters+".:*") == "" && strings.Trim(host, "-.:*") != ""
	if scheme != "https" && scheme != "http" || !plain {
		return ""
	}
	return `"` + s + `"`
}

// String writes the policy as a header field.
func (f *features) String() string {
	var parts []string
	for _, name := range f.order {
		list := "(" + strings.Join(f.lists[name], " ") + ")"
		if len(f.lists[name]) == 1 && f.lists[name][0] == "*" {
			list = "*"
		}
		parts = append(parts, name+"="+list)
	}
	return strings.Join(parts, ", ")
}

// closed reports whether a feature is switched off for everyone.
func (f *features) closed(name string) bool {
	list, ok := f.lists[name]
	return ok && len(list) == 0
}

// misspelled returns the names that no browser knows, each with the feature that was probably meant. Names that are
// unlike any feature may be those of features to come.
func (f *features) misspelled() (found [][2]string) {
	for _, name := range f.order[:min(len(f.order), maxFeatures)] {
		if meant := nearestFeature(name); meant != "" && f.lists[meant] == nil && len(found) < maxIgnored {
			found = append(found, [2]string{name, meant})
		}
	}
	return found
}

func nearestFeature(name string) string {
	if knownFeatures()[name] || len(name) < 5 || strings.HasPrefix(name, "ch-") {
		return ""
	}
	best, least := "", 3
	if len(name) < 9 {
		least = 2
	}
	plain := strings.ReplaceAll(name, "_", "-")
	for known := range knownFeatures() {
		if d := phrase.Distance(plain, known); d < least || d == least && best != "" && known < best {
			best, least = known, d
		}
	}
	return best
}

// corrected is the policy as it was probably meant, or nothing if that is not known.
func (f *features) corrected() string {
	g := features{lists: map[string][]string{}, order: slices.Clone(f.order)}
	if len(f.order) > maxFeatures {
		return ""
	}
	for i, name := range f.order {
		list := slices.Clone(f.lists[name])
		for _, e := range f.ignored {
			if e.feature == name && e.meant == "" && e.text != "src" {
				return ""
			}
			if e.feature == name && e.meant != "" && !slices.Contains(list, e.meant) {
				list = append(list, e.meant)
			}
		}
		g.order[i] = cmp.Or(nearestFeature(name), name)
		if g.lists[g.order[i]] != nil {
			return ""
		}
		g.lists[g.order[i]] = append([]string{}, list...)
	}
	return g.valid()
}

// valid is the policy as a header field, if browsers understand all of it.
func (f *features) valid() string {
	s := f.String()
	again := readFeatures([]string{s})
	if s == "" || again.err != nil || len(again.ignored)+len(again.misspelled()) > 0 || again.String() != s {
		return ""
	}
	return s
}

// repaired reads a policy that is not a dictionary, be it in the syntax of Feature-Policy, "geolocation 'self'; camera
// 'none'", and writes it as one; empty if what was meant is not known.
func repaired(text string) string {
	f := features{lists: map[string][]string{}}
	for _, part := range splitFeatures(unseparated().ReplaceAllString(text, ", $1")) {
		name, list, ok := repairFeature(part)
		if _, twice := f.lists[name]; !ok || twice || len(f.order) == maxFeatures {
			return ""
		}
		f.order, f.lists[name] = append(f.order, name), list
	}
	return f.valid()
}

// unseparated finds a feature that nothing but space separates from the one before it.
var unseparated = kit.Regexp(`[ \t]+([A-Za-z][A-Za-z_-]*=)`)

// splitFeatures divides a policy at commas and semicolons outside of parentheses and double quotes.
func splitFeatures(text string) (parts []string) {
	depth, quoted, begin := 0, false, 0
	for i, c := range []byte(text + ",") {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted && i < len(text):
		case c == '(':
			depth++
		case c == ')':
			depth = max(0, depth-1)
		case (c == ',' || c == ';') && (depth == 0 || i == len(text)):
			if part := strings.TrimSpace(text[begin:i]); part != "" {
				parts = append(parts, part)
			}
			begin = i + 1
		}
	}
	return parts
}

const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_"

// repairFeature reads a name and its allowlist, however they are written.
func repairFeature(part string) (name string, list []string, ok bool) {
	lower := strings.ToLower(part)
	rest := strings.TrimLeft(lower, nameLetters)
	name = strings.ReplaceAll(lower[:len(lower)-len(rest)], "_", "-")
	separated := strings.TrimLeft(rest, "=: \t")
	words := strings.FieldsFunc(separated, func(r rune) bool { return strings.ContainsRune(" \t,()", r) })
	list = []string{}
	if name == "" || rest != "" && !strings.ContainsAny(rest[:1], "=: \t(") {
		return "", nil, false
	}
	for _, w := range words {
		switch w = strings.Trim(w, "'\"\u2018\u2019\u201c\u201d"); {
		case w == "none" && len(words) == 1:
		case w == "self" || w == "*":
			list = append(list, w)
		case quotedOrigin(w) != "":
			list = append(list, quotedOrigin(w))
		default:
			return "", nil, false
		}
	}
	if rest == "" { // in Feature-Policy an allowlist that is left out is that of the page itself
		list = []string{"self"}
	}
	return name, list, true
}

// knownFeatures are the features that browsers know, knew or are to know (W3C, policy controlled features; 2026-11).
var knownFeatures = kit.Words(`accelerometer all-screens-capture ambient-light-sensor aria-notify attribution-reporting
	autofill autoplay battery bluetooth browsing-topics camera captured-surface-control clipboard-read clipboard-write
	compute-pressure controlled-frame conversion-measurement cross-origin-isolated deferred-fetch deferred-fetch-minimal
	device-attributes digital-credentials-create digital-credentials-get direct-sockets direct-sockets-private
	display-capture document-domain document-write encrypted-media execution-while-not-rendered
	execution-while-out-of-viewport fenced-unpartitioned-storage-read focus-without-user-activation font-display-late-swap
	fullscreen gamepad geolocation gyroscope hid high-entropy-values identity-credentials-get idle-detection
	interest-cohort join-ad-interest-group keyboard-lock keyboard-map language-detector language-model
	layout-animations legacy-image-formats loading-frame-default-eager local-fonts local-network local-network-access loopback-network magnetometer manual-text
	media-playback-while-not-visible mediasession microphone midi monetization navigation-override nfc notifications
	on-device-speech-recognition otp-credentials oversized-images payment picture-in-picture popins private-aggregation
	private-state-token-issuance private-state-token-redemption proofreader publickey-credentials-create
	publickey-credentials-get push record-ad-auction-events rewriter run-ad-auction screen-wake-lock serial shared-autofill
	shared-storage shared-storage-select-url smart-card speaker speaker-selection storage-access sub-apps summarizer
	sync-script sync-xhr top-level-storage-access translator trust-token-redemption unload unoptimized-images
	unoptimized-lossless-images unoptimized-lossless-images-strict unoptimized-lossy-images unsized-media usb
	usb-unrestricted vertical-scroll vibrate vr wake-lock web-app-installation web-printing web-share window-management
	window-placement writer xr-spatial-tracking`)
