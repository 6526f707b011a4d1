package dashboard

import (
	"net/http"
	"net/url"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) logPages() []*page {
	return []*page{{method: "GET", pattern: "/dashboard/log", role: member.Viewer, title: "Log", nav: "Log",
		handle: d.showLog}}
}

// shownActs is how many rows of the log a page has.
const shownActs = 100

// logPage is what the page of the log shows.
type logPage struct {
	Acts  []metering.Act
	Older string // address of the page with those before; empty for the last
	Days  int    // for which rows are kept
}

func (d *dashboard) showLog(w http.ResponseWriter, r *http.Request) error {
	f := metering.ActFilter{Account: visitorOf(r).Account.ID, Limit: shownActs}
	if text := r.URL.Query().Get("before"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return metering.ErrNotFound
		}
		f.Before = at
	}
	acts, err := metering.Acts(r.Context(), d.Store, f)
	if err != nil {
		return err
	}
	data := logPage{Acts: acts, Days: int(metering.ActTime / (24 * time.Hour))}
	if len(acts) == shownActs {
		data.Older = "/dashboard/log?" + url.Values{"before": {acts[len(acts)-1].At.Format(time.RFC3339Nano)}}.Encode()
	}
	return d.render(w, r, "log", data)
}
