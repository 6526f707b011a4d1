package main

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/spf13/pflag"
)

type dashboardFlags struct {
	publicURL, userHeader string
	ownersEditInvoices    bool
	seller                string
}

func (f *dashboardFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.publicURL, "public-url", "",
		"public URL of this server, such as https://diag.example.com, for links in mails "+
			"(default: the address of --listen or --acme-domain)")
	fs.StringVar(&f.userHeader, "trusted-user-header", "",
		"header in which a proxy of --trusted-proxies sends the e-mail address of the authenticated member, such as "+
			"X-Forwarded-Email; it must remove that header from clients' requests (default: off)")
	fs.BoolVar(&f.ownersEditInvoices, "owners-mend-invoices", false,
		"allow account owners to void and credit their invoices in the dashboard: only if all accounts are your own")
	fs.StringVar(&f.seller, "invoice-seller", "",
		"your name and address as invoices in the dashboard show them, such as 'Example Ltd; 1 Main Street; Dublin' "+
			"(default: none)")
}

// check refuses flags that would have no effect.
func (f *dashboardFlags) check(proxies int) error {
	u, err := url.Parse(f.publicURL)
	if f.publicURL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Path != "" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		return usagef("--public-url: %.80q is not an address such as https://diag.example.com, without a path", f.publicURL)
	}
	if f.userHeader != "" && proxies == 0 {
		return usagef("--trusted-user-header: needs --trusted-proxies, because any client can send the header")
	}
	return nil
}

// mount puts the parts in front of the API. The caller sets the fields of the dashboard's configuration that depend
// on the store and the environment, and mount those that depend on flags; at is the address of the server.
func (a *app) mount(s checkedFlags, api *httpapi.API, c dashboard.Config, at string) httpapi.Front {
	c.API, c.Doubt = api, a.doubt
	if c.Budget == nil {
		c.Budget = budget.New(budget.Config{})
	}
	c.PublicURL = a.publicURL(at)
	c.Secure = strings.HasPrefix(c.PublicURL, "https://")
	c.TrustedProxies, c.TrustedUserHeader = s.proxies, a.serving.dashboard.userHeader
	c.OwnersEditInvoices = a.serving.dashboard.ownersEditInvoices
	for line := range strings.SplitSeq(a.serving.dashboard.seller, ";") {
		c.Seller = strings.TrimSpace(c.Seller + "\n" + strings.TrimSpace(line))
	}
	c.Ports = a.webPorts()
	if s.mail != nil {
		c.Mail = s.mail.Send
		if c.Secure { // RFC 8058 section 3.1
			s.mail.Unsubscribe = c.PublicURL + "/unsubscribe/"
		}
		if a.serving.dashboard.publicURL != "" {
			s.mail.Confirm = c.PublicURL + "/confirm/"
		}
	}
	pages := dashboard.New(c)
	front := httpapi.Front{API: api, Log: s.log, Requests: c.Budget.Requests, Exempt: s.sharedPeers()}
	front.Parts = map[string]http.Handler{
		"dashboard": pages, "r": pages, "badge": pages, "mcp": agent.New(agent.Config{
			API: api, PublicURL: c.PublicURL, Clock: a.clock, Version: buildinfo.Read().Version, Log: s.log,
		}),
		"unsubscribe": api.LimitGuesses(notify.Unsubscribe{Channels: notify.Channels{Store: c.Store, Clock: c.Clock}}),
		"confirm":     api.LimitGuesses(notify.Confirm{Channels: notify.Channels{Store: c.Store, Clock: c.Clock}}),
	}
	return front
}
