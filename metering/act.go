package metering

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// ActTime is the retention of the log of administrative acts.
	ActTime = 400 * 24 * time.Hour
	// actKind is the kind of the records that hold acts upon an account, and serverActKind of those upon the server.
	// The latter are stored with its oldest account, for want of another place, and shown to the operator only.
	actKind, serverActKind = "act", "server_act"
	// maxActChars bounds each text of an act, in characters.
	maxActChars = 400
	// removeBatch is how many records are removed per transaction.
	removeBatch = 100
)

// An Act is something that a person did to an account by a command or a page: a row of the log. It holds no secrets.
type Act struct {
	ID      string    `json:"id"`
	Account AccountID `json:"account,omitempty"` // empty for an act upon the whole server
	At      time.Time `json:"at"`
	Who     string    `json:"who"`  // an e-mail address, or a user of the host
	From    string    `json:"from"` // an address, or the program
	What    string    `json:"what"` // such as "key rotate"
	// Subject are identifiers, and Detail are fields such as name=probe, both as [ActWord] and [ActField] write them.
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Error   string `json:"error,omitempty"` // why the act failed
}

// ActField returns a field of [Act.Detail], such as name=probe.
func ActField(name, value string) string { return name + "=" + ActWord(value) }

// ActWord formats a value of an act, quoted as in Go if it could be read as more than one word: this separates text
// written by others from the log's own words.
func ActWord(value string) string {
	bare := func(r rune) bool { return unicode.IsPrint(r) && !strings.ContainsRune(" =\"`\\", r) }
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return !bare(r) }) {
		return strconv.Quote(value)
	}
	return value
}

// ActFilter selects rows of the log; zero fields select all.
type ActFilter struct {
	Account AccountID // "": all accounts, and the server
	Before  time.Time // only acts from before this
	Limit   int       // at most so many; 0 means all
}

// Audited writes a row of the log before it calls do, and adds the error of do afterwards. An act that cannot be logged
// is not carried out. An act without an account is logged with the oldest one; without any account, as at the first
// start, it is carried out without a log.
func Audited(ctx context.Context, store Store, act Act, do func(ctx context.Context) error) error {
	record, err := act.record(ctx, store)
	if err != nil {
		return fmt.Errorf("writing %s into the log: %w", act.What, err)
	}
	if record.Account == "" {
		return do(ctx)
	}
	if err := store.PutRecords(ctx, record); err != nil {
		return fmt.Errorf("writing %s into the log: %w", act.What, err)
	}
	failure := do(ctx)
	if failure == nil {
		return nil
	}
	record.Version++
	if err := json.Unmarshal(record.Body, &act); err != nil {
		return errors.Join(failure, err)
	}
	act.Error = printableLine(failureText(failure))
	record.Body = RecordBody(act)
	if err := store.PutRecords(context.WithoutCancel(ctx), record); err != nil {
		return errors.Join(failure, fmt.Errorf("writing into the log why %s came to nothing: %w", act.What, err))
	}
	return failure
}

const failedText = "it could not be carried out"

// failureText returns why an act failed, in words for members: the fault in its input, the text of a [ReasonError], or
// the kind of the failure. The texts of other errors describe server internals; only the caller gets them.
func failureText(fault error) string {
	_, field := errors.AsType[*FieldError](fault)
	_, refused := errors.AsType[*RefusedError](fault)
	several, joined := fault.(interface{ Unwrap() []error })
	reason := reasonOf(fault, "other side")
	switch {
	case errors.Is(fault, ErrUnavailable):
		return "the server could not read or write what it keeps"
	case joined:
		var list []string
		for _, one := range several.Unwrap() {
			if text := failureText(one); text != failedText && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		return cmp.Or(strings.Join(list, "; "), failedText)
	case reason != "":
		return reason
	case field, refused, errors.Is(fault, ErrNotFound), errors.Is(fault, ErrVersion):
		return fault.Error()
	}
	return failedText
}

// record returns the row as it is stored; one without an account if there is no account.
func (a Act) record(ctx context.Context, store Store) (r Record, err error) {
	a.ID = newID("act_", nil)
	a.At = a.At.UTC().Truncate(time.Microsecond)
	for _, text := range []*string{&a.Who, &a.From, &a.What, &a.Subject, &a.Detail} {
		*text = printableLine(*text)
	}
	r = Record{Account: a.Account, Kind: actKind, ID: a.ID, At: a.At}
	if r.Account == "" {
		accounts, err := store.Accounts(ctx)
		if err != nil || len(accounts) == 0 {
			return Record{}, err
		}
		r.Account, r.Kind = accounts[0].ID, serverActKind
	}
	r.Body = RecordBody(a)
	return r, nil
}

// printableLine shortens a text, and replaces the characters that a terminal might act on.
func printableLine(text string) string {
	runes := []rune(text)
	if len(runes) > maxActChars {
		runes = append(runes[:maxActChars-1], '…')
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	return string(runes)
}

// Acts lists rows of the log, the newest first.
func Acts(ctx context.Context, store Records, f ActFilter) ([]Act, error) {
	list := []Act{}
	kinds := []string{actKind}
	if f.Account == "" {
		kinds = append(kinds, serverActKind)
	}
	for _, kind := range kinds {
		filter := RecordFilter{Kind: kind, Account: f.Account, Before: f.Before, Limit: f.Limit, Newest: true}
		for r, err := range store.Records(ctx, filter) {
			var a Act
			if err == nil {
				err = json.Unmarshal(r.Body, &a)
			}
			if err != nil {
				return nil, fmt.Errorf("reading the log: %w", err)
			}
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b Act) int { return b.At.Compare(a.At) })
	if f.Limit > 0 {
		list = list[:min(f.Limit, len(list))]
	}
	return list, nil
}

// PruneActs removes what is older than the log is kept.
func PruneActs(ctx context.Context, store Records, now time.Time) error {
	for _, kind := range []string{actKind, serverActKind} {
		if _, err := RemoveRecords(ctx, store, RecordFilter{Kind: kind, Before: now.Add(-ActTime)}); err != nil {
			return err
		}
	}
	return nil
}

// RemoveRecords removes the records that the filter selects, but for those with something due, and returns how many.
func RemoveRecords(ctx context.Context, store Records, f RecordFilter) (removed int, err error) {
	var old []Record
	for r, err := range store.Records(ctx, f) {
		if err != nil {
			return 0, err
		}
		if r.Due.IsZero() {
			r.Body = nil
			old = append(old, r)
		}
	}
	for group := range slices.Chunk(old, removeBatch) {
		switch err := store.PutRecords(ctx, group...); {
		case errors.Is(err, ErrVersion): // another node does the same
		case err != nil:
			return removed, err
		default:
			removed += len(group)
		}
	}
	return removed, nil
}
