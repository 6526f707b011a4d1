package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

const planColumns = "SELECT plan, period, imported, body, chain FROM plans ORDER BY seq"

func scanPlan(row pgx.CollectableRow) (v metering.PlanVersion, err error) {
	var from int32
	var imported int64
	var body string
	var chain []byte
	if err = row.Scan(&v.Plan.ID, &from, &imported, &body, &chain); err != nil {
		return v, err
	}
	id := v.Plan.ID
	v.From, v.ImportedAt, v.Chain = periodOf(from), instant(imported), chainOf(chain)
	if err = json.Unmarshal([]byte(body), &v.Plan); err != nil {
		return v, fmt.Errorf("plan %s from %v on: %w", id, v.From, err)
	}
	v.Plan.ID = id
	return v, nil
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
		for _, v := range versions {
			if v, err = v.Stored(list); err != nil {
				return err
			}
			list = append(list, v)
			if err = putPlan(ctx, tx, len(list), v); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `INSERT INTO heads (name, count, chain) VALUES ('plans', $1, $2)
			ON CONFLICT (name) DO UPDATE SET count = $1, chain = $2`, len(list), list[len(list)-1].Chain[:])
		return err
	})
}

func putPlan(ctx context.Context, tx pgx.Tx, seq int, v metering.PlanVersion) error {
	body, err := json.Marshal(v.Plan)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO plans (seq, plan, period, imported, body, chain) VALUES ($1, $2, $3, $4, $5, $6)",
		seq, v.Plan.ID, monthNumber(v.From), micros(v.ImportedAt), string(body), v.Chain[:])
	return err
}
