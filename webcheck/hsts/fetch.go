package hsts

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"golang.org/x/net/publicsuffix"
)

// The bounds of what is fetched.
const (
	// maxRedirects is how many redirects hstspreload.org follows.
	maxRedirects = 3
	// timeout is how long anything is waited for, so that what has come can be reported before the caller's
	// time is up, which usually is 15 seconds (CONTRACT 1.9).
	timeout = 10 * time.Second
	// maxBody is of no interest: all that matters is in the heads of answers.
	maxBody = 1
)

// withoutWWW are the suffixes whose owners cannot have a certificate for a www below their names, so that the
// preload list does not ask for it.
var withoutWWW = map[string]bool{"appspot.com": true}

// evidence is all that the rules look at; only gather and digest fill it.
type evidence struct {
	domain diag.Domain
	now    time.Time

	https   *fetch.Result // of https://domain and up to three redirects
	http    *fetch.Result // of http://domain likewise
	www     *fetch.Result // of https://www.domain; nil if it does not matter
	wwwHTTP *fetch.Result // of http://www.domain

	list   *List // without a version if there is none
	entry  *Entry
	fields []string // the header as often as it came over HTTPS
	header *Header  // the first of them; nil if there is none
	issues Issues   // what hstspreload.org would say
	kept   Issues   // what it would say by the policy under which the entry was added
}

// gather asks all there is to ask at once.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	e := &evidence{domain: d, now: env.Now()}
	env = env.Cached()
	wait := diag.TimeLeft(ctx, timeout)
	var failures [4]error
	var g diag.Group
	ask := func(i int, into **fetch.Result, from string, redirects int, untrusted bool) {
		u, err := diag.ParseURL(from)
		if err != nil {
			return // the name is too long with www in front
		}
		g.Go(func() {
			*into, failures[i] = fetch.Do(ctx, env, fetch.Request{
				URL: u, MaxRedirects: redirects, MaxBytes: maxBody, Raw: true, Timeout: wait, AllowUntrusted: untrusted,
			})
		})
	}
	ask(0, &e.https, "https://"+d.String()+"/", maxRedirects, true)
	ask(1, &e.http, "http://"+d.String()+"/", maxRedirects, true)
	if hasWWW(d) {
		ask(2, &e.www, "https://www."+d.String()+"/", 0, false)
		ask(3, &e.wwwHTTP, "http://www."+d.String()+"/", 0, false)
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	if err := fetch.Unavailable(e.https, e.http); err != nil {
		return nil, fmt.Errorf("examining HSTS of %s: %w", d, err)
	}
	return e, nil
}

// hasWWW reports whether the preload list asks for a www below a domain.
func hasWWW(d diag.Domain) bool {
	suffix, _ := publicsuffix.PublicSuffix(d.String())
	return checkLevel(d.String()).OK() && !withoutWWW[suffix]
}

// digest reads what was fetched. It touches nothing.
func (e *evidence) digest(list *List) {
	e.list = list
	e.fields = fieldsOf(first(e.https))
	if len(e.fields) > 0 {
		e.header = Parse(e.fields[0]) // RFC 6797 section 8.1: of several only the first counts
	}
	e.issues = e.judgeAs(bulk1Year)
	if entry, ok := list.Lookup(e.domain.String()); ok {
		e.entry = &entry
		e.kept = e.judgeAs(entry.Policy)
	}
}

// first returns the first answer of a chain, or nil.
func first(r *fetch.Result) *fetch.Hop {
	if r == nil || len(r.Hops) == 0 {
		return nil
	}
	return &r.Hops[0]
}

// silent reports whether nothing was learned, and might be the next time.
func silent(r *fetch.Result) bool { return first(r) == nil && r.Err != nil && r.Err.Unanswered }

func fieldsOf(h *fetch.Hop) []string {
	if h == nil {
		return nil
	}
	return h.Header[FieldName]
}

func leads(r *fetch.Result) (path []*url.URL) {
	for i := range r.Hops {
		h := &r.Hops[i]
		if h.RedirectType != fetch.HTTPRedirect {
			continue
		}
		base, err := url.Parse(h.URL)
		if err != nil {
			break
		}
		next, err := base.Parse(h.Location)
		if err != nil {
			break
		}
		path = append(path, next)
	}
	return path
}

func hostOf(u *url.URL) string { return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) }
