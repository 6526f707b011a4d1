package fetch

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// Do fetches a URL. The error is a *[diag.InputError] if the request makes no sense, or that of the
// context if it ended; whatever else happens is a result.
func Do(ctx context.Context, env *diag.Env, req Request) (*Result, error) {
	req, err := req.normalised()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, req.Timeout)
	defer cancel()
	r := &Result{Hops: []Hop{}, URL: req.URL}
	r.Err = r.follow(limited, env, req)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// follow goes from hop to hop.
func (r *Result) follow(ctx context.Context, env *diag.Env, req Request) *Error {
	visited := map[string]bool{}
	for {
		visited[resource(r.URL)] = true
		lead, err := r.hop(ctx, env, req)
		if err != nil || lead.Target == "" {
			return err
		}
		next := r.Hops[len(r.Hops)-1].Target
		if next.IsZero() {
			_, err := r.target(lead)
			return err
		}
		if visited[resource(next)] {
			r.Loop = true
			if _, cookies := r.Looped(); len(cookies) > 0 {
				return &Error{Code: Loop, Message: "the redirects form a loop for clients without cookies"}
			}
			return &Error{Code: Loop, Message: "the redirects form a loop"}
		}
		if len(r.Hops) > req.MaxRedirects {
			return &Error{Code: TooManyRedirects,
				Message: fmt.Sprintf("there are more than %d redirects", req.MaxRedirects)}
		}
		r.URL = next
		r.Body, r.Truncated, r.TransferBytes, r.Encoding = nil, false, 0, ""
	}
}

// hop makes one request and keeps what came of it. It returns where to go next, or nothing if this is
// the end, where the body is read.
func (r *Result) hop(ctx context.Context, env *diag.Env, req Request) (Lead, *Error) {
	begin := env.Now()
	r.TLS, r.Timing = nil, Timing{}
	dialling, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	l, failure := dial(dialling, env, r.URL, req.Ports)
	if l.raw != nil {
		defer l.raw.Close()
	}
	r.TLS, r.Timing = l.tls, l.timing
	defer func() { r.Timing.Total = env.Now().Sub(begin) }()
	if failure != nil {
		return Lead{}, failure
	}
	if l.tls != nil && l.tls.Err() != nil && !req.AllowUntrusted {
		return Lead{}, &Error{Code: TLS, Step: verifying, Message: l.tls.Err().Error(), Cause: l.tls.Err()}
	}

	sent := env.Now()
	resp, fields, failure := l.exchange(ctx, req.hop(ctx, r.URL))
	r.Timing.FirstByte = env.Now().Sub(sent)
	if failure != nil {
		return Lead{}, failure
	}
	r.Timing.Total = env.Now().Sub(begin)
	h := r.describe(req.Method, l, resp, fields)
	lead := Lead{Type: h.RedirectType, Target: h.Location}
	if h.RedirectType != "" {
		h.Target, _ = r.target(lead)
	}
	r.Hops = append(r.Hops, h)
	if h.RedirectType != "" && req.MaxRedirects > 0 {
		return lead, nil
	}
	stop := context.AfterFunc(ctx, func() { l.raw.Close() })
	defer stop()
	if failure := r.readBody(ctx, resp, req); failure != nil || req.Next == nil || h.RedirectType != "" {
		return Lead{}, failure
	}
	return r.forwarded(req), nil
}

func (r *Result) describe(method string, l *link, resp *http.Response, fields []Field) Hop {
	h := Hop{
		Index: len(r.Hops) + 1, URL: r.URL.String(), Method: method, StatusCode: resp.StatusCode,
		StatusText: statusText(resp), IP: l.ip, HTTPVersion: strings.TrimSuffix(resp.Proto, ".0"),
		LatencyMS: max(0, r.Timing.Total.Milliseconds()), Header: resp.Header, Fields: fields, TLS: l.tls,
		Timing: r.Timing,
	}
	if resp.ProtoMajor == 1 {
		h.HTTPVersion = resp.Proto
	}
	if l.tls != nil {
		h.TLSVersion = l.tls.Version
	}
	// Of several Locations the first counts; the others are there in the header.
	h.Location = strings.ToValidUTF8(resp.Header.Get("Location"), "\uFFFD")
	if h.Location != "" && redirects(resp.StatusCode) {
		h.RedirectType = HTTPRedirect
	}
	return h
}

// statusText returns the words after the status, or the usual ones if the server sent none.
func statusText(resp *http.Response) string {
	_, text, _ := strings.Cut(resp.Status, " ")
	if text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"); text == "" {
		return http.StatusText(resp.StatusCode)
	}
	return text
}
