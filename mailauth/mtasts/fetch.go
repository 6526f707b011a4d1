package mtasts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
	"github.com/miekg/dns"
)

const (
	// maxMXHosts is how many mail servers are examined, the most preferred first.
	maxMXHosts = reception.MaxHosts
	// timeout bounds each wait. Whatever has not answered by then is reported as unknown, before the caller's
	// deadline, which usually is 15 seconds (CONTRACT 1.9). Senders wait for the policy for up to a minute (RFC 8461
	// section 3.3).
	timeout = 10 * time.Second
	// maxName is the length of a name with a dot at its end (RFC 1035 section 2.3.4).
	maxName = 254
	// grace bounds the wait for the policy once the record is known to be missing, to detect a policy without a
	// record.
	grace = time.Second
)

// label is the label of the record below the domain (RFC 8461 section 3.1).
const label = "_mta-sts"

// gather runs all queries concurrently. The policy does not wait for the record, because most examined domains have
// both; only the addresses of the mail servers wait for their names, and connections to them for a policy that is
// enforced.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	e := &evidence{domain: d, now: env.Now()}
	wait := diag.TimeLeft(ctx, timeout)
	lookups, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	delivering, hangUp := diag.Within(ctx, deliverTimeout)
	defer hangUp()
	fetching, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var failure error
	names := misplaced(d)
	elsewhere := make([]diag.Answer[*dns.TXT], len(names))
	var g diag.Group
	g.Go(func() {
		var first diag.Group
		first.Go(func() {
			if e.txt = diag.Lookup[*dns.TXT](lookups, env, d.Sub(label)); !answered(e) {
				return
			}
			if e.found = format.Find(e.txt.Records); !hasRecordText(e) {
				time.AfterFunc(grace, giveUp)
			}
		})
		first.Go(func() { e.page, failure = fetchPolicy(fetching, env, d, wait) })
		first.Go(func() { e.mail = reception.LookupHosts(lookups, env, d.Name(), maxMXHosts) })
		first.Wait()
		if e.digest(); failure == nil {
			e.deliver(delivering, env)
		}
	})
	g.Go(func() { e.tlsrpt = diag.Lookup[*dns.TXT](lookups, env, d.Sub("_smtp._tls")) })
	for i, name := range names {
		g.Go(func() { elsewhere[i] = diag.Lookup[*dns.TXT](lookups, env, name) })
	}
	g.Wait()
	_, e.unreported = tlsrpt.Find(e.tlsrpt.Records)
	e.elsewhere = format.Look(&e.found, e.txt, elsewhere[0], elsewhere[1:])
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if errors.Is(failure, context.Canceled) { // given up
		e.page = &fetch.Result{Hops: []fetch.Hop{}, Err: &fetch.Error{Code: fetch.Timeout, Unanswered: true}}
	} else if failure != nil {
		return nil, failure
	}
	if e.txt.Silent() && e.tlsrpt.Silent() && e.mail.MX.Silent() && e.page.Err != nil && e.page.Err.Unanswered {
		return nil, fmt.Errorf("examining MTA-STS of %s: %w", d,
			diag.Unavailable(diag.DefaultResolver+" or the policy host", e.txt.Err()))
	}
	return e, nil
}

// misplaced lists the wildcard of the domain, and the names under which records are published by mistake: the domain
// itself, that of the policy host, the label in another form, and the name that results if a control panel appends
// the domain to the entered name.
func misplaced(d diag.Domain) []string {
	list := []string{d.Sub("*"), d.FQDN(), d.Sub("mta-sts"), d.Sub("_mta_sts"), d.Sub("_mtasts"),
		d.Sub(label + "." + d.String())}
	return slices.DeleteFunc(list, func(name string) bool { return len(name) > maxName })
}

// fetchPolicy fetches the policy as senders do, except that it continues with an untrusted certificate, to find all
// faults in one pass. Redirects are not followed (RFC 8461 section
// 3.3), and no compression is requested, because few senders support it.
func fetchPolicy(ctx context.Context, env *diag.Env, d diag.Domain, wait time.Duration) (*fetch.Result, error) {
	u, err := diag.ParseURL(PolicyURL(d))
	if err != nil {
		// The domain is valid, but too long with the label in front of it.
		return nil, input.Invalid("domain", "is too long to have a policy host")
	}
	return fetch.Do(ctx, env, fetch.Request{
		URL: u, Header: http.Header{"Accept-Encoding": {"identity"}, "Accept": {"text/plain"}},
		MaxBytes: maxPolicyBytes, Timeout: wait, Ports: diag.Ports{443}, AllowUntrusted: true,
	})
}

func (e *evidence) digest() {
	e.hosts = kit.Map(e.mail.List, func(h reception.Host) host { return host{Host: h} })
	if e.page == nil { // given up, or the domain is too long to have one
		return
	}
	if tagRules.HasOne(e) {
		e.record = readRecord(&e.found.List)
	}
	// An incomplete text would show false faults.
	if head := e.page.Final(); e.page.Err == nil && head.StatusCode == http.StatusOK {
		e.policy = scanPolicy(string(e.page.Body))
		for i := range e.hosts {
			h := &e.hosts[i]
			h.pattern, h.covered = e.policy.policy.match(h.Name)
		}
	}
}
