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
	if err = s.read(ctx, func(conn *sqlite.Conn) (err error) { list, err = readPlans(conn); return err }); err != nil {
		return nil, fmt.Errorf("reading the plans: %w", err)
	}
	return list, nil
}

func readPlans(conn *sqlite.Conn) (list []metering.PlanVersion, err error) {
	err = sqlitedb.Rows(conn, "SELECT plan, period, imported, body, chain FROM plans ORDER BY seq", nil,
		func(stmt *sqlite.Stmt) error {
			var v metering.PlanVersion
			var id metering.PlanID
			var body []byte
			var from int64
			sqlitedb.Scan(stmt, &id, &from, &v.ImportedAt, &body, &v.Chain)
			v.From = metering.PeriodNumbered(from)
			if err := json.Unmarshal(body, &v.Plan); err != nil {
				return fmt.Errorf("plan %s from %v on: %w", id, v.From, err)
			}
			v.Plan.ID = id
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
		sqlitedb.Args(v.Plan.ID, v.From.Number(), micros(v.ImportedAt), string(body), v.Chain[:]))
}
