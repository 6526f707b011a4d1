package redirect

import (
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// maxNames bounds lists of names in a report.
const maxNames = 50

// tracking names query parameters by which clicks, campaigns and visitors are followed; those that end in an underscore
// stand for all that begin so. It was compiled from the documentation of the vendors, as known in November 2026.
var tracking = []string{
	"utm_", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", // Google
	"_ga", "_gl",
	"fbclid", "igshid", "igsh", // Meta
	"msclkid", "twclid", "ttclid", "li_fat_id", "epik", "sccid", "rdt_cid", "yclid", "ysclid", "_openstat", // ad networks
	"mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "mkt_tok", // mailings
	"oly_anon_id", "oly_enc_id", "vero_id", "ml_subscriber", "ml_subscriber_hash", "_kx", "ck_subscriber_id", "_bta_tid",
	"mtm_", "pk_", "piwik_", "matomo_", // Matomo
	"s_cid", "ef_id", "s_kwcid", "irclickid", "irgwc", "cjevent", "wickedid", "rb_clickid", "wt_", "at_", "__s",
	"_branch_match_id",
}

// trackingParameters lists the names of such parameters in a query, each once, in their order.
func trackingParameters(u diag.URL) (names []string) {
	for _, p := range query(u) {
		if tracks(strings.ToLower(p.name)) && !slices.Contains(names, p.name) && len(names) < maxNames {
			names = append(names, p.name)
		}
	}
	return names
}

func tracks(name string) bool {
	return slices.ContainsFunc(tracking, func(t string) bool {
		return name == t || strings.HasSuffix(t, "_") && len(name) > len(t) && strings.HasPrefix(name, t)
	})
}

// A parameter is one of a query, decoded.
type parameter struct{ name, value string }

// query takes a query apart as forms do (url.spec.whatwg.org, "application/x-www-form-urlencoded parser").
// What cannot be decoded is left as it is.
func query(u diag.URL) (list []parameter) {
	for pair := range strings.SplitSeq(u.HTTP().RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name != "" {
			list = append(list, parameter{unescape(name), unescape(value)})
		}
	}
	return list
}

func unescape(s string) string {
	if t, err := url.QueryUnescape(s); err == nil {
		return printable(t)
	}
	return s
}

// forwarding returns the name of the query parameter that holds the host to which a hop leads, on another
// registrable domain: who writes the URL decides where it leads (CWE-601).
func forwarding(s *step) string {
	if s.hop.Target.IsZero() || !s.crosses() {
		return ""
	}
	for _, p := range query(s.url) {
		value := strings.TrimSpace(p.value)
		if !strings.Contains(value, "//") {
			continue
		}
		if strings.HasPrefix(value, "//") {
			value = s.url.Scheme() + ":" + value
		}
		if u, err := diag.ParseURL(value); err == nil && u.Host() == s.hop.Target.Host() {
			return p.name
		}
	}
	return ""
}
