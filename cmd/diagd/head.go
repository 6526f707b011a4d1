package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// headView is a head as it is kept elsewhere.
type headView struct {
	Version string `json:"schema_version"`
	metering.Head
}

// headVersion is the form of heads that this program writes and reads.
const headVersion = "1"

// printHead prints the head of all charges.
func (a *app) printHead(ctx context.Context, store metering.Store) error {
	head, err := metering.ReadHead(ctx, store, 0)
	if err != nil {
		return err
	}
	a.json = true
	return a.print(headView{headVersion, head}, nil)
}

// readHead reads what printHead wrote.
func readHead(path string) (head metering.Head, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return head, fmt.Errorf("--against: %w", err)
	}
	var v headView
	if err := json.Unmarshal(data, &v); err != nil || v.Version != headVersion {
		return head, usagef("--against: %s is no head of diagd audit --head", path)
	}
	return v.Head, nil
}

// againstView is what has become of what a head proves.
type againstView struct {
	Seq int64 `json:"seq"`
	metering.Comparison
}

// against compares the store with a head.
func (v *auditView) against(ctx context.Context, store metering.Store, head metering.Head, now time.Time) error {
	c, err := head.Against(ctx, store, now)
	if err != nil {
		return err
	}
	v.Against = &againstView{head.Seq, c}
	for _, p := range c.Changed {
		v.Faults = append(v.Faults, metering.AuditFault{
			Period: p, Detail: fmt.Sprintf("the charges up to number %d are not those of the head", head.Seq),
		})
	}
	return nil
}
