package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// SPF is the source of events about hosted SPF. Profiles belong to the first key of a line of rotations.
type SPF interface {
	// Profiles lists the profiles of a key.
	Profiles(ctx context.Context, key metering.KeyID) ([]SPFProfile, error)

	// Resolutions lists how the resolutions of a profile since a time went, the oldest first, and before them the
	// last one of earlier, if there is any.
	Resolutions(ctx context.Context, profile string, since time.Time) ([]SPFResolution, error)
}

// An SPFProfile is a hosted SPF profile.
type SPFProfile struct {
	ID          string    `json:"-"`
	Domain      string    `json:"domain"`
	Name        string    `json:"name,omitempty"`
	IncludeHost string    `json:"include_host,omitempty"`
	CreatedAt   time.Time `json:"-"`
	UpdatedAt   time.Time `json:"-"`
}

// An SPFResolution is one of its resolutions.
type SPFResolution struct {
	ID      string
	At      time.Time
	Failed  bool
	Changed bool // other records are published
	Added   int  // networks
	Removed int
	Error   string
}

// spfKind is the kind of the records that list the existing profiles: a removed profile leaves no history, and that it
// was removed is seen by its note.
const spfKind = "spf_profile"

// checkSPF derives events about the profiles of an account.
func (d *Deriver) checkSPF(
	ctx context.Context, account metering.AccountID, lines []metering.KeyID, at time.Time,
) error {
	if d.SPF == nil {
		return nil
	}
	noted := map[string]metering.Record{}
	for r, err := range d.Store.Records(ctx, metering.RecordFilter{Kind: spfKind, Account: account}) {
		if err != nil {
			return fmt.Errorf("checking the SPF profiles of account %s: %w", account, err)
		}
		noted[r.ID] = r
	}
	for _, key := range lines {
		profiles, err := d.SPF.Profiles(ctx, key)
		if err != nil {
			return fmt.Errorf("checking the SPF profiles of key %s: %w", key, err)
		}
		for _, p := range profiles {
			_, known := noted[p.ID]
			delete(noted, p.ID)
			if err := d.checkProfile(ctx, account, p, known, at); err != nil {
				return err
			}
		}
	}
	for _, gone := range noted {
		if err := d.profileRemoved(ctx, gone, at); err != nil {
			return err
		}
	}
	return nil
}

func (d *Deriver) checkProfile(
	ctx context.Context, account metering.AccountID, p SPFProfile, known bool, at time.Time,
) error {
	event := func(t metering.EventType, part string, when time.Time, f facts) metering.Event {
		f.Account, f.ProfileID, f.ProfileName, f.Domain, f.IncludeHost = account, p.ID, p.Name, p.Domain, p.IncludeHost
		return metering.Event{ID: metering.EventID(t, p.ID+part), Type: t, Account: account, At: when, Data: f}
	}
	events := []metering.Event{event(metering.EventSPFCreated, "", p.CreatedAt, facts{})}
	if !known {
		note := metering.Record{Account: account, Kind: spfKind, ID: p.ID, At: p.CreatedAt, Body: metering.RecordBody(p)}
		if err := d.Store.PutRecords(ctx, note); err != nil && !errors.Is(err, metering.ErrVersion) {
			return fmt.Errorf("noting SPF profile %s: %w", p.ID, err)
		}
	}
	since := at.Add(-horizon)
	d.mu.Lock()
	seen := d.spfSeen[p.ID]
	d.mu.Unlock()
	if seen.After(since) {
		since = seen
	}
	if p.UpdatedAt.Before(since) {
		return d.write(ctx, events, at)
	}
	resolutions, err := d.SPF.Resolutions(ctx, p.ID, since)
	if err != nil {
		return fmt.Errorf("checking SPF profile %s: %w", p.ID, err)
	}
	for i, r := range resolutions {
		if r.At.Before(since) { // it is the earlier state
			continue
		}
		failing := i > 0 && resolutions[i-1].Failed
		f := facts{Resolution: r.ID, Added: r.Added, Removed: r.Removed, Error: r.Error}
		switch {
		case r.Failed && !failing:
			events = append(events, event(metering.EventSPFFailed, "/"+r.ID, r.At, f))
		case !r.Failed && failing:
			events = append(events, event(metering.EventSPFRecovered, "/"+r.ID, r.At, f))
		}
		if r.Changed && i > 0 { // the first records are not news next to the profile
			changed := event(metering.EventSPFChanged, "/"+r.ID, r.At, f)
			changed.Data = changeFacts{changed.Data.(facts), r.Added, r.Removed}
			events = append(events, changed)
		}
	}
	if err := d.write(ctx, events, at); err != nil {
		return err
	}
	if n := len(resolutions); n > 0 {
		d.mu.Lock()
		d.spfSeen[p.ID] = resolutions[n-1].At
		d.mu.Unlock()
	}
	return nil
}

// forgetProfiles removes the notes of an account, so that it is not notified of profiles that were removed while it
// had no active channel.
func (c Channels) forgetProfiles(ctx context.Context, account metering.AccountID) error {
	for note, err := range c.Store.Records(ctx, metering.RecordFilter{Kind: spfKind, Account: account}) {
		if err == nil {
			note.Body = nil
			err = c.Store.PutRecords(ctx, note)
		}
		if err != nil && !errors.Is(err, metering.ErrVersion) {
			return fmt.Errorf("forgetting the SPF profiles of account %s: %w", account, err)
		}
	}
	return nil
}

// profileRemoved removes the note of a profile, in one transaction with the event.
func (d *Deriver) profileRemoved(ctx context.Context, note metering.Record, at time.Time) error {
	var p SPFProfile
	if err := json.Unmarshal(note.Body, &p); err != nil {
		return fmt.Errorf("reading the note of SPF profile %s: %w", note.ID, err)
	}
	event := metering.Event{
		ID:   metering.EventID(metering.EventSPFRemoved, note.ID),
		Type: metering.EventSPFRemoved, Account: note.Account, At: at,
		Data: facts{
			Account: note.Account, ProfileID: note.ID, ProfileName: p.Name, Domain: p.Domain, IncludeHost: p.IncludeHost,
		},
	}
	record, err := event.Record()
	if err != nil {
		return err
	}
	note.Body = nil
	err = d.Store.PutRecords(ctx, note, record)
	if errors.Is(err, metering.ErrVersion) { // another node was first
		return nil
	}
	if err == nil && d.Wake != nil {
		d.Wake()
	}
	return err
}
