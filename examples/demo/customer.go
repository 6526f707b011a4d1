package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/notify"
)

// The members of the account, and who added the first of them.
const (
	owner      = "you@harbour.example"
	developer  = "dev@agency.example"
	bookkeeper = "books@harbour.example"
	operator   = "operator"
)

// A customer is the account with what its members and programs do in the month.
type customer struct {
	*environment
	pages   http.Handler            // of the dashboard
	keys    map[string]metering.Key // by name
	secrets map[string]string       // likewise
}

// A step is something that a member does on a day.
type step struct {
	day                        int // before today
	who, what, subject, detail string
	do                         func(context.Context) error
}

// steps returns what the members do in the month, in its order.
func (c *customer) steps() []step {
	mail, web := []metering.Scope{metering.MailRead}, []metering.Scope{metering.WebRead, metering.DNSRead}
	list := []step{
		c.addMember(history, operator, owner, member.Owner),
		c.createChannel(history, "Operations", notify.Webhook, "https://hooks.harbour.example/domains"),
		c.addMember(30, owner, developer, member.Developer),
		c.createKey(30, developer, "Newsletter", mail, 0),
		c.createKey(29, developer, "Web shop", web, 0),
		c.createKey(25, developer, "Trial", mail, 0),
		c.addMember(20, owner, bookkeeper, member.Viewer),
		c.revokeKey(17, developer, "Trial", metering.RevokedManual),
		c.createKey(16, developer, "Nightly report", append(mail, web...), 30),
		c.share(12, "spf/lookup", url.Values{"f.domain": {"harbour.example"}}),
		c.createChannel(9, "Shop team", "slack", "https://hooks.slack.com/services/T0/B0/shop"),
		c.rotateKey(4, developer, "Web shop"),
		c.share(2, "dmarc/lookup", url.Values{"f.domain": {"slip.example"}}),
	}
	for _, w := range watched {
		// The certificates of the small Internet are valid since a month ago.
		list = append(list, step{27, owner, "watch add", w.domain, metering.ActField("checks", w.checks),
			func(ctx context.Context) error {
				_, err := c.watches.Create(ctx, watch.Request{
					Account: c.account.ID, Domain: w.domain, Settings: watch.Settings{Checks: strings.Fields(w.checks)},
				})
				return err
			}})
	}
	return list
}

// act takes the steps of a day, each a row of the log as those of the dashboard are.
func (c *customer) act(ctx context.Context, day int) error {
	for _, s := range c.steps() {
		if s.day != day {
			continue
		}
		if s.what == "" { // the dashboard logs it
			if err := s.do(ctx); err != nil {
				return err
			}
			continue
		}
		act := metering.Act{Account: c.account.ID, At: c.Now(), Who: s.who, From: "198.51.100.7", What: s.what,
			Subject: s.subject, Detail: s.detail}
		if s.who == operator {
			act.From = "diagd"
		}
		if err := metering.Audited(ctx, c.store, act, s.do); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		c.setTime(c.Now().Add(time.Minute))
	}
	return nil
}

func (c *customer) addMember(day int, who, email string, role member.Role) step {
	return step{day, who, "member add", email, metering.ActField("role", string(role)), func(ctx context.Context) error {
		_, err := member.Members{Store: c.store, Clock: c.Now}.Add(ctx, c.account.ID, email, role)
		return err
	}}
}

func (c *customer) createChannel(day int, name string, kind notify.Kind, target string) step {
	return step{day, owner, "channel create", "", metering.ActField("name", name), func(ctx context.Context) error {
		host, err := url.Parse(target)
		if err != nil {
			return err
		}
		c.world.HTTPS(host.Hostname(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		_, _, err = notify.Channels{Store: c.store, Clock: c.Now}.Create(ctx, notify.ChannelRequest{
			Account: c.account.ID, Name: name, Kind: kind, Target: target,
		})
		return err
	}}
}

func (c *customer) createKey(day int, who, name string, scopes []metering.Scope, days int) step {
	return step{day, who, "key create", "", metering.ActField("name", name), func(ctx context.Context) error {
		r := metering.KeyRequest{Account: c.account.ID, Name: name, Environment: metering.Live, Scopes: scopes}
		if days > 0 {
			end := c.Now().AddDate(0, 0, days)
			r.ExpiresAt = &end
		}
		key, secret, err := c.admin.CreateKey(ctx, r)
		c.keys[name], c.secrets[name] = key, secret.Reveal()
		return err
	}}
}

func (c *customer) rotateKey(day int, who, name string) step {
	id := c.keys[name].ID
	return step{day, who, "key rotate", string(id), "", func(ctx context.Context) error {
		_, key, secret, err := c.admin.RotateKey(ctx, id, 7*24*time.Hour)
		c.keys[name], c.secrets[name] = key, secret.Reveal()
		return err
	}}
}

func (c *customer) revokeKey(day int, who, name string, reason metering.RevokedReason) step {
	id := c.keys[name].ID
	return step{day, who, "key revoke", string(id), metering.ActField("reason", string(reason)),
		func(ctx context.Context) error {
			_, err := c.admin.RevokeKey(ctx, id, reason)
			delete(c.secrets, name)
			return err
		}}
}

// share runs an operation in the dashboard, and shares its result.
func (c *customer) share(day int, operation string, fields url.Values) step {
	return step{day: day, do: func(ctx context.Context) error {
		result := member.NewToken()
		fields.Set("token", result)
		if err := c.submit(ctx, "/dashboard/playground/"+operation, fields); err != nil {
			return err
		}
		return c.submit(ctx, "/dashboard/shares", url.Values{"token": {member.NewToken()}, "result": {result}})
	}}
}

// submit sends a form of the dashboard.
func (c *customer) submit(ctx context.Context, path string, fields url.Values) error {
	status, err := post(ctx, c.pages, path, "application/x-www-form-urlencoded", fields.Encode(), "")
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("%s: status %d", path, status)
	}
	return err
}

// calls are those of the programs of the account on each working day. Some cannot succeed, as it happens to programs.
var calls = []struct{ key, operation, fields string }{
	{"Newsletter", "spf/lookup", `{"domain":"harbour.example"}`},
	{"Newsletter", "dkim/lookup", `{"domain":"harbour.example","selector":"s1"}`},
	{"Newsletter", "dmarc/lookup", `{"domain":"harbour.example"}`},
	{"Newsletter", "spf/lookup", `{"domain":"harbour..example"}`},
	{"Web shop", "resolve", `{"qname":"good.example","qtype":"MX"}`},
	{"Web shop", "url/check", `{"url":"https://harbour.example/"}`},
	{"Web shop", "resolve", `{"qname":"example.com","qtype":"MX"}`},
	{"Web shop", "resolve", `{"qname":"example.com"}`},
	{"Nightly report", "certificates/ssl/check", `{"host":"harbour.example"}`},
	{"Nightly report", "mta-sts/lookup", `{"domain":"good.example"}`},
	{"Nightly report", "deliverability/score", `{"domain":"good.example"}`},
	{"Trial", "bimi/lookup", `{"domain":"good.example"}`},
}

// callAPI makes the calls of a day, spread over the hours before its end: some days have more, weekends fewer.
func (c *customer) callAPI(ctx context.Context, end time.Time, day int) error {
	const hours = 22
	rounds := 2 + day%3
	if weekday := end.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
		rounds = 1
	}
	n := rounds * len(calls)
	for i := range n {
		call := calls[i%len(calls)]
		secret, ok := c.secrets[call.key]
		if !ok {
			continue
		}
		c.setTime(end.Add(time.Duration(i-n) * hours * time.Hour / time.Duration(n)))
		path := httpapi.Prefix + "/" + call.operation
		if _, err := post(ctx, c.api, path, "application/json", call.fields, secret); err != nil {
			return err
		}
	}
	return nil
}

// post sends a request to a handler, and returns the status of its reply.
func post(ctx context.Context, h http.Handler, path, media, body, secret string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.RemoteAddr, r.RequestURI = "127.0.0.1:1", path
	r.Header.Set("Content-Type", media)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code == http.StatusInternalServerError {
		return 0, errors.New(path + ": " + w.Body.String())
	}
	return w.Code, nil
}
