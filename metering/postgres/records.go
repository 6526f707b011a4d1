package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

const recordColumns = "SELECT account, kind, id, version, due, at, body FROM records "

func scanRecord(row pgx.CollectableRow) (r metering.Record, err error) {
	var due *int64
	var at int64
	err = row.Scan(&r.Account, &r.Kind, &r.ID, &r.Version, &due, &at, &r.Body)
	r.At = instant(at)
	if due != nil {
		r.Due = instant(*due)
	}
	return r, err
}

// Record implements [metering.Records].
func (s *Store) Record(ctx context.Context, account metering.AccountID, kind, id string) (metering.Record, error) {
	return one(ctx, s, scanRecord, kind+" "+id+" of "+string(account),
		recordColumns+"WHERE account = $1 AND kind = $2 AND id = $3", account, kind, id)
}

// Records implements [metering.Records]. Between two pages no connection is held.
func (s *Store) Records(ctx context.Context, f metering.RecordFilter) iter.Seq2[metering.Record, error] {
	return metering.RecordPages(f, func(end string, args ...any) ([]metering.Record, error) {
		return all(ctx, s, scanRecord, "listing records", recordColumns+end, args...)
	})
}

// The statements that write a record. One that changes no row has lost against another writer.
const (
	createRecords = `INSERT INTO records (account, kind, id, version, due, at, body)
		SELECT account, kind, id, 1, due, at, body
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[])
			AS new (account, kind, id, due, at, body)
		ON CONFLICT DO NOTHING RETURNING account, kind, id`
	replaceRecord = `UPDATE records SET version = version + 1, due = $5, at = $6, body = $7
		WHERE account = $1 AND kind = $2 AND id = $3 AND version = $4`
	removeRecord = "DELETE FROM records WHERE account = $1 AND kind = $2 AND id = $3 AND version = $4"
)

// PutRecords implements [metering.Records].
func (s *Store) PutRecords(ctx context.Context, records ...metering.Record) error {
	if err := s.ready(ctx); err != nil || len(records) == 0 {
		return err
	}
	if err := metering.CheckRecords(records); err != nil {
		return err
	}
	// In one order, so that no two writers wait for each other.
	records = slices.Clone(records)
	slices.SortFunc(records, compareRecords)
	err := postgresdb.Begin(ctx, s.pool, func(tx pgx.Tx) error { return putRecords(ctx, tx, records) })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return s.failure(err)
}

func compareRecords(a, b metering.Record) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

// putRecords writes records in one round trip.
func putRecords(ctx context.Context, tx pgx.Tx, records []metering.Record) error {
	accounts := make([]string, len(records))
	for i := range records {
		accounts[i] = string(records[i].Account)
	}
	var unknown []string
	err := tx.QueryRow(ctx, `SELECT coalesce(array_agg(a), '{}') FROM unnest($1::text[]) a
		WHERE NOT EXISTS (SELECT FROM accounts WHERE account = a)`, accounts).Scan(&unknown)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("account %s: %w", unknown[0], metering.ErrNotFound)
	}
	if err != nil {
		return err
	}
	// All new ones come first, in one statement: many at once are several times as fast as one by one.
	var batch pgx.Batch
	var fresh, changed []metering.Record
	for _, r := range records {
		if r.Version == 0 {
			fresh = append(fresh, r)
		} else {
			changed = append(changed, r)
			queueRecord(&batch, &r)
		}
	}
	if err := putFresh(ctx, tx, fresh); err != nil || len(changed) == 0 {
		return err
	}
	results := tx.SendBatch(ctx, &batch)
	for i := range changed {
		tag, err := results.Exec()
		if err == nil && tag.RowsAffected() == 0 {
			err = metering.ErrVersion
		}
		if err != nil {
			return errors.Join(changed[i].Refused(err), results.Close())
		}
	}
	return results.Close()
}

// putFresh creates records. Existing ones are missing from the result.
func putFresh(ctx context.Context, tx pgx.Tx, records []metering.Record) error {
	if len(records) == 0 {
		return nil
	}
	n := len(records)
	accounts, kinds, ids, bodies := make([]string, n), make([]string, n), make([]string, n), make([][]byte, n)
	due, at := make([]*int64, n), make([]int64, n)
	for i, r := range records {
		accounts[i], kinds[i], ids[i], bodies[i], at[i] = string(r.Account), r.Kind, r.ID, r.Body, micros(r.At)
		due[i] = optional(&r.Due)
	}
	rows, err := tx.Query(ctx, createRecords, accounts, kinds, ids, due, at, bodies)
	if err != nil {
		return err
	}
	created, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r metering.Record, err error) {
		err = row.Scan(&r.Account, &r.Kind, &r.ID)
		return r, err
	})
	if err != nil || len(created) == n {
		return err
	}
	for i := range records {
		if i == len(created) || compareRecords(records[i], created[i]) != 0 {
			return records[i].Refused(metering.ErrVersion)
		}
	}
	return nil
}

func queueRecord(batch *pgx.Batch, r *metering.Record) {
	args := []any{r.Account, r.Kind, r.ID, r.Version}
	if r.Body == nil {
		batch.Queue(removeRecord, args...)
		return
	}
	batch.Queue(replaceRecord, append(args, optional(&r.Due), micros(r.At), r.Body)...)
}
