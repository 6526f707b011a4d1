package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/watch"
)

// A domainState is a group of watched domains. Each domain is in one of the first five; the others are about the watch.
type domainState struct {
	Name, Title string
	has         func(*watch.Watch) bool
}

// domainStates are the groups in the order of a reader.
var domainStates = []domainState{
	{"problem", "Problems", func(w *watch.Watch) bool {
		return !w.LastRun.IsZero() && (w.Mark == view.Critical || w.Mark == view.Error)
	}},
	{"warning", "Warnings", func(w *watch.Watch) bool { return !w.LastRun.IsZero() && w.Mark == view.Warning }},
	{"unknown", "Unknown", func(w *watch.Watch) bool { return !w.LastRun.IsZero() && w.Mark == view.Unknown }},
	{"good", "Good", func(w *watch.Watch) bool {
		return !w.LastRun.IsZero() && !slices.Contains(markOrder[:4], w.Mark)
	}},
	{"new", "First check pending", func(w *watch.Watch) bool { return w.LastRun.IsZero() }},
	{"paused", "Paused", func(w *watch.Watch) bool { return w.State == watch.Waiting }},
	{"ended", "Gone or unreachable", func(w *watch.Watch) bool { return w.State == watch.Ended }},
}

// A domainOrder is an order of the list, by a column.
type domainOrder struct {
	Name, Title, column string
	descending          bool // by the values of the column
	compare             func(a, b *watch.Watch, reverse bool) int
}

// domainOrders are the orders that the form offers. The first is that of a list without a choice.
var domainOrders = []domainOrder{
	{"worst", "worst first", "Status", true, func(a, b *watch.Watch, reverse bool) int {
		return reversed(reverse, cmp.Or(slices.Index(markOrder, a.Mark)-slices.Index(markOrder, b.Mark),
			b.Counts.Critical-a.Counts.Critical, b.Counts.Error-a.Counts.Error, b.Counts.Warning-a.Counts.Warning))
	}},
	{"name", "by name", "Domain", false, func(a, b *watch.Watch, reverse bool) int {
		return reversed(reverse, strings.Compare(displayName(a), displayName(b)))
	}},
	{"change", "by last change", "Last change", true, func(a, b *watch.Watch, reverse bool) int {
		return compareTimes(a.Changed, b.Changed, !reverse)
	}},
	{"expiry", "by next expiry", "Next expiry", false, func(a, b *watch.Watch, reverse bool) int {
		return compareTimes(a.Expires, b.Expires, reverse)
	}},
	{"checked", "by last check", "Last checked", true, func(a, b *watch.Watch, reverse bool) int {
		return compareTimes(a.LastRun, b.LastRun, !reverse)
	}},
}

func reversed(reverse bool, order int) int {
	if reverse {
		return -order
	}
	return order
}

// compareTimes compares instants. Zero ones come last in both directions.
func compareTimes(a, b time.Time, descending bool) int {
	switch {
	case a.Equal(b):
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return reversed(descending, a.Compare(b))
}

// areaTitles name the areas.
var areaTitles = map[watch.Area]string{
	watch.MailArea: "Mail", watch.DNSArea: "DNS", watch.WebArea: "Web", watch.TLSArea: "TLS certificate",
	watch.RegistrationArea: "Registration",
}

// A domainFilter selects watched domains, and has their order. It is in the address of the list.
type domainFilter struct {
	Query   string     // what their names contain
	State   string     // name of a state; "" is any
	Area    watch.Area // in which something is wrong; "" is any
	Order   domainOrder
	Reverse bool
}

// parseDomainFilter reads the filter of an address. Invalid values select nothing less.
func parseDomainFilter(query url.Values) domainFilter {
	f := domainFilter{Query: strings.TrimSpace(query.Get("q")), State: query.Get("state"),
		Area: watch.Area(query.Get("area")), Order: domainOrders[0]}
	if !slices.ContainsFunc(domainStates, func(s domainState) bool { return s.Name == f.State }) {
		f.State = ""
	}
	if !slices.Contains(watch.Areas(), f.Area) {
		f.Area = ""
	}
	name, reverse := strings.CutPrefix(query.Get("sort"), "-")
	if i := slices.IndexFunc(domainOrders, func(o domainOrder) bool { return o.Name == name }); i >= 0 {
		f.Order, f.Reverse = domainOrders[i], reverse
	}
	return f
}

// Narrows reports whether the filter excludes any domain.
func (f domainFilter) Narrows() bool { return f.Query != "" || f.State != "" || f.Area != "" }

// Sort is the order as the address names it; empty for the usual one.
func (f domainFilter) Sort() string {
	if f.Order.Name == domainOrders[0].Name && !f.Reverse {
		return ""
	}
	return view.TextIf(f.Reverse, "-") + f.Order.Name
}

// values is the filter as the parameters of an address.
func (f domainFilter) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"q": f.Query, "state": f.State, "area": string(f.Area), "sort": f.Sort()} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// URL is the address of a page that takes the filter.
func (f domainFilter) url(path string) string {
	return (&url.URL{Path: path, RawQuery: f.values().Encode()}).String()
}

// FileURL is the address of the selected domains as a file.
func (f domainFilter) FileURL() string { return f.url("/dashboard/domains.csv") }

// A heading of a column leads to the list in the order of that column, or in the reverse if it has that order.
type columnHeading struct{ Title, URL, Order string }

// Headings are those of the columns by which the list can be sorted.
func (f domainFilter) Headings() (list []columnHeading) {
	for _, o := range domainOrders {
		h, other := columnHeading{Title: o.column}, f
		other.Order, other.Reverse = o, false
		if o.Name == f.Order.Name {
			other.Reverse = !f.Reverse
			h.Order = "ascending"
			if o.descending != f.Reverse {
				h.Order = "descending"
			}
		}
		h.URL = other.url("/dashboard")
		list = append(list, h)
	}
	return list
}

// Orders are the orders to choose from.
func (domainFilter) Orders() []domainOrder { return domainOrders }

// A selection of watched domains.
type selectedDomains struct {
	rows   []*watch.Watch // in order
	states map[string]int // by name: of those that the rest of the filter selects
	areas  map[watch.Area]int
	any    int // in any state
}

// selectFrom returns the domains that the filter selects, and how many there are in other states and areas.
func (f domainFilter) selectFrom(all []watch.Watch) selectedDomains {
	found := selectedDomains{states: map[string]int{}, areas: map[watch.Area]int{}}
	text := strings.ToLower(f.Query)
	for i := range all {
		w := &all[i]
		if !strings.Contains(w.Domain, text) && !strings.Contains(w.Unicode, text) {
			continue
		}
		inArea, inState := f.Area == "" || slices.Contains(w.Areas, f.Area), f.State == ""
		for _, s := range domainStates {
			if has := s.has(w); has {
				inState = inState || s.Name == f.State
				if inArea {
					found.states[s.Name]++
				}
			}
		}
		if inArea {
			found.any++
		}
		if !inState {
			continue
		}
		for _, a := range w.Areas {
			found.areas[a]++
		}
		if inArea {
			found.rows = append(found.rows, w)
		}
	}
	slices.SortFunc(found.rows, func(a, b *watch.Watch) int {
		return cmp.Or(f.Order.compare(a, b, f.Reverse), strings.Compare(a.Domain, b.Domain))
	})
	return found
}

// A linkList is a list of links of which one may be current, as component "tabs" takes it.
type linkList struct {
	Label string
	Tabs  []link
}

type link struct {
	Title, URL string
	Current    bool
}

// stateLinks lead to the domains in each state that has any.
func (f domainFilter) stateLinks(found selectedDomains) linkList {
	list := linkList{Label: "State"}
	add := func(name, title string, n int) {
		other := f
		other.State = name
		if n > 0 || name == f.State {
			list.Tabs = append(list.Tabs, link{title + " " + formatNumber(n), other.url("/dashboard"), name == f.State})
		}
	}
	add("", "All", found.any)
	for _, s := range domainStates {
		add(s.Name, s.Title, found.states[s.Name])
	}
	return list
}

// areaCount is an area with how many of the selected domains have a fault in it.
type areaCount struct {
	Area  watch.Area
	Title string
	Count int
}

// AreaCounts are the areas to choose from.
func (p *domainsPage) AreaCounts() (list []areaCount) {
	for _, a := range watch.Areas() {
		if p.AreaSum[a] > 0 || a == p.Area {
			list = append(list, areaCount{a, areaTitles[a], p.AreaSum[a]})
		}
	}
	return list
}
