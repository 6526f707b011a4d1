package markcert

import (
	"context"
	"net/http"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// timeout is how long a certificate is waited for; what has not come then is reported as unknown, before the caller's
// time is up, which usually is 15 seconds (CONTRACT 1.9).
const timeout = 10 * time.Second

// maxRedirects is how many redirects are followed (CONTRACT 1.9).
const maxRedirects = fetch.DefaultRedirects

// A Fetched is what a URL served as the evidence of a mark.
type Fetched struct {
	URL    diag.URL
	Result *fetch.Result
}

// Fetch fetches the text of a certificate. It goes on when the certificate of the web server is not to be trusted, so
// that all faults are found in one go. The error is a *[diag.InputError], or that of the context; whatever else happens
// is in the result.
func Fetch(ctx context.Context, env *diag.Env, u diag.URL) (*Fetched, error) {
	r, err := fetch.Do(ctx, env, fetch.Request{
		URL: u, Header: http.Header{"Accept": {"application/pem-certificate-chain, application/x-pem-file, text/plain, " +
			"*/*;q=0.1"}},
		MaxRedirects: maxRedirects, MaxBytes: maxBytes, Timeout: diag.TimeLeft(ctx, timeout), Ports: diag.WebPorts,
		AllowUntrusted: true,
	})
	if err != nil {
		return nil, err
	}
	return &Fetched{URL: u, Result: r}, nil
}

// Status returns the status of the last answer, or 0 if there was none.
func (f *Fetched) Status() int {
	if head := f.Result.Final(); head != nil {
		return head.StatusCode
	}
	return 0
}

// ContentType returns the media type that the server gave the text, as it stands there.
func (f *Fetched) ContentType() string {
	if head := f.Result.Final(); head != nil {
		return bounded(clean(head.Header.Get("Content-Type")))
	}
	return ""
}

// Text returns the text that was served, or nil if none was, or not as a whole.
func (f *Fetched) Text() []byte {
	if f.Status() != http.StatusOK || f.Result.Err != nil || f.Result.Truncated {
		return nil
	}
	return f.Result.Body
}
