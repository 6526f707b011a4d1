package crawl

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/robots"
)

// The bounds of what is fetched.
const (
	// maxRedirects is how many redirects are followed (CONTRACT 1.9); Google follows ten as well.
	maxRedirects = fetch.DefaultRedirects
	// maxRobotsRedirects is how many are followed for a robots.txt (RFC 9309 section 2.3.1.2).
	maxRobotsRedirects = 5
	// timeout is how long anything is waited for, so that what is known by then can be told in time (CONTRACT
	// 1.9). RobotsTimeout is the share of one robots.txt.
	timeout       = 13 * time.Second
	robotsTimeout = 6 * time.Second
)

// accept is what crawlers ask for.
const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A gatherer fetches a page and the files that say whether it may.
type gatherer struct {
	*evidence
	env *diag.Env
	end time.Time

	mu    sync.Mutex
	files map[string]*robotsTxt // by origin
}

// gather fetches robots.txt and the page. A crawler that keeps to robots.txt must know it first; otherwise
// both are fetched at once. Redirects are followed one by one, for each host has a robots.txt of its own.
func gather(ctx context.Context, env *diag.Env, req Request, agent crawler) (*evidence, error) {
	e := &evidence{request: req, agent: agent, now: env.Now(), hops: []fetch.Hop{}, url: req.URL}
	g := &gatherer{evidence: e, env: env.Cached(), files: map[string]*robotsTxt{}}
	g.end = time.Now().Add(diag.TimeLeft(ctx, timeout))
	var failure, robotsFailure error
	if req.respects() {
		failure = g.follow(ctx)
	} else {
		var group diag.Group
		group.Go(func() { _, robotsFailure = g.robots(ctx, req.URL) })
		group.Go(func() { failure = g.follow(ctx) })
		group.Wait()
	}
	if failure == nil {
		failure = robotsFailure
	}
	if failure != nil {
		return nil, failure
	}
	file, err := g.robots(ctx, e.url)
	if err != nil {
		return nil, err
	}
	e.robotsTxt, e.decision = file, g.decide(file, e.url)
	if err := e.connection().Unavailable(); err != nil && len(e.hops) == 0 {
		return nil, err
	}
	return e, nil
}

// left is the time that is left for one request.
func (g *gatherer) left(limit time.Duration) time.Duration {
	return max(min(limit, time.Until(g.end)), time.Millisecond)
}

// follow goes from redirect to redirect, as far as it may.
func (g *gatherer) follow(ctx context.Context) error {
	visited := map[string]bool{}
	for {
		visited[withoutFragment(g.url)] = true
		if g.request.respects() {
			file, err := g.robots(ctx, g.url)
			if err != nil {
				return err
			}
			if !g.decide(file, g.url).Allowed {
				g.result = nil
				return nil
			}
		}
		r, err := fetch.Do(ctx, g.env, fetch.Request{
			URL: g.url, UserAgent: g.agent.header, Header: http.Header{"Accept": {accept}},
			MaxBytes: g.request.MaxBytes, Timeout: g.left(timeout), AllowUntrusted: true,
		})
		if err != nil {
			return err
		}
		g.result, g.failed = r, r.Err
		h := r.Final()
		if h == nil {
			return nil
		}
		h.Index = len(g.hops) + 1
		g.hops = append(g.hops, *h)
		if h.RedirectType == "" {
			return nil
		}
		var next diag.URL
		if next, g.failed = fetch.Resolve(g.url, h.Location); g.failed != nil {
			return nil
		}
		if visited[withoutFragment(next)] {
			g.failed = &fetch.Error{Code: fetch.TooManyRedirects, Message: "the redirects form a loop"}
			return nil
		}
		if len(g.hops) > maxRedirects {
			g.failed = &fetch.Error{Code: fetch.TooManyRedirects, Message: "there are more than 10 redirects"}
			return nil
		}
		g.url, g.result = next, nil
	}
}

func withoutFragment(u diag.URL) string {
	s, _, _ := strings.Cut(u.String(), "#")
	return s
}

func (g *gatherer) decide(file *robotsTxt, u diag.URL) robots.Decision {
	return file.file.Match(g.agent.token, strings.TrimPrefix(withoutFragment(u), u.Origin()))
}

func (g *gatherer) robots(ctx context.Context, u diag.URL) (*robotsTxt, error) {
	g.mu.Lock()
	file := g.files[u.Origin()]
	g.mu.Unlock()
	if file != nil {
		return file, nil
	}
	file = &robotsTxt{url: u.Origin() + "/robots.txt"}
	at, err := diag.ParseURL(file.url)
	if err != nil {
		return nil, err
	}
	file.result, err = fetch.Do(ctx, g.env, fetch.Request{
		URL: at, UserAgent: g.agent.header, Header: http.Header{"Accept": {"text/plain,*/*;q=0.8"}},
		MaxRedirects: maxRobotsRedirects, MaxBytes: robots.MaxBytes + 1, Timeout: g.left(robotsTimeout),
		AllowUntrusted: true,
	})
	if err != nil {
		return nil, err
	}
	file.read(g.agent.token)
	g.mu.Lock()
	g.files[u.Origin()] = file
	g.mu.Unlock()
	return file, nil
}

// read says what the answer comes to for a crawler (RFC 9309 section 2.3.1). Google takes 429 for a server error
// (developers.google.com/crawling/docs/robots-txt/robots-txt-spec).
func (f *robotsTxt) read(token string) {
	h, failed := f.result.Final(), f.result.Err
	if h != nil {
		f.status = h.StatusCode
	}
	switch {
	case failed != nil && (failed.Code == fetch.TooManyRedirects || failed.Code == fetch.Loop || failed.Code == fetch.Blocked && len(f.result.Hops) > 0):
		f.file = robots.AllowAll() // section 2.3.1.2: as if there were none
	case h == nil, f.status >= 500, f.status == http.StatusTooManyRequests && strings.HasPrefix(token, "google"), failed != nil && len(f.result.Body) == 0:
		f.file = robots.DisallowAll()
	case f.status >= 200 && f.status < 300:
		f.file = robots.Parse(f.result.Body)
	default:
		f.file = robots.AllowAll()
	}
}
