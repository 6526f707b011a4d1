package dashboard

import "net/http"

// Pages that are still to be written.
func (d *dashboard) domainPages() []*page {
	return []*page{{method: "GET", pattern: "/dashboard", role: "viewer", title: "Domains", nav: "Domains",
		handle: func(w http.ResponseWriter, r *http.Request) error {
			return d.render(w, r, "error", problem{"Domains", ""})
		}}}
}
func (d *dashboard) spfPages() []*page { return nil }
