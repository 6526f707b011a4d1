package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
)

// A checkPage is the page on which a member checks a domain once, without watching it. The first page of the server
// leads there with a domain.
type checkPage struct {
	outcome
	Watched  string // the domain, if the account watches it
	MaxPrice int64  // of a check
}

// showCheck shows the field, with the domain of the address, or a result.
func (d *dashboard) showCheck(r *http.Request) (any, error) {
	page, s := &checkPage{}, stateOf(r)
	var err error
	page.outcome, err = d.loadOutcome(r, operation{}, func(k *run) bool { return k.Domain != "" })
	if err != nil {
		return nil, err
	}
	word := r.URL.Query().Get("domain")
	if page.Result != nil {
		word = page.Result.Domain
	}
	s.form.SetDefaults(url.Values{"domain": {word}})
	t, err := target.ParseDomain(s.form.Value("domain"))
	if err != nil {
		t = target.Target{Kind: target.Domain, Text: "example.com"} // which costs the same
	} else if _, err = d.Watches.Get(r.Context(), s.session.Account.ID, watch.ID(diag.MustDomain(t.Text))); err == nil {
		page.Watched = t.Text
	} else if !errors.Is(err, metering.ErrNotFound) {
		return nil, err
	}
	for _, c := range t.Checks(target.Options{}) {
		_, most := c.Price()
		page.MaxPrice += most
	}
	return page, nil
}

// runCheck runs all checks of a domain now, once for each token, and leads to the result.
func (d *dashboard) runCheck(r *http.Request) (string, error) {
	t, err := target.ParseDomain(r.PostForm.Get("domain"))
	if err != nil {
		return "", &metering.FieldError{Field: "domain", Reason: "must be a domain name, such as example.com"}
	}
	return d.checkOnce(r, "/dashboard/check", t.Text, t)
}
