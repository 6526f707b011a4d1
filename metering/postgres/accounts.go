package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

// administer runs an act exclusively across all servers, so that changes are numbered in the order of their commits,
// and notifies the servers.
func (s *Store) administer(ctx context.Context, act func(pgx.Tx) error) error {
	err := postgresdb.Begin(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "LOCK TABLE changes IN EXCLUSIVE MODE"); err != nil {
			return err
		}
		if err := act(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "SELECT pg_notify("+channel+", '')")
		return err
	})
	refused := errors.Is(err, metering.ErrVersion) || errors.Is(err, metering.ErrNotFound)
	if !refused {
		s.changedHere()
	}
	if end := ctx.Err(); end != nil && err != nil && !refused {
		return end
	}
	return s.failure(err)
}

// note records a change. Numbers have no gaps: a gap means that changes were pruned.
func note(ctx context.Context, tx pgx.Tx, key metering.KeyID, account metering.AccountID) error {
	_, err := tx.Exec(ctx, `INSERT INTO changes (seq, key, account)
		SELECT coalesce(max(seq), 0) + 1, $1::text, $2::text FROM changes`, key, account)
	return err
}

const accountColumns = "SELECT account, version, name, plan, overage, budget, created, agreement FROM accounts "

func scanAccount(row pgx.CollectableRow) (a metering.Account, err error) {
	var created int64
	var agreement string
	err = row.Scan(&a.ID, &a.Version, &a.Name, &a.Plan, &a.OverageEnabled, &a.OverageBudgetCents, &created, &agreement)
	a.CreatedAt = instant(created)
	return a, cmp.Or(err, readAgreement(&a, agreement))
}

// readAgreement reads the further agreements with an account; most have none.
func readAgreement(a *metering.Account, text string) error {
	if text == "{}" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &a.Agreement); err != nil {
		return fmt.Errorf("agreement of account %s: %w", a.ID, err)
	}
	return nil
}

// readTimeout bounds a query whose caller sets no bound: a request must not wait for an unresponsive server. For a
// server known to be in trouble the bound is lower.
const readTimeout = 10 * time.Second

// all reads all rows of a query, of which an error says what they are.
func all[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], what, sql string, args ...any) ([]T, error) {
	list, err := collect(ctx, s, scan, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// one reads the only row of a query, or is metering.ErrNotFound.
func one[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], what, sql string, args ...any) (row T, _ error) {
	list, err := collect(ctx, s, scan, sql, args...)
	if err == nil && len(list) == 0 {
		err = metering.ErrNotFound
	}
	if err != nil {
		return row, fmt.Errorf("%s: %w", what, err)
	}
	return list[0], nil
}

func collect[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	timeout := readTimeout
	if s.Health() != nil {
		timeout = examineTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, s.failure(err)
	}
	list, err := pgx.CollectRows(rows, scan)
	return list, s.failure(err)
}

// Account implements [metering.Accounts].
func (s *Store) Account(ctx context.Context, id metering.AccountID) (metering.Account, error) {
	return one(ctx, s, scanAccount, "account "+string(id), accountColumns+"WHERE account = $1", id)
}

// Accounts implements [metering.Accounts].
func (s *Store) Accounts(ctx context.Context) ([]metering.Account, error) {
	return all(ctx, s, scanAccount, "listing accounts", accountColumns+"ORDER BY created, account")
}

// PutAccount implements [metering.Accounts].
func (s *Store) PutAccount(ctx context.Context, a metering.Account) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	agreement, err := json.Marshal(a.Agreement)
	if err != nil {
		return err
	}
	err = s.administer(ctx, func(tx pgx.Tx) error {
		sql := `UPDATE accounts SET version = version + 1, name = $3, plan = $4, overage = $5, budget = $6, created = $7,
			agreement = $8 WHERE account = $1 AND version = $2`
		if a.Version == 0 {
			sql = `INSERT INTO accounts (account, version, name, plan, overage, budget, created, agreement)
				VALUES ($1, $2::bigint + 1, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`
		}
		tag, err := tx.Exec(ctx, sql, a.ID, a.Version, a.Name, a.Plan, a.OverageEnabled, a.OverageBudgetCents,
			micros(a.CreatedAt), string(agreement))
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0:
			return metering.ErrVersion
		}
		return note(ctx, tx, "", a.ID)
	})
	if err != nil {
		return fmt.Errorf("account %s: %w", a.ID, err)
	}
	return nil
}

const planColumns = "SELECT plan, period, imported, body, chain FROM plans ORDER BY seq"

func scanPlan(row pgx.CollectableRow) (v metering.PlanVersion, err error) {
	var from int32
	var imported int64
	var body string
	var chain []byte
	if err = row.Scan(&v.Plan.ID, &from, &imported, &body, &chain); err != nil {
		return v, err
	}
	v.From, v.ImportedAt, v.Chain = periodOf(from), instant(imported), chainOf(chain)
	return v, v.SetBody([]byte(body))
}

// PlanVersions implements [metering.Store].
func (s *Store) PlanVersions(ctx context.Context) ([]metering.PlanVersion, error) {
	return all(ctx, s, scanPlan, "reading the plans", planColumns)
}

// PutPlanVersions implements [metering.Store].
func (s *Store) PutPlanVersions(ctx context.Context, versions ...metering.PlanVersion) error {
	if err := s.ready(ctx); err != nil || len(versions) == 0 {
		return err
	}
	return s.administer(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, planColumns)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, scanPlan)
		if err != nil {
			return err
		}
		added, newest, err := metering.StoredVersions(list, versions)
		if err != nil {
			return err
		}
		for i, v := range added {
			if err = putPlan(ctx, tx, len(list)+i+1, v); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `INSERT INTO heads (name, count, chain) VALUES ('plans', $1, $2)
			ON CONFLICT (name) DO UPDATE SET count = $1, chain = $2`, len(list)+len(added), newest[:])
		return err
	})
}

func putPlan(ctx context.Context, tx pgx.Tx, seq int, v metering.PlanVersion) error {
	body, err := v.Body()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO plans (seq, plan, period, imported, body, chain) VALUES ($1, $2, $3, $4, $5, $6)",
		seq, v.Plan.ID, monthNumber(v.From), micros(v.ImportedAt), string(body), v.Chain[:])
	return err
}
