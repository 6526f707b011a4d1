package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// maxRedirects bounds the redirections of an RDAP service, as from one regional registry to another
// (RFC 7480 section 5.2).
const maxRedirects = 5

type rdapAnswer struct {
	outcome outcome
	url     string   // that answered, or was asked last
	passed  []string // URLs that redirected to it
	object  *object  // if found
	raw     string   // the body
	reason  string   // why it is not conclusive
	ours    error    // if we failed and not the service: wraps [diag.ErrUnavailable]
	doubt   bool     // it is absent by a status that a web server gives for any page
}

// askRDAP asks for an object, such as "domain/example.com", of the services in turn until one gives a
// conclusive answer (RFC 9224 section 3).
func askRDAP(ctx context.Context, env *diag.Env, services []string, path, class string) (rdapAnswer, error) {
	a := rdapAnswer{outcome: unanswered}
	for _, base := range services {
		next, err := askURL(ctx, env, base+path, class)
		if err != nil {
			return a, err
		}
		if a.url == "" || next.outcome != unanswered {
			a = next
		}
		if a.outcome.conclusive() {
			break
		}
	}
	return a, nil
}

// askURL fetches an answer. The error is that of the context.
func askURL(ctx context.Context, env *diag.Env, url, class string) (rdapAnswer, error) {
	u, err := diag.ParseURL(url)
	if err != nil {
		return rdapAnswer{outcome: unanswered, url: url, reason: "the URL is not one that can be asked"}, nil
	}
	limited, cancel := diag.Within(ctx, rdapTimeout)
	defer cancel()
	r, err := fetch.Do(limited, env, fetch.Request{
		// RFC 7480 section 4.2. Some servers know the general type only.
		URL: u, Header: http.Header{"Accept": {"application/rdap+json, application/json;q=0.9, */*;q=0.1"}},
		MaxRedirects: maxRedirects, MaxBytes: maxAnswer, Timeout: rdapTimeout,
	})
	switch {
	case ctx.Err() != nil:
		return rdapAnswer{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return rdapAnswer{outcome: unanswered, url: u.String(), reason: "it did not answer in time"}, nil
	case err != nil:
		return rdapAnswer{outcome: unanswered, url: u.String(), reason: diag.Reason(err)}, nil
	}
	return readRDAP(r, class), nil
}

// readRDAP reads an answer. Status 404 says that there is no such object (RFC 7480 section 5.3), and 429
// that we ask too often (section 5.5).
func readRDAP(r *fetch.Result, class string) rdapAnswer {
	a := rdapAnswer{outcome: unreadable, url: r.URL.String(), raw: strings.ToValidUTF8(string(r.Body), "\uFFFD")}
	for _, h := range r.Hops[:max(0, len(r.Hops)-1)] {
		a.passed = append(a.passed, h.URL)
	}
	head := r.Final()
	if r.Err != nil || head == nil {
		a.outcome, a.reason, a.raw = unanswered, "no answer came", ""
		if r.Err != nil {
			a.reason, a.ours = r.Err.Message, r.Err.Unavailable()
		}
		return a
	}
	status := head.StatusCode
	switch {
	case status == http.StatusNotFound:
		a.outcome = absent
		a.doubt = !json.Valid(r.Body) && strings.TrimSpace(a.raw) != ""
	case status == http.StatusTooManyRequests || status == http.StatusForbidden || status == http.StatusUnauthorized ||
		status == http.StatusServiceUnavailable && head.Header.Get("Retry-After") != "":
		a.outcome, a.reason = limited, refusal(status, head.Header.Get("Retry-After"))
	case status != http.StatusOK:
		a.reason = fmt.Sprintf("it answered with status %d", status)
	case r.Truncated:
		a.reason = "its answer is too long"
	default:
		a.read(r.Body, class)
	}
	return a
}

func refusal(status int, retryAfter string) string {
	text := fmt.Sprintf("it refused with status %d", status)
	if retryAfter = oneLine(retryAfter); retryAfter != "" {
		text += ", to be asked again after " + clip(retryAfter, 40)
		if strings.Trim(retryAfter, "0123456789") == "" {
			text += " seconds"
		}
	}
	return text
}

func (a *rdapAnswer) read(body []byte, class string) {
	o, err := parseObject(body)
	switch {
	case err != nil:
		a.reason = "its answer is not JSON"
	case o.errorCode == http.StatusNotFound:
		a.outcome = absent
	case o.errorCode == http.StatusTooManyRequests || o.errorCode == http.StatusForbidden:
		a.outcome, a.reason = limited, refusal(int(o.errorCode), "")
	case o.errorCode != 0:
		a.reason = fmt.Sprintf("it answered with the error %d", o.errorCode)
	case o.class != class && o.class != "":
		a.reason = "its answer is about something else"
	case o.empty():
		a.reason = "its answer says nothing"
	default:
		a.outcome, a.object = found, o
	}
}

// empty reports whether an answer has nothing to identify its object by.
func (o *object) empty() bool {
	return o.handle == "" && o.name == "" && !o.start.IsValid() && len(o.entities) == 0
}
