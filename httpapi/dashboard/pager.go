package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// pageSize is how many rows a page of a list has: what a person still scrolls through. Rows with charts or forms are
// fewer: a page has at most 60 KiB of HTML.
const (
	pageSize         = 100
	longRowsPageSize = 50
)

// A pager is the part of a list that a page shows, which the parameter page of its address names.
type pager struct {
	RowCount int // rows of the list
	Page     int // from 1
	Pages    int
	size     int // rows of a page
	path     string
	query    url.Values // the other parameters of the address: the filters
}

// newPager returns the requested page of a list with so many rows. An invalid number gives the nearest existing page.
func newPager(r *http.Request, total, size int) pager {
	p := pager{RowCount: total, Pages: max(1, (total+size-1)/size), size: size, path: r.URL.Path, query: r.URL.Query()}
	number, _ := strconv.Atoi(p.query.Get("page")) // an invalid number is the first
	p.Page = min(max(1, number), p.Pages)
	p.query.Del("notice")
	return p
}

// offset returns how many rows come before the page.
func (p pager) offset() int { return (p.Page - 1) * p.size }

// First and Last are the numbers of the first and the last row of the page, from 1.
func (p pager) First() int { return p.offset() + 1 }

// Last is the number of the last row of the page.
func (p pager) Last() int { return min(p.offset()+p.size, p.RowCount) }

// URL is the address of another page of the list.
func (p pager) URL(page int) string {
	p.query.Set("page", strconv.Itoa(page))
	return (&url.URL{Path: p.path, RawQuery: p.query.Encode()}).String()
}

// PreviousPage returns the number of the previous page; 0 on the first.
func (p pager) PreviousPage() int { return p.Page - 1 }

// NextPage returns the number of the next page; 0 on the last.
func (p pager) NextPage() int { return (p.Page + 1) % (p.Pages + 1) }

// paginate returns the part of a list that a request selects.
func paginate[T any](r *http.Request, list []T) (pager, []T) { return paginateBy(r, list, pageSize) }

// paginateBy is paginate with pages of a size.
func paginateBy[T any](r *http.Request, list []T, size int) (pager, []T) {
	p := newPager(r, len(list), size)
	return p, list[p.offset():p.Last()]
}

// Lists that grow at their head while they are read are not counted, but cut at instants: a page shows what came
// before the one that a parameter of its address names.

// parseCursor returns that instant; zero on the page with the newest.
func parseCursor(r *http.Request, parameter string) (cursor time.Time, err error) {
	if text := r.URL.Query().Get(parameter); text != "" {
		if cursor, err = time.Parse(time.RFC3339Nano, text); err != nil {
			err = metering.ErrNotFound
		}
	}
	return cursor, err
}

// cutPage returns how many rows of a list, the newest first, a page of at most so many shows, and if there are others
// the instant before which they are. Rows of one instant are on one page, unless they exceed it.
func cutPage(total, size int, at func(int) time.Time) (n int, last time.Time) {
	if total <= size {
		return total, time.Time{}
	}
	for n = size; n > 0 && at(n-1).Equal(at(n)); {
		n--
	}
	if n == 0 {
		n = size
	}
	return n, at(n - 1)
}

// cursorLinks returns the address of the page with the newest rows, which is empty on that page itself, and that of the
// page after the last row; empty without one.
func cursorLinks(r *http.Request, parameter string, last time.Time) (newest, older string) {
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
