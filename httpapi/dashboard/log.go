package dashboard

import (
	"net/http"
	"net/url"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// shownActs is how many rows of the log a page has.
const shownActs = 100

func (d *dashboard) showLog(r *http.Request) (any, error) {
	f := metering.ActFilter{Account: visitorOf(r).Account.ID, Limit: shownActs}
	if text := r.URL.Query().Get("before"); text != "" {
		var err error
		if f.Before, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, metering.ErrNotFound
		}
	}
	acts, err := metering.Acts(r.Context(), d.Store, f)
	older := "" // the address of the page with those before
	if len(acts) == shownActs {
		older = "/dashboard/log?" + url.Values{"before": {acts[len(acts)-1].At.Format(time.RFC3339Nano)}}.Encode()
	}
	return struct {
		Acts  []metering.Act
		Older string
		Days  int // for which rows are kept
	}{acts, older, int(metering.ActTime / (24 * time.Hour))}, err
}
