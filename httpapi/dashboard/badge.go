package dashboard

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering"
)

// badgeLifetime is how long caches keep a badge: a withdrawn one may be seen for as long.
const badgeLifetime = 5 * time.Minute

// showBadge draws the state of a shared result, for the domain that the path names and the link in the query. All that
// is not shared looks alike: it reveals neither who watches a domain, nor of which domain the result of a link is.
func (d *dashboard) showBadge(r *http.Request) (any, error) {
	s := stateOf(r)
	s.header.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	s.header.Set("Referrer-Policy", "no-referrer")
	now := d.now()
	if !d.Budget.Visits.Take(s.clientIP, now).Allowed {
		return nil, tooManyAttempts(r)
	}
	shown, err := d.findShare(r.Context(), r.URL.Query().Get("share"))
	if err != nil && !errors.Is(err, metering.ErrNotFound) {
		return nil, err
	}
	name, isImage := strings.CutSuffix(r.PathValue("file"), ".svg")
	domain, parseErr := diag.ParseDomain(name)
	if err != nil || parseErr != nil || !isImage || shown.Ended || shown.Domain != domain.String() {
		s.status = http.StatusNotFound
		return file{media: svgMedia, data: drawBadge("diagkit", "not shared", view.Unknown)}, nil
	}
	d.Budget.Visits.Refund(s.clientIP, now)
	s.header.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", badgeLifetime/time.Second))
	mark := shown.View.Mark()
	text := badgeState(shown.View, mark) + " · " + view.Date(shown.At)
	return file{media: svgMedia, data: drawBadge(domain.Unicode(), text, mark)}, nil
}

const svgMedia = "image/svg+xml"

// badgeState describes the state of a result in a word or two.
func badgeState(v *view.View, mark view.Mark) string {
	n := view.CountIf(v.Findings, func(f diag.Finding) bool { return view.MarkOf(f.Severity) == mark })
	switch mark {
	case view.Critical:
		return fmt.Sprint(n, " critical")
	case view.Error, view.Warning:
		return phrase.Count(max(1, n), string(mark))
	case view.Good:
		return "no faults"
	case view.Optional:
		return "nothing to check"
	}
	return "not known"
}

// badgeColors are dark enough for white text, on light and on dark pages.
var badgeColors = map[view.Mark]string{
	view.Critical: "#a3123a", view.Error: "#b3261e", view.Warning: "#7d4e00", view.Good: "#116329",
}

// drawBadge draws a label and a state. Both have the width of their texts in any font.
func drawBadge(label, state string, mark view.Mark) []byte {
	const padding, height = 8, 20
	color := badgeColors[mark]
	if color == "" {
		color = "#55636a"
	}
	first, second := textWidth(label), textWidth(state)
	left, right := first+2*padding, second+2*padding
	label, state = html.EscapeString(label), html.EscapeString(state)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" role="img"`+
		` aria-label="%[3]s: %[4]s"><title>%[3]s: %[4]s</title>`+
		`<rect width="%[1]d" height="%[2]d" rx="3" fill="%[5]s"/>`+
		`<rect width="%[6]d" height="%[2]d" rx="3" fill="#333f45"/>`+
		`<rect x="%[7]d" width="4" height="%[2]d" fill="#333f45"/>`+
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`+
		`<text x="%[8]d" y="14" textLength="%[9]d">%[3]s</text>`+
		`<text x="%[10]d" y="14" textLength="%[11]d">%[4]s</text></g></svg>`,
		left+right, height, label, state, color, left, left-4, padding, first, left+padding, second)
}

// textWidth estimates the width of a text in the font of badges.
func textWidth(text string) (width int) {
	for _, r := range text {
		switch {
		case strings.ContainsRune("fijlrt.,:·- ", r):
			width += 4
		case strings.ContainsRune("mw", r):
			width += 10
		default:
			width += 7
		}
	}
	return width
}

// badgeCode is the markup that shows a badge, with a link to the shared result.
type badgeCode struct{ Image, Markdown, HTML string }

// newBadgeCode returns the markup for the share of a token; nil if the share is not of a domain.
func newBadgeCode(origin, token string, s *share) *badgeCode {
	if s.Domain == "" || s.Ended {
		return nil
	}
	image := "/badge/" + s.Domain + ".svg?" + url.Values{"share": {token}}.Encode()
	at, alt := origin+"/r/"+token, "State of "+s.Domain
	return &badgeCode{image, fmt.Sprintf("[![%s](%s)](%s)", alt, origin+image, at),
		fmt.Sprintf(`<a href="%s"><img src="%s" alt="%s"></a>`, at, origin+image, alt)}
}
