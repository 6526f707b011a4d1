package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
)

// onPage is how many rows a page of a list has: what a person still scrolls through, and some 100 kB of HTML.
const onPage = 100

// A pager is the part of a list that a page shows, which the parameter page of its address names.
type pager struct {
	Found int // rows of the list
	Page  int // from 1
	Pages int
	path  string
	query url.Values // what else the address says: the filters
}

// pagerOf is the part that a request asks for, of so many rows. What is no page of the list is the nearest that there is.
func pagerOf(r *http.Request, found int) pager {
	p := pager{Found: found, Pages: max(1, (found+onPage-1)/onPage), path: r.URL.Path, query: r.URL.Query()}
	number, _ := strconv.Atoi(p.query.Get("page")) // what is no number is the first
	p.Page = min(max(1, number), p.Pages)
	p.query.Del("notice")
	return p
}

// skipped is how many rows come before the page.
func (p pager) skipped() int { return (p.Page - 1) * onPage }

// First and Last are the numbers of the first and the last row of the page, from 1.
func (p pager) First() int { return p.skipped() + 1 }

// Last is the number of the last row of the page.
func (p pager) Last() int { return min(p.skipped()+onPage, p.Found) }

// At is the address of another page of the list.
func (p pager) At(page int) string {
	p.query.Set("page", strconv.Itoa(page))
	return p.path + "?" + p.query.Encode()
}

// Before is the number of the page before; 0 where there is none.
func (p pager) Before() int { return p.Page - 1 }

// After is the number of the page after; 0 where there is none.
func (p pager) After() int { return (p.Page + 1) % (p.Pages + 1) }

// paged is the part of a list that a request asks for.
func paged[T any](r *http.Request, list []T) (pager, []T) {
	p := pagerOf(r, len(list))
	return p, list[p.skipped():p.Last()]
}
