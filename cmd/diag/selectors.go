package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/dkim"
)

// checkCommonSelectors runs dkim/lookup for a domain without a selector: at each of the common selectors, which the
// overview tries too, where there is a key. That none is found does not mean that there is none.
func (a *app) checkCommonSelectors(ctx context.Context, ep httpapi.Endpoint, body []byte) error {
	if err := a.checkSharedFlags(); err != nil {
		return err
	}
	var fields struct {
		Domain string `json:"domain"`
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	tried := kit.Map(dkim.CommonSelectors(), diag.Selector.String)
	rarest := tried[len(tried)-1] // where there is no key, the report names the selectors that have one
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	report, err := askReport[dkim.LookupReport](limited, a, ep.Name(),
		map[string]any{"domain": fields.Domain, "selector": rarest})
	if err != nil {
		return err
	}
	found := report.KnownSelectors
	if report.Found {
		found = []string{rarest}
	}
	if len(found) == 0 {
		return fmt.Errorf("no key found at the %d common selectors of %s, which may have others: name the selector, "+
			"s= of a DKIM-Signature field, as in: diag dkim %s s1; tried: %s",
			len(tried), fields.Domain, fields.Domain, strings.Join(tried, ", "))
	}
	fmt.Fprintf(a.stderr, "diag: note: %s has keys at %s; %d common selectors were tried, and there may be others\n",
		printable(fields.Domain), printable(strings.Join(found, ", ")), len(tried))
	var requests []digRequest
	for _, selector := range found {
		body, err := json.Marshal(map[string]string{"domain": fields.Domain, "selector": selector})
		if err != nil {
			return err
		}
		requests = append(requests, digRequest{subject: selector + " of " + fields.Domain, ep: ep, body: body})
	}
	return a.answerRequests(ctx, requests)
}
