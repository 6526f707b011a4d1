package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// onPage is how many rows a page of a list has: what a person still scrolls through, and some 100 kB of HTML.
const onPage = 100

// A pager is the part of a list that a page shows, which the parameter page of its address names.
type pager struct {
	Found int // rows of the list
	Page  int // from 1
	Pages int
	path  string
	query url.Values // the other parameters of the address: the filters
}

// pagerOf returns the requested page, of so many rows. An invalid number gives the nearest existing page.
func pagerOf(r *http.Request, found int) pager {
	p := pager{Found: found, Pages: max(1, (found+onPage-1)/onPage), path: r.URL.Path, query: r.URL.Query()}
	number, _ := strconv.Atoi(p.query.Get("page")) // an invalid number is the first
	p.Page = min(max(1, number), p.Pages)
	p.query.Del("notice")
	return p
}

// skipped returns how many rows come before the page.
func (p pager) skipped() int { return (p.Page - 1) * onPage }

// First and Last are the numbers of the first and the last row of the page, from 1.
func (p pager) First() int { return p.skipped() + 1 }

// Last is the number of the last row of the page.
func (p pager) Last() int { return min(p.skipped()+onPage, p.Found) }

// At is the address of another page of the list.
func (p pager) At(page int) string {
	p.query.Set("page", strconv.Itoa(page))
	return (&url.URL{Path: p.path, RawQuery: p.query.Encode()}).String()
}

// Before returns the number of the previous page; 0 on the first.
func (p pager) Before() int { return p.Page - 1 }

// After returns the number of the next page; 0 on the last.
func (p pager) After() int { return (p.Page + 1) % (p.Pages + 1) }

// paged returns the part of a list that a request selects.
func paged[T any](r *http.Request, list []T) (pager, []T) {
	p := pagerOf(r, len(list))
	return p, list[p.skipped():p.Last()]
}

// Lists that grow at their head while they are read are not counted, but cut at instants: a page shows what came
// before the one that a parameter of its address names.

// olderOf is that instant; zero on the page with the newest.
func olderOf(r *http.Request, parameter string) (at time.Time, err error) {
	if text := r.URL.Query().Get(parameter); text != "" {
		if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
			err = metering.ErrNotFound
		}
	}
	return at, err
}

// cutAt returns how many rows of a list, the newest first, a page of at most so many shows, and if there are others
// the instant before which they are. Rows of one instant are on one page, unless they exceed it.
func cutAt(found, most int, at func(int) time.Time) (n int, last time.Time) {
	if found <= most {
		return found, time.Time{}
	}
	for n = most; n > 0 && at(n-1).Equal(at(n)); {
		n--
	}
	if n == 0 {
		n = most
	}
	return n, at(n - 1)
}

// around returns the address of the page with the newest rows, which is empty on that page itself, and that of the
// page after the last row; empty without one.
func around(r *http.Request, parameter string, last time.Time) (newest, older string) {
	query := r.URL.Query()
	query.Del("notice")
	if query.Has(parameter) {
		query.Del(parameter)
		newest = (&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).String()
	}
	if !last.IsZero() {
		query.Set(parameter, last.Format(time.RFC3339Nano))
		older = (&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).String()
	}
	return newest, older
}
