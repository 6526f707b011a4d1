package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// plansHead names the newest link of the plans.
const plansHead = "plans"

// PlanVersions implements [metering.Store].
func (s *Store) PlanVersions(ctx context.Context) (list []metering.PlanVersion, err error) {
	err = s.read(ctx, func(conn *sqlite.Conn) (err error) { list, err = readPlans(conn); return err })
	if err != nil {
		return nil, fmt.Errorf("reading the plans: %w", err)
	}
	return list, nil
}

func readPlans(conn *sqlite.Conn) (list []metering.PlanVersion, err error) {
	err = sqlitedb.Rows(conn, "SELECT plan, period, imported, body, chain FROM plans ORDER BY seq", nil,
		func(stmt *sqlite.Stmt) error {
			v := metering.PlanVersion{From: periodOf(stmt.ColumnInt64(1)), ImportedAt: instant(stmt.ColumnInt64(2))}
			stmt.ColumnBytes(4, v.Chain[:])
			if err := json.Unmarshal([]byte(stmt.ColumnText(3)), &v.Plan); err != nil {
				return fmt.Errorf("plan %s from %v on: %w", stmt.ColumnText(0), v.From, err)
			}
			v.Plan.ID = metering.PlanID(stmt.ColumnText(0))
			list = append(list, v)
			return nil
		})
	return list, err
}

// PutPlanVersions implements [metering.Store].
func (s *Store) PutPlanVersions(ctx context.Context, versions ...metering.PlanVersion) error {
	if err := s.ready(ctx); err != nil || len(versions) == 0 {
		return err
	}
	return s.administer(ctx, func(w *writer) error {
		list, err := readPlans(w.conn)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if v, err = v.Stored(list); err != nil {
				return err
			}
			if err = w.putPlan(v); err != nil {
				return err
			}
			list = append(list, v)
		}
		return sqlitedb.Exec(w.conn, "INSERT OR REPLACE INTO heads (name, count, chain) VALUES (?1, ?2, ?3)",
			sqlitedb.Args(plansHead, len(list), list[len(list)-1].Chain[:]))
	}, nil)
}

func (w *writer) putPlan(v metering.PlanVersion) error {
	body, err := json.Marshal(v.Plan)
	if err != nil {
		return err
	}
	return sqlitedb.Exec(w.conn, "INSERT INTO plans (plan, period, imported, body, chain) VALUES (?1, ?2, ?3, ?4, ?5)",
		sqlitedb.Args(v.Plan.ID, monthNumber(v.From), micros(v.ImportedAt), string(body), v.Chain[:]))
}
