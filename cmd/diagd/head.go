package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
)

// headView is a head as it is kept elsewhere.
type headView struct {
	Version string `json:"schema_version"`
	metering.Head
	Invoices *billing.Head `json:"invoices,omitempty"` // absent from heads of earlier versions
}

// headVersion is the form of heads that this program writes and reads.
const headVersion = "1"

// printHead prints the head of all charges and of the notes of all invoices.
func (a *app) printHead(ctx context.Context, b billing.Billing) error {
	head, err := metering.ReadHead(ctx, b.Store, 0)
	if err != nil {
		return err
	}
	invoices, err := b.ReadHead(ctx, time.Time{})
	if err != nil {
		return err
	}
	a.json = true
	return a.print(headView{headVersion, head, &invoices}, nil)
}

// readHead reads what printHead wrote.
func readHead(path string) (v headView, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return v, fmt.Errorf("--against: %w", err)
	}
	if err := json.Unmarshal(data, &v); err != nil || v.Version != headVersion {
		return v, usagef("--against: %s is no head of diagd audit --head", path)
	}
	return v, nil
}

// againstView is what has become of what a head proves.
type againstView struct {
	Seq int64 `json:"seq"`
	metering.Comparison
}

// against compares the store with a head.
func (v *auditView) against(ctx context.Context, b billing.Billing, head headView, now time.Time) error {
	c, err := head.Against(ctx, b.Store, now)
	if err != nil {
		return err
	}
	v.Against = &againstView{head.Seq, c}
	for _, p := range c.Changed {
		v.Faults = append(v.Faults, metering.AuditFault{
			Period: p, Detail: fmt.Sprintf("the charges up to number %d are not those of the head", head.Seq),
		})
	}
	if head.Invoices == nil {
		return nil
	}
	same, err := head.Invoices.Holds(ctx, b)
	if err == nil && !same {
		v.Faults = append(v.Faults, metering.AuditFault{
			Detail: fmt.Sprintf("the notes of invoices from before %s are not those of the head", when(&head.Invoices.Before)),
		})
	}
	return err
}
