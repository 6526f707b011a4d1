package redirect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/page"
)

// The bounds of what is fetched.
const (
	// timeout is how long the chain is followed, so that there is a report before the caller's time is up,
	// which usually is 15 seconds (CONTRACT 1.9).
	timeout = 12 * time.Second
	// MaxBytes is how much of each document is read: its head is at its beginning, and a page that only leads
	// elsewhere is short.
	MaxBytes = 256 << 10
	// Memory is what a check holds at worst, in bytes: the tree of a page that is nothing but elements.
	Memory = 32 << 20
	// maxDelay is how long a refresh may wait to count as a redirect. Pages that time a session out lead
	// elsewhere after minutes.
	maxDelay = 30 * time.Second
)

// gather follows the chain.
func gather(ctx context.Context, env *diag.Env, ask fetch.Request) (*evidence, error) {
	e := &evidence{start: ask.URL, now: env.Now(), limit: ask.MaxRedirects, head: ask.Method == "HEAD"}
	if ask.Next != nil {
		ask.Next = e.next
	}
	ask.Timeout = diag.TimeLeft(ctx, timeout)
	var err error
	if e.result, err = fetch.Do(ctx, env.Cached(), ask); err != nil {
		return nil, err
	}
	if err := fetch.Unavailable(e.result); err != nil {
		return nil, fmt.Errorf("following %s: %w", ask.URL, err)
	}
	return e, nil
}

// next says where a document leads. Browsers follow the Refresh field first, and then the first meta element.
func (e *evidence) next(h fetch.Hop, body []byte) fetch.Lead {
	lead := fetch.Refresh(h.Header)
	if lead.Type == "" {
		lead = e.read(h, body)
	}
	e.later = &lead
	if lead.After > maxDelay {
		return fetch.Lead{}
	}
	return lead
}

func (e *evidence) read(h fetch.Hop, body []byte) fetch.Lead {
	media := h.Header.Get("Content-Type")
	if len(body) == 0 || !isHTML(media, body) {
		return fetch.Lead{}
	}
	u, err := diag.ParseURL(h.URL)
	if err != nil {
		return fetch.Lead{}
	}
	p := page.Read(body, page.Options{URL: u, ContentType: media})
	e.page, e.pageHop, e.script = p, h.Index, ""
	if len(p.Text) <= maxIdleText {
		e.script = scriptIn(page.Decode(body, media).Text)
	}
	if r, ok := p.Refresh(); ok {
		return metaLead(r, p.BaseTag.Raw)
	}
	// Many a page says the same to browsers with and without scripts.
	if r := p.Noscript.Refresh; r != nil && r.To.URL != "" && e.script != "" {
		if script, ok := page.Resolve(p.Base, e.script); ok && r.To.URL == script {
			return metaLead(*r, p.BaseTag.Raw)
		}
	}
	return fetch.Lead{}
}

func metaLead(r page.Refresh, base string) fetch.Lead {
	return fetch.Lead{Type: fetch.MetaRefresh, Target: r.To.Raw, Base: base, After: time.Duration(r.Delay) * time.Second}
}

// isHTML reports whether browsers take a document for a page. Without a type they look at its beginning
// (mimesniff.spec.whatwg.org section 7.1).
func isHTML(media string, body []byte) bool {
	kind, _, _ := strings.Cut(media, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 64)]), "\ufeff \t\r\n\f"), "<")
	}
	return false
}
