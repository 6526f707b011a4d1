package httpapi

import (
	"context"
	"net/http"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

// ReserveMemory waits for room in memory for a request outside the endpoints that belongs to no key, such as a form:
// for so many bytes, of what requests behind [API.RequireKey] may hold. An account has a share of it like a key. The
// caller must call release, which gives the room back. The error is a *[Problem] if the server is busy, or that of
// the context.
func (a *API) ReserveMemory(ctx context.Context, account metering.AccountID, bytes int64) (release func(), err error) {
	l, err := a.server.Budget.Forms.Take(ctx, budget.Owner{Account: account}, bytes)
	if err != nil && ctx.Err() == nil {
		return nil, &problemFor(err).problem
	}
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

// RequireKey passes requests to a handler outside the endpoints that does its work by [API.Forward]: those with a good
// key, and a body of at most so many bytes. Others are refused as an endpoint refuses them. A request takes a token
// of its key's rate, and room for a few copies of its body until it ends. The handler finds the whole body read, and
// has the given name in metrics and logs.
func (a *API) RequireKey(name string, maxBody int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := a.server.begin(w, r)
		defer x.finish()
		x.observed.Endpoint = name
		f := x.admitAddress()
		if f == nil {
			f = x.admitKey()
		}
		if f == nil && r.ContentLength > maxBody {
			f = tooLargeProblem(maxBody)
		}
		if f == nil {
			const copies = 5 // read, read by the handler, parsed, cut into arguments and sent on
			size := r.ContentLength
			if size < 0 {
				size = maxBody
			}
			var err error
			if x.body, err = x.Budget.Forms.Take(r.Context(), x.owner(), copies*size); err != nil {
				f = problemFor(err)
			}
		}
		if f == nil {
			f = x.bufferBody(maxBody)
		}
		if f != nil {
			x.refuse(f)
			return
		}
		if next.ServeHTTP(&statusWriter{w, x}, r); x.observed.Status == 0 {
			x.observed.Status, x.observed.Code = http.StatusOK, "OK"
		}
	})
}

// LimitGuesses passes requests to a handler outside the API whose paths are secrets, such as links in mail, until a
// network has requested too many paths that do not exist: those that the handler answers with 404.
func (a *API) LimitGuesses(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits, ip, now := a.server.Budget.Visits, a.server.clientIP(r), a.server.clock()
		if !visits.Take(ip, now).Allowed {
			w.Header().Set("Retry-After", "60")
			http.Error(w, "Too many links that do not exist. Wait a minute.", http.StatusTooManyRequests)
			return
		}
		x := &exchange{}
		if next.ServeHTTP(&statusWriter{w, x}, r); x.observed.Status != http.StatusNotFound {
			visits.Refund(ip, now)
		}
	})
}
