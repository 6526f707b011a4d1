package mtasts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/diagkit/diagkit/mailauth/taglist"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
	"github.com/miekg/dns"
)

// The bounds of what is fetched.
const (
	// MaxMXHosts is how many mail servers are looked at, the most preferred first.
	MaxMXHosts = reception.MaxHosts

	// Timeout is how long anything is waited for. What has not answered then is reported as unknown,
	// before the caller's time is up, which usually is 15 seconds (CONTRACT 1.9). Senders wait for the
	// policy for up to a minute (RFC 8461 section 3.3).
	Timeout = 10 * time.Second

	// Grace is how long the policy is waited for once it is known that there is no record, in the
	// hope of saying that there is a policy all the same.
	Grace = time.Second
)

// evidence is all that the rules look at; only gather and digest fill it.
type evidence struct {
	domain diag.Domain
	now    time.Time

	txt        diag.Answer[*dns.TXT]
	found      taglist.Found
	record     Record // read as far as it can be, if there is exactly one
	tlsrpt     diag.Answer[*dns.TXT]
	unreported error // why no reports are requested; nil if they are

	page   *fetch.Result // the policy as it was served
	policy *document     // what was served with status 200, else nil

	mail  reception.Hosts
	hosts []host // those of mail
}

// A host is a mail server, and what the policy says about it.
type host struct {
	reception.Host
	pattern string
	covered bool
}

// gather asks all there is to ask at once. The policy does not wait for the record, for most domains
// that are asked about have both; only the addresses of the mail servers wait for their names.
func gather(ctx context.Context, env *diag.Env, d diag.Domain) (*evidence, error) {
	e := &evidence{domain: d, now: env.Now()}
	wait := diag.TimeLeft(ctx, Timeout)
	lookups, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	fetching, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var failure error
	var g diag.Group
	g.Go(func() {
		e.lookupRecord(lookups, env)
		if answered(e) && len(e.found.Records)+len(e.found.Strays) == 0 {
			time.AfterFunc(Grace, giveUp)
		}
	})
	g.Go(func() { e.tlsrpt = diag.Lookup[*dns.TXT](lookups, env, d.Sub("_smtp._tls")) })
	g.Go(func() { e.page, failure = fetchPolicy(fetching, env, d, wait) })
	g.Go(func() { e.lookupMX(lookups, env) })
	g.Wait()
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

// lookupRecord asks for the TXT records and picks out those that matter.
func (e *evidence) lookupRecord(ctx context.Context, env *diag.Env) {
	e.txt = diag.Lookup[*dns.TXT](ctx, env, e.domain.Sub("_mta-sts"))
	if answered(e) {
		e.found = format.Find(e.txt.Records)
	}
}

// policyURL is where the policy is (RFC 8461 section 3.3).
func policyURL(d diag.Domain) string {
	return "https://mta-sts." + d.String() + "/.well-known/mta-sts.txt"
}

// fetchPolicy fetches the policy as senders do, except that it goes on when the certificate is not to
// be trusted, so that all faults are found in one go. Redirects are not followed (RFC 8461 section
// 3.3), and no compression is asked for, as few senders know any.
func fetchPolicy(ctx context.Context, env *diag.Env, d diag.Domain, wait time.Duration) (*fetch.Result, error) {
	u, err := diag.ParseURL(policyURL(d))
	if err != nil {
		// The domain is valid, but too long with the label in front of it.
		return nil, diag.Invalid("domain", "is too long to have a policy host")
	}
	return fetch.Do(ctx, env, fetch.Request{
		URL: u, Header: http.Header{"Accept-Encoding": {"identity"}, "Accept": {"text/plain"}},
		MaxBytes: MaxPolicyBytes, Timeout: wait, Ports: diag.Ports{443}, AllowUntrusted: true,
	})
}

// lookupMX finds the mail servers and, at once for all, their addresses.
func (e *evidence) lookupMX(ctx context.Context, env *diag.Env) {
	e.mail = reception.LookupHosts(ctx, env, e.domain.Name(), MaxMXHosts)
	for _, h := range e.mail.List {
		e.hosts = append(e.hosts, host{Host: h})
	}
}

// digest reads the texts that were fetched. It touches nothing.
func (e *evidence) digest() {
	if kit.One(e) {
		e.record = readRecord(&e.found.List)
	}
	_, e.unreported = tlsrpt.Find(e.tlsrpt.Records)
	// A text of which a part is missing would be blamed for what was lost.
	if head := e.page.Final(); e.page.Err == nil && head.StatusCode == http.StatusOK {
		e.policy = scanPolicy(string(e.page.Body))
		for i := range e.hosts {
			h := &e.hosts[i]
			h.pattern, h.covered = e.policy.policy.Match(h.Name)
		}
	}
}
