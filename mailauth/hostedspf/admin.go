package hostedspf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/miekg/dns"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
)

// maxProfileName bounds the names of profiles, in characters.
const maxProfileName = 100

// Create makes a profile for the owner and resolves it for the first time. If that fails because of the DNS, the
// profile still exists, with the status error and without records, and is retried on schedule. It also exists if the
// context ends during the resolution.
//
// The error is a *[diag.InputError], wraps [diag.ErrUnavailable] if the published record was requested as the source
// and the name servers did not answer, is that of the context, or one of the store.
func Create(ctx context.Context, env *diag.Env, a Access, req CreateRequest) (*Profile, error) {
	p, err := newProfile(a.Owner, req)
	if err != nil {
		return nil, err
	}
	if p.SourceRecord == "" {
		if p.SourceRecord, err = publishedRecord(ctx, env, req.Domain); err != nil {
			return nil, err
		}
	}
	if err := checkSource(p.SourceRecord); err != nil {
		return nil, err
	}
	at := now(env)
	p.CreatedAt, p.UpdatedAt = at, at
	p.NextResolveAt = at.Add(Lease) // if the first resolution never ends
	err = a.Store.Create(ctx, p)
	if errors.Is(err, ErrTaken) {
		return nil, input.Invalid("include_host", "belongs to another profile")
	}
	if err != nil {
		return nil, fmt.Errorf("creating a profile of %s: %w", req.Domain, err)
	}
	created := a
	created.Notify = nil // the first records are no news beside the profile itself
	report, err := created.work(env).resolveNow(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if a.Notify != nil {
		a.Notify(Event{ProfileCreated, report.Profile.Clone(), report.Resolution.Clone()})
	}
	return &report.Profile, nil
}

// hostDigits is how many characters of its id name a profile in a zone: 65 bits. The name is in each record that
// refers to another, where each byte counts.
const hostDigits = 13

// newProfile makes a profile of a request, without its times.
func newProfile(owner Owner, req CreateRequest) (Profile, error) {
	p := Profile{
		ID: newID(profilePrefix), Owner: owner, Domain: req.Domain, Name: req.Name, Status: Active,
		SourceRecord: req.SourceRecord, IncludeHost: req.IncludeHost, Records: []Record{},
		IntervalSeconds: req.IntervalSeconds,
	}
	if p.Name == "" {
		p.Name = req.Domain.String()
	}
	if p.IntervalSeconds == 0 {
		p.IntervalSeconds = DefaultInterval
	}
	switch {
	case owner == "" || owner == AnyOwner:
		return p, input.Invalid("owner", "is missing")
	case !utf8.ValidString(p.Name) || strings.ContainsFunc(p.Name, unicode.IsControl):
		return p, input.Invalid("name", "has a character that cannot be shown")
	case utf8.RuneCountInString(req.Name) > maxProfileName: // a domain may be longer
		return p, input.Invalid("name", "is longer than %d characters", maxProfileName)
	case p.IntervalSeconds < minInterval || p.IntervalSeconds > maxInterval:
		return p, input.Invalid("refresh_interval_seconds", "must be from %d to %d", minInterval, maxInterval)
	}
	if err := checkDomain(req.Domain); err != nil {
		return p, err
	}
	err := input.ExactlyOne([]string{"include_host", "zone"}, !req.IncludeHost.IsZero(), !req.Zone.IsZero())
	if err != nil {
		return p, err
	}
	field := "include_host"
	if !req.Zone.IsZero() {
		field = "zone"
		host := strings.TrimPrefix(p.ID, profilePrefix)[:hostDigits] + "." + req.Zone.String()
		if p.IncludeHost, err = diag.ParseName(host); err != nil {
			return p, input.Invalid("zone", "is too long for a name in it")
		}
	}
	return p, checkHost(field, p.IncludeHost, req.Domain)
}

func publishedRecord(ctx context.Context, env *diag.Env, domain diag.Domain) (string, error) {
	answer := diag.Lookup[*dns.TXT](ctx, env, domain.FQDN())
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("looking up the SPF record of %s: %w", domain, err)
	}
	if err := answer.Err(); err != nil {
		return "", fmt.Errorf("looking up the SPF record of %s: %w: %w", domain, err, diag.ErrUnavailable)
	}
	switch records := recordsOf(answer); len(records) {
	case 0:
		return "", input.Invalid("source_record", "is missing, and %s publishes no SPF record", domain)
	case 1:
		return records[0], nil
	default:
		return "", input.Invalid("source_record", "is missing, and %s publishes %d SPF records", domain, len(records))
	}
}

// Remove removes a profile with its history permanently. Its records are no longer published: a domain whose record
// still leads to them then ends in permerror, or passes no host. The error is [ErrNotFound] as for [Show], or one of
// the store.
func Remove(ctx context.Context, a Access, id string) error {
	p, err := a.Profile(ctx, id)
	if err != nil {
		return err
	}
	if err := a.Store.Remove(ctx, id); err != nil {
		return err
	}
	if a.Notify != nil {
		a.Notify(Event{Type: ProfileRemoved, Profile: *p})
	}
	return nil
}

// Pause takes a profile out of the schedule. Its records stay published, and it can be resolved on demand. The
// error is [ErrNotFound] as for [Show], or one of the store.
func Pause(ctx context.Context, env *diag.Env, a Access, id string) (*Profile, error) {
	return a.update(ctx, env, id, func(p *Profile) { p.IsPaused, p.NextResolveAt = true, time.Time{} })
}

// Resume puts a profile back into the schedule: it is due immediately, unless it was not paused. The error is as for
// [Pause].
func Resume(ctx context.Context, env *diag.Env, a Access, id string) (*Profile, error) {
	return a.update(ctx, env, id, func(p *Profile) {
		if p.IsPaused {
			p.IsPaused, p.NextResolveAt = false, now(env)
		}
	})
}

func (a Access) update(ctx context.Context, env *diag.Env, id string, change func(*Profile)) (*Profile, error) {
	if _, err := a.Profile(ctx, id); err != nil {
		return nil, err
	}
	p, err := a.Store.Update(ctx, id, func(p *Profile) error {
		change(p)
		p.Status, p.UpdatedAt = p.status(), now(env)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}
