package notify

import (
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// notices are how long before the expiry of a key its account is told.
var notices = []struct {
	before time.Duration
	name   string // part of the event's id
}{
	{7 * 24 * time.Hour, "7d"},
	{24 * time.Hour, "1d"},
}

// keyEvents are what has happened to a key, and will have happened whenever it is asked. Of a rotation one event tells,
// not also the creation of the new key.
func keyEvents(k metering.Key, all []metering.Key, at time.Time) (list []metering.Event) {
	about := facts{
		Account: k.Account, KeyID: k.ID, KeyName: k.Name, KeyPrefix: k.DisplayPrefix,
		Environment: k.Environment, ExpiresAt: k.ExpiresAt,
	}
	add := func(t metering.EventType, when time.Time, part string, f facts) {
		if !when.After(at) {
			list = append(list, metering.Event{
				ID: metering.EventID(t, string(k.ID)+part), Type: t, Account: k.Account, At: when, Data: f,
			})
		}
	}
	next := slices.IndexFunc(all, func(other metering.Key) bool { return other.ID == k.RotatedTo })
	if next >= 0 {
		about.NewKeyID, about.NewPrefix = k.RotatedTo, all[next].DisplayPrefix
	}
	if k.RotatedFrom == "" {
		f := about
		f.NewKeyID, f.NewPrefix = "", ""
		add(metering.EventKeyCreated, k.CreatedAt, "", f)
	}
	end, ended := endOf(k)
	if k.GraceUntil != nil && next >= 0 {
		f := about
		if k.GraceUntil.After(all[next].CreatedAt) {
			f.GraceUntil = k.GraceUntil
		}
		add(metering.EventKeyRotated, all[next].CreatedAt, "", f)
	}
	if ended == metering.EventKeyRevoked {
		about.Revoked = k.RevokedReason
	}
	if ended != "" {
		add(ended, end, "", about)
	}
	if ended == metering.EventKeyExpired && k.RotatedTo == "" {
		for i, n := range notices {
			when := k.ExpiresAt.Add(-n.before)
			late := *k.ExpiresAt // from then on the notice is no news
			if i+1 < len(notices) {
				late = late.Add(-notices[i+1].before)
			}
			if when.After(k.CreatedAt) && at.Before(late) {
				add(metering.EventKeyExpiresSoon, when, "/"+n.name, about)
			}
		}
	}
	return list
}

// endOf says when and by what a key ends or has ended: by what comes first, revocation, end of grace or expiry.
func endOf(k metering.Key) (at time.Time, by metering.EventType) {
	first := func(when *time.Time, t metering.EventType) {
		if when != nil && (by == "" || when.Before(at)) {
			at, by = *when, t
		}
	}
	first(k.RevokedAt, metering.EventKeyRevoked)
	first(k.GraceUntil, metering.EventKeyGraceEnded)
	first(k.ExpiresAt, metering.EventKeyExpired)
	return at, by
}
