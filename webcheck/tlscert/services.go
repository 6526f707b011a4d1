package tlscert

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki/revocation"
)

// The bounds of revocation lists.
const (
	// maxListBytes bounds one list. Authorities of TLS servers split theirs into parts of some 100 KB, and the longest
	// that were not split have 1 to 3 MB; those of 10 MB and more are of certificates for code and devices.
	maxListBytes = 4 << 20
	// maxListsBytes bounds all lists of certificates of servers that a request holds: two of the longest, or dozens of
	// usual ones.
	maxListsBytes = 8 << 20
	// maxIssuerListBytes bounds a list of revoked intermediates, of which an authority has some dozen.
	maxIssuerListBytes  = 256 << 10
	maxIssuerListsBytes = 1 << 20  // all lists of intermediates
	minListBytes        = 64 << 10 // below this rest no list is fetched any more
)

// services are the revocation services of authorities. Each document is fetched once for a
// request, however many certificates it is about.
type services struct {
	env                *diag.Env
	lists, issuerLists *quota

	documents memo[string, *document] // by what was asked
}

func newServices(env *diag.Env) *services {
	return &services{
		env: env, lists: newQuota(maxListsBytes, maxListBytes),
		issuerLists: newQuota(maxIssuerListsBytes, maxIssuerListBytes),
	}
}

// fetch returns what a request leads to.
func (s *services) fetch(ctx context.Context, target string, req fetch.Request) *document {
	return s.documents.get(req.Method+" "+target+" "+string(req.Body), func() *document {
		return fetchDocument(ctx, s.env, target, req)
	})
}

// list returns a revocation list, of authorities or of servers.
func (s *services) list(ctx context.Context, target string, ofAuthorities bool) *document {
	q := s.lists
	if ofAuthorities {
		q = s.issuerLists
	}
	return s.documents.get(target, func() *document {
		return q.fetch(ctx, func(size int64) *document {
			return fetchDocument(ctx, s.env, target,
				fetch.Request{Method: http.MethodGet, MaxBytes: size, MaxRedirects: issuerRedirects})
		})
	})
}

// A quota is how many bytes may be held in all, and of one document.
type quota struct {
	turns chan struct{} // so many are fetched at a time that each gets its share
	all   int64
	one   int64

	mu   sync.Mutex
	left int64
}

func newQuota(all, one int64) *quota {
	return &quota{turns: make(chan struct{}, all/one), all: all, one: one, left: all}
}

// fetch fetches a document within the quota.
func (q *quota) fetch(ctx context.Context, fetch func(size int64) *document) *document {
	select {
	case q.turns <- struct{}{}:
		defer func() { <-q.turns }()
	case <-ctx.Done():
		return &document{status: revocation.LeftOut, err: errors.New("there was no time left for it")}
	}
	q.mu.Lock()
	size := min(q.one, q.left)
	q.left -= size
	q.mu.Unlock()
	if size < min(minListBytes, q.one) {
		return &document{status: revocation.LeftOut, err: fmt.Errorf("this check reads %d KiB of lists at most", q.all>>10)}
	}
	d := fetch(size)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += size - int64(len(d.body))
	return d
}

// A document is the answer of a service.
type document struct {
	body    []byte
	status  revocation.Status // empty if there is a body
	err     error
	refused bool // by HTTP: the service is there, and did not take the request
}

// fetchDocument asks for a document. What it says is signed, so the connection need not be trusted.
func fetchDocument(ctx context.Context, env *diag.Env, target string, req fetch.Request) *document {
	left := func(status revocation.Status, err error) *document { return &document{status: status, err: err} }
	scheme, _, _ := strings.Cut(target, ":")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return left(revocation.LeftOut, fmt.Errorf("this check asks over http and https only, not %s", phrase.Quote(scheme)))
	}
	var err error
	if req.URL, err = diag.ParseURL(target); err != nil {
		return left(revocation.Unusable, errors.New("the URL is not valid"))
	}
	req.Timeout, req.AllowUntrusted = diag.TimeLeft(ctx, revocationTimeout), true
	r, err := fetch.Do(ctx, env, req)
	switch {
	case err != nil:
		return left(revocation.Unanswered, errors.New("there was no answer in time"))
	case r.Err != nil && r.Err.Code == fetch.Blocked:
		return left(revocation.LeftOut, r.Err)
	case r.Err != nil:
		return left(revocation.Unanswered, r.Err)
	case r.Final() == nil:
		return left(revocation.Unanswered, errors.New("there was no answer"))
	case r.Final().StatusCode != http.StatusOK:
		return &document{status: revocation.Unanswered, refused: true,
			err: fmt.Errorf("it answered with HTTP status %d", r.Final().StatusCode)}
	case r.Truncated:
		return left(revocation.LeftOut, fmt.Errorf("it is longer than the %d KiB that this check reads", req.MaxBytes>>10))
	}
	return &document{body: r.Body}
}
